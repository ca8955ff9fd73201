# The start page: this run beside the reference results.

reference_names <- c("the reference", "this run")
most_shown <- 20

reference_record <- function() {
  record <- read_json(file.path(Sys.getenv("WHITEWIRE_REFERENCE"), "agreement.json"))
  if (is.null(record)) list(state = "none") else record
}

reference_origin <- function(record) {
  commits <- unlist(record$reference$commits)
  efforts <- vapply(record$reference$papers, function(paper) paper$effort, character(1))
  sprintf("measured on *%s* at %s effort by commit %s%s", safe(record$reference$testbed),
          listed(unique(efforts[efforts != ""])), listed(code(substr(commits, 1, 12))),
          if (isTRUE(record$reference$modified)) ", with changes" else "")
}

reference_section <- function() {
  record <- reference_record()
  agreement_section(record, paste0("These are the reference results, ", reference_origin(record), "."),
                    reference_compared)
}

reference_compared <- function(record) {
  lines <- message_lines(record$messages)
  more <- length(lines) - 8
  if (more > 0) lines <- c(head(lines, 8), sprintf("- and %d more", more))
  notice <- if (length(lines) > 0) {
    paste0("\n\n::: {.notice}\n\nWhat makes the two hard to compare:\n\n", paste(lines, collapse = "\n"), "\n\n:::\n")
  }
  paste0(
    "The reference results are in the repository (`results/reference`), ", reference_origin(record), ". ",
    agreement_share(record), " ", agreement_rule(record), "\n", notice, "\n",
    agreement_table(record, reference_names), "\n", reference_differences(), "\n\n",
    "In detail: `make compare A=reference B=", basename(results_dir()), "`."
  )
}

# Claims that are not alike: other verdicts first, then estimates that differ, then those that one side alone decides.
reference_differences <- function() {
  table <- read_sides(file.path(Sys.getenv("WHITEWIRE_REFERENCE"), "verdicts.csv"), sides_columns, sides_numbers)
  table <- table[table$stands != "" & (table$stands != "same" | table$differs == "yes"), ]
  if (nrow(table) == 0) {
    return("\nNo verdict is another one, and no estimate is known to differ.\n")
  }
  rank <- ifelse(table$stands == "other", 1, ifelse(table$differs == "yes", 2, 3))
  table <- table[order(rank), ]
  left <- nrow(table) - most_shown
  table <- head(table, most_shown)
  shown <- md_table(data.frame(
    Claim = paste0("**", safe(table$claim), "** ", safe(table$statement)),
    `The reference` = verdict_shown(table, "a"), `This run` = verdict_shown(table, "b"),
    `Its estimate` = side_text(table, "a"), `Estimate here` = side_text(table, "b"),
    Ratio = ratio_text(table), `Intervals overlap` = overlap_text(table), check.names = FALSE
  ), widths = c(27, 13, 13, 14, 14, 12, 7))
  paste0("\nClaims that are not alike:\n", shown, if (left > 0) sprintf("\nand %d more.\n", left))
}
