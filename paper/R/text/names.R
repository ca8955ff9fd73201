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
    if (is.null(store)) id else paste0("HDFS", copies(store$replication))
  }, character(1), USE.NAMES = FALSE)
}

level_name <- function(factor, x) {
  switch(factor,
    fabric = fabric_name(x),
    store = store_name(x),
    offloads = paste("offloads", x),
    nodes = paste(x, "nodes"),
    rate_mb_per_s = paste(trimmed(x), "MB/s a drive"),
    as.character(x)
  )
}
