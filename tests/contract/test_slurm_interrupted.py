"""Measurements as jobs of a real Slurm, by Snakemake: a job that is cancelled, out of time or loses a node resumes."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.contract.test_site_ssh import runs_of, within
from tests.support import images
from tests.support.answers import TEMPLATE, project_of, template_paper
from tests.support.limits import wide
from tests.support.site import EXECUTOR, SCALE, SEEN_BY_NODES, SlurmSite, description
from whitewire.paths import HOME
from whitewire.records.reasons import FAILED

BLOCK, RUNS = "smoke-1", 14
PATIENCE_S = 900
"""Longest time of each of a test's three parts."""

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(3 * PATIENCE_S + 300), SEEN_BY_NODES]


@pytest.fixture
def project(emulated_config) -> Iterator[Path]:
    """The repository's programs and the template's paper, in a folder that all nodes see (/tmp is each node's own)."""
    with tempfile.TemporaryDirectory(dir=HOME / ".cache") as folder:
        paper = template_paper(SCALE, {"smoke": 2, "quick": 2, "full": 2})
        # Enough runs to be interrupted in their midst.
        paper["replicates"]["smoke"] = {"claimed": RUNS // 2, "other": RUNS // 2}
        top = project_of(Path(folder), paper)
        site = description(wide(emulated_config["limits"], "slurm"), "slurm", data=["/tmp/data1"])
        (top / "config" / "testbeds" / "site.yaml").write_text(yaml.safe_dump(site))
        yield top


class Measuring:
    """`snakemake` with the profile, asked for all blocks, as `whitewire papers` starts it: it goes on with a block that
    lost its cluster."""

    def __init__(self, project: Path, site: SlurmSite) -> None:
        self.site, self.block = site, project / "results" / "site" / TEMPLATE / "raw" / BLOCK
        finished = self.block / "block.json"
        forced = ["--forcerun", str(finished.relative_to(project))] if finished.exists() else []
        argv = [sys.executable, "-m", "snakemake", "measured", *forced, "--profile", str(HOME / "profiles/slurm"),
                "--slurm-init-seconds-before-status-checks", "2", "--seconds-between-status-checks", "2"]  # fmt: skip
        own = {"PAPERS": TEMPLATE, "TESTBED": "site", "EFFORT": "smoke", "SBATCH_MEM_PER_NODE": "0",
               "OUTLIERS": "mark"}  # fmt: skip
        outside = {name: value for name, value in os.environ.items() if name != "SLURM_JOB_ID"} | own | EXECUTOR
        self.log = project / "snakemake.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                argv,
                cwd=project,
                env=outside,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def kept(self) -> dict[str, float]:
        """Finished runs and when each was written."""
        return {path.parent.name: path.stat().st_mtime for path in self.block.glob("runs/[!.]*/run.json")}

    def wait_for(self, runs: int) -> str:
        """Wait for so many finished runs; the number of the job that makes them."""
        deadline = time.monotonic() + PATIENCE_S  # the curves of the nodes' drives come first
        while len(self.kept()) < runs:
            assert self.process.poll() is None, self.log.read_text()[-3000:]
            assert time.monotonic() < deadline, self.log.read_text()[-3000:]
            time.sleep(0.2)
        (job,) = self.site.slurm("squeue", "--noheader", "--format=%i", "--states=RUNNING").stdout.split()
        return job

    def end(self) -> int:
        return self.process.wait(timeout=PATIENCE_S)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def cancel(site: SlurmSite, job: str) -> None:
    site.slurm("scancel", job)


def run_out_of_time(site: SlurmSite, job: str) -> None:
    done = site.slurm("scontrol", "update", f"JobId={job}", "TimeLimit=1")  # minutes, of which one has passed or soon
    assert done.returncode == 0, done.stderr


def lose_a_node(site: SlurmSite, job: str) -> None:
    site.crash(site.testbed.host("datanode2"))


def left(site: SlurmSite) -> list[str]:
    """Processes of runs on the nodes, Apptainer's, which carry no marker, and folders of runs where no node crashed."""
    marked = site.testbed.inside(["sh", "-c", "grep -lsF WHITEWIRE_RUN= /proc/[0-9]*/environ"]).stdout.decode()
    up = [host.name for host in site.testbed.hosts if host not in site.crashed]
    folders = [f"{name}: {folder}" for name in up for folder in runs_of(site, name)]
    return [*marked.split(), *images.processes(site), *folders]


def hand_back(site: SlurmSite) -> None:
    """The site as other tests expect it: all nodes in the job that this process seems to be in."""
    for job in site.slurm("squeue", "--noheader", "--format=%i").stdout.split():
        site.slurm("scancel", job)
    site.revive()
    site.rejoin()


@pytest.mark.parametrize("place", ["node", "image"])
@pytest.mark.parametrize(
    "interrupt, state",
    # Past the limit Slurm first refuses further steps: the job may fail by itself before Slurm ends it.
    [(cancel, "CANCELLED"), (run_out_of_time, "TIMEOUT|FAILED"), (lose_a_node, "NODE_FAIL|FAILED|COMPLETED")],
)
def test_finished_runs_are_kept_and_the_rest_is_made(
    project: Path, slurm_site: SlurmSite, interrupt: Callable[[SlurmSite, str], None], state: str, place: str,
    request: pytest.FixtureRequest,
):  # fmt: skip
    if place == "image":
        site_path = project / "config" / "testbeds" / "site.yaml"
        described = yaml.safe_load(site_path.read_text()) | request.getfixturevalue("in_image")
        site_path.write_text(yaml.safe_dump(described))
    slurm_site.slurm("scancel", slurm_site.job)
    with contextlib.ExitStack() as stack:
        stack.callback(hand_back, slurm_site)
        first = stack.enter_context(contextlib.closing(Measuring(project, slurm_site)))
        job = first.wait_for(2)
        interrupt(slurm_site, job)
        status = first.end()
        kept = first.kept()
        assert 2 <= len(kept) < RUNS
        shown = slurm_site.slurm("scontrol", "show", "job", job).stdout
        assert re.search(rf"JobState=({state})", shown), shown
        # A block whose cluster fails before Slurm ends the job keeps its runs, and says which are left.
        assert (status == 0) == ("JobState=COMPLETED" in shown), first.log.read_text()[-3000:]
        if status == 0:
            left_codes = json.loads((first.block / "block.json").read_text())["left_codes"]
            assert len(left_codes) == RUNS - len(kept) and set(left_codes.values()) == {FAILED}
        assert "Requeue=0" in shown
        assert within(30, lambda: not left(slurm_site)), left(slurm_site)
        slurm_site.revive()

        again = stack.enter_context(contextlib.closing(Measuring(project, slurm_site)))
        assert again.end() == 0, again.log.read_text()[-3000:]
        made = again.kept()
        assert len(made) == RUNS
        assert kept.items() <= made.items(), "a finished run was made again"
        assert (again.block / "block.json").is_file()


def test_blocks_are_jobs_at_once_as_many_as_the_site_has_lanes(project: Path, slurm_site: SlurmSite):
    paper_path, site_path = (project / "config" / path for path in (f"papers/{TEMPLATE}.yaml", "testbeds/site.yaml"))
    paper, site = (yaml.safe_load(path.read_text()) for path in (paper_path, site_path))
    paper["experiments"][0]["roles"] = {"namenode": 1, "datanode": 1, "client": 1}
    paper["experiments"][0]["parameters"]["replication"] = 1
    paper["blocks"]["smoke"] = 2
    paper_path.write_text(yaml.safe_dump(paper))
    site_path.write_text(yaml.safe_dump(site | {"lanes": 2}))
    slurm_site.slurm("scancel", slurm_site.job)
    with contextlib.ExitStack() as stack:
        stack.callback(hand_back, slurm_site)
        measuring = stack.enter_context(contextlib.closing(Measuring(project, slurm_site)))
        nodes: list[list[str]] = []
        while measuring.process.poll() is None:
            said = slurm_site.slurm("squeue", "--noheader", "--format=%N", "--states=RUNNING").stdout
            nodes = max(nodes, said.split(), key=len)
            time.sleep(0.5)
        assert measuring.end() == 0, measuring.log.read_text()[-3000:]
    assert len(nodes) == 2 and nodes[0] != nodes[1], nodes
    blocks = [measuring.block.with_name(f"smoke-{number}") for number in (1, 2)]
    assert sum(len(list(block.glob("runs/[!.]*/run.json"))) for block in blocks) == RUNS
