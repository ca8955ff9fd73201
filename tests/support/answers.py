"""A paper judged on a testbed, from design to verdict, and the template's paper made small enough for that."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.support.repository import linked
from whitewire.analysis.analyse import analyse_paper
from whitewire.description.testbed import load_testbed
from whitewire.design.rows import write_design
from whitewire.measure import survey
from whitewire.measure.block import measure_block
from whitewire.paths import HOME
from whitewire.tidy.tables import tidy_paper

TEMPLATE = "made-up-2026"


def template_paper(k: int, file_blocks: Mapping[str, int]) -> dict[str, Any]:
    """The template's paper with two cells at the scale k, without drives."""
    paper = yaml.safe_load((HOME / "docs" / "template" / "paper.yaml").read_text())
    paper["scale"] |= {"k": k, "file_blocks": dict(file_blocks)}
    del paper["headline"]  # so that smoke effort has as many runs as `replicates` says
    (experiment,) = paper["experiments"]
    experiment["factors"]["fabric"] = ["1gbe", "10gbe"]
    del experiment["hardware"]
    for claim in paper["claims"]:
        claim.pop("inverse", None)
    return paper


def project_of(folder: Path, paper: Mapping[str, Any]) -> Path:
    """The repository's programs in a folder, with the template's paper and an empty document."""
    linked(folder, copied=["config"])
    (folder / "paper").mkdir()
    (folder / "paper" / f"{TEMPLATE}.qmd").write_text("")
    (folder / "config" / "papers" / f"{TEMPLATE}.yaml").write_text(yaml.safe_dump(paper))
    return folder


def describe(testbed: str, config: Mapping[str, Any]) -> None:
    """Write a testbed's description, which may be one that was read, into the current folder's project."""
    plain = {**config, "fabrics": dict(config["fabrics"])}
    Path("config/testbeds", f"{testbed}.yaml").write_text(yaml.safe_dump(plain))


def verdicts(paper: str, testbed: str, effort: str) -> dict[str, dict[str, str]]:
    """Every claim's row, by its id, from the first block of runs on a testbed of the current folder's project."""
    results, block = Path("results") / testbed / paper, f"{effort}-1"
    results.mkdir(parents=True)
    if load_testbed(testbed)["kind"] != "emulated":
        survey.survey(testbed, results.parent, "smoke")
    write_design(paper, testbed, effort, results / "design.csv")
    measure_block(paper, testbed, results / "design.csv", block, results / "raw" / block / "block.json")
    tidy_paper(paper, results)
    analyse_paper(paper, testbed, results)
    with (results / "analysis" / "verdicts.csv").open() as table:
        return {row["claim"]: row for row in csv.DictReader(table)}
