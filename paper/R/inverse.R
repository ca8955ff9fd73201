# Which link rate would have the printed effect: rows of inverse.csv, as a table, a sentence, and marks for a curve.
#
# inverse_table()          all inverse questions of the paper
# inverse_sentence(claim)  one of them in words
# inverse_marks(...)       layers for figure_curve (curve.R)

read_inverse <- function(paper = paper_id()) {
  columns <- c("claim", "experiment", "metric", "from", "effect", "link_ratio", "link_ratio_low", "link_ratio_high",
               "reached", "largest_effect", "plausible_low", "plausible_high", "plausible", "plausible_basis", "n",
               "left_out")
  table <- read_stage("analysis", "inverse.csv", columns, paper)
  for (column in c("effect", "link_ratio", "link_ratio_low", "link_ratio_high", "largest_effect", "plausible_low",
                   "plausible_high", "n")) {
    table[[column]] <- as_value(table[[column]])
  }
  table$reached <- as_flag(table$reached)
  table
}

metric_words <- function(metric) {
  known <- c(completion_time_net = "net time", throughput_net = "net throughput")[metric]
  unname(ifelse(is.na(known), gsub("_", " ", metric), known))
}

needed_text <- function(table) {
  ratio <- with_interval(table$link_ratio, table$link_ratio_low, table$link_ratio_high)
  none <- ifelse(is.na(table$largest_effect), "not measured far enough", "none measured gives it")
  ifelse(is.na(table$link_ratio), none, paste0(ratio, "\u00d7"))
}

# Link rates whose runs hardly differ from starting jobs, so that they are no point of the curve.
left_out_words <- function(table, before) {
  out <- table$left_out
  ifelse(is.na(out) | out == "", "", paste0(before, "not told at ", gsub(" ", ", ", safe(out), fixed = TRUE)))
}

rate_range <- function(from, low, high) {
  ifelse(is.na(low), "\u2013", paste0(trimmed(from * low), " to ", trimmed(from * high), "\u00a0Gbit/s"))
}

inverse_table <- function(paper = paper_id()) {
  table <- read_inverse(paper)
  if (nrow(table) == 0) {
    return(knitr::asis_output("\nNo inverse question was computed at this effort.\n"))
  }
  verdicts <- read_verdicts(paper)
  statement <- verdicts$statement[match(table$claim, verdicts$claim)]
  rate <- fabric_rate(table$from)
  md_table(data.frame(
    Claim = paste0("**", table$claim, "** ", safe(statement)),
    "Effect asked for" = paste0(trimmed(table$effect), "\u00d7 ", safe(metric_words(table$metric))),
    "Largest measured" = ifelse(is.na(table$largest_effect), "\u2013", paste0(trimmed(table$largest_effect), "\u00d7")),
    "Link needed" = paste0(needed_text(table), left_out_words(table, "; ")),
    "Link that the hardware gives" = paste0(
      ifelse(is.na(table$plausible_low), "", paste0(trimmed(table$plausible_low), " to ",
                                                   trimmed(table$plausible_high), "\u00d7 (")),
      rate_range(rate, table$plausible_low, table$plausible_high),
      ifelse(is.na(table$plausible_low), "", ")")
    ),
    Plausible = ifelse(is.na(table$plausible), "\u2013", safe(table$plausible)),
    Basis = safe(table$plausible_basis), check.names = FALSE
  ), widths = c(18, 12, 10, 14, 13, 9, 24))
}

inverse_sentence <- function(claim, paper = paper_id()) {
  table <- read_inverse(paper)
  row <- table[table$claim %in% claim, ]
  if (nrow(row) == 0 || is.na(row$effect[[1]])) {
    return(paste0("What link rate would do what ", claim, " says was not computed at this effort."))
  }
  row <- row[1, ]
  metric <- metric_words(row$metric)
  from <- fabric_rate(row$from)
  wanted <- sprintf("%s asks for %s\u00d7 the %s at %s Gbit/s.", claim, trimmed(row$effect), metric, trimmed(from))
  if (is.na(row$link_ratio)) {
    told <- if (is.na(row$largest_effect)) {
      "The curve was not measured far enough to say which link would give it."
    } else {
      sprintf("No link rate measured gives it: the most that the curve gives is %s\u00d7.", trimmed(row$largest_effect))
    }
    return(paste0(wanted, " ", told, left_out_words(row, " It is "), if (nzchar(left_out_words(row, ""))) "."))
  }
  paste(wanted, sprintf(
    paste("On the measured curve that takes a link of %s Gbit/s (%s times the rate); the hardware named gives %s.",
          "Plausible: %s."),
    with_interval(from * row$link_ratio, from * row$link_ratio_low, from * row$link_ratio_high),
    trimmed(row$link_ratio), rate_range(from, row$plausible_low, row$plausible_high), safe(row$plausible)
  ))
}

# The metric's level that each claim asks for, at the link rate it would take.
inverse_points <- function(experiment, metric, where = list(), claims = NULL) {
  table <- read_inverse()
  table <- table[table$experiment %in% experiment & table$metric %in% metric & !is.na(table$effect), ]
  if (!is.null(claims)) table <- table[table$claim %in% claims, ]
  if (nrow(table) == 0) {
    return(table)
  }
  table$from_rate <- fabric_rate(table$from)
  table$wanted <- table$effect * vapply(table$from, function(fabric) {
    median_at(experiment, metric, utils::modifyList(where, list(fabric = fabric)))
  }, numeric(1))
  table <- table[!is.na(table$wanted), ]
  # Claims that ask for the same are one mark.
  key <- paste(signif(table$wanted, 4), table$plausible_low, table$plausible_high)
  table$label <- vapply(key, function(x) paste(table$claim[key == x], collapse = ", "), character(1))
  table <- table[!duplicated(key), ]
  none <- ifelse(is.na(table$largest_effect), "asked for", "no link rate")
  table$label <- ifelse(is.na(table$link_ratio), paste0(table$label, ": ", none),
                        paste0(table$label, ": ", trimmed(table$from_rate * table$link_ratio), " Gbit/s"))
  table
}

inverse_marks <- function(points, last) {
  if (nrow(points) == 0) {
    return(NULL)
  }
  colour <- okabe_ito[["vermillion"]]
  reached <- points[!is.na(points$link_ratio), ]
  ranged <- reached[!is.na(reached$link_ratio_low) & !is.na(reached$link_ratio_high), ]
  plausible <- points[!is.na(points$plausible_low), ]
  list(
    geom_segment(data = plausible, aes(x = from_rate * plausible_low, xend = from_rate * plausible_high * 1.001,
                                       y = wanted, yend = wanted), inherit.aes = FALSE,
                 colour = okabe_ito[["yellow"]], linewidth = 4, alpha = 0.7, lineend = "round"),
    geom_hline(data = points, aes(yintercept = wanted), colour = colour, linewidth = 0.4, linetype = "22"),
    geom_errorbarh(data = ranged, aes(xmin = from_rate * link_ratio_low, xmax = from_rate * link_ratio_high,
                                      y = wanted), inherit.aes = FALSE, height = 0, colour = colour, linewidth = 0.8),
    geom_point(data = reached, aes(from_rate * link_ratio, wanted), inherit.aes = FALSE, shape = 8, size = 3,
               colour = colour, stroke = 0.9),
    ggrepel::geom_label_repel(
      data = points, aes(last, wanted, label = label), inherit.aes = FALSE, hjust = 0, nudge_x = 0.03,
      direction = "y", seed = 1, max.time = 5, max.overlaps = Inf, min.segment.length = Inf, size = 3.2,
      colour = colour, fill = scales::alpha("white", 0.8), label.size = 0, label.padding = 0.1, family = base_font,
      box.padding = 0.05
    )
  )
}

# The fastest link that a figure shows something at, and the room beyond it, as a share of the axis, in which the labels
# of claims keep off everything else.
last_rate <- function(points, rates) {
  shown <- unlist(points[intersect(c("link_ratio", "link_ratio_high", "plausible_high"), names(points))])
  max(rates, points$from_rate * shown, na.rm = TRUE)
}

label_room <- function(points) if (nrow(points) == 0) 0.05 else 0.05 + 0.011 * max(nchar(points$label))
