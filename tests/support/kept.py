"""A project with complete results of one small paper, that of docs/template, as the stages would have left them."""

from __future__ import annotations

import atexit
import gzip
import json
import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import yaml

from tests.support.blocks import BLOCK
from tests.support.compared import ENVIRONMENT, HOSTS
from whitewire import atomic
from whitewire.analysis.analyse import write_analysis
from whitewire.description.checks import load_paper
from whitewire.description.testbed import read_testbed
from whitewire.design.rows import levels_of, make_design, write_csv
from whitewire.records.journal import files_of_block
from whitewire.records.manifest import MANIFEST_FILE, manifest_of_folder
from whitewire.tidy import columns, tables

HOME = Path(__file__).resolve().parents[2]
PAPER, TESTBED, COMMIT = "made-up-2026", "emulated", "0123456789abcdef0123456789abcdef01234567"
GAIN = {"1gbe": 1.0, "2gbe": 1.9, "5gbe": 4.2, "10gbe": 6.0, "20gbe": 6.5}
"""Throughput by network, over that of 1GbE."""


def project(folder: Path) -> Path:
    """Configuration and document of a project with the one paper."""
    shutil.copytree(HOME / "config" / "testbeds", folder / "config" / "testbeds")
    for kind, name in (("yaml", "config/papers"), ("qmd", "paper")):
        (folder / name).mkdir(parents=True)
        shutil.copy(HOME / "docs" / "template" / f"paper.{kind}", folder / name / f"{PAPER}.{kind}")
    settled = {"papers": [PAPER], "testbed": TESTBED, "effort": "quick", "seed": 7}
    (folder / "config" / "config.yaml").write_text(yaml.safe_dump(settled))
    return folder


def results(folder: Path, effort: str = "quick", seed: int = 1, gain: float = 1.0, name: str = TESTBED) -> Path:
    """`results/<name>` of a project, judged; with `gain` the faster networks are so much faster."""
    described = folder / "config" / "testbeds" / f"{name}.yaml"
    testbed = described if described.is_file() else described.with_name(f"{TESTBED}.yaml")
    texts = testbed.read_text(), (folder / "config" / "papers" / f"{PAPER}.yaml").read_text()
    own = folder / "results" / name / PAPER
    shutil.copytree(_made(*texts, effort, seed, gain, name), own)
    return own.parent


@cache
def _made(testbed_text: str, paper_text: str, effort: str, seed: int, gain: float, name: str) -> Path:
    """The folder of the paper's results, made once of each kind; judging them takes a second."""
    top = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, top)
    for described, text in ((TESTBED, testbed_text), (PAPER, paper_text)):
        (top / f"{described}.yaml").write_text(text)
    testbed = read_testbed(top / f"{TESTBED}.yaml")
    paper = load_paper(top / f"{PAPER}.yaml", testbed["fabrics"])
    own = top / PAPER
    rows = make_design(paper, testbed, effort, 7)
    write_csv(rows, paper, own / "design.csv")
    noise = np.random.default_rng(seed)
    runs: list[dict[str, object]] = []
    for row in rows:
        fabric = paper.parameters(row["experiment"], levels_of(paper, row))["fabric"]  # of a control the real one
        rate = 100 * GAIN[fabric] * (1 if fabric == "1gbe" else gain) * float(np.exp(noise.normal(0, 0.01)))
        cells: dict[str, object] = {**row}
        base = {key: cells[key] for key in ("run_id", "block", "order", "experiment", "replicate", "fabric")}
        for metric, (value, unit) in {"throughput": (rate, "MB/s"), "throughput_sum": (rate * 1.1, "MB/s")}.items():
            runs.append(base | {"attempt": 1, "metric": metric, "value": value / 30, "unit": unit, "valid": "true",
                                "full_scale_value": value, "full_scale_unit": unit})  # fmt: skip
    columns_of = {"runs.csv": columns.of_runs(paper.factors), **tables.TABLES}
    filled: dict[str, list[dict[str, object]]] = {
        "runs.csv": runs,
        "scale.csv": [{"experiment": "ingest", "testbed": name, "kind": "emulated", "k": 30, "data_fraction": 0.1,
                       "rung": 0}],
        "topology.csv": [{"host": host["name"], "role": host["role"], "address": host["address"]}
                         for host in HOSTS],
    }  # fmt: skip
    tables.write_tables(own / "tidy", PAPER, columns_of, {table: filled.get(table, []) for table in columns_of})
    for block in {row["block"] for row in rows}:
        top = own / "raw" / block
        top.mkdir(parents=True)
        ids = [row["run_id"] for row in rows if row["block"] == block]
        (top / "block.json").write_text(json.dumps(BLOCK | {"block": block, "runs": ids, "commit": COMMIT}))
        (top / "environment.json").write_text(json.dumps(ENVIRONMENT))
        for run_id in ids:  # raw output, which no bundle has
            (top / "runs" / run_id).mkdir(parents=True)
            (top / "runs" / run_id / "run.json").write_text("{}\n")
    write_analysis(paper, testbed, own, 7)
    return own


def unmeasured(name: str, results: Path) -> Path:
    """`results`/<paper> of a paper of this repository, judged without a run: a start that ended before the first."""
    testbed = read_testbed(HOME / "config" / "testbeds" / f"{TESTBED}.yaml")
    paper = load_paper(HOME / "config" / "papers" / f"{name}.yaml", testbed["fabrics"])
    own = results / name
    write_csv(make_design(paper, testbed, "quick", 7), paper, own / "design.csv")
    (own / "tidy").mkdir()
    empty_tables(own / "tidy", paper.factors)
    write_analysis(paper, testbed, own, 7)
    return own


def empty_tables(tidy: Path, factors: Sequence[str] = ()) -> None:
    """Write the tables of tidy/ that are not there, without a row; `factors`: columns of runs.csv."""
    for table, names in {"runs.csv": columns.of_runs(factors), **tables.TABLES}.items():
        if not (tidy / table).exists():
            atomic.write(tidy / table, tables.as_csv(names, [], table))


def links(results: Path) -> Path:
    """The links of the reference's testbed, as those of `results/<testbed>`; return their folder."""
    own = results / "links"
    shutil.copytree(HOME / "results" / "reference" / "links", own)
    for packed in own.rglob("*.csv.gz"):
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()
    return own


def rewritten(folder: Path) -> None:
    """Write a folder's manifest anew, as it is now."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path != folder / MANIFEST_FILE]
    (folder / MANIFEST_FILE).write_text(json.dumps(manifest_of_folder(folder, paths)))


def blocks_rewritten(folder: Path) -> None:
    """Write the manifests of all runs and finished blocks below a folder anew, as they are now."""
    for run in folder.rglob("run.json"):
        rewritten(run.parent)
    for record in folder.rglob("block.json"):
        listed = manifest_of_folder(record.parent, [*files_of_block(record.parent), record])
        (record.parent / MANIFEST_FILE).write_text(json.dumps(listed))
