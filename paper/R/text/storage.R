# The drives and mounts of a site in words and as a table.

kind_count <- function(table, kind, one) {
  count <- length(unique(table$place[table$kind %in% kind]))
  if (count == 0) NULL else count_of(count, one)
}

decades <- function(x) format(x, big.mark = ",", scientific = FALSE, trim = TRUE, drop0trailing = TRUE)

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

# The best value over queue depths that each place reaches with one block size.
best_of <- function(table, place, operation, block) {
  found <- table$value[table$place == place & table$operation %in% storage_operations[[operation]] &
                         table$block_bytes %in% block]
  if (length(found) == 0) NA_real_ else max(found)
}

# One row per drive; those far from the median of their kind stand out by the last column.
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
    Host = safe(places$host), Folder = code(places$folder), Kind = safe(paste0(places$kind, ", ", places$mode)),
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
          bytes_label(large), bytes_label(min(rates$block_bytes)))
}
