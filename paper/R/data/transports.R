# What a gigabyte takes over each transport, from the port to the job: perftest, iperf3, and the runs of an experiment
# that varies `transport`, on the same links.
#
# read_transports()            iperf3 over each transport of the testbed
# best_of_streams(table)       its rows with the number of streams with which each transport did best
# transport_levels(experiment) levels of the factor; with_runs(experiment): those that have valid runs
# tests_per_gb(experiment)     perftest and iperf3: a row a test
# runs_per_gb(experiment, job), medians_per_gb(experiment, job)  the runs, and the median of everything

transports_columns <- c("fabric", "source", "destination", "transport", "kind", "streams", "metric", "value", "unit",
                        "attempt", "why")

read_transports <- function() {
  numbers <- c("streams", "value", "attempt")
  table <- read_stage("tidy", "transports.csv", transports_columns, "testbed", numbers = numbers)
  for (column in setdiff(transports_columns, numbers)) {
    table[[column]] <- as.character(table[[column]])
  }
  table
}

best_of_streams <- function(table) {
  goodput <- table[table$metric %in% "goodput" & !is.na(table$value), ]
  if (nrow(goodput) == 0) {
    return(goodput)
  }
  medians <- stats::aggregate(value ~ fabric + transport + streams, goodput, stats::median)
  medians <- medians[order(-medians$value), ]
  best <- medians[!duplicated(medians[c("fabric", "transport")]), ]
  key <- function(x) paste(x$fabric, x$transport, x$streams, sep = "\r")
  table[key(table) %in% key(best) & !is.na(table$value), ]
}

transport_levels <- function(experiment) levels_of_factor(experiment_of(experiment), "transport")

with_runs <- function(experiment) {
  runs <- valid_runs(experiment, "completion_time")
  Filter(function(level) any(same_level(runs$transport, level)), transport_levels(experiment))
}

# Of a table of links, the rows of the network that an experiment's runs are on.
on_network_of <- function(table, experiment) {
  table[fabric_label(table$fabric) %in% fabric_label(levels_of_factor(experiment_of(experiment), "fabric")), ]
}

# Levels are names of transports or of kinds; iperf3's table knows the kind of each name.
transport_kind <- function(level) {
  known <- read_transports()
  kind <- known$kind[match(level, known$transport)]
  ifelse(level %in% c("tcp", "rdma"), level, ifelse(is.na(kind), "tcp", kind))
}

per_gb_panels <- c(time = "time for a GB, s", cpu = "CPU time for a GB, s")

per_gb_rows <- function(layer, way, kind, panel, value, run_id = rep(NA_character_, length(value))) {
  n <- length(value)
  data.frame(layer = rep(layer, n), way = rep_len(way, n), kind = rep_len(kind, n), panel = rep_len(panel, n),
             value = value, run_id = run_id)
}

# Seconds for a gigabyte at a rate in MB/s.
seconds_per_gb <- function(rate) 1000 / rate

# Links that are slower than at full scale have no place beside runs in full-scale equivalents.
tests_per_gb <- function(experiment) {
  if (is_emulated(experiment)) {
    return(per_gb_rows("", "", "", "", numeric()))
  }
  ports <- on_network_of(read_rdma(), experiment)
  ports <- ports[ports$test %in% "ib_write_bw" & ports$metric %in% "bandwidth_average" & !is.na(ports$value), ]
  ports <- utils::head(ports[order(-ports$value), ], 1)
  tests <- best_of_streams(on_network_of(read_transports(), experiment))
  goodput <- tests[tests$metric == "goodput", ]
  cpu <- tests[tests$metric == "cpu_seconds_per_gb", ]
  time <- per_gb_panels[["time"]]
  rbind(
    per_gb_rows("perftest", as.character(ports$transport), "rdma", time, seconds_per_gb(ports$value)),
    per_gb_rows("iperf3", goodput$transport, goodput$kind, time, seconds_per_gb(goodput$value / 8)),
    per_gb_rows("iperf3", cpu$transport, cpu$kind, per_gb_panels[["cpu"]], cpu$value)
  )
}

per_gb_metrics <- c(throughput_net = per_gb_panels[["time"]], worker_cpu_seconds_per_gb = per_gb_panels[["cpu"]])

of_metric <- function(metric, value) ifelse(metric == "throughput_net", seconds_per_gb(value), value)

runs_per_gb <- function(experiment, job) {
  runs <- runs_at(experiment, names(per_gb_metrics), by = "transport")
  way <- as.character(runs$transport)
  per_gb_rows(job, way, transport_kind(way), unname(per_gb_metrics[runs$metric]), of_metric(runs$metric, runs$shown),
              as.character(runs$run_id))
}

# With the columns that intervals and marks of unusable medians are drawn from; a rate's ends change places.
medians_per_gb <- function(experiment, job) {
  tests <- tests_per_gb(experiment)
  if (nrow(tests) > 0) tests <- stats::aggregate(value ~ layer + way + kind + panel, tests, stats::median)
  ends <- c("shown_low", "shown_high", "few_low", "few_high")
  tests <- with_columns(tests[c("layer", "way", "kind", "panel", "value")], c(ends, "n", "untold"))
  medians <- medians_at(experiment, names(per_gb_metrics), by = "transport")
  way <- as.character(medians$transport)
  own <- per_gb_rows(job, way, transport_kind(way), unname(per_gb_metrics[medians$metric]),
                     of_metric(medians$metric, medians$shown))
  is_rate <- medians$metric == "throughput_net"
  for (pair in list(ends[1:2], ends[3:4])) {
    one <- of_metric(medians$metric, medians[[pair[[1]]]])
    other <- of_metric(medians$metric, medians[[pair[[2]]]])
    own[[pair[[1]]]] <- ifelse(is_rate, other, one)
    own[[pair[[2]]]] <- ifelse(is_rate, one, other)
  }
  own$n <- medians$n
  own$untold <- medians$untold
  found <- rbind(tests, own[names(tests)])
  names(found)[names(found) == "value"] <- "shown"
  found
}

data_transports <- function(experiment, job) {
  found <- rbind(tests_per_gb(experiment), runs_per_gb(experiment, job))
  names(found)[names(found) == "panel"] <- "what"
  found
}
