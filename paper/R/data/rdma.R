# RDMA between two hosts, measured by perftest.

rdma_columns <- c("fabric", "source", "destination", "source_port", "destination_port", "transport", "test",
                  "message_bytes", "iterations", "attempt", "metric", "value", "unit", "limit", "why", "why_code")

# One row a measured value; one with an empty metric and a reason for what gave none.
read_rdma <- function() {
  table <- read_stage("tidy", "rdma.csv", rdma_columns, "testbed",
                      numbers = c("message_bytes", "iterations", "value", "limit"))
  for (column in c("test", "metric", "why", "why_code")) table[[column]] <- as.character(table[[column]])
  table$no_device <- table$why_code %in% "no_rdma_device"
  table$operation <- factor(sub("^ib_([a-z]+)_.*$", "\\1", table$test), names(rdma_colours))
  table$pair <- sprintf("%s to %s, %s over %s", table$source, table$destination, fabric_name(table$fabric),
                        table$transport)
  table
}

rdma_values <- function(metrics = unique(read_rdma()$metric)) {
  table <- read_rdma()
  table[!is.na(table$value) & table$metric %in% metrics, ]
}

# Pairs that were measured at several sizes of messages: curves. Others have a few numbers only.
rdma_curves <- function(values) {
  sizes <- tapply(values$message_bytes, values$pair, function(x) length(unique(x)))
  values[values$pair %in% names(sizes)[sizes > 1], ]
}

rdma_curve_pairs <- function() length(unique(rdma_curves(rdma_values("bandwidth_average"))$pair))

rdma_measured <- function() nrow(rdma_values()) > 0

# Medians: one row a pair, operation, message size and metric.
rdma_medians <- function(metrics) {
  values <- rdma_values(metrics)
  if (nrow(values) == 0) {
    return(values)
  }
  by <- values[c("message_bytes", "metric", "operation", "pair")]
  stats::aggregate(values[c("value", "limit")], by, stats::median, na.rm = TRUE)
}
