# Numbers and tables as text.

plain <- function(x, digits = 3) {
  ifelse(is.na(x), "\u2013", with_minus(formatC(signif(x, digits), format = "fg", digits = digits, big.mark = ",")))
}

# Hyphens before numbers as minus signs, but not those of ranges and names.
with_minus <- function(text) gsub("(?<![0-9A-Za-z.])-(?=[0-9.])", "\u2212", text, perl = TRUE)

trimmed <- function(x, digits = 3) trimws(plain(as_value(x), digits))

# Digits that the numbers of each row need: `least`, or as many more as make those differ that do. Those that differ
# only beyond the seventh digit are written alike. src/whitewire/text.py has the same rule.
digits_needed <- function(..., least = 3) {
  numbers <- cbind(...)
  most <- 7
  different <- function(x, digits) length(unique(number_text(x, digits)))
  vapply(seq_len(nrow(numbers)), function(i) {
    x <- numbers[i, is.finite(numbers[i, ])]
    enough <- Filter(function(digits) different(x, digits) == different(x, most), seq(rep_len(least, i)[[i]], most))
    enough[[1]]
  }, numeric(1))
}

# Each number with so many digits and no exponent, thousands grouped; a whole number keeps its own.
number_text <- function(x, digits) {
  whole <- is.finite(x) & x == trunc(x) & abs(x) < 1e15
  words <- mapply(function(value, digits) plain(value, digits), x, digits, USE.NAMES = FALSE)
  trimws(ifelse(whole, with_minus(formatC(x, format = "f", digits = 0, big.mark = ",")), words))
}

# A number with its interval: "2.53 (2.49 to 2.58)".
with_interval <- function(value, low, high, digits = 3) {
  digits <- digits_needed(value, low, high, least = digits)
  ranged <- !is.na(low) & !is.na(high)
  text <- number_text(value, digits)
  interval <- paste0(" (", number_text(low, digits), " to ", number_text(high, digits), ")")
  ifelse(is.na(value), "\u2013", paste0(text, ifelse(ranged, interval, "")))
}

percent <- function(x, digits = 2) {
  ifelse(is.na(x), "\u2013", paste0(with_minus(formatC(100 * x, format = "f", digits = digits)), " %"))
}

# A difference that is already in percent; what rounds to nothing has no minus sign.
signed_percent <- function(x, digits = 2) {
  ifelse(is.na(x), "\u2013", with_minus(sprintf("%+.*f\u00a0%%", digits, round(x, digits) + 0)))
}

capital <- function(text) paste0(toupper(substring(text, 1, 1)), substring(text, 2))

count_of <- function(n, one, many = paste0(one, "s")) paste(n, if (n == 1) one else many)

# "a, b and c"; nothing where there is none.
listed <- function(items) paste(knitr::combine_words(as.character(items), oxford_comma = FALSE), collapse = "")

# Text from a table or a YAML file inside markdown: nothing in it may act as markup.
safe <- function(x) {
  x <- ifelse(is.na(x), "", gsub("[\r\n]+", " ", as.character(x)))
  gsub("([\\\\`*_{}\\[\\]#+!|<>~^$@&])", "\\\\\\1", x, perl = TRUE)
}

code <- function(x) ifelse(is.na(x) | x == "", "", paste0("`", gsub("[`|\r\n]+", " ", x), "`"))

# A pipe table; `widths` (shares of the line) keep its columns readable in HTML and PDF. Rows bound of none are NULL.
md_table <- function(table, widths = NULL, align = NULL) {
  if (NROW(table) == 0) {
    return(knitr::asis_output("\nNot measured at this effort.\n"))
  }
  if (is.null(widths)) widths <- rep(1, ncol(table))
  if (is.null(align)) align <- ifelse(vapply(table, is.numeric, logical(1)), "r", "l")
  dashes <- pmax(3, round(400 * widths / sum(widths)))
  rule <- mapply(function(n, side) {
    line <- strrep("-", n)
    if (side == "r") paste0(line, ":") else paste0(":", line)
  }, dashes, align)
  cells <- vapply(table, function(column) ifelse(is.na(column), "", as.character(column)),
    character(nrow(table)))
  cells <- matrix(cells, nrow = nrow(table))
  row <- function(x) paste0("| ", paste(x, collapse = " | "), " |")
  knitr::asis_output(paste0(
    "\n", paste(c(row(names(table)), row(rule), apply(cells, 1, row)), collapse = "\n"), "\n"
  ))
}

# A table whose text no spreadsheet takes for a formula: what begins like one, and is no number, gets an apostrophe.
as_cells <- function(table) {
  words <- vapply(table, function(column) is.character(column) || is.factor(column), logical(1))
  table[words] <- lapply(table[words], function(column) {
    text <- as.character(column)
    formula <- grepl("^[=+@\t\r-]", text, perl = TRUE) & is.na(as_value(text))
    ifelse(formula, paste0("'", text), text)
  })
  table
}

# Each text in lines of at most so many characters.
in_lines <- function(texts, width) {
  vapply(strwrap(texts, width, simplify = FALSE), paste, character(1), collapse = "\n")
}

# The data of a figure, as a file beside the report and as a link that carries the same bytes.
data_link <- function(name, table, of = "figure") {
  if (is.null(table) || nrow(table) == 0) {
    return("")
  }
  file <- paste0(name, ".csv")
  keep <- vapply(table, function(column) is.atomic(column) && !all(is.na(column)), logical(1))
  folder <- file.path(reports_dir(), "data", paper_id())
  dir.create(folder, recursive = TRUE, showWarnings = FALSE)
  path <- file.path(folder, file)
  readr::write_csv(as_cells(table[keep]), path, na = "")
  bytes <- readBin(path, "raw", file.size(path))
  uri <- paste0("data:text/csv;base64,", gsub("\\s", "", jsonlite::base64_enc(bytes)))
  sprintf("[Data of this %s (CSV, %s)](%s){.data-link download=\"%s-%s\" data-file=\"data/%s/%s\"}",
          of, count_of(nrow(table), "row"), uri, paper_id(), file, paper_id(), file)
}
