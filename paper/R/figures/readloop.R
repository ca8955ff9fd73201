# TestDFSIO's old read loop as a figure.

# `printed`: data.frame(label, rate) of printed read rates, MB/s; `link` MB/s of the port.
figure_read_loop <- function(title, printed = NULL, link = NULL, link_name = "") {
  runs <- runs_at("read-loop", loop_metrics, by = loop_factor())
  medians <- medians_at("read-loop", loop_metrics, by = loop_factor())
  if (nothing_measured(runs, medians)) {
    return(figure_without_data(paste0(title, ":\nnot measured at this effort.")))
  }
  runs <- loop_rows(runs)
  medians <- loop_rows(medians)
  colours <- stats::setNames(unname(okabe_ito[c("vermillion", "orange", "blue")]), names(loop_metrics))
  plot <- ggplot(medians, aes(file, shown, colour = what, shape = what))
  if (!is.null(printed)) {
    plot <- plot + geom_hline(data = printed, aes(yintercept = rate, linetype = "published read rates"),
                              colour = published_ink, linewidth = 0.35)
  }
  k <- scale_of("read-loop")$k
  as_measured <- if (is.na(k) || k == 1) {
    waiver()
  } else {
    sec_axis(~ . / k, name = "MB/s as measured", labels = scales::comma)
  }
  plot <- plot +
    geom_runs(data = runs, position = position_jitter(width = 0.09, height = 0, seed = 1), size = 1.8, alpha = 0.6) +
    geom_line(aes(group = what), linewidth = 0.6) +
    interval_bars(medians, 0.12) +
    scale_colour_manual(NULL, values = colours) +
    scale_shape_manual(NULL, values = stats::setNames(c(16, 15, 17), names(loop_metrics))) +
    scale_linetype_manual(NULL, values = c("published read rates" = "dotted")) +
    guides(colour = guide_legend(order = 1), shape = guide_legend(order = 1)) +
    scale_y_log10("MB/s a task, full-scale equivalent", labels = scales::comma, sec.axis = as_measured) +
    labs(title = title, x = NULL, subtitle = figure_note(
      "read-loop", paste0("n = ", paste(unique(range(medians$n)), collapse = " to "), " runs a size; logarithmic axis")
    ))
  plot <- plot + theme(legend.box = "vertical")
  if (is.null(link)) plot else plot + port_line(link, link_name)
}

port_line <- function(link, name) {
  list(
    geom_hline(yintercept = link, colour = soft, linewidth = 0.5, linetype = "42"),
    annotate("text", x = 0.5, y = link, label = name, hjust = 0, vjust = -0.5, size = 3.1, colour = soft,
             family = base_font)
  )
}
