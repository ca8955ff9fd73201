"""`expression`: arithmetic over the paper's own values and constants."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, ClassVar

from whitewire.estimands.base import RANGE, UNIT, Estimand, Problem
from whitewire.estimands.evidence import Evidence
from whitewire.estimands.protocols import PaperView, RunsView


class Expression(Estimand):
    name: ClassVar[str] = "expression"
    meaning: ClassVar[str] = (
        "Arithmetic over the paper's own values and constants; the verdict is consistent or inconsistent."
    )
    keys: ClassVar[Mapping[str, Any]] = {
        "expression": {
            "type": "string",
            "minLength": 1,
            "description": "The arithmetic.",
            "examples": ["E_V10 / E_V07"],
        }
    }
    target: ClassVar[Mapping[str, Any]] = RANGE | UNIT
    routes: ClassVar[tuple[str, ...]] = ("arithmetic",)

    def problems(self, paper: PaperView, fabrics: Collection[str]) -> Iterator[Problem]:
        paper.evaluate(self.test["expression"])
        yield from ()

    def describe(self) -> str:
        return self.test["expression"]

    def evaluate(self, runs: RunsView, paper: PaperView) -> Evidence:
        return Evidence("paper", paper.evaluate(self.test["expression"]), unit=self.test.get("unit", "1"))
