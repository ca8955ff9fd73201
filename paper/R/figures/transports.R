# From the port to the job: what a gigabyte takes in time and in CPU time, with perftest, with iperf3 and in the runs of
# an experiment, over each transport.

transport_colours <- c(tcp = okabe_ito[["blue"]], rdma = okabe_ito[["vermillion"]])

figure_transports <- function(experiment, title, job) {
  medians <- medians_per_gb(experiment, job)
  tests <- tests_per_gb(experiment)
  runs <- runs_per_gb(experiment, job)
  if (nothing_measured(medians, runs)) {
    return(figure_without_data(paste0(title, ":\nnot measured at this effort.")))
  }
  places <- unique(medians[order(match(medians$layer, c("perftest", "iperf3", job)),
                                 match(medians$kind, names(transport_colours)), medians$way), c("layer", "way")])
  in_place <- function(table) {
    table$level <- factor(paste(table$layer, table$way, sep = "\n"), paste(places$layer, places$way, sep = "\n"))
    table$panel <- factor(table$panel, per_gb_panels)
    table$kind <- factor(table$kind, names(transport_colours))
    table
  }
  medians <- in_place(medians)
  counts <- medians$n[!is.na(medians$n)]
  # Nothing drawn first, but all levels in their order, of which tests have some only.
  ggplot(medians, aes(level, shown, colour = kind)) +
    geom_blank() +
    geom_point(aes(y = value), in_place(tests), position = jitter_points(0.1), size = 1.7, alpha = 0.65) +
    geom_runs(aes(y = value), in_place(runs), position = jitter_points(0.1), size = 1.7, alpha = 0.65) +
    interval_bars(medians, 0.16) +
    geom_point(size = 3) + geom_unusable(medians) +
    geom_text(aes(label = trimmed(shown)), hjust = -0.4, size = 3.2, family = base_font, show.legend = FALSE) +
    facet_wrap(~panel, scales = "free") +
    scale_colour_manual(NULL, values = transport_colours, labels = c(tcp = "the kernel's TCP", rdma = "RDMA"),
                        drop = TRUE) +
    scale_x_discrete(name = NULL, expand = expansion(add = c(0.4, 0.8))) +
    scale_y_log10(NULL, labels = function(x) trimmed(x), expand = expansion(c(0.08, 0.12))) +
    labs(title = title, subtitle = figure_note(
      experiment, if (length(counts) > 0) runs_per_cell(counts), "logarithmic axes", unusable_note(medians, width = 110)
    ))
}
