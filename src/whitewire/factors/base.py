"""What a factor is to the rest of the house: its name and meaning, and the proof that a run really had its level.

A proof is a pure function over the run's record (run.json): what was asked, which the record has under `asked`, against
what the system said afterwards, under `evidence` and in the job's own words. A further factor is one line in the table
(factors/__init__.py), and whatever reads its evidence back from the system.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from whitewire.records.run import RunRecord
from whitewire.text import canonical

Value = Any
"""A level, or what was read back in its place: a number, a text, or a mapping of settings."""


@dataclass(frozen=True)
class Proof:
    """What was asked of a run and what was so, on the testbed's scale; `seen` is None where nothing reports it.

    `same`: nothing speaks against it.
    """

    factor: str
    asked: Value
    seen: Value | None
    unit: str
    same: bool

    @property
    def fault(self) -> str:
        """Why the run may not count; empty where it had what was asked."""
        if self.same:
            return ""
        unit = "" if self.unit in ("", "1") else f" {self.unit}"
        if self.seen is None:
            return f"{self.factor}: asked {_shown(self.asked)}{unit}, and nothing reports what it was"
        return f"{self.factor}: asked {_shown(self.asked)}{unit}, found {_shown(self.seen)}{unit}"


@dataclass(frozen=True)
class Factor:
    """Something that a paper may vary.

    `meaning` and `proved_by` are sentences for the docs. `asked` and `seen` read a record; `asked` gives None where the
    run was asked nothing of the kind, `seen` where nothing reports it. `within`: by which share of what was asked they
    may differ. `follows`: what else of a cell's shape changes with it, by its definition (design/shapes.py). `needs`:
    the capability of testbeds that can set it (description/capabilities.py); empty: all can. `default`: of runs to
    which the paper gives no value.
    """

    name: str
    meaning: str
    proved_by: str
    asked: Callable[[RunRecord], Value | None]
    seen: Callable[[RunRecord], Value | None]
    unit: str = "1"
    within: float = 0.0
    follows: frozenset[str] = frozenset()
    needs: str = ""
    default: Any = None
    real_links: bool = False
    """Whether real links may have more than was asked, or say nothing: a switch's port may be the slower end."""
    part_of: str = ""
    """The factor whose levels say this too, and under whose name a paper varies it."""

    def check(self, record: RunRecord) -> Proof | None:
        """The proof of one run; None where nothing was asked, or where it does not vary and nothing reports it.

        Of a real link that varies and reports no rate, the proof says so, and counts against nothing.
        """
        asked = self.asked(record)
        if asked is None:
            return None
        seen = self.seen(record)
        varies = (self.part_of or self.name) in record.get("factors", {})
        if seen is None:
            return Proof(self.name, asked, None, self.unit, not self._must_report(record)) if varies else None
        return Proof(self.name, asked, seen, self.unit, self._same(asked, seen, record))

    def _must_report(self, record: RunRecord) -> bool:
        """Whether it has to be reported, and exactly: always but of real links, which have no shaper's burst."""
        return not self.real_links or bool(record["fabric"].get("burst"))

    def _same(self, asked: Value, seen: Value, record: RunRecord) -> bool:
        if isinstance(asked, Mapping | str):
            return canonical(asked) == canonical(seen)
        if not self._must_report(record) and seen >= asked:
            return True
        within = max(self.within, record.get("inexact", 0.0)) if self.unit == "B" else self.within
        return abs(seen - asked) <= within * abs(asked)


def asked_for(name: str) -> Callable[[RunRecord], Value | None]:
    """What the paper's YAML asks under that name, at full scale."""
    return lambda record: record["asked"].get(name)


def _shown(value: Value) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={of}" for name, of in value.items()) or "nothing"
    return f"{value:.10g}" if isinstance(value, int | float) else str(value)
