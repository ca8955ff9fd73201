"""Checks a paper's document before anything is measured: exhibits, figures, references, and names in its code.

R lists the calls in the code (`paper/calls.R`) and runs nothing, so computed names are only checked by rendering.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from whitewire.description.paper import Paper, cells_of
from whitewire.errors import UserError
from whitewire.paths import HOME, shown
from whitewire.text import canonical, quoted, suggestion
from whitewire.workloads import workload_of

_PARTS = HOME / "paper" / "parts"
DERIVED = ("puts", "total_puts")
"""Columns that documents have besides the factors: puts of a client, and of all clients."""
LOOSE = r"[A-Za-z0-9_-]+"
SORTS = {"V": "values", "C": "claims", "A": "audit", "K": "controls"}
"""Kinds of objects by the letter of their ids."""
IDS = {"published": "values", "published_value": "values", "experiment_of": "experiments"}
"""Functions whose `id` is the id of one of these."""
_LEVELS = ("where", "relative_to")
"""Arguments that name levels by factor."""

Fault = tuple[int, str, Any, str, Collection[str]]
"""(line, place, what was found, what was expected, valid names)."""


class NotLooked(RuntimeError):
    """R could not read the code, for example without a package; the message is R's own."""


def check_documents(papers: Sequence[tuple[Paper, Path]]) -> str:
    """Raises UserError for the first fault of the papers' documents; returns what was not checked, or an empty text."""
    for paper, path in papers:
        raise_first(path, in_text(paper, path.read_text(encoding="utf-8")))
    program, names = shutil.which("Rscript"), ", ".join(shown(path) for _, path in papers)
    if program is None:
        return f"R is not installed: the code of {names} was not looked at"
    files = {path: [path, *sorted((HOME / "paper" / "R" / "papers" / path.stem).glob("*.R"))] for _, path in papers}
    try:
        found = _asked([file for group in files.values() for file in group], program)
    except NotLooked as error:
        return f"R said {str(error)!r}: the code of {names} was not looked at"
    for paper, path in papers:
        for file in files[path]:
            own = {kind: [entry for entry in entries if entry["file"] == str(file)] for kind, entries in found.items()}
            raise_first(file, in_code(paper, own))
    return ""


def raise_first(path: Path, faults: Iterator[Fault]) -> None:
    """Raises UserError with the first fault of a file, if it has one."""
    for line, place, found, expected, names in faults:
        shown_found = found if found == "nothing" else quoted(found)
        where = f"line {line}: " if line else ""
        said = f"{place}: found {shown_found}, expected {expected}{suggestion(found, names)}"
        raise UserError(f"{shown(path)}: {where}{said}")


# --- what is written --------------------------------------------------------------------------------


def in_text(paper: Paper, text: str) -> Iterator[Fault]:
    """Faults of headings, labels, figures and references of a document."""
    lines = text.splitlines()
    headings = _ids_of_headings(lines)
    for exhibit in paper.raw["exhibits"]:
        wanted = f"sec-{exhibit['id']}"
        if wanted not in headings:
            expected = f"{{#{wanted}}} after a heading: every exhibit has a section"
            others = {f"sec-{other['id']}" for other in paper.raw["exhibits"]}
            near = difflib.get_close_matches(wanted, sorted(headings - others), n=1, cutoff=0.8)
            yield 0, f"heading of {exhibit['id']}", "nothing", expected + suggestion(wanted, near), ()
    labels: dict[str, int] = {}
    for line, options in _chunks(lines):
        label = options.get("label", "")
        if label and label in labels:
            yield line, "label", label, f"another one: it is that of line {labels[label]} too", ()
        labels[label] = line
        for kind, needed in (("fig-", ("fig-cap", "fig-alt")), ("tbl-", ("tbl-cap",))):
            for option in needed if label.startswith(kind) else ():
                if option not in options:
                    yield line, f"{label}: {option}", "nothing", "a line `#| " + option + ': "…"`', options
        child = options.get("child", "")
        if child.startswith("parts/") and not (_PARTS.parent / child).is_file():
            yield line, "child", child, "a file of paper/parts", [f"parts/{p.name}" for p in _PARTS.glob("*.qmd")]
    targets = {*headings, *labels}
    for part in _PARTS.glob("*.qmd"):
        below = part.read_text(encoding="utf-8").splitlines()
        targets |= {*_ids_of_headings(below), *(options.get("label", "") for _, options in _chunks(below))}
    for line, name in _references(lines):
        if name not in targets:
            yield line, "reference", f"@{name}", "the id of a heading, figure or table", [f"@{t}" for t in targets]


def _ids_of_headings(lines: Sequence[str]) -> set[str]:
    found = (re.match(rf"#+ .*\{{#({LOOSE})[^}}]*\}}\s*$", line) for line in lines)
    return {match[1] for match in found if match}


def _chunks(lines: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """(line, options) of every piece of code."""
    opened, options = 0, dict[str, str]()
    for number, line in enumerate(lines, start=1):
        if not opened and re.match(r"\s*```+\s*\{r[ ,}]", line):
            opened, options = number, {}
        elif opened and (option := re.match(r"\s*#\|\s*([\w.-]+):\s*(.*)$", line)):
            options[option[1].replace(".", "-")] = option[2].strip().strip("\"'")
        elif opened and re.match(r"\s*```+\s*$", line):
            yield opened, options
            opened = 0


def _references(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """(line, id) of what the text refers to: @fig-…, @tbl-… and @sec-…, outside of code."""
    inside = False
    for number, line in enumerate(lines, start=1):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            for match in re.finditer(rf"(?<![\w@.])@((?:fig|tbl|sec)-{LOOSE})", re.sub(r"`[^`]*`", "", line)):
                yield number, match[1].rstrip("-")


# --- what the code names ----------------------------------------------------------------------------


def _asked(files: Sequence[Path], rscript: str) -> dict[str, list[dict[str, Any]]]:
    """Calls in the code of documents: the output of paper/calls.R, cached until one of its files changes."""
    read = [*files, *sorted((HOME / "paper").rglob("*.R"))]
    parts = [f"{file}\0{hashlib.sha256(file.read_bytes()).hexdigest()}" for file in read]
    kept = HOME / ".cache" / "calls" / f"{hashlib.sha256(canonical(parts).encode()).hexdigest()}.json"
    with contextlib.suppress(OSError, ValueError):
        return json.loads(kept.read_text(encoding="utf-8"))
    done = subprocess.run(
        [rscript, "--vanilla", str(HOME / "paper" / "calls.R"), str(HOME / "paper")],
        input="".join(f"{file}\n" for file in files), capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode != 0:
        raise NotLooked((done.stderr.strip().splitlines() or ["no message"])[-1])
    found = {kind: entries or [] for kind, entries in json.loads(done.stdout).items()}
    with contextlib.suppress(OSError):  # one only, for the files as they are now
        shutil.rmtree(kept.parent, ignore_errors=True)
        kept.parent.mkdir(parents=True)
        kept.with_suffix(".part").write_text(json.dumps(found), encoding="utf-8")
        kept.with_suffix(".part").rename(kept)
    return found


def in_code(paper: Paper, found: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[Fault]:
    """Faults of what the code of one file calls, from the lists of paper/calls.R."""
    for entry in found["problems"]:
        if "name" in entry:
            yield entry["line"], "function", entry["name"], "a function of paper/R or of R", entry["functions"]
        else:
            raise UserError(f"{shown(entry['file'])}: line {entry['line']}: {entry['what']}")
    for entry in found["strings"]:
        part = SORTS.get(entry["text"].split("-")[1][0])
        ids = [each["id"] for each in paper.raw.get(part, [])] if part else []
        if entry["text"] not in ids:
            one = {"values": "a value", "claims": "a claim", "audit": "an audit entry", "controls": "a control"}
            expected = f"the id of {one[part]}" if part else "the id of a value, claim, audit entry or control"
            every = ids or [each["id"] for sort in SORTS.values() for each in paper.raw.get(sort, [])]
            yield entry["line"], "id", entry["text"], expected, every
    for entry in found["paths"]:
        yield from _path(paper, entry)
    for entry in found["calls"]:
        for place, value, expected, names in _call(paper, entry):
            yield entry["line"], f"{entry['function']}({place})", value, expected, names


def _path(paper: Paper, entry: Mapping[str, Any]) -> Iterator[Fault]:
    """A path such as `paper$testbed$nic` in code must exist in the YAML: for a missing key R returns NULL without an
    error."""
    part: Any = paper.raw
    for number, key in enumerate(entry["keys"]):
        if not isinstance(part, Mapping):
            return
        if key not in part:
            yield entry["line"], "$".join(["paper", *entry["keys"][:number]]), key, "a key of the paper's YAML", part
            return
        part = part[key]


Named = tuple[str, Any, str, Collection[str]]


def _call(paper: Paper, entry: Mapping[str, Any]) -> Iterator[Named]:
    """Faults of the literal arguments of a call."""
    given, function = entry["arguments"], entry["function"]
    parts: dict[str, Callable[[], list[str]]] = {
        "claim": lambda: [claim["id"] for claim in paper.claims],
        "exhibit": lambda: [*(e["id"] for e in paper.raw["exhibits"]), "text"],
        "sweep": lambda: [sweep["id"] for sweep in paper.raw.get("sweeps", [])],
        "audit": lambda: [audit["id"] for audit in paper.audit],
        "experiment": lambda: list(paper.experiments),
        "experiments": lambda: list(paper.experiments),
    }
    for name, known in parts.items():
        for value in _each(given.get(name)):
            if value not in known():
                yield name, value, f"the id of {_article(name)}", known()
    if function == "inverse_sentence" and "claim" in given:
        asking = [claim["id"] for claim in paper.claims if "inverse" in claim]
        if given["claim"] not in asking:
            yield "claim", given["claim"], "a claim with an inverse question", asking
    if function in IDS and "id" in given:
        ids = {each["id"]: each for each in paper.raw.get(IDS[function], [])}
        if given["id"] not in ids:
            yield "id", given["id"], f"the id of {_article(IDS[function][:-1])}", ids
        elif function == "published" and isinstance(ids[given["id"]]["value"], str):
            yield "id", given["id"], "a value that is a number, or published_value()$printed", ()
    if "note" in given and isinstance(given.get("audit"), str):
        notes = [c["note"] for a in paper.audit if a["id"] == given["audit"] for c in a.get("checks", [])]
        if given["note"] not in notes:
            yield "note", given["note"], f"a note of {given['audit']}", notes
    if "reading" in given and isinstance(given.get("claim"), str):
        titles = _readings(paper, given["claim"])
        if not any(title.startswith(given["reading"]) for title in titles):
            yield "reading", given["reading"], f"how a reading of {given['claim']} begins", titles
    if "rebuilt" in entry["names"] and isinstance(given.get("exhibit"), str):
        ids = {v["id"]: v for v in paper.raw["values"] if v["exhibit"] == given["exhibit"]}
        for value in entry["names"]["rebuilt"]:
            if value not in ids:
                yield "rebuilt", value, f"the id of a value of {given['exhibit']}", ids
    experiments = [paper.experiments[name] for name in _each(given.get("experiment")) if name in paper.experiments]
    if experiments:
        yield from _of_experiments(paper, experiments, given)


def _article(name: str) -> str:
    one = {"experiments": "experiment", "audit": "audit entry"}.get(name, name)
    return f"{'an' if one[0] in 'ae' else 'a'} {one}"


def _each(value: Any) -> list[Any]:
    return [] if value is None or isinstance(value, Mapping) else value if isinstance(value, list) else [value]


def _readings(paper: Paper, claim: str) -> list[str]:
    found = [each for each in paper.claims if each["id"] == claim]
    titles = [reading["title"] for each in found for reading in each.get("readings", [])]
    titles += [metric for each in found for metric in each["test"].get("also", [])]
    return titles + [f"max-min flow{more}" for more in ("", ", files as run")]


def _of_experiments(
    paper: Paper, experiments: Sequence[Mapping[str, Any]], given: Mapping[str, Any]
) -> Iterator[Named]:
    """Metrics that none of the experiments has, and factors and levels that none has."""
    known = list(dict.fromkeys(m for e in experiments for m in workload_of(e["workload"]).metric_names))
    names = ", ".join(experiment["id"] for experiment in experiments)
    for argument in ("metric", "metrics"):
        for metric in _each(given.get(argument)):
            if metric not in known:
                yield argument, metric, f"a metric that runs of {names} have", known
    levels: dict[str, list[Any]] = {name: [] for name in DERIVED}
    for experiment in experiments:
        for factor in paper.factors:
            levels.setdefault(factor, []).extend(_levels(experiment, factor))
    factors = [factor for factor, known in levels.items() if known]
    for argument in ("by", "series"):
        for factor in _each(given.get(argument)):
            if factor not in factors and factor not in DERIVED:
                yield argument, factor, f"a factor of {names}", factors
    for argument in _LEVELS:
        where = given.get(argument)
        if not isinstance(where, Mapping) or not where:
            continue
        for factor, wanted in where.items():
            if factor in DERIVED:
                continue
            if factor not in factors:
                yield argument, factor, f"a factor of {names}", factors
                continue
            wanted = _each(wanted)
            # Of several levels one will do, if the others are those of another experiment: they pick what is there.
            elsewhere = [level for e in paper.experiments.values() for level in _levels(e, factor)]
            some = any(_same(level, known) for level in wanted for known in levels[factor])
            for level in wanted:
                if not any(_same(level, known) for known in (elsewhere if some else levels[factor])):
                    yield f"{argument}${factor}", level, f"a level of {factor} in {names}", _words(levels[factor])
        if not any(_agrees(experiment, cell, where) for experiment in experiments for cell in cells_of(experiment)):
            yield argument, where, f"a cell that {names} makes", ()
    for argument in ("from", "to"):
        for level in _each(given.get(argument)):
            if levels.get("fabric") and not any(_same(level, known) for known in levels["fabric"]):
                yield argument, level, f"a level of fabric in {names}", _words(levels["fabric"])


def _words(levels: Collection[Any]) -> list[str]:
    """Levels as text, for suggestions."""
    return [str(level) for level in levels]


def _levels(experiment: Mapping[str, Any], factor: str) -> list[Any]:
    """Levels of a factor that an experiment's runs have: its own, or the fixed one."""
    if factor in experiment["factors"]:
        return list(experiment["factors"][factor])
    fixed = experiment["roles"].get("datanode") if factor == "nodes" else experiment["parameters"].get(factor)
    return [] if fixed is None else [fixed]


def _agrees(experiment: Mapping[str, Any], cell: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
    for factor, wanted in where.items():
        if factor not in DERIVED:
            known = [cell[factor]] if factor in cell else _levels(experiment, factor)
            if not any(_same(level, each) for level in _each(wanted) for each in known):
                return False
    return True


def _same(one: Any, other: Any) -> bool:
    """Whether documents take two levels as equal: as text without regard to case, or as numbers."""
    if str(one).lower() == str(other).lower():
        return True
    try:
        return float(one) == float(other)
    except (TypeError, ValueError):
        return False
