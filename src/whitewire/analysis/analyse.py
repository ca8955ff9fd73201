"""The analysis stage: tidy tables and a paper's YAML to estimates, verdicts, model predictions and audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from whitewire import budget, factors, propagation, statistics
from whitewire.analysis import (
    asked,
    claims,
    controls,
    interim,
    judging,
    one_claim,
    prospects,
)
from whitewire.analysis.controls import controls_table
from whitewire.analysis.guards import rejection_of_metric
from whitewire.analysis.inverse import inverse_table
from whitewire.analysis.run_lanes import LANE_COLUMNS
from whitewire.analysis.runs import Runs, Scaling, at, on_testbed, status_on
from whitewire.analysis.similitude import SIMILITUDE_COLUMNS, similitude_table
from whitewire.analysis.sweeps import sweeps_table
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.claim_checks import MODELLED
from whitewire.description.paper import Paper, cells_of, hardware_of
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.design.drive import Drive
from whitewire.design.durations import model_cell
from whitewire.design.rows import effort_of
from whitewire.errors import Faults, UserError
from whitewire.estimands import estimand_of
from whitewire.levels import Cell, CellId, cell_ids, level_text
from whitewire.models import MODELS, maxmin
from whitewire.models.maxmin import PutCell
from whitewire.paths import asked_testbed, shown, start_command
from whitewire.records.checked import table_faults
from whitewire.records.manifest import write_files
from whitewire.records.reasons import FAILED, OTHERS, Reason
from whitewire.records.scale_candidate import candidate_fault
from whitewire.text import numbers, quoted
from whitewire.tidy import form
from whitewire.tidy.columns import LANE
from whitewire.units import MB_PER_GBIT, gbit_per_s
from whitewire.workloads import unit_of, workload_of

_AGAIN = "make it anew with `.venv/bin/whitewire tidy`"
_MODEL = "max-min flow"
_DRAWS = 4
UNMODELLED = factors.NETWORK | {"settings", "switch_buffer_kib", "packet_bytes", "transport"}
"""Factors that the max-min model leaves out."""
CURVE = np.round(np.geomspace(0.25, 40, 25), 4)
"""Link rates (Gbit/s) of the modelled response curve."""
SIMULATED = ["metric", "value", "unit", "full_scale_value", "full_scale_unit", "valid", "link_gbit_per_s"]
_VERDICT_COLUMNS = [
    "paper",
    "claim",
    "statement",
    "kind",
    "basis",
    "exhibits",
    "route",
    "estimand",
    "estimate",
    "low",
    "high",
    "error",
    "unit",
    "n",
    "decided_after",
    "asked",
    "relation",
    "asks",
    "expected",
    "expected_low",
    "expected_high",
    "p_value",
    "p_holm",
    "verdict",
    "reason",
    "further_readings",
    "runs_needed",
    "minutes",
    "chance",
    "command",
    "effort_needed",
    "claim_command",
    "audit",
    "control",
    "control_failed",
]
READING_COLUMNS = [
    "paper",
    "claim",
    "reading",
    "route",
    "metric",
    "estimate",
    "low",
    "high",
    "unit",
    "n",
    "relation",
    "expected",
    "expected_low",
    "expected_high",
    "verdict",
    "reason",
]
AUDIT_COLUMNS = [
    "paper",
    "audit",
    "finding_kind",
    "expression",
    "printed",
    "recomputed",
    "unit",
    "relative_difference",
    "holds",
    "note",
]


def _estimates(paper: Paper, runs: Runs, status: str) -> pd.DataFrame:
    """One row per cell and metric: medians with order-statistic intervals, as measured and at full scale."""
    rows = []
    keys = ["experiment", *paper.factors, "metric", "unit"]
    table = runs.table
    table["full"] = pd.to_numeric(table["full_scale_value"], errors="coerce")
    table["plain"] = pd.to_numeric(table["value"], errors="coerce")
    for key, group in table[table["metric"].notna()].groupby(keys, sort=False, dropna=False):
        good = group[group["valid"]]
        row: dict[str, Any] = dict(zip(keys, key, strict=True))
        row["n"] = int(good["plain"].notna().sum())
        row["n_invalid"] = runs.n_invalid(row["experiment"], {factor: row[factor] for factor in paper.factors})
        for column, prefix in (("plain", ""), ("full", "full_scale_")):
            values = good[column].dropna().to_numpy(dtype=float)
            exact = statistics.median_interval(values)
            row[f"{prefix}median"] = float(np.median(values)) if len(values) else None
            row[f"{prefix}low"], row[f"{prefix}high"] = (
                _with_overhead(runs, row, float(np.median(values)), exact) if exact else (None, None)
            )
            if column == "plain":
                row["mean"] = _mean(values, row["unit"])
                row["few_low"], row["few_high"] = (None, None) if exact else _of_few(runs, row)
        unit = good["full_scale_unit"].dropna()
        row["full_scale_unit"] = unit.iloc[0] if len(unit) and row["full_scale_median"] is not None else ""
        row["status"] = status
        row["untold"] = _why_unusable(runs, row)
        rows.append(row)
    columns = [*keys, "n", "n_invalid", "median", "low", "high", "mean"]
    columns += [f"full_scale_{c}" for c in ("median", "low", "high", "unit")]
    columns += ["status", "untold", "few_low", "few_high"]
    return pd.DataFrame(rows, columns=columns)


def _why_unusable(runs: Runs, row: Mapping[str, Any]) -> str:
    """Why the runs of a row cannot carry an estimate; empty if they can."""
    return str(rejection_of_metric(runs, row["experiment"], _levels(runs, row), row["metric"]) or "")


def _levels(runs: Runs, row: Mapping[str, Any]) -> dict[str, Any]:
    """Levels of a row of estimates with the paper's types; tables have them as text."""
    factors = runs.paper.experiments[row["experiment"]]["factors"]
    return {name: next((level for level in levels if level_text(level) == row[name]), row[name])
            for name, levels in factors.items()}  # fmt: skip


def _with_overhead(runs: Runs, row: Mapping[str, Any], median: float, exact: tuple[float, float]
                ) -> tuple[float, float] | tuple[None, None]:  # fmt: skip
    """Interval of a cell's median, widened by the scatter of its startup overhead if the metric depends on one."""
    levels = _levels(runs, row)
    weights = runs.overhead_weights(row["experiment"], levels, row["metric"])
    if not weights:
        return exact
    if row["metric"] == "job_floor":
        known = [runs.overheads.error(*key) for key in weights]
        errors = {key: (weight * error[0] / median, error[1])
                  for (key, weight), error in zip(weights.items(), known, strict=True) if error}  # fmt: skip
        return (len(errors) == len(weights) and propagation.interval(median, errors)) or (None, None)
    sample = runs.sample(row["experiment"], levels, row["metric"])
    if sample.problem:
        return None, None
    own = sample.spread * statistics.median_error(len(sample.values))  # of the median, not of the mean of logarithms
    return propagation.interval(median, {"runs": (own, sample.freedom), **sample.overheads}) or (None, None)


def _of_few(runs: Runs, row: Mapping[str, Any]) -> tuple[float, float] | tuple[None, None]:
    """Student's interval of the geometric mean, for cells with too few runs for an interval of the median; at full
    scale if the metric has such a value."""
    if row["n"] < statistics.FEWEST or row["unit"] == "1" or row["metric"] == "job_floor":
        return None, None
    levels = _levels(runs, row)
    sample = runs.sample(row["experiment"], levels, row["metric"])
    if sample.problem or len(sample.values) < statistics.FEWEST or sample.values.min() <= 0:
        return None, None
    return propagation.interval(sample.centre, sample.errors()) or (None, None)


def _mean(values: np.ndarray, unit: str) -> float | None:
    """Harmonic mean of rates, which is the mean over equal volumes; arithmetic mean of all other quantities."""
    if not len(values):
        return None
    if unit.endswith("/s") and values.min() > 0:
        return float(len(values) / np.sum(1 / values))  # rounded otherwise than stats.hmean
    return float(np.mean(values))


def model_runs(paper: Paper, fabrics: Mapping[str, Any], scale: Scaling | None = None) -> pd.DataFrame:
    """Simulated runs of every put cell in the form of tidy/runs.csv, with `link_gbit_per_s`.

    `scale` (experiment, levels → its scale) gives files, blocks and drives as the emulated runs had them; without
    it they are whole. Rates in MB/s and times in s at full scale.
    """
    jobs: list[tuple[str, dict[str, Any], float, PutCell]] = []
    for experiment in paper.experiments.values():
        if not workload_of(experiment["workload"]).modelled or "control" in experiment:
            continue
        for levels in cells_of(experiment):
            parameters = paper.parameters(experiment["id"], levels)
            if "erasure_coding" in paper.store(experiment["id"], levels):
                continue  # the model knows pipelines of replicas only
            plain = not fabrics.get(parameters["fabric"], {}).get("racks")
            if parameters["fabric"] in fabrics and plain and not UNMODELLED & {*levels, *parameters}:
                jobs.append(_job(paper, experiment["id"], levels, gbit_per_s(parameters["fabric"]), scale))
        if "missing_fabrics" in experiment and not scale:
            jobs += [_job(paper, experiment["id"], {"fabric": ""}, float(g), None) for g in CURVE]
    jobs = [job for job in jobs if job[-1].limited]
    rows = []
    for job, prediction in zip(jobs, _simulated(jobs), strict=True):
        name, levels, link, cell = job
        base = {"experiment": name, **{f: levels.get(f, "") for f in paper.factors}}
        for draw in range(_DRAWS):
            found = {metric: getattr(prediction, metric)[draw] for metric in MODELLED if metric != "link_share"}
            found["link_share"] = found["throughput"] / cell.clients / (link * MB_PER_GBIT)
            for metric, value in found.items():
                row = {"run_id": f"model-{draw}", **base, "metric": metric, "value": value}
                row |= {"unit": unit_of(metric), "full_scale_value": value, "full_scale_unit": unit_of(metric)}
                rows.append(row | {"valid": True, "link_gbit_per_s": link})
    return pd.DataFrame(rows, columns=["run_id", "experiment", *paper.factors, *SIMULATED])


def _job(
    paper: Paper, experiment: str, levels: dict[str, Any], link: float, scale: Scaling | None
) -> tuple[str, dict[str, Any], float, PutCell]:
    parameters = paper.parameters(experiment, levels)
    if scale is None:
        size, block = parameters["file_size_bytes"], parameters["block_size_bytes"]
        if "file_blocks" in levels:
            size = levels["file_blocks"] * block
        return experiment, levels, link, model_cell(paper, experiment, levels, link, size, block)
    run = scale(experiment, levels)
    k = run.k
    cell = model_cell(paper, experiment, levels, link, run.file_bytes * k, run.block_bytes * k)
    if hardware := hardware_of(paper.experiments[experiment], levels):
        # The drive that was emulated: its cache always holds one packet.
        cell = replace(cell, cache_bytes=Drive.scaled(hardware, k, "").cache * k)
    return experiment, levels, link, cell


def _simulated(jobs: list[tuple[str, dict[str, Any], float, PutCell]]) -> list[maxmin.Prediction]:
    """Each distinct cell once; cells that share their hosts in one simulation."""
    groups: dict[tuple[int, int, int], list[PutCell]] = {}
    for *_, cell in jobs:
        group = groups.setdefault((cell.datanodes, cell.drives, cell.replication), [])
        if cell not in group:
            group.append(cell)
    found: dict[PutCell, maxmin.Prediction] = {}
    for cells in groups.values():
        found |= dict(zip(cells, maxmin.simulate(cells, _DRAWS, 1), strict=True))
    return [found[cell] for *_, cell in jobs]


def model_table(paper: Paper, runs: pd.DataFrame) -> pd.DataFrame:
    """Medians over the simulated runs: analysis/model.csv."""
    keys = ["experiment", *paper.factors, "link_gbit_per_s", "metric", "unit"]
    columns = ["experiment", *paper.factors, "model", "metric", "value", "unit", "link_gbit_per_s"]
    if not len(runs):
        return pd.DataFrame(columns=columns)
    table = runs.groupby(keys, sort=False, dropna=False)["value"].median().reset_index()
    return table.assign(model=_MODEL)[columns]


def _verdicts(
    paper: Paper,
    runs: Runs,
    modelled: Runs,
    status: str,
    as_run: Runs | None = None,
    judged: Sequence[controls.Control] = (),
    left: pd.DataFrame | None = None,
    noted: asked.Noted = asked.NOTHING,
    outlook: Callable[[Mapping[str, Any], Mapping[str, Any]], Mapping[str, Any]] | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(verdicts, readings): one row per claim, and one per further reading of a claim.

    `status` is `emulated` or `measured`: which kind of testbed the runs come from. Where a control in `judged` failed,
    the claims that it covers are inconclusive. `left` is the table tidy/left.csv: reasons of open claims say how many
    runs of their cells were not made, and why. `noted`: what was asked and when; `outlook`: what would decide an open
    claim (its row).
    """
    rows, readings = judging.claims_judged(paper, runs, status, judged, modelled), []
    after = interim.decided_after(paper, runs, status, rows)
    for claim, row in zip(paper.claims, rows, strict=True):
        row["decided_after"] = after.get(claim["id"])
        row["asked"] = noted.word(claim["id"], row) if _by_runs(row, status) else None
        if outlook and row["verdict"] == claims.INCONCLUSIVE:
            cells = interim.cells_of_test(runs, claim["test"]) or ()
            missing = _not_made(cells, left)
            busy = any(why.code == OTHERS for why in missing) or _lacked(runs, cells, left) > 0
            any_budget = bool(missing) and all(why.kind.any_budget for why in missing)
            row |= outlook(claim, {**row, "busy": busy, "any_budget": any_budget})
        row["reason"] += "".join(f"; {words}" for words in _course(paper, claim, row, runs, left))
        if row["asked"] and (earlier := noted.earlier(claim["id"], row)):
            row["reason"] += f"; judged before with {earlier} runs of each cell"
        if row["asked"] and row["n"] and (others := one_claim.mixed(paper, claim["id"], noted.alone)):
            by_itself = f"{', '.join(others)} was measured by itself"
            row["reason"] += f"; caution: compares runs of several starts, as {by_itself}"
        own = list(_readings(paper, claim, row["route"], status, runs, modelled, as_run, judged))
        readings += own
        known = [f"{r['reading']} {numbers([r['estimate']])[0]}" for r in own if r["estimate"] is not None]
        row["further_readings"] = "; ".join(known)
    table = pd.DataFrame(rows, columns=_VERDICT_COLUMNS)
    for column in ("n", "decided_after", "runs_needed", "minutes"):
        table[column] = table[column].astype("Int64")
    return table, pd.DataFrame(readings, columns=READING_COLUMNS)


def _by_runs(row: Mapping[str, Any], status: str) -> bool:
    return bool(row["route"] == status and row["verdict"] != claims.NOT_TESTABLE)


def _course(paper: Paper, claim: Mapping[str, Any], row: Mapping[str, Any], runs: Runs, left: pd.DataFrame | None
            ) -> Iterator[str]:  # fmt: skip
    """The analysis after which a claim was decided; for an open claim, why runs of its cells are missing."""
    if row["decided_after"] is not None:
        yield f"decided after {row['decided_after']} runs of each cell"
    if left is None or row["verdict"] != claims.INCONCLUSIVE:
        return
    if not row["runs_help"]:
        yield "not decidable here by more runs"
        return
    cells = interim.cells_of_test(runs, claim["test"]) or ()
    fewest = estimand_of(claim["test"]).fewest
    few = (_too_few(paper, name, runs.efforts, fewest) for name in dict.fromkeys(name for name, _ in cells))
    if reason := next(filter(None, few), ""):
        yield reason
    effort = "".join(f" EFFORT={name}" for name in sorted(runs.efforts)[:1])
    makes = f"{start_command()} PAPERS={paper.id}{effort} makes them"
    helps = {OTHERS: f": stop them, and AGAIN=busy {makes}",
             FAILED: f": put that right (make doctor{asked_testbed()} shows what is missing), and {makes}"}  # fmt: skip
    for why, count in _not_made(cells, left).items():
        yield f"{why} before {count} more runs of its cells{helps.get(why.code, '')}"
    if short := _lacked(runs, cells, left):
        yield f"{short} more lacked processors: stop other programs, and AGAIN=busy {makes}"
    if not reason and (needed := _needed(row)):
        yield needed


def _not_made(cells: Sequence[Cell], left: pd.DataFrame | None) -> Counter[Reason]:
    """Number of missing runs of some cells that another start makes, by reason."""
    if left is None:
        return Counter()
    own = cell_ids(cells)
    why = (Reason(code, said=said) for code, said in zip(left["why_code"], left["reason"], strict=True))
    rows = zip(left["experiment"], left["cell"], why, strict=True)
    return Counter(why for name, cell, why in rows if (name, cell) in own and why.kind.again)


def _lacked(runs: Runs, cells: Sequence[Cell], left: pd.DataFrame | None) -> int:
    """How many runs of some cells were given up because the last attempt lacked processors."""
    bad = runs.invalid
    if bad.empty or not cells or not {"run_id", "why_code"} <= {*bad}:
        return 0
    own = bad[np.logical_or.reduce([(bad["experiment"] == name) & at(bad, levels) for name, levels in cells])]
    counted = {*runs.table.loc[runs.table["valid"], "run_id"], *(() if left is None else left["run_id"])}
    last = own[~own["run_id"].isin(counted)].drop_duplicates("run_id", keep="last")
    return sum(form.short_of_processors(last))


def _needed(row: Mapping[str, Any]) -> str:
    """The further runs that would decide an open claim, in words; with their minutes if no effort makes as many."""
    needed = row.get("runs_needed")
    if needed is None:
        return ""
    least = " or more" if needed >= statistics.MOST_RUNS else ""
    does = "would decide" if row.get("low") is not None else "would give an interval"
    said = f"{needed}{least} further run{'s' if needed != 1 else ''} of each cell {does}"
    if "beyond" not in row:
        return said
    most, minutes = row["beyond"]
    return f"not decidable here: {said}, in about {minutes} min, and no effort makes more than {most}"


def _too_few(paper: Paper, experiment: str, efforts: Collection[str], fewest: int) -> str:
    """The smallest effort with enough runs to decide, if no budget at the present efforts makes enough runs of an
    experiment; else empty."""
    own = paper.experiments[experiment].get("replicates", ())
    planned = {effort: paper.replicates(experiment, effort)["claimed"] for effort in own}
    most = max((planned.get(effort, 0) for effort in efforts), default=0)
    more = next((effort for effort, count in planned.items() if count >= fewest), None)
    if more is None or not 0 < most < fewest:
        return ""
    return f"{experiment} has no more at effort {' and '.join(sorted(efforts))}, EFFORT={more} makes {planned[more]}"


def _readings(paper: Paper, claim: Mapping[str, Any], route: str, status: str, runs: Runs, modelled: Runs,
              as_run: Runs | None, judged: Sequence[controls.Control]) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Further readings: other metrics, the model, and tests that the claim lists.

    Readings by runs have the status of this testbed's runs, also for a claim that is not testable here and whichever
    testbed the paper had in mind.
    """
    test = claim["test"]
    own = status if route == claims.NOT_TESTABLE else route
    wanted = [(metric, own, {**test, "metric": metric}, runs) for metric in test.get("also", [])]
    if "modelled" in claim["routes"] and route != "modelled":
        wanted.append((_MODEL, "modelled", test, modelled))
        if as_run is not None:
            wanted.append((f"{_MODEL}, files as run", "modelled", test, as_run))
    for reading in claim.get("readings", []):
        by_runs = reading["route"] in claims.MEASURED
        source = modelled if reading["route"] == "modelled" else runs
        wanted.append((reading["title"], status if by_runs else reading["route"], reading["test"], source))
    for title, own_route, own_test, source in wanted:
        found = judging.judged(paper, own_test, own_route, source, judged)
        row = {key: found[key] for key in READING_COLUMNS if key in found}
        row |= {"paper": paper.id, "claim": claim["id"], "reading": title, "route": own_route}
        yield row | {"metric": own_test.get("metric", "")}


def audit(paper: Paper) -> pd.DataFrame:
    """The paper's arithmetic, recomputed: one row per check, or one for an entry without checks."""
    rows = []
    for entry in paper.audit:
        base = {"paper": paper.id, "audit": entry["id"], "finding_kind": entry["finding_kind"]}
        models: dict[str, float] = {}
        for check in entry.get("checks", []) or [{"unit": "", "note": entry["finding"]}]:
            rows.append(base | _checked(paper, check, models))
    return pd.DataFrame(rows, columns=AUDIT_COLUMNS)


def _short(value: float) -> str:
    """An argument for the eye: `4`, `0.0627348`."""
    return level_text(value) if float(value).is_integer() else f"{value:.6g}"


def _checked(paper: Paper, check: Mapping[str, Any], models: dict[str, float]) -> dict[str, Any]:
    row: dict[str, Any] = {"unit": check["unit"], "note": check["note"]}
    if "model" in check:
        arguments = {name: paper.evaluate(value) for name, value in check.get("arguments", {}).items()}
        value = models[f"model_{len(models) + 1}"] = float(MODELS[check["model"]](**arguments))
        listed = ", ".join(f"{n}={_short(v)}" for n, v in arguments.items())
        row |= {"expression": f"{check['model']}({listed})", "recomputed": value}
    elif "expression" in check:
        value = paper.evaluate(check["expression"], models)
        row |= {"expression": check["expression"], "recomputed": value}
    if "printed" in check:
        printed = paper.evaluate(check["printed"])
        # Of a printed zero there is no relative difference: it holds exactly or not.
        difference = value / printed - 1 if printed else None
        row |= {"printed": printed, "relative_difference": difference}
        if check.get("at_most"):
            row["holds"] = bool(value <= printed)
        elif check.get("at_least"):
            row["holds"] = bool(value >= printed)
        elif "relative" in check:
            row["holds"] = bool(value == 0 if difference is None else abs(difference) <= check["relative"] + 1e-9)
    return row


def analyse_paper(paper: str, testbed: str, results: Path | str) -> None:
    """The analysis stage: read `results`/tidy, write `results`/analysis."""
    description = load_testbed(testbed)
    loaded = load_paper(project.paper_path(paper), fabric_names(description))
    config = project.load_config()
    write_analysis(loaded, description, Path(results), config["seed"], config["budget"])


def write_analysis(paper: Paper, testbed: Mapping[str, Any], results: Path, seed: int, had: str = budget.NONE) -> None:
    """All tables of the analysis of one paper on one testbed; `had`: the budget of the start."""
    tidy = results / "tidy"
    if faults := table_faults(tidy):
        raise Faults([f"{fault}; make the tables anew with `.venv/bin/whitewire tidy`" for fault in faults])
    table = _read(tidy / "runs.csv", dict.fromkeys(("run_id", "block", *paper.factors), str))
    status, fabrics = status_on(testbed), testbed["fabrics"]
    paper = paper.on(_candidate(paper, tidy / "scale.csv"))
    overheads, left = _read(tidy / "floors.csv", {"job": str}), _read(tidy / "left.csv")
    effort = _known_effort(table, paper, tidy / "runs.csv")
    runs = on_testbed(paper, testbed, effort, table, overheads, _unavailable(tidy / "unavailable.csv"), seed,
                      ended=True)  # fmt: skip
    simulated = model_runs(paper, fabrics)
    short, scaled = None, pd.DataFrame(columns=SIMILITUDE_COLUMNS)
    if effort:
        short = model_runs(paper, fabrics, runs.scaling)
        scaled = similitude_table(paper, testbed, effort)
    judged_controls = controls.judge(paper, runs)
    as_run = None if short is None else Runs(short, paper, seed)
    asked_table = _read(tidy / "asked.csv")
    outlook = partial(prospects.outlook, paper, testbed, effort or asked.effort(asked_table), had=had)
    judged, readings = _verdicts(paper, runs, Runs(simulated, paper, seed), status, as_run, judged_controls, left,
                                 asked.Noted.of(paper, asked_table), outlook)  # fmt: skip
    tables = {
        "estimates": _estimates(paper, runs, status),
        "verdicts": judged,
        "readings": readings,
        "controls": controls_table(judged_controls),
        "model": model_table(paper, simulated),
        "audit": audit(paper),
        "sweeps": sweeps_table(paper),
        "inverse": inverse_table(paper, runs, fabrics),
        "similitude": scaled,
    }
    # Of no runs an empty one: a budget may end before the first.
    tables["model_as_run"] = model_table(paper, simulated[:0] if short is None else short)
    if LANE in table:
        tables["lanes"] = pd.DataFrame(runs.lanes.differences(), columns=list(LANE_COLUMNS))
    made = {f"{name}.csv": frame.to_csv(index=False, lineterminator="\n").encode() for name, frame in tables.items()}
    write_files(results / "analysis", made)


def _known_effort(table: pd.DataFrame, paper: Paper, path: Path) -> str:
    """The effort of a table of runs, which `path` has; empty without any run. UserError if the paper has none such."""
    effort = effort_of(table["block"].iloc[0]) if len(table) else ""
    if effort and effort not in (efforts := paper.raw.get("replicates", {})):
        expected = f"a block of an effort ({', '.join(efforts)}), such as quick-1"
        raise UserError(f"{shown(path)}: block: found {quoted(table['block'].iloc[0])}, expected {expected}; {_AGAIN}")
    return effort


def _candidate(paper: Paper, path: Path) -> int:
    """Index of the scale candidate of the runs; the first without any."""
    scales = _read(path)
    found = int(scales["rung"].iloc[0]) if len(scales) else 0
    if why := candidate_fault(found, paper.candidate_count):
        raise UserError(f"{shown(path)}: {why}; {_AGAIN}")
    return found


def _unavailable(path: Path) -> dict[CellId, str]:
    """Why this machine cannot make a cell."""
    table = _read(path)
    return dict(zip(zip(table["experiment"], table["cell"], strict=True), table["reason"], strict=True))


def _read(path: Path, types: Mapping[str, type] | None = None) -> pd.DataFrame:
    try:
        form.rows(path.read_bytes(), path.name)
        return form.frame(path, form.kinds(path.name), types)
    except FileNotFoundError:
        raise UserError(f"{shown(path)}: no such file; make it with `.venv/bin/whitewire tidy`") from None
    except ValueError as error:  # Torn, and pandas' own
        raise UserError(f"{shown(path)}: {error}; {_AGAIN}") from None
