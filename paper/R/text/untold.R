# Medians that their runs do not tell (a guard rejects them; estimates.csv says why), marked wherever they are shown.
#
# is_untold(medians)             which rows of estimates.csv a guard rejects
# marked(text, medians)          numbers as text, with the mark where their runs do not tell them
# untold_line(medians, ...)      why, for a figure's note or below a table; NULL where all are told
# with_untold(table, medians)    a table from md_table with that line below it
# geom_untold(medians, mapping)  the mark in a figure

untold_mark <- "\u2020"

is_untold <- function(medians) {
  if (is.null(medians$untold)) rep(FALSE, nrow(medians)) else !is.na(medians$untold) & medians$untold != ""
}

marked <- function(text, medians) paste0(text, ifelse(is_untold(medians), untold_mark, ""))

# `where` names each row's cell; what several cells have alike is said once.
untold_line <- function(medians, where = gsub("\n", ", ", medians$level), width = Inf) {
  out <- is_untold(medians)
  if (!any(out)) {
    return(NULL)
  }
  why <- medians$untold[out]
  where <- as.character(where)[out]
  parts <- vapply(unique(why), function(x) paste0(listed(unique(where[why == x])), ": ", x), character(1))
  text <- paste0(untold_mark, " not measured by its runs. ", paste(parts, collapse = ". "))
  if (is.finite(width)) in_lines(text, width) else text
}

with_untold <- function(table, medians, ...) {
  line <- untold_line(medians, ...)
  if (is.null(line)) table else knitr::asis_output(paste0(table, "\n", safe(line), ".\n"))
}

geom_untold <- function(medians, mapping = NULL, ...) {
  out <- medians[is_untold(medians), ]
  if (nrow(out) == 0) {
    return(NULL)
  }
  geom_text(data = out, mapping = mapping, label = untold_mark, vjust = -0.5, size = 5, fontface = "bold",
            colour = okabe_ito[["vermillion"]], family = base_font, show.legend = FALSE, ...)
}
