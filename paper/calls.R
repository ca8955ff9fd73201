# What documents ask of the project's functions, without running any of it: Rscript calls.R <folder of documents>
# Documents and files of functions are read from standard input, a line each; what they call goes out as JSON:
#   calls     file, line, function, and those of its arguments that are literal, by name; `names` of its lists
#   strings   file, line, text of every literal text that looks like an id of a paper (N-V01, N-C02, …)
#   paths     file, line, keys of every `paper$…`
#   problems  file, line, what: code that R cannot parse, unknown functions, arguments that a function does not have

id_like <- "^[A-Z]-[A-Z]+[0-9]+[a-z]?$"
kinds <- c("calls", "strings", "paths", "problems")

# --- code as expressions ------------------------------------------------------------------------------

is_call_of <- function(x, name) is.call(x) && identical(x[[1]], as.name(name))
is_assignment <- function(x) is_call_of(x, "<-") || is_call_of(x, "=")
is_assignment_to_name <- function(x) is_assignment(x) && is.name(x[[2]])
called <- function(x) if (is.name(x[[1]])) as.character(x[[1]]) else ""
in_one <- function(lists) as.list(unlist(unname(lists), recursive = FALSE))

# The parts of a call or of arguments, less those that are left empty, as in x[1, ].
parts_of <- function(x) {
  parts <- as.list(x)
  empty <- vapply(seq_along(parts), function(i) is.name(parts[[i]]) && !nzchar(as.character(parts[[i]])), logical(1))
  parts[!empty]
}

# A call and all calls in it, the outer before the inner.
calls_in <- function(x) {
  if (!is.call(x) && !is.pairlist(x)) {
    return(list())
  }
  c(if (is.call(x)) list(x), in_one(lapply(parts_of(x), calls_in)))
}

texts_in <- function(x) {
  if (is.character(x)) {
    return(x)
  }
  if (!is.call(x) && !is.pairlist(x)) {
    return(character())
  }
  parts <- parts_of(x)
  c(names(parts), unlist(lapply(parts, texts_in)))
}

# The keys of paper$testbed$nic; nothing of another table.
keys_below <- function(x) {
  keys <- character()
  while (is_call_of(x, "$")) {
    keys <- c(as.character(x[[3]]), keys)
    x <- x[[2]]
  }
  if (identical(x, quote(paper))) keys
}

# --- files as code ------------------------------------------------------------------------------------

# For each line of a document the one that opened the piece of code around it; 0 outside of code.
opened_at <- function(lines) {
  opens <- grepl("^\\s*```+\\s*\\{r[ ,}]", lines)
  closes <- grepl("^\\s*```+\\s*$", lines)
  step <- function(opened, n) {
    if (opened == 0 && opens[[n]]) n else if (closes[[n]]) 0 else opened
  }
  Reduce(step, seq_along(lines), 0, accumulate = TRUE)[-1]
}

inline_pieces <- function(line, n) {
  found <- regmatches(line, gregexpr("`r +[^`]+`", line))[[1]]
  lapply(found, function(x) list(line = n - 1, text = sub("^`r +(.*)`$", "\\1", x)))
}

# Code of a file as pieces, in their order: the line before the first one, and the text.
pieces_of <- function(file) {
  lines <- readLines(file, warn = FALSE, encoding = "UTF-8")
  if (grepl("[.]R$", file)) {
    return(list(list(line = 0, text = lines)))
  }
  opened <- opened_at(lines)
  chunks <- lapply(setdiff(opened, 0), function(at) list(line = at, text = lines[opened == at][-1]))
  outside <- which(opened == 0)
  inline <- in_one(Map(inline_pieces, lines[outside], outside))
  pieces <- c(Filter(function(piece) length(piece$text) > 0, chunks), inline)
  pieces[order(vapply(pieces, function(piece) piece$line, numeric(1)))]
}

said <- function(error) sub("^<text>:[0-9]+:[0-9]+: ", "", strsplit(conditionMessage(error), "\n")[[1]][[1]])

# The expressions of a piece of code with their lines, or why R cannot read it.
parsed_piece <- function(piece) {
  code <- tryCatch(parse(text = piece$text, keep.source = TRUE), error = identity)
  if (inherits(code, "error")) {
    problem <- list(line = piece$line + 1, what = paste("R cannot read this code:", said(code)))
    return(list(problems = list(problem)))
  }
  lines <- piece$line + vapply(attr(code, "srcref"), function(at) as.integer(at)[[1]], integer(1))
  list(expressions = Map(function(x, line) list(x = x, line = line), as.list(code), lines))
}

# --- functions ----------------------------------------------------------------------------------------

# Functions of files by name, with their arguments and without what they do; of two with one name the last.
defined_in <- function(files) {
  read <- function(file) tryCatch(as.list(parse(file, keep.source = FALSE)), error = function(e) list())
  definitions <- Filter(
    function(x) is_assignment_to_name(x) && is_call_of(x[[3]], "function"), in_one(lapply(files, read))
  )
  functions <- lapply(definitions, function(x) as.function(c(as.list(x[[3]][[2]]), list(NULL))))
  names(functions) <- vapply(definitions, function(x) as.character(x[[2]]), character(1))
  functions[!duplicated(names(functions), fromLast = TRUE)]
}

r_files <- function(...) list.files(file.path(...), pattern = "[.]R$", full.names = TRUE)

common_functions <- function(folder) {
  defined_in(c(file.path(folder, "R", c("load.R", "setup.R")), r_files(folder, "R", c("data", "text", "figures"))))
}

# Those that a document may call: the common ones and its own.
functions_for <- function(file, folder, common) {
  own <- if (grepl("[.]R$", file)) basename(dirname(file)) else sub("[.].*$", "", basename(file))
  utils::modifyList(common, defined_in(r_files(folder, "R", "papers", own)))
}

# Not those of this file.
is_of_r <- function(name) exists(name, envir = parent.env(globalenv()), mode = "function")

# Where a function of R itself has the name, no document's own is meant.
exported_by <- function(packages) {
  installed <- Filter(function(name) requireNamespace(name, quietly = TRUE), packages)
  unlist(lapply(installed, getNamespaceExports))
}

# --- values that are written out ----------------------------------------------------------------------

no_literal <- structure(list(), class = "no_literal")
is_literal <- function(x) !inherits(x, "no_literal")
is_value <- function(x) is_literal(x) && !is.null(x)
makes_literals <- c("c", "list", "(", "-", ":", "unname", "paste", "paste0")

# The value of an expression that is written out; of a list those entries that are. `known`: values of names.
literal <- function(x, known) {
  if (is.call(x)) {
    return(literal_call(x, known))
  }
  if (!is.name(x)) {
    return(x)
  }
  value <- known[[as.character(x)]]
  if (is.null(value)) no_literal else value
}

literal_call <- function(x, known) {
  name <- called(x)
  if (!name %in% makes_literals) {
    return(no_literal)
  }
  parts <- lapply(parts_of(x)[-1], literal, known)
  literals <- vapply(parts, is_literal, logical(1))
  in_part <- name == "list" && !is.null(names(parts))
  if (!all(literals) && !in_part) {
    return(no_literal)
  }
  tryCatch(do.call(name, parts[literals]), error = function(e) no_literal)
}

# The values of names, with that which an expression adds. `once`: names that are assigned in one place only.
with_assigned <- function(known, x, once) {
  if (!is_assignment_to_name(x) || !as.character(x[[2]]) %in% once) {
    return(known)
  }
  value <- literal(x[[3]], known)
  if (is_value(value)) known[[as.character(x[[2]])]] <- value
  known
}

# For JSON: one text or number as such, vectors without their names as arrays, named lists as objects.
plain <- function(x) {
  if (is.list(x)) lapply(x, plain) else if (length(x) == 1) unname(x) else as.list(unname(x))
}

# --- what a file asks ---------------------------------------------------------------------------------

# Names that a call gives to something: by assignment, as arguments of a function, in a loop.
names_given_by <- function(x) {
  if (is_assignment_to_name(x) || is_call_of(x, "for")) {
    as.character(x[[2]])
  } else if (is_call_of(x, "function")) {
    names(x[[2]])
  }
}

# A table of the name `paper` that is not the YAML.
is_other_paper <- function(x) {
  is_assignment(x) && identical(x[[2]], quote(paper)) && !identical(x[[3]], quote(read_paper()))
}

arguments_of <- function(matched, known) {
  given <- parts_of(matched)[-1]
  given <- given[names(given) != "..."]
  values <- Filter(is_value, lapply(given, literal, known))
  lists <- Filter(function(part) is_call_of(part, "list"), given)
  list(arguments = lapply(values, plain), names = lapply(lists, function(part) as.list(names(parts_of(part)[-1]))))
}

# list(calls) or list(problems) of one call; nothing of a call that is none of the project's functions.
# `scope`: functions, those of the project; assigned, the file's own; exports, those of packages; known, values.
entries_of_call <- function(x, scope) {
  name <- called(x)
  if (!name %in% names(scope$functions)) {
    elsewhere <- name %in% c("", scope$assigned, scope$exports) || is_of_r(name)
    return(if (!elsewhere) list(problems = list(what = "", name = name, functions = as.list(names(scope$functions)))))
  }
  if (name %in% scope$assigned) {
    return(NULL)
  }
  # The `...` of the call is that of its file, not of one of our own functions.
  matched <- tryCatch(
    match.call(scope$functions[[name]], x, expand.dots = FALSE, envir = globalenv()), error = identity
  )
  if (inherits(matched, "error")) {
    return(list(problems = list(what = paste0(name, ": ", said(matched)))))
  }
  list(calls = c(list(`function` = name), arguments_of(matched, scope$known)))
}

# Entries of every kind of one expression, without file and line.
entries_of_expression <- function(x, scope) {
  calls <- calls_in(x)
  entries <- lapply(calls, entries_of_call, scope)
  of <- function(kind) Filter(length, lapply(entries, `[[`, kind))
  paths <- if (!scope$other_paper) Filter(length, lapply(calls, keys_below))
  list(
    calls = of("calls"), problems = of("problems"),
    strings = lapply(grep(id_like, unique(texts_in(x)), value = TRUE), function(text) list(text = text)),
    paths = lapply(paths, function(keys) list(keys = as.list(keys)))
  )
}

# Entries of every kind of one file, with file and line. `scope`: functions and exports, as in entries_of_call.
entries_of_file <- function(file, scope) {
  pieces <- lapply(pieces_of(file), parsed_piece)
  expressions <- in_one(lapply(pieces, `[[`, "expressions"))
  calls <- in_one(lapply(expressions, function(each) calls_in(each$x)))
  scope$assigned <- as.character(unlist(lapply(calls, names_given_by)))
  scope$other_paper <- any(vapply(calls, is_other_paper, logical(1)))
  scope$known <- list()
  once <- names(which(table(scope$assigned) == 1))
  found <- list(list(problems = in_one(lapply(pieces, `[[`, "problems"))))
  for (each in expressions) {
    scope$known <- with_assigned(scope$known, each$x, once)
    entries <- lapply(entries_of_expression(each$x, scope), lapply, function(entry) c(list(line = each$line), entry))
    found <- c(found, list(entries))
  }
  together <- function(kind) lapply(in_one(lapply(found, `[[`, kind)), function(entry) c(list(file = file), entry))
  stats::setNames(lapply(kinds, together), kinds)
}

# An empty list is an empty object in JSON where it stands for arguments.
named <- function(call) {
  for (part in c("arguments", "names")) {
    if (length(call[[part]]) == 0) call[[part]] <- stats::setNames(list(), character())
  }
  call
}

folder <- commandArgs(trailingOnly = TRUE)[[1]]
common <- common_functions(folder)
exports <- exported_by(c("ggplot2", "grid", "knitr"))
entries <- lapply(readLines(file("stdin")), function(file) {
  entries_of_file(file, list(functions = functions_for(file, folder, common), exports = exports))
})
all <- stats::setNames(lapply(kinds, function(kind) in_one(lapply(entries, `[[`, kind))), kinds)
all$calls <- lapply(all$calls, named)
cat(jsonlite::toJSON(all, auto_unbox = TRUE, digits = NA, null = "null"))
