"""Figures as a part of their page, with data, code and rule beside each."""

from __future__ import annotations

import base64
import json

import pytest

from whitewire.paths import HOME
from whitewire.report import provenance
from whitewire.report.provenance import figure_records

DRAWN = "<?xml version='1.0' encoding='UTF-8' ?>\n<svg xmlns='http://www.w3.org/2000/svg'><g/></svg>\n"
IMAGE = f'<img src="{provenance._SVG}{base64.b64encode(DRAWN.encode()).decode()}" alt="a &quot;line&quot;" />'
PAGE = f"""<main><figure id="fig-a">{IMAGE}<figcaption>A</figcaption></figure>
<p><a href="data:text/csv;base64,QQ==" class="data-link" download="p-a.csv" data-file="data/p/a.csv">Data</a></p>
<figure id="fig-b">{IMAGE}</figure>
<p>words</p>
<figure id="fig-c">{IMAGE}</figure><figure id="fig-d">{IMAGE}</figure></main></div>"""
QUARTO = PAGE.replace(
    '<figure id="fig-a">', '<div class="cell">\n<div class="cell-output-display">\n<div id="fig-a">\n<figure>'
)
QUARTO = QUARTO.replace("</figcaption></figure>", "</figcaption></figure>\n</div>\n</div>\n</div>")
"""The first figure and its link as Quarto 1.7 nests them."""
FUNCTION = {"name": "draw", "file": "paper/R/figures/draw.R", "line": 3, "text": "draw <- function(x) x < 1"}
RULES = [provenance.Rule("paper", "workflow/rules/paper.smk", "rule paper:\n    input: []")]


@pytest.fixture
def folder(tmp_path):
    """What R recorded of figures: two drew a table, one says that there is none, one drew something else."""
    for label, rows in (("fig-a", 2), ("fig-b", 1), ("fig-c", 0), ("fig-d", 0)):
        unmeasured = label == "fig-c"
        record = {"label": label, "rows": rows, "unmeasured": unmeasured, "functions": [FUNCTION]}
        (tmp_path / f"{label}.json").write_text(json.dumps(record))
    (tmp_path / "fig-b.csv").write_text("x\n1\n")
    return tmp_path


def test_a_drawing_takes_the_place_of_its_image():
    made = provenance.inlined(f"<p>{IMAGE}</p>")
    assert made.startswith('<p><svg role="img" aria-label="a &quot;line&quot;" tabindex="0" xmlns=')
    assert made.endswith("</svg></p>") and "<?xml" not in made


@pytest.mark.parametrize("image", ['<img src="data:image/png;base64,AA" alt="">', '<img src="a.svg">'])
def test_other_images_stay(image):
    assert provenance.inlined(image) == image


@pytest.mark.parametrize("page", [PAGE, QUARTO], ids=["pandoc", "quarto"])
def test_each_figure_gets_a_line_and_the_page_its_sources(folder, page):
    made = provenance.with_sources(page, "p", figure_records(folder), folder, RULES)
    lines = made.split('<p class="provenance">')[1:]
    assert len(lines) == 4
    assert made.count("data/p/a.csv") == 1  # the document's own link moves into the line
    assert "data/p/a.csv" in lines[0] and "fig-a.csv" not in made and made.count("</div>") == page.count("</div>")
    assert 'data-file="data/p/fig-b.csv">Data of this figure (CSV, 1 row)</a>' in lines[1]
    assert base64.b64encode(b"x\n1\n").decode() in lines[1]
    assert lines[2].startswith(provenance.NO_DATA) and lines[3].startswith(provenance.NO_TABLE)
    for line in lines:
        assert '<a href="#code-draw"><code>draw</code></a> in paper/R/figures/draw.R' in line
        assert '<a href="#rule-paper"><code>paper</code></a> in workflow/rules/paper.smk' in line
    assert made.count('id="code-draw"') == made.count('id="rule-paper"') == 1
    assert "draw &lt;- function(x) x &lt; 1" in made
    assert made.index("</main>") < made.index('id="sources"') < made.rindex("</div>")


def test_no_file_is_named_that_is_not_published(folder):
    made = provenance.with_sources(PAGE, "index", figure_records(folder), folder, RULES, files=False)
    assert "Data of this figure (CSV, 1 row)" in made and base64.b64encode(b"x\n1\n").decode() in made
    assert "data/index" not in made


def test_a_page_without_figures_stays(folder):
    assert provenance.with_sources("<main>a</main>", "p", figure_records(folder), folder, RULES) == "<main>a</main>"


def test_a_figure_within_others_ends_where_it_does(folder):
    page = f'<main><div id="fig-a"><div>{IMAGE}</div>caption</div><p>after</p></main>'
    made = provenance.with_sources(page, "p", figure_records(folder), folder, RULES)
    assert 'caption</div>\n<p class="provenance">' in made


@pytest.mark.parametrize(
    ("document", "names"),
    [("emulex-2012", ["paper", "analysis", "tidy", "measure", "design"]), ("compare", []),
     ("pooled", []),
     ("index", ["index", "analysis"]),
     ("testbed", ["testbed_page", "links_tables", "links", "links_network", "links_drives", "links_rdma",
                  "links_transports"]),
     ("calibration", ["calibration_page", "calibration_tables", "analysis", "tidy", "measure", "design"])],
)  # fmt: skip
def test_rules_are_those_of_the_workflow(document, names):
    found = provenance.rules_of(HOME, document)
    assert [rule.name for rule in found] == names
    for rule in found:
        assert rule.text in (HOME / rule.file).read_text()
        begins = (f"rule {rule.name}:\n", f"use rule links_network as {rule.name} with:\n")
        assert rule.text.startswith(begins) and "output:" in rule.text
        assert "shell:" in rule.text or rule.text.startswith("use ")
