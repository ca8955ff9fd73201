# Startup overheads: what a job takes on almost no data, which net times are less of.
#
# has_overheads()           whether startup overheads were measured among the runs
# overhead_table()          a row a kind of job: overhead runs, their median and range, and their share of the time
# overhead_sentence(experiment, where, op)  says where the overhead is more than half of the time; empty elsewhere

has_overheads <- function() any(read_overheads()$valid)

# What comes before the cluster in the name of a kind of overhead run: kind, store and tasks.
kind_of_overhead <- function(name) sub(" [|].*$", "", as.character(name))

# Times of the runs of a kind of job, as measured.
times_of_kind <- function(kind, job) {
  runs <- with_columns(read_runs(), "floor")
  metric <- if (job %in% c("write", "read")) paste0(job, "_time") else "completion_time"
  keep <- runs$valid & runs$metric %in% metric & kind_of_overhead(runs$floor) %in% kind
  runs$value[keep & !is.na(runs$value)]
}

overhead_rows <- function() {
  overheads <- read_overheads()
  overheads$kind <- kind_of_overhead(overheads$floor)
  good <- overheads[overheads$valid & !is.na(overheads$seconds), ]
  if (nrow(good) == 0) {
    return(data.frame())
  }
  kinds <- unique(good[c("kind", "job")])
  rows <- lapply(seq_len(nrow(kinds)), function(i) {
    kind <- kinds$kind[[i]]
    job <- kinds$job[[i]]
    seconds <- good$seconds[good$kind == kind & good$job %in% job]
    bad <- overheads[!overheads$valid & overheads$kind == kind, ]
    whole <- times_of_kind(kind, job)
    data.frame(
      Kind = code(kind), Job = job, Runs = length(seconds),
      "Not valid" = length(unique(paste(bad$block, bad$number))[nrow(bad) > 0]),
      "Median, s" = trimmed(stats::median(seconds)), "Range, s" = paste(trimmed(range(seconds)), collapse = " to "),
      "Share of the time" = percent(stats::median(seconds) / stats::median(whole), 0), check.names = FALSE
    )
  })
  do.call(rbind, rows)
}

overhead_table <- function() md_table(overhead_rows(), widths = c(30, 12, 9, 9, 12, 16, 12))

# The part of the time, cell by cell, that is startup overhead. `op` is write or read for one job of TestDFSIO.
overhead_shares <- function(experiment, where = list(), op = NULL) {
  whole <- if (is.null(op)) "completion_time" else paste0(op, "_time")
  net <- if (is.null(op)) "completion_time_net" else paste0(op, "_time_net")
  table <- at_levels(estimates_of(experiment, c(whole, net)), where)
  table <- with_columns(table, "median")
  cell <- do.call(paste, c(unname(as.list(table[c("experiment", factor_columns())])), sep = "\r"))
  take <- function(metric) {
    of <- table$metric == metric
    stats::setNames(as_value(table$median)[of], cell[of])
  }
  share <- 1 - take(net) / take(whole)[names(take(net))]
  unname(share[!is.na(share)])
}

overhead_sentence <- function(experiment, where = list(), op = NULL) {
  share <- overhead_shares(experiment, where, op)
  many <- share[share > 0.5]
  if (length(many) == 0) {
    return("")
  }
  known <- has_overheads()
  scatter <- if (known) "its interval holds the scatter of both" else "the overhead's scatter is in no interval"
  sprintf(paste("**In %s of %s shown the startup overhead is more than half of the time (up to %s): the net time is",
                "then a small difference of two times, and %s.**"),
          length(many), count_of(length(share), "cell"), percent(max(many), 0), scatter)
}
