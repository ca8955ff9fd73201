# Marks of the inverse questions on a curve.
#
# inverse_marks(points, last)  layers for figure_curve (curve.R)

# The metric's level that each claim asks for, at the link rate it would take.
inverse_points <- function(experiment, metric, where = list(), claims = NULL) {
  table <- read_inverse()
  table <- table[table$experiment %in% experiment & table$metric %in% metric & !is.na(table$effect), ]
  if (!is.null(claims)) table <- table[table$claim %in% claims, ]
  if (nrow(table) == 0) {
    return(table)
  }
  table$from_rate <- fabric_rate(table$from)
  table$wanted <- table$effect * mapply(function(experiment, fabric) {
    median_at(experiment, metric, utils::modifyList(where, list(fabric = fabric)))
  }, table$experiment, table$from)
  table <- table[!is.na(table$wanted), ]
  # Claims that ask for the same are one mark.
  key <- paste(signif(table$wanted, 4), table$plausible_low, table$plausible_high)
  table$label <- vapply(key, function(x) paste(table$claim[key == x], collapse = ", "), character(1))
  table <- table[!duplicated(key), ]
  none <- ifelse(is.na(table$largest_effect), "asked for", "no link rate")
  table$label <- ifelse(is.na(table$link_ratio), paste0(table$label, ": ", none),
                        paste0(table$label, ": ", trimmed(table$from_rate * table$link_ratio), " Gbit/s"))
  table
}

inverse_marks <- function(points, last) {
  if (nrow(points) == 0) {
    return(NULL)
  }
  colour <- okabe_ito[["vermillion"]]
  reached <- points[!is.na(points$link_ratio), ]
  ranged <- reached[!is.na(reached$link_ratio_low) & !is.na(reached$link_ratio_high), ]
  plausible <- points[!is.na(points$plausible_low), ]
  list(
    geom_segment(data = plausible, aes(x = from_rate * plausible_low, xend = from_rate * plausible_high * 1.001,
                                       y = wanted, yend = wanted), inherit.aes = FALSE,
                 colour = okabe_ito[["yellow"]], linewidth = 4, alpha = 0.7, lineend = "round"),
    geom_hline(data = points, aes(yintercept = wanted), colour = colour, linewidth = 0.4, linetype = "22"),
    geom_errorbarh(data = ranged, aes(xmin = from_rate * link_ratio_low, xmax = from_rate * link_ratio_high,
                                      y = wanted), inherit.aes = FALSE, height = 0, colour = colour, linewidth = 0.8),
    geom_point(data = reached, aes(from_rate * link_ratio, wanted), inherit.aes = FALSE, shape = 8, size = 3,
               colour = colour, stroke = 0.9),
    ggrepel::geom_label_repel(
      data = points, aes(last, wanted, label = label), inherit.aes = FALSE, hjust = 0, nudge_x = 0.03,
      direction = "y", seed = 1, max.time = 5, max.overlaps = Inf, min.segment.length = Inf, size = 3.2,
      colour = colour, fill = scales::alpha("white", 0.8), label.size = 0, label.padding = 0.1, family = base_font,
      box.padding = 0.05
    )
  )
}

# The fastest link that a figure shows something at, and the room beyond it, as a share of the axis, in which the labels
# of claims keep off everything else.
last_rate <- function(points, rates) {
  shown <- unlist(points[intersect(c("link_ratio", "link_ratio_high", "plausible_high"), names(points))])
  max(rates, points$from_rate * shown, na.rm = TRUE)
}

label_room <- function(points) if (nrow(points) == 0) 0.05 else 0.05 + 0.011 * max(nchar(points$label))
