# What documents ask of the project's functions, without running any of it: Rscript calls.R <folder of documents>
# Documents and files of functions are read from standard input, a line each; what they call goes out as JSON:
#   calls     file, line, function, and those of its arguments that are literal, by name; `names` of its lists
#   strings   file, line, text of every literal text that looks like an id of a paper (N-V01, N-C02, …)
#   paths     file, line, keys of every `paper$…`
#   problems  file, line, what: code that R cannot parse, unknown functions, arguments that a function does not have

arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[[1]]
id_like <- "^[A-Z]-[A-Z]+[0-9]+[a-z]?$"

# Functions by name, with their arguments and without what they do.
defined_in <- function(files) {
  found <- list()
  for (file in files) {
    for (part in tryCatch(as.list(parse(file, keep.source = FALSE)), error = function(e) list())) {
      if (is_assignment(part) && is.name(part[[2]]) && is.call(part[[3]]) && identical(part[[3]][[1]], quote(`function`))) {
        found[[as.character(part[[2]])]] <- as.function(c(as.list(part[[3]][[2]]), list(NULL)))
      }
    }
  }
  found
}

is_assignment <- function(x) is.call(x) && (identical(x[[1]], quote(`<-`)) || identical(x[[1]], quote(`=`)))

# Code of a document as pieces: the line before its first one, and the text.
pieces_of <- function(file) {
  lines <- readLines(file, warn = FALSE, encoding = "UTF-8")
  if (grepl("[.]R$", file)) {
    return(list(list(line = 0, text = lines)))
  }
  pieces <- list()
  opened <- 0
  for (n in seq_along(lines)) {
    if (opened == 0 && grepl("^\\s*```+\\s*\\{r[ ,}]", lines[[n]])) {
      opened <- n
    } else if (opened > 0 && grepl("^\\s*```+\\s*$", lines[[n]])) {
      if (n > opened + 1) {
        pieces <- c(pieces, list(list(line = opened, text = lines[seq(opened + 1, n - 1)])))
      }
      opened <- 0
    } else if (opened == 0) {
      inline <- regmatches(lines[[n]], gregexpr("`r +[^`]+`", lines[[n]]))[[1]]
      pieces <- c(pieces, lapply(inline, function(x) list(line = n - 1, text = sub("^`r +(.*)`$", "\\1", x))))
    }
  }
  pieces
}

# The parts of a call or of arguments, less those that are left empty, as in x[1, ].
parts_of <- function(x) {
  parts <- as.list(x)
  empty <- vapply(seq_along(parts), function(i) is.name(parts[[i]]) && !nzchar(as.character(parts[[i]])), logical(1))
  parts[!empty]
}

no_literal <- structure(list(), class = "no_literal")
is_literal <- function(x) !inherits(x, "no_literal")
makes_literals <- c("c", "list", "(", "-", ":", "unname", "paste", "paste0")

# The value of an expression that is written out; of a list those entries that are.
literal <- function(x, known) {
  if (is.name(x)) {
    return(if (!is.null(known[[as.character(x)]])) known[[as.character(x)]] else no_literal)
  }
  if (!is.call(x)) {
    return(x)
  }
  name <- if (is.name(x[[1]])) as.character(x[[1]]) else ""
  if (!name %in% makes_literals) {
    return(no_literal)
  }
  parts <- lapply(parts_of(x)[-1], literal, known)
  told <- vapply(parts, is_literal, logical(1))
  if (!all(told) && (name != "list" || is.null(names(parts)))) {
    return(no_literal)
  }
  tryCatch(do.call(name, parts[told]), error = function(e) no_literal)
}

# For JSON: one text or number as such, vectors without their names as arrays, named lists as objects.
plain <- function(x) {
  if (is.list(x)) lapply(x, plain) else if (length(x) == 1) unname(x) else as.list(unname(x))
}

each_call <- function(x, act) {
  if (is.call(x)) {
    act(x)
    for (part in parts_of(x)) each_call(part, act)
  } else if (is.pairlist(x)) {
    for (part in parts_of(x)) each_call(part, act)
  }
}

keys_below <- function(x) {
  keys <- character()
  while (is.call(x) && identical(x[[1]], quote(`$`))) {
    keys <- c(as.character(x[[3]]), keys)
    x <- x[[2]]
  }
  if (identical(x, quote(paper))) keys
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

said <- function(error) sub("^<text>:[0-9]+:[0-9]+: ", "", strsplit(conditionMessage(error), "\n")[[1]][[1]])
# Where a function of R itself has the name, no document's own is meant.
packages <- c("ggplot2", "grid", "knitr")
exports <- unlist(lapply(packages, function(name) if (requireNamespace(name, quietly = TRUE)) getNamespaceExports(name)))

families <- function(folder) {
  list.files(file.path(folder, "R", c("data", "text", "figures")), pattern = "[.]R$", full.names = TRUE)
}
common <- defined_in(c(file.path(folder, "R", "load.R"), file.path(folder, "R", "setup.R"), families(folder)))

looked_at <- function(file) {
  own <- sub("[.].*$", "", basename(file))
  if (grepl("[.]R$", file)) own <- basename(dirname(file))
  mine <- defined_in(list.files(file.path(folder, "R", "papers", own), pattern = "[.]R$", full.names = TRUE))
  functions <- utils::modifyList(common, mine)
  found <- list(calls = list(), strings = list(), paths = list(), problems = list())
  add <- function(kind, line, ...) {
    found[[kind]][[length(found[[kind]]) + 1]] <<- list(file = file, line = line, ...)
  }
  parsed <- list()
  for (piece in pieces_of(file)) {
    code <- tryCatch(parse(text = piece$text, keep.source = TRUE), error = function(error) {
      add("problems", piece$line + 1, what = paste("R cannot read this code:", said(error)))
      NULL
    })
    if (is.null(code)) next
    lines <- piece$line + vapply(attr(code, "srcref"), function(at) as.integer(at)[[1]], integer(1))
    parsed <- c(parsed, Map(function(x, line) list(x = x, line = line), as.list(code), lines))
  }
  assigned <- character()
  other_paper <- FALSE # a table of that name is not the YAML
  for (part in parsed) each_call(part$x, function(x) {
    if (is_assignment(x) && is.name(x[[2]])) assigned <<- c(assigned, as.character(x[[2]]))
    if (is_assignment(x) && identical(x[[2]], quote(paper)) && !identical(x[[3]], quote(read_paper()))) {
      other_paper <<- TRUE
    }
    if (identical(x[[1]], quote(`function`))) assigned <<- c(assigned, names(x[[2]]))
    if (identical(x[[1]], quote(`for`))) assigned <<- c(assigned, as.character(x[[2]]))
  })
  once <- names(which(table(assigned) == 1))
  known <- list()
  for (part in parsed) {
    if (is_assignment(part$x) && is.name(part$x[[2]]) && as.character(part$x[[2]]) %in% once) {
      value <- literal(part$x[[3]], known)
      if (is_literal(value) && !is.null(value)) known[[as.character(part$x[[2]])]] <- value
    }
    for (text in unique(texts_in(part$x))) if (grepl(id_like, text)) add("strings", part$line, text = text)
    each_call(part$x, function(x) {
      keys <- keys_below(x)
      if (length(keys) > 0 && !other_paper) {
        add("paths", part$line, keys = as.list(keys))
      }
      if (!is.name(x[[1]])) {
        return()
      }
      name <- as.character(x[[1]])
      if (!name %in% names(functions)) {
        if (!name %in% c(assigned, exports) && !exists(name, mode = "function")) {
          add("problems", part$line, what = "", name = name, functions = as.list(names(functions)))
        }
        return()
      }
      if (name %in% assigned) {
        return()
      }
      matched <- tryCatch(match.call(functions[[name]], x, expand.dots = FALSE), error = function(error) {
        add("problems", part$line, what = paste0(name, ": ", said(error)))
        NULL
      })
      if (is.null(matched)) {
        return()
      }
      given <- parts_of(matched)[-1]
      given <- given[names(given) != "..."]
      values <- lapply(given, literal, known)
      values <- Filter(function(value) is_literal(value) && !is.null(value), values)
      lists <- Filter(function(part) is.call(part) && identical(part[[1]], quote(list)), given)
      add("calls", part$line, `function` = name, arguments = lapply(values, plain),
          names = lapply(lists, function(part) as.list(names(parts_of(part)[-1]))))
    })
  }
  found
}

files <- readLines(file("stdin"))
all <- lapply(files, looked_at)
together <- function(kind) do.call(c, lapply(all, `[[`, kind))
named <- function(call) {
  for (part in c("arguments", "names")) {
    if (length(call[[part]]) == 0) call[[part]] <- stats::setNames(list(), character())
  }
  call
}
cat(jsonlite::toJSON(list(
  calls = lapply(together("calls"), named), strings = together("strings"), paths = together("paths"),
  problems = together("problems")
), auto_unbox = TRUE, digits = NA, null = "null"))
