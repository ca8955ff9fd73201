# What drew each figure: the piece of the document, the functions that it names, and the data of what was drawn. The
# renderer puts it beside the figure: src/whitewire/report/provenance.py.

# A function of the project's files with the comment above it: name, file, its first line, text. NULL for a package's
# function, and for one that the document defines, which is in no file of functions.
source_of <- function(name, from = globalenv()) {
  found <- if (exists(name, envir = from, mode = "function", inherits = FALSE)) get(name, envir = from)
  place <- attr(found, "srcref")
  file <- attr(place, "srcfile")
  if (!isTRUE(file$isFile)) {
    return(NULL)
  }
  lines <- getSrcLines(file, 1, place[[3]])
  first <- place[[1]]
  while (first > 1 && grepl("^#", lines[[first - 1]])) first <- first - 1
  list(name = name, file = file.path("paper", sub("^.*/paper/(?=R/)", "", file$filename, perl = TRUE)), line = first,
       text = paste(lines[first:place[[3]]], collapse = "\n"))
}

# Functions of the project that a piece of code names, in their order.
functions_named <- function(code, from = globalenv()) {
  names <- tryCatch(unique(all.names(parse(text = code, keep.source = FALSE))), error = function(e) character())
  Filter(Negate(is.null), lapply(names, source_of, from))
}

# What drew a figure, for its caption on paper, where no page is below it that has the code.
drawn_by <- function(code, from = globalenv()) {
  found <- functions_named(as.character(code), from)
  if (length(found) == 0) {
    return("")
  }
  words <- vapply(found, function(each) sprintf("`%s` in `%s`", each$name, each$file), character(1))
  sprintf("[Drawn by %s.]{.on-paper}", paste(words, collapse = ", "))
}

# What a plot draws: of its tables the one with runs, else the plot's own, else the largest; columns of plain values.
plot_data <- function(plot) {
  if (!inherits(plot, "ggplot")) {
    return(data.frame())
  }
  # Words at a place are no data.
  is_words <- function(table) nrow(table) == 1 && all(names(table) %in% c("x", "y"))
  is_data <- function(table) is.data.frame(table) && nrow(table) > 0 && !is_words(table)
  tables <- Filter(is_data, c(list(plot$data), lapply(plot$layers, function(layer) layer$data)))
  if (length(tables) == 0) {
    return(data.frame())
  }
  runs <- vapply(tables, function(table) "run_id" %in% names(table), logical(1))
  own <- is.data.frame(plot$data) && nrow(plot$data) > 0
  found <- if (any(runs)) tables[runs][[1]] else if (own) plot$data else
    tables[[which.max(vapply(tables, nrow, integer(1)))]]
  as.data.frame(found)[vapply(found, function(column) is.atomic(column) && !all(is.na(column)), logical(1))]
}

record_figure <- function(options) {
  folder <- file.path(reports_dir(), "provenance")
  dir.create(folder, recursive = TRUE, showWarnings = FALSE)
  label <- gsub("[^A-Za-z0-9_-]", "-", options$label)
  data <- plot_data(ggplot2::last_plot())
  if (nrow(data) > 0) readr::write_csv(as_cells(data), file.path(folder, paste0(label, ".csv")), na = "")
  record <- list(
    label = options$label, rows = nrow(data),
    unmeasured = isTRUE(attr(ggplot2::last_plot(), "unmeasured")), functions = functions_named(options$code)
  )
  writeLines(jsonlite::toJSON(record, auto_unbox = TRUE), file.path(folder, paste0(label, ".json")))
}
