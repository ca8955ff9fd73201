# What runs were asked, against what the system said that they had.

read_treatments <- function() {
  columns <- c("run_id", "experiment", "factor", "varies", "level", "asked", "seen", "unit", "same", "valid")
  read_stage("tidy", "treatments.csv", columns, flags = c("varies", "same", "valid"))
}

has_treatments <- function() any(read_treatments()$varies)

# One row per factor of an experiment: its levels, as asked and as found on the testbed's scale, in the order of asking.
treatment_rows <- function() {
  table <- read_treatments()
  table <- table[table$varies & table$valid, ]
  own <- split(table, paste(table$experiment, table$factor, sep = "\r"))
  rows <- lapply(own[unique(paste(table$experiment, table$factor, sep = "\r"))], function(part) {
    # Settings and stores are several values each; their level names them.
    several <- startsWith(as.character(part$asked), "{")
    part$asked <- ifelse(several, NA, as.character(part$asked))
    part$seen <- ifelse(several & part$same, "as asked", as.character(part$seen))
    part <- part[order(as_value(part$asked), as.character(part$level)), ]
    levels <- unique(part$level)
    each <- function(column) vapply(levels, function(x) treatment_levels(unique(part[[column]][part$level %in% x])), "")
    data.frame(
      Experiment = code(part$experiment[[1]]), Factor = code(part$factor[[1]]),
      Level = paste(safe(level_name(part$factor[[1]], levels)), collapse = "; "),
      Asked = if (all(several)) "" else paste(each("asked"), collapse = "; "),
      Found = paste(each("seen"), collapse = "; "),
      Unit = ifelse(part$unit[[1]] %in% "1", "", safe(part$unit[[1]])), Runs = length(unique(part$run_id))
    )
  })
  do.call(rbind, c(unname(rows), list(make.row.names = FALSE)))
}

treatment_levels <- function(levels) paste(ifelse(is.na(levels), "not recorded", safe(levels)), collapse = ", ")

# What did not vary and was proved all the same.
fixed_sentence <- function() {
  table <- read_treatments()
  fixed <- table[!table$varies & table$valid, ]
  if (nrow(fixed) == 0) {
    return("")
  }
  own <- tapply(as.character(fixed$factor), fixed$experiment, function(x) paste(code(unique(x)), collapse = ", "))
  alike <- tapply(code(names(own)), factor(own, unique(own)), listed)
  paste0("Held to the same proofs without being varied: ", paste(names(alike), "in", alike, collapse = "; "), ".")
}

treatment_table <- function() md_table(treatment_rows(), widths = c(16, 16, 20, 18, 18, 7, 5))

treatment_sentence <- function() {
  runs <- run_table()
  table <- read_treatments()
  unproved <- setdiff(runs$run_id[runs$valid], table$run_id)
  unlike <- unique(table$run_id[!table$same])
  unseen <- table[table$varies & table$valid & is.na(table$seen), ]
  notes <- c(
    if (nrow(unseen) > 0) {
      sprintf("**In %s no record shows %s**: only the probes before the runs speak for it.",
              count_of(length(unique(unseen$run_id)), "run"), paste(code(unique(unseen$factor)), collapse = ", "))
    },
    if (length(unproved) > 0) {
      sprintf("**%s without such a proof**: measured before runs had one.", count_of(length(unproved), "run"))
    },
    if (length(unlike) > 0) {
      sprintf("%s had something else than was asked and did not count.", count_of(length(unlike), "attempt"))
    }
  )
  paste(c(
    "After each run the system was asked what had really been so: links, blocks, copies, tasks, settings, drives.",
    notes
  ), collapse = " ")
}
