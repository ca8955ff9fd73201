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

rebuilt_cell <- function(at, metric) {
  from_cell("put-grid", metric, list(fabric = at$fabric, clients = at$clients, puts_per_client = at$puts))
}

# A cell, or the ratio of two, of which the note below the table names the unusable one.
rebuilt_value <- function(rule) {
  top <- rebuilt_cell(rule$cell, rule$metric)
  if (is.null(rule$over) || is.null(top$median)) {
    return(top)
  }
  bottom <- rebuilt_cell(rule$over, rule$metric)
  if (is.null(bottom$median)) {
    return(bottom)
  }
  ratio <- top$median$shown / bottom$median$shown
  text <- if (is.null(rule$as)) paste0(trimmed(ratio), "\u00d7") else paste(trimmed(100 * (ratio - 1)), rule$as)
  of <- if (is_unusable(top$median)) top$median else bottom$median
  list(text = marked(text, of), n = paste(top$n, "/", bottom$n), median = of)
}

# The published values of one exhibit beside the rebuilt ones.
beside_table <- function(exhibit) {
  ids <- vapply(Filter(function(value) identical(value$exhibit, exhibit), read_paper()$values), `[[`, "", "id")
  ids <- intersect(ids, names(rebuilt_from))
  beside_values(exhibit, stats::setNames(lapply(rebuilt_from[ids], rebuilt_value), ids))
}
