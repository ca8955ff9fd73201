# Verdicts as bars: those by runs, and apart from them those on a paper's own numbers.

figure_verdicts <- function() {
  counts <- verdict_counts()
  if (nrow(counts) == 0) {
    return(figure_without_data("No claim has been judged yet."))
  }
  table <- cbind(paper = paper_id(), counts)
  table$ink <- verdict_ink(table$verdict)
  ggplot(table, aes(claims, paper, fill = verdict, group = verdict)) +
    geom_col(position = position_stack(reverse = TRUE), width = 0.62, colour = "white", linewidth = 0.5) +
    geom_text(aes(label = claims, colour = ink), position = position_stack(vjust = 0.5, reverse = TRUE), size = 3.7,
              fontface = "bold", family = base_font) +
    facet_grid(cols = vars(by)) +
    scale_fill_manual(NULL, values = verdict_colours, guide = guide_legend(nrow = 2)) +
    scale_colour_identity() +
    scale_x_continuous("claims", breaks = \(x) unique(round(pretty(x))), expand = expansion(c(0, 0.02))) +
    labs(y = NULL) +
    theme(panel.grid.major.y = element_blank(), axis.text.y = element_blank())
}
