# TestDFSIO's old read loop: it ends at the first short read, which is the end of a block, and credits the whole file.

loop_metrics <- c(
  "credited by the old loop" = "old_rate_credited", "really read by the old loop" = "old_rate_read",
  "present loop" = "present_rate"
)

# The factor that changes the number of blocks: the file's size, or its blocks.
loop_factor <- function() {
  experiment <- Filter(function(x) identical(x$workload, "read_loop"), read_paper()$experiments)[[1]]
  intersect(c("size_bytes", "splits"), names(experiment$factors))[[1]]
}

loop_level <- function(x) {
  number <- as_value(x)
  if (loop_factor() == "size_bytes") {
    return(sprintf("%s MB file", trimmed(number / 2^20, 5)))
  }
  sprintf("%s blocks a file", x)
}

loop_rows <- function(table) {
  table$size <- as_value(table[[loop_factor()]])
  levels <- sort(unique(table$size))
  table$file <- factor(loop_level(table$size), loop_level(levels))
  table$what <- factor(names(loop_metrics)[match(table$metric, loop_metrics)], names(loop_metrics))
  table
}

# Bytes read and credited, and their ratio.
read_loop_table <- function() {
  medians <- medians_at("read-loop", c("old_bytes_read", "old_bytes_credited", "credit_ratio"), by = loop_factor())
  if (nrow(medians) == 0) {
    return(md_table(data.frame()))
  }
  medians$size <- as_value(medians[[loop_factor()]])
  sizes <- sort(unique(medians$size))
  column <- function(metric, with) {
    vapply(sizes, function(size) {
      of <- medians[medians$metric == metric & medians$size == size, ]
      if (nrow(of) == 0) "\u2013" else with(of[1, ])
    }, character(1))
  }
  plainly <- function(row) trimmed(row$median, 6)
  md_table(data.frame(
    File = loop_level(sizes), "Bytes read (scaled run)" = column("old_bytes_read", plainly),
    "Bytes credited" = column("old_bytes_credited", plainly),
    "Credited over read" = column("credit_ratio", function(row) {
      paste0(with_interval(row$median, row$low, row$high, 4), "\u00d7")
    }),
    Runs = column("credit_ratio", function(row) trimmed(row$n)), check.names = FALSE
  ), widths = c(22, 25, 22, 23, 8))
}
