library(ggplot2)
functions_of()

# Evaluates `code` on a results folder whose links/tables/rdma.csv has these rows (none: there is no such table).
with_rdma <- function(rows, code) {
  results <- tempfile()
  old <- Sys.getenv(c("WHITEWIRE_RESULTS", "WHITEWIRE_PAPER"))
  Sys.setenv(WHITEWIRE_RESULTS = results, WHITEWIRE_PAPER = "p")
  on.exit(do.call(Sys.setenv, as.list(old)))
  if (!is.null(rows)) {
    dir.create(file.path(results, links_tables), recursive = TRUE)
    for (column in setdiff(rdma_columns, names(rows))) rows[[column]] <- NA
    readr::write_csv(rows[rdma_columns], file.path(results, links_tables, "rdma.csv"), na = "")
  }
  force(code)
}

measured_rdma <- function(test, message_bytes, metric, value, why = NA, limit = 1250) {
  data.frame(fabric = "10gbe", source = "client1", destination = "datanode1", transport = "RoCE", test,
             message_bytes, metric, value, limit, why)
}

test_that("a testbed without RDMA says so in one line", {
  with_rdma(NULL, {
    expect_false(rdma_measured())
    expect_equal(rdma_sentence(), "Not testable here: no RDMA device on this testbed.")
  })
  none <- data.frame(fabric = "10gbe", why = "client1 has none", why_code = "no_rdma_device")
  with_rdma(none, expect_equal(rdma_sentence(), "Not testable here: no RDMA device on this testbed."))
})

test_that("another reason is shown as it is", {
  with_rdma(data.frame(fabric = "10gbe", why = "no perftest on client1: not found"), {
    expect_false(rdma_measured())
    expect_equal(rdma_sentence(), "Not testable here: no perftest on client1: not found.")
  })
})

test_that("values of a point are brought together by their median, and the best bandwidth is shown with its limit", {
  rows <- rbind(
    measured_rdma("ib_write_bw", 64, "bandwidth_average", c(10, 30, 20)),
    measured_rdma("ib_write_bw", 65536, "bandwidth_average", 1000),
    measured_rdma("ib_write_lat", 64, c("latency_typical", "latency_p99", "latency_p99_9"), c(2, 3, 9)),
    measured_rdma("ib_write_lat", 65536, c("latency_typical", "latency_p99", "latency_p99_9"), c(60, 70, 90)),
    measured_rdma("ib_read_bw", 64, NA, NA, why = "row '64 0.00'")
  )
  with_rdma(rows, {
    expect_equal(rdma_medians("bandwidth_average")$value, c(20, 1000))
    expect_match(rdma_sentence(), "1 pair of RDMA ports.* 2 tests at 2 message sizes.*Without a result: row '64 0.00'")
    table <- as.character(rdma_table())
    expect_match(table, "write | 1,000 MB/s at 64 KiB | 1,250 MB/s | 80 % | 2 / 3 / 9 |", fixed = TRUE)
    expect_s3_class(figure_rdma_bandwidth("b"), "ggplot")
    expect_s3_class(figure_rdma_latency("l"), "ggplot")
  })
})

test_that("sizes read as sizes", {
  expect_equal(bytes_label(c(4, 1024, 65536, 4194304)), c("4 B", "1 KiB", "64 KiB", "4 MiB"))
})
