# Runs lintr on all R code of the reports, with the rules of .lintr.
options(lintr.linter_file = normalizePath(".lintr"))
found <- lintr::lint_dir("paper")
for (one in found) {
  cat(sprintf("paper/%s:%d:%d: %s\n", one$filename, one$line_number, one$column_number, one$message))
}
quit(status = if (length(found) > 0) 1L else 0L)
