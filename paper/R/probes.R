# Raw links and drives, measured before the runs.

read_link_probes <- function() {
  probes <- read_probes()
  probes[probes$probe %in% "iperf3", ]
}

read_drive_probes <- function() {
  probes <- read_probes()
  probes[probes$probe %in% "fio" & probes$metric %in% "bandwidth", ]
}

# A probe too far from its link's rate is made again after a pause; a block starts only when one is near enough.
made_again <- function(probes) !is.na(probes$error) & !probes$ok

figure_link_error <- function(title, limit = 0.01) {
  probes <- read_link_probes()
  goodput <- probes[probes$metric %in% "goodput" & !is.na(probes$error), ]
  if (nrow(goodput) == 0) {
    return(figure_without_data())
  }
  # A line a kind of sender, a point a pair: all pairs by name are in the figure's data.
  goodput$from <- ifelse(grepl("^datanode", goodput$source), "from\nDataNodes", "from\nclients")
  goodput$streams <- ifelse(is.na(goodput$streams), "1", as.character(goodput$streams))
  goodput$streams <- ifelse(made_again(goodput), "beyond the limit, made again", goodput$streams)
  goodput$fabric <- factor(goodput$fabric, unique(goodput$fabric[order(fabric_rate(goodput$fabric))]))
  ggplot(goodput, aes(error, from, colour = fabric, shape = streams)) +
    annotate("rect", xmin = -limit, xmax = limit, ymin = -Inf, ymax = Inf, fill = okabe_ito[["green"]],
      alpha = 0.1) +
    geom_vline(xintercept = 0, colour = soft, linewidth = 0.4) +
    geom_point(size = 1.8, alpha = 0.7, position = position_jitter(width = 0, height = 0.3, seed = 1)) +
    facet_wrap(~fabric, labeller = as_labeller(function(x) scales::label_wrap(16)(fabric_name(x)))) +
    scale_colour_manual(values = fabric_palette(levels(goodput$fabric)), guide = "none") +
    scale_shape_manual("TCP streams", values = c("1" = 16, "4" = 17, "2" = 15, "8" = 18,
                                                 "beyond the limit, made again" = 4)) +
    scale_x_continuous("goodput against what the link's rate lets pass", labels = function(x) percent(x, 1),
                       n.breaks = 3,
                       expand = expansion(0.09)) +
    labs(title = title, y = NULL, subtitle = paste0(
      scale_note(absolute = FALSE), "; band: the limit of ", percent(limit, 0), " either way"
    )) +
    theme(panel.spacing.x = unit(18, "pt"))
}

fabric_palette <- function(fabrics) {
  colours <- c(fabric_colours, "0.5GbE" = okabe_ito[["orange"]], "2GbE" = okabe_ito[["green"]],
               "5GbE" = okabe_ito[["sky"]], "20GbE" = okabe_ito[["purple"]], "40GbE" = okabe_ito[["green"]],
               "100GbE" = "#8c510a", "400GbE" = ink, "1gbe-shared" = okabe_ito[["orange"]],
               "10g-ipoib" = okabe_ito[["sky"]], "32g-qdr" = okabe_ito[["purple"]])
  found <- colours[fabrics]
  found[is.na(found)] <- soft
  stats::setNames(found, fabrics)
}

span <- function(x, words = trimmed) if (length(x) == 0) "\u2013" else paste(words(min(x)), "to", words(max(x)))

link_table <- function() {
  probes <- read_link_probes()
  if (nrow(probes) == 0) {
    return(data.frame())
  }
  probes$streams <- ifelse(is.na(probes$streams), 1, as_value(probes$streams))
  groups <- unique(probes[c("fabric", "streams")])
  groups <- groups[order(fabric_rate(groups$fabric), groups$streams), ]
  rows <- lapply(seq_len(nrow(groups)), function(i) {
    of <- probes[probes$fabric == groups$fabric[[i]] & probes$streams == groups$streams[[i]], ]
    goodput <- of[of$metric == "goodput", ]
    again <- sum(made_again(goodput))
    goodput <- goodput[!made_again(goodput), ]
    retransmits <- of$value[of$metric == "retransmits" & !is.na(of$value)]
    rtt <- of$value[of$metric == "rtt" & !is.na(of$value)]
    data.frame(
      Network = fabric_name(groups$fabric[[i]]), Streams = trimmed(groups$streams[[i]]),
      Probes = paste0(nrow(goodput), if (again > 0) paste0(", ", again, " made again")),
      Goodput = paste(trimmed(stats::median(goodput$value)), "Mbit/s"),
      Expected = paste(trimmed(stats::median(goodput$expected)), "Mbit/s"),
      Error = span(goodput$error[!is.na(goodput$error)], percent),
      Retransmits = if (length(retransmits) == 0) "\u2013" else paste0(trimmed(sum(retransmits)), " in all"),
      RTT = paste(span(rtt), "\u00b5s")
    )
  })
  do.call(rbind, rows)
}

figure_drives <- function(title, limit = 0.05) {
  drives <- read_drive_probes()
  drives$what <- paste0(drives$operation, ", ", drives$mode)
  expected <- unique(drives[!is.na(drives$expected), c("what", "expected")])
  plot <- ggplot(drives, aes(what, value))
  if (nrow(expected) > 0) {
    plot <- plot + geom_errorbar(
      data = expected, aes(y = NULL, ymin = expected * (1 - limit), ymax = expected * (1 + limit),
                           colour = "drive model, \u00b1 5 %"), width = 0.5, linewidth = 0.8
    )
  }
  plot +
    geom_point(aes(colour = "measured by fio"), position = jitter_points(0.12), size = 2.6, alpha = 0.85) +
    scale_colour_manual(NULL, values = c("drive model, \u00b1 5 %" = okabe_ito[["green"]],
                                         "measured by fio" = okabe_ito[["blue"]])) +
    scale_y_continuous("MB/s as measured", limits = c(0, NA), expand = expansion(c(0, 0.1))) +
    labs(title = title, subtitle = scale_note(absolute = FALSE), x = NULL)
}

# A line an operation, a mode and a modelled rate; all probes by host and block are in the figure's data.
drive_table <- function() {
  drives <- read_drive_probes()
  keys <- c("operation", "mode", "expected", "unit")
  groups <- unique(drives[do.call(order, drives[keys]), keys])
  rows <- lapply(seq_len(nrow(groups)), function(i) {
    of <- merge(drives, groups[i, ])
    data.frame(
      Operation = groups$operation[[i]], Mode = groups$mode[[i]], Probes = as.character(nrow(of)),
      Measured = paste(trimmed(stats::median(of$value)), groups$unit[[i]]),
      Expected = paste(trimmed(groups$expected[[i]]), groups$unit[[i]]),
      Error = span(of$error[!is.na(of$error)], percent)
    )
  })
  do.call(rbind, rows)
}
