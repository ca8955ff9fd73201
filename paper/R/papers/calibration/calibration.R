# Published ratios of real clusters beside the emulated ones: the tables of `whitewire calibration`.

calibration_columns <- list(
  calibration = c("paper", "claim", "half", "kind", "statement", "published", "published_low", "published_high", "n",
                  "estimate", "low", "high", "inside", "published_inside", "off", "miss", "verdict", "reason"),
  summary = c("half", "by", "name", "of", "measured", "inside", "share", "low", "high", "without_effect",
              "published_inside", "median_off", "large", "small", "other"),
  assumptions = c("paper", "half", "what", "why")
)

calibration_numbers <- c("published", "published_low", "published_high", "estimate", "low", "high", "off", "of",
                         "measured", "share", "without_effect", "median_off", "large", "small", "other")

read_calibration <- function(name) {
  columns <- calibration_columns[[name]]
  path <- file.path(results_dir(), "calibration", "analysis", paste0(name, ".csv"))
  table <- with_columns(read_csv_or_none(path), columns)
  for (column in intersect(columns, calibration_numbers)) table[[column]] <- as_value(table[[column]])
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

calibration_sentence <- function(half) {
  found <- read_calibration("summary")
  found <- found[found$half == half & found$by == "all", ]
  if (nrow(found) == 0 || found$measured == 0) {
    return(sprintf("None of the ratios that %s is measured yet; `make calibrate` does it.", half))
  }
  sprintf(paste("Of %d published ratios that %s, **%s came out within tolerance** (%s, 95 %% interval %s to %s); if",
                "nothing had an effect here, %d would have. The median distance is a factor of %s. Of the misses the",
                "effect was too large in %d, too small in %d, and in the other direction in %d."),
          found$measured, half, found$inside, percent(found$share, 0), percent(found$low, 0), percent(found$high, 0),
          found$without_effect, trimmed(found$median_off), found$large, found$small, found$other)
}

share_table <- function(by) {
  found <- read_calibration("summary")
  found <- found[found$by == by & (by == "kind" | found$half != "both"), ] # a set is of one half
  md_table(data.frame(
    Half = safe(found$half), Name = safe(found$name),
    Ratios = sprintf("%s of %s", trimmed(found$measured), trimmed(found$of)),
    Inside = found$inside, Share = share_cells(found), `Without effect` = trimmed(found$without_effect),
    `Median factor` = trimmed(found$median_off),
    `Too large` = trimmed(found$large), `Too small` = trimmed(found$small), Other = trimmed(found$other),
    check.names = FALSE
  ), widths = c(7, 15, 10, 8, 16, 10, 9, 9, 9, 7))
}

share_cells <- function(found) {
  interval <- sprintf("\u00a0(%.0f\u00a0to\u00a0%.0f)", 100 * found$low, 100 * found$high)
  text <- paste0(sub(" ", "\u00a0", percent(found$share, 0)), interval)
  ifelse(is.na(found$share), "\u2013", text)
}

ratio_table <- function(half) {
  found <- read_calibration("calibration")
  found <- found[found$half == half, ]
  md_table(data.frame(
    Set = code(found$paper), Claim = found$claim, Ratio = safe(found$statement), Kind = found$kind,
    Published = with_interval(found$published, found$published_low, found$published_high),
    Emulated = with_interval(found$estimate, found$low, found$high), Miss = ifelse(is.na(found$miss), "", found$miss)
  ), widths = c(11, 7, 30, 9, 15, 15, 13))
}

assumption_table <- function() {
  found <- read_calibration("assumptions")
  md_table(data.frame(Set = code(found$paper), Assumed = safe(found$what), Reason = safe(found$why)),
           widths = c(16, 30, 54))
}

# --- figures -------------------------------------------------------------------------------------------

inside_colours <- c(inside = "#00785a", outside = "#b84700")
inside_shapes <- c(inside = 16, outside = 4)

# Published against emulated on equal logarithmic axes, with the tolerance across and the interval upwards.
figure_calibration <- function(title) {
  table <- measured_ratios()
  if (nrow(table) == 0) {
    return(figure_without_data())
  }
  drawn <- intersect(names(inside_colours), table$where)
  limits <- unlist(table[c("published_low", "published_high", "estimate", "low", "high")])
  square <- stats::na.omit(data.frame(kind = rep(table$kind, 5), at = limits)) # each panel is as wide as high
  ggplot(table, aes(published, estimate, colour = where, shape = where)) +
    geom_abline(slope = 1, intercept = 0, linetype = "dashed", colour = soft) +
    geom_linerange(aes(xmin = published_low, xmax = published_high), linewidth = 0.7, alpha = 0.5,
                   show.legend = FALSE) +
    geom_linerange(data = table[!is.na(table$low), ], aes(ymin = low, ymax = high), linewidth = 0.7, alpha = 0.5,
                   show.legend = FALSE) +
    geom_blank(aes(at, at), square, inherit.aes = FALSE) +
    geom_point(size = 2.6, stroke = 1.2) +
    facet_wrap(vars(kind), scales = "free") +
    scale_colour_manual(NULL, values = inside_colours, limits = drawn) +
    scale_shape_manual(NULL, values = inside_shapes, limits = drawn) +
    scale_x_log10("published", breaks = ratio_breaks, labels = function(x) trimmed(x),
                  guide = guide_axis(check.overlap = TRUE)) +
    scale_y_log10("emulated", breaks = ratio_breaks, labels = function(x) trimmed(x)) +
    labs(title = title, subtitle = "Bars across: the published value's tolerance. Bars upwards: 95 % interval.")
}

calibration_height <- function() 1.9 + 2.3 * ceiling(max(1, length(unique(measured_ratios()$kind))) / 3)
