# What figures share: places, axes, intervals.

# Two plots side by side in one figure.
side_by_side <- function(left, right, widths = c(3, 2)) {
  grid.newpage()
  pushViewport(viewport(layout = grid.layout(1, 2, widths = unit(widths, "null"))))
  print(left, vp = viewport(layout.pos.row = 1, layout.pos.col = 1))
  print(right, vp = viewport(layout.pos.row = 1, layout.pos.col = 2))
  popViewport()
  invisible(NULL)
}

jitter_points <- function(width = 0.12) position_jitter(width = width, height = 0, seed = 1)

# A y axis in the unit of the data; where all values scale by one factor, a second axis has them as measured.
measured_axis <- function(table, name = NULL, log = FALSE) {
  unit <- shown_unit(table)
  factor <- unique(signif(table$shown / table$value, 4))
  factor <- factor[is.finite(factor)]
  # Where some values are as measured, the panels say which.
  scaled <- length(factor) > 0 && all(abs(factor - 1) > 1e-6)
  if (is.null(name)) name <- if (unit %in% c("", "1")) "" else unit
  if (scaled) name <- paste0(name, ", full-scale equivalent")
  second <- if (scaled && length(factor) == 1) sec_axis(~ . / factor, name = paste(unit, "as measured")) else waiver()
  if (log) {
    return(scale_y_log10(name, labels = scales::comma, expand = expansion(c(0.05, 0.08)), sec.axis = second))
  }
  scale_y_continuous(name, limits = c(0, NA), expand = expansion(c(0, 0.08)), sec.axis = second)
}

# What is drawn as interval: the median's own; of three to five runs, whose median has none, Student's (`few`).
drawn_intervals <- function(medians) {
  if (is.null(medians$few_low)) medians$few_low <- medians$few_high <- rep(NA_real_, nrow(medians))
  medians$few <- is.na(medians$shown_low)
  medians$drawn_low <- ifelse(medians$few, medians$few_low, medians$shown_low)
  medians$drawn_high <- ifelse(medians$few, medians$few_high, medians$shown_high)
  medians[!is.na(medians$drawn_low) & !is.na(medians$drawn_high), ]
}

# Those of few runs are dashed.
interval_bars <- function(medians, width) {
  bars <- drawn_intervals(medians)
  mapping <- aes(ymin = drawn_low, ymax = drawn_high)
  list(
    geom_errorbar(data = bars[!bars$few, ], mapping = mapping, width = width, linewidth = 0.6),
    geom_errorbar(data = bars[bars$few, ], mapping = mapping, width = width, linewidth = 0.6, linetype = "22")
  )
}

# "n = 3 to 6 runs per cell"; with `pale`, that cells of one run are drawn so; with `intervals`, what dashed ones are.
runs_per_cell <- function(n, pale = FALSE, intervals = TRUE) {
  ends <- unique(range(n))
  paste0("n = ", paste(ends, collapse = " to "), if (identical(as.numeric(ends), 1)) " run" else " runs", " per cell",
         if (pale && ends[[1]] == 1 && length(ends) > 1) "; paler: one run",
         if (intervals && any(n %in% 3:5)) "; dashed: Student's t")
}

# How opaque the median of each cell is: that of one run is paler.
paler <- function(n, full = 0.75) ifelse(n > 1, full, 0.3)

nothing_measured <- function(...) all(vapply(list(...), function(table) nrow(table) == 0, logical(1)))

# The height of a figure: that asked for where there are runs, a strip for the line that says there are none.
height_of <- function(height, experiment, metric) {
  if (nrow(valid_runs(experiment, metric)) == 0) 1.1 else height
}

in_panels <- function(plot, ...) {
  if ("panel" %in% names(plot$data)) plot + facet_wrap(~panel, ...) else plot
}
