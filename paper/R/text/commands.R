# What makes the results of a document. Sets of published measurements have a command of their own, none for one claim.
start_command <- function() Sys.getenv("WHITEWIRE_START", "make papers")

is_set <- function() start_command() == "make calibrate"

# A line of commands, after another one.
claim_line <- function() {
  if (is_set()) {
    return("")
  }
  sprintf("\nmake claim CLAIM=%-10s # one claim and its controls, in minutes", example_claim())
}
