# Points that are runs: each says on its page which run it is, whether it counts, and why an attempt at it did not.
# Points that are claims say what was found, and lead to the claim's row.
#
# geom_runs(mapping, data, position, ...)   as geom_point; the data have a column `run_id`, or `label` is mapped
# leading_to(address, words)                `label` of a point that leads somewhere
# run_label(run_id, attempt)                what a point says: of a run with all its attempts, or of one attempt
# titled_runs(svg)                          lines of a drawn figure, with what its points say as titles
#
# A drawn point has no place for words. So the words are drawn before the points, as texts that are taken out again.

run_label <- function(run_id, attempt = NULL) {
  labels <- remember("run labels", run_labels(attempt_table()))
  if (is.null(attempt)) unname(labels$runs[run_id]) else unname(labels$attempts[paste(run_id, attempt, sep = "\r")])
}

# What is said of runs by their ids, and of attempts by ids and numbers.
run_labels <- function(attempts) {
  if (nrow(attempts) == 0) {
    return(list(runs = character(), attempts = character()))
  }
  state <- ifelse(attempts$valid, "valid", paste("invalid:", ifelse(is.na(attempts$why_invalid), "no reason given",
                                                                     attempts$why_invalid)))
  name <- paste0("run ", attempts$run_id, ifelse(is.na(attempts$block), "", paste0(", block ", attempts$block)))
  numbered <- paste0("attempt ", attempts$attempt, " ", state)
  alone <- !(duplicated(attempts$run_id) | duplicated(attempts$run_id, fromLast = TRUE)) & attempts$attempt == 1
  ids <- unique(attempts$run_id)
  runs <- vapply(split(ifelse(alone, state, numbered), factor(attempts$run_id, ids)), paste, character(1),
                 collapse = "; ")
  list(
    runs = stats::setNames(paste0(name[match(ids, attempts$run_id)], ": ", runs), ids),
    attempts = stats::setNames(paste0(name, ": ", ifelse(alone, state, numbered)),
                               paste(attempts$run_id, attempts$attempt, sep = "\r"))
  )
}

leading_to <- function(address, words) paste0("to:", address, " ", words)
leads <- "^to:(\\S+) "

begins_run <- "[[run "
ends_runs <- "[[end of runs]]"

run_words <- function(text, x = 0.5, y = 0.5) {
  textGrob(text, unit(x, "native"), unit(y, "native"), gp = gpar(fontsize = 1))
}

# Points of one shape are drawn alike, each by as many pieces as the others.
runs_geom <- ggplot2::ggproto("GeomRun", ggplot2::GeomPoint,
  required_aes = c("x", "y", "label"),
  draw_panel = function(self, data, panel_params, coord, ...) {
    drawn <- lapply(unname(split(data, as.character(data$shape))), function(own) {
      points <- GeomPoint$draw_panel(own, panel_params, coord, ...)
      if (anyNA(own$label)) {
        return(points)
      }
      at <- coord$transform(own, panel_params)
      gTree(children = gList(run_words(paste0(begins_run, own$label, "]]"), at$x, at$y), points, run_words(ends_runs)))
    })
    gTree(children = do.call(gList, drawn))
  }
)

geom_runs <- function(mapping = NULL, data = NULL, position = "identity", ...) {
  named <- aes(label = run_label(run_id))
  mapping <- if (is.null(mapping)) named else utils::modifyList(named, mapping)
  layer(geom = runs_geom, stat = "identity", data = data, mapping = structure(mapping, class = "uneval"),
        position = position, params = list(na.rm = FALSE, ...))
}

# The lines between the words of runs and the end of their points: as many for each run, or nothing is said.
titled_runs <- function(svg) {
  says <- function(text) paste0("^\\s*<text [^>]*>", text, "</text>\\s*$")
  words <- grepl(says("\\[\\[run .*\\]\\]"), svg)
  ends <- which(grepl(says("\\[\\[end of runs\\]\\]"), svg))
  drop <- words
  drop[ends] <- TRUE
  last <- 0
  for (end in ends) {
    own <- which(words & seq_along(svg) > last & seq_along(svg) < end)
    drawn <- setdiff(seq(last + 1, end - 1), seq(last + 1, max(own)))
    pieces <- length(drawn) / length(own)
    if (pieces >= 1 && pieces == round(pieces) && all(grepl("^\\s*<[^>]*/>\\s*$", svg[drawn]))) {
      label <- sub(says("\\[\\[run (.*)\\]\\]"), "\\1", svg[own])
      first <- drawn[seq(1, length(drawn), by = pieces)]
      final <- drawn[seq(pieces, length(drawn), by = pieces)]
      address <- ifelse(grepl(leads, label), paste0(" data-href='", sub(paste0(leads, ".*$"), "\\1", label), "'"), "")
      svg[first] <- paste0("<g class='run'", address, "><title>", sub(leads, "", label), "</title>", svg[first])
      svg[final] <- paste0(svg[final], "</g>")
    }
    last <- end
  }
  svg[!drop]
}
