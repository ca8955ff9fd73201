# What makes the results of a document. Sets of published measurements have a command of their own, none for one claim.
start_command <- function() Sys.getenv("WHITEWIRE_START", "make papers")

is_set <- function() startsWith(start_command(), "make calibrate")

# The end of a command for the testbed of this start: " TESTBED=lab".
asked_testbed <- function() sub("^make [a-z]+", "", start_command())

# A line of commands, after another one.
claim_line <- function() {
  if (is_set()) {
    return("")
  }
  command <- paste0("make claim CLAIM=", example_claim(), asked_testbed())
  sprintf("\n%-27s # one claim and its controls, in minutes", command)
}
