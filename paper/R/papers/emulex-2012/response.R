# Throughput against link rate, and where the bottleneck moves from the link to the drives.

response_samples <- function() {
  runs <- valid_runs("response-curve", "throughput")
  runs$rate <- fabric_rate(runs$fabric)
  grid <- grid_cells(valid_runs("put-grid", "throughput"), clients = 3, puts = 6)
  grid$rate <- fabric_rate(grid$fabric)
  columns <- c("run_id", "experiment", "rate", "value", "unit", "shown", "full_scale_unit")
  table <- rbind(runs[columns], grid[columns])
  table[!is.na(table$rate), ]
}

response_model <- function() curve_model("response-curve", "throughput", TRUE)

# The same cells with files as short as they were written here.
response_model_as_run <- function() {
  numbers <- c("value", "link_gbit_per_s")
  model <- with_factors(read_stage("analysis", "model_as_run.csv", c("metric", numbers), numbers = numbers))
  model <- model[model$experiment %in% "response-curve" & model$metric %in% "throughput", ]
  model$rate <- model$link_gbit_per_s
  model[!is.na(model$rate) & !is.na(model$value), ]
}

# The first link rate at which the model comes within 5 % of its ceiling: from here the drives set the pace.
# The
# model draws block placements at random, so its ceiling is the median over the fastest quarter of the links.
response_knee <- function(model = response_model()) {
  if (nrow(model) < 3) {
    return(NA_real_)
  }
  ceiling <- stats::median(utils::tail(model$value, max(3, nrow(model) %/% 4)))
  model$rate[[which(model$value >= 0.95 * ceiling)[[1]]]]
}

figure_response <- function(title) {
  samples <- response_samples()
  model <- response_model()
  if (nothing_measured(samples, model)) {
    return(figure_without_data())
  }
  knee <- response_knee(model)
  points <- published_cells("throughput", clients = 3, puts = 6)
  points$rate <- fabric_rate(points$fabric)
  samples$from <- ifelse(samples$experiment == "put-grid", "grid", "curve")
  samples$n <- if (nrow(samples) > 0) stats::ave(samples$shown, samples$rate, FUN = length) else numeric()
  medians <- if (nrow(samples) == 0) samples else stats::aggregate(shown ~ rate + n, data = samples,
    FUN = stats::median)
  plot <- ggplot(samples, aes(rate, shown))
  if (!is.na(knee) && knee < max(model$rate)) {
    top <- max(c(model$value, samples$shown, points$published)) * 1.1
    plot <- plot +
      geom_vline(xintercept = knee, colour = soft, linewidth = 0.4, linetype = "22") +
      annotate("text", x = knee / 1.06, y = top, label = "the links limit", hjust = 1, size = 3.5,
               colour = soft,
               family = base_font) +
      annotate("text", x = knee * 1.06, y = top, label = "the drives limit", hjust = 0, size = 3.5,
               colour = soft,
               family = base_font)
  }
  plot +
    geom_line(data = model, aes(y = value, linetype = "max-min model"), linewidth = 0.8,
      colour = okabe_ito[["green"]]) +
    geom_line(data = response_model_as_run(), aes(y = value, linetype = "same, short files"),
              linewidth = 0.6, colour = okabe_ito[["green"]]) +
    geom_runs(aes(shape = from), size = 2, alpha = 0.65, colour = okabe_ito[["blue"]]) +
    geom_point(data = medians, aes(alpha = paler(n, 1)), shape = 95, size = 8, colour = okabe_ito[["blue"]]) +
    scale_alpha_identity() +
    geom_published(points, aes(rate, published)) +
    scale_linetype_manual(NULL, values = c("max-min model" = "solid",
      "same, short files" = "22")) +
    scale_shape_manual("runs of the", values = c("grid" = 17, "curve" = 16)) +
    guides(fill = guide_legend(order = 1), shape = guide_legend(order = 2),
      linetype = guide_legend(order = 3)) +
    scale_x_log10("link rate, Gbit/s (full scale)", breaks = c(0.5, 1, 2, 5, 10, 20, 40),
      labels = function(x) trimmed(x)) +
    measured_axis(samples, "MB/s") +
    labs(title = title, subtitle = paste(c(scale_note("put-grid"), if (nrow(medians) > 0) {
      sub("cell", "link rate", runs_per_cell(medians$n, TRUE), fixed = TRUE)
    }), collapse = "\n"))
}
