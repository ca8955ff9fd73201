# Figures of what the models of the package computed.
#
# figure_sweeps(sweeps, x, title, ...)  curves of sweeps of one unit

no_sweep <- "This sweep of the model was not computed."

# What a modelled figure says of itself.
model_note <- function(rows, ...) {
  paste(c(paste0("model ", listed(unique(rows$model)), "; nothing in it is measured"), ...), collapse = "\n")
}

# One curve a sweep, named by `labels` (sweep = words).
figure_sweeps <- function(labels, x, title, x_name, y_name, where = list(), marks = NULL, note = NULL,
                          y_labels = waiver()) {
  rows <- sweep_rows(names(labels), where)
  if (nrow(rows) == 0) {
    return(figure_without_data(no_sweep))
  }
  rows$at <- rows[[x]]
  rows$curve <- factor(labels[rows$sweep], unname(labels))
  colours <- unname(okabe_ito[c("blue", "vermillion", "green", "purple")])[seq_along(labels)]
  plot <- ggplot(rows, aes(at, value, colour = curve, linetype = curve, shape = curve)) +
    geom_line(linewidth = 0.8) +
    geom_point(size = 1.8)
  if (!is.null(marks)) plot <- plot + geom_published(marks, aes(at, published))
  plot +
    scale_colour_manual(NULL, values = colours) +
    scale_linetype_discrete(NULL) +
    scale_shape_discrete(NULL) +
    guides(colour = if (length(labels) > 1) guide_legend(ncol = 1) else "none",
           linetype = if (length(labels) > 1) guide_legend(ncol = 1) else "none",
           shape = if (length(labels) > 1) guide_legend(ncol = 1) else "none") +
    scale_y_continuous(y_name, limits = c(0, NA), expand = expansion(c(0, 0.08)), labels = y_labels) +
    labs(title = title, subtitle = model_note(rows, note), x = x_name)
}
