# The cluster and who talks to whom in it, drawn from the testbed's own list of hosts.

spread <- function(n, width = 10) if (n == 1) width / 2 else seq(0, width, length.out = n)

host_label <- function(host, role) {
  number <- sub("^[^0-9]*", "", host)
  short <- c(namenode = "NN", datanode = "DN", client = "C")[role]
  ifelse(number == "" | role == "namenode", short, paste(short, number))
}

place_rows <- function(hosts, heights) {
  hosts$y <- heights[hosts$role]
  hosts$x <- NA_real_
  for (role in unique(hosts$role)) hosts$x[hosts$role == role] <- spread(sum(hosts$role == role))
  clients <- hosts$role == "client"
  if (sum(clients) > 1) hosts$x[clients] <- seq(2, 8, length.out = sum(clients))
  hosts$label <- host_label(hosts$host, hosts$role)
  hosts
}

draw_hosts <- function(hosts) {
  list(
    geom_tile(data = hosts, aes(x, y, fill = role), width = 0.78, height = 0.52, colour = ink,
      linewidth = 0.35),
    geom_text(data = hosts, aes(x, y, label = label), size = 3.4, fontface = "bold", family = base_font),
    scale_fill_manual(NULL, values = role_colours, labels = role_names)
  )
}

# Who talks to whom: names by the NameNode, data between clients and DataNodes.
figure_roles <- function(title) {
  hosts <- hosts_by_role()
  if (nrow(hosts) == 0) {
    return(figure_without_data("No topology was recorded at this effort."))
  }
  hosts <- place_rows(hosts, c(namenode = 4, client = 2.2, datanode = 0.4))
  name <- hosts[hosts$role == "namenode", ][1, ]
  clients <- hosts[hosts$role == "client", ]
  datanodes <- hosts[hosts$role == "datanode", ]
  data <- merge(clients[c("x", "y")], stats::setNames(datanodes[c("x", "y")], c("to_x", "to_y")), by = NULL)
  words <- data.frame(
    x = c(5.6, 10.75, 10.75), y = c(4, 2.2, 0.62),
    label = c("NameNode: names, blocks, places", "clients\nwrite files", "DataNodes\nkeep blocks"),
    side = c(0, 0, 0)
  )
  ggplot() +
    geom_segment(data = data, aes(x, y - 0.26, xend = to_x, yend = to_y + 0.26), colour = "#c3cbd3",
      linewidth = 0.3) +
    geom_segment(data = clients, aes(x, y + 0.26, xend = name$x, yend = name$y - 0.26), linetype = "22",
                 colour = role_colours[["namenode"]], linewidth = 0.6) +
    geom_curve(data = datanodes[c(1, nrow(datanodes)), ],
               aes(x, y + 0.26, xend = name$x + c(-0.4, 0.4), yend = name$y),
               linetype = "22", colour = role_colours[["namenode"]], linewidth = 0.5, curvature = 0,
               ncp = 3) +
    draw_hosts(hosts) +
    geom_text(data = words, aes(x, y, label = label), hjust = 0, size = 3.3, colour = soft,
              family = base_font,
              lineheight = 0.95) +
    coord_cartesian(xlim = c(-0.5, 12.4), ylim = c(0, 4.4)) +
    labs(title = title, subtitle = paste0(
      scale_note(absolute = FALSE), "\nsolid: blocks of data, dashed: names and block reports (two of ",
      nrow(datanodes), " drawn)"
    )) +
    diagram_theme()
}

link_rates_text <- function() {
  scale <- scale_of()
  rates <- c(1, 10)
  k <- if (is.na(scale$k)) 1 else scale$k
  if (k == 1) {
    return("1GbE: 1 Gbit/s a host \u00b7 10GbE: 10 Gbit/s a host")
  }
  paste0("1GbE: ", trimmed(1000 * rates[[1]] / k), " Mbit/s a host \u00b7 10GbE: ",
         trimmed(1000 * rates[[2]] / k),
         " Mbit/s a host \u00b7 (full-scale rate \u00f7 k)")
}

# The cluster as it was set up: every host on one switch, both directions of each link shaped.
figure_cluster <- function(title) {
  hosts <- hosts_by_role()
  if (nrow(hosts) == 0) {
    return(figure_without_data("No topology was recorded at this effort."))
  }
  hosts$row <- ifelse(hosts$role == "datanode", "below", "above")
  above <- hosts$row == "above"
  hosts$y <- ifelse(above, 3.4, 0.4)
  hosts$x <- NA_real_
  hosts$x[above] <- seq(2, 8, length.out = sum(above))
  hosts$x[!above] <- spread(sum(!above))
  hosts$label <- host_label(hosts$host, hosts$role)
  counts <- table(factor(hosts$role, names(role_names)))
  counted <- paste(counts, ifelse(counts == 1, role_names, paste0(role_names, "s")), collapse = ", ")
  ggplot(hosts) +
    geom_segment(aes(x, ifelse(above, y - 0.26, y + 0.26), xend = x, yend = ifelse(above, 2.22, 1.58)),
                 colour = okabe_ito[["blue"]], linewidth = 0.9) +
    annotate("rect", xmin = -0.4, xmax = 10.4, ymin = 1.58, ymax = 2.22, fill = "#e9edf1", colour = ink,
             linewidth = 0.35) +
    annotate("text", x = 5, y = 1.9, label = link_rates_text(), size = 3.5, family = base_font,
      fontface = "bold") +
    draw_hosts(hosts) +
    (if (!all(is.na(hosts$address))) {
      geom_text(aes(x, ifelse(above, y + 0.42, y - 0.42), label = address), size = 2.35, colour = soft,
                family = base_font)
    }) +
    coord_cartesian(xlim = c(-0.5, 10.5), ylim = c(-0.1, 3.9)) +
    labs(title = title, subtitle = paste0(scale_note(absolute = FALSE), "; ", counted)) +
    diagram_theme()
}
