# The programs of a benchmark side by side, an experiment each.
#
# made_by(experiments)            what made their runs: "HiBench 8.0-SNAPSHOT" or "Hadoop 3.5.0"
# with_maker(text, experiments)   a caption or title that says so
# by_hibench(experiments)         whether HiBench itself made any
# gains_sentence(claims, fabric)  the same gains on one network in words
# figure_gains(claims, title)     gain in time of each ratio of whole times among the claims' tests and readings
# figure_program_times(experiments, title)  time of the whole job by network, with the part that is startup overhead
# figure_node_rates(experiments, title)     throughput per node: HiBench's report beside our own counters
# program_table(experiments, metrics, as_measured)  a row per program and network, a column per metric

nobody <- "nobody yet"

made_by <- function(experiments = NULL) {
  runs <- with_columns(read_runs(), "made_by")
  if (!is.null(experiments)) runs <- runs[runs$experiment %in% experiments, ]
  found <- unique(as.character(runs$made_by[runs$valid]))
  found <- sort(found[!is.na(found) & found != ""])
  if (length(found) == 0) {
    return(nobody)
  }
  # Where the record of the runs has HiBench's commit, it is named too.
  commit <- unlist(lapply(read_environments(), function(record) {
    rows <- flatten(record)
    unname(rows[grepl("hibench.*commit$", names(rows), ignore.case = TRUE)])
  }))
  commit <- unique(commit[!is.na(commit) & commit != ""])
  has_commit <- length(commit) == 1 & startsWith(found, "HiBench")
  listed(ifelse(has_commit, paste0(found, " (commit ", substr(commit[1], 1, 12), ")"), found))
}

with_maker <- function(text, experiments = NULL) {
  maker <- made_by(experiments)
  if (maker == nobody) text else paste0(text, " Runs by ", maker, ".")
}

by_hibench <- function(experiments = NULL) grepl("HiBench", made_by(experiments), fixed = TRUE)

program_panel <- function(table, experiments) {
  table$panel <- factor(table$experiment, experiments)
  table
}

# --- gains ------------------------------------------------------------------------------------------------

# The claim's own test and its readings that set whole times on two networks side by side.
gain_tests <- function(claims) {
  listed <- read_paper()$claims
  ids <- vapply(listed, function(claim) claim$id, character(1))
  found <- lapply(listed[match(claims, ids)], function(claim) {
    asked <- c(list(list(test = claim$test)), claim$readings)
    asked <- Filter(function(x) {
      identical(x$test$estimand, "ratio") && identical(x$test$metric, "completion_time") &&
        is.null(x$test$denominator$metric)
    }, asked)
    lapply(asked, function(x) list(claim = claim$id, title = x$title, test = x$test))
  })
  do.call(c, found)
}

gain_estimates <- function(claims) {
  rows <- lapply(gain_tests(claims), function(x) {
    row <- if (is.null(x$title)) verdict_row(x$claim) else reading_row(x$claim, x$title)
    time <- as_value(unlist(row[1, c("estimate", "low", "high")]))
    data.frame(claim = x$claim, experiment = x$test$numerator$experiment, fabric = x$test$numerator$where$fabric,
               over = x$test$denominator$where$fabric, gain = 1 / time[[1]], low = 1 / time[[3]], high = 1 / time[[2]],
               n = as_value(row$n[[1]]))
  })
  rows <- do.call(rbind, rows)
  rows[!is.na(rows$gain), ]
}

# Each run: the median time on the slower network over its own.
gain_runs <- function(claims) {
  rows <- lapply(gain_tests(claims), function(x) {
    runs <- runs_at(x$test$numerator$experiment, "completion_time", x$test$numerator$where)
    base <- median_at(x$test$denominator$experiment, "completion_time", x$test$denominator$where)
    if (nrow(runs) == 0 || is.na(base)) {
      return(NULL)
    }
    data.frame(claim = x$claim, run_id = runs$run_id, experiment = x$test$numerator$experiment,
               fabric = x$test$numerator$where$fabric, over = x$test$denominator$where$fabric,
               seconds = runs$shown, gain = base / runs$shown)
  })
  do.call(rbind, rows)
}

data_gains <- function(claims) {
  runs <- gain_runs(claims)
  if (is.null(runs)) data.frame() else runs
}

figure_gains <- function(claims, title) {
  runs <- gain_runs(claims)
  medians <- gain_estimates(claims)
  if (is.null(runs) || nrow(medians) == 0) {
    return(figure_without_data(paste0(title, ":\nnot measured at this effort.")))
  }
  experiments <- unique(medians$experiment)
  ready <- function(table) with_level(program_panel(table, experiments), "fabric")
  runs <- ready(runs)
  medians <- ready(medians)
  medians$colour <- bar_colours(transform(medians, fabric = fabric_label(fabric)), "fabric")
  bars <- medians[!is.na(medians$low) & !is.na(medians$high), ]
  ggplot(medians, aes(level, gain)) +
    geom_hline(yintercept = 1, colour = ink, linewidth = 0.5) +
    geom_col(aes(fill = colour), alpha = 0.75, width = 0.55) +
    scale_fill_identity() +
    geom_runs(data = runs, position = jitter_points(0.1), size = 1.7, alpha = 0.65) +
    geom_errorbar(data = bars, aes(ymin = low, ymax = high), width = 0.16, linewidth = 0.6) +
    facet_grid(~panel, scales = "free_x", space = "free_x") +
    scale_y_continuous(paste0("time on ", fabric_name(medians$over[[1]]), " over this time"), limits = c(0, NA),
                       expand = expansion(c(0, 0.08)), labels = function(x) paste0(x, "\u00d7")) +
    labs(title = title, x = NULL, subtitle = figure_note(experiments, paste0(
      runs_per_cell(medians$n, intervals = FALSE), "; bars: 95 % intervals; line: no gain"
    ), paste0("runs by ", made_by(experiments))))
}

# "On 40GbE the whole job is 2.5× (2.3 to 2.6) as fast as on 1GbE for terasort and …": of what was measured.
gains_sentence <- function(claims, fabric) {
  rows <- gain_estimates(claims)
  rows <- rows[rows$fabric %in% fabric, ]
  if (nrow(rows) == 0) {
    return(sprintf("No gain on %s was measured at this effort.", fabric_name(fabric)))
  }
  gains <- paste0(trimmed(rows$gain), "\u00d7", ifelse(is.na(rows$low) | is.na(rows$high), "", paste0(
    " (", trimmed(rows$low), " to ", trimmed(rows$high), ")"
  )), " as fast for *", rows$experiment, "*")
  sprintf("On %s the whole job is, against %s, %s.", fabric_name(fabric), fabric_name(rows$over[[1]]), listed(gains))
}

# --- times and rates --------------------------------------------------------------------------------------

figure_program_times <- function(experiments, title) {
  runs <- program_panel(runs_at(experiments, "completion_time"), experiments)
  medians <- program_panel(medians_at(experiments, "completion_time"), experiments)
  if (nothing_measured(runs, medians)) {
    return(figure_without_data(paste0(title, ":\nnot measured at this effort.")))
  }
  overheads <- program_panel(medians_at(experiments, "job_floor"), experiments)
  overheads <- overheads[overheads$shown > 0, ]
  overhead_name <- "startup overhead: the same job on almost no data"
  ggplot(medians, aes(level, shown)) +
    geom_col(aes(fill = as.character(fabric)), alpha = 0.75, width = 0.55) +
    geom_col(data = overheads, aes(fill = overhead_name), width = 0.55) +
    geom_runs(data = runs, position = jitter_points(0.1), size = 1.7, alpha = 0.65) +
    interval_bars(medians, 0.16) +
    facet_grid(~panel, scales = "free_x", space = "free_x") +
    scale_fill_manual(NULL, breaks = overhead_name, values = c(
      fabric_palette(unique(as.character(medians$fabric))), stats::setNames("#a3abb3", overhead_name)
    )) +
    scale_y_continuous("s as measured", limits = c(0, NA), expand = expansion(c(0, 0.08))) +
    labs(title = title, x = NULL, subtitle = figure_note(
      experiments, runs_per_cell(medians$n), paste0("runs by ", made_by(experiments))
    ))
}

rate_names <- c(node_throughput = "our own counters", report_node_throughput = "HiBench's report")

figure_node_rates <- function(experiments, title) {
  metrics <- names(rate_names)
  # Both include the start of the job, so neither has a full-scale equivalent.
  runs <- program_panel(runs_at(experiments, metrics), experiments)
  medians <- program_panel(medians_at(experiments, metrics), experiments)
  if (nothing_measured(runs, medians)) {
    return(figure_without_data(paste0(title, ":\nnot measured at this effort.")))
  }
  named <- function(table) {
    table$of <- factor(rate_names[table$metric], rate_names)
    table
  }
  runs <- named(runs)
  medians <- named(medians)
  ggplot(medians, aes(level, shown, colour = of, shape = of)) +
    geom_runs(data = runs, position = position_jitterdodge(0.1, dodge.width = 0.5, seed = 1), size = 1.6,
              alpha = 0.5) +
    geom_point(position = position_dodge(0.5), size = 3.2) +
    facet_wrap(~panel, nrow = 1, scales = "free") +
    scale_colour_manual(NULL, values = stats::setNames(okabe_ito[c("blue", "vermillion")], rate_names)) +
    scale_shape_manual(NULL, values = stats::setNames(c(16, 17), rate_names)) +
    scale_y_continuous("MB/s per node, as measured", limits = c(0, NA), expand = expansion(c(0, 0.1))) +
    labs(title = title, x = NULL, subtitle = figure_note(
      experiments, paste0("large: medians; small: every run; runs by ", made_by(experiments)),
      if (!"report_node_throughput" %in% medians$metric) "no report: Hadoop's own jars made these runs, and write none"
    ))
}

program_rows <- function(experiments, metrics, as_measured = FALSE) {
  medians <- medians_at(experiments, unname(metrics))
  if (nrow(medians) == 0) {
    return(data.frame())
  }
  columns <- if (as_measured) c("median", "low", "high") else c("shown", "shown_low", "shown_high")
  bytes <- medians$unit %in% "B"
  for (column in columns) medians[[column]] <- ifelse(bytes, medians[[column]] / 1e6, medians[[column]])
  cells <- unique(medians[order(match(medians$experiment, experiments), medians$level), c("experiment", "level")])
  columns_of_metrics <- lapply(metrics, function(metric) {
    vapply(seq_len(nrow(cells)), function(i) {
      of <- only_cell(medians[medians$metric == metric & medians$experiment == cells$experiment[[i]] &
                                medians$level == cells$level[[i]], ])
      if (nrow(of) == 0) {
        return("\u2013")
      }
      marked(with_interval(of[[columns[1]]], of[[columns[2]]], of[[columns[3]]]), of)
    }, character(1))
  })
  runs <- vapply(seq_len(nrow(cells)), function(i) {
    max(medians$n[medians$experiment == cells$experiment[[i]] & medians$level == cells$level[[i]]])
  }, numeric(1))
  cbind(data.frame(Program = safe(cells$experiment), Network = safe(cells$level)),
        as.data.frame(columns_of_metrics, check.names = FALSE), data.frame(Runs = runs))
}

program_table <- function(experiments, metrics, as_measured = FALSE) {
  rows <- program_rows(experiments, metrics, as_measured)
  if (nrow(rows) == 0) {
    return(md_table(data.frame()))
  }
  medians <- medians_at(experiments, unname(metrics))
  table <- md_table(rows, widths = c(14, 12, rep(66 / length(metrics), length(metrics)), 8))
  with_unusable(table, medians, paste(medians$experiment, medians$level))
}
