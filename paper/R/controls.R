# Controls: runs whose right answer is known. Their outcomes in words, as a table and as a figure.

outcome_levels <- c("held", "failed", "open")
outcome_colours <- c(held = "#00785a", failed = "#b84700", open = "#5f6770")
outcome_shapes <- c(held = 16, failed = 4, open = 1)

control_columns <- c("paper", "control", "title", "kind", "metric", "cell", "really", "against", "n", "n_against",
                     "estimate", "low", "high", "expected", "t", "outcome", "reason", "claims")

read_controls <- function(paper = paper_id()) {
  table <- read_stage("analysis", "controls.csv", control_columns, paper)
  for (column in c("n", "n_against", "estimate", "low", "high", "expected", "t")) {
    table[[column]] <- as_value(table[[column]])
  }
  table
}

has_controls <- function(paper = paper_id()) nrow(read_controls(paper)) > 0

# Results may be older than controls.
controls_sought <- function(paper = paper_id()) {
  file.exists(file.path(results_dir(), paper, "analysis", "controls.csv"))
}

# One row a control, which may tell several metrics: it failed if any failed, and held if any held.
by_control <- function(table) {
  worst <- table[order(match(table$outcome, c("failed", "held", "open"))), ]
  worst <- worst[!duplicated(worst$control), ]
  worst[order(match(worst$control, table$control)), ]
}

outcome_counts <- function(table) {
  vapply(outcome_levels, function(outcome) sum(table$outcome %in% outcome), numeric(1))
}

small_number <- function(n) {
  words <- c("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
  if (n %in% seq_along(words)) words[[n]] else as.character(n)
}

# "E-K02 (0.91 where 1 is right)"
what_failed <- function(table) {
  failed <- table[table$outcome %in% "failed", ]
  against <- sprintf(" (%s where %s is right)", trimmed(failed$estimate), trimmed(failed$expected))
  paste0(failed$control, ifelse(is.na(failed$estimate) | is.na(failed$expected), "", against))
}

# How the controls of one paper turned out; `link` leads to their section.
controls_sentence <- function(paper = paper_id(), link = FALSE) {
  table <- read_controls(paper)
  link <- if (link) " (@sec-controls)" else ""
  if (nrow(table) == 0) {
    if (controls_sought(paper)) {
      return(paste0("This paper has no controls", link, ", so nothing shows what its runs say where nothing differs."))
    }
    return(paste0("No controls were made", link, ", so nothing shows what the runs say where nothing differs."))
  }
  table <- by_control(table)
  counts <- outcome_counts(table)
  failed <- if (counts[["failed"]] > 0) {
    sprintf("; %s failed: %s", small_number(counts[["failed"]]), listed(what_failed(table)))
  }
  open <- if (counts[["open"]] > 0) {
    sprintf("; %s %s open: %s", small_number(counts[["open"]]), if (counts[["open"]] == 1) "is" else "are",
            listed(table$control[table$outcome %in% "open"]))
  }
  paste0(counts[["held"]], " of ", count_of(nrow(table), "control"), " held", link, failed, open, ".")
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

each_id <- function(text) strsplit(ifelse(is.na(text), "", trimws(as.character(text))), "[ ,;]+")

# Which controls of each claim held: "Control E-K01 held." A failed one is told by the claim's reason.
held_text <- function(verdicts, paper = paper_id()) {
  table <- by_control(read_controls(paper))
  held <- table$control[table$outcome %in% "held"]
  vapply(each_id(verdicts$control), function(ids) {
    ids <- intersect(ids, held)
    if (length(ids) == 0) "" else sprintf("%s %s held.", if (length(ids) == 1) "Control" else "Controls", listed(ids))
  }, character(1))
}

control_metric <- function(table) gsub("_", " ", safe(table$metric))

# Ids that no line ends within.
unbroken <- function(ids) paste(sprintf("[%s]{.nobreak}", ids), collapse = ", ")

controls_table <- function(paper = paper_id()) {
  table <- read_controls(paper)
  runs <- ifelse(is.na(table$estimate) | is.na(table$n) | is.na(table$n_against), "",
                 paste0(" (n\u00a0=\u00a0", table$n, "\u00a0+\u00a0", table$n_against, ")"))
  claims <- vapply(each_id(table$claims), function(ids) if (length(ids) == 0) "\u2013" else unbroken(ids), character(1))
  md_table(data.frame(
    Control = paste0("**", table$control, "** ", safe(table$title), " (", safe(table$kind), ")"),
    Runs = paste0(control_metric(table), " of ", code(table$cell), ", really ", code(table$really), ", against ",
                  code(table$against)),
    Ratio = paste0(with_interval(table$estimate, table$low, table$high), runs),
    Expected = trimmed(table$expected),
    Outcome = badge(table$outcome),
    Reason = sub("([^.])$", "\\1.", safe(with_minus(table$reason))),
    Claims = claims
  ), widths = c(19, 22, 15, 10, 10, 16, 13), align = rep("l", 7))
}

# Ratios that a logarithmic axis names: finer steps where the range is narrow.
ratio_breaks <- function(limits) {
  span <- max(limits) / min(limits)
  if (span < 1.6) {
    return(scales::breaks_extended(6)(limits))
  }
  if (span < 6) {
    return(c(0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5))
  }
  10^rep(-3:3, each = 3) * c(1, 2, 5)
}

controls_drawn <- function(paper = paper_id()) {
  table <- read_controls(paper)
  title <- ifelse(is.na(table$title), "", table$title)
  told <- paste0(table$control, " ", title, " (", gsub("_", " ", table$metric), ")")
  names <- vapply(strwrap(told, 44, simplify = FALSE), paste, character(1), collapse = "\n")
  table$row <- factor(seq_len(nrow(table)), rev(seq_len(nrow(table))), rev(names))
  table$outcome <- factor(table$outcome, outcome_levels)
  table
}

# Inches: a line of a name each, and the axes.
controls_height <- function(paper = paper_id()) {
  lines <- lengths(strsplit(as.character(controls_drawn(paper)$row), "\n"))
  1.7 + sum(pmax(0.36, 0.12 + 0.19 * lines))
}

figure_controls <- function(title, paper = paper_id()) {
  table <- controls_drawn(paper)
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
