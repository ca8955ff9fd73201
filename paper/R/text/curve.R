# The response curve in words.
#
# curve_gain(experiment, metric, from, to, where)  ratio of two medians of the curve, `to` over `from`
# curve_sentence(experiment, metric, what, from, to, where)  the two medians and their ratio in words
# knee_sentence(experiment, metric, what, where)   the rate from which a faster link changes little

curve_gain <- function(experiment, metric, from, to, where = list()) {
  at <- function(fabric) median_at(experiment, metric, utils::modifyList(where, list(fabric = fabric)))
  at(to) / at(from)
}

curve_sentence <- function(experiment, metric, what, from, to, where = list()) {
  gain <- curve_gain(experiment, metric, from, to, where)
  if (is.na(gain)) {
    return(paste0(capital(what), " was not measured on both ", fabric_name(from),
                  " and ", fabric_name(to), " at this effort."))
  }
  at <- function(fabric) median_text(experiment, metric, utils::modifyList(where, list(fabric = fabric)))
  sprintf("From %s to %s %s goes from %s to %s (full-scale equivalents), a factor of %s.", fabric_name(from),
          fabric_name(to), what, at(from), at(to), trimmed(gain))
}

knee_sentence <- function(experiment, metric, what, where = list()) {
  knee <- curve_knee(experiment, metric, where)
  medians <- curve_medians(experiment, metric, where)
  if (is.na(knee)) {
    return(paste0("Too few link rates were measured to say from where on a faster link changes ", what, " little."))
  }
  medians <- medians[!is_unusable(medians), ]
  last <- medians$rate[[nrow(medians)]]
  if (knee >= last) {
    return(sprintf("Between the two fastest links measured, the last of %s Gbit/s, %s changes by more than a tenth.",
                   trimmed(last), what))
  }
  sprintf("From %s Gbit/s on, %s stays within a tenth of its level at %s Gbit/s.", trimmed(knee), what, trimmed(last))
}
