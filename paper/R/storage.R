# The drives and mounts of a site under fio: throughput and latency over block sizes and queue depths.

storage_operations <- c(
  write = "sequential write", read = "sequential read", randwrite = "random write", randread = "random read"
)
storage_columns <- c("block", "host", "folder", "kind", "mode", "operation", "block_bytes", "queue_depth",
                   "metric", "value", "unit", "problem")

read_storage <- function(paper = paper_id()) {
  table <- read_stage("tidy", "drives.csv", storage_columns, paper)
  for (column in c("block_bytes", "queue_depth", "value")) table[[column]] <- as_value(table[[column]])
  table$operation <- factor(storage_operations[as.character(table$operation)], storage_operations)
  table$place <- paste(table$host, table$folder)
  table
}

has_storage <- function() nrow(read_storage()) > 0

storage_metric <- function(metric) {
  table <- read_storage()
  table[table$metric %in% metric & !is.na(table$value), ]
}

block_label <- function(bytes) {
  ifelse(bytes >= 2^20, paste(bytes / 2^20, "MiB"), paste(bytes / 2^10, "KiB"))
}

kind_count <- function(table, kind, one) {
  count <- length(unique(table$place[table$kind %in% kind]))
  if (count == 0) NULL else count_of(count, one)
}

storage_sentence <- function() {
  table <- read_storage()
  if (nrow(table) == 0) {
    return("No drives of a site were measured by themselves; modelled ones are checked with `fio` among the probes.")
  }
  measured <- table[!table$metric %in% "failed", ]
  counts <- list(kind_count(measured, "drive", "data folder"), kind_count(measured, "mount", "mount"),
                 kind_count(measured, "device", "block device"))
  counts <- unlist(Filter(Negate(is.null), counts))
  said <- paste0(
    "Measured by `fio`: ", if (length(counts) == 0) "nothing" else listed(counts), " on ",
    count_of(length(unique(table$host)), "host"), "."
  )
  if ("buffered" %in% measured$mode) {
    cached <- length(unique(measured$place[measured$mode %in% "buffered"]))
    said <- paste(said, "Where the file system does not take calls past the page cache",
                  sprintf("(%d of them), the cache is part of what was measured.", cached))
  }
  failed <- unique(table[table$metric %in% "failed", c("host", "folder", "problem")])
  if (nrow(failed) > 0) {
    said <- paste0(said, " Not measured to the end: ", listed(sprintf(
      "%s on %s (%s)", code(failed$folder), safe(failed$host), safe(failed$problem)
    )), ".")
  }
  said
}

# The median over all places of a kind, at each point of the curve.
storage_medians <- function(table, by) {
  if (nrow(table) == 0) {
    return(table)
  }
  stats::aggregate(table["value"], table[by], stats::median)
}

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
  scale_x_continuous("block size", trans = "log2", breaks = shown, labels = block_label(shown))
}

decades <- function(x) format(x, big.mark = ",", scientific = FALSE, trim = TRUE, drop0trailing = TRUE)

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

percentile_of <- function(metric) as_value(sub("^latency_p", "", metric))

# Rows of panels in the figure of latencies.
latency_rows <- function() {
  table <- storage_latencies()
  max(1, nrow(unique(table[c("kind", "block_bytes")])))
}

# Latencies of the smallest and of the largest block.
storage_latencies <- function() {
  table <- read_storage()
  table <- table[grepl("^latency_p", table$metric) & !is.na(table$value), ]
  if (nrow(table) == 0) {
    return(table)
  }
  table$percentile <- percentile_of(table$metric)
  table[table$block_bytes %in% range(table$block_bytes), ]
}

figure_storage_latency <- function(title) {
  table <- storage_latencies()
  if (nrow(table) == 0) {
    return(figure_without_data("Too few calls for a percentile of their latency."))
  }
  levels <- paste0(sort(unique(table$percentile)), " %")
  table$percentile <- factor(paste0(table$percentile, " %"), levels)
  table <- table[order(table$kind, table$block_bytes), ]
  rows <- paste0(table$kind, ", ", block_label(table$block_bytes))
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

# The best value over queue depths that each place reaches with one block size.
best_of <- function(table, place, operation, block) {
  found <- table$value[table$place == place & table$operation %in% storage_operations[[operation]] &
                         table$block_bytes %in% block]
  if (length(found) == 0) NA_real_ else max(found)
}

# One row a drive; those far from the median of their kind stand out by the last column.
storage_table <- function() {
  rates <- storage_metric("bandwidth")
  if (nrow(rates) == 0) {
    return(data.frame())
  }
  calls <- storage_metric("iops")
  waits <- storage_metric("latency_p99")
  small <- min(rates$block_bytes)
  large <- max(rates$block_bytes[rates$queue_depth == min(rates$queue_depth)])
  places <- unique(rates[c("host", "folder", "kind", "mode", "place")])
  number <- function(table, operation, block) {
    vapply(places$place, function(p) best_of(table, p, operation, block), numeric(1), USE.NAMES = FALSE)
  }
  reads <- number(rates, "read", large)
  usual <- stats::ave(reads, places$kind, FUN = function(x) stats::median(x, na.rm = TRUE))
  alone <- waits[waits$queue_depth %in% min(rates$queue_depth), ]
  data.frame(
    Host = safe(places$host), Folder = code(places$folder), Kind = paste0(places$kind, ", ", places$mode),
    `Write, MB/s` = trimmed(number(rates, "write", large)), `Read, MB/s` = trimmed(reads),
    `Random writes, 1/s` = trimmed(number(calls, "randwrite", small)),
    `Random reads, 1/s` = trimmed(number(calls, "randread", small)),
    `99 % of single reads within, ms` = trimmed(number(alone, "randread", small) / 1e3),
    `Read against the median` = percent(reads / usual, 0),
    check.names = FALSE
  )
}

storage_table_note <- function() {
  rates <- storage_metric("bandwidth")
  if (nrow(rates) == 0) {
    return("")
  }
  large <- max(rates$block_bytes[rates$queue_depth == min(rates$queue_depth)])
  sprintf("Sequential in blocks of %s and random in blocks of %s, each at its best queue depth.",
          block_label(large), block_label(min(rates$block_bytes)))
}
