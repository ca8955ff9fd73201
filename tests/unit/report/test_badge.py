"""A badge says a claim's verdict as pages do, in their colours, whatever characters its words have."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from whitewire.analysis import claims
from whitewire.report import badge
from whitewire.report.badge import write_badges

HOME = Path(__file__).resolve().parents[3]
SPACE = "{http://www.w3.org/2000/svg}"
HEAD = "claim,verdict,relation,estimate,expected,expected_low,expected_high"


def read(text):
    """The words of a badge, its label, its colours and whether its parts are within it."""
    root = ElementTree.fromstring(text)
    width = float(root.get("width"))
    within = all(0 < float(each.get("x")) < width for each in root.iter(f"{SPACE}text"))
    colours = [each.get("fill") for each in root.iter(f"{SPACE}rect")]
    return [each.text for each in root.iter(f"{SPACE}text")], root.get("aria-label"), colours[-1], within


def test_it_is_whole_xml_whatever_its_words_are():
    claim, words = "<a&b>\"'", "</text><script>alert(1)</script>&"
    texts, label, _, within = read(badge.svg(claim, words, claims.REPRODUCED))
    assert (texts, label, within) == ([claim, words], f"{claim}: {words}", True)


@pytest.mark.parametrize("verdict", claims.VERDICTS)
def test_its_colour_is_that_of_the_pages(verdict):
    css = (HOME / "paper" / "templates" / "report.css").read_text()
    found = re.search(rf"\.badge\.{verdict.replace(' ', '-')}\b[^{{]*{{ background: (#\w+)", css)
    plain = re.search(r"\.badge {[^}]*background: (#\w+)", css)[1]
    assert read(badge.svg("E-C02", verdict, verdict))[2] == (found[1] if found else plain)


def test_each_claim_has_one_that_says_which_way(tmp_path):
    table = tmp_path / "verdicts.csv"
    table.write_text(
        f"{HEAD}\nE-C1,direction only,within,5.4,4,3.5,4.5\nE-C2,direction only,within,0.3,0.5,0.4,0.6\n"
        "E-C3,direction only,above,1.5,2,2,\nE-C4,not testable here,,,,,\n"
    )
    paper = {"claims": [{"id": f"E-C{n}", "test": {"no_effect": 1}} for n in (1, 2, 3)] + [{"id": "E-C4", "test": {}}]}
    write_badges(table, paper, tmp_path / "badges")
    texts = {path.stem: read(path.read_text())[0][1] for path in (tmp_path / "badges").iterdir()}
    assert texts == {"E-C1": "more than claimed", "E-C2": "more than claimed", "E-C3": "less than claimed",
                    "E-C4": "not testable here"}  # fmt: skip
