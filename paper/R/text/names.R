# Names of links, stores and levels.

fabric_names <- c(
  "1gbe-shared" = "1 Gbit/s, one segment", "10g-ipoib" = "IPoIB 10 Gbit/s", "32g-qdr" = "QDR InfiniBand 32 Gbit/s",
  "400GbE" = "unlimited"
)

fabric_name <- function(x) {
  label <- fabric_label(x)
  known <- fabric_names[label]
  unname(ifelse(is.na(known), label, known))
}

copies <- function(n) if (is.null(n) || is.na(n)) "" else paste0(", ", count_of(n, "copy", "copies"))

# A store in words: what it is and, where a paper had Lustre, what takes its place.
store_name <- function(x) {
  place <- parallel_store() # once: it reads the record of every block
  stores <- list()
  for (experiment in read_paper()$experiments) {
    stores <- utils::modifyList(stores, if (is.null(experiment$stores)) list() else experiment$stores)
  }
  vapply(as.character(x), function(id) {
    store <- stores[[id]]
    ceph <- if (is.null(store)) startsWith(id, "cephfs") else identical(store$kind, "cephfs")
    if (ceph) {
      variant <- gsub("-", " ", sub("^cephfs-?", "", id))
      return(paste0(place, if (variant != "") paste0(" (", variant, ")")))
    }
    if (is.null(store)) return(id)
    if (!is.null(store$erasure_coding)) return(paste("HDFS,", store$erasure_coding))
    paste0("HDFS", copies(store$replication))
  }, character(1), USE.NAMES = FALSE)
}

# Sizes with the shortest unit that is exact: "64 MiB", "1 TB"; as they are where none is.
size_name <- function(x) {
  units <- c(TB = 1e12, GB = 1e9, MB = 1e6, kB = 1e3, TiB = 2^40, GiB = 2^30, MiB = 2^20, KiB = 2^10)
  vapply(x, function(size) {
    number <- as_value(size) / units
    rounded <- signif(number, 6)
    exact <- !is.na(number) & number >= 1 & rounded == number
    if (!any(exact)) return(as.character(size))
    words <- mapply(function(n, unit) paste(format(n, scientific = FALSE, trim = TRUE), unit), rounded[exact],
                    names(units)[exact])
    words[[which.min(nchar(words))]]
  }, character(1), USE.NAMES = FALSE)
}

# "64 KiB", "1.5 MiB": sizes in powers of two, to three digits.
bytes_label <- function(x) {
  unit <- ifelse(x >= 2^20, 2^20, ifelse(x >= 2^10, 2^10, 1))
  ifelse(is.na(x), "", paste(trimmed(x / unit), c("B", "KiB", "MiB")[match(unit, c(1, 2^10, 2^20))]))
}

level_name <- function(factor, x) {
  if (endsWith(factor, "_bytes")) {
    return(size_name(x))
  }
  switch(factor,
    mtu = sprintf("MTU %s", x),
    replication = sprintf("%s %s", x, ifelse(x == 1, "copy", "copies")),
    fabric = fabric_name(x),
    store = store_name(x),
    offloads = sprintf("offloads %s", x),
    nodes = sprintf("%s nodes", x),
    rate_mb_per_s = sprintf("%s MB/s a drive", trimmed(x)),
    read_rate_mb_per_s = sprintf("reads at %s MB/s a drive", trimmed(x)),
    as.character(x)
  )
}
