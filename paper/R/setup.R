# Loads the helpers of a document and sets how its figures are drawn. Sourced first by every document.

suppressPackageStartupMessages({
  library(ggplot2)
  library(grid)
})

source(file.path("R", "load.R"))
load_functions()

# A part of several documents, for `child`. knitr looks up relative paths beside the part that names it, and beside the
# document under Quarto.
home_of_documents <- getwd()
part_file <- function(name) file.path(home_of_documents, "parts", name)

theme_set(theme_whitewire())
set.seed(1)

# A figure that has nothing to draw takes a line, and no box. One that is a panel of others stays: they have words of
# their own.
draw_in_a_line <- function(path, width) {
  plot <- ggplot2::last_plot()
  words <- sum(grepl("<text", readLines(path, warn = FALSE), fixed = TRUE))
  if (isTRUE(attr(plot, "unmeasured")) && words <= 3) {
    ggplot2::ggsave(path, plot, device = svglite::svglite, width = width, height = 0.6)
  }
}

# A figure as it was drawn becomes one for readers. They may not have the font that it was laid out with, so fonts of
# the same widths are named as well; points that are runs get what they say; and what drew it is recorded beside it.
finish_figure <- function(path, options) {
  if (grepl("\\.svg$", path)) {
    draw_in_a_line(path, options$fig.width)
    text <- readLines(path, warn = FALSE)
    fonts <- paste0("font-family: ", base_font, ", Arial, Helvetica, sans-serif")
    text <- gsub(sprintf("font-family: \"%s\"", base_font), fonts, text, fixed = TRUE)
    writeLines(titled_runs(text), path)
    record_figure(options)
  }
  path
}

knitr::opts_chunk$set(
  dev = "svglite", fig.process = finish_figure, fig.width = 8, fig.height = 4,
  echo = FALSE, warning = FALSE, message = FALSE, error = FALSE
)

# A labelled piece with `eval: false` leaves its caption, of no table; Quarto makes no PDF of that.
knitr::opts_hooks$set(eval = function(options) {
  if (isFALSE(options$eval)) options$include <- FALSE
  options
})

# Each figure of runs on a testbed with something beyond its bound says so; on paper each says what drew it.
knitr::opts_hooks$set(fig.cap = function(options) {
  ggplot2::set_last_plot(NULL)  # that of another figure
  # A call without arguments has the length of a text.
  if (is.language(options$fig.cap)) options$fig.cap <- eval(options$fig.cap, knitr::knit_global())
  if (document != "testbed" && length(read_marks()) > 0 && length(options$fig.cap) == 1) {
    options$fig.cap <- paste(options$fig.cap, "Something that these runs used was beyond its bound (@sec-probes).")
  }
  if (length(options$fig.cap) == 1) {
    if (is.null(options$fig.alt)) options$fig.alt <- options$fig.cap
    options$fig.cap <- trimws(paste(options$fig.cap, drawn_by(options$code)))
  }
  options
})

# By hand a document can be rendered before there is anything to show: it then says so, and what makes it.
needs <- list(appendix = "artifact.json", compare = "comparison.json", pooled = "pooled.json",
              testbed = file.path(links_tables, "ways.csv"), calibration = "calibration/analysis/calibration.csv")
if (file.exists(file.path(config_dir(), "papers", paste0(document, ".yaml")))) {
  needs[[document]] <- file.path(paper_id(), "analysis", "verdicts.csv")
}
if (!is.null(needs[[document]]) && !file.exists(file.path(results_dir(), needs[[document]]))) {
  commands <- c(appendix = "make appendix", compare = "make compare A=name B=name",
                pooled = "make compare A=gallery B=name", testbed = "make testbed", calibration = "make calibrate")
  of_paper <- paste0(start_command(), " PAPERS=", paper_id())
  command <- if (document %in% names(commands)) commands[[document]] else of_paper
  knitr::knit_exit(paste0("\n\nThere are no results for this page in `", results_dir(), "`. In the project's folder, `",
                          command, "` makes them.\n"))
}
