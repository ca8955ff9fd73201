"""The journal of one block: a folder per finished run or overhead run, renamed into place when it is whole."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from whitewire import atomic
from whitewire.atomic import PART
from whitewire.records import asked, manifest, overhead, reasons
from whitewire.records.reasons import BUDGET, FAILED, OTHERS, Reason
from whitewire.records.run import RunRecord

KEPT = ("runs", "invalid", "floors")
"""Folders of a block that hold a folder per run, attempt or overhead run."""


class BlockRecord(TypedDict):
    """block.json: its runs' ids, those given up, those that cannot be made here and why, seconds, the code's commit.

    Old ones have no more than that.
    """

    block: str
    runs: list[str]
    given_up: list[str]
    unavailable: dict[str, str]
    left: NotRequired[dict[str, str]]
    """Runs that were not made, and why."""
    left_codes: NotRequired[dict[str, str]]
    """The codes of these reasons (records/reasons.py); old records have none."""
    no_floor: NotRequired[dict[str, str]]
    """Kinds of overhead runs of which none was valid, and why the last one was not."""
    rung: NotRequired[int]
    """Index of the scale candidate that its runs have."""
    budget_seconds: NotRequired[float | None]
    """How long the block had until its first interim analysis; None: without an end."""
    start_budget_seconds: NotRequired[float | None]
    """How long the start that finished it might measure, all blocks together; None: without an end."""
    pace: NotRequired[float | None]
    """Seconds that valid runs took for each planned second; None where none was made."""
    spent: NotRequired[dict[str, float]]
    """Seconds by what was done: start, warm-up, floors, runs, disturbed, waiting, looks."""
    marks: NotRequired[list[str]]
    """What of the testbed was beyond its bound and used all the same, a line each."""
    seconds: float
    commit: str
    modified: bool
    software: str


class Journal:
    """`folder` is raw/<block>; see docs/inside/tables.md for what is in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.runs, self.invalid = folder, folder / "runs", folder / "invalid"
        self.overheads = folder / "floors"
        for path in (self.runs, self.invalid, self.overheads):
            path.mkdir(parents=True, exist_ok=True)
            atomic.clear(path)  # a run that was cut off

    def has(self, run_id: str) -> bool:
        return (self.runs / run_id / "run.json").exists()

    def attempt(self, run_id: str) -> int:
        """The number of the next attempt at this run: one more than of any that was not valid and is still there."""
        made = (path.name.removeprefix(f"{run_id}.") for path in self.invalid.glob(f"{run_id}.*"))
        return 1 + max((int(number) for number in made if number.isdecimal()), default=0)

    def write(self, run_id: str, record: RunRecord, files: Mapping[str, str], valid: bool) -> Path:
        """Keep one attempt whole: its record and what the tools printed, by file name. Raises OSError."""
        target = self.runs / run_id if valid else self.invalid / f"{run_id}.{self.attempt(run_id)}"
        return self._keep(target, record, files)

    def set_aside(self, run_id: str, why: Reason) -> None:
        """Take a run that counted for one that does not, for a reason that came later. Raises OSError."""
        folder = self.runs / run_id
        own = ("run.json", manifest.NAME)
        files = {path.name: path.read_text() for path in folder.iterdir() if path.name not in own}
        record: RunRecord = json.loads((folder / "run.json").read_text())
        record |= {**reasons.validity([why]), "attempt": self.attempt(run_id)}
        self.write(run_id, record, files, valid=False)
        atomic.remove(folder)

    def write_overhead(self, record: RunRecord, files: Mapping[str, str]) -> Path:
        """Keep one overhead run whole, valid or not; its record gets the block's next `number`. Raises OSError."""
        with atomic.exclusive(self.overheads):  # lanes of the block number theirs too
            number = 1 + max((int(path.name) for path in self.overheads.glob("[0-9]*")), default=0)
            return self._keep(self.overheads / f"{number:03d}", {**record, "number": number}, files)

    def _keep(self, target: Path, record: RunRecord, files: Mapping[str, str]) -> Path:
        contents = {name: content.encode() for name, content in files.items()}
        contents["run.json"] = _json(record)
        with atomic.folder(target) as part:
            for name, content in contents.items():
                (part / name).write_bytes(content)
            (part / manifest.NAME).write_bytes(_json(manifest.of(contents)))
        return target

    def begin(self) -> None:
        """From here on the block is not finished: further runs are made."""
        manifest.open_record(self.folder, "block.json")

    def finish(self, record: BlockRecord) -> None:
        """Say that the block is finished, and how all that is in it ends up."""
        manifest.close_record(self.folder, "block.json", record, kept_files(self.folder))


def kept_files(folder: Path) -> list[Path]:
    """What a block's manifest lists but for block.json: environment, probes, and each run's or overhead run's manifest.

    Of a run that was kept before there were manifests it is all files.
    """
    patterns = ("environment*.json", asked.NAME, "probes*/**/*", "drives*/**/*")
    found = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    for kind in KEPT:
        for each in sorted((folder / kind).glob("[!.]*")):
            listed = each / manifest.NAME
            found += [listed] if listed.exists() else sorted(each.glob("*"))
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
    """Runs that a finished block did not make, and why."""
    codes = record.get("left_codes", {})
    return {run_id: reasons.read(said, codes.get(run_id, "")) for run_id, said in record.get("left", {}).items()}


def disturbed(folder: Path, record: BlockRecord) -> list[str]:
    """Runs of a finished block that a busy machine disturbed: others used processors, or the last attempt lacked them.

    `AGAIN=busy` makes them again.
    """
    left = [run_id for run_id, why in left_of(record).items() if why.code == OTHERS]
    return left + [name for name in record["given_up"] if reasons.short(_last_codes(folder, name))]


def not_made(folder: Path, record: BlockRecord) -> Counter[str]:
    """How many runs a finished block did not make that another start makes, by code; of OTHERS those `disturbed`."""
    codes = Counter(why.code for why in left_of(record).values())
    return Counter({BUDGET: codes[BUDGET], FAILED: codes[FAILED], OTHERS: len(disturbed(folder, record))})


def _last_codes(folder: Path, run_id: str) -> list[str]:
    """Why the last attempt at a run that was given up does not count."""
    made = sorted(folder.glob(f"invalid/{run_id}.*/run.json"), key=lambda path: int(path.parent.suffix[1:]))
    return reasons.codes_of(json.loads(made[-1].read_text())) if made else []


def read_overheads(block: Path) -> list[RunRecord]:
    """Records of all overhead runs of a block in the order of their making, valid or not; none in old results."""
    found = sorted(block.glob("floors/*/run.json"))
    return [json.loads(path.read_text()) for path in found if not path.parent.name.startswith(PART)]


def valid_overheads(block: Path) -> dict[str, list[RunRecord]]:
    """Valid overhead runs of a block by their key."""
    return overhead.valid(read_overheads(block))
