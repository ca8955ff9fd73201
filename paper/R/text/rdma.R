# RDMA between two hosts in words and as a table.

rdma_reasons <- function(table) unique(table$why[!is.na(table$why) & table$why != ""])

rdma_sentence <- function() {
  table <- read_rdma()
  reasons <- rdma_reasons(table)
  if (!rdma_measured()) {
    others <- rdma_reasons(table[!table$no_device, ])
    return(if (length(others) == 0) {
      "Not testable here: no RDMA device on this testbed."
    } else {
      paste0("Not testable here: ", safe(paste(others, collapse = "; ")), ".")
    })
  }
  values <- rdma_values()
  text <- sprintf(
    "`perftest` measured %s, without Hadoop and without TCP: %s at %s, one after the other.",
    count_of(length(unique(values$pair)), "pair of RDMA ports", "pairs of RDMA ports"),
    count_of(length(unique(values$test)), "test"), count_of(length(unique(values$message_bytes)), "message size")
  )
  if (length(reasons) == 0) {
    return(text)
  }
  paste(text, "Without a result:", paste0(safe(paste(reasons, collapse = "; ")), "."))
}

rdma_table <- function() {
  at <- function(metrics) rdma_medians(metrics)
  rows <- lapply(split(at("bandwidth_average"), ~ operation + pair, drop = TRUE), function(bandwidth) {
    best <- bandwidth[which.max(bandwidth$value), ]
    latency <- at(c("latency_typical", "latency_p99", "latency_p99_9"))
    latency <- latency[latency$pair == best$pair & latency$operation == best$operation, ]
    latency <- latency[latency$message_bytes == min(latency$message_bytes, Inf), ]
    times <- trimmed(latency$value[match(c("latency_typical", "latency_p99", "latency_p99_9"), latency$metric)])
    data.frame(
      Pair = safe(best$pair), Operation = safe(best$operation),
      Bandwidth = paste(trimmed(best$value), "MB/s at", bytes_label(best$message_bytes)),
      Limit = ifelse(is.na(best$limit), "\u2013", paste(trimmed(best$limit), "MB/s")),
      Share = percent(best$value / best$limit, 0), Latency = paste(times, collapse = " / ")
    )
  })
  table <- do.call(rbind, unname(rows))
  if (is.null(table)) table <- data.frame()
  if (nrow(table) > 0) names(table)[[6]] <- "Least message: median / p99 / p99.9, \u00b5s"
  md_table(table, widths = c(28, 10, 21, 13, 8, 20))
}
