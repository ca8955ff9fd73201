"""A claim's verdict as a badge, a small SVG that another page can show."""

from __future__ import annotations

import html
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from whitewire.analysis import claims
from whitewire.analysis.claims import verdict_in_words
from whitewire.report.one_claim import verdict_rows

COLOURS = {
    claims.REPRODUCED: "#00785a", claims.DIRECTION: "#1f78b4", claims.NOT_REPRODUCED: "#b84700",
    claims.INCONCLUSIVE: "#8a6100", claims.CONSISTENT: "#54489b", claims.INCONSISTENT: "#a8327e",
    claims.NOT_TESTABLE: "#5f6770",
}  # fmt: skip
"""Colours of verdicts, as on pages: paper/templates/report.css."""
LETTER, _BESIDE = 6.6, 12
"""Approximate width of a letter at 11 pixels, and of the margin beside the letters of a part."""
_SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{label}">
<title>{label}</title>
<rect width="{width}" height="20" rx="3" fill="#3c434a"/>
<rect x="{left}" width="{right}" height="20" rx="3" fill="{colour}"/>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{at_left}" y="14">{claim}</text>
<text x="{at_right}" y="14">{words}</text>
</g>
</svg>
"""


def svg(claim: str, words: str, verdict: str) -> str:
    """The badge of a claim with its verdict; `words`: the verdict as readers see it."""
    left, right = (round(LETTER * len(text) + _BESIDE) for text in (claim, words))
    said = {"claim": html.escape(claim), "words": html.escape(words), "label": html.escape(f"{claim}: {words}")}
    return _SVG.format(width=left + right, left=left, right=right, at_left=left / 2, at_right=left + right / 2,
                       colour=COLOURS[verdict], **said)  # fmt: skip


def write_badges(table: Path, paper: Mapping[str, Any], folder: Path) -> None:
    """A badge for each claim of a verdicts.csv. `paper` is its YAML."""
    none = {claim["id"]: claim.get("test", {}).get("no_effect", 1) for claim in paper.get("claims", ())}
    folder.mkdir(parents=True, exist_ok=True)
    for row in verdict_rows(table, ("claim", "verdict")):
        words = verdict_in_words(row, float(none.get(row["claim"], 1)))
        (folder / f"{row['claim']}.svg").write_text(svg(row["claim"], words, row["verdict"]), encoding="utf-8")
