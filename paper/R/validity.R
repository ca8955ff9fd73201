# Was each run valid, and by how much.

# One row an attempt. A run whose attempt is invalid is attempted again, under the same name.
attempt_table <- function() {
  runs <- with_columns(read_runs(), c("attempt", "block"))
  runs$attempt <- ifelse(is.na(runs$attempt), 1, as_value(runs$attempt))
  runs <- runs[!duplicated(runs[c("run_id", "attempt")]), ]
  runs[c("run_id", "attempt", "block", "experiment", "valid", "why_invalid")]
}

# One row a run: valid if one of its attempts was.
run_table <- function() {
  attempts <- attempt_table()
  runs <- attempts[!duplicated(attempts$run_id), c("run_id", "block", "experiment")]
  runs$valid <- runs$run_id %in% attempts$run_id[attempts$valid]
  runs$attempts <- as.numeric(table(attempts$run_id)[runs$run_id])
  runs
}

validity_counts <- function() {
  runs <- run_table()
  if (nrow(runs) == 0) {
    return(data.frame())
  }
  attempts <- attempt_table()
  experiments <- unique(runs$experiment)
  count <- function(rows, keep) vapply(experiments, function(x) sum(rows$experiment == x & keep), numeric(1))
  data.frame(
    Experiment = experiments, Runs = count(runs, TRUE), Valid = count(runs, runs$valid),
    "Stayed invalid" = count(runs, !runs$valid), "Invalid attempts" = count(attempts, !attempts$valid),
    row.names = NULL, check.names = FALSE
  )
}

invalid_attempts <- function() {
  attempts <- attempt_table()
  bad <- attempts[!attempts$valid, ]
  if (nrow(bad) == 0) {
    return(data.frame(Run = "none", Attempt = "\u2013", Why = "\u2013", "In the end" = "\u2013", check.names = FALSE))
  }
  runs <- run_table()
  repaired <- runs$valid[match(bad$run_id, runs$run_id)]
  data.frame(
    Run = code(bad$run_id), Attempt = trimmed(bad$attempt), Why = safe(bad$why_invalid),
    "In the end" = ifelse(repaired, "valid when repeated", "stayed invalid"), check.names = FALSE
  )
}

# How far TestDFSIO's tasks met each other, experiment by experiment; nothing where no task's log was read.
at_once_sentence <- function() {
  runs <- read_runs()
  runs <- runs[runs$valid & runs$metric %in% c("write_tasks_at_once", "read_tasks_at_once") & !is.na(runs$value), ]
  with_maps <- Filter(function(x) !is.null(x$parameters$maps), read_paper()$experiments)
  tasks <- unlist(lapply(with_maps, function(x) stats::setNames(x$parameters$maps, x$id)))
  several <- intersect(unique(runs$experiment), names(tasks)[tasks > 1])
  if (length(several) == 0) {
    return("")
  }
  met <- vapply(several, function(name) {
    seen <- trimmed(range(runs$value[runs$experiment == name]), 2)
    sprintf("%s to %s of %d in %s", seen[[1]], seen[[2]], as.integer(tasks[[name]]), code(name))
  }, character(1))
  paste0("TestDFSIO's tasks start seconds apart. How many read or wrote while one did, by their own logs: ",
         listed(met), ". A rate that is said of all tasks together counts only where three quarters of them met ",
         "and the processors were not short for more than half of that time.")
}

validity_sentence <- function() {
  runs <- run_table()
  if (nrow(runs) == 0) {
    return("No run was made.")
  }
  bad <- sum(!runs$valid)
  sprintf("%s %s made; %s.", count_of(nrow(runs), "run"), if (nrow(runs) == 1) "was" else "were", if (bad == 0) {
    "all are valid"
  } else {
    paste(bad, if (bad == 1) "stayed invalid and is" else "stayed invalid and are", "left out of every estimate")
  })
}

headroom_words <- c(cpu_idle_mean = "idle, mean of the run", cpu_idle_min = "idle, worst second of the run",
                    compute_share = "short beyond the job's floor\n(compute share)",
                    write_short_while_busy = "short while TestDFSIO's\ntasks wrote",
                    read_short_while_busy = "short while TestDFSIO's\ntasks read")

# A job starts all its processes at once, so no second of it tells much: it has a compute share in place of the worst.
cpu_headroom <- function() {
  runs <- read_runs()
  runs <- runs[runs$metric %in% names(headroom_words) & !is.na(runs$value), ]
  jobs <- runs$experiment[runs$metric == "compute_share"]
  runs[!(runs$metric == "cpu_idle_min" & runs$experiment %in% jobs), ]
}

# What a run must have had of the processors, by the bounds in the record of the first block.
cpu_rule <- function() {
  runs <- cpu_headroom()
  limits <- c(read_environments(), list(list()))[[1]]$limits
  bound <- function(name) if (is.null(limits[[name]])) "its bound" else percent(limits[[name]], 0)
  listed(c(
    if ("cpu_idle_min" %in% runs$metric || nrow(runs) == 0) {
      paste("at least", bound("cpu_idle_floor"), "of the processors' time was idle in every second of it")
    },
    if ("compute_share" %in% runs$metric) {
      paste("the processors were short in at most", bound("compute_share"),
            "of a job's time beyond its floor (the compute share)")
    }
  ))
}

# Inches: a row of panels grows with its experiments, or their names would overlap.
headroom_height <- function() {
  runs <- cpu_headroom()
  rows <- max(1, ceiling(length(unique(runs$metric)) / 2))
  1.3 + rows * (0.45 + 0.19 * max(3, length(unique(runs$experiment))))
}

figure_cpu_idle <- function(title) {
  runs <- cpu_headroom()
  if (nrow(runs) == 0) {
    return(figure_without_data())
  }
  runs$experiment <- factor(runs$experiment, rev(unique(runs$experiment)))
  runs$what <- factor(headroom_words[runs$metric], headroom_words)
  runs$state <- ifelse(runs$valid, "valid", "invalid")
  ggplot(runs, aes(value, experiment, colour = state, shape = state)) +
    geom_point(position = position_jitter(width = 0, height = 0.2, seed = 1), alpha = 0.7, size = 1.7) +
    facet_wrap(~what, ncol = 2) +
    scale_colour_manual(NULL, values = c(valid = okabe_ito[["blue"]], invalid = okabe_ito[["vermillion"]])) +
    scale_shape_manual(NULL, values = c(valid = 16, invalid = 4)) +
    scale_x_continuous("share of the machine's CPU time, or of that time of the job", limits = c(0, 1),
                       breaks = c(0, 0.25, 0.5, 0.75, 1),
                       labels = scales::percent_format()) +
    theme(panel.spacing.x = unit(22, "pt")) +
    labs(title = title, subtitle = scale_note(absolute = FALSE), y = NULL)
}

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
    geom_point(position = position_jitter(width = 0, height = 0.18, seed = 1), colour = okabe_ito[["blue"]],
               alpha = 0.6, size = 1.7) +
    facet_wrap(~where, scales = "free_x") +
    scale_x_continuous(n.breaks = 4, expand = expansion(0.07)) +
    scale_linetype_manual(NULL, values = c("payload alone" = "dashed")) +
    labs(title = title, subtitle = scale_note(absolute = FALSE),
         x = "bytes on the interfaces over user bytes",
         y = NULL)
}

data_metrics <- function(metrics) {
  runs <- read_runs()
  runs <- runs[runs$metric %in% metrics, ]
  runs[c("run_id", "experiment", "metric", "value", "unit", "valid")]
}
