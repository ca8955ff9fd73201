# How the experiments of a paper were scaled, from its YAML and scale.csv.
#
# scale_table()        one row an experiment that was run: workload, k, data fraction, tasks, copies
# cpu_bound_sentence() which experiments may be limited by the processors, by their own declaration

experiment_of <- function(id) {
  found <- Filter(function(x) identical(x$id, id), read_paper()$experiments)
  if (length(found) == 0) NULL else found[[1]]
}

parameter_text <- function(experiment, name) {
  value <- experiment$parameters[[name]]
  if (is.null(value)) "\u2013" else paste(format(unlist(value), big.mark = ",", scientific = FALSE), collapse = ", ")
}

size_text <- function(bytes) {
  if (is.null(bytes)) "\u2013" else paste0(trimmed(as_value(bytes) / 1e9), "\u00a0GB")
}

scale_table <- function() {
  scale <- read_stage("tidy", "scale.csv", c("experiment", "k", "data_fraction"))
  if (nrow(scale) == 0) {
    return(md_table(data.frame()))
  }
  rows <- lapply(seq_len(nrow(scale)), function(i) {
    experiment <- experiment_of(scale$experiment[[i]])
    data.frame(
      Experiment = safe(scale$experiment[[i]]), Workload = safe(experiment$workload),
      "Full size" = size_text(experiment$parameters$size_bytes), k = trimmed(scale$k[[i]]),
      "Data fraction" = trimmed(scale$data_fraction[[i]]), Maps = parameter_text(experiment, "maps"),
      Reduces = parameter_text(experiment, "reduces"), check.names = FALSE
    )
  })
  md_table(do.call(rbind, rows), widths = c(24, 14, 14, 10, 14, 10, 12))
}

cpu_bound_sentence <- function() {
  marked <- Filter(function(x) identical(x$cpu, "report"), read_paper()$experiments)
  if (length(marked) == 0) {
    return("In every experiment a run short of processors is invalid.")
  }
  sprintf(
    paste("In %s the processors may set the time, because that is what the experiment is to show; there the share of",
          "time in which they were short is reported instead (compute share)."),
    listed(code(vapply(marked, function(x) x$id, character(1))))
  )
}
