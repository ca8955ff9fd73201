# The printed read rates of TestDFSIO against its old read loop.

# The printed read rates if each file had been credited for one block: from the audit.
read_rate_table <- function(rates) {
  md_table(data.frame(
    Condition = safe(rates$label), "Printed, MB/s a task" = trimmed(vapply(rates$value, published, numeric(1)), 5),
    "Mean time of a file, s" = vapply(rates$time_note, function(note) known(audit_number("Q-A5", note)), character(1)),
    "If one block of 64 MB was read, MB/s" = vapply(rates$rate_note, function(note) {
      known(audit_number("Q-A5", note))
    }, character(1)), check.names = FALSE
  ), widths = c(34, 20, 22, 24))
}
