# Axes, colours and shapes of the figures over networks and clients.

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
fabric_shapes <- c("1GbE" = 16, "10GbE" = 17)
client_colours <- c("1" = okabe_ito[["orange"]], "2" = okabe_ito[["green"]], "3" = okabe_ito[["blue"]])
client_shapes <- c("1" = 16, "2" = 15, "3" = 17)

scale_fabric <- function(...) {
  list(
    scale_colour_manual(NULL, values = fabric_colours, drop = TRUE, ...),
    scale_shape_manual(NULL, values = fabric_shapes, drop = TRUE, ...)
  )
}

scale_clients <- function() {
  list(
    scale_colour_manual("Clients", values = client_colours),
    scale_shape_manual("Clients", values = client_shapes)
  )
}
