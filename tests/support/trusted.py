"""What `whitewire trust` leaves, small and whole: a run that was made, under other names, with times as links say."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np

from tests.support import blocks, quick_yaml
from tests.support.blocks import BLOCK
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.design import synthetic
from whitewire.design.rows import levels_of
from whitewire.measure import trust
from whitewire.records import trust as records
from whitewire.records.journal import BlockRecord, Journal
from whitewire.records.run import DesignRow
from whitewire.records.trust import KNOWN_PAPER, LOADS_FILE, PART_RECORD, TRUST_FOLDER

RUN = Path(__file__).parents[1] / "data" / "run"
RATIO, SLOWED = 4.0, 0.1
"""How much faster one link is than the other; by which share a processor's load slows runs down."""
BESIDE = 0.5
"""Processors that a second lane takes from a run."""
RATES, ROUNDS, REPETITIONS = (25.0, 100.0), 2, 3
TWO_K = "two-k"
"""The paper with two k."""


@cache
def testbed() -> dict[str, Any]:
    return dict(load_testbed("emulated"))


def paper(folder: Path | None = None, groups: int = 1, **other: Any) -> Paper:
    """The paper of one known ratio; with `folder` its YAML is kept there."""
    raw = synthetic.paper_of_ratios(groups, (RATIO,), (1,)) | other
    path = (folder or Path()) / KNOWN_PAPER
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(quick_yaml.dump(raw, sort_keys=False))
    return Paper.of(raw, path)


def block(folder: Path, of: Paper, rows: Sequence[DesignRow], loads: Mapping[str, float] | None = None,
          left: Sequence[str] = ()) -> None:  # fmt: skip
    """A finished block with these runs, but for those that are `left`."""
    template, samples = json.loads((RUN / "run.json").read_text()), (RUN / "samples.csv").read_text()
    journal, noise = Journal(folder), np.random.default_rng(7)
    slowest = testbed()["fabrics"][synthetic.link(1)]["rate_mbit_per_s"]
    for row in rows:
        levels = levels_of(of, row)
        fabric = of.parameters(row["experiment"], levels)["fabric"]
        rate = testbed()["fabrics"][fabric]["rate_mbit_per_s"] / slowest
        rate *= 1 - SLOWED * (loads or {}).get(row["run_id"], 0.0)
        seconds = 1.085 / rate * float(np.exp(noise.normal(0, 0.002)))
        start = template["start"] + 10 * row["order"]
        own = {key: row[key] for key in ("run_id", "block", "order", "experiment", "workload", "replicate", "seed")}
        shifted = [{**each, "start": start, "end": start + seconds} for each in template["operations"]]
        record = template | own | {
            "factors": levels, "start": start, "end": start + seconds, "attempt": 1, "operations": shifted,
        }  # fmt: skip
        moved = _later(samples, start - template["start"])
        if row["run_id"] not in left:
            journal.write(row["run_id"], record, {"samples.csv": moved}, valid=True)
    ended = BLOCK | {"block": folder.name, "runs": [row["run_id"] for row in rows]}
    ended |= blocks.left(dict.fromkeys(left, "the budget ended"))
    journal.finish(cast(BlockRecord, ended))


def _later(samples: str, seconds: float) -> str:
    head, *lines = samples.splitlines()
    cells = [line.partition(",") for line in lines]
    return "\n".join([head, *(f"{float(time) + seconds:.3f},{rest}" for time, _, rest in cells)]) + "\n"


def link_row(rate: float, number: int, meter: str) -> dict[str, Any]:
    """A test of one link that is half a per cent too slow."""
    return {"rate": rate, "pairs": 1, "number": number, "meter": meter, "source": "client1", "destination": "server1",
            "goodput": 0.995 * 0.956 * rate, "expected": 0.956 * rate, "why": ""}  # fmt: skip


def described(results: Path) -> Path:
    """The YAML of the paper with two k, for project.paper_path."""
    path = results.parent / f"{TWO_K}.yaml"
    raw = synthetic.paper_of_ratios(1, (RATIO,), (1,))
    path.write_text(quick_yaml.dump(raw | {"id": TWO_K, "scale": raw["scale"] | {"k": [64, 128]}}, sort_keys=False))
    return path


def made(results: Path, groups: int = 1) -> Path:
    """`results`/trust with all parts; `same` has no paper's cells but those of the known ratio."""
    folder = results / TRUST_FOLDER
    (folder / "links" / "verbatim").mkdir(parents=True)
    (folder / "links" / "verbatim" / "client1.json").write_text('{"verbatim": 1}\n')
    for number in range(1, ROUNDS + 1):
        rows = [link_row(rate, number, meter) for rate in RATES for meter in ("iperf3", "counters")]
        (folder / "links" / f"round-{number:02}.json").write_text(json.dumps(rows))
    ratios = paper(folder / "ratio", groups)
    block(folder / "ratio" / synthetic.BLOCK, ratios, synthetic.all_rows(ratios, testbed()))
    under = paper(folder / "load")
    every, loads = synthetic.loaded(synthetic.of_fastest(under, testbed(), REPETITIONS), (0.0, 1.0))
    (folder / "load" / LOADS_FILE).write_text(json.dumps(loads))
    block(folder / "load" / synthetic.BLOCK, under, every, loads)
    several = load_paper(described(results), fabric_names(testbed()))
    for candidate in range(several.candidate_count):
        settled = Paper(several.on(candidate).raw, several.path)
        cells = synthetic.of_smoke(settled, testbed(), synthetic.RUNS)
        block(folder / "scales" / TWO_K / f"rung{candidate}-0" / synthetic.BLOCK, settled, cells)
    pairs = Paper(several.raw, several.path)
    for lanes, load in ((1, 0.0), (2, BESIDE)):
        cells = synthetic.of_kinds(pairs, testbed(), synthetic.RUNS)
        busy = {row["run_id"]: load for row in cells}
        block(folder / "lanes" / TWO_K / f"{lanes}-0" / synthetic.BLOCK, pairs, cells, busy)
    for name in ("same", "order"):
        (folder / name).mkdir()
    started = trust.Trust("emulated", testbed(), [], folder, records.PARTS, 2400.0)
    for name in records.PARTS:
        units = {"links": ROUNDS, "ratio": groups, "load": REPETITIONS}.get(name, 1)
        papers = [TWO_K] if name in ("scales", "lanes") else []
        own = {"part": name, "units": units, "planned": units, "unit": "unit", "seconds": 1.0, "papers": papers,
               "description": started.description, "begun": 0.0}  # fmt: skip
        (folder / name / PART_RECORD).write_text(json.dumps(own))
    started.work.left.clear()
    started._finish()
    return folder
