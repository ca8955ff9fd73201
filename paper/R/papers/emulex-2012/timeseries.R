# Traces of what left the clients over a run, beside a panel of the runs' own results.

trace_runs <- function(fabrics, clients, puts) {
  runs <- grid_cells(valid_runs("put-grid", "throughput"), fabrics, clients, puts)
  if (nrow(runs) == 0) {
    return(data.frame())
  }
  # The run nearest the cell's median is drawn strongly, the others faintly.
  split_by <- interaction(runs$fabric, runs$clients, runs$puts, drop = TRUE)
  runs$central <- FALSE
  for (level in levels(split_by)) {
    of_cell <- which(split_by == level)
    runs$central[of_cell[which.min(abs(runs$shown[of_cell] - stats::median(runs$shown[of_cell])))]] <- TRUE
  }
  runs[c("run_id", "fabric", "clients", "puts", "central")]
}

# A trace of fewer windows says no more than its average.
fewest_windows <- 10

# Ten samples a second, averaged over windows of 0.2 s or a hundredth of the longest trace, whichever is longer;
# `windows` is how many a run has, `window` their seconds.
traces <- function(fabrics, clients, puts) {
  runs <- trace_runs(fabrics, clients, puts)
  series <- read_series()
  if (nrow(runs) == 0 || nrow(series) == 0) {
    return(data.frame())
  }
  cells <- interaction(runs$fabric, runs$clients, runs$puts, drop = TRUE)
  runs <- do.call(rbind, lapply(split(runs, cells), function(x) head(x[order(!x$central), ], 4)))
  series$time <- as_value(series$time)
  series <- series[series$series %in% "egress" & series$run_id %in% runs$run_id & series$time >= 0, ]
  wanted <- series$host %in% "all clients"
  if (!any(wanted)) wanted <- rep(TRUE, nrow(series))
  series <- series[wanted, ]
  if (nrow(series) == 0) {
    return(data.frame())
  }
  window <- max(0.2, max(series$time) / 100)
  series$time <- floor(as_value(series$time) / window) * window + window / 2
  table <- stats::aggregate(value ~ run_id + time, data = series, FUN = mean)
  table$window <- rep(window, nrow(table))
  table$windows <- as.numeric(table(table$run_id)[as.character(table$run_id)])
  table <- merge(table, runs, by = "run_id")
  k <- scale_of()$k
  table$shown <- table$value * if (is.na(k)) 1 else k
  table$unit <- table$full_scale_unit <- "MB/s"
  table[order(table$run_id, table$time), ]
}

drawn_traces <- function(table) table[table$windows >= rep(fewest_windows, nrow(table)), ]

# "not drawn, for they have under 10 windows of 0.2 s: 1 put; 2 puts": cells of which none is long enough; NULL where
# there are none.
short_traces <- function(table) {
  several <- length(unique(table$fabric)) > 1
  cells <- function(of) unique(paste0(if (several && nrow(of) > 0) paste0(of$fabric, ", "), puts_label(of$puts)))
  short <- setdiff(cells(table), cells(drawn_traces(table)))
  if (length(short) > 0) {
    sprintf("not drawn, for they have under %d windows of %s s: %s", fewest_windows, trimmed(table$window[[1]]),
            paste(short, collapse = "; "))
  }
}

puts_label <- function(puts) {
  levels <- c(1, 2, 4, 6, 8)
  factor(ifelse(puts == 1, "1 put", paste(puts, "puts")), c("1 put", paste(levels[-1], "puts")))
}

trace_time_axis <- function() {
  scale_x_continuous("seconds as measured", limits = c(0, NA), expand = expansion(c(0, 0.04)), n.breaks = 3)
}

plot_traces <- function(table, published, facets = TRUE, note = NULL) {
  plot <- ggplot(table, aes(time, shown, colour = fabric, group = run_id)) +
    geom_line(aes(alpha = central, linewidth = central)) +
    scale_alpha_manual(values = c("TRUE" = 1, "FALSE" = 0.35), guide = "none") +
    scale_linewidth_manual(values = c("TRUE" = 0.8, "FALSE" = 0.4), guide = "none") +
    scale_colour_manual(NULL, values = fabric_colours, breaks = names(fabric_colours)) +
    trace_time_axis() +
    measured_axis(table, "MB/s sent") +
    labs(title = "Over time", subtitle = figure_note("put-grid", note))
  alone <- length(unique(c(as.character(table$fabric), as.character(published$fabric)))) < 2
  if (nrow(published) > 0) {
    published$what <- ifelse(published$derived, "derived average", "published average")
    line <- function(...) {
      geom_hline(data = published, ..., linewidth = 0.5)
    }
    lines <- c("published average" = "dashed", "derived average" = "dotted")
    plot <- plot + scale_linetype_manual(NULL, values = lines) +
      if (alone) line(aes(yintercept = published, linetype = what), colour = published_ink) else
        line(aes(yintercept = published, linetype = what, colour = fabric))
  }
  if (facets) plot <- plot + facet_wrap(~panel, scales = "free_x", nrow = 2)
  plot <- plot + if (alone) guides(colour = "none") else theme(legend.box = "vertical")
  plot + theme(panel.spacing.x = unit(16, "pt"), axis.title.y.right = element_blank(),
    axis.text.y.right = element_blank())
}

# The runs' own averages against the number of puts, or by network where there is one number of puts.
plot_averages <- function(fabrics, clients, puts, published, metric = "throughput") {
  samples <- grid_samples(fabrics, clients, puts, metric)
  medians <- grid_medians(fabrics, clients, puts, metric)
  axis <- measured_axis(samples, if (metric == "completion_time") "s" else "MB/s")
  title <- if (metric == "completion_time") "Time to complete" else "Average of each run"
  by_network <- length(fabrics) > 1
  shown_puts <- puts
  base <- if (by_network) {
    ggplot(medians, aes(fabric, shown, colour = fabric, shape = fabric))
  } else {
    ggplot(medians, aes(factor(puts, shown_puts), shown, colour = fabric, shape = fabric))
  }
  where <- if (by_network) aes(fabric, published) else aes(factor(puts, shown_puts), published)
  base +
    geom_runs(data = samples, position = jitter_points(0.13), alpha = 0.55, size = 1.8) +
    interval_bars(medians, 0.25) +
    geom_point(aes(alpha = paler(n, 1)), size = 2.9) +
    scale_alpha_identity() +
    geom_published(published, where) +
    scale_fabric(guide = "none") +
    scale_x_discrete(drop = FALSE) +
    axis +
    labs(title = title, subtitle = paste0("every run, median, 95 % interval\n", runs_per_cell(medians$n, TRUE)),
      x = if (by_network) NULL else "puts per client")
}

figure_traces <- function(fabrics, clients, puts = c(1, 2, 4, 6, 8), metric = "throughput") {
  table <- traces(fabrics, clients, puts)
  short <- short_traces(table)
  table <- drawn_traces(table)
  samples <- grid_samples(fabrics, clients, puts, metric)
  if (nothing_measured(table, samples, published_cells(metric, fabrics, clients, puts))) {
    return(figure_without_data())
  }
  averages <- published_cells("throughput", fabrics, clients, puts)
  averages <- averages[!averages$derived | length(fabrics) > 1, ]
  averages$panel <- puts_label(averages$puts)
  several <- length(puts) > 1
  left <- if (nrow(table) == 0) {
    why <- if (nrow(samples) == 0) "Not measured at this effort." else "No trace was kept."
    figure_without_data(in_lines(if (is.null(short)) why else short, 36))
  } else {
    table$panel <- puts_label(table$puts)
    averages <- averages[averages$puts %in% table$puts, ]
    plot_traces(table, averages, several, if (!is.null(short)) in_lines(short, 60))
  }
  right <- plot_averages(fabrics, clients, puts, published_cells(metric, fabrics, clients, puts), metric)
  side_by_side(left, right, if (several) c(3.1, 2) else c(3, 2))
}

# What both panels draw: the traces, and the runs' own results.
data_traces <- function(fabrics, clients, puts = c(1, 2, 4, 6, 8), metric = "throughput") {
  table <- drawn_traces(traces(fabrics, clients, puts))
  own <- grid_samples(fabrics, clients, puts, metric)
  rows <- function(of, panel, time, metric, value, unit, shown, shown_unit) {
    n <- nrow(of)
    data.frame(
      panel = rep(panel, n), run_id = of$run_id, fabric = of$fabric, clients = of$clients, puts_per_client = of$puts,
      time_s = time, metric = rep(metric, n), value = value, unit = unit, full_scale_value = shown,
      full_scale_unit = shown_unit
    )
  }
  rbind(
    if (nrow(table) > 0) rows(table, "over time", round(table$time, 3), "egress", signif(table$value, 5), table$unit,
                              signif(table$shown, 5), table$full_scale_unit),
    rows(own, "runs", rep(NA_real_, nrow(own)), metric, own$value, own$unit, own$full_scale_value, own$full_scale_unit)
  )
}
