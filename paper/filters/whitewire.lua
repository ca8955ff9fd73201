-- What the reports need beyond plain markdown, for HTML, for typst and for plain Markdown, with Quarto and without:
-- verdict badges, coloured boxes, and links to a figure's data. A figure without a file ends the conversion.

local colours = {
  ["reproduced"] = "#00785a",
  ["consistent"] = "#54489b",
  ["direction-only"] = "#1f78b4",
  ["not-reproduced"] = "#b84700",
  ["inconsistent"] = "#a8327e",
  ["inconclusive"] = "#8a6100",
  ["not-testable-here"] = "#5f6770",
  ["not-judged"] = "#5f6770",
  ["held"] = "#00785a",
  ["failed"] = "#b84700",
  ["open"] = "#5f6770",
}

local typst = FORMAT:match("typst")
local brief = typst and os.getenv("WHITEWIRE_BRIEF") -- the short PDF of a report
local plain = FORMAT:match("gfm") -- Markdown as it is read in a repository: no attributes, no HTML

local function escaped(text)
  return (text:gsub("[&<>\"]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }))
end

-- Part of a cell, folded away on a page.
local function folded(span, class, summary)
  local open = string.format('<details class="fold %s"><summary>%s</summary>', class, summary)
  local inlines = pandoc.Inlines({ pandoc.RawInline("html", open) })
  inlines:extend(span.content)
  inlines:insert(pandoc.RawInline("html", "</details>"))
  return inlines
end

function Span(span)
  -- Why a claim is judged so is on its page alone.
  if span.classes:includes("why") then return (typst or plain) and {} or folded(span, "why", "Why so") end
  -- So is how to cite a claim; its command is of use where it can be copied.
  if span.classes:includes("cite") then return (typst or plain) and {} or folded(span, "cite", "Cite") end
  if span.classes:includes("make") and (typst or plain) then return {} end
  if span.classes:includes("rest") then return (typst or plain) and span.content or folded(span, "rest", "More") end
  if span.classes:includes("on-paper") and not typst then return {} end
  if plain then return span.classes:includes("badge") and pandoc.Strong(span.content) or span.content end
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
  -- As below: a cell of a table is no place that typst knows.
  if typst and link.target:match("^#claim%-") then return pandoc.Link(link.content, "#sec-verdicts") end
  -- Which anchors a heading gets is up to whoever shows the Markdown.
  if plain and link.classes:includes("crossref") then return link.content end
  if not link.classes:includes("data-link") then return nil end
  if brief then return {} end
  if typst or plain then
    local name = link.attributes["data-file"] or ""
    return { pandoc.Str("data: "), pandoc.Code(name) }
  end
  return nil
end

-- A part that is folded away on a page. In print it is open, at its place.
local function fold(div)
  local open = '<details class="fold"><summary>' .. escaped(div.attributes["summary"] or "Show") .. "</summary>"
  local blocks = pandoc.Blocks({ pandoc.RawBlock("html", open) })
  blocks:extend(div.content)
  blocks:insert(pandoc.RawBlock("html", "</details>"))
  return blocks
end

function Div(div)
  if div.classes:includes("in-brief") then return not brief and {} or nil end
  if plain then return div.classes:includes("html-only") and {} or div.content end
  if div.classes:includes("paper-only") then return typst and div.content or {} end
  if div.classes:includes("fold") then return typst and div.content or fold(div) end
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

-- So does a wide command.
function CodeBlock(block)
  if typst or plain then return nil end
  block.attributes.tabindex = "0"
  return block
end

-- Rows that are of use where they can be searched are left out on paper.
local function on_paper(tbl)
  for _, body in ipairs(tbl.bodies) do
    body.body = body.body:filter(function(row)
      local of_page = false
      row.cells[1].contents:walk({
        Span = function(span) of_page = of_page or span.classes:includes("page-only") end,
      })
      return not of_page
    end)
  end
  return tbl
end

-- A wide table scrolls by itself, so that the page does not; with keys as well, and named by its caption.
function Table(tbl)
  if typst then return on_paper(tbl), false end
  if plain then
    local caption = pandoc.Para(pandoc.utils.blocks_to_inlines(tbl.caption.long))
    tbl.caption = pandoc.Caption()
    tbl.attr = pandoc.Attr()
    return { caption, tbl }, false
  end
  local caption = pandoc.utils.stringify(tbl.caption.long)
  return pandoc.Div({ tbl }, {
    class = "table-scroll", tabindex = "0", role = "region", ["aria-label"] = caption == "" and "Table" or caption,
  }), false
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

-- On paper a figure as wide as the text takes more room than its letters need.
function Image(image)
  if typst and (image.attributes.width or "100%") == "100%" then image.attributes.width = "80%" end
  if file_exists(image.src) then return image end
  io.stderr:write("crossref: missing image " .. image.src .. "\n")
  os.exit(65)
end

-- Below the heading of each exhibit the claims that rest on it, each with its verdict and the way back to its row.
local function claims_by_exhibit(doc)
  local found = {}
  doc:walk({
    Span = function(span)
      if not span.classes:includes("claim") then return nil end
      for exhibit in (span.attributes["exhibits"] or ""):gmatch("%S+") do
        found[exhibit] = found[exhibit] or {}
        table.insert(found[exhibit], {
          id = span.identifier, name = pandoc.utils.stringify(span), verdict = span.attributes["verdict"] or "",
        })
      end
    end,
  })
  return found
end

local function line_of(claims)
  local inlines = pandoc.Inlines({ pandoc.Str(#claims == 1 and "Claim:" or "Claims:") })
  for number, claim in ipairs(claims) do
    inlines:insert(pandoc.Space())
    -- What typst links to is the section: a cell of a table is no place that it knows.
    inlines:insert(pandoc.Link(claim.name, typst and "#sec-verdicts" or "#" .. claim.id))
    inlines:insert(pandoc.Str(" (" .. claim.verdict .. ")" .. (number < #claims and "," or "")))
  end
  return pandoc.Div({ pandoc.Para(inlines) }, { class = "claims" })
end

-- An exhibit's number is the paper's own: the report's figures have others.
local function of_paper(header)
  for place, inline in ipairs(header.content) do
    if inline.t == "Str" and (inline.text == "Figure" or inline.text == "Table") then
      header.content:insert(place, pandoc.Space())
      header.content:insert(place, pandoc.Str("Paper\u{2019}s"))
      return
    end
  end
end

local function link_exhibits(doc)
  local claims, shown = claims_by_exhibit(doc), {}
  local blocks = doc.blocks:walk({
    Blocks = function(blocks)
      local out = pandoc.Blocks({})
      for _, block in ipairs(blocks) do
        local exhibit = block.t == "Header" and block.identifier:match("^sec%-(.+)$")
        if exhibit and exhibit:match("^%a+%d+%a?$") then of_paper(block) end
        out:insert(block)
        if exhibit and claims[exhibit] then
          out:insert(line_of(claims[exhibit]))
          shown[exhibit] = true
        end
      end
      return out
    end,
  })
  return blocks, shown
end

-- And beside each claim the exhibits that it rests on, where they have a heading.
local function link_claims(blocks, shown)
  return blocks:walk({
    Span = function(span)
      if not span.classes:includes("claim") then return nil end
      local inlines = pandoc.Inlines(span.content)
      if not typst and not plain then
        inlines[1] = pandoc.Link({ inlines[1] }, "#" .. span.identifier, "Copy the address of this claim", { class = "anchor" })
      end
      for exhibit in (span.attributes["exhibits"] or ""):gmatch("%S+") do
        if shown[exhibit] then
          local word, number = exhibit:match("^(%a+)(%w*)$")
          local names = { fig = "paper\u{2019}s Fig.\u{a0}", table = "paper\u{2019}s Table\u{a0}" }
          inlines:insert(pandoc.Space())
          inlines:insert(pandoc.Link(names[word] and names[word] .. number or exhibit, "#sec-" .. exhibit, "",
            { class = "exhibit" }))
        end
      end
      return pandoc.Span(inlines, typst and {} or { id = span.identifier, class = "claim" })
    end,
  })
end

-- The entries of the papers themselves, which documents cite: a file of `whitewire render`, by hand what a command says.
local function with_papers(meta)
  local file = os.getenv("WHITEWIRE_CITATIONS")
  local entries
  if file then
    entries = assert(io.open(file)):read("a")
  else
    local command = "cd .. && PATH=$PWD/.venv/bin:$PATH exec workflow/scripts/whitewire citations"
    entries = pandoc.pipe("sh", { "-c", command }, "")
  end
  meta.references = pandoc.read(entries, "bibtex").meta.references
end

-- A report's page opens with the answer, the claims and their verdicts. Each other part is folded away below its heading;
-- on paper all are open.
local opens = { ["sec-summary"] = true, ["sec-paper"] = true, ["sec-verdicts"] = true }

local function fold_parts(blocks)
  local top = 9
  for _, block in ipairs(blocks) do
    if block.t == "Header" then top = math.min(top, block.level) end
  end
  local out, inside = pandoc.Blocks({}), false
  local function close()
    if inside then out:insert(pandoc.RawBlock("html", "</details>")) end
    inside = false
  end
  for _, block in ipairs(blocks) do
    local heads = block.t == "Header" and block.level == top
    if heads then close() end
    out:insert(block)
    if heads and not opens[block.identifier] and not block.classes:includes("unnumbered") then
      out:insert(pandoc.RawBlock("html", '<details class="fold section"><summary>Show this part</summary>'))
      inside = true
    end
  end
  close()
  return out
end

-- What a brief has of a report: the answer, and tables of its own (R/text/brief.R). Figures go to the foot of a page, so that
-- text fills the page before a tall one.
local function shortened(blocks)
  local float = pandoc.RawBlock("typst", "#show figure.where(kind: image): set figure(placement: bottom)")
  local out, depth = pandoc.Blocks({ float }), 9 -- what stands before the first heading sets type
  for _, block in ipairs(blocks) do
    if block.t == "Header" and (depth == 0 or block.level <= depth) then
      depth = block.identifier == "sec-summary" and block.level or 0
    end
    if block.t == "Div" and block.classes:includes("in-brief") then
      out:extend(block.content)
    elseif depth > 0 and block.identifier ~= "fig-verdicts" then -- which counts what a sentence has
      out:insert(block)
    end
  end
  local there = {}
  local function note(element) there["#" .. element.identifier] = true end
  out:walk({ Header = note, Div = note, Figure = note, Table = note })
  return out:walk({
    Link = function(link)
      if link.target:match("^#") and not there[link.target] then return link.content end
    end,
  })
end

-- Other pages that a page leads to: an address and a name in each line.
local function other_pages()
  local pages = {}
  for address, name in (os.getenv("WHITEWIRE_PAGES") or ""):gmatch("([^\t\n]+)\t([^\n]+)") do
    table.insert(pages, { address = address, name = pandoc.Inlines(name) })
  end
  return #pages > 0 and pages or nil
end

-- Pages that are no report of a paper.
local others = { index = true, compare = true, pooled = true, appendix = true, testbed = true, calibration = true }

function Pandoc(doc)
  with_papers(doc.meta)
  local document = os.getenv("WHITEWIRE_PAPER")
  doc.meta.pages = other_pages()
  local blocks, shown = link_exhibits(doc)
  doc.blocks = link_claims(blocks, shown)
  if brief then
    doc.blocks = shortened(doc.blocks)
    doc.meta.toc = false
    doc.meta.subtitle = pandoc.MetaInlines({ pandoc.Str("In brief: the whole report is " .. (document or "") .. ".pdf") })
  end
  if document and not others[document] and not typst and not plain then doc.blocks = fold_parts(doc.blocks) end
  return doc
end
