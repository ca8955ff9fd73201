library(ggplot2)
functions_of("testbed")

# Evaluates `code` on a results folder whose links have these tables.
with_links <- function(tables, code) {
  results <- tempfile()
  old <- Sys.getenv(c("WHITEWIRE_RESULTS", "WHITEWIRE_PAPER"))
  Sys.setenv(WHITEWIRE_RESULTS = results, WHITEWIRE_PAPER = "testbed")
  on.exit(do.call(Sys.setenv, as.list(old)))
  dir.create(file.path(results, "links", "tables"), recursive = TRUE)
  for (name in names(tables)) {
    readr::write_csv(tables[[name]], file.path(results, "links", "tables", paste0(name, ".csv")), na = "")
  }
  force(code)
}

ways <- data.frame(
  fabric = "10gbe", source = c("a", "b", "a", "c"), destination = c("b", "a", "c", "a"), streams = 1,
  goodput = c(9000, 4000, 9100, NA), expected = c(9564, 9564, 9564, NA), error = c(-0.06, -0.58, -0.05, NA),
  beyond = c(FALSE, TRUE, FALSE, TRUE), retransmit_share = c(0, 0.02, 0, NA), rtt_at_rest = 100,
  rtt = c(900, 8000, 800, NA), alone = FALSE, beside_error = NA, why = c(NA, NA, NA, "no connection")
)
outliers <- data.frame(
  kind = c("pair", "pair", "unlike"), subject = c("b to a", "c to a", "b"), fabric = "10gbe",
  hosts = c("b a", "c a", "b"), value = c(4000, NA, NA), expected = c(9564, NA, NA), unit = c("Mbit/s", NA, NA),
  cause = c("retransmits: 2.00% of the segments were sent again", "no connection", "MTU 9000, on most hosts 1500"),
  stops = c(TRUE, TRUE, FALSE), part_of = NA,
  said = c("b to a on 10gbe: 42% of what is expected", "c to a on 10gbe", "b on 10gbe; MTU 9000")
)
hosts <- data.frame(host = c("a", "b", "c"), role = "datanode", target = NA, processor = "Xeon", processors = 8,
                    memory_gib = 16, kernel = "6.1", system = "Debian 12", clock_ms = c(0.5, -1, NA),
                    congestion_control = "cubic")

test_that("what is beyond its bound comes first and is counted", {
  with_links(list(ways = ways, outliers = outliers, hosts = hosts), {
    expect_match(testbed_sentence(), "3 hosts, 4 directions of pairs on 1 network", fixed = TRUE)
    expect_match(testbed_sentence(), "3 things are beyond their bounds or unlike the others; 2 of them so that papers")
    said <- capture.output(outliers_list())
    expect_match(paste(said, collapse = "\n"), "stops papers:.*b to a on 10gbe.*stops papers:.*c to a.*MTU 9000")
    expect_match(as.character(outlier_table()), "b to a | pair | 10GbE | 4,000 Mbit/s | 9,560 Mbit/s |", fixed = TRUE)
    expect_s3_class(figure_heat_map("h"), "ggplot")
    expect_s3_class(figure_round_trip("r"), "ggplot")
    expect_match(as.character(round_trip_table()), "2.00 %", fixed = TRUE)
    expect_match(as.character(testbed_host_table()), "\u22121", fixed = TRUE)
  })
})

test_that("the table of hosts has lanes where there are some", {
  with_links(list(ways = ways, hosts = cbind(hosts, lane = NA)), {
    expect_no_match(as.character(testbed_host_table()), "Lane", fixed = TRUE)
  })
  with_links(list(ways = ways, hosts = cbind(hosts, lane = c(1, 2, NA))), {
    table <- paste(as.character(testbed_host_table()), collapse = "\n")
    expect_match(table, "Lane", fixed = TRUE)
    expect_match(table, "\\| 2 +\\|")
  })
})

test_that("a testbed with nothing beyond its bound says so", {
  with_links(list(ways = ways[1, ], hosts = hosts), {
    expect_match(testbed_sentence(), "Nothing is beyond its bound.", fixed = TRUE)
    expect_match(as.character(outlier_table()), "Nothing is beyond its bound.", fixed = TRUE)
    expect_match(as.character(left_out_list()), "Nothing was left out.", fixed = TRUE)
    expect_equal(heat_columns(), 1)
  })
})

test_that("links that are alike share a row", {
  links <- data.frame(fabric = "10gbe", host = letters[1:3], interface = "ens1", address = NA, rate = 10000,
                      rate_in = NA, mtu = c(1500, 1500, 9000), queue = NA, offloads = "on", driver = "mlx5_core",
                      version = NA, firmware = "16.35")
  with_links(list(links = links), {
    table <- as.character(host_link_table())
    expect_match(table, "| a, b | 10GbE | ens1 | 10,000 Mbit/s | 1500 |", fixed = TRUE)
    expect_match(table, "| c | 10GbE | ens1 | 10,000 Mbit/s | 9000 |", fixed = TRUE)
  })
})

test_that("a pair without a result is white, and takes no part in the scale", {
  with_links(list(ways = ways, outliers = outliers, hosts = hosts), {
    plot <- figure_heat_map("Links")
    fill <- ggplot2::layer_data(plot, 1)$fill
    expect_equal(sum(fill == "white"), 1)
    expect_equal(plot$scales$get_scales("fill")$limits[[1]], 4000 / 9564, tolerance = 1e-6)
  })
})

test_that("the band of a drive is the testbed's own bound", {
  read_drive_probes <- function() data.frame(operation = "read", mode = "direct", value = 100, expected = 100)
  environment(figure_drives) <- list2env(list(read_drive_probes = read_drive_probes), parent = environment(figure_drives))
  band <- ggplot2::layer_data(figure_drives("Drives", 0.2, "n"), 1)
  expect_equal(c(band$ymin, band$ymax), c(80, 120))
  band <- ggplot2::layer_data(figure_drives("Drives", NULL, "n"), 1)
  expect_equal(c(band$ymin, band$ymax), c(100, 100))
})
