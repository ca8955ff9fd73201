# Modelled drives, measured by themselves.

figure_drives <- function(title, limit = 0.05, note = scale_note(absolute = FALSE)) {
  drives <- read_drive_probes()
  drives$what <- paste0(drives$operation, ", ", drives$mode)
  expected <- unique(drives[!is.na(drives$expected), c("what", "expected")])
  plot <- ggplot(drives, aes(what, value))
  if (nrow(expected) > 0) {
    plot <- plot + geom_errorbar(
      data = expected, aes(y = NULL, ymin = expected * (1 - limit), ymax = expected * (1 + limit),
                           colour = "drive model, \u00b1 5 %"), width = 0.5, linewidth = 0.8
    )
  }
  plot +
    geom_point(aes(colour = "measured by fio"), position = jitter_points(0.12), size = 2.6, alpha = 0.85) +
    scale_colour_manual(NULL, values = c("drive model, \u00b1 5 %" = okabe_ito[["green"]],
                                         "measured by fio" = okabe_ito[["blue"]])) +
    scale_y_continuous("MB/s as measured", limits = c(0, NA), expand = expansion(c(0, 0.1))) +
    labs(title = title, subtitle = note, x = NULL)
}
