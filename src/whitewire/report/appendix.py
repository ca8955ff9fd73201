"""`whitewire appendix`: the description of a run as an artifact, with what its evaluation needs, as a document.

It has what the forms of SC (artifact description and evaluation), of ACM and of USENIX ask for: hardware, software,
time, disk, steps, expected results with tolerances, and what cannot be run.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pandas as pd

from whitewire import atomic, paths
from whitewire.paths import shown
from whitewire.report.artifact import agreement_facts, artifact_of
from whitewire.report.compare import start_pages
from whitewire.report.render import EVERY_FORMAT, document, render_document
from whitewire.report.sites import folder_of

DOCUMENT, _RECORD = "appendix", "artifact.json"
_TABLES = {"claims.csv": "claims", "software.csv": "packages"}
"""Parts of the record that are tables too."""


def write_appendix(name: str) -> list[Path]:
    """Write results/appendix/<name>/ of a result folder: artifact.json, its tables and the document in every format;
    return the documents.

    `name` is a folder of results/, a path, or `reference`. Raises UserError where it holds no results, or broken ones.
    """
    results = folder_of(name, "TESTBED")
    target = paths.root() / "results" / "appendix" / results.name
    print(f"{shown(results)}: reading the results for the appendix", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="appendix-", dir=paths.temporary()) as scratch:
        facts = artifact_of(results, agreement_facts(results, Path(scratch)))
    target.mkdir(parents=True, exist_ok=True)
    atomic.write(target / _RECORD, atomic.as_json(facts, ensure_ascii=False))
    for file, part in _TABLES.items():
        atomic.write(target / file, pd.DataFrame(facts[part]).to_csv(index=False, lineterminator="\n"))  # type: ignore[literal-required]
    return render_document(
        document(DOCUMENT), target, target, EVERY_FORMAT, start_pages(target, {results.name: results})
    )
