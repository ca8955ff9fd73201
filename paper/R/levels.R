# What an experiment holds fixed, as levels: so that its cells can stand beside those of another that varies it.
#
# fill_levels()   fills empty factor columns of runs and estimates from the experiments' parameters and roles

fixed_level <- function(experiment, factor) {
  if (factor == "nodes") {
    return(experiment$roles$datanode)
  }
  experiment$parameters[[factor]]
}

filled_levels <- function(table, experiments, factors) {
  for (factor in intersect(factors, names(table))) {
    for (experiment in experiments) {
      value <- fixed_level(experiment, factor)
      if (is.null(value)) next
      of <- table$experiment %in% experiment$id & (is.na(table[[factor]]) | table[[factor]] %in% "")
      if (!any(of)) next
      if (is.numeric(table[[factor]]) && !is.numeric(value)) table[[factor]] <- as.character(table[[factor]])
      if (is.logical(table[[factor]])) table[[factor]] <- as.character(table[[factor]])
      table[[factor]][of] <- if (factor == "fabric") fabric_label(value) else value
    }
  }
  table
}

fill_levels <- function(paper = paper_id()) {
  experiments <- read_paper(paper)$experiments
  factors <- unique(unlist(lapply(experiments, function(experiment) names(experiment$factors))))
  assign(paste0("runs:", paper), filled_levels(read_runs(paper), experiments, factors), envir = cache)
  assign(paste0("estimates:", paper), filled_levels(read_estimates(paper), experiments, factors), envir = cache)
  invisible(NULL)
}
