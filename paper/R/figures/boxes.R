# Labelled boxes: one for a product photo that is lost, several joined by lines for a stack or a simple topology.
#
# figure_box(heading, lines, title)       one box; `lines` are what the paper's text says of the thing
# figure_boxes(boxes, links, title, note) a diagram
#   boxes  data.frame(id, label, x, y) and, if wanted, width, height, fill, bold; y grows upwards
#   links  NULL or data.frame(from, to), ids of boxes
#   note   the line below the title; what the drawing is based on

figure_box <- function(heading, lines, title) {
  text <- in_lines(paste(lines, collapse = "; "), 62)
  ggplot() +
    annotate("rect", xmin = 0, xmax = 10, ymin = 0, ymax = 3, fill = "#eef2f6", colour = ink, linewidth = 0.5) +
    annotate("text", x = 5, y = 2.25, label = heading, fontface = "bold", size = 4.6, family = base_font,
             colour = ink) +
    annotate("text", x = 5, y = 1.05, label = text, size = 3.7, family = base_font, colour = soft, lineheight = 1.1) +
    coord_cartesian(xlim = c(-0.6, 10.6), ylim = c(-0.1, 3.1)) +
    labs(title = title, subtitle = "Product photograph in the paper; no data in it", x = NULL, y = NULL) +
    diagram_theme()
}

filled <- function(table, column, value) {
  if (is.null(table[[column]])) table[[column]] <- rep(value, nrow(table))
  table[[column]][is.na(table[[column]])] <- value
  table
}

figure_boxes <- function(boxes, links = NULL, title, note = NULL) {
  boxes <- filled(filled(boxes, "width", 1.7), "height", 0.6)
  boxes <- filled(filled(boxes, "fill", "#eef2f6"), "bold", FALSE)
  plot <- ggplot()
  if (!is.null(links) && nrow(links) > 0) {
    from <- boxes[match(links$from, boxes$id), ]
    to <- boxes[match(links$to, boxes$id), ]
    lines <- data.frame(x = from$x, y = from$y, xend = to$x, yend = to$y)
    plot <- plot +
      geom_segment(data = lines, aes(x, y, xend = xend, yend = yend), colour = okabe_ito[["blue"]], linewidth = 0.6)
  }
  plot +
    geom_rect(data = boxes, aes(xmin = x - width / 2, xmax = x + width / 2, ymin = y - height / 2,
                                ymax = y + height / 2), fill = boxes$fill, colour = ink, linewidth = 0.4) +
    geom_text(data = boxes, aes(x, y, label = label), size = 3.4, family = base_font, lineheight = 0.98,
              fontface = ifelse(boxes$bold, "bold", "plain")) +
    coord_cartesian(
      xlim = range(c(boxes$x - boxes$width / 2, boxes$x + boxes$width / 2)) + c(-0.2, 0.2),
      ylim = range(c(boxes$y - boxes$height / 2, boxes$y + boxes$height / 2)) + c(-0.15, 0.15)
    ) +
    labs(title = title, subtitle = note, x = NULL, y = NULL) +
    diagram_theme()
}
