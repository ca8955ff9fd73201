# The outcomes of controls as a figure.

outcome_colours <- c(held = "#00785a", failed = "#b84700", open = "#5f6770")
outcome_shapes <- c(held = 16, failed = 4, open = 1)

# Ratios that a logarithmic axis names: finer steps where the range is narrow.
ratio_breaks <- function(limits) {
  span <- max(limits) / min(limits)
  if (span < 1.6) {
    return(scales::breaks_extended(6)(limits))
  }
  if (span < 6) {
    return(10^rep(-3:3, each = 9) * c(1, 1.25, 1.5, 2, 3, 4, 5, 6, 8))
  }
  10^rep(-3:3, each = 3) * c(1, 2, 5)
}

controls_drawn <- function() {
  table <- read_controls()
  title <- ifelse(is.na(table$title), "", table$title)
  labels <- paste0(table$control, " ", title, " (", gsub("_", " ", table$metric), ")")
  table$row <- factor(seq_len(nrow(table)), rev(seq_len(nrow(table))), rev(in_lines(labels, 44)))
  table$outcome <- factor(table$outcome, outcome_levels)
  table
}

# Inches: a line of a name each, and the axes.
controls_height <- function() {
  lines <- lengths(strsplit(as.character(controls_drawn()$row), "\n"))
  1.7 + sum(pmax(0.36, 0.12 + 0.19 * lines))
}

figure_controls <- function(title) {
  table <- controls_drawn()
  known <- table[!is.na(table$estimate), ]
  ranged <- known[!is.na(known$low) & !is.na(known$high), ]
  unknown <- table[is.na(table$estimate) & !is.na(table$expected), ]
  right <- table[!is.na(table$expected), ]
  # Of both scales, or their legends would not be one.
  drawn <- intersect(outcome_levels, known$outcome)
  ggplot(table, aes(y = row)) +
    geom_blank() +
    geom_segment(data = right, aes(x = expected, xend = expected, y = as.numeric(row) - 0.34,
                                   yend = as.numeric(row) + 0.34, linetype = "right answer"), linewidth = 0.7) +
    geom_linerange(data = ranged, aes(xmin = low, xmax = high, colour = outcome), linewidth = 1.1, alpha = 0.65,
                   show.legend = FALSE) +
    geom_point(data = known, aes(estimate, colour = outcome, shape = outcome), size = 3, stroke = 1.4) +
    geom_text(data = unknown, aes(expected), label = "open", hjust = -0.35, size = 3.4, colour = soft,
              family = base_font) +
    scale_colour_manual(NULL, values = outcome_colours, limits = drawn, guide = guide_legend(order = 1)) +
    scale_shape_manual(NULL, values = outcome_shapes, limits = drawn, guide = guide_legend(order = 1)) +
    scale_linetype_manual(NULL, values = c("right answer" = "solid")) +
    scale_x_log10("ratio of the control's runs to those that they are compared with", breaks = ratio_breaks,
                  labels = function(x) trimmed(x), expand = expansion(c(0.08, 0.14))) +
    labs(title = title, subtitle = scale_note(absolute = FALSE), y = NULL)
}
