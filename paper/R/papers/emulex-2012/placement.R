# Where the replicas of one real file landed.

placement_of_one_run <- function() {
  placement <- read_placement()
  placement <- placement[!is.na(placement$datanode), ]
  if (nrow(placement) == 0) {
    return(placement)
  }
  runs <- run_table()
  placement$experiment <- runs$experiment[match(placement$run_id, runs$run_id)]
  whole <- placement$experiment %in% "put-whole-file"
  if (any(whole)) placement <- placement[whole, ]
  blocks <- stats::aggregate(block_index ~ run_id + file, data = placement,
    FUN = function(x) length(unique(x)))
  chosen <- blocks[order(-blocks$block_index, blocks$run_id, blocks$file), ][1, ]
  placement[placement$run_id == chosen$run_id & placement$file == chosen$file, ]
}

datanodes_in_order <- function(hosts) {
  hosts <- unique(hosts)
  hosts[order(trailing_number(hosts), hosts)]
}

known_datanodes <- function(placement) {
  topology <- read_topology()
  hosts <- topology$host[topology$role %in% "datanode"]
  datanodes_in_order(c(placement$datanode, if (any(placement$datanode %in% hosts)) hosts))
}

figure_placement <- function(title) {
  placement <- placement_of_one_run()
  if (nrow(placement) == 0) {
    return(figure_without_data("No block placement was recorded at this effort."))
  }
  nodes <- known_datanodes(placement)
  placement$datanode <- factor(placement$datanode, nodes)
  placement$block <- as_value(placement$block_index)
  if (min(placement$block) == 0) placement$block <- placement$block + 1
  blocks <- length(unique(placement$block))
  labelled <- blocks <= 12
  ggplot(placement, aes(datanode, block)) +
    geom_tile(fill = okabe_ito[["blue"]], width = 0.86, height = if (labelled) 0.8 else 0.9) +
    (if (labelled) geom_text(aes(label = paste0("b", block)), colour = "white", size = 3.3, fontface = "bold",
                             family = base_font)) +
    scale_x_discrete(drop = FALSE, position = "top", labels = function(x) sub("^datanode-?", "DN ", x)) +
    scale_y_reverse("block of the file", breaks = function(x) unique(round(pretty(x, 6))),
                    expand = expansion(add = 0.6)) +
    labs(title = title, x = NULL, subtitle = paste0(
      scale_note(placement$experiment[[1]], absolute = FALSE), "; run ", placement$run_id[[1]], ", ",
      count_of(blocks, "block"), ", ", nrow(placement), " replicas on ", length(unique(placement$datanode)),
      " DataNodes"
    )) +
    theme(panel.grid.major.y = element_blank(), axis.text.x.top = element_text(size = rel(0.9)))
}
