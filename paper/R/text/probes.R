# Links and drives, measured before the runs, in words and as a table.

span <- function(x, words = trimmed) if (length(x) == 0) "\u2013" else paste(words(min(x)), "to", words(max(x)))

# What of the testbed was beyond its bound while runs were made; papers then start only by the user's word.
read_marks <- function() {
  marks <- read_stage("tidy", "marks.csv", c("block", "mark"))$mark
  unique(marks[!is.na(marks)])
}

links_sentence <- function() {
  page <- file.exists(file.path(results_dir(), links_tables, "ways.csv"))
  said <- paste0("What links, drives and RDMA ports of this testbed carry by themselves, pair by pair, was measured ",
                 "before any paper", if (page) ": see [the testbed's page](testbed.html)" else "", ".")
  probes <- read_probes()
  goodput <- probes[probes$metric %in% "goodput" & !made_again(probes), ]
  if (nrow(goodput) > 0) {
    said <- paste(said, sprintf(
      "Before its runs each block looks whether links are still so: %s of `iperf3`, goodput %s of what was expected.",
      count_of(nrow(goodput), "test"), span(1 + goodput$error[!is.na(goodput$error)], function(x) percent(x, 1))
    ))
  }
  drives <- read_drive_probes()
  drives <- drives[!made_again(drives), ]
  if (nrow(drives) > 0) {
    said <- paste(said, sprintf("Modelled drives under `fio`: %s of what the model says in %s.",
                                span(1 + drives$error[!is.na(drives$error)], function(x) percent(x, 1)),
                                count_of(nrow(drives), "test")))
  }
  if (length(read_marks()) > 0) {
    said <- paste0(said, "\n\n::: {.notice}\n\nBeyond its bound, and used all the same: ",
                   paste(safe(read_marks()), collapse = "; "), ".\n\n:::\n")
  }
  said
}

# A line per operation, mode and modelled rate; all probes by host and block are in the figure's data.
drive_table <- function() {
  drives <- read_drive_probes()
  keys <- c("operation", "mode", "expected", "unit")
  groups <- unique(drives[do.call(order, drives[keys]), keys])
  rows <- lapply(seq_len(nrow(groups)), function(i) {
    of <- merge(drives, groups[i, ])
    data.frame(
      Operation = safe(groups$operation[[i]]), Mode = safe(groups$mode[[i]]), Probes = as.character(nrow(of)),
      Measured = paste(trimmed(stats::median(of$value)), safe(groups$unit[[i]])),
      Expected = paste(trimmed(groups$expected[[i]]), safe(groups$unit[[i]])),
      Error = span(of$error[!is.na(of$error)], percent)
    )
  })
  do.call(rbind, rows)
}
