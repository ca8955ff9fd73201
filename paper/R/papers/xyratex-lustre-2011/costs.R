# The two clusters of the cost comparison: their lines recomputed, and how the ratio of their prices moves.

cost_items <- c(
  Nodes = "Nodes", Switches = "Switches", Cables = "Cables", OSS = "Object servers", Storage = "Storage",
  MDS = "Metadata servers", Racks = "Racks"
)
cost_clusters <- c("Lustre / IB", "HDFS / 1 GigE")

cost_value <- function(metric, cluster) {
  found <- Filter(function(value) {
    identical(value$exhibit, "table1") && identical(value$metric, metric) && identical(value$condition, cluster) &&
      startsWith(value$quote_location, "Table")
  }, read_paper()$values)
  if (length(found) == 0) NULL else found[[1]]
}

cost_line <- function(item, cluster) {
  parts <- lapply(paste(item, c("count", "price", "subtotal")), cost_value, cluster = cluster)
  printed <- vapply(parts, function(part) if (is.null(part)) "" else as.character(part$printed), character(1))
  row <- if (is.null(parts[[3]])) NULL else recomputed(parts[[1]]$id, parts[[2]]$id)
  data.frame(
    cluster = cluster, item = cost_items[[item]], count = printed[[1]], price = printed[[2]], subtotal = printed[[3]],
    usd = if (is.null(row)) NA_real_ else as_value(row$recomputed),
    holds = if (is.null(row)) NA_character_ else holds_text(row$holds)
  )
}

cost_lines <- function() {
  do.call(rbind, lapply(cost_clusters, function(cluster) {
    do.call(rbind, lapply(names(cost_items), cost_line, cluster = cluster))
  }))
}

usd <- function(x) ifelse(is.na(x), "\u2013", paste0("$", formatC(x, format = "d", big.mark = ",")))

cost_totals <- function() {
  notes <- c("total of the Lustre cluster", "total of the HDFS cluster")
  audit <- read_audit()
  rows <- audit[match(paste("X-A1", notes), paste(audit$audit, audit$note)), ]
  data.frame(
    cluster = cost_clusters, item = "**Total**", count = "", price = "",
    subtotal = vapply(cost_clusters, function(cluster) as.character(cost_value("Total", cluster)$printed), ""),
    usd = as_value(rows$recomputed), holds = holds_text(rows$holds)
  )
}

cost_table <- function() {
  lines <- rbind(cost_lines(), cost_totals())
  lines <- lines[order(match(lines$cluster, cost_clusters), lines$item == "**Total**"), ]
  lines <- lines[!(lines$count %in% c("", "0") & is.na(lines$usd)), ]
  md_table(data.frame(
    Cluster = ifelse(duplicated(lines$cluster), "", safe(lines$cluster)), Item = lines$item, Count = lines$count,
    Price = safe(lines$price), Printed = safe(lines$subtotal), Recomputed = safe(usd(lines$usd)),
    Holds = ifelse(is.na(lines$holds), "\u2013", lines$holds)
  ), widths = c(17, 22, 10, 12, 15, 15, 9), align = c("l", "l", "r", "r", "r", "r", "l"))
}

figure_cost_parts <- function(title) {
  lines <- cost_lines()
  lines <- lines[!is.na(lines$usd), ]
  if (nrow(lines) == 0) {
    return(figure_without_data("The audit was not computed."))
  }
  lines$item <- factor(lines$item, rev(unname(cost_items)))
  lines$cluster <- factor(lines$cluster, rev(cost_clusters))
  totals <- cost_totals()
  totals$cluster <- factor(totals$cluster, rev(cost_clusters))
  colours <- stats::setNames(unname(okabe_ito[c("purple", "black", "green", "vermillion", "sky", "orange", "blue")]),
                             levels(lines$item))
  ggplot(lines, aes(usd / 1000, cluster)) +
    geom_col(aes(fill = item), width = 0.6, colour = "white", linewidth = 0.3) +
    geom_text(data = totals, aes(label = usd(usd)), hjust = -0.1, size = 3.4, family = base_font) +
    scale_fill_manual(NULL, values = colours, guide = guide_legend(reverse = TRUE, nrow = 2)) +
    scale_x_continuous("thousand US dollars", expand = expansion(c(0, 0.14)), labels = scales::comma) +
    labs(title = title, y = NULL,
         subtitle = "products of the printed counts and prices, recomputed; list prices of 2011")
}

card_label <- function(usd_each) {
  ifelse(usd_each == 0, "no cards in compute nodes (as printed)", paste0("a $", trimmed(usd_each, 4), " card in each"))
}

# Price of HDFS clusters over that of the Lustre cluster, without and with cards; `x` is the swept argument.
cost_ratios <- function(sweeps, lustre, x) {
  top <- sweep_rows(names(sweeps))
  bottom <- sweep_rows(lustre)
  if (nrow(top) == 0 || nrow(bottom) == 0) {
    return(data.frame())
  }
  top <- data.frame(at = top[[x]], hdfs_usd = top$value, other_lines = unname(sweeps[top$sweep]))
  bottom <- data.frame(at = bottom[[x]], lustre_usd = bottom$value, card_usd = bottom$node_card_usd)
  table <- if (all(is.na(bottom$at))) merge(top, bottom[c("lustre_usd", "card_usd")], by = NULL) else merge(top, bottom)
  table$ratio <- table$hdfs_usd / table$lustre_usd
  table$cards <- card_label(table$card_usd)
  table[order(table$other_lines, table$card_usd, table$at), ]
}

cost_by_nodes <- function() {
  cost_ratios(c("cost-hdfs" = "its other lines as printed", "cost-hdfs-in-proportion" = "in proportion to its nodes"),
              "cost-lustre", "nodes")
}

cost_by_node_price <- function() {
  cost_ratios(c("cost-hdfs-node-price" = "its other lines as printed"), "cost-lustre-node-price", "node_usd")
}

break_evens <- function() {
  rows <- sweep_rows(c("break-even", "break-even-in-proportion"))
  budgets <- sort(unique(rows$budget_usd))
  cards <- sweep_rows("cost-lustre")
  rows$cards <- card_label(cards$node_card_usd[match(round(rows$budget_usd), round(cards$value))])
  rows$below <- rows$sweep == "break-even"
  data.frame(at = rows$value, cards = rows$cards, below = rows$below)[order(match(rows$budget_usd, budgets)), ]
}

cost_plot <- function(table, title, x_name, printed, printed_name, note = NULL) {
  table$cards <- factor(table$cards, unique(table$cards[order(table$card_usd)]))
  table$other_lines <- factor(table$other_lines, rev(sort(unique(table$other_lines))))
  ggplot(table, aes(at, ratio, colour = cards, linetype = other_lines)) +
    geom_hline(yintercept = 1, colour = soft, linewidth = 0.5) +
    geom_vline(xintercept = printed, colour = published_ink, linewidth = 0.4, linetype = "dashed") +
    annotate("text", x = printed, y = 0.15, label = printed_name, hjust = -0.05, size = 3.2, family = base_font) +
    geom_line(linewidth = 0.8) +
    scale_colour_manual("Lustre", values = unname(okabe_ito[c("blue", "vermillion")])) +
    scale_linetype_manual("HDFS", values = c("its other lines as printed" = "solid",
                                            "in proportion to its nodes" = "22")) +
    guides(colour = guide_legend(order = 1), linetype = guide_legend(order = 2)) +
    scale_y_continuous("price of HDFS over Lustre", limits = c(0, NA), expand = expansion(c(0, 0.05)),
                       labels = function(x) paste0(x, "\u00d7")) +
    theme(legend.box = "vertical", legend.title = element_text(margin = margin(r = 6))) +
    labs(title = title, x = x_name, subtitle = paste(c(
      "model cost.total over the printed list prices; nothing in it is measured; above 1 Lustre is cheaper", note
    ), collapse = "\n"))
}

break_even_labels <- function(even, side) {
  geom_text(data = even, aes(at, ratio, label = trimmed(at, 4), colour = cards), inherit.aes = FALSE, size = 3.2,
            vjust = side, family = base_font, fontface = "bold", show.legend = FALSE)
}

figure_cost_by_nodes <- function(title) {
  table <- cost_by_nodes()
  if (nrow(table) == 0) {
    return(figure_without_data(no_sweep))
  }
  even <- break_evens()
  even$ratio <- 1
  paper <- data.frame(at = published("X-V095"), published = audit_number("X-A12", "ratio of the totals"))
  cost_plot(table, title, "HDFS nodes", published("X-V095"), "the paper's 200") +
    geom_point(data = even, aes(at, ratio, colour = cards), inherit.aes = FALSE, shape = 8, size = 2.6, stroke = 0.9) +
    break_even_labels(even[even$below, ], 2.8) +
    break_even_labels(even[!even$below, ], -1.9) +
    geom_published(paper[!is.na(paper$published), ], aes(at, published))
}

figure_cost_by_node_price <- function(title) {
  table <- cost_by_node_price()
  if (nrow(table) == 0) {
    return(figure_without_data(no_sweep))
  }
  cost_plot(table, title, "price of a node, US dollars", published("X-V065"), "printed",
            "200 HDFS nodes against 100 Lustre nodes of the same price") +
    guides(linetype = "none")
}
