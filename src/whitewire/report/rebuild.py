"""Judges and reports an opened parcel: the same commands as of the workflow, as many at once as there are processors,
and none that measures."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from whitewire import paths, whole
from whitewire.errors import Faults
from whitewire.records import links
from whitewire.report import parcel
from whitewire.report.render import INDEX, TESTBED

ERROR = "whitewire: error: "
OVERRIDES = ("PAPERS", "TESTBED", "EFFORT", "BUDGET")
"""What of the environment would change the opened project's configuration."""
SAID = threading.Lock()


def target(name: str) -> Path:
    """Where a parcel of this name is opened."""
    return paths.root() / "results" / parcel.OPENED / name


def reported(target: Path, record: parcel.Told, files: Mapping[str, bytes]) -> tuple[Path, list[str]]:
    """Make the folder `target`, a project with a parcel's results, judged and reported anew, in place of an earlier
    one; return its `results/<testbed>`, and what keeps the testbed's own page from being made.

    Raises Faults with what the commands said, and OSError; the earlier folder then stays as it was.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with whole.folder(target) as part:
        results = parcel.unpack(part, record, files.items())
        faults = rebuild(part, record)
    return target / results.relative_to(part), faults


def start_page(project: Path) -> Path:
    """The start page of an opened project."""
    return project / "reports" / f"{INDEX}.html"


def rebuild(project: Path, record: parcel.Told) -> list[str]:
    """Make analysis and reports of every paper in an opened project, the page of its testbed where the parcel has its
    tables, and the start page; return what keeps the testbed's page, which others do without, from being made.

    Raises Faults with what the commands said.
    """
    results = f"results/{record['testbed']}"

    def render(page: str) -> list[str]:
        return _said(project, ["render", "--paper", page, "--results", results, "--output", "reports"])

    def of(page: str) -> list[str]:
        analyse = ["analyse", "--paper", page, "--testbed", record["testbed"], "--results", f"{results}/{page}"]
        return (page != TESTBED and _said(project, analyse)) or render(page)

    # The largest first, or it would be alone at the end.
    order = sorted(record["papers"], key=lambda paper: -record["papers"][paper]["runs"])
    own = [TESTBED] if (project / results / links.FOLDER / links.RECORD).is_file() else []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = dict(zip([*order, *own], pool.map(of, [*order, *own]), strict=True))
    of_testbed = said.pop(TESTBED, [])
    faults = [fault for each in said.values() for fault in each] or render(INDEX)
    if faults:
        raise Faults([*faults, *of_testbed])
    return of_testbed


def _said(project: Path, argv: Sequence[str]) -> list[str]:
    """The errors of a command of a stage; its other lines go on to the terminal."""
    environment = {name: value for name, value in os.environ.items() if name not in OVERRIDES}
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
