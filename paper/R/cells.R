# Runs and medians of any experiment, picked by the levels of its factors and labelled for reading.
#
# runs_at(experiment, metric, where, by)     valid runs, one row a run and metric
# medians_at(experiment, metric, where, by)  rows of estimates.csv: shown, shown_low, shown_high, n
#   experiment, metric  one or several names
#   where               list(factor = levels): rows that have one of these levels; fabrics as in the YAML ("10gbe")
#   by                  factor names; the column `level` tells these apart in words, in a fixed order
# Both are empty tables where nothing was measured. Values are in `shown`: full-scale equivalents where they scale.

same_level <- function(column, wanted) {
  number <- as_value(wanted)
  tolower(as.character(column)) %in% tolower(as.character(wanted)) | (!is.na(as_value(column)) &
    as_value(column) %in% number[!is.na(number)])
}

at_levels <- function(table, where = list()) {
  for (factor in names(where)) {
    if (nrow(table) > 0) table <- table[same_level(table[[factor]], where[[factor]]), ]
  }
  table
}

fabric_names <- c(
  "1gbe-shared" = "1 Gbit/s, one segment", "10g-ipoib" = "IPoIB 10 Gbit/s", "32g-qdr" = "QDR InfiniBand 32 Gbit/s",
  "400GbE" = "unlimited"
)

fabric_name <- function(x) {
  label <- fabric_label(x)
  known <- fabric_names[label]
  unname(ifelse(is.na(known), label, known))
}

copies <- function(n) if (is.null(n) || is.na(n)) "" else paste0(", ", count_of(n, "copy", "copies"))

# A store in words: what it is and, where a paper had Lustre, what takes its place.
store_name <- function(x) {
  place <- parallel_store() # once: it reads the record of every block
  stores <- list()
  for (experiment in read_paper()$experiments) {
    stores <- utils::modifyList(stores, if (is.null(experiment$stores)) list() else experiment$stores)
  }
  vapply(as.character(x), function(id) {
    store <- stores[[id]]
    ceph <- if (is.null(store)) startsWith(id, "cephfs") else identical(store$kind, "cephfs")
    if (ceph) {
      variant <- gsub("-", " ", sub("^cephfs-?", "", id))
      return(paste0(place, if (variant != "") paste0(" (", variant, ")")))
    }
    if (is.null(store)) id else paste0("HDFS", copies(store$replication))
  }, character(1), USE.NAMES = FALSE)
}

level_name <- function(factor, x) {
  switch(factor,
    fabric = fabric_name(x),
    store = store_name(x),
    offloads = paste("offloads", x),
    nodes = paste(x, "nodes"),
    rate_mb_per_s = paste(trimmed(x), "MB/s a drive"),
    as.character(x)
  )
}

level_order <- function(factor, x) {
  if (factor == "fabric") {
    return(fabric_rate(x))
  }
  number <- as_value(x)
  if (all(is.na(number))) match(x, unique(x)) else number
}

with_level <- function(table, by) {
  if (nrow(table) == 0) {
    return(cbind(table, level = character(), stringsAsFactors = FALSE))
  }
  words <- lapply(by, function(factor) level_name(factor, table[[factor]]))
  label <- do.call(paste, c(words, sep = "\n"))
  places <- do.call(order, lapply(by, function(factor) level_order(factor, table[[factor]])))
  table$level <- factor(label, unique(label[places]))
  table
}

runs_at <- function(experiment, metric, where = list(), by = "fabric") {
  with_level(at_levels(valid_runs(experiment, metric), where), by)
}

medians_at <- function(experiment, metric, where = list(), by = "fabric") {
  with_level(at_levels(estimates_of(experiment, metric), where), by)
}

# One median, for sentences; NA where it was not measured.
median_at <- function(experiment, metric, where = list()) {
  found <- medians_at(experiment, metric, where)
  if (nrow(found) == 0) NA_real_ else found$shown[[1]]
}

# One estimate as text with its interval and unit: "412 (405 to 420) s"; says so where nothing was measured.
median_text <- function(experiment, metric, where = list(), digits = 3) {
  found <- medians_at(experiment, metric, where)
  if (nrow(found) == 0) {
    return("not measured at this effort")
  }
  found <- found[1, ]
  trimws(paste0(with_interval(found$shown, found$shown_low, found$shown_high, digits), unit_text(shown_unit(found))))
}

shown_unit <- function(table) {
  if (nrow(table) == 0) {
    return("")
  }
  full <- as.character(table$full_scale_unit)
  plain <- as.character(table$unit)
  if (length(full) == 0) plain[[1]] else ifelse(is.na(full) | full == "", plain, full)[[1]]
}

# The runs of a figure as a file.
data_at <- function(experiment, metric, where = list()) {
  runs <- at_levels(valid_runs(experiment, metric), where)
  factors <- setdiff(names(runs), c(
    "attempt", "block", "order", "metric", "value", "unit", "full_scale_value", "full_scale_unit", "valid",
    "why_invalid", "shown", "puts", "total_puts", "experiment", "run_id", "replicate"
  ))
  keep <- c("run_id", "experiment", factors, "replicate", "metric", "value", "unit", "full_scale_value",
            "full_scale_unit")
  runs[intersect(keep, names(runs))]
}

# What a figure of these experiments says about scale: k and the data fraction, from scale.csv.
scale_note_of <- function(experiment) {
  scale_note(experiment, absolute = FALSE)
}

# A y axis in the unit of the data; where all values scale by one factor, a second axis has them as measured.
measured_axis <- function(table, name = NULL, zero = TRUE, log = FALSE, ...) {
  unit <- shown_unit(table)
  limits <- if (zero && !log) c(0, NA) else NULL
  factor <- unique(signif(table$shown / table$value, 4))
  factor <- factor[is.finite(factor)]
  # Where some values are as measured, the panels say which.
  scaled <- length(factor) > 0 && all(abs(factor - 1) > 1e-6)
  if (is.null(name)) name <- if (unit %in% c("", "1")) "" else unit
  if (scaled) name <- paste0(name, ", full-scale equivalent")
  second <- if (scaled && length(factor) == 1) sec_axis(~ . / factor, name = paste(unit, "as measured")) else waiver()
  if (log) {
    return(scale_y_log10(name, labels = scales::comma, expand = expansion(c(0.05, 0.08)), sec.axis = second, ...))
  }
  scale_y_continuous(name, limits = limits, expand = expansion(c(0, 0.08)), sec.axis = second, ...)
}

# The height of a figure: that asked for where there are runs, a strip for the line that says there are none.
height_of <- function(height, experiment, metric, where = list()) {
  if (nrow(at_levels(valid_runs(experiment, metric), where)) == 0) 1.1 else height
}
