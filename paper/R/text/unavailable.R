# Runs that the machine could not make at all, and why.

unavailable_sentence <- function() {
  table <- read_stage("tidy", "unavailable.csv", c("run_id", "reason"))
  if (nrow(table) == 0) {
    return("")
  }
  counts <- table(as.character(table$reason))
  counted <- sprintf("%s: %s", vapply(counts, count_of, character(1), one = "run"), safe(names(counts)))
  paste0("**Not made on this machine:** ", paste(counted, collapse = "; "), ".")
}
