"""What cannot be made is left out with its reason, and all else is made: kinds of jobs, clusters, the heaviest cell."""

import contextlib
import errno
import json
from collections import defaultdict
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.unit.measure.test_overheads import DESCRIBED, JOBS_PAPER, LIMITS, Site, run
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.testbed import load_testbed
from whitewire.description.transports import Transport
from whitewire.design.rows import cell_of, make_design
from whitewire.errors import CannotMake, NotKept, RunFailed, UserError
from whitewire.measure import block, groups, one_cluster, services, session, warm_up
from whitewire.measure.block import Block
from whitewire.measure.block_plan import BlockPlan
from whitewire.measure.campaign import Campaign
from whitewire.measure.execution import cannot_make
from whitewire.measure.limits_exceeded import Before
from whitewire.measure.one_cluster import OneCluster
from whitewire.measure.paper_runs import PaperRuns
from whitewire.measure.run import overhead_key
from whitewire.measure.scale_candidate import ScaleCandidates
from whitewire.measure.session import Session
from whitewire.progress import Progress
from whitewire.records.journal import Journal
from whitewire.testbed.base import CommandFailed, ProcessDied


def campaign_of(folder, runs):
    plan = BlockPlan(JOBS_PAPER, DESCRIBED, "quick")
    return Campaign(plan, [each.row for each in runs], Journal(folder), Progress("quick-1", []), LIMITS["attempts"])


# Warm-up


@pytest.mark.parametrize("name", ["mellanox-mapr", "xyratex-lustre-2011", "qubole-2015", "hibench", "chelsio-iwarp"])
def test_no_first_overhead_is_of_a_cold_kind(name):
    """First overhead runs of kinds that had one job of their workload before took up to 2.2 times as long."""
    testbed = load_testbed("emulated")
    paper = load_paper(project.paper_path(name), testbed["fabrics"])
    plan = BlockPlan(paper, testbed, "quick")
    rows = make_design(paper, testbed, "quick", 1)
    for own in groups.clusters(paper, [plan.run(row) for row in rows], testbed).values():
        with_overhead = [each for each in own if plan.has_overhead(each)]
        made = [overhead_key(each) for each in warm_up._of_each_overhead(with_overhead)]
        assert {*made} == {overhead_key(each) for each in with_overhead}
        alike = [key[:2] for key in made]
        assert all(alike.count(kind) >= warm_up.ALIKE for kind in alike)
        assert not with_overhead or len(made) >= warm_up._JOBS


class Warmed:
    """A stack whose warm-up jobs are counted; `fails`: which of them (by a number of maps) does, `dead`: a daemon."""

    def __init__(self, monkeypatch, fails, dead=""):
        self.fails, self.dead_daemon, self.made, self.logs = fails, dead, [], "logs"
        self.testbed = SimpleNamespace(fabric=lambda name: None, fastest=lambda: "40gbe")
        self.reuses_jvms = True
        monkeypatch.setattr(warm_up, "execute_empty", self.execute)

    def execute(self, stack, each):
        self.made.append(each.parameters["maps"])
        if each.parameters["maps"] == self.fails:
            raise RunFailed("job FAILED, 1 tasks failed")
        return SimpleNamespace(record={})

    def check(self):
        if self.dead_daemon:
            raise ProcessDied(self.dead_daemon, 1, "")

    def settle(self):
        pass

    def processes(self):
        return {}


def of_maps(maps):
    made = run(f"m{maps}")
    return replace(made, parameters={**made.parameters, "maps": maps})


@pytest.mark.parametrize("dead", ["", "NameNode"])
def test_a_kind_of_job_that_fails_in_the_warm_up_is_left_out_of_it(monkeypatch, dead):
    monkeypatch.setattr(BlockPlan, "has_overhead", lambda self, run: True)
    stack, said = Warmed(monkeypatch, fails=4, dead=dead), []
    given = stack, BlockPlan(JOBS_PAPER, DESCRIBED, "quick"), [of_maps(maps) for maps in (2, 4, 8)], said.append
    if dead:
        with pytest.raises(CannotMake, match="warm-up: .*NameNode"):
            warm_up.warm_up(*given)
        return
    warm_up.warm_up(*given)
    assert stack.made.count(4) == 1
    assert {2, 8} <= {*stack.made}
    assert said == ["warm-up of terasort hdfs 4 4 4 k=100: job FAILED, 1 tasks failed: going on"]


# Clusters


@pytest.fixture
def two_clusters(tmp_path, monkeypatch):
    """A block of two clusters of a run each; `made` says which of them can be made."""
    monkeypatch.setattr(block, "preflight", lambda config: None)
    monkeypatch.setattr(services, "unavailable_runs", lambda config, runs: [])
    runs = {name: [run(name)] for name in "ab"}
    campaign = campaign_of(tmp_path / "quick-1", [each for own in runs.values() for each in own])

    def measure(*made, error=CannotMake, earlier=()):
        for run_id in earlier:
            campaign.journal.write(run_id, {"valid": True}, {}, valid=True)

        def make(self, runs, number, task):
            if task.shared not in made:
                raise error("the services do not start: no answer from datanode3; logs: logs")
            for each in runs:
                self.campaign.journal.write(each.row["run_id"], {"valid": True}, {}, valid=True)
            return number + len(runs)

        monkeypatch.setattr(OneCluster, "make", make)
        own = object.__new__(Block)
        paper = SimpleNamespace(candidate=0, claims=[])
        own.journal, own.config, own.effort = campaign.journal, DESCRIBED, "quick"
        own.candidates, own.only = SimpleNamespace(paper=paper), None
        own.source, own.before, own.workers, own.rows = "testbed", Before(), [], campaign.rows
        own._make(campaign, {name: each for name, each in runs.items() if name not in earlier})
        return campaign

    return measure


def test_runs_of_a_cluster_that_does_not_start_are_left_for_the_next_start(two_clusters):
    campaign = two_clusters("b")
    assert campaign.journal.has("b")
    why = "its cluster failed: the services do not start: no answer from datanode3; logs: logs"
    assert [*map(str, campaign.left.values())] == [why]
    assert campaign.left["a"].kind.again


def test_a_block_with_runs_of_an_earlier_start_ends_with_them_though_every_cluster_fails(two_clusters):
    campaign = two_clusters(earlier=["b"])
    assert [*campaign.left] == ["a"]
    assert "1 runs not made: its cluster failed" in campaign.not_made()


@pytest.mark.parametrize(("made", "error"), [("", CannotMake), ("a", UserError)])
def test_a_machine_that_can_make_nothing_or_is_full_ends_the_block(two_clusters, made, error):
    with pytest.raises(error, match="the services do not start"):
        two_clusters(made, error=error)


@pytest.mark.parametrize(("transport", "error"), [("rsockets", CannotMake), ("tcp", UserError)])
def test_what_hosts_lack_for_a_transport_costs_its_runs_alone(tmp_path, monkeypatch, transport, error):
    asked = []

    def preflight(transport):
        asked.append(transport.name)
        raise UserError("site.yaml: 1 of 3 hosts cannot be used: datanode2 (node03): no port on ens1f0")

    monkeypatch.setattr(OneCluster, "_testbed", lambda *_: SimpleNamespace(preflight=preflight))
    over = run("a")
    over = replace(over, parameters={**over.parameters, "transport": transport})
    campaign = campaign_of(tmp_path, [over])
    described = DESCRIBED | {"transports": {"rsockets": {"kind": "rdma", "preload": ["librspreload.so"]}}}
    campaign.plan = replace(campaign.plan, config=described)
    with pytest.raises(UserError, match="node03.: no port on ens1f0") as found:
        OneCluster(campaign, SimpleNamespace(), "testbed").make([over], 0, SimpleNamespace(shared="[]"))
    assert (found.type, asked) == (error, [transport]), "hosts are asked once"


TCP = Transport("tcp", "tcp")
OLD, NEW = "9c1b" * 16, "3f2a" * 16
EXCHANGED = "site.yaml: image: found SHA-256 3f2a3f2a3f2a…, expected 9c1b9c1b9c1b…, "


@pytest.fixture
def in_images(tmp_path):
    """Checks a cluster of a block, the first of two, whose hosts have the image of a digest."""
    testbed = load_testbed("emulated")
    paper = load_paper(project.paper_path("mellanox-mapr"), testbed["fabrics"])
    every = make_design(paper, testbed, "quick", 1)
    rows, others = ([{**row, "block": name} for row in every if row["replicate"] == number]
                    for number, name in ((1, "quick-1"), (2, "quick-2")))  # fmt: skip
    plan = BlockPlan(paper, testbed, "quick")
    campaign = Campaign(plan, rows, Journal(tmp_path / "quick-1"), Progress("quick-1", []), 3, others=others)
    cluster = OneCluster(campaign, SimpleNamespace(), "site.yaml")

    def look(digest, transport=TCP):
        cluster._preflight(SimpleNamespace(preflight=lambda transport: digest), transport, tmp_path)
        return campaign.made_by["image"]

    look.journal, look.campaign = campaign.journal, campaign
    look.kind = next(kind for shared, runs in groups.clusters(paper, [*map(plan.run, rows)], testbed).items()
                     for kind in plan.overheads(shared, runs, {}).names.values())  # fmt: skip
    return look


@pytest.mark.parametrize("transport", [TCP, Transport("rsockets", "rdma")])
def test_an_image_replaced_at_its_place_ends_the_start_of_a_block_with_runs(in_images, tmp_path, transport):
    look, made = in_images, {"valid": True, "image": OLD}
    assert look(NEW) == NEW, "no run is finished"
    look.journal.write("of-another-design", made, {}, valid=True)
    run_id = look.campaign.rows[0]["run_id"]
    look.journal.write(run_id, made | {"valid": False}, {}, valid=False)
    look(NEW)
    look.journal.write(run_id, made, {}, valid=True)
    assert look(OLD) == OLD
    with pytest.raises(UserError, match=EXCHANGED) as said:
        look(NEW, transport)
    assert said.type is UserError, "the whole start ends, also over RDMA"
    assert f"which measured {tmp_path / 'quick-1'}; put that image back, or remove what it measured" in str(said.value)


def test_a_start_that_made_nothing_leaves_no_image_to_go_on_with(in_images):
    """Its environment.json stays."""
    environment = {"hosts": [], "machines": {"datanode1": {"image": f"{NEW}  /shared/hadoop.sif"}}}
    (in_images.journal.folder / "environment.json").write_text(json.dumps(environment))
    in_images.journal.write(in_images.campaign.rows[0]["run_id"], {"valid": True, "image": OLD}, {}, valid=True)
    with pytest.raises(UserError, match=EXCHANGED):
        in_images(NEW)


@pytest.mark.parametrize("valid, kind, stops", [(True, "", True), (False, "", False), (True, "another kind", False)])
def test_an_overhead_run_that_would_be_taken_off_runs_in_another_image_ends_the_start(in_images, valid, kind, stops):
    in_images.journal.write_overhead({"floor": kind or in_images.kind, "valid": valid, "image": OLD}, {})
    with pytest.raises(UserError, match=EXCHANGED) if stops else contextlib.nullcontext():
        in_images(NEW)


def test_the_blocks_of_a_paper_have_one_image(in_images, tmp_path):
    beside = Journal(tmp_path / "quick-2")
    beside.write(in_images.campaign.others[0]["run_id"], {"valid": True, "image": OLD}, {}, valid=True)
    with pytest.raises(UserError, match=f"{EXCHANGED}which measured {beside.folder}; "):
        in_images(NEW)
    in_images.journal.write(in_images.campaign.rows[0]["run_id"], {"valid": True, "image": OLD}, {}, valid=True)
    with pytest.raises(UserError, match=f"which measured {tmp_path / 'quick-1'}, {beside.folder}; "):
        in_images(NEW)


def test_runs_of_a_cell_are_counted_over_all_blocks(tmp_path):
    testbed = load_testbed("emulated")
    paper = load_paper(project.paper_path("mellanox-mapr"), testbed["fabrics"])
    rows = make_design(paper, testbed, "full", 1)
    numbers = PaperRuns(BlockPlan(paper, testbed, "full"), tmp_path / "full-1", rows).numbers
    of_cells = defaultdict(list)
    for row in rows:
        of_cells[cell_of(paper, row)].append(numbers[row["run_id"]])
    assert all(sorted(found) == list(range(1, len(found) + 1)) for found in of_cells.values())
    assert {row["block"] for row in rows if numbers[row["run_id"]] == 2} == {"full-2"}


@pytest.mark.parametrize("error", [CannotMake, CommandFailed])
def test_a_drive_beyond_its_bound_costs_only_the_runs_at_its_scale(tmp_path, monkeypatch, error):
    runs = [run(name) for name in "abc"]
    scales = {("k", "slow"): runs[:1], ("k", "fast"): runs[1:]}
    monkeypatch.setattr(block.groups, "by_scale", lambda runs: scales)

    def probe_cluster(testbed, model, *_):
        if model in beyond:
            raise error(f"probe: drive 1 of datanode1 ({model}): +9.0% off the set value, bound 5.0%")

    monkeypatch.setattr(one_cluster, "probe_cluster", probe_cluster)
    testbed = SimpleNamespace(hosts=[], congestion_control="cubic", warm_memory=lambda size: None)
    campaign, beyond = campaign_of(tmp_path, runs), ["slow"]
    cluster = OneCluster(campaign, SimpleNamespace(), "testbed")
    assert cluster.calibrate(testbed, runs) == runs[1:]
    assert list(campaign.left) == ["a"]
    assert "drive 1 of datanode1 (slow): +9.0%" in str(campaign.left["a"])
    beyond.append("fast")
    with pytest.raises(CannotMake, match="slow"):
        cluster.calibrate(testbed, runs)


@pytest.mark.parametrize(("failure", "becomes"), [
    (CommandFailed("fabric 1gbe: datanode3 is at 3 Mbit/s, expected 4"), CannotMake),
    (TimeoutError("iperf3 does not listen"), CannotMake),
    (UserError("posix: /lustre is gone from node01"), CannotMake),
    (OSError(errno.ENOSPC, "No space left on device"), NotKept),
    (NotKept("a run could not be kept"), NotKept),
    (KeyError("a fault of this program"), KeyError),
])  # fmt: skip
def test_what_hosts_fail_with_costs_a_cluster_but_a_full_disk_ends_the_block(tmp_path, failure, becomes):
    with pytest.raises(becomes) as error, cannot_make(tmp_path):
        raise failure
    assert type(error.value) is becomes
    assert str(failure.args[-1]).split()[0] in str(error.value)


# The heaviest cell


def test_a_heaviest_cell_that_fails_keeps_the_present_k(tmp_path, monkeypatch, capsys):
    runs = [run(name) for name in "ab"]
    site, campaign = Site([2.0] * 9), campaign_of(tmp_path / "quick-1", runs)
    monkeypatch.setattr(BlockPlan, "rounds", lambda self, *_: SimpleNamespace())
    monkeypatch.setattr(Session, "restart", lambda self, runs: site.restarted())
    monkeypatch.setattr(session.scale_candidate, "heaviest", lambda runs: runs[0])

    def fails(stack, run):
        raise RunFailed("put 3 of 18 did not end")

    monkeypatch.setattr(session, "execute", fails)
    paper = SimpleNamespace(on=lambda n: SimpleNamespace(candidate=n, candidate_count=2), candidate_count=2)
    candidates = ScaleCandidates(paper, tmp_path, raises_k=True)
    assert candidates.open
    Session(campaign, site, runs, SimpleNamespace(), candidates)._try_heaviest()
    assert not candidates.open and site.restarts == 1
    kept = json.loads((tmp_path / "scale.json").read_text())
    assert kept == {"rung": 0, "tried": [{"why": "the heaviest cell failed (put 3 of 18 did not end)"}]}
    assert "going on with k = 100" in capsys.readouterr().err
