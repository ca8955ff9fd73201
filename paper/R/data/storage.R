# The drives and mounts of a site under fio.

storage_operations <- c(
  write = "sequential write", read = "sequential read", randwrite = "random write", randread = "random read"
)
storage_columns <- c("host", "folder", "kind", "mode", "operation", "block_bytes", "queue_depth",
                   "metric", "value", "unit", "problem")

read_storage <- function() {
  table <- read_stage(
    "tidy", "drives.csv", storage_columns, "testbed", numbers = c("block_bytes", "queue_depth", "value")
  )
  table$operation <- factor(storage_operations[as.character(table$operation)], storage_operations)
  table$place <- paste(table$host, table$folder)
  table
}

has_storage <- function() nrow(read_storage()) > 0

storage_metric <- function(metric) {
  table <- read_storage()
  table[table$metric %in% metric & !is.na(table$value), ]
}

# The median over all places of a kind, at each point of the curve.
storage_medians <- function(table, by) {
  if (nrow(table) == 0) {
    return(table)
  }
  stats::aggregate(table["value"], table[by], stats::median)
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
