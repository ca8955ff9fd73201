# The settings of a store in words: how it differs from the store that the paper's other cells use.

setting_words <- list(
  stripe_size_bytes = function(store) paste("stripes of", bytes_label(store$stripe_size_bytes)),
  readahead_bytes = function(store) paste("readahead of", bytes_label(store$readahead_bytes)),
  # Of one client for all targets; Lustre's setting is for each.
  max_dirty_bytes = function(store) {
    paste("write cache of", bytes_label(as_value(store$max_dirty_bytes) / as_value(store$stripe_count)), "a target")
  }
)

all_stores <- function() {
  stores <- list()
  for (experiment in read_paper()$experiments) {
    own <- experiment$stores
    stores <- c(stores, own[setdiff(names(own), names(stores))])
  }
  stores
}

stores_of_kind <- function(kind) names(Filter(function(store) identical(store$kind, kind), all_stores()))

# The first store of CephFS holds the defaults.
setting_name <- function(ids) {
  stores <- all_stores()
  base <- stores[[stores_of_kind("cephfs")[[1]]]]
  vapply(ids, function(id) {
    differs <- Filter(function(name) !identical(as_value(stores[[id]][[name]]), as_value(base[[name]])),
                      names(setting_words))
    words <- vapply(differs, function(name) setting_words[[name]](stores[[id]]), character(1))
    if (length(words) == 0) "Lustre's defaults" else paste(words, collapse = ",\n")
  }, character(1), USE.NAMES = FALSE)
}

# Labels of an axis whose levels are stores.
setting_labels <- function() {
  ids <- stores_of_kind("cephfs")
  stats::setNames(setting_name(ids), store_name(ids))
}

# CephFS has no smaller stripes, and only multiples of it.
least_stripe <- 65536

stripe_as_run <- function(store, k) {
  if (is.na(k) || k == 1) {
    return(as_value(store$stripe_size_bytes))
  }
  least_stripe * max(1, ceiling(as_value(store$stripe_size_bytes) / k / least_stripe))
}

# What the scale leaves of the stripes: their size in the runs, how often a file goes round its targets, and which
# sizes cannot be distinguished.
stripes_sentence <- function(experiment) {
  scale <- scale_of(experiment)
  if (is.na(scale$k) || scale$k == 1) {
    return("Stripes have their full size.")
  }
  stores <- all_stores()[stores_of_kind("cephfs")]
  base <- stores[[1]]
  unit <- stripe_as_run(base, scale$k)
  size <- as_value(experiment_of(experiment)$parameters$size_bytes) * scale$fraction / scale$k
  text <- sprintf(
    paste("k is %s. A stripe of %s would be %s, and CephFS has none below %s: so stripes are %s, and a file of %s",
          "%s %s times."),
    trimmed(scale$k), bytes_label(base$stripe_size_bytes), bytes_label(as_value(base$stripe_size_bytes) / scale$k),
    bytes_label(least_stripe), bytes_label(unit), bytes_label(size), "goes round its targets",
    trimmed(size / unit / as_value(base$stripe_count), 2)
  )
  sizes <- vapply(stores, function(store) as_value(store$stripe_size_bytes), numeric(1))
  runs <- vapply(stores, stripe_as_run, numeric(1), k = scale$k)
  alike <- lapply(split(sizes, runs), function(x) sort(unique(x)))
  alike <- Filter(function(x) length(x) > 1, alike)
  if (length(alike) == 0) {
    return(text)
  }
  paste(text, sprintf(
    "Stripes of %s come out alike, so a reading that compares them compares nothing.",
    listed(vapply(alike, function(x) listed(bytes_label(x)), character(1)))
  ))
}
