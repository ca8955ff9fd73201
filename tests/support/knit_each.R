# Knits one document once for each folder of results, each in a process of its own, as `whitewire render` does without
# Quarto: Rscript knit_each.R <document.qmd> <folder>..., in the folder of the documents. Prints a line per folder that
# failed, with the reason.

arguments <- commandArgs(trailingOnly = TRUE)
for (name in c("ggplot2", "grid", "knitr", "readr", "svglite")) {
  suppressPackageStartupMessages(library(name, character.only = TRUE))
}

knit_with <- function(folder) {
  made <- tempfile()
  dir.create(made)
  on.exit(unlink(made, recursive = TRUE))
  Sys.setenv(WHITEWIRE_RESULTS = folder, WHITEWIRE_REPORTS = made)
  given <- list(commandArgs = function(...) c(arguments[[1]], file.path(made, "made.md")))
  tryCatch({
    utils::capture.output(sys.source("knit.R", list2env(given, parent = globalenv())), type = "message")
    ""
  }, error = function(e) conditionMessage(e))
}

reasons <- parallel::mclapply(arguments[-1], knit_with, mc.cores = parallel::detectCores(), mc.preschedule = FALSE)
for (i in which(reasons != "")) cat(basename(arguments[[i + 1]]), ": ", gsub("\n", " ", reasons[[i]]), "\n", sep = "")
