"""The interface of estimands to other packages: keys of the test, cells, words and evidence.

Adding an estimand is one module with a subclass and its line in the table (estimands/__init__.py). It gets the table of
runs as an object, `RunsView`, and imports no analysis.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, ClassVar

from whitewire.estimands.evidence import Evidence
from whitewire.estimands.protocols import PaperView, RunsView
from whitewire.levels import Cell, cell_name
from whitewire.rule import ALPHA, SMALLEST_EFFECT
from whitewire.statistics import FEWEST

Problem = tuple[str, Any, str, Collection[str]]
"""A fault of a paper: key below the test's or experiment's (or empty), value, what was expected, valid names."""

METRIC_KEY = {"description": "Metric that is compared.", "$ref": "#/$defs/metric"}
LEVEL = {"type": ["string", "number", "integer", "boolean"]}
COMPARABLE = ("within", "above", "below", "equal")
"""Relations of an estimate to its expected value."""


def _number(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "number", "description": description, **more}


def text_key(description: str, **more: Any) -> dict[str, Any]:
    """The schema of a key that holds text."""
    return {"type": "string", "minLength": 1, "description": description, **more}


def list_of(items: Mapping[str, Any], description: str, **more: Any) -> dict[str, Any]:
    """The schema of a key that holds a list."""
    return {"type": "array", "description": description, "items": dict(items), **more}


def cell_key(description: str) -> dict[str, Any]:
    """The schema of a key that names a cell."""
    return {"description": description, "$ref": "#/$defs/cell"}


UNIT = {"unit": text_key("Unit of the result, as verdict tables print it; 1 where it is not given.", examples=["MB/s"])}
NO_EFFECT = {
    "no_effect": _number(
        "Value that would mean no effect, such as 1 for a ratio. It gives the claim a direction: an interval that "
        "misses the range on the claimed side of it is `direction only`. A verdict that rests only on there being "
        f"an effect then needs p < {ALPHA:g} after correction. Tests are of logarithms: 0 is no such value.",
        exclusiveMinimum=0,
        examples=[1],
    ),
    "smallest_effect": {
        "type": "object",
        "description": "Of a claim of direction without a size (`above` or `below` its own `no_effect`): effects "
        "smaller than this do not matter. An interval that reaches it on neither side is `not reproduced`. "
        f"{100 * SMALLEST_EFFECT:g} percent where it is not given; the known error of the emulation where that is "
        "larger.",
        "additionalProperties": False,
        "properties": {
            "value": _number("Share of no effect: 0.05 is five percent.", exclusiveMinimum=0, examples=[0.05]),
            "why": text_key("Why a smaller effect would not matter.", examples=["Jobs of this kind scatter by 10 %"]),
        },
        "required": ["value", "why"],
    },
}
_EXPECTED = {
    "expected": {
        "description": "What the paper says, as a number or an expression, in the estimand's unit.",
        "type": ["number", "string"],
        "examples": ["E_V07", "4 * E_V01"],
    }
}
RANGE = _EXPECTED | {
    "relative": _number(
        "Half-width of the range for `within`, as a share of `expected`: 0.1 is ten percent to either side.",
        minimum=0,
        examples=[0.1],
    ),
    "absolute": _number(
        "Half-width of the range for `within`, in the estimand's unit. It counts before `relative`.",
        minimum=0,
        examples=[5],
    ),
    "lower": _number("Lower end of the range for `within`, in place of one around `expected`.", examples=[3.5]),
    "upper": _number("Upper end of the range for `within`, in place of one around `expected`.", examples=[4.5]),
}
"""Keys of a test's target, besides the relation."""
COMPARES = list_of(
    {"type": "string", "minLength": 1},
    "Parameters or keys of the cells' shape that are to differ because that is the point. Any other difference "
    "beside the levels that the cells name is refused.",
    uniqueItems=True,
    examples=[["keep_caches"]],
)


class Estimand:
    """A typed test of one kind. Class attributes hold what all tests of the kind share."""

    name: ClassVar[str]
    meaning: ClassVar[str]
    """Description of the kind, in the schema."""

    # --- what a paper may write ---

    keys: ClassVar[Mapping[str, Any]] = {}
    """The keys of its own, each with its JSON Schema. A test must have them all."""
    optional: ClassVar[Mapping[str, Any]] = {}
    """Further keys of its own, which a test may have."""
    relations: ClassVar[tuple[str, ...]] = COMPARABLE
    """Relations that it can have to what is expected; without any it cannot be judged."""
    expects: ClassVar[bool] = True
    """Whether a test must say what is expected."""
    target: ClassVar[Mapping[str, Any]] = RANGE | NO_EFFECT
    """Keys of a test's target, besides the relation, each with its JSON Schema."""
    holds: ClassVar[str] = (
        "What makes the claim hold, throughout the interval. within: between the ends of the range. above, below: "
        "strictly beyond `expected`. equal: exactly `expected`."
    )
    """Meaning of its relations, in the schema."""
    routes: ClassVar[tuple[str, ...]] = ("emulated", "measured", "modelled")
    """Routes that a claim on it may take."""

    def __init__(self, test: Mapping[str, Any]) -> None:
        self.test = test

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """The JSON Schema of its tests."""
        judged = {"relation": {"description": cls.holds, "enum": list(cls.relations)}, **cls.target}
        own = {"estimand": {"const": cls.name, "description": cls.meaning}, **cls.keys, **cls.optional}
        needed = [*(["expected"] if cls.expects else []), "relation"]
        return {
            "type": "object",
            "additionalProperties": False,
            "properties": own | (judged if cls.relations else {}),
            "required": ["estimand", *cls.keys, *(needed if cls.relations else [])],
        }

    def problems(self, paper: PaperView, fabrics: Collection[str]) -> Iterator[Problem]:
        """Faults of its own keys; UserError for an expression without a value."""
        return iter(())

    # --- the cells that it rests on ---

    def cells(self) -> list[Cell]:
        """The cells that its estimate is made of, in a fixed order, each with a level of every factor."""
        return []

    def needed(self) -> list[Cell]:
        """All cells whose runs it needs; levels left out match every level."""
        return self.cells()

    def pairs(self) -> list[tuple[Cell, Cell]]:
        """Pairs of cells that it sets side by side: each of its cells with the first."""
        cells = self.cells()
        return [(cell, cells[0]) for cell in cells[1:]]

    def metrics(self) -> list[str]:
        """The metric of each of its cells."""
        return [self.test["metric"] for _ in self.cells()]

    def unit(self) -> str:
        """Unit of its estimate, in which `expected` is too; empty where it is not known beforehand."""
        return self.test.get("unit", "1")

    absolute: ClassVar[bool] = False
    """Whether a value itself is judged, and not a ratio of values in which the scale of runs cancels out."""
    whole: ClassVar[bool] = True
    """Whether a cell in `needed` must have a level of every factor."""
    fewest: ClassVar[int] = FEWEST
    """Fewest runs of each cell that can decide."""
    signs: ClassVar[tuple[int, ...]] = ()
    """Exponent of each cell: 1 for a factor, -1 for a divisor. Empty if the estimate is no product of cells."""

    # --- what it says, and from what ---

    def describe(self) -> str:
        """The estimand in words, for the verdict table."""
        raise NotImplementedError

    def same_as(self) -> list[Any]:
        """Key that two tests share if they test one number against the same value of no effect."""
        return [self.name, self.cells(), self.metrics(), self.test.get("statistic", ""), self.test.get("no_effect")]

    def untestable(self) -> str:
        """Why no testbed here can test it; empty when one can."""
        return ""

    def evaluate(self, runs: RunsView, paper: PaperView) -> Evidence:
        """The estimate, with an interval where it rests on runs."""
        raise NotImplementedError


def cell_of_test(cell: Mapping[str, Any], **levels: Any) -> Cell:
    """A cell of a test, with further levels."""
    return cell["experiment"], {**cell["where"], **levels}


def cell_in_words(cell: Mapping[str, Any]) -> str:
    """A cell of a test in words, with the metric that it has of its own."""
    own = f"{cell['metric']} " if "metric" in cell else ""
    return own + cell_name(cell["experiment"], cell["where"])
