"""Every experiment of every paper, also those of full effort only: one run each, on the emulated testbed."""

from __future__ import annotations

import json

import pytest

from tests.support.limits import wide
from tests.support.small import one_of_each
from whitewire import paths
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.measure.block import Block

PAPERS = sorted(path.stem for path in (paths.HOME / "config" / "papers").glob("*.yaml"))

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(3600)]


@pytest.mark.parametrize("name", PAPERS)
def test_one_run_of_every_experiment(can_emulate, tmp_path, name):
    testbed = load_testbed("emulated")
    testbed = testbed | {"limits": wide(testbed["limits"])}
    paper = load_paper(project.paper_path(name), fabric_names(testbed))
    left = {}
    for effort, rows in one_of_each(paper, testbed).items():
        folder = tmp_path / f"{effort}-1"
        Block(paper, testbed, folder.name, rows, folder).measure()
        record = json.loads((folder / "block.json").read_text())
        for row in rows:
            run_id = row["run_id"]
            if run_id not in record["unavailable"] and not (folder / "runs" / run_id / "run.json").exists():
                tried = sorted(folder.glob(f"invalid/{run_id}.*/run.json"))
                why = record["left"].get(run_id) or json.loads(tried[-1].read_text())["why_invalid"]
                left[row["experiment"]] = why
    assert left == {}
