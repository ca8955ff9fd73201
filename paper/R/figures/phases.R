# The tasks of a job over time: one run a level, the one nearest the median, from phases.csv.
#
# figure_phases: experiment, title, by, where, metric, jobs
#   by      factor whose levels are the panels (e.g. "fabric", "store"), or several
#   where   list(factor = levels) to pick cells
#   metric  the metric whose median chooses the run (net time if left out)
#   jobs    names of jobs in phases.csv (e.g. "terasort" or c("write", "read")); all if left out

phase_colours <- c(
  map = okabe_ito[["orange"]], shuffle = okabe_ito[["blue"]], merge = okabe_ito[["sky"]], reduce = okabe_ito[["green"]]
)

phase_pieces <- function(tasks) {
  piece <- function(rows, phase, begin, end) {
    if (nrow(rows) == 0) {
      return(NULL)
    }
    data.frame(rows[c("level", "job", "lane")], phase = phase, begin = begin, finish = end)
  }
  maps <- tasks[toupper(tasks$type) %in% "MAP", ]
  reduces <- tasks[toupper(tasks$type) %in% "REDUCE" & !is.na(tasks$shuffle_end) & !is.na(tasks$merge_end), ]
  pieces <- rbind(
    piece(maps, "map", maps$start, maps$end),
    piece(reduces, "shuffle", reduces$start, reduces$shuffle_end),
    piece(reduces, "merge", reduces$shuffle_end, reduces$merge_end),
    piece(reduces, "reduce", reduces$merge_end, reduces$end)
  )
  pieces$phase <- factor(pieces$phase, phase_names)
  pieces
}

figure_phases <- function(experiment, title, by = "fabric", where = list(), metric = "completion_time_net",
                          jobs = NULL) {
  tasks <- data_phases(experiment, by, where, metric, jobs)
  if (nrow(tasks) == 0) {
    return(figure_without_data(paste0(title, ":\nno tasks were recorded at this effort.")))
  }
  lanes <- interaction(tasks$level, tasks$job, drop = TRUE)
  tasks$lane <- stats::ave(seq_along(lanes), lanes, FUN = seq_along)
  pieces <- phase_pieces(tasks)
  several <- length(unique(tasks$job)) > 1
  ggplot(pieces, aes(x = begin, xend = finish, y = lane, yend = lane, colour = phase)) +
    geom_segment(linewidth = if (max(tasks$lane) > 30) 1.4 else 2.8) +
    (if (several) facet_grid(level ~ job, scales = "free_y", space = "free_y") else facet_wrap(~level, ncol = 1)) +
    scale_colour_manual(NULL, values = phase_colours, drop = TRUE) +
    scale_x_continuous("seconds since the job was submitted, as measured", limits = c(0, NA),
                       expand = expansion(c(0, 0.03))) +
    scale_y_reverse("task", breaks = NULL) +
    labs(title = title, subtitle = figure_note(experiment, "one run a panel, the one nearest the median"))
}
