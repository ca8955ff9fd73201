# Two printed conditions of a benchmark: the pairs as bars, and the printed changes beside the recomputed ones.
#
# data_changes(exhibit)    one row per metric of a printed table: both values, the printed and the recomputed change
# change_table(exhibit)    the same as a table
# figure_changes(exhibit)  the pairs as bars

printed_of <- function(exhibit, metric) {
  Filter(function(value) {
    identical(value$exhibit, exhibit) && identical(value$metric, metric) && identical(value$scope, "result")
  }, read_paper()$values)
}

# "Teragen change" belongs to "Teragen time", "write throughput change" to "write throughput".
base_metric <- function(exhibit, change) {
  name <- sub(" change$", "", change)
  if (length(printed_of(exhibit, name)) == 2) name else paste(name, "time")
}

job_name <- function(metric) sub("^Teragen", "TeraGen", sub("^Terasort", "TeraSort", metric))

data_changes <- function(exhibit) {
  changes <- Filter(function(value) {
    identical(value$exhibit, exhibit) && grepl(" change$", value$metric)
  }, read_paper()$values)
  rows <- lapply(changes, function(change) {
    pair <- printed_of(exhibit, base_metric(exhibit, change$metric))
    audit <- recomputed(pair[[1]]$id, pair[[2]]$id)
    data.frame(
      value = change$id, metric = job_name(base_metric(exhibit, change$metric)), unit = pair[[1]]$unit,
      from = pair[[1]]$condition, to = pair[[2]]$condition, before = pair[[1]]$value, after = pair[[2]]$value,
      printed_before = pair[[1]]$printed, printed_after = pair[[2]]$printed, printed_change = change$printed,
      recomputed_change = as_value(audit$recomputed), holds = holds_text(audit$holds)
    )
  })
  do.call(rbind, rows)
}

change_table <- function(exhibit) {
  rows <- data_changes(exhibit)
  table <- data.frame(
    Metric = paste0(safe(rows$metric), ", ", safe(sub("MB/sec", "MB/s", rows$unit))),
    before = safe(rows$printed_before), after = safe(rows$printed_after), Printed = safe(rows$printed_change),
    Recomputed = signed_percent(rows$recomputed_change), Holds = rows$holds
  )
  names(table)[2:3] <- c(rows$from[[1]], rows$to[[1]])
  md_table(table, widths = c(27, 18, 18, 13, 15, 9), align = c("l", "r", "r", "r", "r", "l"))
}

figure_changes <- function(exhibit, title) {
  rows <- data_changes(exhibit)
  conditions <- c(rows$from[[1]], rows$to[[1]])
  long <- rbind(
    data.frame(metric = rows$metric, condition = rows$from, value = rows$before, label = rows$printed_before),
    data.frame(metric = rows$metric, condition = rows$to, value = rows$after, label = rows$printed_after)
  )
  long$condition <- factor(long$condition, conditions)
  long$metric <- factor(sub(" time$", "", long$metric), unique(sub(" time$", "", rows$metric)))
  rows$metric <- factor(sub(" time$", "", rows$metric), levels(long$metric))
  ggplot(long, aes(metric, value, fill = condition)) +
    geom_col(position = position_dodge(0.7), width = 0.62, alpha = 0.85) +
    geom_text(aes(label = label), position = position_dodge(0.7), vjust = -0.5, size = 3.4, family = base_font) +
    geom_text(data = rows, aes(metric, 0, label = signed_percent(recomputed_change)), inherit.aes = FALSE, vjust = -0.7,
              size = 3.6, fontface = "bold", colour = "white", family = base_font, nudge_x = 0.175) +
    scale_fill_manual(NULL, values = stats::setNames(unname(okabe_ito[c("vermillion", "blue")]), conditions)) +
    scale_y_continuous("s", expand = expansion(c(0, 0.1))) +
    labs(title = title, x = NULL, subtitle = paste(
      "published values, from the table that the page hides in a comment; one run each, no spread printed",
      "in the bar: the change, recomputed", sep = "\n"
    ))
}
