"""Text that would be code or markup somewhere, and what a reader sees of a page."""

from __future__ import annotations

import html
import re

NASTY = (
    r"""`r writeLines('x', 'ran-r')` `{r} stop()` <img src=x onerror="alert(1)"> <script>alert(1)</script> """
    r"""[link](javascript:alert(1)) ![](none.png) @fig-none [@nobody] $x^2$ #import "x.typ" #sys.version *b* _i_ """
    r"""{{< include /etc/passwd >}} &lt;b&gt; &copy; \textbf{t} \input{x} ~~s~~ ^[note] | cell | --- </td></table>"""
)
"""What R, HTML, Markdown, Typst, TeX, Quarto and a pipe table would act on."""
FENCE = "one line\n\n```\n\n```{=html}\n<script>alert(2)</script>\n```\n\n# A heading\n"
"""What would leave a block of raw HTML."""


def marked(name: str) -> str:
    return f"zz{name}zz {NASTY} zzendzz"


def text_of(page: str) -> str:
    """What a reader sees of a page."""
    page = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", page)).split())


def plain(text: str) -> str:
    """Without what typography changes: quotes, dashes, minus signs and where lines break."""
    for found, other in (
        ("“", '"'),
        ("”", '"'),
        ("‘", "'"),
        ("’", "'"),
        ("—", "---"),
        ("–", "--"),
        ("−", "-"),
        ("`", "'"),
    ):
        text = text.replace(found, other)
    return "".join(text.split())
