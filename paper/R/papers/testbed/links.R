# The page of a testbed: its links pair by pair, what is beyond its bound, its hosts, and the papers that it is fit for.

way_numbers <- c("streams", "goodput", "expected", "error", "retransmit_share", "rtt_at_rest", "rtt", "beside_error")

# One row a pair and direction.
read_ways <- function() {
  ways <- read_stage("", "ways.csv", c("fabric", "source", "destination", way_numbers, "beyond", "alone", "why"),
                     numbers = way_numbers, flags = c("beyond", "alone"))
  ways$share <- ways$goodput / ways$expected
  ways$fabric <- as.character(ways$fabric)
  ways
}

read_fabrics <- function() {
  numbers <- c("rate", "full_scale_rate", "at_once", "seconds")
  read_stage("", "fabrics.csv", c("fabric", numbers, "shared", "depth", "streams"), numbers = numbers, flags = "shared")
}

read_outliers <- function() {
  columns <- c("kind", "subject", "fabric", "hosts", "value", "expected", "unit", "cause", "stops", "part_of", "said")
  read_stage("", "outliers.csv", columns, numbers = c("value", "expected"), flags = "stops")
}

read_testbed_hosts <- function() {
  read_stage("", "hosts.csv", c("host", "role", "target", "processor", "processors", "memory_gib", "kernel", "system",
                                "clock_ms", "congestion_control"))
}

read_host_links <- function() {
  read_stage("", "links.csv", c("fabric", "host", "interface", "address", "rate", "rate_in", "mtu", "queue",
                                "offloads", "driver", "version", "firmware"))
}

links_record <- function() {
  path <- file.path(results_dir(), "links", "links.json")
  remember(path, read_json(path))
}

# What stands for itself: of a slow host's pairs only the host.
main_outliers <- function() {
  table <- read_outliers()
  table[is.na(table$part_of) | table$part_of == "", ]
}

# --- words ---------------------------------------------------------------------------------------------

testbed_sentence <- function() {
  hosts <- read_testbed_hosts()
  ways <- read_ways()
  found <- main_outliers()
  plan <- links_record()$plan
  said <- sprintf("%s, %s on %s%s.", count_of(nrow(hosts), "host"),
                  count_of(nrow(ways), "direction of a pair", "directions of pairs"),
                  count_of(length(unique(ways$fabric)), "network"),
                  if (isTRUE(plan$emulated)) sprintf(", emulated at 1/%s of their rates", trimmed(plan$k)) else "")
  stops <- sum(found$stops)
  verdict <- if (nrow(found) == 0) {
    "Nothing is beyond its bound."
  } else {
    sprintf("**%s%s.**", count_of(nrow(found), "thing is beyond its bound or unlike the others",
                                  "things are beyond their bounds or unlike the others"),
            if (stops > 0) paste0("; ", stops, " of them so that papers do not start") else "")
  }
  paste(said, verdict)
}

outliers_list <- function() {
  found <- main_outliers()
  if (nrow(found) == 0) {
    return(invisible())
  }
  found <- found[order(!found$stops), ]
  shown <- utils::head(found, 20)
  lines <- paste0("- ", ifelse(shown$stops, "**stops papers:** ", ""), safe(shown$said))
  more <- nrow(found) - nrow(shown)
  if (more > 0) lines <- c(lines, sprintf("- and %s more (@tbl-outliers)", more))
  cat("\n", paste(lines, collapse = "\n"), "\n", sep = "")
}

outlier_table <- function() {
  found <- read_outliers()
  if (nrow(found) == 0) {
    return(knitr::asis_output("\nNothing is beyond its bound.\n"))
  }
  amount <- function(x, unit) ifelse(is.na(x), "\u2013", paste(trimmed(x), safe(unit)))
  md_table(data.frame(
    What = safe(found$subject), Kind = safe(found$kind), Network = fabric_or_none(found$fabric),
    Found = amount(found$value, found$unit), Expected = amount(found$expected, found$unit),
    `Likely cause` = safe(found$cause),
    `Stops papers` = ifelse(found$stops, "yes", "no"), `Part of` = safe(found$part_of),
    check.names = FALSE
  ), widths = c(19, 8, 9, 11, 11, 26, 7, 9))
}

network <- function(x) safe(fabric_name(x))

fabric_or_none <- function(x) ifelse(is.na(x) | x == "", "\u2013", network(x))

depth_words <- c(ring = "each host with the next one", one = "every pair; further streams each host with the next one",
                 all = "every pair")

fabric_table <- function() {
  fabrics <- read_fabrics()
  ways <- read_ways()
  rows <- lapply(seq_len(nrow(fabrics)), function(i) {
    of <- fabrics[i, ]
    own <- ways[ways$fabric == of$fabric & !is.na(ways$share), ]
    depth <- unname(depth_words[as.character(of$depth)])
    data.frame(
      Network = network(of$fabric), Rate = paste(trimmed(of$rate), "Mbit/s"),
      Pairs = paste0(ifelse(is.na(depth), safe(of$depth), depth), "; streams: ", safe(of$streams)),
      `At one time` = trimmed(of$at_once), `A test` = paste(trimmed(of$seconds), "s"),
      Median = if (nrow(own) == 0) "\u2013" else percent(stats::median(own$share), 1),
      Least = if (nrow(own) == 0) "\u2013" else percent(min(own$share), 1),
      Beyond = sprintf("%d of %d", sum(ways$beyond[ways$fabric == of$fabric]), sum(ways$fabric == of$fabric)),
      check.names = FALSE
    )
  })
  md_table(do.call(rbind, rows), widths = c(13, 12, 25, 9, 9, 10, 10, 12))
}

round_trip_table <- function() {
  ways <- read_ways()
  rows <- lapply(unique(ways$fabric), function(fabric) {
    of <- ways[ways$fabric == fabric, ]
    rest <- of$rtt_at_rest[!is.na(of$rtt_at_rest)]
    loaded <- of$rtt[!is.na(of$rtt)]
    middle <- function(x) if (length(x) == 0) "\u2013" else trimmed(stats::median(x))
    data.frame(
      Network = network(fabric), `At rest, median` = middle(rest), `At rest, range` = span(rest),
      `Loaded, median` = middle(loaded), `Loaded, range` = span(loaded),
      `Sent again` = percent(max(c(of$retransmit_share, 0), na.rm = TRUE), 2),
      check.names = FALSE
    )
  })
  md_table(do.call(rbind, rows), widths = c(16, 16, 19, 16, 19, 14))
}

testbed_host_table <- function() {
  hosts <- read_testbed_hosts()
  text <- function(x) safe(ifelse(is.na(x), "", as.character(x)))
  shown <- data.frame(
    Host = text(hosts$host), Role = text(hosts$role), Target = text(hosts$target), Processor = text(hosts$processor),
    CPUs = text(hosts$processors), GiB = text(hosts$memory_gib), Kernel = text(hosts$kernel),
    `Clock, ms` = ifelse(is.na(hosts$clock_ms), "\u2013", with_minus(text(hosts$clock_ms))), check.names = FALSE
  )
  widths <- c(12, 10, 12, 26, 6, 6, 18, 10)
  if (all(is.na(hosts$lane))) {
    return(md_table(shown, widths = widths))
  }
  md_table(cbind(shown, Lane = text(hosts$lane)), widths = c(widths, 6))
}

# Hosts whose link is set alike on a network share a row.
host_link_table <- function() {
  links <- read_host_links()
  text <- function(x) ifelse(is.na(x), "", as.character(x))
  firmware <- trimws(paste(text(links$driver), text(links$version), text(links$firmware)))
  kinds <- data.frame(
    Network = fabric_name(links$fabric), Interface = text(links$interface),
    Rate = ifelse(is.na(links$rate), "\u2013", paste(trimmed(links$rate), "Mbit/s")), MTU = text(links$mtu),
    Queue = ifelse(is.na(links$queue), "\u2013", size_name(links$queue)), Offloads = text(links$offloads),
    Driver = ifelse(firmware == "", "\u2013", firmware)
  )
  key <- do.call(paste, c(kinds, sep = "\r"))
  rows <- lapply(split(seq_along(key), factor(key, unique(key))), function(at) {
    hosts <- as.character(links$host[at])
    named <- if (length(hosts) > 4) count_of(length(hosts), "host") else paste(hosts, collapse = ", ")
    cbind(data.frame(Hosts = named), kinds[at[[1]], ])
  })
  table <- do.call(rbind, unname(rows))
  table[] <- lapply(table, safe)
  md_table(table, widths = c(18, 12, 10, 13, 7, 10, 10, 20))
}

fit_table <- function() {
  fit <- read_stage("", "fit.csv", c("paper", "fit", "reason"))
  md_table(data.frame(
    Paper = code(fit$paper), Fit = safe(fit$fit), Why = safe(fit$reason)
  ), widths = c(20, 8, 72))
}

left_out_list <- function() {
  left <- read_stage("", "left_out.csv", "reason")$reason
  left <- left[!is.na(left)]
  if (length(left) == 0) {
    return(knitr::asis_output("\nNothing was left out.\n"))
  }
  knitr::asis_output(paste0("\nLeft out:\n\n", paste0("- ", safe(left), collapse = "\n"), "\n"))
}

methods_sentence <- function() {
  record <- links_record()
  plan <- record$plan
  if (is.null(plan)) {
    return("")
  }
  shape <- if (identical(plan$shape, "") || is.null(plan$shape)) {
    ""
  } else {
    sprintf(paste(" Hosts and k are those of %s, which asks for most hosts of the papers of `config.yaml`; at",
                  "another k the rates are others, and each block of a paper checks its own."), code(plan$shape))
  }
  begun <- format(as.POSIXct(record$begun, origin = "1970-01-01", tz = "UTC"), "%Y-%m-%d %H:%M UTC")
  sprintf("Measured on %s in %s at effort %s.%s", begun, duration_words(record$seconds), safe(plan$effort), shape)
}

duration_words <- function(seconds) {
  if (seconds < 120) sprintf("%.0f seconds", seconds) else sprintf("%.1f minutes", seconds / 60)
}

# --- figures -------------------------------------------------------------------------------------------

host_order <- function(ways) {
  hosts <- unique(c(as.character(read_testbed_hosts()$host), ways$source, ways$destination))
  hosts[hosts %in% c(ways$source, ways$destination)]
}

# From whom, to whom: what share of its rate each pair has.
figure_heat_map <- function(title) {
  ways <- read_ways()
  if (nrow(ways) == 0) {
    return(figure_without_data("No pair of hosts was measured."))
  }
  hosts <- host_order(ways)
  ways$source <- factor(ways$source, hosts)
  ways$destination <- factor(ways$destination, rev(hosts))
  ways$fabric <- factor(ways$fabric, unique(ways$fabric))
  ways$shown <- pmin(pmax(ways$share, 0), 1.1)
  ways$label <- ifelse(ways$why %in% c(NA, ""), round(100 * ways$share), "\u2013")
  wrong <- ways[ways$beyond, ]
  # Where all is well the scale would be one colour: it begins no higher than at nine tenths.
  least <- min(0.9, ways$shown, na.rm = TRUE)
  plot <- ggplot(ways, aes(source, destination)) +
    geom_tile(aes(fill = shown), colour = "white", linewidth = 0.6) +
    geom_tile(data = wrong, fill = NA, colour = published_ink, linewidth = 0.7, width = 0.92, height = 0.92) +
    facet_wrap(~fabric, ncol = heat_columns(), labeller = as_labeller(fabric_name)) +
    scale_fill_gradientn("share of what the link should carry",
                         colours = c(okabe_ito[["vermillion"]], "#f6d9a8", "#bfe3d4", okabe_ito[["green"]]),
                         values = c(0, 0.6, 0.85, 1), limits = c(least, max(1.001, ways$shown, na.rm = TRUE)),
                         na.value = "white",
                         labels = function(x) percent(x, 0),
                         guide = guide_colourbar(barwidth = unit(150, "pt"), barheight = unit(7, "pt"))) +
    scale_x_discrete("from", drop = FALSE) +
    scale_y_discrete("to", drop = FALSE) +
    labs(title = title, subtitle = "framed: beyond the bound; white: no result") +
    theme(panel.grid = element_blank(), axis.text.x = element_text(angle = 60, hjust = 1))
  if (length(hosts) <= 16) plot <- plot + geom_text(aes(label = label), size = if (length(hosts) > 9) 1.9 else 2.8)
  plot
}

heat_columns <- function() if (length(unique(read_ways()$fabric)) > 1) 2 else 1

heat_height <- function() {
  ways <- read_ways()
  rows <- ceiling(max(1, length(unique(ways$fabric))) / heat_columns())
  1.6 + rows * min(5.2, 1.2 + 0.24 * length(host_order(ways)) * (3 - heat_columns()))
}

# Each direction of a pair: there and back at rest, and while the link is loaded.
figure_round_trip <- function(title) {
  ways <- read_ways()
  both <- data.frame(
    fabric = rep(ways$fabric, 2), when = rep(c("at rest", "loaded"), each = nrow(ways)),
    rtt = c(ways$rtt_at_rest, ways$rtt)
  )
  both <- both[!is.na(both$rtt) & both$rtt > 0, ]
  if (nrow(both) == 0) {
    return(figure_without_data("No round trip was reported."))
  }
  fabrics <- rev(unique(fabric_name(ways$fabric)))
  both$row <- match(fabric_name(both$fabric), fabrics) + ifelse(both$when == "loaded", -0.18, 0.18)
  ggplot(both, aes(rtt, row, colour = when)) +
    geom_point(position = position_jitter(width = 0, height = 0.1, seed = 1), size = 1.6, alpha = 0.6) +
    scale_colour_manual(NULL, values = c("at rest" = okabe_ito[["blue"]], "loaded" = okabe_ito[["vermillion"]])) +
    scale_x_log10("there and back, \u00b5s", labels = function(x) trimmed(x)) +
    scale_y_continuous(NULL, breaks = seq_along(fabrics), labels = fabrics, limits = c(0.5, length(fabrics) + 0.5)) +
    labs(title = title, subtitle = "one point a direction of a pair")
}

testbed_scale <- function() {
  plan <- links_record()$plan
  if (isTRUE(plan$emulated)) sprintf("emulated, 1/%s scale", trimmed(plan$k)) else "full scale"
}

has_models <- function() nrow(read_drive_probes()) > 0
