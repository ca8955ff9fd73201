# A figure for each experiment of the paper's YAML, without a line of code in the document.
#
# experiment_parts()   a document for each, for `child`

# What a claim asks of its runs, or else a rate or a time that they have.
metric_of_experiment <- function(experiment) {
  tests <- lapply(read_paper()$claims, function(claim) claim$test)
  asked <- Filter(function(test) experiment %in% unlist(test), tests)
  wanted <- c(unlist(lapply(asked, function(test) test$metric)), "throughput", "completion_time_net", "completion_time")
  measured <- intersect(wanted, read_runs()$metric[read_runs()$experiment %in% experiment])
  c(measured, wanted)[[1]]
}

figure_experiment <- function(experiment) {
  spec <- experiment_of(experiment)
  figure_bars(experiment, metric_of_experiment(experiment), names(spec$factors), spec$title)
}

experiment_parts <- function() vapply(read_paper()$experiments, experiment_part, character(1))

experiment_part <- function(experiment) {
  id <- experiment$id
  metric <- metric_of_experiment(id)
  caption <- sprintf("%s: %s by %s.", safe(experiment$title), gsub("_", " ", metric), listed(names(experiment$factors)))
  path <- tempfile(fileext = ".qmd")
  writeLines(c(
    sprintf("## %s {#sec-experiment-%s}", safe(experiment$title), id), "", "```{r}",
    sprintf("#| label: fig-experiment-%s", id), sprintf("#| fig-cap: %s", jsonlite::toJSON(caption, auto_unbox = TRUE)),
    sprintf("figure_experiment(\"%s\")", id), "```", "",
    sprintf("`r data_link(\"experiment-%s\", data_at(\"%s\", \"%s\"))`", id, id, metric), ""
  ), path)
  path
}
