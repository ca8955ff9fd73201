# A table of the values that an exhibit prints, each beside its rebuilt value.
#
# beside_values: exhibit, rebuilt, scopes
#   rebuilt  a list of from_claim and from_cell by value id, as in list("M-V02" = from_claim("M-C02", "percent_less"));
#            a printed value without an entry is shown as "not rebuilt"
#   What the paper's number is of its runs (`statistic`) stands behind it; best and worst of n of our runs beside the
#   median. A rebuilt value is in the printed one's unit.
#   scopes   scopes of values to list ("result" if left out; NULL lists all)
# from_claim(claim, as)                    the claim's estimate with its interval and n (verdicts.csv)
# from_cell(experiment, metric, where)     a cell's median with its interval and n (estimates.csv)
#   as: "value", "times", "percent_less" or "percent_more"

# How a ratio is written, and the unit that then follows it.
ratio_forms <- list(
  value = list(of = function(x) x, unit = NULL),
  times = list(of = function(x) x, unit = "\u00d7"),
  percent_less = list(of = function(x) 100 * (1 - x), unit = " % less"),
  percent_more = list(of = function(x) 100 * (x - 1), unit = " % more")
)

value_text <- function(value, low, high, as, unit) {
  form <- ratio_forms[[as]]
  ends <- sort(form$of(c(low, high)), na.last = TRUE)
  paste0(with_interval(form$of(value), ends[[1]], ends[[2]]),
         if (is.null(form$unit)) unit_text(unit) else form$unit)
}

from_claim <- function(claim, as = "value") {
  check_claim(claim)
  row <- read_verdicts()
  row <- row[row$claim %in% claim, ]
  if (nrow(row) == 0 || is.na(row$estimate[[1]])) {
    return(list(text = "not measured at this effort", n = ""))
  }
  list(text = value_text(row$estimate[[1]], row$low[[1]], row$high[[1]], as, row$unit[[1]]),
       ratio = if (as == "value" && row$unit[[1]] %in% "1") claim,
       numbers = if (as == "value" && is_measure(row$unit[[1]])) as.numeric(row[1, c("estimate", "low", "high")]),
       unit = row$unit[[1]],
       n = ifelse(is.na(row$n[[1]]), "", trimmed(row$n[[1]])))
}

from_cell <- function(experiment, metric, where = list()) {
  found <- only_cell(medians_at(experiment, metric, where))
  if (nrow(found) == 0) {
    return(list(text = "not measured at this effort", n = ""))
  }
  list(text = median_text(experiment, metric, where, why = FALSE), n = trimmed(found$n), median = found,
       numbers = as.numeric(found[c("shown", "shown_low", "shown_high")]), unit = shown_unit(found),
       runs = at_levels(valid_runs(experiment, metric), where)$shown, less_is_better = shown_unit(found) %in% "s")
}

# What the paper's own number is: "best of 3"; nothing where it does not say.
statistic_text <- function(value) {
  of <- value$statistic
  if (is.null(of)) "" else paste0(of$of, if (!is.null(of$runs)) paste(" of", of$runs))
}

# The best (or worst) of n of our runs: the mean of that over every choice of n of them, so that more runs of ours are
# no advantage. With fewer runs than n, of all that there are.
extreme_of <- function(x, n, of = "best", less_is_better = FALSE) {
  n <- min(n, length(x))
  x <- sort(x, decreasing = (of == "best") == less_is_better)
  sum(choose(seq_along(x) - 1, n - 1) * x) / choose(length(x), n)
}

with_extreme <- function(value, found) {
  of <- value$statistic
  if (!isTRUE(of$of %in% c("best", "worst")) || length(found$runs) == 0) return(found$text)
  n <- min(if (is.null(of$runs)) length(found$runs) else of$runs, length(found$runs))
  extreme <- extreme_of(found$runs, n, of$of, found$less_is_better)
  paste0("median ", found$text, "; ", of$of, " of ", n, ": ", trimmed(extreme))
}

time_units <- c(ms = 1e-3, s = 1, min = 60, h = 3600, d = 86400)
size_units <- c(B = 1, kB = 1e3, MB = 1e6, GB = 1e9, TB = 1e12, PB = 1e15, KiB = 2^10, MiB = 2^20, GiB = 2^30,
                TiB = 2^40, bit = 1 / 8, kbit = 125, Mbit = 125e3, Gbit = 125e6, Tbit = 125e9)
rate_units <- c(stats::setNames(size_units, paste0(names(size_units), "/s")), MBps = 1e6, GBps = 1e9)
measures <- list(time_units, size_units, rate_units)

is_measure <- function(unit) any(vapply(measures, function(units) unit %in% names(units), logical(1)))

# How many of `to` one of `from` is; NA where one cannot be converted to the other.
unit_ratio <- function(from, to) {
  units <- Filter(function(units) all(c(from, to) %in% names(units)), measures)
  if (identical(from, to)) 1 else if (length(units) == 0) NA_real_ else units[[1]][[from]] / units[[1]][[to]]
}

# What was rebuilt, in the unit of the printed value, beside which it stands.
in_unit_of <- function(found, value) {
  unit <- sub(" [(].*[)]$", "", text_or_none(value$unit)) # "MBps (approximately)"
  if (is.null(found$numbers) || !(is_measure(unit) || is_measure(found$unit))) {
    return(found)
  }
  ratio <- unit_ratio(found$unit, unit)
  if (is.na(ratio)) {
    stop(value$id, " is in ", unit, ", what was rebuilt in ", found$unit, ": they cannot stand side by side")
  }
  if (ratio == 1) {
    return(found)
  }
  numbers <- found$numbers * ratio
  text <- paste0(with_interval(numbers[[1]], numbers[[2]], numbers[[3]]), unit_text(unit))
  found$text <- if (is.null(found$median)) text else marked(text, found$median)
  found$runs <- found$runs * ratio
  found
}

# Whether a unit is one of rates, times or sizes, rather than of a number.
has_dimension <- function(unit) grepl("/s$|^(s|ms|min|h|d|[kMGTP]?i?B|[kMGT]?bit)$", text_or_none(unit))

# The printed text and, where it was converted when the paper was read, what it is in the unit of `value`.
published_text <- function(value) {
  printed <- text_or_none(value$printed)
  number <- as_value(gsub(",", "", regmatches(printed, regexpr("[0-9][0-9,]*[.]?[0-9]*", printed))))
  converted <- length(value$value) == 1 && length(number) == 1 && has_dimension(value$unit) &&
    abs(as_value(value$value) / number - 1) > 0.005
  if (isTRUE(converted)) paste0(printed, " = ", trimmed(as_value(value$value)), " ", value$unit) else printed
}

# A value need not have all keys.
text_or_none <- function(x) if (is.null(x)) "" else x

beside_values <- function(exhibit, rebuilt = list(), scopes = "result") {
  paper <- read_paper()
  stop_unless_known("exhibit", exhibit, c(vapply(paper$exhibits, function(x) x$id, character(1)), "text"))
  values <- Filter(function(value) identical(value$exhibit, exhibit), paper$values)
  stop_unless_known(paste("value of", exhibit), names(rebuilt), vapply(values, function(x) x$id, character(1)))
  if (!is.null(scopes)) values <- Filter(function(value) value$scope %in% scopes, values)
  if (length(values) == 0) {
    return(knitr::asis_output("\nThe paper prints no value of this exhibit.\n"))
  }
  made <- lapply(values, function(value) {
    found <- rebuilt[[value$id]]
    if (is.null(found)) return(list(text = "not rebuilt", n = ""))
    if (!is.null(found$ratio) && has_dimension(value$unit)) {
      stop(value$id, " is in ", value$unit, " and ", found$ratio, " is a plain number: they cannot stand side by side")
    }
    found <- in_unit_of(found, value)
    replace(found, "text", with_extreme(value, found))
  })
  statistics <- vapply(values, statistic_text, character(1))
  medians <- do.call(rbind, lapply(seq_along(values), function(i) {
    if (!is.null(made[[i]]$median)) cbind(made[[i]]$median["untold"], level = values[[i]]$id)
  }))
  part <- function(name) vapply(values, function(value) safe(text_or_none(value[[name]])), character(1))
  table <- md_table(data.frame(
    Value = part("id"), Metric = part("metric"), Condition = part("condition"),
    Published = paste0(safe(vapply(values, published_text, character(1))),
                       ifelse(statistics == "", "", paste0(" (", statistics, ")"))),
    Rebuilt = safe(vapply(made, `[[`, character(1), "text")), Runs = vapply(made, `[[`, character(1), "n")
  ), widths = c(8, 24, 22, 16, 24, 6))
  if (is.null(medians)) table else with_unusable(table, medians)
}
