# Transports in words: what was compared, and what was not measured, with the reason.

transports_measured <- function(experiment) length(with_runs(experiment)) > 0

transport_needs <- paste(
  "hosts with RDMA adapters (InfiniBand, RoCE or iWARP) and, under `transports` of the testbed's file, the library",
  "that puts sockets on them"
)

transports_sentence <- function(experiment) {
  levels <- transport_levels(experiment)
  made <- with_runs(experiment)
  lost <- setdiff(levels, made)
  why <- vapply(lost, function(level) paste0(safe(level), ": ", why_no_run(experiment, level)), character(1))
  why <- why[why != paste0(safe(lost), ": ")]
  reasons <- if (length(why) == 0) "" else paste0(" (", paste(why, collapse = "; "), ")")
  if (length(made) == 0) {
    return(paste0("Not measured on this testbed", reasons, ". It needs ", transport_needs, "."))
  }
  compared <- if (length(lost) == 0) {
    sprintf("Runs count over %s.", listed(safe(made)))
  } else {
    sprintf("**Runs count over %s alone, so nothing is compared.** None counts over %s%s.", listed(safe(made)),
            listed(safe(lost)), reasons)
  }
  paste0(compared, " Left out of the figure: ", paste(tests_missing(experiment), collapse = "; "), ".")
}

# At most three reasons for which an experiment has no valid run at a level; "" where no table has one.
why_no_run <- function(experiment, level) {
  runs <- read_runs()
  runs <- runs[runs$experiment %in% experiment & same_level(runs$transport, level) & !runs$valid, ]
  of_level <- function(table) {
    own <- table[table$experiment %in% experiment, ]
    as.character(own$reason[same_level(level_in(own$cell, "transport"), level)])
  }
  not_made <- read_stage("tidy", "unavailable.csv", c("run_id", "experiment", "cell", "reason"))
  why <- unique(c(as.character(runs$why_invalid), of_level(not_made), of_level(read_left())))
  paste(safe(utils::head(why[!is.na(why) & why != ""], 3)), collapse = "; ")
}

# Tests of the links that a figure of transports lacks, each with the reason.
tests_missing <- function(experiment) {
  if (is_emulated(experiment)) {
    return("perftest and iperf3, because links here are slower than at full scale")
  }
  first <- function(why) safe(unique(why[!is.na(why) & why != ""])[1])
  ports <- on_network_of(read_rdma(), experiment)
  tests <- on_network_of(read_transports(), experiment)
  by_make <- "`make testbed` measures it"
  found <- if (any(ports$metric %in% "bandwidth_average" & !is.na(ports$value))) {
    "CPU time of perftest, which polls"
  } else {
    sprintf("perftest (%s)", if (any(ports$why != "", na.rm = TRUE)) first(ports$why) else by_make)
  }
  if (nrow(tests) == 0) found <- c(found, sprintf("iperf3 over these transports (%s)", by_make))
  for (way in unique(tests$transport)) {
    own <- tests[tests$transport == way, ]
    if (all(is.na(own$value))) found <- c(found, sprintf("iperf3 over %s (%s)", safe(way), first(own$why)))
  }
  found
}

# iperf3 over each transport on each network, for the page of a testbed.
transports_table <- function() {
  tests <- read_transports()
  best <- best_of_streams(tests)
  groups <- split(tests, factor(paste(tests$fabric, tests$transport, sep = "\r"),
                                unique(paste(tests$fabric, tests$transport, sep = "\r"))))
  rows <- lapply(groups, function(of) {
    own <- best[best$fabric == of$fabric[[1]] & best$transport == of$transport[[1]], ]
    middle <- function(metric) {
      values <- own$value[own$metric == metric]
      if (length(values) == 0) "\u2013" else trimmed(stats::median(values))
    }
    data.frame(
      Network = safe(fabric_name(of$fabric[[1]])),
      `From, to` = safe(paste(of$source[[1]], of$destination[[1]], sep = ", ")),
      Transport = safe(of$transport[[1]]), Streams = if (nrow(own) == 0) "\u2013" else trimmed(own$streams[[1]]),
      `Mbit/s` = middle("goodput"), `CPU s a GB` = middle("cpu_seconds_per_gb"),
      `Without a result` = safe(paste(unique(of$why[!is.na(of$why) & of$why != ""]), collapse = "; ")),
      check.names = FALSE
    )
  })
  md_table(do.call(rbind, unname(rows)), widths = c(14, 19, 12, 8, 10, 10, 27))
}
