# Verdicts as a bar.

verdict_bar_data <- function(papers) {
  rows <- lapply(papers, function(paper) {
    counts <- vapply(verdict_levels, verdict_count, numeric(1), paper = paper)
    data.frame(paper = paper, verdict = factor(verdict_levels, verdict_levels), claims = counts)
  })
  table <- do.call(rbind, rows)
  table[table$claims > 0, ]
}

figure_verdicts <- function(papers = paper_id()) {
  table <- verdict_bar_data(papers)
  if (is.null(table) || nrow(table) == 0) {
    return(figure_without_data("No claim has been judged yet."))
  }
  table$paper <- factor(table$paper, levels = rev(papers))
  ggplot(table, aes(claims, paper, fill = verdict)) +
    geom_col(position = position_stack(reverse = TRUE), width = 0.62, colour = "white", linewidth = 0.5) +
    geom_text(
      aes(label = claims),
      position = position_stack(vjust = 0.5, reverse = TRUE), size = 3.7, fontface = "bold",
      family = base_font,
      colour = ifelse(table$verdict %in% c("inconclusive", "consistent", "inconsistent",
        "not testable here"), ink,
                      "white")
    ) +
    scale_fill_manual(NULL, values = verdict_colours, guide = guide_legend(nrow = 2)) +
    scale_x_continuous("claims", expand = expansion(c(0, 0.02))) +
    labs(y = NULL) +
    theme(panel.grid.major.y = element_blank(), axis.text.y = if (length(papers) == 1) element_blank())
}
