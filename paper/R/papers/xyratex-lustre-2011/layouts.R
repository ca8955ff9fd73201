# The example clusters of the Lustre paper: one drive in every node, or the same drives behind object servers.

layout_numbers <- function() {
  list(
    nodes = published("X-V028"), drives = published("X-V029"), drive = published("X-V030"),
    link = 1000 * published("X-V032"), servers = published("X-V034"), targets = published("X-V035"),
    server_drives = published("X-V036")
  )
}

layout_boxes <- function(x, y, panel, what, width, height) {
  data.frame(x = x, y = y, panel = panel, what = what, width = width, height = height)
}

layout_lines <- function(x, y, xend, yend, panel, bandwidth) {
  data.frame(x = x, y = y, xend = xend, yend = yend, panel = panel, bandwidth = bandwidth)
}

layout_panels <- function(number) {
  paste0(c("HDFS: ", "Lustre: "), c(
    paste("a drive in each of", number$nodes, "nodes"),
    paste(number$servers, "object servers with", number$targets, "drives each")
  ))
}

# All boxes and lines; x runs over the nodes.
layout_parts <- function(number) {
  panels <- layout_panels(number)
  nodes <- seq_len(number$nodes)
  servers <- (seq_len(number$servers) - 0.5) * number$nodes / number$servers + 0.5
  drives <- seq_len(number$drives) * number$nodes / number$drives
  server_of <- rep(servers, each = number$targets)
  list(
    boxes = rbind(
      layout_boxes(nodes, 2, panels[[1]], "compute node", 0.72, 0.36),
      layout_boxes(drives, 1, panels[[1]], "drive", 0.72, 0.3),
      layout_boxes(nodes, 4.2, panels[[2]], "compute node", 0.72, 0.36),
      layout_boxes(servers, 2, panels[[2]], "object server", 7, 0.36),
      layout_boxes(drives, 1, panels[[2]], "drive", 0.72, 0.3)
    ),
    lines = rbind(
      layout_lines(nodes, 2.18, nodes, 2.9, panels[[1]], number$link),
      layout_lines(drives, 1.15, nodes, 1.82, panels[[1]], number$drive),
      layout_lines(nodes, 3.3, nodes, 4.02, panels[[2]], number$link),
      layout_lines(servers, 2.18, servers, 2.9, panels[[2]], number$link),
      layout_lines(drives, 1.15, server_of + (drives - server_of) * 0.7, 1.82, panels[[2]], number$drive)
    )
  )
}

figure_layouts <- function(title) {
  number <- layout_numbers()
  panels <- layout_panels(number)
  parts <- layout_parts(number)
  parts$boxes$panel <- factor(parts$boxes$panel, panels)
  parts$lines$panel <- factor(parts$lines$panel, panels)
  centre <- (number$nodes + 1) / 2
  switches <- data.frame(x = centre, y = 3.1, panel = factor(panels, panels))
  totals <- data.frame(x = centre, y = 0.45, panel = factor(panels, panels), label = paste0(
    "all drives: ", known(audit_number("X-A1", "100 local drives")),
    " GB/s"
  ))
  totals$label[[2]] <- paste0(
    "all drives: ", known(audit_number("X-A1", "ten servers")), " GB/s; those of one server: ",
    known(audit_number("X-A1", "ten drives of one server")), " MB/s, its link: ", trimmed(number$link), " MB/s"
  )
  ggplot() +
    geom_segment(data = parts$lines, aes(x, y, xend = xend, yend = yend, linewidth = bandwidth), colour = soft) +
    geom_tile(data = parts$boxes, aes(x, y, fill = what, width = width, height = height)) +
    geom_tile(data = switches, aes(x, y), width = number$nodes + 1, height = 0.4, fill = "#e9edf1", colour = ink,
              linewidth = 0.35) +
    geom_text(data = switches, aes(x, y), label = "switched InfiniBand fabric", size = 3.3, family = base_font) +
    geom_text(data = totals, aes(x, y, label = label), size = 3.3, family = base_font, colour = soft) +
    facet_wrap(~panel, ncol = 1, scales = "free_y") +
    scale_fill_manual(NULL, values = c("compute node" = okabe_ito[["orange"]], "object server" = okabe_ito[["blue"]],
                                       drive = okabe_ito[["green"]])) +
    scale_linewidth_continuous("MB/s", range = c(0, 1.5), limits = c(0, number$link),
                               breaks = c(number$drive, number$link), labels = function(x) trimmed(x)) +
    labs(title = title, subtitle = "drawn from the example's printed numbers; the width of a line is its bandwidth",
         x = NULL, y = NULL) +
    diagram_theme() +
    theme(legend.position = "top")
}

data_layouts <- function() {
  lines <- layout_parts(layout_numbers())$lines
  stats::aggregate(list(lines = lines$x), by = list(layout = lines$panel, mb_per_s = lines$bandwidth), FUN = length)
}
