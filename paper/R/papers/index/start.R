# The start page: all papers of one testbed.

papers_with_results <- function() {
  paths <- sort(Sys.glob(file.path(results_dir(), "*", "analysis", "verdicts.csv")))
  setdiff(basename(dirname(dirname(paths))), names(damaged_papers()))
}

# Papers that the page leaves out because their tables cannot be read or are not as they were written: name to faults.
damaged_papers <- function() read_json(file.path(Sys.getenv("WHITEWIRE_REFERENCE"), "damaged.json"))

paper_title <- function(paper) {
  tryCatch(read_paper(paper)$title, error = function(e) paper)
}

paper_year <- function(paper) {
  year <- tryCatch(read_paper(paper)$year, error = function(e) NULL)
  if (is.null(year)) "" else paste0(" (", safe(year), ")")
}

all_verdicts <- function() {
  tables <- lapply(papers_with_results(), function(paper) {
    table <- read_verdicts(paper)
    table$paper <- rep(paper, nrow(table))
    table
  })
  do.call(rbind, tables)
}

# Every paper that is described; those without results are named as such.
papers_described <- function() {
  files <- list.files(file.path(config_dir(), "papers"), pattern = "[.]yaml$")
  Reduce(union, list(papers_with_results(), names(damaged_papers()), sub("[.]yaml$", "", files)))
}

# "Described but not run yet: …", and whose tables are damaged.
papers_missing <- function() {
  line_of <- function(words, papers) {
    if (length(papers) > 0) paste0(words, ": ", listed(vapply(papers, paper_short, character(1))), ".")
  }
  damaged <- names(damaged_papers())
  not_run <- setdiff(papers_described(), c(papers_with_results(), damaged))
  paste(c(line_of("Described but not run yet", not_run), line_of("Left out because their tables are damaged", damaged)),
        collapse = " ")
}

# "Emulex 2012": the first word of the publisher, and the year where it is known.
paper_short <- function(paper) {
  publisher <- tryCatch(read_paper(paper)$publisher, error = function(e) NULL)
  year <- tryCatch(read_paper(paper)$year, error = function(e) NULL)
  trimws(paste(if (is.null(publisher)) paper else sub("[ ,].*$", "", publisher), year))
}

# The testbed's name, with its own page where there is one.
testbed_link <- function() {
  name <- paste0("*", safe(testbed_name()), "*")
  if (!file.exists(file.path(results_dir(), links_tables, "ways.csv"))) {
    return(name)
  }
  paste0("[", name, "](testbed.html)")
}

# From the start page of the sets of published measurements to the page that compares them.
calibration_link <- function() {
  if (is_set()) "All ratios together: [emulated against published](calibration.html)." else ""
}

# How far an estimate lies from what the claim asks for: as a factor, nought where either is missing.
distance_of <- function(table) {
  distance <- abs(log(table$estimate / as_value(table$expected)))
  ifelse(is.finite(distance), distance, 0)
}

# The claim that says most about a paper: the one its YAML names under `finding`, once it is decided; else, of the
# claims that do not hold, one decided by runs, furthest from what is claimed; else the strongest that is left; else
# the named one as it stands. A claim of which no control has a result yet counts as undecided.
strongest_finding <- function(paper) {
  table <- read_verdicts(paper)
  named <- tryCatch(read_paper(paper)$finding, error = function(e) NULL)
  undecided <- table$claim[table$verdict %in% c("inconclusive", "not testable here") | unproved(table, paper)]
  if (!is.null(named) && named %in% setdiff(table$claim, undecided)) {
    return(table[match(named, table$claim), ])
  }
  against <- table[table$verdict %in% c("not reproduced", "inconsistent") & !table$claim %in% undecided, ]
  if (nrow(against) == 0) {
    left <- strongest(paper, 1)
    return(if (nrow(left) > 0 || is.null(named)) left else table[table$claim == named, ])
  }
  against[order(!by_runs(against), -distance_of(against))[[1]], ]
}

# A claim that is open is no finding, nor is one whose controls all are.
finding_heading <- function(paper) {
  found <- strongest_finding(paper)
  if (nrow(found) > 0 && found$verdict[[1]] %in% "inconclusive") {
    return("**Still open.** ")
  }
  if (any(unproved(found, paper))) "**No control covers it yet.** " else "**Strongest finding.** "
}

finding_sentence <- function(paper) {
  lines <- finding_text(strongest_finding(paper), paper)
  if (length(lines) == 0) "No claim has a firm verdict at this effort." else lines[[1]]
}

# The answer to the paper's title, then its strongest finding where that is another claim.
card_findings <- function(paper) {
  answer <- answer_sentence(paper, paste0(paper, ".html"))
  answered <- any(strongest_finding(paper)$claim %in% headline_row(paper)$claim)
  paste(c(if (answer != "") answer, if (!answered) paste0(finding_heading(paper), finding_sentence(paper))),
        collapse = "\n\n")
}

# The verdicts of one paper as a bar; each piece leads to its claims in the table. Those by runs lie apart from those on
# its own numbers.
verdict_strip <- function(paper) {
  counts <- verdict_counts(paper)
  counts <- counts[order(counts$by), ]
  words <- as.character(counts$verdict)
  apart <- 6 * (cumsum(!duplicated(counts$by)) - 1)
  wide <- pmax(15, 400 * counts$claims / sum(counts$claims))
  wide <- wide / sum(wide) * (400 - max(apart))
  left <- cumsum(c(0, wide))[seq_along(wide)] + apart
  missed <- words %in% c("more than claimed", "less than claimed", "other size than claimed")
  address <- paste0("#paper=", paper, "&amp;verdict=", gsub(" ", "+", ifelse(missed, "direction only", words)))
  label <- paste(counts$claims, words)
  pieces <- sprintf(paste0(
    "<a href=\"%s\" aria-label=\"%s\"><title>%s</title><rect x=\"%.1f\" width=\"%.1f\" height=\"22\" fill=\"%s\"/>",
    "<text x=\"%.1f\" y=\"15.5\" fill=\"%s\">%d</text></a>"
  ), address, label, label, left, wide - 1, verdict_colours[words], left + wide / 2, verdict_ink(words), counts$claims)
  paste0("```{=html}\n<svg class=\"strip\" viewBox=\"0 0 400 22\" role=\"group\" aria-label=\"",
         counts_text(counts, "%d %s"), "\">", paste(pieces, collapse = ""), "</svg>\n```\n\n")
}

# Why the last run of a paper ended early, as its logs say; NULL where it did not, or where results are newer.
why_stopped <- function(paper) {
  verdicts <- file.path(results_dir(), paper, "analysis", "verdicts.csv")
  logs <- Sys.glob(file.path(results_dir(), paper, "logs", c("measure/*.log", "tidy.log", "analysis.log")))
  if (file.exists(verdicts)) logs <- logs[file.mtime(logs) > file.mtime(verdicts)]
  logs <- logs[order(file.mtime(logs), decreasing = TRUE)]
  said <- unlist(lapply(logs, function(path) {
    rev(grep("^whitewire: error: ", readLines(path, warn = FALSE), value = TRUE))
  }))
  if (length(said) > 0) safe(sub("^whitewire: error: ", "", said[[1]]))
}

paper_card <- function(paper) {
  heading <- paste0("## ", safe(paper_short(paper)), " {.unnumbered #paper-", paper, "}\n\n", "*",
                    safe(paper_title(paper)),
                    "*", paper_year(paper), if (length(to_dos(paper)) > 0) " **DRAFT**", "\n\n")
  why <- why_stopped(paper)
  if (paper %in% names(damaged_papers())) {
    faults <- safe(unlist(damaged_papers()[[paper]]))
    return(paste0("::: {.card}\n\n", heading, "Left out because its tables are damaged:\n\n",
                  paste0("- ", faults, collapse = "\n"), "\n\n:::\n"))
  }
  if (!paper %in% papers_with_results()) {
    state <- if (is.null(why)) "Not run yet" else paste0("Its last run stopped (", why, ")")
    return(paste0("::: {.card}\n\n", heading, state, ": `", start_command(), " PAPERS=", paper,
                  "` measures and judges it.\n\n:::\n"))
  }
  links <- sprintf(paste("[Read the report](%s.html) \u00b7 [Its verdicts](%s.html#sec-verdicts)",
                         "\u00b7 [In brief](%s.brief.pdf) \u00b7 [PDF](%s.pdf)"), paper, paper, paper, paper)
  if (!file.exists(paste0(paper, ".qmd"))) links <- "This paper has no report yet."
  paste0("::: {.card}\n\n", heading, card_findings(paper), "\n\n",
         verdict_strip(paper), verdict_sentence(paper), "\n\n", controls_line(paper), "\n\n",
         if (!is.null(why)) paste0("Its last run stopped (", why, "). These results are of an earlier run.\n\n"),
         links, "\n\n:::\n")
}

paper_cards <- function() {
  papers <- papers_described()
  if (length(papers) == 0) {
    return(knitr::asis_output("No paper is described yet.\n"))
  }
  knitr::asis_output(paste0("\n:::: {.cards}\n\n", paste(vapply(papers, paper_card, character(1)), collapse = "\n"),
                            "\n::::\n"))
}

html_escape <- function(x) {
  x <- ifelse(is.na(x), "", gsub("[\r\n]+", " ", as.character(x)))  # a line end could close the block of HTML
  x <- gsub("&", "&amp;", x, fixed = TRUE)
  x <- gsub("<", "&lt;", x, fixed = TRUE)
  x <- gsub(">", "&gt;", x, fixed = TRUE)
  gsub("\"", "&quot;", x, fixed = TRUE)
}

unescaped <- function(x) gsub("\\\\([\\\\`*_{}\\[\\]#+!|<>~^$@&])", "\\1", x, perl = TRUE)

route_word <- function(route) ifelse(grepl("^not.testable", route), "none here", gsub("_", " ", route))

# What the tolerance slider judges a claim of a size by: estimate, interval, what is claimed with its bounds, no effect,
# and the corrected p-value. Empty for other claims, which have no tolerance.
rule_numbers <- function(table) {
  known <- !is.na(table$low) & !is.na(table$high)
  sized <- known & by_runs(table) & table$relation %in% "within" & table$asks %in% "size"
  columns <- c("estimate", "low", "high", "expected", "expected_low", "expected_high")
  numbers <- c(lapply(table[columns], as_value), list(no_effect_of(table$claim, table$paper), as_value(table$p_holm)))
  rules <- do.call(paste, unname(lapply(numbers, function(each) trimws(formatC(each, digits = 15, format = "g")))))
  ifelse(sized, sprintf(" data-rule=\"%s\"", rules), "")
}

# Raw HTML, because each row carries what the filter looks at.
verdict_rows <- function() {
  table <- all_verdicts()
  if (is.null(table) || nrow(table) == 0) {
    return("")
  }
  short <- vapply(table$paper, paper_short, character(1))
  cells <- sprintf(
    paste0(
      "<tr data-verdict=\"%s\" data-paper=\"%s\" data-route=\"%s\"%s><td>%s</td>",
      "<td><a href=\"%s.html#claim-%s\">%s</a></td><td>%s</td>",
      "<td><span class=\"badge %s\">%s</span></td><td>%s</td><td>%s</td><td>%s</td></tr>"
    ),
    html_escape(table$verdict), html_escape(table$paper), html_escape(route_word(table$route)), rule_numbers(table),
    html_escape(short),
    html_escape(table$paper), html_escape(table$claim), html_escape(table$claim), html_escape(table$statement),
    gsub(" ", "-", html_escape(table$verdict)), html_escape(verdict_words(table)),
    html_escape(unescaped(estimate_text(table))),
    html_escape(unescaped(expected_text(table))), html_escape(route_word(table$route))
  )
  paste(cells, collapse = "\n")
}

# A choice of one level; `names` are what a reader sees where that differs from the value.
choice <- function(id, label, every, values, names = values) {
  options <- sprintf("<option value=\"%s\">%s</option>", html_escape(values), html_escape(names))
  paste0("<label for=\"", id, "\">", label, " <select id=\"", id, "\"><option value=\"\">", every, "</option>",
         paste(options, collapse = ""), "</select></label>\n")
}

raw_html <- function(...) {
  fence <- strrep("`", 3)
  knitr::asis_output(paste0("\n\n", fence, "{=html}\n", ..., "\n", fence, "\n\n"))
}

# Every verdict with its number of claims, as the bars' legend; each leads to its claims in the table.
verdict_legend <- function() {
  table <- all_verdicts()
  if (is.null(table)) {
    return("")
  }
  verdicts <- intersect(verdict_levels, table$verdict)
  counts <- vapply(verdicts, function(verdict) sum(table$verdict %in% verdict), integer(1))
  links <- sprintf("<a class=\"badge %s\" href=\"#verdict=%s\">%d %s</a>", gsub(" ", "-", verdicts),
                   gsub(" ", "+", verdicts), counts, several_words(verdicts))
  raw_html("<p class=\"legend\">", paste(links, collapse = " "), "</p>")
}

# Of many claims `direction only` is one or the other.
several_words <- function(verdicts) sub("^direction only$", "more or less than claimed", verdicts)

# The table of all verdicts under its filters. They stay hidden until the page's script has taken them over.
verdict_filter <- function() {
  table <- all_verdicts()
  papers <- papers_with_results()
  verdicts <- intersect(verdict_levels, table$verdict)
  heads <- c("Paper", "Claim", "Statement", "Verdict", "Estimate", "Expected", "Route")
  raw_html(
    "<p class=\"tolerance\" hidden><label for=\"tolerance\">Tolerance of all claims of a size</label> ",
    "<input id=\"tolerance\" type=\"range\" min=\"5\" max=\"50\" step=\"5\" value=\"5\"> ",
    "<output id=\"flips\" for=\"tolerance\" aria-live=\"polite\"></output></p>\n",
    "<form class=\"filters\" role=\"search\" aria-label=\"Verdicts\" aria-controls=\"verdicts\" hidden>\n",
    "<label for=\"find\" class=\"wide\">Words <input id=\"find\" type=\"search\" autocomplete=\"off\" ",
    "placeholder=\"for example TestDFSIO write\"></label>\n",
    choice("by-paper", "Paper", "every paper", papers, vapply(papers, paper_short, character(1))),
    choice("by-verdict", "Verdict", "every verdict", verdicts, several_words(verdicts)),
    choice("by-route", "Route", "every route", sort(unique(route_word(table$route)))),
    "<button type=\"reset\">Show all</button>\n</form>\n",
    "<p><output id=\"shown\" for=\"find by-paper by-verdict by-route\" aria-live=\"polite\"></output></p>\n",
    "<div class=\"table-scroll\" role=\"region\" aria-label=\"All verdicts\" tabindex=\"0\">",
    "<table id=\"verdicts\">\n<thead><tr>",
    paste0("<th scope=\"col\">", heads, "</th>", collapse = ""), "</tr></thead>\n<tbody>\n", verdict_rows(),
    "\n</tbody>\n</table></div>"
  )
}

# The controls of one paper, or of several together, on the start page.
controls_line <- function(papers) {
  table <- do.call(rbind, lapply(papers, function(paper) by_control(read_controls(paper)[control_columns])))
  if (is.null(table) || nrow(table) == 0) {
    return("Controls: none")
  }
  counts <- outcome_counts(table)
  failed <- if (counts[["failed"]] > 0) sprintf(", [%d failed]{.badge .failed}", counts[["failed"]])
  open <- if (counts[["open"]] > 0) sprintf(", %d open", counts[["open"]])
  paste0("Controls: ", counts[["held"]], " of ", nrow(table), " held", failed, open)
}
