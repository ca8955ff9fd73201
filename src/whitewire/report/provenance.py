"""Where each figure of a page comes from, one click away: its data, the code that drew it, the rule that made the page.

The page is finished HTML, whichever way it was rendered. Its figures, images until then, become part of it, so that a
point says which run it is. R (paper/R/text/provenance.R) records what drew a figure, in a file per figure.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

_SVG = "data:image/svg+xml;base64,"
IMAGE = re.compile(r"<img\b[^>]*>")
ATTRIBUTE = re.compile(r'\b([a-z-]+)="([^"]*)"')
PROLOGUE = re.compile(r"^\s*(<\?xml[^>]*\?>|<!DOCTYPE[^>]*>|\s)*", re.IGNORECASE)
FIGURE = re.compile(r'<(figure|div) id="(fig-[\w-]+)"')
DATA_LINK = re.compile(
    r'((?:\s*</div>)*)\s*<p>(<a href="data:text/csv[^>]*class="data-link"[^>]*>.*?</a>)</p>', re.DOTALL
)
"""Matches the data link right below a figure, or below the cell around it (as Quarto nests them): the cell's ends, the
link."""
NO_DATA, NO_TABLE = "No data: not measured in this run", "Data: drawn from the document itself"
_RULE = re.compile(r"^(?:rule |use rule \w+ as )(\w+)(?: with)?:\n(?:(?:    .*)?\n)+", re.MULTILINE)


class Function(TypedDict):
    """A function of the documents: where it begins, and its text."""

    name: str
    file: str
    line: int
    text: str


class FigureRecord(TypedDict):
    """R's record of a figure."""

    label: str
    rows: int
    unmeasured: bool
    """Whether the figure is only a note that there was nothing to draw."""
    functions: list[Function]


@dataclass(frozen=True)
class Rule:
    """A rule of the workflow with its file, relative to the project, and its text."""

    name: str
    file: str
    text: str


def rules_of(home: Path, document: str) -> list[Rule]:
    """The rule that makes a document, then the rules that make its inputs; none if only a command makes it."""
    chains = {
        "index": ("index", "analysis"),
        "testbed": ("testbed_page", "links_tables", "links", "links_network", "links_drives", "links_rdma",
                    "links_transports"),
        "calibration": ("calibration_page", "calibration_tables", "analysis", "tidy", "measure", "design"),
        "compare": (), "pooled": (), "appendix": (),
    }  # fmt: skip
    names = chains.get(document, ("paper", "analysis", "tidy", "measure", "design"))
    found = {}
    for path in sorted((home / "workflow" / "rules").glob("*.smk")):
        for match in _RULE.finditer(path.read_text(encoding="utf-8")):
            found[match[1]] = Rule(match[1], path.relative_to(home).as_posix(), match[0].strip("\n"))
    return [found[name] for name in names if name in found]


def figure_records(folder: Path) -> dict[str, FigureRecord]:
    """R's records of figures, by label."""
    records: list[FigureRecord] = [
        json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))
    ]
    return {each["label"]: each for each in records}


# -- figures as a part of the page -------------------------------------------------------------------------


def inlined(page: str) -> str:
    """The page with drawings inlined in place of images; attributes of an image move to its drawing."""
    return IMAGE.sub(_drawing, page)


def _drawing(found: re.Match[str]) -> str:
    attributes: Mapping[str, str] = dict(ATTRIBUTE.findall(found[0]))
    if not attributes.get("src", "").startswith(_SVG):
        return found[0]
    svg = base64.b64decode(attributes["src"].removeprefix(_SVG)).decode("utf-8")
    svg = PROLOGUE.sub("", svg)
    said = f' role="img" aria-label="{attributes.get("alt", "")}" tabindex="0"'
    return re.sub(r"^<svg\b", lambda match: match[0] + said, svg.strip(), count=1)


# -- beside each figure ------------------------------------------------------------------------------------


def with_sources(page: str, document: str, figures: Mapping[str, FigureRecord], own: Path, rules: Sequence[Rule],
                 files: bool = True) -> str:  # fmt: skip
    """The page with a line below each figure that R recorded, and at the end the sources to which these lines link.

    A figure followed by the document's own data link keeps that link; others get the drawn data, from the file of the
    figure's label in `own`. `files`: whether a page's data are published as files too.
    """
    functions: dict[str, Function] = {}
    pieces, start, tag = [], 0, ""
    for found in FIGURE.finditer(page):
        if found.start() < start or found[2] not in figures:
            continue
        tag = found[1]
        end = _end(page, found.start(), tag)
        figure = figures[found[2]]
        functions |= {each["name"]: each for each in figure["functions"]}
        linked = DATA_LINK.match(page, end)
        ends, data = linked.groups() if linked else ("", _data(document, figure, own, files))
        pieces += [page[start:end], _line(data, figure, rules), ends]
        start = linked.end() if linked else end
    page = "".join([*pieces, page[start:]])
    if not pieces:
        return page
    before, close, after = page.rpartition("</main>")
    return before + close + "\n" + _listing(functions.values(), rules) + after.lstrip("\n")


def _end(page: str, start: int, tag: str) -> int:
    """End of the element that begins at `start`."""
    depth = 0
    for found in re.compile(rf"<(/?){tag}\b[^>]*>").finditer(page, start):
        depth += -1 if found[1] else 1
        if depth == 0:
            return found.end()
    return len(page)


def _data(document: str, figure: FigureRecord, own: Path, files: bool) -> str:
    """A link with the data that a figure drew; words if it drew no table."""
    path = own / f"{figure['label']}.csv"
    if not path.is_file():
        return NO_DATA if figure["unmeasured"] else NO_TABLE
    content = base64.b64encode(path.read_bytes()).decode()
    file = data_file(document, figure["label"])
    rows = f"{figure['rows']} row{'' if figure['rows'] == 1 else 's'}"
    named = f' data-file="{file}"' if files else ""
    return (
        f'<a href="data:text/csv;base64,{content}" class="data-link" download="{document}-{Path(file).name}"'
        f"{named}>Data of this figure (CSV, {rows})</a>"
    )


def data_file(document: str, label: str) -> str:
    """Path of a figure's data below the reports, if it has no file of its own."""
    return f"data/{document}/{label}.csv"


def _line(data: str, figure: FigureRecord, rules: Sequence[Rule]) -> str:
    code = ", ".join(
        f'<a href="#code-{html.escape(each["name"])}"><code>{html.escape(each["name"])}</code></a> in '
        f"{html.escape(each['file'])}"
        for each in figure["functions"]
    )
    parts = [data, f"Code: {code}" if code else ""]
    for rule in rules[:1]:
        parts.append(f'Rule: <a href="#rule-{rule.name}"><code>{rule.name}</code></a> in {rule.file}')
    return f'\n<p class="provenance">{" · ".join(filter(None, parts))}</p>'


def _listing(functions: Iterable[Function], rules: Sequence[Rule]) -> str:
    """Sources at the end of a page; in print only the lines with their files."""
    shown = [
        _source(f"code-{each['name']}", each["name"], f"{each['file']}, from line {each['line']}", each["text"])
        for each in functions
    ]
    shown += [_source(f"rule-{rule.name}", f"rule {rule.name}", rule.file, rule.text) for rule in rules]
    words = (
        "What drew the figures above, and the rules of the workflow that made this page and what it reads. All of it "
        "is in the project's folder."
    )
    head = '<section id="sources" class="sources" aria-label="Code and rules">'
    return "\n".join([head, "<h2>Code and rules</h2>", f"<p>{words}</p>", *shown, "</section>\n"])


def _source(anchor: str, name: str, place: str, text: str) -> str:
    return (
        f'<h3 id="{html.escape(anchor)}"><code>{html.escape(name)}</code></h3>\n<p>{html.escape(place)}</p>\n'
        f'<pre tabindex="0"><code>{html.escape(text)}</code></pre>'
    )
