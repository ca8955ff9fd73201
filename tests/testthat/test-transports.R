library(ggplot2)
functions_of()

# Evaluates `code` on results of a paper that compares transports: runs (tidy), medians (analysis) and tests of links.
with_results <- function(runs = NULL, estimates = NULL, ports = NULL, tests = NULL, code, left = NULL, kind = "ssh",
                         unavailable = NULL) {
  top <- tempfile()
  old <- Sys.getenv(c("WHITEWIRE_RESULTS", "WHITEWIRE_PAPER", "WHITEWIRE_CONFIG"))
  Sys.setenv(WHITEWIRE_RESULTS = file.path(top, "results"), WHITEWIRE_PAPER = "p",
             WHITEWIRE_CONFIG = file.path(top, "config"))
  on.exit(do.call(Sys.setenv, as.list(old)))
  rm(list = ls(cache), envir = cache)
  on.exit(rm(list = ls(cache), envir = cache), add = TRUE)
  put <- function(table, ...) {
    path <- file.path(top, "results", ...)
    dir.create(dirname(path), recursive = TRUE, showWarnings = FALSE)
    if (!is.null(table)) readr::write_csv(table, path, na = "")
  }
  dir.create(file.path(top, "config", "papers"), recursive = TRUE)
  writeLines(c("id: p", "experiments:", "- id: ways", "  workload: terasort", "  factors: {transport: [tcp, rdma]}",
               "  parameters: {fabric: 10gbe}"), file.path(top, "config", "papers", "p.yaml"))
  put(data.frame(experiment = "ways", testbed = "lab", kind = kind, k = if (kind == "ssh") 1 else 20,
                 data_fraction = 1), "p", "tidy", "scale.csv")
  put(runs, "p", "tidy", "runs.csv")
  put(left, "p", "tidy", "left.csv")
  put(unavailable, "p", "tidy", "unavailable.csv")
  put(estimates, "p", "analysis", "estimates.csv")
  put(ports, "links", "tables", "rdma.csv")
  put(tests, "links", "tables", "transports.csv")
  force(code)
}

metrics <- c(throughput_net = "MB/s", worker_cpu_seconds_per_gb = "s/GB", completion_time = "s")

runs_over <- function(transport, values, valid = TRUE, why = NA) {
  do.call(rbind, lapply(names(metrics), function(metric) {
    data.frame(run_id = paste0("ways-", transport, "-r", 1:3), attempt = 1, block = "quick-1", order = 1:3,
               experiment = "ways", replicate = 1:3, transport, metric, value = values[[metric]] * c(0.9, 1, 1.1),
               unit = metrics[[metric]], full_scale_value = NA, full_scale_unit = NA, valid, why_invalid = why)
  }))
}

medians_over <- function(transport, values) {
  do.call(rbind, lapply(names(metrics), function(metric) {
    value <- values[[metric]]
    data.frame(experiment = "ways", transport, metric, unit = metrics[[metric]], n = 3, n_invalid = 0, median = value,
               low = NA, high = NA, full_scale_median = NA, full_scale_low = NA, full_scale_high = NA,
               status = "measured", untold = NA, few_low = value * 0.8, few_high = value * 1.25)
  }))
}

over_tcp <- list(throughput_net = 250, worker_cpu_seconds_per_gb = 20, completion_time = 200)
over_rdma <- list(throughput_net = 500, worker_cpu_seconds_per_gb = 16, completion_time = 100)
both <- rbind(runs_over("tcp", over_tcp), runs_over("rdma", over_rdma))
both_medians <- rbind(medians_over("tcp", over_tcp), medians_over("rdma", over_rdma))

ports <- data.frame(fabric = c("10gbe", "10gbe", "40gbe"), source = "a", destination = "b", transport = "iWARP",
                    test = "ib_write_bw", message_bytes = c(64, 65536, 65536), metric = "bandwidth_average",
                    value = c(100, 1250, 5000), unit = "MB/s", limit = 1250, why = NA)
test_of <- function(transport, kind, streams, goodput, cpu, fabric = "10gbe") {
  data.frame(fabric, source = "a", destination = "b", transport, kind, streams,
             metric = rep(c("goodput", "cpu_seconds_per_gb"), each = 3),
             value = c(goodput * c(0.99, 1, 1.01), rep(cpu, 3)), unit = rep(c("Mbit/s", "s/GB"), each = 3),
             attempt = rep(1:3, 2), why = NA)
}
tests <- rbind(test_of("tcp", "tcp", 1, 4000, 1), test_of("tcp", "tcp", 4, 8000, 1.2),
               test_of("rsockets", "rdma", 1, 9600, 0.4), test_of("tcp", "tcp", 1, 30000, 1, "40gbe"))

test_that("perftest, iperf3 and the job are in one figure, each in seconds and CPU seconds for a gigabyte", {
  with_results(both, both_medians, ports, tests, {
    found <- medians_per_gb("ways", "TeraSort")
    at <- function(layer, way, panel) {
      found$shown[found$layer == layer & found$way == way & found$panel == per_gb_panels[[panel]]]
    }
    expect_equal(at("perftest", "iWARP", "time"), 0.8)
    expect_equal(at("iperf3", "tcp", "time"), 1) # of four streams, which did best
    expect_equal(at("iperf3", "rsockets", "time"), 8000 / 9600)
    expect_equal(at("iperf3", "tcp", "cpu"), 1.2)
    expect_equal(c(at("TeraSort", "tcp", "time"), at("TeraSort", "rdma", "time")), c(4, 2))
    expect_equal(c(at("TeraSort", "tcp", "cpu"), at("TeraSort", "rdma", "cpu")), c(20, 16))
    expect_length(at("perftest", "iWARP", "cpu"), 0)
    one <- found[found$layer == "TeraSort" & found$way == "tcp" & found$panel == per_gb_panels[["time"]], ]
    expect_equal(c(one$few_low, one$few_high), c(4 / 1.25, 4 / 0.8)) # the ends of a rate change places
    plot <- figure_transports("ways", "t", "TeraSort")
    expect_s3_class(plot, "ggplot")
    drawn <- ggplot_build(plot)
    expect_equal(levels(plot$data$level),
                 c("perftest\niWARP", "iperf3\ntcp", "iperf3\nrsockets", "TeraSort\ntcp", "TeraSort\nrdma"))
    expect_equal(nrow(drawn$data[[3]]), 12) # three runs, two transports, two panels
    expect_equal(transports_sentence("ways"), paste(
      "Runs count over tcp and rdma. Left out of the figure: CPU time of perftest, which polls."
    ))
    expect_equal(nrow(data_transports("ways", "TeraSort")), 1 + 12 + 12)
  })
})

test_that("what was not measured is left out of the figure and said", {
  hung <- data.frame(fabric = "10gbe", source = "a", destination = "b", transport = "rsockets", kind = "rdma",
                     streams = 1, metric = "goodput", value = NA, unit = "Mbit/s", attempt = 1,
                     why = "iperf3 did not end in 70 s")
  no_port <- data.frame(fabric = "10gbe", source = "a", why = "no RDMA device on a")
  with_results(both, both_medians, no_port, rbind(test_of("tcp", "tcp", 1, 4000, 1), hung), {
    expect_equal(transports_sentence("ways"), paste(
      "Runs count over tcp and rdma. Left out of the figure: perftest (no RDMA device on a);",
      "iperf3 over rsockets (iperf3 did not end in 70 s)."
    ))
    expect_setequal(unique(medians_per_gb("ways", "TeraSort")$layer), c("iperf3", "TeraSort"))
    expect_s3_class(figure_transports("ways", "t", "TeraSort"), "ggplot")
  })
  with_results(both, both_medians, code = {
    expect_match(transports_sentence("ways"), "perftest (`make testbed` measures it); iperf3 over these transports",
                 fixed = TRUE)
    expect_s3_class(ggplot_build(figure_transports("ways", "t", "TeraSort")), "ggplot_built")
  })
  with_results(both, both_medians, ports, tests, kind = "emulated", code = {
    expect_match(transports_sentence("ways"), "perftest and iperf3, because links here are slower than at full scale")
    expect_equal(unique(medians_per_gb("ways", "TeraSort")$layer), "TeraSort")
  })
})

test_that("runs over one transport alone compare nothing", {
  lost <- runs_over("rdma", over_rdma, FALSE,
                    "transport: asked rdma, found the kernel's TCP sent up to 97% of the bytes")
  with_results(rbind(runs_over("tcp", over_tcp), lost), medians_over("tcp", over_tcp), ports, tests, {
    expect_true(transports_measured("ways"))
    expect_match(transports_sentence("ways"), paste0(
      "**Runs count over tcp alone, so nothing is compared.** None counts over rdma (rdma: transport: asked rdma, ",
      "found the kernel's TCP sent up to 97% of the bytes)."
    ), fixed = TRUE)
    expect_equal(sum(medians_per_gb("ways", "TeraSort")$layer == "TeraSort"), 2)
  })
  left <- data.frame(experiment = "ways", cell = '{"transport": "rdma"}', reason = "no port counts on datanode2")
  with_results(runs_over("tcp", over_tcp), medians_over("tcp", over_tcp), left = left, code = {
    expect_match(transports_sentence("ways"), "None counts over rdma (rdma: no port counts on datanode2).",
                 fixed = TRUE)
  })
  lacking <- cbind(data.frame(run_id = "1"), left)
  with_results(runs_over("tcp", over_tcp), medians_over("tcp", over_tcp), unavailable = lacking, code = {
    expect_equal(why_no_run("ways", "rdma"), "no port counts on datanode2")
    expect_equal(why_no_run("ways", "rd"), "")
  })
})

test_that("a testbed with TCP alone says what it would need", {
  with_results(code = {
    expect_false(transports_measured("ways"))
    expect_equal(transports_sentence("ways"), paste0("Not measured on this testbed. It needs ", transport_needs, "."))
    expect_true(attr(figure_transports("ways", "t", "TeraSort"), "unmeasured"))
  })
})

test_that("the testbed's page has each transport with its reason", {
  hung <- data.frame(fabric = "10gbe", source = "a", destination = "b", transport = "smc", kind = "rdma", streams = 0,
                     metric = "goodput", value = NA, unit = "Mbit/s", attempt = 1, why = "no RDMA port on b")
  with_results(tests = rbind(tests, hung), code = {
    table <- as.character(transports_table())
    expect_match(table, "| 10GbE | a, b | tcp | 4 | 8,000 | 1.2 |  |", fixed = TRUE)
    expect_match(table, "| 10GbE | a, b | smc | \u2013 | \u2013 | \u2013 | no RDMA port on b |", fixed = TRUE)
  })
})
