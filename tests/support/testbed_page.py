"""A testbed's results by themselves: records and tables that its page shows, whole by their forms."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from whitewire.analysis.trust import OF_TRUST
from whitewire.paths import HOME
from whitewire.tidy.tables import LINKS_COLUMNS, as_csv

Rows = Mapping[str, Sequence[Mapping[str, object]]]


def links_record(**plan: Any) -> dict[str, Any]:
    """links.json of the reference, with these in its plan."""
    record = json.loads((HOME / "results" / "reference" / "links" / "links.json").read_text())
    return record | {"plan": record["plan"] | plan}


def trust_record(**other: Any) -> dict[str, Any]:
    """trust.json with two parts."""
    part = {"units": 1, "planned": 1, "unit": "round", "seconds": 1.0, "papers": [], "description": "d", "begun": 0.0}
    parts = [part | {"part": name} for name in ("links", "ratio")]
    record = {"testbed": "emulated", "description": "d", "parts": parts,
              "left_out": [], "begun": 1.7e9, "seconds": 100.0, "bound": 0.01, "reach": 1200.0, "commit": "c",
              "modified": False, "software": "s"}  # fmt: skip
    return record | other


def write(results: Path, name: str, record: Mapping[str, Any], rows: Rows) -> Path:
    """`results`/`name` (links or trust) with its record and these tables, the others empty; return its folder."""
    folder, columns = results / name, LINKS_COLUMNS if name == "links" else OF_TRUST
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(record))
    for table, own in columns.items():
        (folder / "tables" / table).write_bytes(as_csv(own, rows.get(table.removesuffix(".csv"), []), table))
    return folder
