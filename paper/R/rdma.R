# RDMA between two hosts, measured by perftest: bandwidth and latency against message size, and the limit of the ports.

rdma_columns <- c("block", "fabric", "source", "destination", "source_port", "destination_port", "transport", "test",
                  "message_bytes", "iterations", "attempt", "metric", "value", "unit", "limit", "why")

# One row a measured value; one with an empty metric and a reason for what gave none.
read_rdma <- function(paper = paper_id()) {
  table <- read_stage("tidy", "rdma.csv", rdma_columns, paper)
  for (column in c("message_bytes", "iterations", "value", "limit")) table[[column]] <- as_value(table[[column]])
  for (column in c("test", "metric", "why")) table[[column]] <- as.character(table[[column]])
  table$operation <- factor(sub("^ib_([a-z]+)_.*$", "\\1", table$test), names(rdma_colours))
  table$pair <- sprintf("%s to %s, %s over %s", table$source, table$destination, fabric_name(table$fabric),
                        table$transport)
  table
}

rdma_colours <- c(write = okabe_ito[["blue"]], read = okabe_ito[["vermillion"]], send = okabe_ito[["green"]])

rdma_values <- function(metrics = unique(read_rdma()$metric)) {
  table <- read_rdma()
  table[!is.na(table$value) & table$metric %in% metrics, ]
}

rdma_measured <- function() nrow(rdma_values()) > 0

rdma_reasons <- function() {
  why <- read_rdma()$why
  unique(why[!is.na(why) & why != ""])
}

rdma_sentence <- function() {
  reasons <- rdma_reasons()
  if (!rdma_measured()) {
    others <- reasons[!startsWith(reasons, "no RDMA device")]
    return(if (length(others) == 0) {
      "Not testable here: no RDMA device on this testbed."
    } else {
      paste0("Not testable here: ", safe(paste(others, collapse = "; ")), ".")
    })
  }
  values <- rdma_values()
  told <- sprintf(
    "`perftest` measured %s, without Hadoop and without TCP: %s at %s, one after the other.",
    count_of(length(unique(values$pair)), "pair of RDMA ports", "pairs of RDMA ports"),
    count_of(length(unique(values$test)), "test"), count_of(length(unique(values$message_bytes)), "message size")
  )
  if (length(reasons) == 0) {
    return(told)
  }
  paste(told, "Without a result:", paste0(safe(paste(reasons, collapse = "; ")), "."))
}

# Medians over blocks: one row a pair, operation, message size and metric.
rdma_medians <- function(metrics) {
  values <- rdma_values(metrics)
  if (nrow(values) == 0) {
    return(values)
  }
  by <- values[c("message_bytes", "metric", "operation", "pair")]
  stats::aggregate(values[c("value", "limit")], by, stats::median, na.rm = TRUE)
}

bytes_label <- function(x) {
  unit <- ifelse(x >= 2^20, 2^20, ifelse(x >= 2^10, 2^10, 1))
  ifelse(is.na(x), "", paste(trimmed(x / unit), c("B", "KiB", "MiB")[match(unit, c(1, 2^10, 2^20))]))
}

message_axis <- function(values) {
  sizes <- sort(unique(values$message_bytes))
  breaks <- sizes[seq(1, length(sizes), by = if (length(sizes) > 7) 2 else 1)]
  scale_x_log10("message size", breaks = breaks, labels = bytes_label)
}

rdma_note <- "perftest, one reliable connection, one pair of ports at a time"

figure_rdma_bandwidth <- function(title) {
  values <- rdma_values("bandwidth_average")
  if (nrow(values) == 0) {
    return(figure_without_data())
  }
  limits <- unique(values[!is.na(values$limit), c("pair", "limit")])
  ggplot(values, aes(message_bytes, value, colour = operation, shape = operation)) +
    geom_hline(data = limits, aes(yintercept = limit, linetype = "data rate of the port"), colour = published_ink,
               linewidth = 0.5) +
    geom_line(data = rdma_medians("bandwidth_average"), linewidth = 0.8) +
    geom_point(size = 2, alpha = 0.7) +
    facet_wrap(~pair, ncol = 1, scales = "free_y") +
    scale_colour_manual(NULL, values = rdma_colours) +
    scale_shape_discrete(NULL) +
    scale_linetype_manual(NULL, values = c("data rate of the port" = "22")) +
    message_axis(values) +
    scale_y_continuous("average bandwidth, MB/s", limits = c(0, NA), expand = expansion(c(0, 0.08)),
                       labels = scales::comma) +
    labs(title = title, subtitle = rdma_note)
}

figure_rdma_latency <- function(title) {
  values <- rdma_medians(c("latency_typical", "latency_p99"))
  if (nrow(values) == 0) {
    return(figure_without_data())
  }
  told <- c(latency_typical = "median", latency_p99 = "99th percentile")
  values$line <- factor(told[values$metric], c(told, "bytes \u00f7 data rate of the port"))
  # A megabyte a second is a byte a microsecond.
  least <- unique(values[!is.na(values$limit), c("pair", "message_bytes", "limit")])
  least <- data.frame(least, value = least$message_bytes / least$limit,
                      line = rep(levels(values$line)[[3]], nrow(least)))
  points <- rdma_values("latency_typical")
  # Small messages would need no time at all: the axis begins where something was measured.
  least <- least[least$value >= 0.8 * min(values$value), ]
  ggplot(values, aes(message_bytes, value)) +
    geom_line(data = least, aes(linetype = line), colour = published_ink, linewidth = 0.5) +
    geom_line(aes(colour = operation, linetype = line), linewidth = 0.8) +
    geom_point(data = points, aes(colour = operation, shape = operation), size = 2, alpha = 0.7) +
    facet_wrap(~pair, ncol = 1, scales = "free_y") +
    scale_colour_manual(NULL, values = rdma_colours) +
    scale_shape_discrete(NULL) +
    scale_linetype_manual(NULL, values = stats::setNames(c("solid", "13", "22"), levels(values$line)),
                          breaks = levels(values$line)) +
    message_axis(values) +
    scale_y_log10("latency, \u00b5s", labels = function(x) trimmed(x)) +
    labs(title = title, subtitle = paste0(rdma_note, "; write and send: half a round trip, read: a whole one")) +
    theme(legend.box = "vertical")
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
      Pair = safe(best$pair), Operation = as.character(best$operation),
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
