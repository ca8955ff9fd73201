"""Summary of a start: for each paper its runs, verdicts and report, what is missing, and what to do."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from whitewire.analysis import prospects
from whitewire.analysis.claims import INCONCLUSIVE, MEASURED
from whitewire.description.checks import load_paper
from whitewire.description.project import load_config, paper_path
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.design.rows import effort_of, read_csv
from whitewire.errors import UserError
from whitewire.paths import root, shown, start_command
from whitewire.records.checked import block_record
from whitewire.records.journal import not_made
from whitewire.records.reasons import BUDGET, OTHERS, Reason, failures
from whitewire.records.run import DesignRow
from whitewire.report import comparison, one_claim
from whitewire.report.one_claim import verdict_lines

LIKELY = 0.5
"""Least chance of a verdict with which a claim is named."""
MOST_NAMED = 6
"""Claims that are named; of more there is the number."""
_OF_OPEN = ("claim", "route", "verdict", "minutes", "chance", "command", "effort_needed")
"""Columns of verdicts.csv from which further starts are named."""
STAGES = ("tidy", "analysis", "paper")
"""Rules that follow measurement, in order."""


def lines() -> Iterator[str]:
    """One line per paper of config.yaml, and remedies for what is missing; after a start for one claim, its verdict."""
    config = load_config()
    if claim := config.get("claim"):
        yield from _of_claim(config["papers"][0], claim, config)
        return
    results = root() / "results" / config["testbed"]
    own = results / "reports" / "testbed.html"
    if own.is_file():
        yield f"testbed: {shown(own)}"
        if not any((results / paper).is_dir() for paper in config["papers"]):
            return  # nothing but the testbed was asked for
    short = Counter[Reason]()
    unfinished: list[str] = []
    for paper in config["papers"]:
        yield f"{paper}: {_of_paper(results, paper, config['effort'], short, unfinished)}"
    more = _command(f"BUDGET={prospects.longer(config['budget'])}")
    if late := short[Reason(BUDGET)]:
        yield f"the budget of {config['budget']} ended before {late} runs: {more} goes on"
    if busy := short[Reason(OTHERS)]:
        again = _command("AGAIN=busy")
        yield f"a busy machine disturbed {busy} runs: stop other programs, and {again} goes on"
    for why in failures(short):
        yield f"{short[why]} runs were not made, because {why}; {_command()} tries them again"
    if unfinished:
        yield f"not finished: {', '.join(unfinished)}; what was measured is kept, and {_command()} goes on"
    for paper in config["papers"]:
        yield from _further(results, paper, config["effort"])
    for what, name in (("start page", "index"), ("calibration", "calibration")):
        page = results / "reports" / f"{name}.html"
        if page.is_file():
            yield f"{what}: {shown(page)}"


def _command(first: str = "") -> str:
    """The command of this start, with the variable `first` replacing its own value."""
    others = [name for name in ("PAPERS", "EFFORT", "BUDGET", "LANES", "OUTLIERS") if name != first.partition("=")[0]]
    return " ".join([*filter(None, [first]), start_command(), *_given(*others)])


def _given(*names: str) -> list[str]:
    """Variables of this start, as its command has them."""
    return [f"{name}={shlex.quote(text)}" for name in names if (text := os.environ.get(name))]


def _of_claim(name: str, claim: str, config: Mapping[str, Any]) -> Iterator[str]:
    """Summary of a start for one claim."""
    results = root() / "results" / config["testbed"]
    row = one_claim.row_of(results, name, claim)
    failed = _failed(results / name, config["effort"], ("tidy", "analysis"))
    if row is None or failed or not _finished(results / name, config["effort"]):
        why = _see(failed) if failed else ""
        again = " ".join(["make claim", f"CLAIM={claim}", *_given("PAPERS", "TESTBED", "EFFORT", "BUDGET")])
        yield f"{claim}: not finished{why}; what was measured is kept, and {again} goes on"
        return
    testbed = load_testbed(config["testbed"])
    yield from verdict_lines(load_paper(paper_path(name), fabric_names(testbed)), claim, row)


def _finished(folder: Path, effort: str) -> list[Path]:
    """block.json of a paper's blocks of an effort that are finished."""
    return sorted(path for path in (folder / "raw").glob("*/block.json") if effort_of(path.parent.name) == effort)


def _of_paper(results: Path, paper: str, effort: str, short: Counter[Reason], unfinished: list[str]) -> str:
    folder = results / paper
    verdicts, report = folder / "analysis" / "verdicts.csv", results / "reports" / f"{paper}.html"
    blocks = _finished(folder, effort)
    try:
        made = _made(folder)
    except UserError as error:
        unfinished.append(paper)
        return str(error)
    if not verdicts.is_file() or (_rows(folder) and not blocks):
        unfinished.append(paper)
        return f"{made} runs; no verdicts yet"
    for path in blocks:
        if record := block_record(path):
            short.update(not_made(path.parent, record))
    try:
        table = comparison.read_table(verdicts, ("claim", "route", "verdict"))
    except UserError as error:
        unfinished.append(paper)
        return f"{made} runs; verdicts cannot be read: {error}"
    ours = table[table["route"].isin(MEASURED)]
    still = list(ours["claim"][ours["verdict"] == INCONCLUSIVE])
    text = f"{made} runs; {len(ours) - len(still)} of {len(ours)} claims that runs judge are decided"
    text += f", open: {_names(still)}" if still else ""
    if not report.is_file():
        unfinished.append(paper)
        return f"{text}; no report"
    if failed := _failed(folder, effort, STAGES):
        unfinished.append(paper)
        return f"{text}; these are earlier results, because {failed.stem} did not finish{_see(failed)}"
    return f"{text}; {shown(report)}"


def _names(claims: Sequence[str]) -> str:
    """The first few of some claims, and how many more there are."""
    more = len(claims) - MOST_NAMED
    return ", ".join(claims[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _further(results: Path, name: str, effort: str) -> Iterator[str]:
    """Open claims that further runs may decide, with minutes and command; and open claims without a known effort that
    decides them."""
    path = results / name / "analysis" / "verdicts.csv"
    try:
        table = comparison.read_table(path, _OF_OPEN)
    except UserError:
        return  # reported in the paper's own line
    still = table[(table["verdict"] == INCONCLUSIVE) & table["route"].isin(MEASURED)]
    likely = still[(still["command"] != "") & ~(pd.to_numeric(still["chance"]) < LIKELY)]
    for (command, other), claims in likely.groupby(["command", "effort_needed"], sort=False):
        minutes = int(pd.to_numeric(claims["minutes"]).max())
        if other != effort:  # which makes all of them anew
            testbed = load_testbed(results.name)
            paper = load_paper(paper_path(name), fabric_names(testbed))
            minutes = prospects.minutes_to_first_interim(paper, testbed, str(other))
        yield f"about {minutes} more minutes may decide {_names(list(claims['claim']))} of {name}: {command}"
    if hopeless := list(still["claim"][still["command"] == ""]):
        yield f"no effort is known to decide {_names(hopeless)} of {name}: its report says why"


def _made(paper: Path) -> int:
    """Number of finished runs of the current design; runs of earlier designs stay in the folder and do not count."""
    return sum((paper / "raw" / row["block"] / "runs" / row["run_id"] / "run.json").is_file() for row in _rows(paper))


def _rows(paper: Path) -> list[DesignRow]:
    """Rows of the current design; none where there is no design yet."""
    design = paper / "design.csv"
    return read_csv(design) if design.is_file() else []


def _failed(paper: Path, effort: str, stages: Sequence[str]) -> Path | None:
    """The log of the first block of the design, or of these stages, that failed or was ended, so that verdicts are from
    an earlier start; None if all succeeded."""
    finished = {path.parent.name for path in _finished(paper, effort)}
    blocks = dict.fromkeys(row["block"] for row in _rows(paper) if row["effort"] == effort)
    logs = [paper / "logs" / "measure" / f"{block}.log" for block in blocks if block not in finished]
    written = [paper / "logs" / f"{stage}.log" for stage in stages]
    logs += [log for log in written if log.is_file() and not log.with_suffix(".done").is_file()]
    return next(iter(logs), None)


def _see(log: Path) -> str:
    """Where to read on; empty without the log, as of a block that did not begin."""
    return f": see {shown(log)}" if log.is_file() else ""


def print_ending() -> None:
    """Print the lines."""
    for line in lines():
        print(line)
