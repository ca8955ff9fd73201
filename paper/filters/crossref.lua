-- For pandoc without Quarto: numbers sections, figures and tables and resolves references to them, as Quarto does.
-- @fig-x, @tbl-x and @sec-x become links; [-@fig-x] gives the number alone.
-- A reference without a target ends the conversion.

local names = { fig = "Figure", tbl = "Table", sec = "Section" }
local numbers = {}
local unresolved = {}

local function fail(message)
  io.stderr:write("crossref: " .. message .. "\n")
  os.exit(65)
end

local function kind_of(id)
  local kind = id:match("^(%a+)%-")
  return names[kind] and kind or nil
end

local function register(id, number)
  if numbers[id] then fail("the label " .. id .. " is used twice") end
  numbers[id] = number
end

local function label(kind, number)
  return pandoc.Strong({ pandoc.Str(names[kind] .. "\u{a0}" .. number .. ":") })
end

local counters = { fig = 0, tbl = 0 }

local function next_number(kind, id)
  counters[kind] = counters[kind] + 1
  local number = tostring(counters[kind])
  register(id, number)
  return number
end

local levels = { 0, 0, 0, 0, 0, 0 }

local function number_header(header)
  if not header.classes:includes("unnumbered") then
    levels[header.level] = levels[header.level] + 1
    for level = header.level + 1, 6 do levels[level] = 0 end
    local number = table.concat(levels, ".", 1, header.level)
    if kind_of(header.identifier) == "sec" then register(header.identifier, number) end
    header.content:insert(1, pandoc.Space())
    header.content:insert(1, pandoc.Span(pandoc.Str(number), { class = "header-section-number" }))
  end
  -- In HTML and Markdown the title is the only heading of the first level.
  if FORMAT:match("html") or FORMAT:match("gfm") then header.level = header.level + 1 end
  return header
end

local function number_figure(figure)
  if kind_of(figure.identifier) ~= "fig" then return nil end
  local number = next_number("fig", figure.identifier)
  local long = figure.caption.long
  if #long == 0 then long = pandoc.Blocks({ pandoc.Plain({}) }) end
  long[1].content:insert(1, pandoc.Space())
  long[1].content:insert(1, label("fig", number))
  figure.caption.long = long
  return figure
end

local function number_table(div)
  if kind_of(div.identifier) ~= "tbl" then return nil end
  local number = next_number("tbl", div.identifier)
  local blocks = div.content
  local caption = blocks[#blocks]
  local found
  for _, block in ipairs(blocks) do
    if block.t == "Table" then found = block end
  end
  if not caption or caption.t ~= "Para" then fail("the table " .. div.identifier .. " has no caption") end
  caption.content:insert(1, pandoc.Space())
  caption.content:insert(1, label("tbl", number))
  if not found then
    blocks:remove(#blocks)
    blocks:insert(1, caption)
    return div
  end
  found.caption.long = pandoc.Blocks({ pandoc.Plain(caption.content) })
  found.identifier = div.identifier
  blocks:remove(#blocks)
  return blocks
end

local function resolve(cite)
  local found = pandoc.Inlines({})
  for i, citation in ipairs(cite.citations) do
    local kind = kind_of(citation.id)
    if not kind then return nil end
    local number = numbers[citation.id]
    if not number then
      table.insert(unresolved, "@" .. citation.id)
      return nil
    end
    local text = number
    if citation.mode ~= "SuppressAuthor" then text = names[kind] .. "\u{a0}" .. number end
    if i > 1 then found:insert(pandoc.Str(", ")) end
    found:insert(pandoc.Link(pandoc.Str(text), "#" .. citation.id, "", { class = "crossref" }))
  end
  return found
end

function Pandoc(doc)
  doc = doc:walk({
    traverse = "topdown",
    Header = number_header,
    Figure = number_figure,
    Div = number_table,
  })
  doc = doc:walk({ Cite = resolve })
  if #unresolved > 0 then
    fail("unresolved reference " .. table.concat(unresolved, ", "))
  end
  return doc
end
