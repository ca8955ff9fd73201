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

# Ten samples a second, averaged over windows of half a second or a hundredth of the trace, whichever is
# longer.
traces <- function(fabrics, clients, puts, host = "all clients", runs_shown = 4) {
  runs <- trace_runs(fabrics, clients, puts)
  series <- read_series()
  if (nrow(runs) == 0 || nrow(series) == 0) {
    return(data.frame())
  }
  cells <- interaction(runs$fabric, runs$clients, runs$puts, drop = TRUE)
  runs <- do.call(rbind, lapply(split(runs, cells), function(x) head(x[order(!x$central), ], runs_shown)))
  series$time <- as_value(series$time)
  series <- series[series$series %in% "egress" & series$run_id %in% runs$run_id & series$time >= 0, ]
  wanted <- series$host %in% host
  if (!any(wanted)) wanted <- rep(TRUE, nrow(series))
  series <- series[wanted, ]
  if (nrow(series) == 0) {
    return(data.frame())
  }
  window <- max(0.2, max(series$time) / 100)
  series$time <- floor(as_value(series$time) / window) * window + window / 2
  table <- stats::aggregate(value ~ run_id + time, data = series, FUN = mean)
  table <- merge(table, runs, by = "run_id")
  k <- scale_of()$k
  table$shown <- table$value * if (is.na(k)) 1 else k
  table[order(table$run_id, table$time), ]
}

puts_label <- function(puts) {
  levels <- c(1, 2, 4, 6, 8)
  factor(ifelse(puts == 1, "1 put", paste(puts, "puts")), c("1 put", paste(levels[-1], "puts")))
}

trace_time_axis <- function() {
  scale_x_continuous("seconds as measured", limits = c(0, NA), expand = expansion(c(0, 0.04)), n.breaks = 3)
}

plot_traces <- function(table, published, facets = TRUE) {
  plot <- ggplot(table, aes(time, shown, colour = fabric, group = run_id)) +
    geom_line(aes(alpha = central, linewidth = central)) +
    scale_alpha_manual(values = c("TRUE" = 1, "FALSE" = 0.35), guide = "none") +
    scale_linewidth_manual(values = c("TRUE" = 0.8, "FALSE" = 0.4), guide = "none") +
    scale_colour_manual(NULL, values = fabric_colours) +
    trace_time_axis() +
    rate_axis("MB/s leaving the clients, full-scale eq.") +
    labs(title = "Over time", subtitle = scale_note(absolute = FALSE))
  if (nrow(published) > 0) {
    plot <- plot + geom_hline(
      data = published, aes(yintercept = published, linetype = "published average"), colour = published_ink,
      linewidth = 0.5
    ) + scale_linetype_manual(NULL, values = c("published average" = "dashed"))
  }
  if (facets) plot <- plot + facet_wrap(~panel, scales = "free_x", nrow = 2)
  if (length(unique(table$fabric)) < 2) plot <- plot + guides(colour = "none")
  plot + theme(panel.spacing.x = unit(16, "pt"), axis.title.y.right = element_blank(),
    axis.text.y.right = element_blank())
}

# The runs' own averages against the number of puts, or by network where there is one number of puts.
plot_averages <- function(fabrics, clients, puts, published, metric = "throughput") {
  samples <- grid_samples(fabrics, clients, puts, metric)
  medians <- grid_medians(fabrics, clients, puts, metric)
  axis <- if (metric == "completion_time") time_axis() else rate_axis()
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
    geom_point(size = 2.9) +
    geom_published(published, where) +
    scale_fabric(guide = "none") +
    scale_x_discrete(drop = FALSE) +
    axis +
    labs(title = title, subtitle = "every run, median, 95 % interval",
      x = if (by_network) NULL else "puts per client")
}

figure_traces <- function(fabrics, clients, puts = c(1, 2, 4, 6, 8), metric = "throughput") {
  table <- traces(fabrics, clients, puts)
  samples <- grid_samples(fabrics, clients, puts, metric)
  if (nothing_measured(table, samples, published_cells(metric, fabrics, clients, puts))) {
    return(figure_without_data())
  }
  averages <- published_cells("throughput", fabrics, clients, puts)
  averages <- averages[!averages$derived | length(fabrics) > 1, ]
  averages$panel <- puts_label(averages$puts)
  several <- length(puts) > 1
  left <- if (nrow(table) == 0) {
    figure_without_data(if (nrow(samples) == 0) "Not measured at this effort." else "No trace was kept.")
  } else {
    table$panel <- puts_label(table$puts)
    averages <- averages[averages$puts %in% table$puts, ]
    plot_traces(table, averages, several)
  }
  right <- plot_averages(fabrics, clients, puts, published_cells(metric, fabrics, clients, puts), metric)
  side_by_side(left, right, if (several) c(3.1, 2) else c(3, 2))
}

data_traces <- function(fabrics, clients, puts = c(1, 2, 4, 6, 8)) {
  table <- traces(fabrics, clients, puts)
  if (nrow(table) == 0) {
    return(table)
  }
  data.frame(
    run_id = table$run_id, fabric = table$fabric, clients = table$clients, puts_per_client = table$puts,
    time_s = round(table$time, 3), egress_mb_per_s = signif(table$value, 5),
    full_scale_mb_per_s = signif(table$shown, 5)
  )
}
