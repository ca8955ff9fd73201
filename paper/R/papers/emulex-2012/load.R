# Completion time against load, with a straight line and an exponential fitted to each network.

load_samples <- function() grid_samples(c("1GbE", "10GbE"), 3, metric = "completion_time")

# Of a curve with two parameters; the third is the scatter.
gaussian_aic <- function(residuals) {
  n <- length(residuals)
  n * log(sum(residuals^2) / n) + 2 * 3
}

# Both curves have two parameters and are fitted by least squares in seconds, so their AIC can be compared.
fit_load <- function(table) {
  if (length(unique(table$total_puts)) < 3) {
    return(NULL)
  }
  line <- stats::lm(shown ~ total_puts, data = table)
  start <- stats::coef(stats::lm(log(shown) ~ total_puts, data = table))
  exponential <- tryCatch(
    stats::nls(shown ~ a * exp(b * total_puts), data = table,
               start = list(a = exp(start[[1]]), b = start[[2]]),
               control = stats::nls.control(warnOnly = TRUE)),
    error = function(e) NULL
  )
  if (is.null(exponential)) {
    return(NULL)
  }
  x <- seq(min(table$total_puts), max(table$total_puts), length.out = 80)
  at <- data.frame(total_puts = x)
  list(
    curves = rbind(
      data.frame(total_puts = x, shown = stats::predict(line, at), fit = "linear"),
      data.frame(total_puts = x, shown = stats::predict(exponential, at), fit = "exponential")
    ),
    aic_linear = gaussian_aic(stats::residuals(line)),
    aic_exponential = gaussian_aic(stats::residuals(exponential))
  )
}

# To the loads that the claim names.
load_fits <- function() {
  claim <- with_id(read_paper()$claims, "E-C24")
  samples <- load_samples()
  samples <- samples[samples$puts_per_client %in% unlist(claim$test$levels), ]
  fits <- lapply(split(samples, samples$fabric), fit_load)
  Filter(Negate(is.null), fits)
}

figure_load <- function(title) {
  samples <- load_samples()
  if (nrow(samples) == 0) {
    return(figure_without_data())
  }
  fits <- load_fits()
  curves <- do.call(rbind, lapply(names(fits), function(name) cbind(fits[[name]]$curves, fabric = name)))
  if (!is.null(curves)) curves$fabric <- factor(curves$fabric, levels(samples$fabric))
  medians <- grid_medians(c("1GbE", "10GbE"), 3, metric = "completion_time")
  points <- published_cells("completion_time", c("1GbE", "10GbE"), 3)
  plot <- ggplot(medians, aes(total_puts, shown, colour = fabric, shape = fabric))
  if (!is.null(curves)) {
    plot <- plot + geom_line(data = curves, aes(linetype = fit, shape = NULL), linewidth = 0.7) +
      scale_linetype_manual("fit", values = c(linear = "solid", exponential = "22"))
  }
  plot +
    geom_runs(data = samples, position = jitter_points(0.2), alpha = 0.55, size = 1.8) +
    interval_bars(medians, 0.6) +
    geom_point(aes(alpha = paler(n, 1)), size = 2.7) +
    scale_alpha_identity() +
    geom_published(points, aes(total_puts, published)) +
    scale_fabric() +
    scale_x_continuous("put operations in all, three clients", breaks = c(3, 6, 12, 18, 24),
                       limits = c(2, 25)) +
    measured_axis(samples, "s") +
    labs(title = title, subtitle = paste(time_note(), runs_per_cell(medians$n, TRUE), sep = "\n"))
}

load_sentence <- function() {
  fits <- load_fits()
  if (length(fits) == 0) {
    return("The curves are not fitted at this effort: they need three or more loads.")
  }
  fits_better <- vapply(names(fits), function(name) {
    difference <- fits[[name]]$aic_linear - fits[[name]]$aic_exponential
    better <- if (difference < -2) {
      "the straight line fits better"
    } else if (difference > 2) {
      "the exponential fits better"
    } else {
      "the two fit alike"
    }
    sprintf("on %s %s (AIC of the line minus that of the exponential: %s)", name, better,
            with_minus(formatC(difference, format = "f", digits = 1)))
  }, character(1))
  paste0("Three clients, two puts each and more: ", listed(fits_better), ". How far runs decide it on 1GbE: ",
         claim_badge("E-C24"), ".")
}
