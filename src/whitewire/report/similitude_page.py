"""The page of similitude (build/docs/similitude.md): the table of all papers at quick effort."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from whitewire.analysis import similitude
from whitewire.analysis.similitude import similitude_table
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.names import paper_names
from whitewire.description.paper import Paper
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.paths import GENERATED

PAGE = GENERATED / "similitude.md"
_EFFORT = "quick"
_INTRODUCTION = """# Similitude

*For readers of results who ask what is not alike at full scale.*

An emulated run divides every rate and size by k, so that times and ratios stay (`docs/inside/scale-model.md`). Not
everything can be divided. This page says, for each experiment of every paper at `EFFORT=quick`, what must be alike
and whether it is. `make docs` writes it from the numbers and functions that set up a run.

- **Quotient**: emulated ÷ full scale. 1 is alike; up to 5 % off counts as alike. It is – where one side has none of a
  thing.
- What depends on the rate of the link has a value for the slowest / the fastest fabric of an experiment (on each kind
  of store). Of numbers of clients and puts the largest is taken.
- A scaled job moves fewer bytes in as many blocks, so its blocks are shorter than k alone would make them; such times
  are divided by the data fraction in results.
- Full scale is the paper's hardware with Hadoop's defaults, and the emulated switch and sockets at k = 1. Where a paper
  had other settings and does not say so, that column is wrong.
- The first scale candidate of k is taken. Runs may have a later one (`raw/scale.json` of a paper's results), with which
  what depends on k is so much further from 1.
- Numbers of workers, drives, clients, copies and reduce tasks are those of the run on both sides.
- A large quotient need not mean a large effect. What follows from one is in [the last section](#what-follows), with the
  study at `EFFORT=full` that shows how much, where a paper has one. Those of a paper's own runs are in
  `analysis/similitude.csv` and in its report.

A job's startup overhead (its start on almost no data) does not scale either; it is measured and taken off.
"""


def page() -> str:
    """The page, from the configuration that comes with the project."""
    testbed = load_testbed("emulated")
    parts, tables, papers = [_INTRODUCTION], [], {}
    for name in paper_names():
        paper = load_paper(project.paper_path(name), fabric_names(testbed))
        papers[paper.id] = paper
        tables.append(similitude_table(paper, testbed, _EFFORT))
        parts.append("\n".join(_of_paper(name, tables[-1])))
    parts.append("\n".join(_biases(pd.concat(tables), papers)))
    return "\n".join(parts)


def _of_paper(name: str, table: pd.DataFrame) -> Iterator[str]:
    """One row per quantity and values; experiments with the same values share it."""
    yield from (f"## {name}", "", f"{int(table['alike'].sum())} of {len(table)} values are alike.", "")
    yield from ("| quantity | full scale | emulated | quotient | where |", "|---|---|---|---|---|")
    for quantity in (q.text for q in similitude.QUANTITIES.values()):
        of = table[table["quantity"] == quantity]
        places: dict[tuple[str, ...], list[str]] = {}
        for (experiment, levels), ends in of.groupby(["experiment", "levels"], sort=False):
            fabrics = " / ".join(filter(None, ends["fabric"]))
            place = " ".join(filter(None, [str(experiment), fabrics, f"({levels})" if levels else ""]))
            places.setdefault(_cells(ends), []).append(place)
        for cells, where in places.items():
            yield f"| {' | '.join([quantity, *cells, '; '.join(where)])} |"
    yield ""


def _cells(ends: pd.DataFrame) -> tuple[str, str, str]:
    """Full scale, emulated and quotient for the slowest and the fastest link; equal ones only once."""
    full, emulated = ([_shown(value, unit) for value, unit in zip(ends[side], ends["unit"], strict=True)]
                      for side in ("full_scale", "emulated"))  # fmt: skip
    quotient = ["–" if pd.isna(value) else digits(value) for value in ends["quotient"]]
    marked = [text if alike else f"**{text}**" for text, alike in zip(quotient, ends["alike"], strict=True)]
    return _once(full), _once(emulated), _once(marked)


def _once(texts: Sequence[str]) -> str:
    """Texts side by side, or the one that all of them are."""
    return " / ".join(texts if len(set(texts)) > 1 else texts[:1])


def _biases(table: pd.DataFrame, papers: Mapping[str, Paper]) -> Iterator[str]:
    yield from ("## What follows", "", "| quantity | emulated … | what follows |", "|---|---|---|")
    for quantity in similitude.QUANTITIES.values():
        rows = table[(table["quantity"] == quantity.text) & ~table["alike"]]
        larger = list(map(similitude.is_larger, rows["full_scale"], rows["emulated"]))
        for side, text in (("larger", quantity.larger), ("smaller", quantity.smaller)):
            mine = [paper for paper, more in zip(rows["paper"], larger, strict=True) if more == (side == "larger")]
            studies = {f"{paper}: {said}" for paper in mine if (said := similitude.studied(papers[paper], quantity))}
            if text and mine:
                yield f"| {quantity.text} | {side} | {' '.join([text, *sorted(studies)])} |"


def digits(value: float) -> str:
    """Three digits, without a power of ten: `1000`, `0.0268`."""
    if value == 0:
        return "0"
    places = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{round(value, places):.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _shown(value: float, unit: str) -> str:
    """A value with its unit: `2.1 ms`, `16`; words where a real host's value is unknown."""
    if math.isnan(value):
        return "the host's own"
    if math.isinf(value):
        return "none there"
    if unit == "1":
        return digits(value)
    if unit != "s" or value == 0:
        return f"{digits(value)} {unit}"
    for size, name in ((1, "s"), (1e-3, "ms")):
        if value >= size:
            return f"{digits(value / size)} {name}"
    return f"{digits(value * 1e6)} µs"
