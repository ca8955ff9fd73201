-- What the reports need beyond plain markdown, for HTML and for typst, with Quarto and without:
-- verdict badges, coloured boxes, and links to a figure's data. A figure without a file ends the conversion.

local colours = {
  ["reproduced"] = "#00785a",
  ["consistent"] = "#00785a",
  ["direction-only"] = "#1f78b4",
  ["not-reproduced"] = "#b84700",
  ["inconsistent"] = "#b84700",
  ["inconclusive"] = "#8a6100",
  ["not-testable-here"] = "#5f6770",
  ["not-judged"] = "#5f6770",
  ["held"] = "#00785a",
  ["failed"] = "#b84700",
  ["open"] = "#5f6770",
}

local typst = FORMAT:match("typst")

function Span(span)
  if typst and span.classes:includes("nobreak") then
    return { pandoc.RawInline("typst", "#box["), pandoc.Str(pandoc.utils.stringify(span)), pandoc.RawInline("typst", "]") }
  end
  if not typst or not span.classes:includes("badge") then return nil end
  local colour = colours[span.classes[2]] or "#5f6770"
  local open = string.format(
    '#box(fill: rgb("%s"), inset: (x: 3pt), outset: (y: 2.2pt), radius: 2pt)[#text(fill: white, weight: "bold")[',
    colour
  )
  return { pandoc.RawInline("typst", open), pandoc.Str(pandoc.utils.stringify(span)), pandoc.RawInline("typst", "]]") }
end

function Link(link)
  if not link.classes:includes("data-link") then return nil end
  if typst then
    local name = link.attributes["data-file"] or ""
    return { pandoc.Str("data: "), pandoc.Code(name) }
  end
  return nil
end

function Div(div)
  if not typst then return nil end
  if div.classes:includes("html-only") then return {} end
  if div.classes:includes("summary") or div.classes:includes("notice") then
    local blocks = pandoc.Blocks({})
    blocks:insert(pandoc.RawBlock("typst",
      '#block(fill: rgb("#eef4fa"), stroke: (left: 2.5pt + rgb("#0072b2")), inset: 10pt, width: 100%, radius: 2pt)['))
    blocks:extend(div.content)
    blocks:insert(pandoc.RawBlock("typst", "]"))
    return blocks
  end
  return nil
end

-- A wide table scrolls by itself, so that the page does not.
function Table(tbl)
  if typst then return nil end
  return pandoc.Div({ tbl }, { class = "table-scroll" }), false
end

local function file_exists(path)
  if path:match("^%a+:") then return true end
  for _, folder in ipairs(PANDOC_STATE.resource_path) do
    local file = io.open(pandoc.path.join({ folder, path }), "rb")
    if file then file:close() return true end
  end
  local file = io.open(path, "rb")
  if file then file:close() end
  return file ~= nil
end

function Image(image)
  if file_exists(image.src) then return nil end
  io.stderr:write("crossref: missing image " .. image.src .. "\n")
  os.exit(65)
end
