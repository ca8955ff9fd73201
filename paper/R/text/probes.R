# Links and drives, measured before the runs, as tables.

span <- function(x, words = trimmed) if (length(x) == 0) "\u2013" else paste(words(min(x)), "to", words(max(x)))

link_table <- function() {
  probes <- read_link_probes()
  if (nrow(probes) == 0) {
    return(data.frame())
  }
  probes$streams <- ifelse(is.na(probes$streams), 1, as_value(probes$streams))
  groups <- unique(probes[c("fabric", "streams")])
  groups <- groups[order(fabric_rate(groups$fabric), groups$streams), ]
  rows <- lapply(seq_len(nrow(groups)), function(i) {
    of <- probes[probes$fabric == groups$fabric[[i]] & probes$streams == groups$streams[[i]], ]
    goodput <- of[of$metric == "goodput", ]
    again <- sum(made_again(goodput))
    goodput <- goodput[!made_again(goodput), ]
    retransmits <- of$value[of$metric == "retransmits" & !is.na(of$value)]
    rtt <- of$value[of$metric == "rtt" & !is.na(of$value)]
    data.frame(
      Network = fabric_name(groups$fabric[[i]]), Streams = trimmed(groups$streams[[i]]),
      Probes = paste0(nrow(goodput), if (again > 0) paste0(", ", again, " made again")),
      Goodput = paste(trimmed(stats::median(goodput$value)), "Mbit/s"),
      Expected = paste(trimmed(stats::median(goodput$expected)), "Mbit/s"),
      Error = span(goodput$error[!is.na(goodput$error)], percent),
      Retransmits = if (length(retransmits) == 0) "\u2013" else paste0(trimmed(sum(retransmits)), " in all"),
      RTT = paste(span(rtt), "\u00b5s")
    )
  })
  do.call(rbind, rows)
}

# A line per operation, mode and modelled rate; all probes by host and block are in the figure's data.
drive_table <- function() {
  drives <- read_drive_probes()
  keys <- c("operation", "mode", "expected", "unit")
  groups <- unique(drives[do.call(order, drives[keys]), keys])
  rows <- lapply(seq_len(nrow(groups)), function(i) {
    of <- merge(drives, groups[i, ])
    data.frame(
      Operation = groups$operation[[i]], Mode = groups$mode[[i]], Probes = as.character(nrow(of)),
      Measured = paste(trimmed(stats::median(of$value)), groups$unit[[i]]),
      Expected = paste(trimmed(groups$expected[[i]]), groups$unit[[i]]),
      Error = span(of$error[!is.na(of$error)], percent)
    )
  })
  do.call(rbind, rows)
}
