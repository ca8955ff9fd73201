"""Facts of a run for its description as an artifact: hosts and software, time and disk, results and what a rerun should
find, what could not be run. Read from results; nothing is judged anew."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

import pandas as pd

from whitewire import __version__
from whitewire.analysis.claims import MEASURED
from whitewire.budget import NONE
from whitewire.description.reading import load_yaml
from whitewire.design.rows import FIRST
from whitewire.errors import UserError
from whitewire.install.needs import DISK_GIB
from whitewire.paths import HOME, shown
from whitewire.records.checked import block_record
from whitewire.records.journal import BlockRecord, left_of
from whitewire.records.reasons import BUDGET, DECIDED, Reason
from whitewire.report import agreement, bundle, commits, comparison, reference
from whitewire.report.agreement import AGREEMENT_RECORD, AGREEMENT_TABLE
from whitewire.report.bundle import BUNDLE_FILE, TESTBED_FILE
from whitewire.report.commits import COMMIT_ID
from whitewire.report.comparison import ESTIMATE_COLUMNS, RATIO_COLUMNS, cell_number, load_results
from whitewire.tidy import form

_STAGES = ("raw", "tidy", "analysis")
"""Folders of a paper whose size is given, in their order."""
BENCHMARKS = {"tidy": "tidy.tsv", "analysis": "analysis.tsv", "report": "paper.tsv"}
"""The workflow's record of the seconds of a stage after the measurements, below `logs/`."""
SET_UP = (".venv", ".cache")
"""Folders of the repository that the set-up fills."""
_PACKAGE = re.compile(r"([^=]+)==?(.+)")
SOME = str(Reason(DECIDED, {"runs": "some"}))
"""The reason of all runs that no open claim needed, whichever analysis decided the claim."""
TEXTS = ("claim", "statement", "route", "estimand", "relation", "unit", "verdict", "reason", "asks")
_NUMBERS = ("estimate", "low", "high", "n", "expected", "expected_low", "expected_high")


class Claim(TypedDict):
    """One claim: the estimand, the expected value with its tolerance, and the result.

    Numbers are in `unit`, None if missing; `expected` may be words, as for a trend.
    """

    paper: str
    claim: str
    statement: str
    route: str
    estimand: str
    relation: str
    asks: str
    expected: float | str | None
    expected_low: float | None
    expected_high: float | None
    estimate: float | None
    low: float | None
    high: float | None
    unit: str
    n: float | None
    verdict: str
    reason: str


class Experiment(TypedDict):
    """Rows of the design with one experiment: cells, and runs asked for."""

    experiment: str
    workload: str
    cells: int
    runs: int
    k: str


class OfPaper(TypedDict):
    """One paper's part of a run. Seconds by stage come from the workflow's records; a stage without a record is
    missing."""

    paper: str
    title: str
    effort: str
    designed: int
    """Runs of the design."""
    counted: int
    """Runs that count."""
    seconds: dict[str, float]
    """`measure` and its parts, `tidy`, `analysis`, `report`."""
    bytes: dict[str, int]
    """On disk, by folder."""
    left: dict[str, int]
    """Runs that were not made, by reason."""
    experiments: list[Experiment]


class _Budget(TypedDict):
    """Budget of a run, for all its papers together."""

    had: bool
    """Whether the budget had an end."""
    seconds: float | None
    """The longest budget of its starts; None: unlimited, or not recorded."""
    asked: str
    """The value of BUDGET for a repetition: the recorded budget, else the time that measuring took."""
    ended_before: int
    """Runs that it ended before."""


class Checkout(TypedDict):
    """The commit with which to repeat a run: if possible one with the reference results for comparison. Empty:
    unknown."""

    commit: str
    holds: bool
    """Whether the results are a copy of the reference, not a measurement."""


class _Machine(TypedDict):
    """A machine, or several with the same recorded facts."""

    hosts: str
    facts: dict[str, str]


class _Package(TypedDict):
    """A piece of software; `kind` is what installs it."""

    kind: str
    name: str
    version: str


class Artifact(TypedDict):
    """All data of an artifact appendix."""

    whitewire: str
    testbed: str
    folder: str
    kind: str
    is_reference: bool
    commits: list[str]
    modified: bool
    checkout: Checkout
    seed: int | None
    """Seed of the order of runs and of every resampling."""
    licence: str
    repository: str
    """Addresses of the code and its archive, by CITATION.cff; both may be missing."""
    doi: str
    papers: list[OfPaper]
    budget: _Budget
    machines: list[_Machine]
    roles: dict[str, int]
    """Hosts of the testbed by role, where it has the most."""
    tools: list[_Package]
    packages: list[_Package]
    deployment: list[str]
    disk_gib: float
    """Free space that a full run asks for."""
    memory_gib: float | None
    """Memory that the testbed asks of the machine."""
    set_up_bytes: int
    """Bytes that the set-up installed in the repository; 0 where it was not made here."""
    reports_bytes: int
    claims: list[Claim]
    bounded: int
    """Number of estimates from runs with an interval, and how many of them may differ by chance in a rerun."""
    by_chance: int
    agreement: Mapping[str, Any]
    """With the reference: see beside_reference."""


def artifact_of(results: Path, beside: Mapping[str, Any]) -> Artifact:
    """The facts of `results/<testbed>` or of results/reference; `beside` is how it agrees with the reference.

    Raises UserError for results that are not whole.
    """
    loaded = load_results(results)
    if not loaded:
        raise UserError(f"{shown(results)}: found no <paper>/analysis/verdicts.csv, expected the results of a testbed")
    blocks = {paper: list(_blocks(results / paper, loaded[paper].design)) for paper in loaded}
    every = [record for records in blocks.values() for record in records]
    environments = [each for paper in loaded.values() for each in paper.environments]
    claims = [_claim(paper, row) for paper in loaded for row in loaded[paper].verdicts.to_dict("records")]
    bounded = sum(each["low"] is not None and each["route"] in MEASURED for each in claims)
    testbed = _testbed(results)
    measured_by = sorted({record["commit"] or bundle.UNKNOWN for record in every})
    citation = load_yaml(HOME / "CITATION.cff")
    return {
        "whitewire": __version__, "testbed": _name(results), "folder": shown(results),
        "kind": str(testbed.get("kind", "unknown")), "is_reference": (results / BUNDLE_FILE).is_file(),
        "commits": measured_by, "modified": any(record["modified"] for record in every),
        "checkout": _checkout(measured_by, beside["state"] == "itself"),
        "seed": seed_of(results), "licence": str(citation["license"]),
        "repository": str(citation.get("repository-code", "")), "doi": str(citation.get("doi", "")),
        "papers": [_of_paper(results, paper, loaded[paper], blocks[paper]) for paper in loaded],
        "budget": budget(every),
        "machines": _machines(environments), "roles": _roles(environments),
        "tools": _tools(environments), "packages": _packages(environments),
        "deployment": sorted({str(each.get("software", {}).get("deployment", "unknown")) for each in environments}),
        "disk_gib": DISK_GIB, "memory_gib": testbed.get("memory", {}).get("minimum_gib"),
        "set_up_bytes": sum(bytes_of(HOME / name) for name in SET_UP), "reports_bytes": bytes_of(results / "reports"),
        "claims": claims, "bounded": bounded, "by_chance": agreement.by_chance(bounded), "agreement": beside,
    }  # fmt: skip


def agreement_facts(results: Path, scratch: Path) -> Mapping[str, Any]:
    """Agreement of results with the reference, with `rows`: one per claim that runs judged in both."""
    if reference.is_kept(results):
        return {"state": "itself", "reference": reference.results_record()}
    folder = agreement.beside_reference(results, scratch)
    record: dict[str, Any] = json.loads((folder / AGREEMENT_RECORD).read_text(encoding="utf-8"))
    if record["state"] != "compared":
        return record
    table = form.frame(folder / AGREEMENT_TABLE)
    runs = table[table["route_a"].isin(MEASURED) | table["route_b"].isin(MEASURED)]
    columns = ["paper", "claim", "verdict_a", "verdict_b", "stands", "unit", *comparison.ASKED, "overlap", "differs"]
    columns += [f"{name}_{side}" for side in comparison.SIDES for name in ESTIMATE_COLUMNS] + list(RATIO_COLUMNS[:6])
    rows = runs[columns].astype(object).where(runs[columns].notna(), None)
    return record | {"rows": rows.to_dict("records")}


def budget(blocks: Sequence[BlockRecord]) -> _Budget:
    """The budget of all blocks of a run: that of its starts, not the sum of blocks' budgets, because a block passes on
    what it leaves."""
    own = [found for record in blocks if (found := record["start_budget_seconds"]) is not None]
    had = any(record["budget_seconds"] is not None for record in blocks)
    most = max(own, default=None) if had else None
    spent = most or sum(record["seconds"] for record in blocks)
    left = Counter(why.code for record in blocks for why in left_of(record).values())
    return {"had": had, "seconds": most, "asked": f"{max(1, math.ceil(spent / 60))}m" if had else NONE,
            "ended_before": left[BUDGET]}  # fmt: skip


def _checkout(measured_by: Sequence[str], is_reference: bool) -> Checkout:
    """The commit to check out: for the reference the commit that contains it, since the measuring commit has an older
    reference; for another run the measuring commit, unless the reference came later."""
    holding = commits.holding(reference.reference_folder())
    only = measured_by[0] if len(measured_by) == 1 and COMMIT_ID.fullmatch(measured_by[0]) else ""
    holds = is_reference or bool(only and holding != only and commits.precedes(only, holding))
    return {"commit": holding if holds else only, "holds": holds}


# -- of one paper ------------------------------------------------------------------------------------------


def _of_paper(results: Path, paper: str, loaded: comparison.Results, blocks: Sequence[BlockRecord]) -> OfPaper:
    own = results / paper
    design = loaded.design
    efforts = comparison.efforts_in(design) if len(design) else []
    return {
        "paper": paper, "title": _title(bundle.configuration_of(results) / "papers" / f"{paper}.yaml"),
        "effort": comparison.listed(efforts), "designed": len(design), "counted": _counted(own),
        "seconds": _seconds(own, blocks), "bytes": {name: bytes_of(own / name) for name in _STAGES},
        "left": dict(_left(blocks).most_common()), "experiments": _experiments(loaded),
    }  # fmt: skip


def _title(path: Path) -> str:
    try:
        return str(load_yaml(path)["title"])
    except (UserError, KeyError, OSError):
        return path.stem


def _blocks(own: Path, design: pd.DataFrame) -> Iterable[BlockRecord]:
    for block in dict.fromkeys(design["block"]) if len(design) else ():
        if (record := block_record(own / "raw" / block / "block.json")) is not None:
            yield record


def _counted(own: Path) -> int:
    table = comparison.read_table(own / "tidy" / "runs.csv", ("run_id", "valid"), needed=False)
    return int(table[table["valid"].str.lower() == "true"]["run_id"].nunique()) if len(table) else 0


def _seconds(own: Path, blocks: Iterable[BlockRecord]) -> dict[str, float]:
    """Seconds of each stage; those of measuring also by what was done."""
    found: dict[str, float] = {}
    for record in blocks:
        parts = {f"measure: {part}": spent for part, spent in record["spent"].items()}
        for name, spent in ({"measure": record["seconds"]} | parts).items():
            found[name] = found.get(name, 0) + spent
    for stage, name in BENCHMARKS.items():
        if (took := benchmarked(own / "logs" / name)) is not None:
            found[stage] = took
    return {name: round(spent, 1) for name, spent in found.items()}


def benchmarked(path: Path) -> float | None:
    """Seconds in Snakemake's record of a rule (column `s`); None if it cannot be read."""
    try:
        with path.open(newline="", encoding="utf-8") as table:
            return float(next(csv.DictReader(table, delimiter="\t"))["s"])
    except (OSError, StopIteration, KeyError, ValueError):
        return None


def _left(blocks: Iterable[BlockRecord]) -> Counter[str]:
    """Runs of the design that do not count, by reason; runs after a decision share one reason, whatever their
    number."""
    found = Counter[str]()
    for record in blocks:
        given_up, unavailable = set(record["given_up"]), record["unavailable"]
        found.update(unavailable.values())
        found.update(SOME if why.code == DECIDED else str(why) for why in left_of(record).values())
        found["given up: no attempt was valid"] += len(given_up - unavailable.keys())
    return +found


def _experiments(loaded: comparison.Results) -> list[Experiment]:
    scale = {str(row["experiment"]): row for row in loaded.scale.to_dict("records")}
    found: list[Experiment] = []
    if "workload" not in loaded.design:
        return found
    levels = [name for name in loaded.design if name not in (*FIRST, "seed")]
    for (experiment, workload), rows in loaded.design.groupby(["experiment", "workload"], sort=False):
        cells = len(rows[levels].drop_duplicates()) if levels else 1
        k = str(scale.get(str(experiment), {}).get("k", ""))
        found.append({"experiment": str(experiment), "workload": str(workload), "cells": cells, "runs": len(rows),
                      "k": k})  # fmt: skip
    return found


def _claim(paper: str, row: Mapping[Any, Any]) -> Claim:
    words = {name: str(row.get(name, "")) for name in TEXTS}
    numbers = {name: cell_number(row.get(name)) for name in _NUMBERS}
    expected = numbers["expected"]
    found: dict[str, Any] = {"paper": paper, **words, **numbers}
    found["expected"] = (str(row.get("expected", "")) or None) if expected is None else expected
    return Claim(**found)  # type: ignore[typeddict-item]


# -- of the testbed ----------------------------------------------------------------------------------------


def _name(results: Path) -> str:
    own = results / BUNDLE_FILE
    return bundle.record_of(own.read_bytes(), shown(results))["testbed"] if own.is_file() else results.name


def seed_of(results: Path) -> int | None:
    """The seed of a run, as its own record has it, else as its project's configuration."""
    own = results / BUNDLE_FILE
    if own.is_file():
        return bundle.record_of(own.read_bytes(), shown(results))["seed"]
    path = bundle.configuration_of(results) / "config.yaml"
    return load_yaml(path).get("seed") if path.is_file() else None


def _testbed(results: Path) -> Mapping[str, Any]:
    kept = results / TESTBED_FILE
    path = kept if kept.is_file() else bundle.configuration_of(results) / "testbeds" / f"{results.name}.yaml"
    return load_yaml(path) if path.is_file() else {}


def _machines(environments: Iterable[Mapping[str, Any]]) -> list[_Machine]:
    """Machines with different facts, each with its hosts.

    On an emulated testbed all hosts are on the one machine of the record; a site's are in its `machines`.
    """
    found: dict[tuple[tuple[str, str], ...], dict[str, None]] = {}
    for record in environments:
        here = {"": record["machine"]} if "machine" in record else {}
        for host, facts in (here | record.get("machines", {})).items():
            shown_facts = tuple((str(name), _text(value)) for name, value in facts.items() if name != "load_average")
            found.setdefault(shown_facts, {})[host] = None
    return [{"hosts": ", ".join(filter(None, hosts)), "facts": dict(own)} for own, hosts in found.items()]


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else " ".join(str(value).split())


def _roles(environments: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Hosts by role of the environment with the most of them."""
    hosts = max((record["hosts"] for record in environments), key=len, default=())
    return dict(Counter(host["role"] for host in hosts))


def _tools(environments: Iterable[Mapping[str, Any]]) -> list[_Package]:
    every = {(str(name), " ".join(str(said).split())): None
             for record in environments for name, said in record.get("tools", {}).items()}  # fmt: skip
    return [{"kind": "tool", "name": name, "version": version} for name, version in every]


def _packages(environments: Iterable[Mapping[str, Any]]) -> list[_Package]:
    """Packages of all environments with their versions, each once."""
    found: dict[tuple[str, str, str], None] = {}
    for record in environments:
        software = record.get("software", {})
        conda = software.get("conda", {}).get("packages", ())
        kinds = {"Debian": software.get("debian_packages", ()), "Python": software.get("python_packages", ())}
        for kind, lines in kinds.items():
            matched = filter(None, map(_PACKAGE.fullmatch, lines))
            found |= dict.fromkeys((kind, match[1], match[2]) for match in matched)
        found |= dict.fromkeys(("conda", *_conda(line)) for line in conda)
    return [{"kind": kind, "name": name, "version": version} for kind, name, version in found]


def _conda(line: str) -> tuple[str, str]:
    """`name-version-build` of conda's records."""
    name, _, rest = line.rpartition("-")[0].rpartition("-")
    return name or line, rest


def bytes_of(folder: Path) -> int:
    """Bytes of all files below a folder, 0 if there is none; of a link only the link itself."""
    found = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                status = os.lstat(os.path.join(place, name))
            except OSError:  # gone since
                continue
            found += status.st_size if stat.S_ISREG(status.st_mode) else 0
    return found
