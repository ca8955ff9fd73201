"""`expression`: arithmetic over the paper's own values and constants."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from whitewire.estimands.base import Estimand, Problem, text_key
from whitewire.estimands.evidence import Evidence

if TYPE_CHECKING:
    from whitewire.analysis.runs import Runs
    from whitewire.description.paper import Paper


class Expression(Estimand):
    name: ClassVar[str] = "expression"
    meaning: ClassVar[str] = "Arithmetic over the paper's own values and constants"
    keys: ClassVar[Mapping[str, Any]] = {"expression": text_key("arithmetic over value ids (E_V07) and constants")}
    routes: ClassVar[tuple[str, ...]] = ("arithmetic",)

    def problems(self, paper: Paper, fabrics: Collection[str]) -> Iterator[Problem]:
        paper.evaluate(self.test["expression"])
        yield from ()

    def describe(self) -> str:
        return self.test["expression"]

    def evaluate(self, runs: Runs, paper: Paper) -> Evidence:
        return Evidence("paper", paper.evaluate(self.test["expression"]), unit=self.test.get("unit", "1"))
