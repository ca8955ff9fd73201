"""The papers' own entries of the bibliography, made from their YAML: a document cites its paper by `@` and its id."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

ESCAPED = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "{}%&#$_"},
}  # fmt: skip
_REMARK = re.compile(r"\s*\([^()]*\)$")


def entries(papers: Iterable[Mapping[str, Any]]) -> str:
    """BibTeX of all papers that give their `source`; nothing in their words acts as markup."""
    return "\n".join(_entry(paper) for paper in papers if isinstance(paper.get("source"), Mapping))


def _entry(paper: Mapping[str, Any]) -> str:
    """BibTeX of one paper. Its key is the paper's id; without authors the publisher stands for them."""
    source, publisher = paper["source"], _REMARK.sub("", str(paper["publisher"]))
    fields = {
        "author": " and ".join(map(_author, source.get("authors") or [publisher])),
        "title": f"{{{escaped(source.get('title', paper['title']))}}}",
        "institution": escaped(publisher),
        "type": re.sub(r"[{}\\]", "", str(source.get("type", ""))),  # the one field that is no LaTeX
        "year": escaped(paper.get("year") or ""),
        "doi": address(source.get("doi", "")),
        "url": address(source.get("url", "")),
        "urldate": escaped(source.get("accessed", "")),
        "note": escaped(source.get("note", "")),
    }
    lines = [f"  {name} = {{{text}}}" for name, text in fields.items() if text]
    return f"@techreport{{{paper['id']},\n" + ",\n".join(lines) + "\n}\n"


def escaped(text: object) -> str:
    """Text as it stands, whatever signs are in it, for a field of BibTeX."""
    return "".join(ESCAPED.get(sign, sign) for sign in " ".join(str(text).split()))


def address(text: object) -> str:
    """An address or DOI with all signs percent-encoded that it may not hold."""
    return quote(str(text), safe=":/?#[]@!$&'()*+,;=%-._~")


def _author(name: str) -> str:
    """`Reimers, Niels` is a person; a name without a comma is an organisation's."""
    family, comma, given = name.partition(",")
    return f"{{{escaped(family)}}}, {{{escaped(given)}}}" if comma else f"{{{escaped(name)}}}"
