# The start page: all papers of one testbed.

papers_with_results <- function() {
  paths <- sort(Sys.glob(file.path(results_dir(), "*", "analysis", "verdicts.csv")))
  basename(dirname(dirname(paths)))
}

paper_title <- function(paper) {
  tryCatch(read_paper(paper)$title, error = function(e) paper)
}

paper_year <- function(paper) {
  year <- tryCatch(read_paper(paper)$year, error = function(e) NULL)
  if (is.null(year)) "" else paste0(" (", year, ")")
}

all_verdicts <- function() {
  tables <- lapply(papers_with_results(), function(paper) {
    table <- read_verdicts(paper)
    table$paper <- rep(paper, nrow(table))
    table
  })
  do.call(rbind, tables)
}

paper_sections <- function() {
  sections <- vapply(papers_with_results(), function(paper) {
    links <- sprintf("[Read the report](%s.html) \u00b7 [PDF](%s.pdf)", paper, paper)
    if (!file.exists(paste0(paper, ".qmd"))) links <- "This paper has no report yet."
    paste0(
      "## ", safe(paper_title(paper)), paper_year(paper), " {.unnumbered}\n\n", verdict_sentence(paper),
      "\n\n",
      as.character(strongest_list(paper, 3)), "\n\n", links, "\n\n"
    )
  }, character(1))
  if (length(sections) == 0) sections <- "No paper has results yet: `make papers` measures and judges them.\n"
  knitr::asis_output(paste(sections, collapse = "\n"))
}

html_escape <- function(x) {
  x <- ifelse(is.na(x), "", as.character(x))
  x <- gsub("&", "&amp;", x, fixed = TRUE)
  x <- gsub("<", "&lt;", x, fixed = TRUE)
  x <- gsub(">", "&gt;", x, fixed = TRUE)
  gsub("\"", "&quot;", x, fixed = TRUE)
}

unescaped <- function(x) gsub("\\\\([\\\\`*_{}\\[\\]#+!|<>~^$@])", "\\1", x, perl = TRUE)

# Raw HTML, because each row carries what the filter looks at.
verdict_rows <- function() {
  table <- all_verdicts()
  if (is.null(table) || nrow(table) == 0) {
    return("")
  }
  estimate <- estimate_text(table)
  expected <- unescaped(expected_text(table))
  cells <- sprintf(
    paste0(
      "<tr data-verdict=\"%s\" data-paper=\"%s\"><td><a href=\"%s.html#sec-verdicts\">%s</a></td><td>%s</td>",
      "<td><span class=\"badge %s\">%s</span></td><td>%s</td><td>%s</td><td>%s</td></tr>"
    ),
    html_escape(table$verdict), html_escape(table$paper), html_escape(table$paper), html_escape(table$claim),
    html_escape(table$statement), gsub(" ", "-", html_escape(table$verdict)), html_escape(table$verdict),
    html_escape(estimate), html_escape(expected), html_escape(table$route)
  )
  paste(cells, collapse = "\n")
}

options_of <- function(values) {
  if (length(values) == 0) {
    return("")
  }
  paste0("<option>", html_escape(values), "</option>", collapse = "")
}

raw_html <- function(...) {
  fence <- strrep("`", 3)
  knitr::asis_output(paste0("\n\n", fence, "{=html}\n", ..., "\n", fence, "\n\n"))
}

# The table of all verdicts under its three controls; the page's script does the filtering.
verdict_filter <- function() {
  raw_html(
    "<div class=\"filters\" role=\"search\">\n",
    "<input id=\"find\" type=\"search\" placeholder=\"Find a claim\" aria-label=\"Find a claim\">\n",
    "<select id=\"by-verdict\" aria-label=\"Verdict\"><option value=\"\">every verdict</option>",
    options_of(intersect(verdict_levels, all_verdicts()$verdict)), "</select>\n",
    "<select id=\"by-paper\" aria-label=\"Paper\"><option value=\"\">every paper</option>",
    options_of(papers_with_results()), "</select>\n",
    "<output id=\"shown\" aria-live=\"polite\"></output>\n</div>\n",
    "<div class=\"table-scroll\"><table id=\"verdicts\">\n<thead><tr><th>Claim</th><th>Statement</th>",
    "<th>Verdict</th><th>Estimate</th><th>Expected</th><th>Route</th></tr></thead>\n<tbody>\n",
    verdict_rows(), "\n</tbody>\n</table></div>"
  )
}
