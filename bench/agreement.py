"""Does `make papers` give the same verdict on every claim when it is run again, and beside other programs?

    .venv/bin/python bench/agreement.py FOLDER [--loads idle burnt coming] [--show] [PAPERS=… BUDGET=…]

Clones the committed tree to FOLDER/tree, sets it up there, and runs `make papers` once per load, each from nothing:
`idle`, `burnt` (a program of one thread that never rests), `coming` (one that runs for 30 s and rests for 30 s); a
name may be followed by a number to run it again (`idle2`). Results and times go to FOLDER/<load>. What is there is not
made again, and `--show` makes nothing: the tables are printed from all that is there. Three loads take over
four hours at the default effort.

Prints how long each took and until its first report, per paper what came of its runs and how much of its time they
took, and every claim that runs judge and that does not have the same verdict everywhere. Ends with status 1 where less
than 95 % have.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from pathlib import Path

import pandas as pd

from whitewire.analysis import claims
from whitewire.measure.load import burning
from whitewire.paths import HOME
from whitewire.records.checked import block_record
from whitewire.records.journal import read_runs
from whitewire.records.run import RunRecord
from whitewire.report import ending
from whitewire.report.comparison import load_results

LOADS = {"idle": (0.0, 1.0), "burnt": (1.0, 1.0), "coming": (0.5, 60.0)}
"""Processors that are busy with something else on average, and the seconds of a turn of running and resting."""
GOAL = 0.95
RUNS, DISTURBED = "runs", "disturbed"


@dataclass(frozen=True)
class Times:
    """Of one `make papers`: seconds from its start to its end and to its first report, and its exit status."""

    seconds: float
    first_report: float | None
    status: int
    arguments: list[str] = field(default_factory=list)


def made(tree: Path, folder: Path, load: str, arguments: Sequence[str]) -> None:
    """Measure everything from nothing under a load and keep the results in `folder`."""
    processors, turn = LOADS[load.rstrip("0123456789")]
    shutil.rmtree(tree / "results", ignore_errors=True)
    begin = time.time()
    with burning(processors, turn), (folder.parent / f"{load}.log").open("wb") as log:
        done = subprocess.run(
            ["make", "papers", *arguments], cwd=tree, stdout=log, stderr=subprocess.STDOUT, check=False
        )
    pages = tree.glob("results/*/reports/*.html")
    reports = [path.stat().st_mtime for path in pages if path.stem not in ("index", "testbed")]
    first = min(reports) - begin if reports else None
    times = Times(time.time() - begin, first, done.returncode, list(arguments))
    folder.mkdir()
    (tree / "results").rename(folder / "results")
    (folder / "times.json").write_text(json.dumps(asdict(times)), encoding="utf-8")


def clone(tree: Path) -> None:
    """The committed tree, set up from nothing."""
    if not tree.exists():
        subprocess.run(["git", "clone", "-q", str(HOME), str(tree)], check=True)
    subprocess.run(["make", "setup"], cwd=tree, check=True, stdout=subprocess.DEVNULL)


def kinds(lost: Iterable[RunRecord]) -> str:
    """Why runs were thrown away, with how many of each kind, by the code of the first reason."""
    counted = Counter(run["why_codes"][0] for run in lost)
    return ", ".join(f"{count} {code}" for code, count in counted.most_common())


def papers(results: Path) -> Iterator[list[object]]:
    """Per paper: its block's minutes and what share of them was measuring, its runs, and its claims."""
    for path in sorted(results.glob("*/raw/*/block.json")):
        block, record, paper = path.parent, block_record(path), path.parents[2]
        if record is None:
            continue
        spent, seconds = record["spent"], record["seconds"]
        runs = [run for _, run in read_runs(block.parent, [block.name])]
        lost = [run for run in runs if not run["valid"]]
        table = pd.read_csv(paper / "analysis" / "verdicts.csv", keep_default_na=False)
        ours = table[table["route"].isin(ending.MEASURED)]
        still = int((ours["verdict"] == claims.INCONCLUSIVE).sum())
        measuring = (spent.get(RUNS, 0.0) + spent.get(DISTURBED, 0.0)) / seconds
        yield [f"{paper.name} {block.name}", f"{seconds / 60:.1f}", f"{measuring:.0%}", len(runs) - len(lost),
               len(lost), kinds(lost) or "–", f"{len(ours) - still} of {len(ours)}"]  # fmt: skip


def verdicts(results: Path) -> dict[tuple[str, str], tuple[str, str]]:
    """Verdict and estimate with its interval, as text, of each claim that runs judge, by paper and claim."""
    found = {}
    for name, paper in load_results(results).items():
        for row in paper.verdicts.to_dict("records"):
            if row["route"] in ending.MEASURED:
                numbers = [f"{float(row[key]):.3g}" if row[key] else "?" for key in ("estimate", "low", "high")]
                found[name, row["claim"]] = row["verdict"], "{} ({} to {})".format(*numbers)
    return found


def agreement(
    judged: Mapping[str, Mapping[tuple[str, str], tuple[str, str]]],
) -> tuple[float, list[list[object]]]:
    """The smallest share, over pairs of loads, of claims with the same verdict; the claims where one has another."""
    shares, rows = [1.0], list[list[object]]()
    for one, two in combinations(judged, 2):
        both = judged[one].keys() & judged[two].keys()
        same = sum(judged[one][claim][0] == judged[two][claim][0] for claim in both)
        shares.append(same / len(both) if both else 0.0)
        print(f"{one} and {two}: the same verdict of {same} of {len(both)} claims ({shares[-1]:.1%})")
        decided = [claim for claim in both if claims.INCONCLUSIVE not in (judged[one][claim][0], judged[two][claim][0])]
        alike = sum(judged[one][claim][0] == judged[two][claim][0] for claim in decided)
        print(f"    of those that both decide: {alike} of {len(decided)}")
    for claim in sorted(set.intersection(*(set(each) for each in judged.values())) if judged else ()):
        if len({each[claim][0] for each in judged.values()}) > 1:
            rows.append([" ".join(claim), *(": ".join(each[claim]) for each in judged.values())])
    return min(shares), rows


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table as Markdown has them."""
    print("\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
    print(flush=True)


def show(folder: Path) -> float:
    """Print the tables of all loads that are there; the smallest share of agreement."""
    judged: dict[str, Mapping[tuple[str, str], tuple[str, str]]] = {}
    lines = []
    for path in sorted(folder.glob("*/times.json")):
        load, times = path.parent.name, Times(**json.loads(path.read_text(encoding="utf-8")))
        results = next((path.parent / "results").glob("*/reports")).parent
        first = f"{times.first_report / 60:.1f}" if times.first_report is not None else "none"
        lines.append([load, f"{times.seconds / 60:.1f}", first, times.status, " ".join(times.arguments) or "–"])
        print(f"\n{load}:")
        table(("block", "minutes", "measuring", "valid runs", "thrown away", "why", "claims decided"),
              list(papers(results)))  # fmt: skip
        judged[load] = verdicts(results)
    table(("load", "minutes", "to the first report", "status", "arguments"), lines)
    share, rows = agreement(judged)
    if rows:
        table(("claim", *judged), rows)
    return share


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("folder", type=Path)
    arguments.add_argument(
        "--loads", nargs="+", default=list(LOADS), help="idle, burnt, coming, each with a number or not"
    )
    arguments.add_argument("--show", action="store_true", help="measure nothing")
    given, rest = arguments.parse_known_args()
    if unknown := [load for load in given.loads if load.rstrip("0123456789") not in LOADS]:
        arguments.error(f"--loads: found {unknown[0]!r}, expected {', '.join(LOADS)}")
    if wrong := [each for each in rest if not re.fullmatch(r"[A-Z]+=.*", each)]:
        arguments.error(f"found {wrong[0]!r}, expected an argument of make such as BUDGET=30m")
    folder = given.folder.resolve()
    if not given.show:
        folder.mkdir(parents=True, exist_ok=True)
        for load in given.loads:
            if not (folder / load / "times.json").is_file():
                clone(folder / "tree")
                made(folder / "tree", folder / load, load, rest)
    with contextlib.suppress(BrokenPipeError):
        return 0 if show(folder) >= GOAL else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
