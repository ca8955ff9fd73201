"""A paper's entry of the bibliography: whatever signs are in it, they reach a page as themselves and nothing more."""

from __future__ import annotations

import html
import re
import subprocess

import pytest

from whitewire.report import citation, render

NASTY = r"""50% <b>"A" & #1_$x^2~y\input{z} {Z} `r 1` <script>alert(1)</script> @key [l](u) *e*"""
PAPER = {
    "id": "made-up-2026", "title": NASTY, "publisher": "Made-up Networks (a division)", "year": 2026,
    "source": {"authors": ["Doe & Co, Jane <i>", "A, and, B", "Acme and Sons"], "type": "White {paper} & more",
               "url": "https://example.com/a_b%20c?d=~e&f={g}\\\"<h>", "accessed": "2026-11-26"},
}  # fmt: skip


@pytest.fixture(params=["html", "typst"])
def made(request, tmp_path) -> tuple[str, str]:
    (tmp_path / "r.bib").write_text(citation._entry(PAPER))
    (tmp_path / "d.md").write_text("See [@made-up-2026].\n")
    argv = [
        render._pandoc(), "d.md", "--citeproc", "--bibliography=r.bib", f"--csl={render._PAPER / 'references.csl'}",
        f"--to={request.param}", "--wrap=none", "--fail-if-warnings", "--metadata=link-citations:true",
    ]  # fmt: skip
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return request.param, done.stdout


def test_nothing_in_it_is_markup(made, tmp_path):
    kind, text = made
    if kind == "html":
        assert not re.search(r"<(script|b|i)\b", text)
        shown = html.unescape(re.sub(r"<[^>]+>", "", text))
    else:
        import typst

        # Only if every sign is escaped does Typst take it, without a function of that name.
        (tmp_path / "d.typ").write_text(text)
        assert typst.compile(str(tmp_path / "d.typ"))
        shown = re.sub(r"\\(.)", r"\1", text)
    for piece in (
        "50%",
        "& #1_$x^2~y\\input{z} {Z}",
        "alert(1)",
        "@key [l](u) *e*",
        "White paper & more",
        "Acme and Sons",
    ):
        assert piece in shown.replace("\u00a0", " "), shown
    assert "(read 2026-11-26)" in shown and "Made-up Networks" in shown and "division" not in shown


def test_an_address_has_nothing_that_ends_it():
    assert citation.address('https://e.com/a b"<>{}\\') == "https://e.com/a%20b%22%3C%3E%7B%7D%5C"


def test_without_authors_the_publisher_stands_for_them():
    entry = citation._entry({"id": "x-1", "title": "T", "publisher": "Acme (blog)", "year": None, "source": {}})
    assert "author = {{Acme}}" in entry and "year" not in entry
