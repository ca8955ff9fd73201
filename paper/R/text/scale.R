# How the experiments of a paper were scaled, from its YAML and scale.csv.
#
# by_testbed(emulated, real)  one of two texts; made_on(software), switch_words(), link_words()  what the runs had
# scale_table()        one row an experiment that was run: workload, k, data fraction, tasks, copies
# cpu_bound_sentence() which experiments may be limited by the processors, by their own declaration

# What is said of an emulated testbed is not said of real hosts.
by_testbed <- function(emulated, real) if (is_emulated()) emulated else real

# On which hosts the runs were made, and how many these were.
made_on <- function(software, hosts = nrow(read_topology())) {
  paste0("The runs were made on ", by_testbed("an emulated testbed", "real hosts"), ", ", safe(testbed_name()), ": ",
         count_of(hosts, "host"), ", ", by_testbed("each with its own network namespace, joined by a switch, ", ""),
         "running real ", software, ".")
}

switch_words <- function() by_testbed("emulated switch, 1/k of each rate", "the site's own switches")
link_words <- function() by_testbed("links shaped to the rate divided by k", "the site's own links")

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
  most <- c(read_environments(), list(list()))[[1]]$limits$cpu_outside
  sprintf(
    paste0("In %s the processors may set the time, because that is what the experiment is to show; there the share of ",
           "time in which they were short is reported instead (compute share)%s."),
    listed(code(vapply(marked, function(x) x$id, character(1)))),
    if (is.null(most)) "" else paste(", and other programs used at most", trimmed(most, 2), "processors")
  )
}

# What every figure says about itself.
scale_note <- function(experiment = "put-grid", absolute = TRUE) {
  scale <- scale_of(experiment)
  if (is.na(scale$k)) {
    return("nothing measured yet: published values only")
  }
  if (!is_emulated(experiment)) {
    return(sprintf("measured on %s, full scale", testbed_name()))
  }
  fraction <- paste(trimmed(unique(range(scale$fractions))), collapse = " to ")
  # Over several experiments, as in a figure of all runs, the range.
  k <- trimmed(unique(range(scale$ks)))
  note <- sprintf(
    "emulated, %s scale (k = %s, data fraction %s)",
    paste0("1/", k, collapse = " to "), paste(k, collapse = " to "), fraction
  )
  if (absolute) paste0(note, "; left axis: full-scale equivalent (\u00d7 k)") else note
}
