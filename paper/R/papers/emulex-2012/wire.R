# What the interfaces counted against what the workload moved.

# Bytes that the interfaces counted over the bytes that the workload says it moved.
wire_agreement <- function() {
  runs <- read_runs()
  runs <- runs[runs$valid & runs$experiment %in% setdiff(runs$experiment, "rereplicate"), ]
  take <- function(metric) {
    of <- runs[runs$metric == metric, ]
    stats::setNames(of$value, of$run_id)
  }
  user <- take("user_bytes")
  client <- take("client_wire_bytes")[names(user)]
  datanode <- take("datanode_wire_bytes")[names(user)]
  experiment <- runs$experiment[match(names(user), runs$run_id)]
  table <- rbind(
    data.frame(run_id = names(user), experiment = experiment, where = rep("left the clients", length(user)),
               ratio = unname(client / user)),
    data.frame(run_id = names(user), experiment = experiment,
               where = rep("arrived at the DataNodes", length(user)),
               ratio = unname(datanode / user))
  )
  table[!is.na(table$ratio), ]
}

figure_wire <- function(title) {
  table <- wire_agreement()
  if (nrow(table) == 0) {
    return(figure_without_data())
  }
  table$where <- factor(table$where, c("left the clients", "arrived at the DataNodes"))
  ideal <- data.frame(
    where = factor(levels(table$where), levels(table$where)), ratio = c(1, published("E-V18"))
  )
  ggplot(table, aes(ratio, experiment)) +
    geom_vline(data = ideal, aes(xintercept = ratio, linetype = "payload alone"), colour = ink,
      linewidth = 0.5) +
    geom_runs(position = position_jitter(width = 0, height = 0.18, seed = 1), colour = okabe_ito[["blue"]],
              alpha = 0.6, size = 1.7) +
    facet_wrap(~where, scales = "free_x") +
    scale_x_continuous(n.breaks = 4, expand = expansion(0.07)) +
    scale_linetype_manual(NULL, values = c("payload alone" = "dashed")) +
    labs(title = title, subtitle = scale_note(absolute = FALSE),
         x = "bytes on the interfaces over user bytes",
         y = NULL)
}
