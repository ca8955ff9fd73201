"""Judges and reports an opened bundle with the commands of the workflow that do not measure, as many at once as there
are processors."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from whitewire import atomic, paths
from whitewire.errors import Faults
from whitewire.records.links import LINKS_FOLDER, LINKS_RECORD
from whitewire.report import bundle
from whitewire.report.render import INDEX, TESTBED

ERROR = "whitewire: error: "
REPORTS = "reports"
"""The folder of an opened project with its pages."""
_OVERRIDES = ("PAPERS", "TESTBED", "EFFORT", "BUDGET")
"""Variables that would change the opened project's configuration."""
SAID = threading.Lock()
_PAGE = 40
"""Number of runs that take about as long to judge and show as a page without any."""


def opened_folder(name: str) -> Path:
    """Folder in which a bundle of this name is opened."""
    return paths.root() / "results" / bundle.OPENED / name


def reported(target: Path, record: bundle.BundleRecord, files: Mapping[str, bytes]) -> tuple[Path, list[str]]:
    """Make the folder `target`, a project of a bundle's results, judged and reported anew, replacing an earlier one.

    Returns its `results/<testbed>`, and the faults of pages, which do not stop other pages. Raises Faults if no page
    could be made, and OSError; the earlier folder then stays.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic.folder(target) as part:
        results = bundle.unpack(part, record, files.items())
        faults = rebuild(part, record)
        if not any((part / REPORTS).glob("*.html")):
            raise Faults(faults)
    return target / results.relative_to(part), faults


def start_page(project: Path) -> Path:
    """The start page of an opened project."""
    return project / REPORTS / f"{INDEX}.html"


def rebuild(project: Path, record: bundle.BundleRecord) -> list[str]:
    """Make the analysis and report of every paper in an opened project, the page of its testbed if the bundle has its
    tables, and the start page. Returns one line per fault, with the name of a page that could not be made."""
    results = f"results/{record['testbed']}"

    def render(page: str) -> list[str]:
        return _said(project, ["render", "--paper", page, "--results", results, "--output", REPORTS])

    def of(page: str) -> list[str]:
        analyse = ["analyse", "--paper", page, "--testbed", record["testbed"], "--results", f"{results}/{page}"]
        return (page != TESTBED and _said(project, analyse)) or render(page)

    # The largest first, or it would be alone at the end.
    order = sorted(record["papers"], key=lambda paper: -record["papers"][paper]["runs"])
    own = [TESTBED] if (project / results / LINKS_FOLDER / LINKS_RECORD).is_file() else []
    pages = [*order, *own]
    runs = {page: own["runs"] for page, own in record["papers"].items()}
    count = _counting({page: runs.get(page, 0) + _PAGE for page in (*pages, INDEX)})
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = dict(zip(pages, pool.map(lambda page: count(page, of(page)), pages), strict=True))
    said[INDEX] = count(INDEX, render(INDEX))
    lacking = {page for page in said if not (project / REPORTS / f"{page}.html").is_file()}
    return [
        f"{page}.html is not made: {fault}" if page in lacking else fault
        for page, faults in said.items()
        for fault in faults
    ]


def _counting(work: Mapping[str, float]) -> Callable[[str, list[str]], list[str]]:
    """Returns a function that passes on the faults of a page, and reports the number of finished pages and the time
    left.

    `work`: effort by page, in any unit.
    """
    begin, made = time.monotonic(), list[str]()

    def count(page: str, faults: list[str]) -> list[str]:
        with SAID:
            made.append(page)
            done = sum(work[each] for each in made)
            left = (time.monotonic() - begin) * (sum(work.values()) - done) / done
            print(f"report: {len(made)} of {len(work)} pages, about {left:.0f} s left", file=sys.stderr, flush=True)
        return faults

    return count


def _said(project: Path, argv: Sequence[str]) -> list[str]:
    """The errors that a stage's command prints; its other lines go to the terminal."""
    environment = {name: value for name, value in os.environ.items() if name not in _OVERRIDES}
    command = [*paths.KILLED_WITH_THIS, sys.executable, "-m", "whitewire", *argv]
    process = subprocess.Popen(
        command, cwd=project, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    errors, last = [], ""
    for line in process.stderr or ():
        last = line.strip() or last
        if line.startswith(ERROR):
            errors.append(line.removeprefix(ERROR).strip())
        else:
            with SAID:
                sys.stderr.write(line)
                sys.stderr.flush()
    if process.wait() and not errors:
        errors.append(f"{argv[0]}: {last or f'it ended with status {process.returncode}'}")
    return errors
