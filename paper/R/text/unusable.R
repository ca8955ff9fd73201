# Unusable medians (a guard rejects them; estimates.csv says why), marked wherever they are shown.
#
# is_unusable(medians)           which rows of estimates.csv a guard rejects
# marked(text, medians)          numbers as text, with the mark where they are unusable
# unusable_note(medians, ...)    why, for a figure's note or below a table; NULL where none is unusable
# with_unusable(table, medians)  a table from md_table with that line below it
# geom_unusable(medians, mapping)  the mark in a figure

unusable_mark <- "\u2020"

is_unusable <- function(medians) {
  if (is.null(medians$untold)) rep(FALSE, nrow(medians)) else !is.na(medians$untold) & medians$untold != ""
}

marked <- function(text, medians) paste0(text, ifelse(is_unusable(medians), unusable_mark, ""))

# `where` names each row's cell; what several cells have alike is said once.
unusable_note <- function(medians, where = gsub("\n", ", ", medians$level), width = Inf) {
  out <- is_unusable(medians)
  if (!any(out)) {
    return(NULL)
  }
  why <- medians$untold[out]
  where <- as.character(where)[out]
  parts <- vapply(unique(why), function(x) paste0(listed(unique(where[why == x])), ": ", x), character(1))
  text <- paste0(unusable_mark, " not measured by its runs. ", paste(parts, collapse = ". "))
  if (is.finite(width)) in_lines(text, width) else text
}

with_unusable <- function(table, medians, ...) {
  line <- unusable_note(medians, ...)
  if (is.null(line)) table else knitr::asis_output(paste0(table, "\n", safe(line), ".\n"))
}

geom_unusable <- function(medians, mapping = NULL, ...) {
  out <- medians[is_unusable(medians), ]
  if (nrow(out) == 0) {
    return(NULL)
  }
  geom_text(data = out, mapping = mapping, label = unusable_mark, vjust = -0.5, size = 5, fontface = "bold",
            colour = okabe_ito[["vermillion"]], family = base_font, show.legend = FALSE, ...)
}
