# What an experiment holds fixed, as levels: so that its cells can stand beside those of another that varies it.
#
# fill_levels()   fills empty factor columns of runs and estimates from the experiments' parameters and roles

fixed_level <- function(experiment, factor) {
  if (factor == "nodes") {
    return(experiment$roles$datanode)
  }
  experiment$parameters[[factor]]
}

filled_factor <- function(column, experiment_of_row, experiment, factor) {
  value <- fixed_level(experiment, factor)
  of <- experiment_of_row %in% experiment$id & (is.na(column) | column %in% "")
  if (is.null(value) || !any(of)) {
    return(column)
  }
  if (!is.numeric(column) || !is.numeric(value)) column <- as.character(column)
  column[of] <- if (factor == "fabric") fabric_label(value) else value
  column
}

filled_levels <- function(table, experiments, factors) {
  for (factor in intersect(factors, names(table))) {
    for (experiment in experiments) {
      table[[factor]] <- filled_factor(table[[factor]], table$experiment, experiment, factor)
    }
  }
  table
}

fill_levels <- function() {
  experiments <- read_paper()$experiments
  factors <- unique(unlist(lapply(experiments, function(experiment) names(experiment$factors))))
  assign(paste0("runs:", paper_id()), filled_levels(read_runs(), experiments, factors), envir = cache)
  assign(paste0("estimates:", paper_id()), filled_levels(read_estimates(), experiments, factors), envir = cache)
  invisible(NULL)
}
