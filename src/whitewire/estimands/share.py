"""`share`: the mean of a metric in a cell over a constant or the rate of links."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from whitewire import quantities, statistics
from whitewire.estimands.base import METRIC_KEY, Problem, cell_in_words, cell_key, cell_of_test, text_key
from whitewire.estimands.cells import ALSO, STATISTIC, OfCells
from whitewire.estimands.evidence import Sample
from whitewire.estimands.protocols import PaperView, RunsView
from whitewire.levels import Cell, level_text
from whitewire.units import MB_PER_GBIT, gbit_per_s
from whitewire.workloads import unit_of

_OVER = {
    "type": "object",
    "description": "The divisor: either `constant` or `link_of`.",
    "additionalProperties": False,
    "properties": {
        "constant": {
            "type": "number",
            "description": "A number, in the metric's unit. 1 leaves the metric as it is.",
            "exclusiveMinimum": 0,
            "examples": [1],
        },
        "unit": text_key(
            "Unit of the quotient by a constant, as verdict tables print it; 1 where it is not given.",
            examples=["MB/s"],
        ),
        "link_of": {**text_key("Fabric whose rate divides, by its name: 10gbe is 1250 MB/s."), "examples": ["10gbe"]},
        "links": {
            "type": "integer",
            "description": "Number of such links, 1 where it is not given.",
            "minimum": 1,
            "maximum": 1_000_000,
            "examples": [4],
        },
    },
    "required": [],
    "minProperties": 1,
    "examples": [{"link_of": "10gbe"}, {"constant": 1, "unit": "MB/s"}],
}


class Share(OfCells):
    name: ClassVar[str] = "share"
    meaning: ClassVar[str] = (
        "Geometric (or arithmetic) mean of a metric in one cell over a constant, or over the rate of links."
    )
    keys: ClassVar[Mapping[str, Any]] = {"metric": METRIC_KEY, "cell": cell_key("The cell."), "over": _OVER}
    optional: ClassVar[Mapping[str, Any]] = {"also": ALSO} | STATISTIC
    signs: ClassVar[tuple[int, ...]] = (1,)
    absolute: ClassVar[bool] = True

    def problems(self, paper: PaperView, fabrics: Collection[str]) -> Iterator[Problem]:
        yield from super().problems(paper, fabrics)
        over = self.test["over"]
        if ("constant" in over) == ("link_of" in over):
            yield ".over", over, "either constant or link_of", ()
        if "link_of" in over and over["link_of"] not in fabrics:
            yield ".over.link_of", over["link_of"], "a fabric of the testbed", fabrics
        own, metric = over.get("unit"), unit_of(self.test["metric"])
        if own and over.get("constant") == 1:
            try:
                wanted, found = quantities.dimension(metric, paper.units), quantities.dimension(own, paper.units)
            except quantities.UnknownUnit:
                return  # reported with the other units
            if wanted != found or quantities.factor(own, metric, paper.units) != 1:
                yield ".over.unit", own, f"{metric}, the unit of {self.test['metric']}", ()

    def unit(self) -> str:
        over = self.test["over"]
        if over.get("constant") == 1:
            return over.get("unit") or unit_of(self.test["metric"])
        return "1" if "link_of" in over else over.get("unit", "1")

    def cells(self) -> list[Cell]:
        return [cell_of_test(self.test["cell"])]

    def describe(self) -> str:
        over = self.test["over"]
        links = f"{over.get('links', 1)} x {over['link_of']} link" if "link_of" in over else ""
        of = "mean " if self.of_means else ""
        return (
            f"{of}{self.test['metric']}: {cell_in_words(self.test['cell'])} / {links or level_text(over['constant'])}"
        )

    def same_as(self) -> list[Any]:
        return [*super().same_as(), self.test["over"]]

    def scale(self) -> float:
        over = self.test["over"]
        return 1 / (over.get("constant", 0) or gbit_per_s(over["link_of"]) * MB_PER_GBIT * over.get("links", 1))

    def rearranged(self, samples: Sequence[Sample], runs: RunsView, no_effect: float) -> float | None:
        return statistics.sign_flip_p(samples[0].values * self.scale(), no_effect)
