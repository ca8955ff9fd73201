# Diagrams drawn from the testbed's own list of hosts.

role_names <- c(namenode = "NameNode", datanode = "DataNode", client = "Client")

hosts_by_role <- function() {
  topology <- read_topology()
  topology <- topology[topology$role %in% names(role_names), ]
  topology[order(match(topology$role, names(role_names)), trailing_number(topology$host)), ]
}

diagram_theme <- function() {
  theme(
    axis.text = element_blank(), axis.title.x = element_blank(), axis.title.y = element_blank(),
    panel.grid.major = element_blank(),
    legend.position = "none"
  )
}

trailing_number <- function(x) {
  number <- as_value(sub(".*?([0-9]+)$", "\\1", x))
  ifelse(is.na(number), 0, number)
}
