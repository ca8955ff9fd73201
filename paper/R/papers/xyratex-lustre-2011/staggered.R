# The task of 20, 60 and 20 seconds, on a local drive and with its output striped over the drives of a server.

task_phases <- c("input", "compute", "output")

task_phase_colours <- c(
  input = okabe_ito[["sky"]], compute = okabe_ito[["orange"]], output = okabe_ito[["vermillion"]]
)

# Tasks of one server's clients, each shifted by one striped output, the least that keeps outputs apart.
task_schedule <- function() {
  tasks <- published("X-V046")
  shift <- published("X-V044")
  ways <- list(
    "one local drive per task" = c("X-V039", "X-V040", "X-V041"),
    "output striped over the drives of one server" = c("X-V042", "X-V043", "X-V044")
  )
  rows <- lapply(names(ways), function(way) {
    lengths <- vapply(ways[[way]], published, numeric(1))
    ends <- cumsum(lengths)
    do.call(rbind, lapply(seq_len(tasks), function(task) {
      offset <- (task - 1) * shift
      data.frame(way = way, task = task, phase = task_phases, begin = offset + ends - lengths, end = offset + ends)
    }))
  })
  table <- do.call(rbind, rows)
  table$way <- factor(table$way, names(ways))
  table$phase <- factor(table$phase, task_phases)
  rownames(table) <- NULL
  table
}

figure_staggered <- function(title) {
  table <- task_schedule()
  ggplot(table, aes(xmin = begin, xmax = end, ymin = task - 0.4, ymax = task + 0.4, fill = phase)) +
    geom_rect() +
    facet_wrap(~way, ncol = 1) +
    scale_fill_manual(NULL, values = task_phase_colours) +
    scale_x_continuous("s", breaks = scales::breaks_width(20), expand = expansion(c(0, 0.02))) +
    scale_y_reverse("compute node", breaks = unique(table$task)) +
    labs(title = title, subtitle = paste0(
      "drawn from the printed seconds; each node starts ", trimmed(published("X-V044")),
      " s after the one before, so that outputs follow each other"
    )) +
    theme(panel.grid.major.y = element_blank())
}
