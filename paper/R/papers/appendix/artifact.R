# A run as an artifact: artifact.json of results/appendix/<name>.

artifact <- function() remember("artifact", read_json(file.path(results_dir(), "artifact.json")))

# A list of records as a table of text; what a record lacks is NA.
records <- function(entries, columns) {
  column <- function(name) {
    vapply(entries, function(entry) if (is.null(entry[[name]])) NA_character_ else as.character(entry[[name]]),
           character(1))
  }
  as.data.frame(stats::setNames(lapply(columns, column), columns))
}

claim_columns <- c("paper", "claim", "statement", "route", "estimand", "relation", "asks", "expected", "expected_low",
                   "expected_high", "estimate", "low", "high", "unit", "n", "verdict", "reason")

artifact_claims <- function() {
  remember("claims", {
    table <- records(artifact()$claims, claim_columns)
    for (column in c("expected_low", "expected_high", "estimate", "low", "high", "n")) {
      table[[column]] <- as_value(table[[column]])
    }
    table
  })
}

# Times and sizes in the unit that reads best.
duration <- function(seconds) {
  seconds <- as_value(seconds)
  shown <- ifelse(seconds < 120, paste(trimmed(seconds), "s"),
                  ifelse(seconds < 7200, paste(trimmed(seconds / 60), "min"), paste(trimmed(seconds / 3600), "h")))
  ifelse(is.na(seconds), "\u2013", shown)
}

size <- function(bytes) {
  bytes <- as_value(bytes)
  step <- pmin(3, pmax(0, floor(log(pmax(bytes, 1), 1000))))
  ifelse(is.na(bytes) | bytes == 0, "\u2013", paste(trimmed(bytes / 1000^step), c("B", "kB", "MB", "GB")[step + 1]))
}

of_papers <- function(part, name) {
  vapply(artifact()$papers, function(paper) {
    value <- paper[[part]][[name]]
    if (is.null(value)) NA_real_ else as.numeric(value)
  }, numeric(1))
}

each_paper <- function(name) vapply(artifact()$papers, function(paper) as.character(paper[[name]]), character(1))
total_of <- function(name) sum(as_value(each_paper(name)))

efforts <- function() unique(each_paper("effort"))

commits_text <- function() {
  commits <- unlist(artifact()$commits)
  if (length(commits) == 0) {
    return("a commit that no record names")
  }
  paste0("commit ", listed(code(commits)), if (isTRUE(artifact()$modified)) ", with changes that no commit has")
}

overview_sentence <- function() {
  facts <- artifact()
  sprintf(
    paste("The artifact is a workflow that measures published benchmarks again and judges their claims by rule, with",
          "the results of one run of it: %s with %s, on the testbed *%s* (%s), at %s effort; %s count. It was measured",
          "by %s, Whitewire %s."),
    count_of(length(facts$papers), "paper"), count_of(length(facts$claims), "claim"), safe(facts$testbed),
    safe(facts$kind), safe(listed(efforts())), count_of(total_of("counted"), "run"), commits_text(),
    safe(facts$whitewire)
  )
}

measured_seconds <- function() sum(of_papers("seconds", "measure"), na.rm = TRUE)

bytes_of_results <- function() {
  sum(vapply(c("raw", "tidy", "analysis"), function(name) sum(of_papers("bytes", name)), numeric(1)))
}

# What the forms of conferences ask in a line each.
checklist_table <- function() {
  facts <- artifact()
  found_or <- function(text, otherwise) if (nzchar(text)) safe(text) else otherwise
  workloads <- unique(unlist(lapply(facts$papers, function(paper) {
    vapply(paper$experiments, function(each) each$workload, character(1))
  })))
  rows <- list(
    c("Program", "Whitewire; it runs Hadoop and the measuring tools of @tbl-tools"),
    c("Data sets", "none to fetch: every workload makes its own data from a seed"),
    c("Workloads", if (length(workloads) > 0) listed(code(sort(workloads))) else "\u2013"),
    c("Metrics", "times, rates and shares of the link, at full scale where they scale"),
    c("Output", "tables of runs, estimates and verdicts (CSV with a description of every column), reports (HTML, PDF)"),
    c("Workflow", "Snakemake, one rule per stage"),
    c("Run-time environment", sprintf("Linux; %s", safe(listed(unlist(facts$deployment))))),
    c("Root", "not needed, but to install missing Debian packages"),
    c("Network", "to fetch packages in the set-up; none while it measures or reports"),
    c("Disk space", sprintf("%s GiB free", trimmed(facts$disk_gib))),
    c("Memory", if (is.null(facts$memory_gib)) "of the testbed's hosts: @tbl-machines" else
      sprintf("%s GiB", trimmed(facts$memory_gib))),
    c("Time to measure", duration(measured_seconds())),
    c("Seed", if (is.null(facts$seed)) "\u2013" else as.character(facts$seed)),
    c("Code licence", safe(facts$licence)),
    c("Public address", found_or(facts$repository, "CITATION.cff names none")),
    c("Archive", found_or(facts$doi, "CITATION.cff names none"))
  )
  md_table(as.data.frame(stats::setNames(as.data.frame(do.call(rbind, rows)), c("Asked", "Answer"))),
           widths = c(22, 78))
}

papers_table <- function() {
  claims <- artifact_claims()
  judged <- function(routes) {
    vapply(each_paper("paper"), function(paper) sum(claims$paper == paper & claims$route %in% routes), integer(1))
  }
  md_table(data.frame(
    Paper = paste0("**", safe(each_paper("paper")), "** ", safe(each_paper("title"))),
    Claims = vapply(each_paper("paper"), function(paper) sum(claims$paper == paper), integer(1)),
    `from runs` = judged(c("emulated", "measured")), `arithmetic and models` = judged(c("arithmetic", "modelled")),
    `runs designed` = as_value(each_paper("designed")), `runs that count` = as_value(each_paper("counted")),
    check.names = FALSE
  ), widths = c(44, 9, 10, 14, 12, 12))
}

experiments_table <- function() {
  rows <- do.call(rbind, lapply(artifact()$papers, function(paper) {
    table <- records(paper$experiments, c("experiment", "workload", "cells", "runs", "k"))
    if (nrow(table) > 0) cbind(Paper = safe(paper$paper), table)
  }))
  if (is.null(rows)) {
    return(knitr::asis_output("\nNo design is with these results.\n"))
  }
  md_table(data.frame(
    Paper = rows$Paper, Experiment = code(rows$experiment), Workload = code(rows$workload), Cells = rows$cells,
    Runs = rows$runs, k = ifelse(is.na(rows$k) | rows$k == "", "\u2013", safe(rows$k))
  ), widths = c(26, 26, 20, 9, 9, 10))
}

# --- hardware and software ---------------------------------------------------------------------------

roles_sentence <- function() {
  roles <- unlist(artifact()$roles)
  if (length(roles) == 0) {
    return("No record names its hosts.")
  }
  emulated <- if (identical(artifact()$kind, "emulated")) ", all of them network namespaces of the one machine" else ""
  sprintf("The testbed had up to %d hosts (%s)%s.", sum(roles), safe(listed(paste(names(roles), roles))), emulated)
}

machines_table <- function() {
  machines <- artifact()$machines
  if (length(machines) == 0) {
    return(knitr::asis_output("\nNo environment was recorded.\n"))
  }
  rows <- do.call(rbind, lapply(seq_along(machines), function(i) {
    facts <- unlist(machines[[i]]$facts)
    hosts <- if (nzchar(machines[[i]]$hosts)) machines[[i]]$hosts else "this machine"
    data.frame(Hosts = safe(hosts), Fact = safe(gsub("_", " ", names(facts))), Value = safe(unname(facts)))
  }))
  md_table(rows, widths = c(25, 25, 50))
}

software_table <- function(entries) {
  if (length(entries) == 0) {
    return(knitr::asis_output("\nNone was recorded.\n"))
  }
  table <- records(entries, c("kind", "name", "version"))
  md_table(data.frame(From = safe(table$kind), Name = code(table$name), Version = safe(table$version)),
           widths = c(14, 36, 50))
}

# --- time and disk -----------------------------------------------------------------------------------

time_table <- function() {
  parts <- c("measure", "tidy", "analysis", "report")
  rows <- lapply(parts, function(part) c(of_papers("seconds", part), sum(of_papers("seconds", part), na.rm = TRUE)))
  known <- vapply(rows, function(values) any(!is.na(values) & values > 0), logical(1))
  shown <- lapply(rows[known], function(values) duration(ifelse(values == 0, NA, values)))
  table <- data.frame(Paper = c(safe(each_paper("paper")), "**all**"), shown)
  names(table) <- c("Paper", parts[known])
  md_table(table)
}

# Where the measuring time went: "runs 40 min, start 4 min".
spent_sentence <- function() {
  parts <- unique(unlist(lapply(artifact()$papers, function(paper) names(paper$seconds))))
  parts <- parts[startsWith(parts, "measure: ")]
  if (length(parts) == 0) {
    return("")
  }
  sums <- sort(vapply(parts, function(part) sum(of_papers("seconds", part), na.rm = TRUE), numeric(1)),
               decreasing = TRUE)
  sprintf("Of the time to measure went into %s.", listed(sprintf("%s %s", sub("measure: ", "", names(sums)),
                                                                duration(sums))))
}

# How long it might measure, and whether that was enough.
budget_sentence <- function() {
  budget <- artifact()$budget
  if (!isTRUE(budget$had)) {
    return("The run had no budget of time.")
  }
  text <- if (is.null(budget$seconds)) {
    "It had a budget of time, which its records do not name."
  } else {
    sprintf("It had a budget of %s; what one paper leaves of it is passed on to the next.", duration(budget$seconds))
  }
  paste(text, if (budget$ended_before > 0) {
    sprintf("It ended before %s.", count_of(budget$ended_before, "run"))
  } else {
    "It did not end before a run that a claim needed."
  })
}

disk_table <- function() {
  stages <- c("raw", "tidy", "analysis")
  rows <- lapply(stages, function(stage) c(of_papers("bytes", stage), sum(of_papers("bytes", stage))))
  table <- data.frame(Paper = c(safe(each_paper("paper")), "**all**"), lapply(rows, size))
  names(table) <- c("Paper", code(stages))
  md_table(table)
}

disk_sentence <- function() {
  facts <- artifact()
  kept <- if (isTRUE(facts$is_reference)) {
    " Of raw output the records of blocks and environments alone are kept here; large tables are compressed."
  }
  reports <- if (facts$reports_bytes > 0) sprintf(" The reports take %s.", size(facts$reports_bytes))
  set_up <- if (facts$set_up_bytes > 0) {
    sprintf(" What the set-up installed in the repository takes %s here.", size(facts$set_up_bytes))
  }
  paste0(sprintf("These results take %s.", size(bytes_of_results())), kept, reports, set_up,
         sprintf(" The set-up asks for %s GiB of free space, for all of it together.", trimmed(facts$disk_gib)))
}

# --- steps -------------------------------------------------------------------------------------------

code_block <- function(...) knitr::asis_output(paste0("\n```bash\n", paste(c(...), collapse = "\n"), "\n```\n"))

install_steps <- function() {
  facts <- artifact()
  address <- if (nzchar(facts$repository)) facts$repository else "<this repository>"
  code_block(
    paste0("git clone ", address, " whitewire && cd whitewire"),
    checkout_step(),
    "make setup     # Python, R, Java and Hadoop inside the repository; says which Debian packages are missing",
    paste0("make doctor", testbed_argument(), "    # what this machine can and cannot do")
  )
}

# Which code: where it is one for the reference results that it holds, with the commit that measured beside it.
checkout_step <- function() {
  facts <- artifact()
  commit <- facts$checkout$commit
  commits <- gsub("[^0-9A-Za-z]", "", substr(unlist(facts$commits), 1, 12))  # a record may hold anything
  measured <- paste("measured by commit", paste(commits, collapse = ", "))
  if (!nzchar(commit)) {
    which <- if (identical(facts$agreement$state, "itself")) ", with this run in results/reference"
    return(paste0("# Whitewire ", facts$whitewire, which, "; the run was ", measured))
  }
  holds <- if (isTRUE(facts$checkout$holds)) paste0("    # has the reference results; this run was ", measured)
  paste0("git checkout ", commit, holds)
}

testbed_argument <- function() {
  name <- artifact()$testbed
  if (identical(name, "emulated")) "" else paste0(" TESTBED=", name)
}

run_steps <- function() {
  papers <- paste(each_paper("paper"), collapse = " ")
  code_block(
    paste0("make papers EFFORT=smoke PAPERS=", each_paper("paper")[[1]], testbed_argument(),
           "    # shows that everything works, and a first estimate of the headline"),
    paste0("make papers EFFORT=", efforts()[[1]], " BUDGET=", artifact()$budget$asked, " PAPERS=\"", papers, "\"",
           testbed_argument(), "    # ", duration(measured_seconds()), " of measuring")
  )
}

analysis_steps <- function() {
  name <- artifact()$testbed
  code_block(
    paste0("xdg-open results/", name, "/reports/index.html    # every verdict, and a report per paper"),
    paste0("make compare A=reference B=", name, "    # claim by claim beside the reference results"),
    paste0("make appendix", testbed_argument(), "    # this document, of the rerun"),
    "make report TESTBED=reference    # the reference's own reports, made again without measuring"
  )
}

# --- expected results --------------------------------------------------------------------------------

expected_results_table <- function(paper) {
  table <- artifact_claims()
  table <- by_route(table[table$paper == paper & !untestable(table), ])
  if (nrow(table) == 0) {
    return("\nNothing here tests a claim of this paper.\n")
  }
  paste(md_table(data.frame(
    Claim = paste0("**", safe(table$claim), "** ", safe(table$statement)),
    Estimand = ifelse(is.na(table$estimand) | table$estimand == "", "\u2013", code(table$estimand)),
    `Asked for` = expected_text(table), Found = paste0(estimate_text(table), found_runs(table)),
    Verdict = verdict_badge(table), check.names = FALSE
  ), widths = c(32, 25, 14, 16, 13)), collapse = "\n")
}

found_runs <- function(table) {
  ifelse(by_runs(table) & !is.na(table$n), paste0("; n\u00a0=\u00a0", table$n), "")
}

# A section for each paper.
expected_results <- function() {
  fence <- strrep(":", 3)
  sections <- vapply(each_paper("paper"), function(paper) {
    paste0("\n## ", safe(paper), " {#sec-expected-", paper, "}\n\n", fence, " {.fold summary=\"Show the claims\"}\n",
           "\n", fence, " {#tbl-expected-", paper, "}\n", expected_results_table(paper),
           "\n\nClaims of ", safe(paper), ": what is estimated, what is asked for with its tolerance, what was found, ",
           "and the verdict.\n\n", fence, "\n\n", fence, "\n")
  }, character(1))
  knitr::asis_output(paste(sections, collapse = "\n"))
}

# --- reruns ------------------------------------------------------------------------------------------

rerun_section <- function() {
  itself <- "This run is itself the reference: a rerun of yours says on its start page how it agrees with it."
  agreement_section(artifact()$agreement, itself, rerun_compared)
}

allowed_sentence <- function() {
  facts <- artifact()
  if (facts$bounded == 0) {
    return("No estimate from runs has an interval here, so a rerun is compared by its verdicts alone.")
  }
  sprintf(paste("Here %s from runs %s an interval; where nothing differs, chance alone lets up to %d of them differ in",
                "a rerun."), count_of(facts$bounded, "estimate"), if (facts$bounded == 1) "has" else "have",
          facts$by_chance)
}

rerun_compared <- function(record) {
  lines <- message_lines(record$messages)
  notice <- if (length(lines) > 0) paste0("\n\nWhat makes the two hard to compare:\n\n",
                                          paste(lines, collapse = "\n"), "\n")
  paste0("Beside the reference results of the repository: ", agreement_share(record), " ", agreement_rule(record),
         notice, "\n\n", paste(agreement_table(record, c("the reference", "this run")), collapse = "\n"))
}

rerun_rows <- function() {
  words <- c("paper", "claim", "verdict_a", "verdict_b", "stands", "unit", asked_columns, "overlap", "differs")
  table <- records(artifact()$agreement$rows, c(words, sides_numbers))
  for (column in sides_numbers) table[[column]] <- as_value(table[[column]])
  table
}

rerun_table <- function() {
  table <- rerun_rows()
  if (nrow(table) == 0) {
    return(knitr::asis_output("\nThere is no second run here to compare.\n"))
  }
  md_table(data.frame(
    Claim = paste0("**", safe(table$claim), "** of ", safe(table$paper)),
    `The reference` = paste(side_text(table, "a"), verdict_shown(table, "a")),
    `This run` = paste(side_text(table, "b"), verdict_shown(table, "b")),
    Ratio = ratio_text(table), `Intervals overlap` = overlap_text(table), check.names = FALSE
  ), widths = c(26, 24, 24, 16, 10))
}

# --- what cannot be run ------------------------------------------------------------------------------

missing_table <- function() {
  table <- artifact_claims()
  table <- table[untestable(table), ]
  if (nrow(table) == 0) {
    return(knitr::asis_output("\nAll claims are tested.\n"))
  }
  md_table(data.frame(Claim = paste0("**", safe(table$claim), "** ", safe(table$statement)),
                      Missing = safe(sub("^missing: ", "", table$reason))), widths = c(40, 60))
}

left_table <- function() {
  rows <- do.call(rbind, lapply(artifact()$papers, function(paper) {
    if (length(paper$left) > 0) {
      data.frame(Paper = safe(paper$paper), Runs = as.integer(unlist(paper$left)), Reason = safe(names(paper$left)))
    }
  }))
  if (is.null(rows)) {
    return(knitr::asis_output("\nEvery run of the design was made.\n"))
  }
  md_table(rows, widths = c(26, 10, 64))
}
