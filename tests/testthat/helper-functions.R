# The functions of documents, as a document loads them: those of the families, and of one document.
root <- normalizePath(file.path("..", ".."))
source(file.path(root, "paper", "R", "load.R"), local = TRUE)

functions_of <- function(document = "", into = parent.frame()) {
  load_functions(document, file.path(root, "paper", "R"), into)
}
