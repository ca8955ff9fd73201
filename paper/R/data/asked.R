# What a document asks for has to be in the paper: a name that is not there is the document's fault and ends the
# rendering. What is there and was not run is shown as "not measured at this effort".
#
# stop_unless_known(what, wanted, known)        ends with the nearest known name
# check_claim(claim, with), check_cell(experiment, metric, where)
#   Metrics are checked where WHITEWIRE_METRICS names a file with the metrics of each experiment, as it does when
#   `whitewire render` starts R. The file also has the `words` of metrics that are not called by their names.

stop_unless_known <- function(what, wanted, known) {
  unknown <- setdiff(as.character(wanted), as.character(known))
  if (length(unknown) == 0 || length(known) == 0) {
    return(invisible(NULL))
  }
  nearest <- known[[which.min(utils::adist(unknown[[1]], known, ignore.case = TRUE))]]
  stop(sprintf("%s: found \"%s\", which the paper does not have; did you mean \"%s\"?", what, unknown[[1]], nearest),
       call. = FALSE)
}

# `with`: a key that the claim must have, as `inverse`.
check_claim <- function(claim, with = NULL) {
  claims <- described()$claims
  if (!is.null(with)) claims <- Filter(function(x) !is.null(x[[with]]), claims)
  known <- vapply(claims, function(x) x$id, character(1))
  if (is.null(with)) known <- c(known, as.character(read_verdicts()$claim))
  stop_unless_known(paste(c("claim", if (!is.null(with)) c("with", with)), collapse = " "), claim, known)
}

# Metrics `of` each experiment, and `words` of some; NULL where nobody said.
declared_metrics <- function() {
  path <- Sys.getenv("WHITEWIRE_METRICS")
  if (path == "") NULL else remember("declared metrics", jsonlite::fromJSON(path, simplifyVector = FALSE))
}

described <- function(paper = paper_id()) {
  if (file.exists(file.path(config_dir(), "papers", paste0(paper, ".yaml")))) read_paper(paper)
}

# Levels that the runs of an experiment have of a factor: its own, or the one that it holds fixed.
levels_of_factor <- function(experiment, factor) {
  own <- experiment$factors[[factor]]
  as.character(unlist(if (is.null(own)) fixed_level(experiment, factor) else own))
}

check_cell <- function(experiment, metric, where = list()) {
  paper <- described()
  if (is.null(paper)) {
    return(invisible(NULL))
  }
  ids <- vapply(paper$experiments, function(x) x$id, character(1))
  controls <- vapply(paper$controls, function(x) x$id, character(1))
  stop_unless_known("experiment", experiment, c(ids, controls))
  asked <- paper$experiments[ids %in% experiment]
  known <- declared_metrics()$of
  if (!is.null(known)) stop_unless_known(paste("metric of", paste(experiment, collapse = ", ")), metric,
                                         unique(c(unlist(known[experiment]), measured_metrics(experiment))))
  for (factor in names(where)) check_levels(asked, paper$experiments, factor, where[[factor]])
}

# What runs have besides, such as metrics of processors, which no claim may use.
measured_metrics <- function(experiment) {
  runs <- read_runs()
  unique(as.character(runs$metric[runs$experiment %in% experiment]))
}

# Of several levels one will do, if the others are those of another experiment: they pick what is there.
check_levels <- function(asked, all, factor, wanted) {
  if (length(asked) == 0 || factor %in% c("puts", "total_puts") || length(wanted) == 0) {
    return(invisible(NULL))
  }
  of <- function(experiments) unique(unlist(lapply(experiments, levels_of_factor, factor)))
  known <- of(asked)
  if (length(known) == 0) {
    stop_unless_known("factor", factor, unique(unlist(lapply(asked, function(x) names(x$factors)))))
  }
  if (any(same_level(wanted, known))) known <- of(all)
  missing <- wanted[!same_level(wanted, known)]
  if (length(missing) > 0) stop_unless_known(paste("level of", factor), missing[[1]], known)
}
