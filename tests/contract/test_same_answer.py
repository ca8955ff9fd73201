"""The same links, so the same answer: one paper's claim judged from runs on each kind of testbed."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest
import yaml

from tests.site import SCALE
from whitewire import analysis, design, runner, storage, tidy

HOME = Path(__file__).resolve().parents[2]
PAPER = "made-up-2026"
OPEN = {"cpu_idle_floor": 0.0, "link_error": 0.2, "retransmit_share": 0.5, "queue_drop_share": 0.5}
"""Bounds that depend on how busy this machine is."""


@pytest.fixture(scope="module")
def project(tmp_path_factory, emulated_config, ssh_config, slurm_site, slurm_config):
    """Two cells of the template's paper, without drives, at the sites' scale; three testbeds."""
    top = tmp_path_factory.mktemp("answer")
    shutil.copytree(HOME / "config", top / "config")
    paper = yaml.safe_load((HOME / "docs" / "template" / "paper.yaml").read_text())
    paper["scale"] |= {"k": SCALE, "file_blocks": {"smoke": 1, "quick": 2, "full": 2}}
    (experiment,) = paper["experiments"]
    experiment["factors"]["fabric"] = ["1gbe", "10gbe"]
    del experiment["hardware"]
    for claim in paper["claims"]:
        claim.pop("inverse", None)
    (top / "config" / "papers" / f"{PAPER}.yaml").write_text(yaml.safe_dump(paper))
    for name, config in (("emulated", emulated_config), ("ssh", ssh_config), ("slurm", slurm_config)):
        described = config | {"limits": config["limits"] | OPEN}
        (top / "config" / "testbeds" / f"{name}.yaml").write_text(yaml.safe_dump(described))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(top)
        patch.setitem(storage.EFFORTS, "quick", storage.EFFORTS["smoke"])  # the sites' drives are this machine's memory
        yield top


def verdict(kind: str) -> dict[str, str]:
    """The measured claim's row, from design to verdict."""
    results = Path("results") / kind / PAPER
    results.mkdir(parents=True)
    design.design(PAPER, kind, "quick", results / "design.csv")
    runner.measure(PAPER, kind, results / "design.csv", "quick-1", results / "raw" / "quick-1" / "block.json")
    tidy.tidy(PAPER, results)
    analysis.analyse(PAPER, kind, results)
    with (results / "analysis" / "verdicts.csv").open() as table:
        return next(row for row in csv.DictReader(table) if row["claim"] == "N-C01")


@pytest.mark.slow
def test_all_testbeds_agree(project):
    found = {kind: verdict(kind) for kind in ("emulated", "ssh", "slurm")}
    assert {row["route"] for row in found.values()} == {"emulated"}  # the sites' links are slowed down as well
    assert all(int(row["n"]) == 6 for row in found.values())
    assert len({row["verdict"] for row in found.values()}) == 1, found
    ratios = [float(row["estimate"]) for row in found.values()]
    assert max(ratios) / min(ratios) < 1.25, ratios
