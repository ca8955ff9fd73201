# Which cell and metric rebuilds a published value, as points to draw and as rows to set beside the rebuilt values.

cell <- function(fabric, clients, puts) list(fabric = fabric, clients = clients, puts = puts)

# Which cell and metric rebuilds a published value; with `over`, the ratio of two cells.
rebuilt_from <- list(
  "E-V01" = list(metric = "throughput", cell = cell("1GbE", 1, 1)),
  "E-V02" = list(metric = "throughput", cell = cell("1GbE", 3, 8)),
  "E-V03" = list(metric = "throughput", cell = cell("1GbE", 3, 8), over = cell("1GbE", 1, 1)),
  "E-V04" = list(metric = "throughput", cell = cell("10GbE", 1, 1), over = cell("1GbE", 1, 1),
    as = "percent more"),
  "E-V05" = list(metric = "completion_time", cell = cell("10GbE", 1, 1), over = cell("1GbE", 1, 1)),
  "E-V06" = list(metric = "throughput", cell = cell("10GbE", 1, 8)),
  "E-V07" = list(metric = "throughput", cell = cell("1GbE", 3, 6)),
  "E-V08" = list(metric = "throughput_peak_1s", cell = cell("1GbE", 3, 6)),
  "E-V09" = list(metric = "completion_time", cell = cell("1GbE", 3, 6)),
  "E-V10" = list(metric = "throughput", cell = cell("10GbE", 3, 6)),
  "E-V11" = list(metric = "throughput", cell = cell("10GbE", 3, 6), over = cell("1GbE", 3, 6)),
  "E-V12" = list(metric = "throughput_peak_1s", cell = cell("10GbE", 3, 6)),
  "E-V13" = list(metric = "throughput_peak_1s", cell = cell("10GbE", 3, 6), over = cell("1GbE", 3, 6)),
  "E-V14" = list(metric = "completion_time", cell = cell("10GbE", 3, 6)),
  "E-V15" = list(metric = "completion_time", cell = cell("1GbE", 3, 6), over = cell("10GbE", 3, 6)),
  "E-V19" = list(metric = "throughput", cell = cell("10GbE", 3, 6), over = cell("1GbE", 3, 6)),
  "E-V21" = list(metric = "completion_time", cell = cell("1GbE", 3, 6), over = cell("10GbE", 3, 6)),
  "E-V22" = list(metric = "completion_time", cell = cell("1GbE", 3, 8), over = cell("10GbE", 3, 8)),
  "E-V23" = list(metric = "throughput", cell = cell("10GbE", 3, 6), over = cell("1GbE", 3, 6))
)

published_points <- function(metric = "throughput") {
  wanted <- Filter(function(x) x$metric == metric && is.null(x$over), rebuilt_from)
  rows <- lapply(names(wanted), function(id) {
    at <- wanted[[id]]$cell
    data.frame(value_id = id, fabric = at$fabric, clients = at$clients, puts = at$puts,
               published = published(id),
               derived = FALSE)
  })
  if (metric == "throughput") {
    rows <- c(rows, list(data.frame(
      value_id = "E-V01 and E-V04", fabric = "10GbE", clients = 1, puts = 1,
      published = published("E-V01") * (1 + published("E-V04") / 100), derived = TRUE
    )))
  }
  points <- do.call(rbind, rows)
  points$total_puts <- points$clients * points$puts
  points
}

published_cells <- function(metric = "throughput", fabrics = c("1GbE", "10GbE"), clients = 1:3, puts = NULL) {
  grid_cells(published_points(metric), fabrics, clients, puts)
}

cell_estimate <- function(at, metric) {
  table <- estimates_of("put-grid", metric)
  table[table$fabric == at$fabric & table$clients %in% at$clients & table$puts %in% at$puts, ]
}

rebuilt_text <- function(id) {
  rule <- rebuilt_from[[id]]
  if (is.null(rule)) {
    return(c("not rebuilt", ""))
  }
  top <- cell_estimate(rule$cell, rule$metric)
  if (nrow(top) == 0) {
    return(c("not measured at this effort", ""))
  }
  n <- as.character(top$n[[1]])
  if (is.null(rule$over)) {
    unit <- if (rule$metric == "completion_time") "s" else "MB/s"
    return(c(paste(with_interval(top$shown[[1]], top$shown_low[[1]], top$shown_high[[1]]), unit), n))
  }
  bottom <- cell_estimate(rule$over, rule$metric)
  if (nrow(bottom) == 0) {
    return(c("not measured at this effort", ""))
  }
  ratio <- top$shown[[1]] / bottom$shown[[1]]
  text <- if (is.null(rule$as)) paste0(trimmed(ratio), "\u00d7") else paste(trimmed(100 * (ratio - 1)),
    rule$as)
  c(text, paste(n, "/", bottom$n[[1]]))
}

# The published values of one exhibit beside the rebuilt ones.
beside <- function(exhibit) {
  values <- Filter(function(value) identical(value$exhibit, exhibit), read_paper()$values)
  values <- Filter(function(value) !is.null(rebuilt_from[[value$id]]), values)
  if (length(values) == 0) {
    return(data.frame())
  }
  rebuilt <- lapply(values, function(value) rebuilt_text(value$id))
  part <- function(name) vapply(values, function(value) safe(text_or_none(value[[name]])), character(1))
  data.frame(
    Value = part("id"), Metric = part("metric"), Condition = part("condition"), Published = part("printed"),
    Rebuilt = vapply(rebuilt, `[[`, character(1), 1), Runs = vapply(rebuilt, `[[`, character(1), 2)
  )
}

beside_table <- function(exhibit) md_table(beside(exhibit), widths = c(8, 24, 22, 18, 24, 8))
