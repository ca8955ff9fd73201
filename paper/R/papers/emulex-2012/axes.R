# Colours and shapes of the figures over networks and clients.

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
