"""Do neighbouring scale candidates (k) of a paper agree?

    .venv/bin/python bench/scales.py [PAPER ...] [--runs 2] [--turns 2] [--folder results/scales] [--show]
    .venv/bin/python bench/scales.py config/suspects/scale-of-puts.yaml

A PAPER is a name, or the file of a description that is no paper of the workflow.

The part `scales` of `whitewire trust`, of more papers: the cells that a paper measures at smoke effort, with the bytes
of quick effort, on each of its candidates in turn (first, second, first, second, ...). What is finished is not made
again. Prints per cell and metric the ratio of what the second k says to what the first says, at full scale, with its
95 % interval, and whether it lies within 3 %.
"""

from __future__ import annotations

import argparse
import contextlib
import math
from pathlib import Path

from whitewire.analysis.trust import scale_rows
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.measure.trust_runs import on_scales

PAPERS = ("emulex-2012", "mellanox-mapr", "qubole-2015", "xyratex-lustre-2011")
"""Those with several scale candidates."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("papers", nargs="*", default=list(PAPERS))
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path("results/scales"))
    parser.add_argument("--show", action="store_true", help="measure nothing")
    args = parser.parse_args()
    testbed = load_testbed("emulated")
    files = [Path(name) if name.endswith(".yaml") else project.paper_path(name) for name in args.papers]
    loaded = [load_paper(path, fabric_names(testbed)) for path in files]
    if not args.show:
        for paper in loaded:
            on_scales(paper, testbed, args.runs, args.turns, args.folder / paper.id)
    print("| paper | cell | metric | k | ratio | runs | within 3 % |\n|---|---|---|---|---|---|---|")
    with contextlib.suppress(BrokenPipeError):
        for paper in loaded:
            if list((args.folder / paper.id).glob("rung*")):
                for row in scale_rows(paper, testbed, args.folder / paper.id, args.turns, args.runs):
                    ends = " to ".join(f"{float(str(row[end] or math.nan)):.3f}" for end in ("low", "high"))
                    print(f"| {row['paper']} | {row['cell']} | {row['metric']} | {row['k_other']} against {row['k']} "
                          f"| {float(str(row['ratio'])):.3f} ({ends}) | {row['n']} and {row['n_other']} "
                          f"| {row['agrees']} |")  # fmt: skip


if __name__ == "__main__":
    main()
