# Two result folders side by side: the tables of results/compare/<A>-<B>/.

comparison <- function() remember("comparison", read_json(file.path(results_dir(), "comparison.json")))

site <- function(side) safe(comparison()[[side]]$name)

read_compared <- function(name) {
  remember(paste0("compared:", name), {
    columns <- switch(name,
      verdicts = sides_columns,
      estimates = c("paper", "experiment", "cell", "metric", "unit", "note", "differs"),
      environment = c("paper", "entry", "a", "b", "agree")
    )
    numbers <- if (name == "environment") character() else sides_numbers
    read_sides(file.path(results_dir(), paste0(name, ".csv")), columns, numbers)
  })
}

compared_both <- function(table) table[!table$agree %in% c("only in A", "only in B"), ]

folders_table <- function() {
  sides <- comparison()[c("a", "b")]
  md_table(data.frame(
    Site = c("A", "B"), Name = vapply(sides, function(s) safe(s$name), character(1)),
    Folder = vapply(sides, function(s) code(s$folder), character(1))
  ), widths = c(10, 40, 50))
}

agreement_sentence <- function() {
  table <- compared_both(read_compared("verdicts"))
  same <- sum(table$agree %in% "yes")
  if (nrow(table) == 0) {
    return("No claim was judged in both.")
  }
  sprintf("Of %s judged in both, %d have the same verdict and %d another.",
          count_of(nrow(table), "claim"), same, nrow(table) - same)
}

# "12 agree, 3 differ, and of 40 that is unknown."
differs_sentence <- function(name, what) {
  table <- read_compared(name)
  table <- table[table$differs != "", ]
  if (nrow(table) == 0) {
    return(paste0("There is no ", what, " in both."))
  }
  count <- function(value) sum(table$differs == value)
  sprintf("Of %s in both, %d agree, %d differ, and of %d that is unknown.",
          count_of(nrow(table), what), count("no"), count("yes"), count("cannot tell"))
}

verdict_differences <- function() {
  table <- read_compared("verdicts")
  table <- table[!table$agree %in% "yes", ]
  if (nrow(table) == 0) {
    return(knitr::asis_output("\nNo verdict differs.\n"))
  }
  md_table(data.frame(
    Paper = safe(table$paper), Claim = paste0("**", safe(table$claim), "** ", safe(table$statement)),
    A = verdict_shown(table, "a"), B = verdict_shown(table, "b"),
    `Estimate A` = side_text(table, "a"), `Estimate B` = side_text(table, "b"), Overlap = overlap_text(table),
    check.names = FALSE
  ), widths = c(12, 29, 14, 14, 13, 13, 5))
}

# Both estimates of each claim that runs judge, over what it claims; claims with another verdict come first.
sides_on_ruler <- function() {
  table <- read_compared("verdicts")
  table$expected <- as_value(table$expected)
  table <- table[which(table$expected > 0 & (!is.na(table$n_a) | !is.na(table$n_b))), ]
  levels <- c("another verdict", "same verdict")
  verdict <- factor(levels[1 + (table$agree %in% "yes")], levels)
  of <- function(side) {
    number <- function(name) table[[paste0(name, "_", side)]] / table$expected
    data.frame(paper = table$paper, claim = table$claim, verdict = verdict, side = rep(toupper(side), nrow(table)),
               ratio = number("estimate"), low = number("low"), high = number("high"))
  }
  found <- rbind(of("a"), of("b"))
  found[which(found$ratio > 0), ]
}

figure_sides <- function(title) {
  table <- sides_on_ruler()
  if (nrow(table) == 0) {
    return(figure_without_data("No claim that runs judge has a number above 0."))
  }
  table$row <- paste(table$paper, table$claim, sep = "\r")
  table$row <- factor(table$row, rev(unique(table$row)))
  drawn <- lapply(split(table, table$side), function(own) {
    apart <- position_nudge(y = if (own$side[[1]] == "A") 0.16 else -0.16)
    list(
      geom_linerange(aes(xmin = on_ruler(low), xmax = on_ruler(high)), own[!is.na(own$low) & !is.na(own$high), ],
                     position = apart, linewidth = 0.8, show.legend = FALSE),
      geom_point(data = own, size = 2.2, position = apart)
    )
  })
  ggplot(table, aes(on_ruler(ratio), row, colour = side, shape = side)) +
    geom_vline(xintercept = 1, colour = published_ink, linewidth = 0.5) +
    geom_blank() +
    drawn +
    facet_grid(verdict ~ ., scales = "free_y", space = "free_y") +
    scale_colour_manual(NULL, values = c(A = okabe_ito[["blue"]], B = okabe_ito[["vermillion"]])) +
    scale_shape_manual(NULL, values = c(A = 16, B = 17)) +
    ruler_axis() +
    scale_y_discrete(labels = function(x) sub("^.*\r", "", x)) +
    labs(title = title, y = NULL) +
    theme(strip.text.y = element_text(angle = 0))
}

# From the furthest apart to the nearest.
by_distance <- function(table) table[order(-ifelse(is.na(table$ratio), Inf, abs(log(table$ratio)))), ]

claim_differences <- function() {
  table <- read_compared("verdicts")
  table <- by_distance(table[table$differs == "yes", ])
  if (nrow(table) == 0) {
    return(knitr::asis_output("\nNo estimate of a claim is known to differ.\n"))
  }
  md_table(data.frame(
    Paper = safe(table$paper), Claim = paste0("**", safe(table$claim), "** ", safe(table$statement)),
    A = side_text(table, "a"), B = side_text(table, "b"), Ratio = ratio_text(table), Note = safe(table$note)
  ), widths = c(13, 31, 14, 14, 16, 12))
}

cell_differences <- function() {
  table <- read_compared("estimates")
  table <- by_distance(table[table$differs == "yes", ])
  if (nrow(table) == 0) {
    return(knitr::asis_output("\nNo cell is known to differ.\n"))
  }
  md_table(data.frame(
    Paper = safe(table$paper), Cell = paste(safe(table$experiment), safe(table$cell)),
    Metric = code(table$metric), A = side_text(table, "a"), B = side_text(table, "b"),
    Unit = ifelse(in_gigabytes(table), "GB", safe(table$unit)), Ratio = ratio_text(table)
  ), widths = c(12, 24, 17, 14, 14, 6, 13))
}

chance_note <- function() {
  bounded <- sum(read_compared("estimates")$differs %in% c("yes", "no"))
  if (bounded < 20) {
    return("")
  }
  sprintf("Where nothing differs one in twenty would still say so: of these %d some differ by chance.", bounded)
}

# Claims that runs decided in both.
compared_claims <- function() {
  table <- read_compared("verdicts")
  table <- table[!is.na(table$ratio) & !is.na(table$n_a) & !is.na(table$n_b), ]
  table$answer <- factor(table$differs, c("no", "yes", "cannot tell"), c("agree", "differ", "too few runs to tell"))
  table
}

figure_ratios <- function(title) {
  table <- compared_claims()
  if (nrow(table) == 0) {
    return(figure_without_data("No claim was decided by runs in both."))
  }
  table$claim <- factor(table$claim, rev(unique(table$claim)))
  colours <- c("agree" = okabe_ito[["blue"]], "differ" = okabe_ito[["vermillion"]], "too few runs to tell" = soft)
  ggplot(table, aes(ratio, claim, colour = answer, shape = answer)) +
    geom_vline(xintercept = 1, colour = soft, linewidth = 0.5) +
    geom_errorbarh(aes(xmin = ratio_low, xmax = ratio_high), height = 0.35, linewidth = 0.6, na.rm = TRUE) +
    geom_point(size = 2.4) +
    facet_grid(paper ~ ., scales = "free_y", space = "free_y") +
    scale_colour_manual(NULL, values = colours) +
    scale_shape_manual(NULL, values = c("agree" = 16, "differ" = 17, "too few runs to tell" = 1)) +
    scale_x_log10("estimate of B \u00f7 estimate of A", labels = function(x) trimmed(x),
                  expand = expansion(0.08)) +
    labs(title = title, y = NULL, subtitle = "bars: 95 % intervals; no bar: no interval in one of them") +
    theme(strip.text.y = element_text(angle = 0))
}

# A fact that differs in the same way for several papers is reported once.
environment_differences <- function() {
  table <- read_compared("environment")
  if (nrow(table) == 0) {
    return(table)
  }
  table <- table[!table$agree %in% "yes", ]
  papers <- unique(read_compared("environment")$paper)
  key <- paste(table$entry, table$a, table$b, sep = "\r")
  groups <- split(table, factor(key, unique(key)))
  rows <- lapply(groups, function(group) {
    of <- if (setequal(group$paper, papers)) "all" else listed(safe(group$paper))
    data.frame(Entry = group$entry[[1]], A = group$a[[1]], B = group$b[[1]], Papers = of)
  })
  if (length(rows) == 0) data.frame() else do.call(rbind, unname(rows))
}

environment_sentence <- function() {
  table <- read_compared("environment")
  if (nrow(table) == 0) {
    return("No environment was recorded in both.")
  }
  same <- sum(table$agree %in% "yes")
  sprintf("Of %s recorded, %d agree and %d do not. Facts that differ alike for several papers are listed once.",
          count_of(nrow(table), "fact"), same, nrow(table) - same)
}

environment_difference_table <- function() {
  table <- environment_differences()
  if (nrow(table) == 0) {
    return(knitr::asis_output("\nNo fact of the environment differs.\n"))
  }
  value <- function(x) ifelse(is.na(x), "\u2013", safe(shortened(x, 160)))
  md_table(data.frame(Entry = safe(table$Entry), A = value(table$A), B = value(table$B), Papers = table$Papers),
           widths = c(28, 28, 28, 16))
}
