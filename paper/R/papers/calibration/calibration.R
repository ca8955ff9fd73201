# Published ratios of real clusters beside the emulated ones: the tables of `whitewire calibration`.

calibration_columns <- list(
  calibration = c("paper", "claim", "half", "kind", "statement", "published", "published_low", "published_high",
                  "asked", "n", "estimate", "low", "high", "inside", "published_inside", "off", "miss", "verdict",
                  "reason"),
  summary = c("half", "by", "name", "of", "measured", "independent", "asked_before", "inside", "share", "low", "high",
              "without_effect", "published_inside", "median_off", "off_without_effect", "large", "small", "other",
              "says"),
  rates = c("paper", "claim", "half", "rate", "published", "n", "estimate", "low", "high", "off", "reason"),
  assumptions = c("paper", "half", "what", "why")
)

calibration_words <- c("paper", "claim", "half", "kind", "statement", "asked", "miss", "verdict", "reason", "by",
                       "name", "says", "rate", "what", "why")

read_calibration <- function(name) {
  columns <- calibration_columns[[name]]
  path <- file.path(results_dir(), "calibration", "analysis", paste0(name, ".csv"))
  table <- with_columns(read_csv_or_none(path), columns)
  flags <- if (name == "calibration") c("inside", "published_inside")
  for (column in setdiff(columns, c(calibration_words, flags))) table[[column]] <- as_value(table[[column]])
  table
}

# Ratios that have an estimate, and where they lie.
measured_ratios <- function() {
  table <- read_calibration("calibration")
  table <- table[!is.na(table$estimate), ]
  table$kind <- factor(table$kind, names(sort(table(table$kind), decreasing = TRUE)))
  table$where <- ifelse(as_flag(table$inside), "inside", "outside")
  table
}

# --- words ---------------------------------------------------------------------------------------------

# What the table says of a half, as README does.
calibration_sentence <- function(half) {
  found <- read_calibration("summary")
  says <- found$says[found$half == half & found$by == "all"]
  paste0(safe(capital(says)), ".")
}

# Rows of the summary, named by a column; `by` is all, kind or set. A set is of one half.
share_table <- function(by) {
  found <- read_calibration("summary")
  found <- found[found$by == by & (by == "kind" | found$half != "both"), ]
  named <- list(Half = safe(found$half))
  if (by != "all") named$Name <- safe(found$name)
  md_table(data.frame(
    named,
    Ratios = sprintf("%s of %s", trimmed(found$measured), trimmed(found$of)),
    Independent = trimmed(found$independent), Before = trimmed(found$asked_before),
    Inside = share_cells(found), `No effect` = trimmed(found$without_effect),
    `Interval holds` = trimmed(found$published_inside),
    `Factor off` = trimmed(found$median_off), `Factor, no effect` = trimmed(found$off_without_effect),
    Large = trimmed(found$large), Small = trimmed(found$small), Other = trimmed(found$other),
    check.names = FALSE
  ), widths = c(7, if (by != "all") 14, 10, 12, 8, 19, 9, 9, 9, 10, 7, 7, 7))
}

share_cells <- function(found) {
  interval <- sprintf(" (%.0f\u00a0%%, %.0f\u00a0to\u00a0%.0f)", 100 * found$share, 100 * found$low, 100 * found$high)
  ifelse(is.na(found$share), "\u2013", paste0(trimmed(found$inside), interval))
}

# Of a ratio without an estimate, why it has none.
ratio_table <- function(half) {
  found <- read_calibration("calibration")
  found <- found[found$half == half, ]
  miss <- ifelse(is.na(found$estimate), paste("no estimate:", safe(found$reason)), safe(found$miss))
  md_table(data.frame(
    Set = code(found$paper), Claim = found$claim, Ratio = safe(found$statement), Kind = found$kind,
    Published = with_interval(found$published, found$published_low, found$published_high),
    Emulated = with_interval(found$estimate, found$low, found$high), n = trimmed(found$n), Miss = miss
  ), widths = c(11, 7, 29, 9, 15, 15, 4, 13))
}

rate_table <- function() {
  found <- read_calibration("rates")
  why <- ifelse(is.na(found$estimate), paste("no estimate:", safe(found$reason)), trimmed(found$off))
  md_table(data.frame(
    Set = code(found$paper), Half = found$half, Rate = safe(found$rate), Published = trimmed(found$published),
    Emulated = with_interval(found$estimate, found$low, found$high), n = trimmed(found$n), `Factor off` = why,
    check.names = FALSE
  ), widths = c(12, 7, 40, 10, 16, 4, 11))
}

assumption_table <- function() {
  found <- read_calibration("assumptions")
  md_table(data.frame(Set = code(found$paper), Assumed = safe(found$what), Reason = safe(found$why)),
           widths = c(16, 30, 54))
}

# --- figures -------------------------------------------------------------------------------------------

inside_colours <- c(inside = "#00785a", outside = "#b84700")
inside_shapes <- c(inside = 16, outside = 4)

# The ends of each ratio's panel: half as far again as its points and tolerances reach. An interval is cut there.
panel_ends <- function(table) {
  least <- ave(pmin(table$published_low, table$estimate), table$kind, FUN = min) / 1.5
  most <- ave(pmax(table$published_high, table$estimate), table$kind, FUN = max) * 1.5
  data.frame(least = least, most = most, low = pmax(table$low, least), high = pmin(table$high, most))
}

# Published against emulated on equal logarithmic axes, with the tolerance across and the interval upwards.
figure_calibration <- function(title) {
  table <- measured_ratios()
  if (nrow(table) == 0) {
    return(figure_without_data())
  }
  drawn <- intersect(names(inside_colours), table$where)
  ends <- panel_ends(table)
  table[c("low", "high")] <- ends[c("low", "high")]
  square <- data.frame(kind = rep(table$kind, 2), at = c(ends$least, ends$most)) # each panel is as wide as high
  ggplot(table, aes(published, estimate, colour = where, shape = where)) +
    geom_abline(slope = 1, intercept = 0, linetype = "dashed", colour = soft) +
    geom_linerange(aes(xmin = published_low, xmax = published_high), linewidth = 0.7, alpha = 0.5,
                   show.legend = FALSE) +
    geom_linerange(data = table[!is.na(table$low) & !is.na(table$high), ], aes(ymin = low, ymax = high),
                   linewidth = 0.7, alpha = 0.5, show.legend = FALSE) +
    geom_blank(aes(at, at), square, inherit.aes = FALSE) +
    geom_point(size = 2.6, stroke = 1.2) +
    facet_wrap(vars(kind), scales = "free") +
    scale_colour_manual(NULL, values = inside_colours, limits = drawn) +
    scale_shape_manual(NULL, values = inside_shapes, limits = drawn) +
    scale_x_log10("published", breaks = ratio_breaks, labels = function(x) trimmed(x),
                  guide = guide_axis(check.overlap = TRUE)) +
    scale_y_log10("emulated", breaks = ratio_breaks, labels = function(x) trimmed(x)) +
    labs(title = title, subtitle = "Bars across: the published value's tolerance. Bars upwards: 95 % interval.") +
    theme(aspect.ratio = 1)
}

calibration_height <- function() 1.9 + 2.3 * ceiling(max(1, length(unique(measured_ratios()$kind))) / 3)
