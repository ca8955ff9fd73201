# The drives and mounts of a site under fio: throughput and latency over block sizes and queue depths.

depth_scale <- function(depths) {
  # The lightest colour of the palette would be lost on white.
  colours <- grDevices::hcl.colors(length(depths) + 1, "viridis")[seq_along(depths)]
  list(
    scale_colour_manual("queue depth", values = stats::setNames(colours, depths)),
    guides(colour = guide_legend(nrow = 1))
  )
}

byte_axis <- function(bytes) {
  shown <- sort(unique(bytes))
  scale_x_continuous("block size", trans = "log2", breaks = shown, labels = bytes_label(shown))
}

figure_storage_throughput <- function(title) {
  table <- storage_metric("bandwidth")
  if (nrow(table) == 0) {
    return(figure_without_data())
  }
  depths <- as.character(sort(unique(table$queue_depth)))
  table$queue_depth <- factor(table$queue_depth, depths)
  medians <- storage_medians(table, c("kind", "operation", "block_bytes", "queue_depth"))
  ggplot(medians, aes(block_bytes, value, colour = queue_depth)) +
    geom_point(data = table, size = 1.1, alpha = 0.45) +
    geom_line(linewidth = 0.7) +
    facet_grid(kind ~ operation) +
    depth_scale(depths) +
    byte_axis(table$block_bytes) +
    scale_y_log10("MB/s", labels = decades) +
    labs(title = title, subtitle = "points: each drive or mount; lines: their median") +
    theme(axis.text.x = element_text(angle = 45, hjust = 1))
}

figure_storage_latency <- function(title) {
  table <- storage_latencies()
  if (nrow(table) == 0) {
    return(figure_without_data("Too few calls for a percentile of their latency."))
  }
  levels <- paste0(sort(unique(table$percentile)), " %")
  table$percentile <- factor(paste0(table$percentile, " %"), levels)
  table <- table[order(table$kind, table$block_bytes), ]
  rows <- paste0(table$kind, ", ", bytes_label(table$block_bytes))
  table$row <- factor(rows, unique(rows))
  medians <- storage_medians(table, c("operation", "row", "queue_depth", "percentile"))
  colours <- unname(okabe_ito[c("sky", "blue", "green", "orange", "vermillion", "purple")])[seq_along(levels)]
  ggplot(medians, aes(queue_depth, value / 1e3, colour = percentile)) +
    geom_point(data = table, size = 1.1, alpha = 0.45) +
    geom_line(linewidth = 0.7) +
    facet_grid(row ~ operation) +
    scale_colour_manual("of all calls within", values = stats::setNames(colours, levels)) +
    scale_x_continuous("calls at once (queue depth)", trans = "log2",
                       breaks = sort(unique(table$queue_depth))) +
    scale_y_log10("latency, ms", labels = decades) +
    guides(colour = guide_legend(nrow = 1)) +
    labs(title = title, subtitle = "points: each drive or mount; lines: their median")
}
