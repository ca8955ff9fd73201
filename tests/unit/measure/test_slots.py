"""How many tasks a worker runs at once."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitewire.cluster.yarn import Memory
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.design.rows import make_design
from whitewire.measure import groups
from whitewire.measure.block import Block


@given(st.integers(1, 50), st.integers(129, 8192))
def test_a_worker_has_room_for_its_slots_and_no_task_more(slots, task):
    found = Memory(node_mib=10**6, task_mib=task).with_slots(slots)
    rounded = -(-task // 32) * 32  # as the scheduler does
    assert found.am_mib > 0 and found.am_mib % 32 == 0
    # Without an ApplicationMaster, and beside several of jobs that have just ended: seven by default, four at least.
    several = 7 if task >= 256 else 4
    assert {(found.node_mib - masters * found.am_mib) // rounded for masters in range(several + 1)} == {slots}


def test_a_worker_offers_no_more_than_its_testbed_says():
    assert Memory(node_mib=1152, task_mib=256).with_slots(20).node_mib == 1152


@pytest.mark.parametrize(
    ("paper", "expected"),
    [
        ("emulex-2012", {None}),
        ("mellanox-mapr", {1}),
        ("chelsio-iwarp", {2}),  # four maps on two workers
        ("qubole-2015", {1}),
        ("xyratex-lustre-2011", {1}),  # eight tasks on eight workers
    ],
)
def test_the_slots_of_each_paper(tmp_path, paper, expected):
    groups = clusters_at_quick(paper, tmp_path)
    assert {json.loads(key)[3] for key in groups} == expected


def test_jobs_on_a_parallel_file_system_use_a_part_of_a_larger_cluster(tmp_path):
    """Sort on 8 and on 3 nodes."""
    ((key, runs),) = clusters_at_quick("xyratex-lustre-2011", tmp_path).items()
    assert json.loads(key)[0]["datanode"] == 8
    found = {(run.levels["nodes"], run.workers) for run in runs if run.row["experiment"] == "sort"}
    assert found == {(8, None), (3, 3)}
    assert [run.row["order"] for run in runs] == sorted(run.row["order"] for run in runs)


@pytest.mark.parametrize(
    ("paper", "expected"),
    [
        ("mellanox-mapr", {(100, None), (1000, 1340e6 / 1000), (1000, 900e6 / 1000)}),
        ("chelsio-iwarp", {(20, None), (20, 150e6 / 20)}),
        ("xyratex-lustre-2011", {(160, 80e6 / 160), (40, 80e6 / 40)}),
    ],
)
def test_runs_of_other_scales_and_drives_share_a_cluster(tmp_path, paper, expected):
    """Rates in bytes/s; None: without drives."""
    (runs,) = clusters_at_quick(paper, tmp_path).values()
    found = {(run.scale.k, run.drive.rate if run.drive.limits else None) for run in runs}
    assert found == expected


def clusters_at_quick(paper, tmp_path):
    testbed = load_testbed("emulated")
    loaded = load_paper(project.paper_path(paper), fabric_names(testbed))
    rows = [row for row in make_design(loaded, testbed, "quick", 1) if row["block"] == "quick-1"]
    plan = Block(loaded, testbed, "quick-1", rows, tmp_path).plan
    return groups.clusters(plan.paper, [plan.run(row) for row in rows], testbed)
