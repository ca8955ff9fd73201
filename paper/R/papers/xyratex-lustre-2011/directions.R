# What prose says of a direction, beside the readings of the runs: a row a reading.

direction_table <- function(claims) {
  rows <- do.call(rbind, lapply(claims, function(id) {
    claim <- with_id(read_paper()$claims, id)
    judged <- if (claim$test$estimand == "none") list() else list(list(title = "the claim itself", test = claim$test))
    do.call(rbind, lapply(c(judged, claim$readings), function(reading) {
      own <- identical(reading$title, "the claim itself")
      row <- if (own) verdict_row(id) else reading_row(id, reading$title)
      data.frame(claim = id, statement = claim$statement, what = reading$title, asks = relation_text(reading$test),
                 found = row_estimate(row, "\u00d7"),
                 verdict = if (is.na(row$verdict)) "\u2013" else verdict_badge(row))
    }))
  }))
  md_table(data.frame(
    Claim = ifelse(duplicated(rows$claim), "", paste0("**", rows$claim, "** ", safe(rows$statement))),
    Reading = safe(rows$what), "The prose asks for" = rows$asks, Found = safe(rows$found),
    Verdict = rows$verdict, check.names = FALSE
  ), widths = c(24, 30, 14, 18, 14))
}

relation_text <- function(test) {
  word <- c(above = "above", below = "below", within = "about", equal = "equal to")[test$relation]
  paste(word, test$expected)
}
