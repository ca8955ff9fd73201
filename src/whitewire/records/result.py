"""The result of a run: its record and verbatim files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from whitewire.records.run import RunRecord


@dataclass(frozen=True)
class Result:
    """The result of a run: its record (run.json) and verbatim files by name."""

    record: RunRecord
    files: dict[str, str]

    def plus(self, record: RunRecord, files: Mapping[str, str] | None = None) -> Result:
        """The result with further keys and files."""
        return Result(self.record | record, self.files | dict(files or {}))
