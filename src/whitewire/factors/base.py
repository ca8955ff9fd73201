"""Factors: name, meaning, and the proof of treatment, which shows that a run had its level.

A proof is a pure function of the run's record (run.json). It compares the levels asked for (`asked`) with what the
system reported afterwards (`evidence`, and the job's own reports). To add a factor, add a line to the table
(factors/__init__.py) and the code that reads its evidence from the system.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from whitewire.records.run import RunRecord
from whitewire.text import canonical

Value = Any
"""A level, or the value read back for it: a number, a text, or a mapping of settings."""


@dataclass(frozen=True)
class Proof:
    """Proof of treatment: the values asked of a run and seen, on the testbed's scale; `seen`: None if not reported.

    `same`: the report does not contradict what was asked.
    """

    factor: str
    asked: Value
    seen: Value | None
    unit: str
    same: bool

    @property
    def fault(self) -> str:
        """Why the run does not count; empty if it had what was asked."""
        if self.same:
            return ""
        unit = "" if self.unit in ("", "1") else f" {self.unit}"
        if self.seen is None:
            return f"{self.factor}: asked {_shown(self.asked)}{unit}, and nothing reports what it was"
        return f"{self.factor}: asked {_shown(self.asked)}{unit}, found {_shown(self.seen)}{unit}"


@dataclass(frozen=True)
class Factor:
    """Something that a paper may vary.

    `meaning` and `proved_by`: sentences for the docs. `asked` and `seen` read a record; `asked` returns None if the run
    has no such level, `seen` if nothing reports it. `within`: largest relative difference between them. `follows`:
    further properties of a cell's shape that change with it by definition (design/shapes.py). `needs`: the capability
    that a testbed needs to set it (description/capabilities.py); empty: none. `default`: its value in runs to which the
    paper gives none.
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
    """Whether real links may exceed the level or report nothing, because a switch's port may be the slower end."""
    part_of: str = ""
    """The factor whose levels include this one, and under whose name a paper varies it."""

    def check(self, record: RunRecord) -> Proof | None:
        """The proof of one run; None if nothing was asked, or if the factor does not vary and nothing reports it.

        If the factor varies but a real link reports no rate, `seen` is None, and the run still counts.
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
        """Whether the value must be reported and exact: always, except on real links, which have no shaper's burst."""
        return not self.real_links or bool(record["fabric"]["burst"])

    def _same(self, asked: Value, seen: Value, record: RunRecord) -> bool:
        if isinstance(asked, Mapping | str):
            return canonical(asked) == canonical(seen)
        if not self._must_report(record) and seen >= asked:
            return True
        within = max(self.within, record.get("inexact", 0.0)) if self.unit == "B" else self.within
        return abs(seen - asked) <= within * abs(asked)


def asked_for(name: str) -> Callable[[RunRecord], Value | None]:
    """A function that reads from a record the paper's value under that name, at full scale."""
    return lambda record: record["asked"].get(name)


def _shown(value: Value) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={of}" for name, of in value.items()) or "nothing"
    return f"{value:.10g}" if isinstance(value, int | float) else str(value)
