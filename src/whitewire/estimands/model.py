"""`model`: what a function of whitewire.models gives."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, ClassVar

from whitewire import models
from whitewire.estimands.base import RANGE, UNIT, Estimand, Problem
from whitewire.estimands.evidence import Evidence
from whitewire.estimands.protocols import PaperView, RunsView
from whitewire.models import model_arguments


class Model(Estimand):
    name: ClassVar[str] = "model"
    meaning: ClassVar[str] = "What a model computes; the verdict is consistent or inconsistent."
    keys: ClassVar[Mapping[str, Any]] = {
        "model": {"description": "The model.", "$ref": "#/$defs/model"},
        "arguments": {"description": "Its arguments.", "$ref": "#/$defs/arguments"},
    }
    target: ClassVar[Mapping[str, Any]] = RANGE | UNIT
    routes: ClassVar[tuple[str, ...]] = ("modelled",)

    def problems(self, paper: PaperView, fabrics: Collection[str]) -> Iterator[Problem]:
        model = self.test["model"]
        names = model_arguments(model)
        for name, value in self.test["arguments"].items():
            paper.evaluate(value)
            if name not in names:
                yield ".arguments", name, f"an argument of {model}", names

    def describe(self) -> str:
        return f"model {self.test['model']}"

    def evaluate(self, runs: RunsView, paper: PaperView) -> Evidence:
        arguments = {name: paper.evaluate(value) for name, value in self.test["arguments"].items()}
        found = float(models.MODELS[self.test["model"]](**arguments))
        return Evidence("model", found, unit=self.test.get("unit", "1"))
