# The functions of a document: those of the families `data` (reads and picks), `text` (words and tables) and `figures`,
# and those in `papers/<document>`, which serve that document alone.

# The document that is knit: a paper's is named like the paper. While its parts are knit, knitr names those.
document <- paste(sub("[.].*$", "", basename(as.character(knitr::current_input()))), collapse = "")

# The theme comes first: other files use its palette while they are read.
load_functions <- function(of = document, folder = "R", into = globalenv()) {
  folders <- file.path(folder, c("data", "text", "figures", file.path("papers", of)))
  files <- list.files(folders, pattern = "[.]R$", full.names = TRUE)
  # With their text, which a report shows of each figure.
  for (file in union(file.path(folder, "figures", "theme.R"), files)) sys.source(file, into, keep.source = TRUE)
}
