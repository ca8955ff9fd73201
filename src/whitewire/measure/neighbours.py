"""Other lanes beside a block: processes that make the same cells on clusters of their own until the block is made."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from whitewire import atomic, lanes
from whitewire.description.paper import Paper
from whitewire.design import synthetic
from whitewire.errors import UserError
from whitewire.lanes import LANES_VARIABLE, Lanes
from whitewire.measure.block import Block
from whitewire.paths import KILLED_WITH_THIS, shown

_RUNS = 1000
"""Runs of each cell in another lane: enough to outlast any block."""
_START_S, _PAUSE_S = 300.0, 0.5
"""Seconds within which another lane must make its first attempt, and seconds between two checks for that."""
TASK = "task.json"
STATEMENT = "from whitewire.measure.neighbours import measure_beside; measure_beside()"


class Ended(UserError):
    """Another lane ended while the block was measured, so the block was not beside it all the time."""


@contextmanager
def neighbours(paper: Paper, testbed: Mapping[str, Any], count: int, folder: Path) -> Iterator[None]:
    """Let `count` other lanes measure during the `with` block; their results in `folder` are removed afterwards.

    Raises UserError if one does not begin, Ended if one ends before the `with` block does.
    """
    if not count:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    # Children of a killed lane may write for a moment more, so each start has another folder.
    own = Path(tempfile.mkdtemp(dir=folder))
    task = {"raw": paper.raw, "path": str(paper.path), "testbed": testbed}
    before = os.environ.get(LANES_VARIABLE)
    with ExitStack() as ended:
        ended.callback(shutil.rmtree, folder, ignore_errors=True)
        ended.callback(_restore, before)
        os.environ[LANES_VARIABLE] = Lanes.of(count + 1, own / "locks", [lanes.NEVER_BEGUN]).text()
        started = [_started({**task, "folder": str(own / str(number))}, ended) for number in range(1, count + 1)]
        _wait_until_measuring(started, own)
        yield
        for number, process in enumerate(started, start=1):
            if process.poll() is not None:
                said = _said(own / str(number)) or "it said nothing"
                raise Ended(f"another lane ended while the block was measured: {said}")


def _restore(value: str | None) -> None:
    os.environ.pop(LANES_VARIABLE, None)
    if value is not None:
        os.environ[LANES_VARIABLE] = value


def _started(task: Mapping[str, Any], ended: ExitStack) -> subprocess.Popen[bytes]:
    folder = Path(task["folder"])
    folder.mkdir(parents=True)
    atomic.write(folder / TASK, json.dumps(task))
    log = ended.enter_context((folder / "log").open("w"))
    argv = [*KILLED_WITH_THIS, sys.executable, "-c", STATEMENT, str(folder / TASK)]
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    ended.callback(process.wait)
    ended.callback(process.kill)
    return process


def _wait_until_measuring(started: Sequence[subprocess.Popen[bytes]], folder: Path) -> None:
    """Wait until each lane has made an attempt at a run or an overhead run."""
    until = time.monotonic() + _START_S
    for number, process in enumerate(started, start=1):
        block = folder / str(number) / synthetic.BLOCK
        while not any(block.glob("*/*/run.json")):
            if process.poll() is not None or time.monotonic() > until:
                raise UserError(f"another lane began no run: {_said(folder / str(number)) or shown(block)}")
            time.sleep(_PAUSE_S)


def _said(folder: Path) -> str:
    """The last line that a lane printed."""
    return "".join((folder / "log").read_text().strip().splitlines()[-1:])


def measure_beside() -> None:
    """Make runs of a paper on a testbed, by the task file: the work of another lane's process."""
    task = json.loads(Path(sys.argv[1]).read_text())
    paper, folder = Paper(task["raw"], Path(task["path"])), Path(task["folder"]) / synthetic.BLOCK
    folder.mkdir()
    rows = synthetic.of_kinds(paper, task["testbed"], _RUNS)
    Block(paper, task["testbed"], synthetic.BLOCK, rows, folder, raises_k=False).measure()
