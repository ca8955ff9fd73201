# The testbed as it was, from the records of a block: one for each cluster, scale and model of drives.

flatten <- function(x, prefix = "") {
  if (!is.list(x)) {
    if (is.double(x)) x <- ifelse(x == round(x), x, signif(x, 7))
    return(stats::setNames(paste(as.character(unlist(x)), collapse = ", "), prefix))
  }
  if (length(x) == 0) {
    return(character())
  }
  keys <- if (is.null(names(x))) seq_along(x) else names(x)
  scalars <- is.null(names(x)) && all(vapply(x, function(y) !is.list(y) && length(y) == 1, logical(1)))
  if (scalars) {
    return(stats::setNames(paste(unlist(x), collapse = ", "), prefix))
  }
  unlist(unname(mapply(function(value, key) {
    flatten(value, if (prefix == "") as.character(key) else paste(prefix, key, sep = " / "))
  }, x, keys, SIMPLIFY = FALSE)))
}

# Hosts that are set up alike are listed once.
alike <- function(record) {
  lapply(record, function(entry) {
    same <- is.list(entry) && length(entry) > 1 && !is.null(names(entry)) &&
      length(unique(lapply(unname(entry), identity))) == 1
    if (same) stats::setNames(list(entry[[1]]), paste("each of", length(entry), "hosts")) else entry
  })
}

shortened <- function(x, limit = 400) ifelse(nchar(x) > limit, paste0(substr(x, 1, limit - 1), "\u2026"), x)

# The first record; entries that differ in another one are marked. The hosts are in the topology.
environment_rows <- function() {
  records <- read_environments()
  if (length(records) == 0) {
    return(data.frame())
  }
  records <- lapply(records, function(record) alike(record[names(record) != "hosts"]))
  rows <- flatten(records[[1]])
  rows <- rows[!is.na(rows) & rows != ""]
  others <- lapply(records[-1], flatten)
  differs <- vapply(names(rows), function(key) {
    any(vapply(others, function(other) !identical(unname(other[key]), unname(rows[key])), logical(1)))
  }, logical(1))
  # Versions are what the record is for: they are shown whole.
  values <- ifelse(startsWith(names(rows), "software / "), unname(rows), shortened(unname(rows)))
  table <- data.frame(Entry = names(rows), Value = values, varies = differs)
  utils::head(table, 140)
}

# What of the record is on a page alone: packages, Hadoop's configuration, and settings of links as tools print them.
of_page <- "^(software|cluster / configuration|link|offloads)( / |$)"

environment_table <- function() {
  rows <- environment_rows()
  if (nrow(rows) == 0) {
    return(knitr::asis_output("\nNo environment was recorded.\n"))
  }
  value <- paste0(safe(rows$Value), ifelse(rows$varies, " (the first; it differs for other runs)", ""))
  entry <- ifelse(grepl(of_page, rows$Entry), sprintf("[%s]{.page-only}", safe(rows$Entry)), safe(rows$Entry))
  md_table(data.frame(Entry = entry, Value = value), widths = c(42, 58))
}

renderer_text <- function() {
  own <- Sys.getenv("WHITEWIRE_RENDERER")
  if (own != "") {
    return(own)
  }
  # By hand, with Quarto, which says where it is but not its version.
  quarto <- file.path(Sys.getenv("QUARTO_BIN_PATH"), "quarto")
  trimws(paste("Quarto", if (file.exists(quarto)) system2(quarto, "--version", stdout = TRUE) else ""))
}

# The drive model's parameters with their sources, from the experiment's own specification; several drives by name.
drive_model_table <- function(experiment = "put-grid") {
  hardware <- experiment_of(experiment)$hardware
  named <- hardware[["drives"]]
  if (!is.null(hardware[["drive"]])) {
    memory <- hardware[["memory"]]
    one <- c(hardware[["drive"]], memory[names(memory) != "sources"])
    sources <- c(hardware$sources, memory$sources)
    one$writer_mb_per_s <- hardware[["writer"]]$rate_mb_per_s # none where there is none
    sources$writer_mb_per_s <- hardware[["writer"]]$sources$rate_mb_per_s
    named <- c(list(c(one, list(sources = sources))), named)
  }
  if (length(named) == 0) {
    return(knitr::asis_output("\nNo drive model is specified.\n"))
  }
  rows <- do.call(rbind, Map(drive_rows, named, if (is.null(names(named))) "" else names(named)))
  if (is.null(hardware[["drives"]])) {
    return(md_table(rows[c("Parameter", "Value", "Source")], widths = c(28, 17, 55)))
  }
  md_table(rows, widths = c(12, 26, 16, 46))
}

drive_rows <- function(drive, name) {
  sources <- drive$sources
  drive$sources <- NULL
  source_of <- function(key) if (is.null(sources[[key]])) "" else sources[[key]]
  data.frame(
    Drive = if (name == "") "" else code(name),
    Parameter = code(names(drive)),
    Value = vapply(drive, function(x) format(x, big.mark = ",", scientific = FALSE), character(1)),
    Source = safe(vapply(names(drive), source_of, character(1))),
    row.names = NULL
  )
}
