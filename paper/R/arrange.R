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

# The axis of an absolute rate: full-scale equivalent on the left, as measured on the right.
rate_axis <- function(name = "MB/s, full-scale equivalent", experiment = "put-grid", ...) {
  k <- scale_of(experiment)$k
  if (!is_emulated(experiment) || is.na(k)) {
    return(scale_y_continuous("MB/s", limits = c(0, NA), expand = expansion(c(0, 0.06)), ...))
  }
  scale_y_continuous(
    name,
    limits = c(0, NA), expand = expansion(c(0, 0.06)),
    sec.axis = sec_axis(~ . / k, name = "MB/s as measured"), ...
  )
}

time_axis <- function(name = "s, full-scale equivalent", experiment = "put-grid", ...) {
  fraction <- scale_of(experiment)$fractions
  if (!is_emulated(experiment) || length(fraction) == 0) {
    return(scale_y_continuous("s", limits = c(0, NA), expand = expansion(c(0, 0.06)), ...))
  }
  if (length(fraction) > 1) {
    # Cells of several data fractions have no common axis of seconds as measured.
    return(scale_y_continuous(name, limits = c(0, NA), expand = expansion(c(0, 0.06)), ...))
  }
  scale_y_continuous(
    name,
    limits = c(0, NA), expand = expansion(c(0, 0.06)),
    sec.axis = sec_axis(~ . * fraction, name = "s as measured"), ...
  )
}

time_note <- function(experiment = "put-grid") {
  note <- scale_note(experiment, absolute = FALSE)
  if (is_emulated(experiment)) paste0(note,
    "; left axis: full-scale equivalent (time \u00f7 data fraction)") else note
}
