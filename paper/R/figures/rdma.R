# RDMA between two hosts, measured by perftest: bandwidth and latency against message size, and the limit of the ports.

rdma_colours <- c(write = okabe_ito[["blue"]], read = okabe_ito[["vermillion"]], send = okabe_ito[["green"]])

message_axis <- function(values) {
  sizes <- sort(unique(values$message_bytes))
  breaks <- sizes[seq(1, length(sizes), by = if (length(sizes) > 7) 2 else 1)]
  scale_x_log10("message size", breaks = breaks, labels = bytes_label)
}

rdma_note <- "perftest, one reliable connection, one pair of ports at a time"

figure_rdma_bandwidth <- function(title) {
  values <- rdma_curves(rdma_values("bandwidth_average"))
  if (nrow(values) == 0) {
    return(figure_without_data())
  }
  limits <- unique(values[!is.na(values$limit), c("pair", "limit")])
  ggplot(values, aes(message_bytes, value, colour = operation, shape = operation)) +
    geom_hline(data = limits, aes(yintercept = limit, linetype = "data rate of the port"), colour = published_ink,
               linewidth = 0.5) +
    geom_line(data = rdma_curves(rdma_medians("bandwidth_average")), linewidth = 0.8) +
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
  values <- rdma_curves(rdma_medians(c("latency_typical", "latency_p99")))
  if (nrow(values) == 0) {
    return(figure_without_data())
  }
  line_names <- c(latency_typical = "median", latency_p99 = "99th percentile")
  values$line <- factor(line_names[values$metric], c(line_names, "bytes \u00f7 data rate of the port"))
  # A megabyte a second is a byte a microsecond.
  least <- unique(values[!is.na(values$limit), c("pair", "message_bytes", "limit")])
  least <- data.frame(least, value = least$message_bytes / least$limit,
                      line = rep(levels(values$line)[[3]], nrow(least)))
  points <- rdma_curves(rdma_values("latency_typical"))
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
