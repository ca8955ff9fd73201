# Modelled drives, measured by themselves.

# `limit` is how far a drive may be from its model, as a share; NULL draws the model's rate alone.
figure_drives <- function(title, limit = NULL, note = scale_note(absolute = FALSE)) {
  drives <- read_drive_probes()
  drives$what <- sprintf("%s, %s", drives$operation, drives$mode)
  expected <- unique(drives[!is.na(drives$expected), c("what", "expected")])
  model <- if (is.null(limit)) "drive model" else paste0("drive model, \u00b1 ", trimmed(100 * limit), " %")
  reach <- if (is.null(limit)) 0 else limit
  plot <- ggplot(drives, aes(what, value))
  if (nrow(expected) > 0) {
    plot <- plot + geom_errorbar(
      data = expected, aes(y = NULL, ymin = expected * (1 - reach), ymax = expected * (1 + reach), colour = model),
      width = 0.5, linewidth = 0.8
    )
  }
  plot +
    geom_point(aes(colour = "measured by fio"), position = jitter_points(0.12), size = 2.6, alpha = 0.85) +
    scale_colour_manual(NULL, values = stats::setNames(okabe_ito[c("green", "blue")], c(model, "measured by fio"))) +
    scale_y_continuous("MB/s as measured", limits = c(0, NA), expand = expansion(c(0, 0.1))) +
    labs(title = title, subtitle = note, x = NULL)
}
