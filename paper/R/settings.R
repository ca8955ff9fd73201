# The settings of a store in words: how it differs from the store that the paper's other cells use.

mib <- function(bytes) paste(trimmed(as_value(bytes) / 2^20), "MiB")

setting_words <- list(
  stripe_size_bytes = function(store) paste("stripes of", mib(store$stripe_size_bytes)),
  readahead_bytes = function(store) paste("readahead of", mib(store$readahead_bytes)),
  # Of one client for all targets; Lustre's setting is for each.
  max_dirty_bytes = function(store) {
    paste("write cache of", mib(as_value(store$max_dirty_bytes) / as_value(store$stripe_count)), "a target")
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

# The first store of a kind holds the defaults.
setting_name <- function(ids, kind = "cephfs") {
  stores <- all_stores()
  base <- stores[[stores_of_kind(kind)[[1]]]]
  vapply(ids, function(id) {
    differs <- Filter(function(name) !identical(as_value(stores[[id]][[name]]), as_value(base[[name]])),
                      names(setting_words))
    words <- vapply(differs, function(name) setting_words[[name]](stores[[id]]), character(1))
    if (length(words) == 0) "Lustre's defaults" else paste(words, collapse = ",\n")
  }, character(1), USE.NAMES = FALSE)
}

# Labels of an axis whose levels are stores.
setting_labels <- function(kind = "cephfs") {
  ids <- stores_of_kind(kind)
  stats::setNames(setting_name(ids, kind), store_name(ids))
}
