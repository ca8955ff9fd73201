# Other panels for a finished figure; a figure that only says that nothing was measured has none and stays as it is.

in_panels <- function(plot, ...) {
  if ("panel" %in% names(plot$data)) plot + facet_wrap(~panel, ...) else plot
}
