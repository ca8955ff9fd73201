# Raw links and drives, measured before the runs.

figure_link_error <- function(title, limit = 0.01) {
  probes <- read_link_probes()
  goodput <- probes[probes$metric %in% "goodput" & !is.na(probes$error), ]
  if (nrow(goodput) == 0) {
    return(figure_without_data())
  }
  # A line a kind of sender, a point a pair: all pairs by name are in the figure's data.
  goodput$from <- ifelse(grepl("^datanode", goodput$source), "from\nDataNodes", "from\nclients")
  goodput$streams <- ifelse(is.na(goodput$streams), "1", as.character(goodput$streams))
  goodput$streams <- ifelse(made_again(goodput), "beyond the limit, made again", goodput$streams)
  goodput$fabric <- factor(goodput$fabric, unique(goodput$fabric[order(fabric_rate(goodput$fabric))]))
  ggplot(goodput, aes(error, from, colour = fabric, shape = streams)) +
    annotate("rect", xmin = -limit, xmax = limit, ymin = -Inf, ymax = Inf, fill = okabe_ito[["green"]],
      alpha = 0.1) +
    geom_vline(xintercept = 0, colour = soft, linewidth = 0.4) +
    geom_point(size = 1.8, alpha = 0.7, position = position_jitter(width = 0, height = 0.3, seed = 1)) +
    facet_wrap(~fabric, labeller = as_labeller(function(x) scales::label_wrap(16)(fabric_name(x)))) +
    scale_colour_manual(values = fabric_palette(levels(goodput$fabric)), guide = "none") +
    scale_shape_manual("TCP streams", values = c("1" = 16, "4" = 17, "2" = 15, "8" = 18,
                                                 "beyond the limit, made again" = 4)) +
    scale_x_continuous("goodput against what the link's rate lets pass", labels = function(x) percent(x, 1),
                       n.breaks = 3,
                       expand = expansion(0.09)) +
    labs(title = title, y = NULL, subtitle = paste0(
      scale_note(absolute = FALSE), "; band: the limit of ", percent(limit, 0), " either way"
    )) +
    theme(panel.spacing.x = unit(18, "pt"))
}

figure_drives <- function(title, limit = 0.05) {
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
    labs(title = title, subtitle = scale_note(absolute = FALSE), x = NULL)
}
