# Throughput over the grid: lines of medians, every run as a point, the paper's values as diamonds.

grid_samples <- function(fabrics, clients = 1:3, puts = NULL, metric = "throughput") {
  grid_cells(valid_runs("put-grid", metric), fabrics, clients, puts)
}

grid_medians <- function(fabrics, clients = 1:3, puts = NULL, metric = "throughput") {
  grid_cells(estimates_of("put-grid", metric), fabrics, clients, puts)
}

grid_model <- function(fabrics) {
  model <- read_model()
  model <- model[model$experiment %in% "put-grid" & model$metric %in% "throughput" & !is.na(model$value), ]
  grid_cells(model, fabrics)
}

with_client_label <- function(table) {
  table$panel <- factor(
    ifelse(table$clients == 1, "1 client", paste(table$clients, "clients")),
    c("1 client", "2 clients", "3 clients")
  )
  table$client <- as.character(table$clients)
  table
}

figure_grid <- function(fabric, title) {
  samples <- with_client_label(grid_samples(fabric))
  medians <- with_client_label(grid_medians(fabric))
  points <- with_client_label(published_cells("throughput", fabric))
  model <- with_client_label(grid_model(fabric))
  if (nothing_measured(samples, medians, points)) {
    return(figure_without_data())
  }
  ggplot(medians, aes(total_puts, shown, colour = client, shape = client)) +
    geom_line(
      data = model, aes(y = value, group = client, linetype = "max-min model"), linewidth = 0.5
    ) +
    geom_line(aes(group = client, linetype = "median of runs"), linewidth = 0.8) +
    geom_runs(data = samples, position = jitter_points(0.16), alpha = 0.55, size = 1.7) +
    interval_bars(medians, 0.5) +
    geom_point(aes(alpha = paler(n, 1)), size = 2.7) +
    scale_alpha_identity() +
    geom_published(points, aes(total_puts, published)) +
    scale_clients() +
    scale_linetype_manual(NULL, values = c("median of runs" = "solid", "max-min model" = "dotted")) +
    scale_x_continuous("put operations in all", breaks = c(1, 2, 4, 6, 8, 12, 16, 18, 24)) +
    measured_axis(samples, "MB/s") +
    labs(title = title, subtitle = paste(scale_note(), runs_per_cell(medians$n, TRUE), sep = "\n"))
}

figure_both_networks <- function(title) {
  fabrics <- c("1GbE", "10GbE")
  samples <- with_client_label(grid_samples(fabrics))
  medians <- with_client_label(grid_medians(fabrics))
  points <- with_client_label(published_cells("throughput", fabrics))
  if (nothing_measured(samples, medians)) {
    return(figure_without_data())
  }
  ggplot(medians, aes(puts, shown, colour = fabric, shape = fabric)) +
    geom_line(aes(group = fabric), linewidth = 0.8) +
    geom_runs(data = samples, position = jitter_points(), alpha = 0.5, size = 1.6) +
    interval_bars(medians, 0.4) +
    geom_point(aes(alpha = paler(n, 1)), size = 2.6) +
    scale_alpha_identity() +
    geom_published(points, aes(puts, published)) +
    facet_wrap(~panel) +
    scale_fabric() +
    scale_x_continuous("puts per client", breaks = c(1, 2, 4, 6, 8)) +
    measured_axis(samples, "MB/s") +
    labs(title = title, subtitle = paste(scale_note(), runs_per_cell(medians$n, TRUE), sep = "\n"))
}

data_grid <- function(fabrics, clients = 1:3, puts = NULL, metric = "throughput") {
  samples <- grid_samples(fabrics, clients, puts, metric)
  keep <- c("run_id", "fabric", "clients", "puts_per_client", "replicate", "metric", "value", "unit",
            "full_scale_value", "full_scale_unit")
  samples[intersect(keep, names(samples))]
}

grid_cells <- function(table, fabrics = c("1GbE", "10GbE"), clients = 1:3, puts = NULL) {
  keep <- table$fabric %in% fabrics & table$clients %in% clients
  if (!is.null(puts)) keep <- keep & table$puts %in% puts
  table <- table[keep, ]
  table$fabric <- factor(table$fabric, levels = fabrics)
  table
}
