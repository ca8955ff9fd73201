# lintr over all R code of the reports.
suppressPackageStartupMessages(library(lintr))
rules <- linters_with_defaults(
  line_length_linter = line_length_linter(120L),
  object_usage_linter = NULL, # functions of other files look undefined to it
  object_name_linter = object_name_linter(c("snake_case", "symbols"))
)
files <- list.files("paper", pattern = "[.]R$", recursive = TRUE, full.names = TRUE)
found <- unlist(lapply(files, function(file) as.list(lint(file, linters = rules))), recursive = FALSE)
for (one in found) {
  cat(sprintf("%s:%d:%d: %s\n", one$filename, one$line_number, one$column_number, one$message))
}
quit(status = if (length(found) > 0) 1L else 0L)
