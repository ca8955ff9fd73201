# What stood in the place of a paper's parallel file system: CephFS on emulated hosts, on a site what it has mounted.

# The type as the runs recorded it; emulated hosts have CephFS.
parallel_kind <- function() {
  kinds <- unlist(lapply(read_environments(), function(record) record$cluster$parallel_file_system))
  if (length(kinds) == 0) "cephfs" else kinds[[1]]
}

parallel_name <- function(kind = parallel_kind()) {
  known <- c(cephfs = "CephFS", ceph = "CephFS", nfs = "NFS", gpfs = "GPFS", lustre = "Lustre")
  if (kind %in% names(known)) known[[kind]] else kind
}

parallel_store <- function() {
  name <- parallel_name()
  if (name == "Lustre") name else paste(name, "in Lustre's place")
}

# For what the runs speak, in a paragraph.
parallel_store_note <- function() {
  kind <- parallel_kind()
  if (kind == "lustre") {
    return(paste(
      "**The site's own Lustre.** The runs are made on the Lustre that the hosts have mounted, with its drives,",
      "servers and settings, which are not those of the paper."
    ))
  }
  what <- if (kind == "cephfs") {
    paste(
      "another striped POSIX file system with pooled drives behind a network, because Lustre needs a kernel",
      "of its own"
    )
  } else {
    "which the site has mounted"
  }
  paste0(
    "**", parallel_name(kind), " stands in Lustre's place.** The runs are made on ", parallel_name(kind), ", ", what,
    ". They speak for that arrangement, not for Lustre's code; what only Lustre's code could show is not judged ",
    "from them."
  )
}

parallel_store_limits <- function() {
  limits <- if (parallel_kind() == "cephfs") {
    paste(
      "Both stripe files over drives behind servers, read ahead and write behind on the client, and every cell has",
      "Lustre's default settings of that time for stripe size, readahead and write cache. Not shared are the",
      "protocol, the locks, remote direct memory access, how a server merges requests, and what drives lose to",
      "seeks: the drives behind CephFS do not seek here, those of HDFS do, which favours the stand-in. Claims that",
      "rest on these are not judged."
    )
  } else {
    paste(
      "Servers, drives and caches are the site's own; these runs change none of its settings of readahead and",
      "write cache."
    )
  }
  paste0("**", parallel_store(), ".** ", limits)
}
