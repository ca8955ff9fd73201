# A link-rate proxy beside a printed effect that cannot be emulated: the ratio of two rates of link, run by run.
#
# `effects`: data.frame(claim, label, before, after) with the ids of the two printed values. The two cells are those of
# the claim's own reading whose title begins with "proxy".

proxy_reading <- function(claim) {
  Find(function(reading) startsWith(reading$title, "proxy"), with_id(read_paper()$claims, claim)$readings)
}

data_proxy <- function(effects) {
  rows <- lapply(seq_len(nrow(effects)), function(i) {
    reading <- proxy_reading(effects$claim[[i]])
    if (is.null(reading)) {
      return(NULL)
    }
    test <- reading$test
    base <- median_at(test$denominator$experiment, test$metric, test$denominator$where)
    runs <- runs_at(test$numerator$experiment, test$metric, test$numerator$where)
    if (nrow(runs) == 0 || is.na(base)) {
      return(NULL)
    }
    row <- reading_row(effects$claim[[i]], "proxy")
    data.frame(
      label = effects$label[[i]], experiment = test$numerator$experiment, run_id = runs$run_id,
      ratio = runs$shown / base, metric = test$metric,
      rates = paste0(fabric_name(test$numerator$where$fabric), " over ", fabric_name(test$denominator$where$fabric)),
      low = as_value(row$low), high = as_value(row$high)
    )
  })
  rows <- do.call(rbind, rows)
  if (is.null(rows)) data.frame() else rows
}

figure_proxy <- function(effects, title) {
  runs <- data_proxy(effects)
  printed <- data.frame(label = effects$label, published = vapply(effects$after, published, numeric(1)) /
    vapply(effects$before, published, numeric(1)))
  if (nrow(runs) == 0) {
    return(figure_without_data(paste0(title, ":\nthe link-rate proxy was not measured at this effort.")))
  }
  medians <- stats::aggregate(ratio ~ label, data = runs, FUN = stats::median)
  medians <- merge(medians, unique(runs[c("label", "low", "high")]))
  levels <- rev(effects$label)
  runs$label <- factor(runs$label, levels)
  medians$label <- factor(medians$label, levels)
  printed$label <- factor(printed$label, levels)
  bars <- medians[!is.na(medians$low), ]
  counts <- paste(unique(range(table(droplevels(runs$label)))), collapse = " to ")
  ggplot(medians, aes(ratio, label)) +
    geom_vline(xintercept = 1, colour = soft, linewidth = 0.4) +
    geom_errorbarh(data = bars, aes(xmin = low, xmax = high), height = 0.2, linewidth = 0.6,
                   colour = okabe_ito[["blue"]]) +
    geom_runs(data = runs, aes(shape = "run of the proxy"), size = 1.8, alpha = 0.6, colour = okabe_ito[["blue"]],
              position = position_jitter(width = 0, height = 0.08, seed = 1)) +
    geom_point(aes(shape = "its median"), size = 3.4, colour = okabe_ito[["blue"]]) +
    geom_published(printed, aes(published, label)) +
    scale_y_discrete(limits = levels) +
    scale_shape_manual(NULL, values = c("run of the proxy" = 16, "its median" = 18)) +
    scale_x_continuous("after over before", limits = c(0, NA), expand = expansion(c(0, 0.06)),
                       labels = function(x) paste0(x, "\u00d7")) +
    labs(title = title, y = NULL, subtitle = figure_note(unique(runs$experiment), paste0(
      "PROXY BY LINK RATE ONLY (", listed(unique(runs$rates)), "): no SR-IOV, no hypervisor, no VPC; n = ", counts
    ), "published: Enhanced Networking in a VPC over EC2-Classic"))
}
