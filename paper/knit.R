# Knits a Quarto document to markdown for pandoc, in one R process: Rscript knit.R <document.qmd> <output.md>
# Figures and labelled tables come out in the same notation Quarto uses, so one filter can number both.

arguments <- commandArgs(trailingOnly = TRUE)
document <- arguments[[1]]
output <- arguments[[2]]

suppressPackageStartupMessages(library(knitr))

one_line <- function(text) gsub("\\s+", " ", paste(text, collapse = " "))

escape_attribute <- function(text) gsub("\"", "&quot;", one_line(text), fixed = TRUE)

figure_markdown <- function(path, options) {
  path <- sub(paste0(opts_knit$get("base.dir"), "/"), "", path, fixed = TRUE)
  alt <- if (is.null(options$fig.alt)) options$fig.cap else options$fig.alt
  width <- if (is.null(options$out.width)) "100%" else options$out.width
  attributes <- sprintf("{#%s alt=\"%s\" width=%s}", options$label, escape_attribute(alt), width)
  paste0("\n\n![", one_line(options$fig.cap), "](", path, ")", attributes, "\n\n")
}

table_markdown <- function(x, options) {
  caption <- c(options[["tbl-cap"]], options[["tbl.cap"]])
  if (!grepl("^tbl-", options$label) || is.null(caption)) {
    return(x)
  }
  paste0("\n\n::: {#", options$label, "}\n\n", x, "\n\n", one_line(caption[[1]]), "\n\n:::\n\n")
}

opts_knit$set(base.dir = dirname(output), progress = FALSE, verbose = FALSE)
opts_chunk$set(
  echo = FALSE, error = FALSE, warning = FALSE, message = FALSE, dev = "svglite",
  fig.path = "figures/", fig.align = "default", comment = NA
)
knit_hooks$set(
  plot = function(x, options) figure_markdown(x, options),
  chunk = function(x, options) table_markdown(x, options),
  output = function(x, options) if (identical(options$results, "asis")) x else paste0("\n```\n", x, "```\n")
)

invisible(knit(document, output, quiet = TRUE, envir = new.env(parent = globalenv())))
