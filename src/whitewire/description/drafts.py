"""Parts of the template that a paper of `whitewire new-paper` still has: its file says `To do` there."""

from __future__ import annotations

import re
from pathlib import Path

_OPEN = re.compile(r"\bTo do: (.*?)['\"]?$")


def open_to_dos(path: Path) -> list[tuple[int, str]]:
    """(line, what) of all that a paper's file says is still to be done."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return [(number, found[1]) for number, line in enumerate(lines, start=1) if (found := _OPEN.search(line))]
