# Was each run valid, and by how much.

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
         listed(met), ". A rate of all tasks together counts only where three quarters of them met ",
         "and the processors were not short for more than half of that time.")
}

# Attempts that were invalid, runs that count, and how many of these some metric leaves out.
validity_sentence <- function() {
  runs <- run_table()
  if (nrow(runs) == 0) {
    return("No run was made.")
  }
  bad <- sum(!attempt_table()$valid)
  stayed <- sum(!runs$valid)
  were <- function(n) if (n == 1) "was" else "were"
  paste0(
    count_of(nrow(runs), "run"), " ", were(nrow(runs)), " made",
    if (bad > 0) sprintf(", in %s: %s invalid", count_of(sum(runs$attempts), "attempt"), paste(bad, were(bad))), ". ",
    if (bad > stayed) "Invalid attempts were repeated. ",
    if (stayed == 0) {
      if (nrow(runs) == 1) "It counts." else sprintf("All %d runs count.", nrow(runs))
    } else {
      sprintf("%d of the %s; %d stayed invalid and %s left out of every estimate.", nrow(runs) - stayed,
              if (nrow(runs) - stayed == 1) "runs counts" else "runs count", stayed, if (stayed == 1) "is" else "are")
    },
    unusable_sentence(), left_sentence()
  )
}

# Which metrics are unusable in a cell whose runs count, and why: rows of estimates.csv that a guard rejects.
unusable <- function() {
  table <- read_estimates()
  table[is_unusable(table), ]
}

has_unusable <- function() nrow(unusable()) > 0

# Runs of cells, each cell once.
runs_of_cells <- function(table) {
  cells <- do.call(paste, c(unname(table[c("experiment", factor_columns())]), sep = "\r"))
  sum(table$n[!duplicated(cells)], na.rm = TRUE)
}

unusable_sentence <- function() {
  table <- unusable()
  if (nrow(table) == 0) {
    return("")
  }
  n <- runs_of_cells(table)
  sprintf(" %s of them %s not usable for some metric; a table below says which, and why.", n,
          if (n == 1) "is" else "are")
}

unusable_table <- function() {
  table <- unusable()
  each <- split(table, factor(paste(table$experiment, table$untold, sep = "\r"),
                              unique(paste(table$experiment, table$untold, sep = "\r"))))
  rows <- lapply(each, function(own) {
    data.frame(Experiment = code(own$experiment[[1]]), "Not usable for" = listed(unique(code(own$metric))),
               Runs = trimmed(runs_of_cells(own)), Why = safe(own$untold[[1]]), check.names = FALSE)
  })
  md_table(do.call(rbind, rows), widths = c(18, 30, 7, 45))
}

# Runs that were planned and not made, by reason; nothing where all were made.
left_sentence <- function() {
  left <- read_left()
  if (nrow(left) == 0) {
    return("")
  }
  why <- ifelse(left$decided, "no open claim needed them any more", left$reason)
  counts <- table(paste("because", why))
  counted <- paste(counts, ifelse(counts == 1, "was", "were"), "not made", safe(names(counts)))
  paste0(" Of those planned ", listed(counted),
         ": a cell is measured until the claims on it are decided, at most as often as the effort allows.")
}

# What a run must have had of the processors, by the bounds in the record of the first block.
cpu_rule <- function() {
  runs <- cpu_headroom()
  limits <- c(read_environments(), list(list()))[[1]]$limits
  bound <- function(name) if (is.null(limits[[name]])) "its bound" else percent(limits[[name]], 0)
  if ("cpu_late" %in% runs$metric) {
    most <- if (is.null(limits$cpu_late_ms)) "its bound" else paste0(trimmed(limits$cpu_late_ms, 2), "\u00a0ms")
    return(paste0("the mean wake-up latency of a process that sleeps 2\u00a0ms again and again was at most ", most,
                  " (beyond that, a result may be off by more than 2\u00a0%)"))
  }
  listed(c(
    if ("cpu_idle_min" %in% runs$metric || nrow(runs) == 0) {
      paste("at least", bound("cpu_idle_floor"), "of the processors' time was idle in every second of it")
    },
    if ("compute_share" %in% runs$metric) {
      paste("the processors were short in at most", bound("compute_share"),
            "of a job's time beyond its startup overhead (the compute share)")
    }
  ))
}
