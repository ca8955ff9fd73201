"""Two lanes on a site by ssh: blocks of one paper measured at once, each on hosts of its own, started by Snakemake."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.answers import TEMPLATE, project_of, template_paper
from tests.support.limits import wide
from tests.support.site import SCALE, open_ssh_site

DATANODES, RUNS = 2, 4
ROLES = {"namenode": 2, "datanode": 2 * DATANODES, "client": 2}

pytestmark = [pytest.mark.cluster, pytest.mark.slow]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The repository's programs and the template's paper in two blocks."""
    paper = template_paper(SCALE, {"smoke": 2, "quick": 2, "full": 2})
    paper["experiments"][0]["roles"] = {"namenode": 1, "datanode": DATANODES, "client": 1}
    paper["replicates"]["smoke"] = {"claimed": RUNS, "other": RUNS}
    paper["blocks"]["smoke"] = 2
    return project_of(tmp_path, paper)


def described(project: Path, site, bounds: dict, **more) -> None:
    config = site.description(wide(bounds, "ssh"), data=["/tmp/data1"], **more)
    (project / "config" / "testbeds" / "site.yaml").write_text(yaml.safe_dump(config))


def snakemake(project: Path) -> subprocess.CompletedProcess:
    own = {"PAPERS": TEMPLATE, "TESTBED": "site", "EFFORT": "smoke", "BUDGET": "none", "OUTLIERS": "mark"}
    argv = [sys.executable, "-m", "snakemake", "measured", "--cores", "2"]
    return subprocess.run(argv, cwd=project, env=os.environ | own, capture_output=True, text=True, timeout=800)


def records_of(block: Path) -> list[dict]:
    return [json.loads(path.read_text()) for path in block.glob("runs/*/run.json")]


def targets_of(block: Path) -> set[str]:
    return {host["target"] for host in json.loads((block / "environment.json").read_text())["machines"].values()}


def test_two_blocks_are_measured_at_once_on_disjoint_hosts(project, can_emulate, emulated_config, tmp_path_factory):
    emulated = emulated_config | {"memory": emulated_config["memory"] | {"storage_gib": 4}}
    with open_ssh_site(emulated, ROLES, SCALE, tmp_path_factory.mktemp("servers")) as site:
        described(project, site, emulated["limits"], lanes=3)
        refused = snakemake(project)
        assert refused.returncode != 0 and not (project / "results").exists()
        assert "in each of 3 lanes, expected 1, as made-up-2026 needs" in refused.stderr, refused.stderr

        described(project, site, emulated["limits"], lanes=2)
        done = snakemake(project)
        assert done.returncode == 0, done.stderr[-5000:]
    blocks = [project / "results" / "site" / TEMPLATE / "raw" / f"smoke-{number}" for number in (1, 2)]
    runs = [records_of(block) for block in blocks]
    assert sum(map(len, runs)) == 2 * RUNS
    assert [{(run["lane"], run["lanes"]) for run in of} for of in runs] in ([{(1, 2)}, {(2, 2)}], [{(2, 2)}, {(1, 2)}])
    hosts = [targets_of(block) for block in blocks]
    assert [len(names) for names in hosts] == [2 + DATANODES] * 2 and not hosts[0] & hosts[1]
    begin, end = (([pick(run[key] for run in of) for of in runs]) for pick, key in ((min, "start"), (max, "end")))
    assert max(begin) < min(end), "one block was measured after the other"
