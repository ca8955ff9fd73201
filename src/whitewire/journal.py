"""The journal of one block: a folder a finished run, written beside and renamed into place when whole."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

PART = ".part-"


class Journal:
    """`folder` is raw/<block>; see docs/architecture.md for what is in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.runs, self.invalid = folder, folder / "runs", folder / "invalid"
        for path in (self.runs, self.invalid):
            path.mkdir(parents=True, exist_ok=True)
            for part in path.glob(f"{PART}*"):  # a run that was cut off
                shutil.rmtree(part)

    def has(self, run_id: str) -> bool:
        return (self.runs / run_id / "run.json").exists()

    def attempts(self, run_id: str) -> int:
        """How many attempts at this run were not valid."""
        return len(list(self.invalid.glob(f"{run_id}.*")))

    def write(self, run_id: str, record: Mapping, files: Mapping[str, str], valid: bool) -> Path:
        """Keep one attempt whole: its record and what the tools printed, by file name."""
        target = self.runs / run_id if valid else self.invalid / f"{run_id}.{self.attempts(run_id) + 1}"
        part = target.with_name(PART + target.name)
        part.mkdir()
        for name, content in files.items():
            (part / name).write_text(content)
        (part / "run.json").write_text(json.dumps(record, indent=1) + "\n")
        part.rename(target)
        return target

    def finish(self, record: Mapping) -> None:
        """Say that the block is finished."""
        part = self.folder / f"{PART}block.json"
        part.write_text(json.dumps(record, indent=1) + "\n")
        part.rename(self.folder / "block.json")


def read_runs(raw: Path, blocks: list[str]) -> list[tuple[Path, dict]]:
    """(folder, record) of every kept attempt of these blocks, valid or not."""
    found = []
    for block in blocks:
        for record in sorted((raw / block).glob("runs/*/run.json")) + sorted((raw / block).glob("invalid/*/run.json")):
            if not record.parent.name.startswith(PART):
                found.append((record.parent, json.loads(record.read_text())))
    return found
