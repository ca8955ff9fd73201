"""What hundreds of tests begin with, and takes half a second each time."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from whitewire.description.paper import Paper
from whitewire.paths import HOME
from whitewire.text import canonical

PAPERS = HOME / "config" / "papers"
Load = Callable[[Path | str, Collection[str]], Paper]


def loading(load_paper: Load) -> Load:
    """As `load_paper`, which reads and checks a paper of this repository once; each caller gets a copy of its own."""
    known: dict[tuple[Path, int, str, str], Paper] = {}

    def load(path: Path | str, fabrics: Collection[str]) -> Paper:
        path = Path(path)
        if path.parent != PAPERS or not path.is_file():
            return load_paper(path, fabrics)
        fabric_key = canonical(dict(fabrics) if isinstance(fabrics, Mapping) else sorted(fabrics))
        key = path, path.stat().st_mtime_ns, type(fabrics).__name__, fabric_key
        if key not in known:
            known[key] = load_paper(path, fabrics)
        return copy.deepcopy(known[key])

    return load
