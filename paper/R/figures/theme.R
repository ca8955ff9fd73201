# One theme and one palette for all figures (Okabe and Ito, distinguishable without colour vision and in
# print).

base_font <- "Liberation Sans"

ink <- "#1b1f24"
soft <- "#57606a"
published_ink <- "#000000"

okabe_ito <- stats::setNames(
  grDevices::palette.colors(8, "Okabe-Ito"),
  c("black", "orange", "sky", "green", "yellow", "blue", "vermillion", "purple")
)

fabric_colours <- c("1GbE" = okabe_ito[["vermillion"]], "10GbE" = okabe_ito[["blue"]])

role_colours <- c(
  namenode = okabe_ito[["purple"]], datanode = okabe_ito[["sky"]], client = okabe_ito[["orange"]]
)

verdict_levels <- c(
  "reproduced", "consistent", "direction only", "inconclusive", "not reproduced", "inconsistent",
  "not testable here"
)

# What a reader sees in their place, in the order of legends and counts: which way `direction only` goes.
word_levels <- c(
  "reproduced", "more than claimed", "less than claimed", "other size than claimed", "not reproduced", "inconclusive",
  "consistent", "inconsistent", "not testable here"
)

judged_by <- c("by runs", "by the paper's own numbers", "not testable here")

# Verdicts on the paper's own numbers have colours of their own, violet, so that they do not look measured.
verdict_colours <- c(
  "reproduced" = "#00785a", "more than claimed" = "#1f78b4", "less than claimed" = "#7ab3dc",
  "other size than claimed" = "#1f78b4", "not reproduced" = "#b84700", "inconclusive" = okabe_ito[["orange"]],
  "consistent" = "#54489b", "inconsistent" = "#a8327e", "not testable here" = "#a3abb3"
)

# What can be read on such a colour.
verdict_ink <- function(words) {
  ifelse(words %in% c("inconclusive", "less than claimed", "not testable here"), ink, "#ffffff")
}

theme_whitewire <- function() {
  theme_minimal(base_size = 11.5, base_family = base_font) +
    theme(
      text = element_text(colour = ink),
      plot.title = element_text(face = "bold", size = rel(1.05), margin = margin(b = 6)),
      plot.subtitle = element_text(colour = soft, size = rel(0.86), margin = margin(b = 9),
        lineheight = 1.15),
      plot.caption = element_text(colour = soft, size = rel(0.78), hjust = 0, margin = margin(t = 8)),
      plot.title.position = "plot", plot.caption.position = "plot",
      plot.background = element_rect(fill = "white", colour = NA),
      axis.title = element_text(size = rel(0.9)),
      axis.title.y = element_text(margin = margin(r = 7), angle = 90),
      axis.title.y.right = element_text(margin = margin(l = 7), angle = 270),
      axis.title.x = element_text(margin = margin(t = 6)),
      axis.title.x.top = element_text(margin = margin(b = 6)),
      axis.text = element_text(colour = ink, size = rel(0.86)),
      panel.grid.minor = element_blank(), panel.grid.major = element_line(colour = "#e4e8ec",
        linewidth = 0.35),
      legend.position = "top", legend.justification = "left", legend.title = element_text(size = rel(0.86)),
      legend.text = element_text(size = rel(0.86), margin = margin(r = 9)),
      legend.key.height = unit(11, "pt"),
      legend.margin = margin(0, 0, 0, 0), legend.box.spacing = unit(5, "pt"), legend.box.just = "left",
      strip.text = element_text(face = "bold", hjust = 0, size = rel(0.88)),
      panel.spacing = unit(11, "pt"), plot.margin = margin(6, 8, 6, 6)
    )
}

# The published value: always an open diamond or a dashed line, black, and in the legend as such.
geom_published <- function(data, mapping, size = 3.6) {
  if (nrow(data) == 0) {
    return(NULL)
  }
  list(
    geom_point(
      data = data, mapping = modifyList(mapping, aes(fill = "published")), shape = 23, size = size,
      stroke = 1.1,
      colour = published_ink, inherit.aes = FALSE
    ),
    scale_fill_manual(NULL, values = c(published = NA), na.value = NA, guide = guide_legend(order = 9))
  )
}

# A whole figure that says why there is nothing to draw.
figure_without_data <- function(text = "Not measured at this effort.") {
  plot <- ggplot() +
    annotate("text", x = 0, y = 0, label = text, colour = soft, size = 4.4, family = base_font) +
    theme_void(base_family = base_font) +
    theme(plot.background = element_rect(fill = "#f5f7f9", colour = NA))
  structure(plot, unmeasured = TRUE)
}

fabric_palette <- function(fabrics) {
  colours <- c(fabric_colours, "0.5GbE" = okabe_ito[["orange"]], "2GbE" = okabe_ito[["green"]],
               "5GbE" = okabe_ito[["sky"]], "20GbE" = okabe_ito[["purple"]], "40GbE" = okabe_ito[["green"]],
               "100GbE" = "#8c510a", "400GbE" = ink, "1gbe-shared" = okabe_ito[["orange"]],
               "10g-ipoib" = okabe_ito[["sky"]], "32g-qdr" = okabe_ito[["purple"]])
  found <- colours[fabrics]
  found[is.na(found)] <- soft
  stats::setNames(found, fabrics)
}
