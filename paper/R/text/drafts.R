# What a paper that `whitewire new-paper` began still has of the template: its YAML says `To do` there.

to_dos <- function(paper = paper_id()) {
  lines <- readLines(paper_file(paper), warn = FALSE, encoding = "UTF-8")
  unique(sub("['\"]?$", "", sub("^.*\\bTo do: ", "", grep("\\bTo do: ", lines, value = TRUE))))
}

draft_note <- function(paper = paper_id()) {
  open <- to_dos(paper)
  if (length(open) == 0) {
    return("")
  }
  sprintf("**DRAFT.** Still to be put into `config/papers/%s.yaml`: %s.", paper, paste(safe(open), collapse = "; "))
}
