# How far the testbed can be trusted: the tables of `whitewire trust`, where it was asked for.

trust_columns <- list(
  summary = c("part", "asked", "n", "of", "value", "low", "high", "unit", "goal", "outcome", "again"),
  links = c("rate", "pairs", "meter", "n", "error", "low", "high", "reach", "within_bound"),
  coverage = c("expected", "n", "covered", "share", "low", "high", "error"),
  scales = c("paper", "cell", "metric", "k", "k_other", "n", "n_other", "ratio", "low", "high", "agrees"),
  load = c("load", "clients", "made", "n", "n_calm", "ratio", "low", "high"),
  lanes = c("kind", "cell", "lanes", "made", "n", "n_alone", "ratio", "low", "high"),
  order = c("source", "n", "cells", "change", "low", "high", "p_value")
)

trust_numbers <- c("n", "value", "low", "high", "rate", "pairs", "error", "covered", "share", "n_other", "ratio", "k",
                   "k_other", "load", "clients", "made", "n_calm", "lanes", "n_alone", "cells", "change", "p_value")

trust_folder <- function() file.path(results_dir(), "trust")

# Of one that is measured again the tables are there and the record is not.
has_trust <- function() all(file.exists(file.path(trust_folder(), c("trust.json", "tables/summary.csv"))))

read_trust <- function(name) {
  columns <- trust_columns[[name]]
  table <- with_columns(read_csv_or_none(file.path(trust_folder(), "tables", paste0(name, ".csv"))), columns)
  for (column in intersect(columns, trust_numbers)) table[[column]] <- as_value(table[[column]])
  table
}

trust_record <- function() read_json(file.path(trust_folder(), "trust.json"))

# --- words ---------------------------------------------------------------------------------------------

trust_sentence <- function() {
  plan <- links_record()$plan
  if (!is.null(plan$kind) && plan$kind != "emulated") {
    return("This applies to emulated testbeds alone: only of links made here the right rate is known.")
  }
  if (!has_trust()) {
    return(paste("Not measured yet, or not to the end. `make trust` measures it in 50 minutes at most: links",
                 "against what is set, runs on links of known ratio, one link under two names, one k against another,",
                 "load from outside, other lanes and the order of runs."))
  }
  outcomes <- read_trust("summary")$outcome
  counted <- function(word) sum(outcomes == word, na.rm = TRUE)
  sprintf("Of %s, **%d met**, %d not met, %d open.", count_of(length(outcomes), "goal"), counted("met"),
          counted("not met"), counted("open"))
}

trust_percent <- function(value, low, high) {
  ranged <- !is.na(low) & !is.na(high)
  digits <- ifelse(abs(value) < 0.1, 2, 1)
  text <- mapply(percent, value, digits)
  ends <- paste0(" (", mapply(percent, low, digits), " to ", mapply(percent, high, digits), ")")
  ifelse(is.na(value), "\u2013", paste0(text, ifelse(ranged, ends, "")))
}

not_asked <- function() knitr::asis_output("\nNot asked.\n")

trust_table <- function() {
  found <- read_trust("summary")
  if (nrow(found) == 0) {
    return(not_asked())
  }
  md_table(data.frame(
    Asked = safe(found$asked), n = paste(trimmed(found$n), safe(found$of)),
    Found = trust_percent(found$value, found$low, found$high), Goal = safe(found$goal),
    Outcome = ifelse(found$outcome == "met", "met", paste0("**", safe(found$outcome), "**")),
    `Again` = code(found$again), check.names = FALSE
  ), widths = c(28, 14, 18, 10, 10, 22))
}

trust_load_table <- function() {
  found <- read_trust("load")
  if (nrow(found) == 0) {
    return(not_asked())
  }
  md_table(data.frame(
    `Processors in use` = trimmed(found$load), Clients = trimmed(found$clients),
    Ratio = with_interval(found$ratio, found$low, found$high, 4),
    `Runs that count` = sprintf("%s of %s", trimmed(found$n), trimmed(found$made)),
    `Without load` = trimmed(found$n_calm), check.names = FALSE
  ))
}

trust_lanes_table <- function() {
  found <- read_trust("lanes")
  if (nrow(found) == 0) {
    return(not_asked())
  }
  md_table(data.frame(
    Kind = ifelse(found$kind == "floor", "startup overhead", code(found$kind)),
    Cell = safe(found$cell), Lanes = trimmed(found$lanes),
    Ratio = with_interval(found$ratio, found$low, found$high, 4),
    `Attempts that count` = sprintf("%s of %s", trimmed(found$n), trimmed(found$made)),
    Alone = trimmed(found$n_alone), check.names = FALSE
  ))
}

trust_scales_table <- function() {
  found <- read_trust("scales")
  if (nrow(found) == 0) {
    return(not_asked())
  }
  md_table(data.frame(
    Cell = safe(found$cell), Metric = code(found$metric),
    k = paste(trimmed(found$k_other), "over", trimmed(found$k)),
    Ratio = with_interval(found$ratio, found$low, found$high), Runs = paste(found$n_other, "and", found$n),
    `Within 3 %` = safe(found$agrees), check.names = FALSE
  ), widths = c(22, 23, 14, 20, 10, 11))
}

trust_order_table <- function() {
  found <- read_trust("order")
  if (nrow(found) == 0) {
    return(not_asked())
  }
  md_table(data.frame(
    Runs = safe(found$source), n = trimmed(found$n), Cells = trimmed(found$cells),
    Change = trust_percent(found$change, found$low, found$high), p = trimmed(found$p_value)
  ), widths = c(28, 8, 8, 34, 12))
}

trust_left_out <- function() {
  left <- unlist(trust_record()$left_out)
  if (length(left) == 0) "" else paste0("Left out: ", paste(safe(left), collapse = "; "), ".")
}

# --- figures -------------------------------------------------------------------------------------------

trust_meters <- c(iperf3 = "iperf3", counters = "counted bytes")

figure_trust_links <- function(title) {
  found <- read_trust("links")
  found <- found[!is.na(found$error), ]
  if (nrow(found) == 0) {
    return(figure_without_data("Links were not asked."))
  }
  bound <- trust_record()$bound
  found$meter <- factor(trust_meters[found$meter], trust_meters)
  found$panel <- factor(count_words(found$pairs), unique(count_words(sort(found$pairs))))
  found$reached <- factor(ifelse(as_flag(found$reach), "within reach", "beyond"), c("within reach", "beyond"))
  ggplot(found, aes(rate, error, colour = meter)) +
    annotate("rect", xmin = min(found$rate) * 0.8, xmax = max(found$rate) * 1.25, ymin = -bound, ymax = bound,
             fill = "#e4f1ec") +
    geom_hline(yintercept = 0, colour = soft, linewidth = 0.35) +
    geom_linerange(aes(ymin = low, ymax = high), position = position_dodge(0.12), linewidth = 0.7, na.rm = TRUE) +
    geom_point(aes(shape = reached), position = position_dodge(0.12), size = 2.4, stroke = 1) +
    facet_wrap(~panel) +
    scale_x_log10("rate of a link, Mbit/s", breaks = unique(found$rate), labels = trimmed) +
    scale_y_continuous("off by", labels = function(x) percent(x, 1)) +
    scale_colour_manual(NULL, values = unname(okabe_ito[c("blue", "orange")]), limits = unname(trust_meters)) +
    scale_shape_manual(NULL, values = c("within reach" = 16, beyond = 1)) +
    labs(title = title) +
    theme(axis.text.x = element_text(angle = 60, hjust = 1))
}

count_words <- function(n) ifelse(n == 1, "1 pair", paste(n, "pairs at one time"))

figure_trust_coverage <- function(title) {
  found <- read_trust("coverage")
  if (nrow(found) == 0) {
    return(figure_without_data("Ratios were not asked."))
  }
  expected <- as.character(found$expected)
  found$row <- factor(ifelse(expected == "all", "all", paste0(expected, "\u00d7")))
  found$row <- factor(found$row, rev(unique(as.character(found$row))))
  ggplot(found, aes(share, row)) +
    geom_vline(xintercept = 0.95, linetype = "dashed", colour = ink, linewidth = 0.5) +
    geom_linerange(aes(xmin = low, xmax = high), colour = okabe_ito[["blue"]], linewidth = 1.1, alpha = 0.65) +
    geom_point(colour = okabe_ito[["blue"]], size = 3) +
    geom_text(aes(x = 1.005, label = paste(covered, "of", n)), hjust = 0, size = 3.3, colour = soft,
              family = base_font) +
    scale_x_continuous("share of intervals that hold the true ratio", labels = function(x) percent(x, 0),
                       breaks = seq(0, 1, 0.1), expand = expansion(c(0.03, 0.14))) +
    labs(title = title, y = "true ratio")
}
