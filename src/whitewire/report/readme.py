"""README's counts and figures, from the reference results and docs/calibration."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import shutil
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from whitewire import atomic
from whitewire.analysis import calibration
from whitewire.analysis.asked import AGAIN, BEFORE
from whitewire.analysis.calibration import CALIBRATION_FOLDER
from whitewire.analysis.claims import (
    BY_RUNS,
    CONSISTENT,
    DIRECTION,
    INCONCLUSIVE,
    INCONSISTENT,
    NOT_REPRODUCED,
    NOT_TESTABLE,
    REPRODUCED,
    verdict_in_words,
)
from whitewire.errors import Faults, UserError
from whitewire.paths import HOME, shown
from whitewire.records.manifest import MANIFEST_FILE, manifest_faults, manifest_of
from whitewire.report import bundle, rebuild, reference
from whitewire.report.agreement import is_of_bundle
from whitewire.report.bundle import VERDICTS_FILE
from whitewire.report.rebuild import opened_folder
from whitewire.report.reference import read_reference
from whitewire.report.render import INDEX
from whitewire.text import canonical

README, _IMAGES = HOME / "README.md", HOME / "docs" / "images"
_COLUMNS = (REPRODUCED, DIRECTION, NOT_REPRODUCED, INCONCLUSIVE, CONSISTENT, INCONSISTENT, NOT_TESTABLE)
"""Columns of the table of papers, in order."""
_PAPER, _CLAIM, _EXPERIMENT = "emulex-2012", "E-C06", "put-grid"
"""The claim that README names, its paper, and the experiment whose k README names."""
FIGURES = {"ruler.png": (INDEX, "glance"), "response-curve.png": (_PAPER, "response")}
"""Files of docs/images → (page, figure) from which each is made."""
_SUMMARY = "trust/tables/summary.csv"
KEPT_CALIBRATION = HOME / "docs" / "calibration"
"""The calibration's tables, as `make calibrate` left them."""
COMPARED = HOME / "results" / "calibration" / "emulated" / CALIBRATION_FOLDER / "analysis"
"""Where it leaves them."""
CALIBRATION_SUMMARY, FIRST_SUMMARY = "calibration/summary.csv", "calibration-first/summary.csv"
"""Its summary and that of the first measurement, below docs."""
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
ROW = re.compile(r"^\| `([a-z0-9-]+)` \| ([^|]*) \|(?: \d+ \|){7}$", re.MULTILINE)
TOTAL = re.compile(r"^\| all \| \|(?: \*\*\d+\*\* \|){7}$", re.MULTILINE)
_INTRODUCTION = re.compile(r"\w+ vendor papers with \d+ claims, measured on \w+ processors \(\w+ effort, \d+ runs\)")
_ASKED = re.compile(r"\d+ of the \d+ claims that runs judge were asked before the first run")
TWICE = re.compile(r"\d+ of them judged twice")
TRUST = re.compile(r"\d+ of \d+ goals are met, \d+ missed and \d+ open")
CALIBRATED = re.compile(r"^- \*\*Calibrated\*\*: .*?(?=\n- \*\*|\n\n)", re.MULTILINE | re.DOTALL)
HEADLINE = re.compile(r"^Emulex's paper, measured on the emulated testbed:.*?(?=\n\n)", re.MULTILINE | re.DOTALL)
SCALE = re.compile(r"divided by k = [\d.]+,")
HERE = re.compile(r"Here it is .*", re.DOTALL)


def made(text: str, record: bundle.BundleRecord, files: Mapping[str, bytes]) -> str:
    """README with the numbers of reference results (a bundle's record and files), and of the calibration beside them.

    Its list of papers and their descriptions stay. UserError if README lacks a part that has numbers.
    """
    rows = ROW.findall(text)
    for paper, _ in rows:
        if paper not in record["papers"]:
            raise UserError(f"README.md: found a row of {paper}, expected only papers of the reference results")
    papers = [paper for paper, _ in rows]
    counts = {paper: Counter(row["verdict"] for row in _table(files, f"{paper}/analysis/verdicts.csv"))
              for paper in papers}  # fmt: skip
    total = sum(counts.values(), Counter[str]())
    for paper, says in rows:
        cells = " | ".join(str(counts[paper][verdict]) for verdict in _COLUMNS)
        row = re.compile(rf"^\| `{paper}` \|.*$", re.MULTILINE)
        text = _put(row, f"| `{paper}` | {says} | {cells} |", text)
    text = _put(TOTAL, f"| all | | {' | '.join(f'**{total[verdict]}**' for verdict in _COLUMNS)} |", text)
    efforts = dict.fromkeys(record["papers"][paper]["effort"] for paper in papers)
    runs = sum(record["papers"][paper]["runs"] for paper in papers)
    text = _put(
        _INTRODUCTION,
        f"{_number(len(papers)).capitalize()} vendor papers with {total.total()} claims, measured "
        f"on {_number(_processors(files))} processors ({' and '.join(efforts)} effort, {runs} runs)",
        text,
    )
    asked, twice = _asked(files, papers)
    text = _put(TWICE, twice, _put(_ASKED, asked, text))
    text = _put(TRUST, _trust(files), text)
    text = _put(CALIBRATED, _calibrated(files), text)
    (claim,) = (row for row in _table(files, f"{_PAPER}/analysis/verdicts.csv") if row["claim"] == _CLAIM)
    (k,) = {row["k"] for row in _table(files, f"{_PAPER}/tidy/scale.csv") if row["experiment"] == _EXPERIMENT}
    found = HEADLINE.search(text)
    words = " ".join(found[0].split()) if found else ""  # lines break anywhere
    headline = _put(SCALE, f"divided by k = {k},", words)
    headline = _put(HERE, f"Here it is {_headline(claim)}", headline)
    paragraph = textwrap.fill(headline, 120, break_long_words=False, break_on_hyphens=False)
    return _put(HEADLINE, paragraph, text)


def _asked(files: Mapping[str, bytes], papers: Sequence[str]) -> tuple[str, str]:
    """Number of claims that were asked before their runs, and of those judged twice."""
    rows = [row for paper in papers for row in _table(files, f"{paper}/analysis/verdicts.csv")
            if row["verdict"] in (*BY_RUNS, INCONCLUSIVE)]  # fmt: skip
    found = Counter(row["asked"] for row in rows)
    before = f"{found[BEFORE] + found[AGAIN]} of the {len(rows)} claims that runs judge were asked before the first run"
    return before, f"{found[AGAIN]} of them judged twice"


def _trust(files: Mapping[str, bytes]) -> str:
    """Number of goals of trust that the reference meets; empty if trust was not measured."""
    outcomes = Counter(row["outcome"] for row in _table(files, _SUMMARY)) if _SUMMARY in files else Counter[str]()
    missed = outcomes.total() - outcomes["met"] - outcomes["open"]
    return f"{outcomes['met']} of {outcomes.total()} goals are met, {missed} missed and {outcomes['open']} open"


def _calibrated(files: Mapping[str, bytes]) -> str:
    """Result of the calibration as a line of README's list: the score of the half that nothing was tuned to, now and in
    the first measurement, and how many ratios of the other half came out within tolerance."""
    half, first = (_halves(files, name) for name in (CALIBRATION_SUMMARY, FIRST_SUMMARY))
    said = half[calibration.SCORE]["says"] if half else calibration.NONE_YET
    if first:
        score = first[calibration.SCORE]
        said += f". The first measurement, before designs changed, had {score['inside']} of {score['measured']} within"
    if half and (tuned := half[calibration.TUNE])["measured"] != "0":
        said += f". Of the half that tunes the model {tuned['inside']} of {tuned['measured']} are within"
    line = f"- **Calibrated**: {said} ([how](docs/inside/calibration.md))."
    return textwrap.fill(line, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _halves(files: Mapping[str, bytes], summary: str) -> dict[str, dict[str, str]]:
    """Rows of a calibration's summary for whole halves, by half; empty where there is no summary."""
    rows = _table(files, summary) if summary in files else []
    return {row["half"]: row for row in rows if row["by"] == "all"}


def _headline(claim: Mapping[str, str]) -> str:
    """`4.14 times as fast (95 % interval 3.63 to 4.84). The rule asks for 3.27 to 4.43, so …`"""
    number = {name: f"{float(claim[name]):.3g}" if claim[name] else "" for name in
              ("estimate", "low", "high", "expected", "expected_low", "expected_high")}  # fmt: skip
    if not number["estimate"]:
        return f"unknown: the claim is {claim['verdict']}."
    interval = f" (95 % interval {number['low']} to {number['high']})" if number["low"] else ""
    numbers = {name: float(claim[name]) for name in number if claim[name]}
    verdict = verdict_in_words({**claim, **numbers}, no_effect=1.0)
    return (
        f"{number['estimate']} times as fast{interval}. The rule asks for {number['expected_low']} to "
        f"{number['expected_high']}, so the verdict is *{verdict}*."
    )


def _put(pattern: re.Pattern[str], replacement: str, text: str) -> str:
    found = pattern.findall(text)
    if len(found) != 1:
        raise UserError(f"README.md: found {len(found)} places like {pattern.pattern[:60]!r}, expected one")
    return pattern.sub(lambda _: replacement, text)


def _table(files: Mapping[str, bytes], name: str) -> Sequence[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(files[name].decode())))


def _processors(files: Mapping[str, bytes]) -> int:
    """Processors of the measuring machine; of several machines the largest number."""
    records = [json.loads(content) for name, content in files.items() if "/environment" in name]
    return max((record.get("machine", {}).get("processors", 0) for record in records), default=0)


def _number(count: int) -> str:
    return _NUMBERS[count] if count < len(_NUMBERS) else str(count)


# -- figures -----------------------------------------------------------------------------------------------


def _digest() -> str:
    """Digest of what the figures are made of: all verdicts and the paper's tidy tables in results/reference."""
    listed: dict[str, Any] = json.loads((reference.reference_folder() / MANIFEST_FILE).read_text(encoding="utf-8"))[
        "files"
    ]
    own = {name: entry["sha256"] for name, entry in listed.items()
           if name.endswith(f"/analysis/{VERDICTS_FILE}") or name.startswith(f"{_PAPER}/tidy/")}  # fmt: skip
    return hashlib.sha256(canonical(own).encode()).hexdigest()


def _faults() -> list[str]:
    """Differences of README from the reference results, a line each."""
    record, files = read_reference()
    text = README.read_text(encoding="utf-8")
    pairs = zip_longest(text.splitlines(), made(text, record, files | _kept()).splitlines(), fillvalue="")
    differ = (each for each in enumerate(pairs, start=1) if each[1][0] != each[1][1])
    found = [f"README.md: line {n}: found {found!r}, expected {wanted!r}" for n, (found, wanted) in islice(differ, 1)]
    found += [f"{shown(path)}: {why}" for path, why in manifest_faults(KEPT_CALIBRATION) or ()]
    listed = manifest_faults(_IMAGES)
    if listed is None:
        found.append(f"{shown(_IMAGES)}: found no {MANIFEST_FILE}, expected one")
    found += [f"{shown(path)}: {why}" for path, why in listed or ()]
    if listed == [] and json.loads((_IMAGES / MANIFEST_FILE).read_text())["of"] != _digest():
        found.append(f"{shown(_IMAGES)}: found figures of other results, expected those of the reference")
    return found


def _kept() -> dict[str, bytes]:
    """Summaries of the calibration and of its first measurement, for `made`; nothing where none is kept."""
    paths = {name: HOME / "docs" / name for name in (CALIBRATION_SUMMARY, FIRST_SUMMARY)}
    return {name: path.read_bytes() for name, path in paths.items() if path.is_file()}


def _keep() -> list[Path]:
    """Copy the calibration's tables to the source of README's sentence; nothing if none were made here.

    Raises Faults for tables that have changed since they were written.
    """
    faults = manifest_faults(COMPARED)
    if faults is None:
        return []
    if faults:
        raise Faults([f"{shown(path)}: {why}" for path, why in faults])
    with atomic.folder(KEPT_CALIBRATION) as part:
        shutil.copytree(COMPARED, part, dirs_exist_ok=True)
    return [KEPT_CALIBRATION]


def write_readme() -> list[Path]:
    """Write README.md and docs/images from the reference results and their reports, and docs/calibration from `make
    calibrate`; return the written files. UserError if the reports are missing or belong to other results."""
    record, files = read_reference()
    project = opened_folder(reference.REFERENCE)
    drawn = project / rebuild.REPORTS / "figures"
    figures = {name: drawn / page / f"{figure}.png" for name, (page, figure) in FIGURES.items()}
    of_these = is_of_bundle(project / "results" / record["testbed"], files)
    if not of_these or not all(map(Path.is_file, figures.values())):
        raise UserError(
            f"{shown(project)}: found no reports of these reference results, expected them; "
            "`make report TESTBED=reference` makes them"
        )
    kept = _keep()
    text = made(README.read_text(encoding="utf-8"), record, files | _kept())
    images = {name: path.read_bytes() for name, path in figures.items()}
    for name, content in images.items():
        atomic.write(_IMAGES / name, content)
    listed = {"of": _digest(), **manifest_of(images)}
    atomic.write(_IMAGES / MANIFEST_FILE, atomic.as_json(listed))
    atomic.write(README, text)
    return [README, *(_IMAGES / name for name in images), *kept]
