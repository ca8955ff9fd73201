"""What a start came to, in a few lines: for each paper its runs, verdicts and report, what is missing, what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from whitewire.analysis import prospects
from whitewire.analysis.claims import INCONCLUSIVE
from whitewire.description.checks import load_paper
from whitewire.description.project import load_config, paper_path
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.design.rows import effort_of, read_csv
from whitewire.errors import UserError
from whitewire.paths import root, shown
from whitewire.records.checked import block_record
from whitewire.records.journal import BUDGET, FAILED, OTHERS, kind_of
from whitewire.report import sides

MEASURED = ("emulated", "measured")
"""Routes that rest on runs."""
LIKELY = 0.5
"""Least chance of a verdict with which a claim is named."""
STAGES = ("tidy", "analysis", "paper")
"""Rules that follow measurement, in order."""


def lines() -> Iterator[str]:
    """A line per paper of config.yaml, and what to do about what is missing."""
    config = load_config()
    results = root() / "results" / config["testbed"]
    own = results / "reports" / "testbed.html"
    if own.is_file():
        yield f"testbed: {shown(own)}"
        if not any((results / paper).is_dir() for paper in config["papers"]):
            return  # nothing but the testbed was asked for
    short = Counter[str]()
    unfinished: list[str] = []
    for paper in config["papers"]:
        yield f"{paper}: {_of_paper(results, paper, config['effort'], short, unfinished)}"
    more = f"BUDGET={prospects.BUDGET} make papers goes on"
    if short[BUDGET]:
        yield f"the budget of {config['budget']} ended before {short[BUDGET]} runs: {more}"
    if short[OTHERS]:
        yield f"{OTHERS} in {short[OTHERS]} runs: stop them, and {more}"
    if short[FAILED]:
        yield f"{FAILED} before {short[FAILED]} runs (why: the report): {more}"
    if unfinished:
        yield f"not finished: {', '.join(unfinished)}; what was measured is kept, and `make papers` goes on"
    if config["effort"] == "smoke":
        for paper in config["papers"]:
            yield from _further(results, paper)
    page = results / "reports" / "index.html"
    if page.is_file():
        yield f"start page: {shown(page)}"


def _of_paper(results: Path, paper: str, effort: str, short: Counter[str], unfinished: list[str]) -> str:
    folder = results / paper
    verdicts, report = folder / "analysis" / "verdicts.csv", results / "reports" / f"{paper}.html"
    finished = (folder / "raw").glob("*/block.json")
    blocks = sorted(path for path in finished if effort_of(path.parent.name) == effort)
    try:
        made = _made(folder)
    except UserError as error:
        unfinished.append(paper)
        return str(error)
    if not verdicts.is_file() or not blocks:
        unfinished.append(paper)
        return f"{made} runs; no verdicts yet"
    records = filter(None, map(block_record, blocks))
    short.update(kind_of(why) for record in records for why in record.get("left", {}).values())
    try:
        table = sides.read_table(verdicts, ("route", "verdict"))
    except UserError as error:
        unfinished.append(paper)
        return f"{made} runs; verdicts cannot be read: {error}"
    ours = table[table["route"].isin(MEASURED)]
    still = int((ours["verdict"] == INCONCLUSIVE).sum())
    told = f"{made} runs; {len(ours) - still} of {len(ours)} claims that runs judge are decided"
    if not report.is_file():
        unfinished.append(paper)
        return f"{told}; no report"
    if failed := next(filter(None, (_failed(folder, stage) for stage in STAGES)), None):
        unfinished.append(paper)
        return f"{told}; all of that is from before, for {failed.stem} did not end: see {shown(failed)}"
    return f"{told}; {shown(report)}"


def _further(results: Path, name: str) -> Iterator[str]:
    """Which claims the next effort is likely to decide by its first interim analysis, in how many minutes, and how."""
    path = results / name / "analysis" / "verdicts.csv"
    try:
        table = sides.read_table(path, ("claim", "verdict", "chance", "command"))
    except UserError:
        return  # told in the paper's own line
    still = table[(table["verdict"] == INCONCLUSIVE) & (table["command"] != "")]
    likely = still[~(pd.to_numeric(still["chance"]) < LIKELY)]
    if not len(likely):
        return
    testbed = load_testbed(results.name)
    paper = load_paper(paper_path(name), fabric_names(testbed))
    command = likely["command"].iloc[0]
    minutes = prospects.minutes_to_first_look(paper, testbed, command.rpartition("=")[2])
    yield f"about {minutes} more minutes may decide {', '.join(likely['claim'])} of {name}: {command}"


def _made(paper: Path) -> int:
    """Number of finished runs of the current design; runs of earlier designs stay in the folder and do not count."""
    design = paper / "design.csv"
    rows = read_csv(design) if design.is_file() else []
    return sum((paper / "raw" / row["block"] / "runs" / row["run_id"] / "run.json").is_file() for row in rows)


def _failed(paper: Path, stage: str) -> Path | None:
    """The log of a stage whose rule failed or was ended, which left what it had made before; None where it ended."""
    log = paper / "logs" / f"{stage}.log"
    return log if log.is_file() and not log.with_suffix(".done").is_file() else None


def show() -> None:
    """Print the lines."""
    for line in lines():
        print(line)
