"""A pair, host or drive beyond its bound stops the papers that use it, by name, or marks them."""

from types import SimpleNamespace

import pytest

from tests.unit.measure.test_survey import CONFIG, Replayed, at_once, made  # noqa: F401 - a fixture that every test uses
from whitewire.description.testbed import digest
from whitewire.errors import Faults, UserError
from whitewire.measure import limits_exceeded
from whitewire.measure.limits_exceeded import before, hosts_used
from whitewire.testbed.site import job


def paper(datanodes, fabric="10gbe"):
    return SimpleNamespace(
        experiments={"e": {"factors": {}}},
        roles=lambda *_: {"namenode": 1, "datanode": datanodes, "mds": 1},
        parameters=lambda *_: {"fabric": fabric},
    )


ROWS = [{"experiment": "e"}]


@pytest.fixture
def slow(tmp_path):
    """Links below a testbed's results, of which those of datanode4 are slow on one network."""
    hosts = Replayed()
    hosts.shares = lambda *pair: 0.3 if "datanode4" in pair and hosts.now.name == "10gbe" else 1.0
    made(tmp_path / "links", hosts)
    return tmp_path


def test_a_paper_that_uses_a_slow_host_does_not_start(slow):
    with pytest.raises(Faults) as stopped:
        before(slow, CONFIG, paper(4), ROWS, "stop")
    first, *_, last = stopped.value.lines
    assert first.startswith("datanode4 on 10gbe: 30% of what is expected; likely cause: its link, cable or port")
    assert last.endswith("or go on and mark every figure with OUTLIERS=mark")


def test_it_starts_with_marks_by_the_users_word(slow):
    found = before(slow, CONFIG, paper(4), ROWS, "mark")
    assert len(found.marks) == 1 and found.marks[0].startswith("datanode4 on 10gbe")
    assert found.carried["10gbe", "datanode1.lab", "datanode2.lab"] == pytest.approx(9564, rel=1e-3)
    assert found.carried["10gbe", "datanode1.lab", "datanode4.lab"] == pytest.approx(0.3 * 9564, rel=1e-3)


@pytest.mark.parametrize(
    "lanes, stops",
    [
        ([["datanode1.lab", "datanode2.lab"], ["datanode3.lab", "datanode4.lab"]], True),
        ([["datanode1.lab", "datanode2.lab"]], False),
    ],
)
def test_a_slow_host_stops_the_papers_of_every_lane_while_one_has_it(slow, lanes, stops):
    """Which lane a block gets is not known before."""
    found = before(slow, {**CONFIG, "lanes": lanes}, paper(2), ROWS, "mark")
    assert bool(found.marks) == stops


def test_a_paper_of_fewer_hosts_or_on_another_network_starts(slow):
    assert before(slow, CONFIG, paper(3), ROWS, "stop").marks == ()
    assert before(slow, CONFIG, paper(4, "1gbe"), ROWS, "stop").marks == ()


def test_links_of_another_description_and_none_at_all_stop(slow, tmp_path):
    changed = {**CONFIG, "limits": {**CONFIG["limits"], "link_error": 0.2}}
    with pytest.raises(UserError, match="found the links of another description of this testbed"):
        before(slow, changed, paper(1), ROWS, "stop")
    with pytest.raises(UserError, match="found no such file, expected the testbed's links; make testbed"):
        before(tmp_path / "nowhere", CONFIG, paper(1), ROWS, "stop")


def test_hosts_of_this_machine_are_looked_at_by_each_block(tmp_path):
    assert before(tmp_path, {"kind": "emulated"}, paper(1), ROWS, "stop").marks == ()


def test_of_a_slurm_job_the_first_nodes_are_used_whatever_they_were_called_when_links_were_measured():
    hosts = [{"name": f"datanode{n}", "role": "datanode", "target": f"n{n}"} for n in range(1, 7)]
    assert hosts_used(hosts, ["n6", "n9", "n2", "n1"], paper(2), ROWS) == {"datanode6", "datanode2"}
    assert hosts_used(hosts, ["n6.example.org", "n9", "n2", "n1"], paper(2), ROWS) == {"datanode6", "datanode2"}


@pytest.mark.parametrize("nodes, stops", [(["datanode4", "namenode", "datanode1"], True),
                                          (["datanode1", "datanode2", "namenode", "datanode4"], False)])  # fmt: skip
def test_a_slow_node_stops_the_slurm_jobs_that_it_is_in(slow, monkeypatch, nodes, stops):
    """Links were measured on all five; the block's job has some of them, in an order of its own."""
    monkeypatch.setattr(job, "nodes_of", lambda config: [f"{node}.lab" for node in nodes])
    as_if_by_slurm = digest(CONFIG)
    monkeypatch.setattr(limits_exceeded, "digest", lambda config: as_if_by_slurm)
    found = before(slow, {**CONFIG, "kind": "slurm"}, paper(2), ROWS, "mark")
    assert bool(found.marks) == stops
