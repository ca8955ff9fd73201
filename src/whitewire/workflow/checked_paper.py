"""Check a paper for all later stages on a testbed: its numbers, amounts, shapes, programs and ids of runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from whitewire.analysis.sweeps import check_sweeps
from whitewire.cluster.built_hibench import on_this_machine
from whitewire.description.capabilities import capabilities_of
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper
from whitewire.description.testbed import fabric_names
from whitewire.design.amounts import check_amounts
from whitewire.design.rows import check_number, levels_of
from whitewire.design.scale import scale_of
from whitewire.design.shapes import check_shapes
from whitewire.design.treatments import check_treatments
from whitewire.errors import UserError
from whitewire.measure import groups
from whitewire.paths import shown
from whitewire.records.run import DesignRow
from whitewire.text import quoted, suggestion
from whitewire.tools import hibench
from whitewire.workloads import workload_of

MOST_ID = 200
"""Characters of a run's id."""


def checked_paper(path: Path, testbed: Mapping[str, Any]) -> Paper:
    """A paper that every later stage can use on a testbed; else UserError with one line."""
    paper = load_paper(path, fabric_names(testbed))
    if paper.id != path.stem:
        raise UserError(f'{shown(path)}: id: found "{paper.id}", expected "{path.stem}", the name of the file')
    check_number(paper)
    check_sweeps(paper)
    check_amounts(paper, testbed)
    check_treatments(paper, testbed)
    check_shapes(paper, testbed)
    groups.check_slots(paper, testbed)
    return paper


def check_unique(rows: Sequence[Mapping[str, Any]], source: str) -> None:
    """Raise a UserError when two runs of a design have one id."""
    for run_id, count in Counter(row["run_id"] for row in rows).items():
        if count > 1:
            raise UserError(f"{source}: experiments: found {count} runs with the id {quoted(run_id)}, expected one")
        if len(run_id) > MOST_ID:
            found = f"a run's id of {len(run_id)} characters ({quoted(run_id)})"
            raise UserError(f"{source}: experiments: found {found}, expected at most {MOST_ID}: it names a folder")


def check_programs(paper: Paper, rows: Iterable[DesignRow], testbed: Mapping[str, Any]) -> list[str]:
    """Why programs of HiBench are left out, one line each: the copy on this machine lacks them.

    Raises UserError for a program that the testbed cannot run. What a site's HiBench lacks, only its hosts show.
    """
    wanted: dict[tuple[str, str], None] = {}
    for row in rows:
        if not workload_of(row["workload"]).of_suite:
            continue
        name, levels, effort = row["experiment"], levels_of(paper, row), row["effort"]
        parameters, scale = paper.parameters(name, levels), scale_of(paper, name, effort, levels, testbed)
        scaled = scale.k != 1 or scale.data_fraction != 1
        why = _fault_of_program(parameters, scale.file_bytes if scaled else None, paper.store(name, levels), testbed)
        if why:
            index = [experiment["id"] for experiment in paper.raw["experiments"]].index(paper.origin(name))
            place = "factors" if "program" in levels else "parameters"
            raise UserError(f"{shown(paper.path)}: experiments[{index}].{place}.program: {why}")
        wanted[parameters["program"], parameters["profile"]] = None
    if wanted and "hibench" in testbed and capabilities_of(testbed).local:
        tree = on_this_machine(testbed["hibench"])
        tree.check(wanted, ["worker"])
        return [why for program in dict.fromkeys(program for program, _ in wanted) if (why := tree.lacks(program))]
    return []


def _fault_of_program(
    parameters: Mapping[str, Any], size: int | None, store: Mapping[str, Any], testbed: Mapping[str, Any]
) -> str:
    """Why a testbed cannot run a program; empty if it can. `size` are the bytes of a scaled run."""
    program = parameters["program"]
    where = ""
    if "hibench" not in testbed:
        where = "where the testbed has no HiBench"
    elif size is not None:
        where = "on a testbed that scales sizes down"
    if where and program not in hibench.MICRO:
        known = ", ".join(hibench.MICRO)
        return f"found {quoted(program)}, expected one of {known} {where}{suggestion(program, hibench.MICRO)}"
    if "hibench" not in testbed:
        return ""
    if store["kind"] != "hdfs":
        return f"found a store of kind {store['kind']}, expected hdfs for HiBench"
    try:
        if size is not None:
            hibench.sizes(program, parameters["profile"], size)
    except ValueError as error:
        return str(error)
    return ""
