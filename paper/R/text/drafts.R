# What a paper that `whitewire new-paper` began still has of the template: its YAML says `To do` there.

to_dos <- function(paper = paper_id()) unlist(read_json(file.path(config_dir(), "to-do.json"))[[paper]])

draft_note <- function() {
  open <- to_dos()
  if (length(open) == 0) {
    return("")
  }
  sprintf("**DRAFT.** Still to be put into `config/papers/%s.yaml`: %s.", paper_id(),
          paste(safe(open), collapse = "; "))
}
