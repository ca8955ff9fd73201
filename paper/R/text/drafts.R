# What a paper that `whitewire new-paper` began still has of the template: its YAML says `To do` there.

to_dos <- function(paper = paper_id()) {
  path <- file.path(config_dir(), "to-do.json")
  if (file.exists(path)) unlist(jsonlite::fromJSON(path, simplifyVector = FALSE)[[paper]])
}

draft_note <- function() {
  open <- to_dos()
  if (length(open) == 0) {
    return("")
  }
  sprintf("**DRAFT.** Still to be put into `config/papers/%s.yaml`: %s.", paper_id(),
          paste(safe(open), collapse = "; "))
}
