"""The journal of one block: a folder per finished run or overhead run, renamed into place when complete."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from whitewire import atomic
from whitewire.atomic import PART, hold_folder
from whitewire.records import asked, manifest, overhead, reasons
from whitewire.records.asked import ASKED_FILE
from whitewire.records.manifest import MANIFEST_FILE, manifest_of
from whitewire.records.reasons import BUDGET, FAILED, OTHERS, Reason
from whitewire.records.run import RunRecord

KEPT = ("runs", "invalid", "floors")
"""Subfolders of a block, with a folder per valid run, invalid attempt or overhead run."""


class BlockRecord(TypedDict):
    """block.json: ids of its runs, those given up, those unavailable here and why, seconds, the code's commit."""

    block: str
    runs: list[str]
    given_up: list[str]
    unavailable: dict[str, str]
    left: dict[str, str]
    """Runs that were not made, and why."""
    left_codes: dict[str, str]
    """Codes of the reasons in `left` (records/reasons.py)."""
    no_floor: dict[str, str]
    """Kinds of overhead runs without a valid one → why the last one was invalid."""
    rung: int
    """Index of the scale candidate of its runs."""
    budget_seconds: float | None
    """Seconds that the block had until its first interim analysis; None: unlimited."""
    start_budget_seconds: float | None
    """Seconds that the start that finished it had for all blocks together; None: unlimited."""
    pace: float | None
    """Actual over planned time of valid runs; None without any."""
    spent: dict[str, float]
    """Seconds by activity: start, warm-up, floors, runs, disturbed, waiting, looks."""
    marks: list[str]
    """Parts of the testbed that were used although beyond their bounds, a line each."""
    seconds: float
    commit: str
    modified: bool
    software: str


class Journal:
    """The journal in `folder`, raw/<block>; its files are listed in docs/inside/tables.md."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.runs, self.invalid = folder, folder / "runs", folder / "invalid"
        self.overheads = folder / "floors"
        for path in (self.runs, self.invalid, self.overheads):
            path.mkdir(parents=True, exist_ok=True)
            atomic.clear(path)  # a run that was cut off

    def has(self, run_id: str) -> bool:
        return (self.runs / run_id / "run.json").exists()

    def attempt(self, run_id: str) -> int:
        """The number of the next attempt at this run: one more than the highest among its kept invalid attempts."""
        made = (path.name.removeprefix(f"{run_id}.") for path in self.invalid.glob(f"{run_id}.*"))
        return 1 + max((int(number) for number in made if number.isdecimal()), default=0)

    def write(self, run_id: str, record: RunRecord, files: Mapping[str, str], valid: bool) -> Path:
        """Keep one attempt atomically: its record, and the tools' output by file name. Raises OSError."""
        target = self.runs / run_id if valid else self.invalid / f"{run_id}.{self.attempt(run_id)}"
        return self._keep(target, record, files)

    def set_aside(self, run_id: str, why: Reason) -> None:
        """Make a valid run an invalid attempt, for a reason found later. Raises OSError."""
        folder = self.runs / run_id
        own = ("run.json", MANIFEST_FILE)
        files = {path.name: path.read_text() for path in folder.iterdir() if path.name not in own}
        record: RunRecord = json.loads((folder / "run.json").read_text())
        record |= {**reasons.validity([why]), "attempt": self.attempt(run_id)}
        self.write(run_id, record, files, valid=False)
        atomic.remove(folder)

    def write_overhead(self, record: RunRecord, files: Mapping[str, str]) -> Path:
        """Keep one overhead run atomically, valid or not; its record gets the block's next `number`. Raises OSError."""
        with hold_folder(self.overheads):  # lanes of the block number theirs too
            number = 1 + max((int(path.name) for path in self.overheads.glob("[0-9]*")), default=0)
            return self._keep(self.overheads / f"{number:03d}", {**record, "number": number}, files)

    def _keep(self, target: Path, record: RunRecord, files: Mapping[str, str]) -> Path:
        contents = {name: content.encode() for name, content in files.items()}
        contents["run.json"] = _json(record)
        with atomic.folder(target) as part:
            for name, content in contents.items():
                (part / name).write_bytes(content)
            (part / MANIFEST_FILE).write_bytes(_json(manifest_of(contents)))
        return target

    def begin(self) -> None:
        """Mark the block as unfinished, before further runs are made."""
        manifest.open_record(self.folder, "block.json")

    def finish(self, record: BlockRecord) -> None:
        """Mark the block as finished: write block.json and the manifest of all its files.

        The end of a start that began the block is noted just before: claims are judged by finished blocks alone, and a
        kill in between marks them as judged before.
        """
        if not (self.folder / MANIFEST_FILE).exists():
            asked.end(self.folder, time.time())
        manifest.close_record(self.folder, "block.json", record, files_of_block(self.folder))


def files_of_block(folder: Path) -> list[Path]:
    """Files of a block's manifest except for block.json: environment, probes, and the manifest of each run or overhead
    run."""
    patterns = ("environment*.json", ASKED_FILE, "probes*/**/*")
    found = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    for kind in KEPT:
        found += sorted((folder / kind).glob(f"[!.]*/{MANIFEST_FILE}"))
    return [path for path in found if path.is_file() and not path.name.startswith(PART)]


def _json(record: Mapping[str, Any]) -> bytes:
    return atomic.as_json(record).encode()


def read_runs(raw: Path, blocks: Sequence[str]) -> list[tuple[Path, RunRecord]]:
    """(folder, record) of every kept attempt of these blocks, valid or not."""
    found = []
    for block in blocks:
        for record in sorted((raw / block).glob("runs/*/run.json")) + sorted((raw / block).glob("invalid/*/run.json")):
            if not record.parent.name.startswith(PART):
                found.append((record.parent, json.loads(record.read_text())))
    return found


def left_of(record: BlockRecord) -> dict[str, Reason]:
    """Runs that a finished block did not make → why."""
    codes = record["left_codes"]
    return {run_id: Reason(codes.get(run_id, ""), said=said) for run_id, said in record["left"].items()}


def disturbed(folder: Path, record: BlockRecord) -> list[str]:
    """Runs of a finished block that a busy machine prevented: other programs used the processors, or the last attempt
    lacked processors. `AGAIN=busy` makes them again.
    """
    left = [run_id for run_id, why in left_of(record).items() if why.code == OTHERS]
    return left + [name for name in record["given_up"] if reasons.short(_last_codes(folder, name))]


def not_made(folder: Path, record: BlockRecord) -> Counter[Reason]:
    """Number of missing runs of a finished block that another start can make, by reason; of clusters that failed with
    the sentence, and for OTHERS see disturbed()."""
    left = left_of(record).values()
    found = Counter(why for why in left if why.code == FAILED)
    found[Reason(BUDGET)] = sum(why.code == BUDGET for why in left)
    found[Reason(OTHERS)] = len(disturbed(folder, record))
    return found


def _last_codes(folder: Path, run_id: str) -> list[str]:
    """Codes of the reasons why the last attempt at a run that was given up is invalid."""
    made = sorted(folder.glob(f"invalid/{run_id}.*/run.json"), key=lambda path: int(path.parent.suffix[1:]))
    if not made:
        return []
    record: RunRecord = json.loads(made[-1].read_text())
    return record["why_codes"]


def read_overheads(block: Path) -> list[RunRecord]:
    """Records of all overhead runs of a block in the order of their making, valid or not."""
    found = sorted(block.glob("floors/*/run.json"))
    return [json.loads(path.read_text()) for path in found if not path.parent.name.startswith(PART)]


def valid_overheads(block: Path) -> dict[str, list[RunRecord]]:
    """Valid overhead runs of a block by kind."""
    return overhead.valid(read_overheads(block))
