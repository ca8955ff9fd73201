# Several sites pooled: the tables of results/compare/<names>/.

pooled_record <- function() remember("pooled", read_json(file.path(results_dir(), "pooled.json")))

# One row per claim and kind of runs (`pooled`), or per claim and site (`sites`).
read_pooled <- function(name) {
  remember(paste0("pooled:", name), {
    found <- c("estimate", "low", "high", "expected", "expected_low", "expected_high")
    columns <- c("paper", "claim", "statement", "route", "unit", "relation")
    own <- list(pooled = c("sites", "prediction_low", "prediction_high", "tau2", "i2", "p_value"),
                sites = c("error", "n", "weight"))
    words <- list(pooled = c("note", "says"), sites = c("site", "label", "verdict", "control_failed"))
    read_sides(file.path(results_dir(), paste0(name, ".csv")), c(columns, words[[name]]), c(found, own[[name]]))
  })
}

# Claims over whose sites there is a mean.
claims_with_mean <- function() {
  table <- read_pooled("pooled")
  table[!is.na(table$estimate), ]
}

pooled_sentence <- function() {
  table <- read_pooled("pooled")
  if (nrow(table) == 0) {
    return("No claim is judged by runs at any of them.")
  }
  counts <- vapply(split(table, factor(table$route, unique(table$route))), function(own) {
    sprintf("%d of %s of %s sites", sum(!is.na(own$estimate)), count_of(nrow(own), "claim"), own$route[[1]])
  }, character(1))
  sprintf("%s together. Pooled: %s.", count_of(length(pooled_record()$sites), "site"), listed(counts))
}

sites_table <- function() {
  sites <- pooled_record()$sites
  field <- function(name) {
    vapply(sites, function(site) paste(safe(unlist(site[[name]])), collapse = ", "), character(1))
  }
  md_table(data.frame(
    Site = field("name"), Label = field("label"), Runs = field("kinds"), Papers = field("papers"),
    Effort = field("efforts"), Note = field("note")
  ), widths = c(18, 13, 12, 27, 9, 21))
}

pooled_claims_table <- function() {
  table <- claims_with_mean()
  if (nrow(table) == 0) {
    return(knitr::asis_output("\nNo claim is pooled.\n"))
  }
  md_table(data.frame(
    Paper = safe(table$paper), Claim = paste0("**", safe(table$claim), "** ", safe(table$statement)),
    Found = safe(table$says)
  ), widths = c(14, 32, 54))
}

# Claims that are not pooled for one reason share a row.
unpooled_table <- function() {
  table <- read_pooled("pooled")
  table <- table[is.na(table$estimate), ]
  if (nrow(table) == 0) {
    return(knitr::asis_output("\nAll claims are pooled.\n"))
  }
  key <- paste(table$paper, table$route, table$note, sep = "\r")
  rows <- lapply(split(table, factor(key, unique(key))), function(own) {
    data.frame(Paper = safe(own$paper[[1]]), Runs = own$route[[1]], Claims = safe(paste(own$claim, collapse = ", ")),
               Why = safe(own$note[[1]]))
  })
  md_table(do.call(rbind, unname(rows)), widths = c(18, 12, 40, 30))
}

# --- forest plots --------------------------------------------------------------------------------------

most_rows <- 45 # of one figure: on paper it has to fit on a page

# No site's name begins so.
mean_row <- "/mean of sites"
further_row <- "/one more site"

label_colours <- c(maintainer = okabe_ito[["blue"]], community = okabe_ito[["green"]],
                   vendor = okabe_ito[["vermillion"]], "not said" = soft, pooled = published_ink)

# What is 1 on the axis: the claimed value, of a trend the least that it asks for.
claimed_value <- function(table) {
  value <- ifelse(is.na(table$expected), table$expected_low, table$expected)
  ifelse(value > 0, value, NA)
}

# Panels of one claim, several if a figure cannot have all its sites.
forest_panels <- function(claim, sites) {
  own <- sites[sites$paper == claim$paper & sites$claim == claim$claim & sites$route == claim$route &
                 !is.na(sites$weight), ]
  lapply(split(own, (seq_len(nrow(own)) - 1) %/% (most_rows - 2)), forest_panel, claim)
}

# Rows of a panel: sites that are pooled, the mean, and one more site.
forest_panel <- function(own, claim) {
  over <- claimed_value(claim)
  data.frame(
    paper = claim$paper, claim = claim$claim, route = claim$route, row = c(own$site, mean_row, further_row),
    label = c(own$label, "pooled", "pooled"), estimate = c(own$estimate, claim$estimate, NA) / over,
    low = c(own$low, claim$low, claim$prediction_low) / over,
    high = c(own$high, claim$high, claim$prediction_high) / over,
    asked_low = claim$expected_low / over, asked_high = claim$expected_high / over
  )
}

# The figures: a table of rows each, with as many claims of one paper as fit.
forests <- function() {
  remember("forests", {
    table <- claims_with_mean()
    table <- table[!is.na(claimed_value(table)), ]
    panels <- lapply(split(table, seq_len(nrow(table))), forest_panels, read_pooled("sites"))
    panels <- unlist(unname(panels), recursive = FALSE)
    by_paper <- split(panels, vapply(panels, function(panel) panel$paper[[1]], character(1)))
    unlist(lapply(unname(by_paper), function(own) {
      page <- pages_of(vapply(own, nrow, integer(1)))
      lapply(unname(split(own, page)), function(panels) do.call(rbind, unname(panels)))
    }), recursive = FALSE)
  })
}

# The page of each panel, by their rows, in order and with no more on a page than fit.
pages_of <- function(rows) {
  page <- rep(1, length(rows))
  used <- 0
  for (n in seq_along(rows)) {
    used <- used + rows[[n]]
    if (used > most_rows) {
      used <- rows[[n]]
      page[n:length(rows)] <- page[[n]] + 1
    }
  }
  page
}

# The pieces of the document that draw them.
forest_pieces <- function() {
  if (length(forests()) == 0) {
    return(if (nrow(claims_with_mean()) == 0) "No claim is pooled." else "No pooled claim has a common claimed value.")
  }
  unlist(lapply(seq_along(forests()), function(n) {
    c("```{r}", sprintf("#| label: fig-forest-%d", n), sprintf("#| fig-cap: !expr forest_caption(%d)", n),
      paste("#| fig-alt: Points with intervals, one per site, their mean and a dashed line for one more site, a panel",
            "per claim, on a logarithmic axis with a line at one."),
      sprintf("#| fig-height: !expr forest_height(%d)", n), sprintf("figure_forest(%d)", n), "```", "")
  }))
}

forest_caption <- function(n) {
  table <- forests()[[n]]
  sprintf("Claims of %s: estimates of the sites with 95 %% intervals, their mean, and the interval for one more site.",
          safe(table$paper[[1]]))
}

forest_height <- function(n) {
  table <- forests()[[n]]
  1.5 + 0.17 * nrow(table) + 0.14 * nrow(unique(table[c("claim", "route")]))
}

figure_forest <- function(n) {
  table <- forests()[[n]]
  several <- length(unique(table$route)) > 1
  table$panel <- paste0(table$claim, if (several) paste0("\n", table$route))
  table$panel <- factor(table$panel, unique(table$panel))
  last <- c(further_row, mean_row)
  table$row <- factor(table$row, c(last, rev(setdiff(table$row, last))))
  asked <- unique(table[c("panel", "asked_low", "asked_high")])
  asked$asked_low <- on_ruler(ifelse(is.na(asked$asked_low), ruler_ends[[1]], asked$asked_low))
  asked$asked_high <- on_ruler(ifelse(is.na(asked$asked_high), ruler_ends[[2]], asked$asked_high))
  drawn <- intersect(names(label_colours), setdiff(table$label, "pooled"))
  ggplot(table, aes(on_ruler(estimate), row, colour = label)) +
    geom_blank() +
    geom_rect(aes(xmin = asked_low, xmax = asked_high, ymin = -Inf, ymax = Inf), asked, fill = "#d5dbe1",
              inherit.aes = FALSE) +
    geom_vline(xintercept = 1, colour = published_ink, linewidth = 0.5) +
    geom_linerange(aes(x = NULL, xmin = on_ruler(low), xmax = on_ruler(high), linetype = row == further_row),
                   linewidth = 0.8, show.legend = FALSE) +
    geom_point(aes(shape = row == mean_row), size = 2.2, na.rm = TRUE) +
    facet_grid(panel ~ ., scales = "free_y", space = "free_y") +
    scale_colour_manual(NULL, values = label_colours, breaks = drawn,
                        guide = guide_legend(override.aes = list(shape = 16))) +
    scale_shape_manual(values = c(`FALSE` = 16, `TRUE` = 18), guide = "none") +
    scale_linetype_manual(values = c(`FALSE` = "solid", `TRUE` = "22"), guide = "none") +
    ruler_axis() +
    scale_y_discrete(labels = function(row) sub("^/", "", row)) +
    labs(title = table$paper[[1]], y = NULL) +
    theme(strip.text.y = element_text(angle = 0), text = element_text(size = 10))
}
