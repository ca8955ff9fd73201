"""The turn in which Snakemake measures blocks in two lanes, by the rule `measure` and a stand-in for `whitewire`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from whitewire.paths import HOME
from whitewire.workflow.plan import MACHINE

SNAKEFILE = """
from whitewire.workflow.plan import Plan

blocks = [f"{{paper}}/full-{{n}}" for paper in ("a", "b", "c") for n in (1, 2)]
designs = {{paper: [{{"block": f"full-{{n}}"}} for n in (1, 2)] for paper in ("a", "b", "c")}}
waiting = dict.fromkeys(blocks, 1.0)
plan = Plan([*designs], "t", "full", 1, designs, lanes=2, in_turn={in_turn}, waiting=waiting)
RESULTS = "results/t"
include: "{home}/workflow/rules/measure.smk"
"""
MEASURE = """#!/bin/bash
while [ $# -gt 1 ]; do [ "$1" = --output ] && output=$2; shift; done
block=${output#results/t/}; block=${block/raw\\//}
echo "+${block%/block.json}" >> order; sleep 0.5; echo "-${block%/block.json}" >> order
touch "$output"
"""


def measured(folder: Path, in_turn: bool) -> list[str]:
    """What begins (+) and ends (-), one after the other."""
    (folder / "Snakefile").write_text(SNAKEFILE.format(home=HOME, in_turn=in_turn))
    program = folder / "bin" / "whitewire"
    program.parent.mkdir()
    program.write_text(MEASURE)
    program.chmod(0o755)
    for name in ("links/links.json", *(f"{paper}/design.csv" for paper in "abc")):
        path = folder / "results" / "t" / name
        path.parent.mkdir(parents=True)
        path.touch()
    snakemake = [Path(sys.executable).parent / "snakemake", "measured", "--cores", "2", "--scheduler", "greedy"]
    path = os.pathsep.join([str(program.parent), os.environ["PATH"]])
    subprocess.run([*snakemake, "--resources", f"measuring={MACHINE}"], cwd=folder, env={**os.environ, "PATH": path},
                   check=True, capture_output=True, timeout=100)  # fmt: skip
    return (folder / "order").read_text().split()


@pytest.mark.parametrize("in_turn", [True, False])
def test_while_one_paper_is_measured_in_turn_the_next_one_has_the_other_lane(tmp_path, in_turn):
    order = measured(tmp_path, in_turn)
    begun = [each[1:] for each in order if each[0] == "+"]
    assert len(begun) == 6
    if not in_turn:  # on a site
        assert {*begun[:2]} == {"a/full-1", "a/full-2"}
        return
    assert {*begun[:2]} == {"a/full-1", "b/full-1"} and {*begun[-2:]} <= {"b/full-2", "c/full-1", "c/full-2"}
    for paper in "abc":
        own = [each for each in order if each[1] == paper]
        assert own == [f"+{paper}/full-1", f"-{paper}/full-1", f"+{paper}/full-2", f"-{paper}/full-2"]
