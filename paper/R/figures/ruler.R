# The ruler of claims: what was found of every claim with a number, over what the paper claims.

ruler_ends <- c(0.1, 10)

# Nothing beyond the ends of the axis.
on_ruler <- function(x) pmin(pmax(x, ruler_ends[[1]]), ruler_ends[[2]])

ruler_axis <- function(breaks = c(0.1, 0.2, 0.5, 1, 2, 5, 10)) {
  scale_x_log10("found over claimed", breaks = breaks, limits = ruler_ends, labels = function(x) trimmed(x),
                expand = expansion(0.02))
}

# What a point says, and the claim's row, to which it leads.
ruler_label <- function(table, words, paper) {
  page <- if (paper == paper_id()) "" else paste0(paper, ".html")
  said <- vapply(split(table, seq_len(nrow(table))), function(row) {
    paste(c(claimed_words(row), found_words(row)), collapse = "; ")
  }, character(1))
  leading_to(paste0(page, "#claim-", table$claim),
             paste0(table$claim, ", ", sub("[.]$", "", table$statement), ": ", said, ": ", words))
}

# A row per claim whose number and estimate are above 0; NULL where there is none.
ruler_of <- function(paper) {
  table <- read_verdicts(paper)
  table$expected <- as_value(table$expected)
  table <- table[which(table$estimate > 0 & table$expected > 0 & !untestable(table)), ]
  if (nrow(table) == 0) {
    return(NULL)
  }
  words <- verdict_words(table, paper)
  end <- function(bound, otherwise) on_ruler(ifelse(is.na(bound), otherwise, bound / table$expected))
  data.frame(
    paper = paper, claim = table$claim, by = ifelse(by_runs(table), judged_by[[1]], judged_by[[2]]),
    verdict = factor(words, word_levels), ratio = table$estimate / table$expected,
    low = table$low / table$expected, high = table$high / table$expected,
    tolerance_low = end(table$expected_low, ruler_ends[[1]]),
    tolerance_high = end(table$expected_high, ruler_ends[[2]]),
    label = ruler_label(table, words, paper)
  )
}

ruler_table <- function(papers = paper_id()) do.call(rbind, lapply(papers, ruler_of))

data_ruler <- function(papers = paper_id()) {
  table <- ruler_table(papers)
  table[setdiff(names(table), "label")]
}

# From top to bottom, by paper: a heading where there are several, a row for each claim that runs judge, and one row for
# all claims that the paper's own numbers judge.
ruler_row <- function(table) paste(table$paper, ifelse(table$by == judged_by[[2]], "", table$claim), sep = "\r")

ruler_rows <- function(table, several) {
  unlist(lapply(unique(table$paper), function(paper) {
    own <- table[table$paper == paper, ]
    c(if (several) paste0("\r", paper), unique(ruler_row(own[order(own$by == judged_by[[2]]), ])))
  }))
}

# Inches: a line for each row, the axis and the legend.
ruler_height <- function(papers = paper_id()) {
  table <- ruler_table(papers)
  if (is.null(table)) 1.1 else 2 + 0.17 * length(ruler_rows(table, length(papers) > 1))
}

# Circles are claims that runs judge, diamonds those of the paper's own numbers; hollow ones lie beyond the axis.
ruler_shapes <- function(table) {
  beyond <- table$place != table$ratio
  ifelse(table$by == judged_by[[1]], ifelse(beyond, 1, 16), ifelse(beyond, 5, 18))
}

# Of rows with a `row` each: tolerance, line at 1, interval and point, and what their colours mean.
ruler_marks <- function(table, legend) {
  runs <- table[table$by == judged_by[[1]], ]
  list(
    geom_rect(data = runs, aes(xmin = tolerance_low, xmax = tolerance_high, ymin = as.numeric(row) - 0.4,
                               ymax = as.numeric(row) + 0.4), fill = "#d5dbe1", inherit.aes = FALSE),
    geom_vline(xintercept = 1, linewidth = 0.5, colour = published_ink),
    geom_linerange(data = runs[!is.na(runs$low) & !is.na(runs$high), ], linewidth = 1, show.legend = FALSE,
                   aes(xmin = on_ruler(low), xmax = on_ruler(high), colour = verdict)),
    geom_runs(aes(x = place, colour = verdict, shape = shape, label = label), size = 2),
    scale_shape_identity(),
    scale_colour_manual(NULL, values = verdict_colours, breaks = intersect(word_levels, table$verdict), guide = legend),
    labs(y = NULL),
    theme(text = element_text(size = 10), panel.grid.major.y = element_blank())
  )
}

# `headings` are the names of several papers.
figure_ruler <- function(title, papers = paper_id(), headings = papers) {
  table <- ruler_table(papers)
  if (is.null(table)) {
    return(figure_without_data("Not measured yet: no claim has a number."))
  }
  rows <- rev(ruler_rows(table, length(papers) > 1))
  table$row <- factor(ruler_row(table), rows)
  table$place <- on_ruler(table$ratio)
  table$shape <- ruler_shapes(table)
  heads <- data.frame(row = factor(paste0("\r", papers), rows), head = headings)
  ggplot(table, aes(y = row)) +
    geom_blank() +
    ruler_marks(table, guide_legend(ncol = 2)) +
    geom_text(data = heads[!is.na(heads$row), ], aes(x = ruler_ends[[1]], label = head), hjust = 0, fontface = "bold",
              size = 3.2, family = base_font) +
    ruler_axis() +
    scale_y_discrete(limits = rows, labels = ruler_names) +
    labs(title = title)
}

# The claims that runs judge, a panel for each paper and those found largest on top: all of them in one look, unnamed.
figure_glance <- function(papers, headings) {
  table <- ruler_table(papers)
  table <- table[table$by %in% judged_by[[1]], ]
  if (length(table) == 0 || nrow(table) == 0) {
    return(figure_without_data("Not measured yet: no claim has a number."))
  }
  table$row <- ave(table$ratio, table$paper, FUN = function(ratio) -rank(-ratio, ties.method = "first"))
  table$place <- on_ruler(table$ratio)
  table$shape <- ruler_shapes(table)
  table$head <- factor(headings[match(table$paper, papers)], unique(headings))
  ggplot(table, aes(y = row)) +
    ruler_marks(table, guide_legend(nrow = 1)) +
    facet_grid(cols = vars(head)) +
    ruler_axis(c(0.2, 1, 5)) +
    scale_y_continuous(NULL, breaks = NULL)
}

# Beside a row: the claim, nothing beside a heading.
ruler_names <- function(rows) {
  ifelse(startsWith(rows, "\r"), "", ifelse(endsWith(rows, "\r"), "own numbers", sub("^.*\r", "", rows)))
}
