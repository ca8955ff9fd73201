# TestDFSIO's old read loop: it ends at the first short read, which is the end of a block, and credits the whole file.

loop_metrics <- c(
  "credited by the old loop" = "old_rate_credited", "really read by the old loop" = "old_rate_read",
  "present loop" = "present_rate"
)

# The factor that changes the number of blocks: the file's size, or its blocks.
loop_factor <- function() {
  experiment <- Filter(function(x) identical(x$workload, "read_loop"), read_paper()$experiments)[[1]]
  intersect(c("size_bytes", "splits"), names(experiment$factors))[[1]]
}

loop_level <- function(x) {
  number <- as_value(x)
  if (loop_factor() == "size_bytes") paste(trimmed(number / 2^20, 5), "MB file") else paste(x, "blocks a file")
}

loop_rows <- function(table) {
  table$size <- as_value(table[[loop_factor()]])
  levels <- sort(unique(table$size))
  table$file <- factor(loop_level(table$size), loop_level(levels))
  table$what <- factor(names(loop_metrics)[match(table$metric, loop_metrics)], names(loop_metrics))
  table
}

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
    geom_point(data = runs, position = position_jitter(width = 0.09, height = 0, seed = 1), size = 1.8, alpha = 0.6) +
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

# Bytes read and credited, and their ratio.
read_loop_table <- function() {
  medians <- medians_at("read-loop", c("old_bytes_read", "old_bytes_credited", "credit_ratio"), by = loop_factor())
  if (nrow(medians) == 0) {
    return(md_table(data.frame()))
  }
  medians$size <- as_value(medians[[loop_factor()]])
  sizes <- sort(unique(medians$size))
  column <- function(metric, with) {
    vapply(sizes, function(size) {
      of <- medians[medians$metric == metric & medians$size == size, ]
      if (nrow(of) == 0) "\u2013" else with(of[1, ])
    }, character(1))
  }
  plainly <- function(row) trimmed(row$median, 6)
  md_table(data.frame(
    File = loop_level(sizes), "Bytes read (scaled run)" = column("old_bytes_read", plainly),
    "Bytes credited" = column("old_bytes_credited", plainly),
    "Credited over read" = column("credit_ratio", function(row) {
      paste0(with_interval(row$median, row$low, row$high, 4), "\u00d7")
    }),
    Runs = column("credit_ratio", function(row) trimmed(row$n)), check.names = FALSE
  ), widths = c(22, 25, 22, 23, 8))
}

# The printed read rates if each file had been credited for one block: from the audit.
read_rate_table <- function(rates) {
  md_table(data.frame(
    Condition = safe(rates$label), "Printed, MB/s a task" = trimmed(vapply(rates$value, published, numeric(1)), 5),
    "Mean time of a file, s" = vapply(rates$time_note, function(note) known(audit_number("Q-A5", note)), character(1)),
    "If one block of 64 MB was read, MB/s" = vapply(rates$rate_note, function(note) {
      known(audit_number("Q-A5", note))
    }, character(1)), check.names = FALSE
  ), widths = c(34, 20, 22, 24))
}
