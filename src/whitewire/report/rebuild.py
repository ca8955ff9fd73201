"""Judges and reports an opened parcel: the same commands as of the workflow, as many at once as there are processors,
and none that measures."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from whitewire import paths
from whitewire.errors import Faults
from whitewire.report import parcel

INDEX = "index"
ERROR = "whitewire: error: "
OVERRIDES = ("PAPERS", "TESTBED", "EFFORT", "BUDGET")
"""What of the environment would change the opened project's configuration."""
SAID = threading.Lock()


def target(name: str) -> Path:
    """Where a parcel of this name is opened."""
    return paths.root() / "results" / parcel.OPENED / name


def rebuild(project: Path, record: parcel.Told) -> Path:
    """Make analysis and reports of every paper in an opened project, and the start page, whose path is returned.

    Raises Faults with what the commands said.
    """
    results = f"results/{record['testbed']}"

    def of(paper: str) -> list[str]:
        analyse = ["analyse", "--paper", paper, "--testbed", record["testbed"], "--results", f"{results}/{paper}"]
        render = ["render", "--paper", paper, "--results", results, "--output", "reports"]
        return _said(project, analyse) or _said(project, render)

    # The largest first, or it would be alone at the end.
    order = sorted(record["papers"], key=lambda paper: -record["papers"][paper]["runs"])
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = [fault for faults in pool.map(of, order) for fault in faults]
    faults = faults or _said(project, ["render", "--paper", INDEX, "--results", results, "--output", "reports"])
    if faults:
        raise Faults(faults)
    return project / "reports" / f"{INDEX}.html"


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
