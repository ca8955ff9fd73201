-- For Quarto, after it has numbered figures, tables and sections and resolved references to them: a reference without a
-- target, which Quarto only warns of, ends the conversion; and labels of captions look as without Quarto.

function Strong(strong)
  local missing = pandoc.utils.stringify(strong):match("^%?(@%S+)$")
  if missing then
    io.stderr:write("crossref: unresolved reference " .. missing .. "\n")
    os.exit(65)
  end
end

function Plain(plain)
  local inlines = plain.content
  local texts = {}
  for i = 1, 4 do texts[i] = inlines[i] and inlines[i].t == "Str" and inlines[i].text or "" end
  local label = (texts[1] == "Figure" or texts[1] == "Table") and texts[3]:match("^%d+$") and texts[4] == ":"
  if not label then return nil end
  local strong = pandoc.Strong({})
  for _ = 1, 4 do strong.content:insert(inlines:remove(1)) end
  inlines:insert(1, strong)
  return plain
end
