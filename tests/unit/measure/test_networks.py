"""Clusters, times and startup overheads of runs on racks, with cross traffic and slow hosts."""

import copy
import json

import pytest

from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper, hardware_of
from whitewire.description.testbed import load_testbed
from whitewire.design import durations
from whitewire.design.rows import make_design
from whitewire.measure import cross_traffic, groups, observation, services
from whitewire.measure.block import Block
from whitewire.records.overhead import overhead_name
from whitewire.records.run import FabricRecord
from whitewire.testbed.base import Fabric
from whitewire.tools import iperf3

TESTBED = load_testbed("emulated")
SITE = TESTBED | {"kind": "ssh", "fabrics": dict(TESTBED["fabrics"])}
LOADED = load_paper(project.paper_path("emulex-2012"), TESTBED["fabrics"])


def paper(factors, **parameters):
    raw = copy.deepcopy(dict(LOADED.raw))
    (experiment,) = (e for e in raw["experiments"] if e["id"] == "put-whole-file")
    experiment["factors"] = factors
    experiment["parameters"] |= parameters
    raw |= {"experiments": [experiment], "claims": [], "controls": []}
    return Paper(raw, LOADED.path)


def rows_of(made, testbed=TESTBED):
    return make_design(made, testbed, "quick", 1)


def clusters(made, folder):
    rows = [row for row in rows_of(made) if row["block"] == "quick-1"]
    plan = Block(made, TESTBED, "quick-1", rows, folder).plan
    found = groups.clusters(made, [plan.run(row) for row in rows], TESTBED)
    return {key: {run.levels["fabric"] for run in runs} for key, runs in found.items()}


def test_the_record_of_a_network_has_the_fields_of_a_fabric():
    fabric = Fabric("10gbe", 78.125, 10000, racks=2, uplink=39.0, unlike=(("a", 0.5),))
    record = observation._network(fabric)
    assert list(record) == list(FabricRecord.__annotations__), "declare the new field in records.run.FabricRecord"
    assert record["unlike"] == {"a": 0.5} and record["uplink"] == 39.0


def test_ratios_share_a_cluster_and_numbers_of_racks_do_not(tmp_path):
    names = ["10gbe", "10gbe-2racks-1to1", "10gbe-2racks-4to1", "10gbe-3racks-1to1"]
    made = paper({"fabric": names}, cross_traffic=0)
    found = clusters(made, tmp_path)
    assert sorted(map(sorted, found.values())) == [[names[0]], names[1:3], [names[3]]]
    assert not any("traffic" in key for key in found)


def test_hosts_of_cross_traffic_are_one_per_rack_for_all_runs_of_the_cluster(tmp_path):
    ((key, _),) = clusters(paper({"fabric": ["10gbe-2racks-4to1"], "cross_traffic": [0, 0.5]}), tmp_path).items()
    assert json.loads(key)[0][cross_traffic.ROLE] == 2
    assert overhead_name(("terasort", "hdfs"), key, "1a2b3c").endswith(" | racks=2 | 1a2b3c")


THROTTLE = "dfs.datanode.data.transfer.bandwidthPerSec"
LEVELS = {"default": {}, "clients": {"io.file.buffer.size": 4096}, "throttled": {THROTTLE: 12_800_000}}


def runs_with_settings(folder):
    made = paper({"settings": list(LEVELS)}, fabric="10gbe")
    made.experiments["put-whole-file"]["settings"] = LEVELS
    rows = [row for row in rows_of(made) if row["block"] == "quick-1"]
    return made, [Block(made, TESTBED, "quick-1", rows, folder).plan.run(row) for row in rows]


def test_daemons_start_with_their_settings_and_clients_get_theirs(tmp_path):
    made, runs = runs_with_settings(tmp_path)
    found = groups.clusters(made, runs, TESTBED)
    assert {frozenset(run.levels["settings"] for run in own) for own in found.values()} == {
        frozenset({"default", "clients"}), frozenset({"throttled"})
    }  # fmt: skip
    (throttled,) = (key for key in found if len(json.loads(key)) > 6)
    assert json.loads(throttled)[6] == {THROTTLE: 100_000}
    assert overhead_name(("terasort", "hdfs"), throttled, "1a2b3c").endswith(f" | {THROTTLE}=100000 | 1a2b3c")
    assert {run.levels["settings"]: (run.settings, run.daemon_settings) for run in runs} == {
        "default": ({}, {}), "clients": (LEVELS["clients"], {}), "throttled": ({}, {THROTTLE: 100_000})
    }  # fmt: skip


def test_daemons_of_a_sites_own_cluster_are_left_as_they_are(tmp_path):
    _, runs = runs_with_settings(tmp_path)
    assert services.unavailable_runs(TESTBED, runs) == []
    ((lost, why),) = services.unavailable_runs(TESTBED | {"cluster": {}}, runs)
    assert lost == [run.row["run_id"] for run in runs if run.levels["settings"] == "throttled"]
    assert why == services.THEIR_SETTINGS


def test_a_site_leaves_out_what_it_cannot_set_be_it_a_level_or_a_parameter():
    assert len(rows_of(paper({"fabric": ["10gbe"]}), SITE)) == len(rows_of(paper({"fabric": ["10gbe"]}))) > 0
    assert rows_of(paper({"fabric": ["10gbe"], "mtu": [1500, 9000]}), SITE) == []
    assert rows_of(paper({"fabric": ["10gbe"]}, mtu=9000), SITE) == []
    assert rows_of(paper({"fabric": ["25gbe", "10gbe-2racks-4to1"]}), SITE) == []


@pytest.mark.parametrize(
    ("factors", "parameters", "times"),
    [
        ({"fabric": ["10gbe"]}, {"slow_host": 0.25}, 4),
        ({"fabric": ["10gbe"]}, {"slow_host": 0.5, "slow_drives": 0.1}, 10),
        ({"fabric": ["10gbe-2racks-4to1"]}, {}, 4),
        ({"fabric": ["10gbe-2racks-4to1"]}, {"cross_traffic": 0.5}, 8),
    ],
)
def test_what_slows_a_run_down_lengthens_its_time_limit(factors, parameters, times):
    def moving(made):
        seconds = durations.expected_seconds(made, rows_of(made)[0], TESTBED)
        return seconds - durations.OVERHEAD_S

    assert moving(paper(factors, **parameters)) == pytest.approx(times * moving(paper({"fabric": ["10gbe"]})))


def test_an_uplinks_rate_says_its_ratio():
    racks = {"rate_mbit_per_s": 10000, "racks": {"count": 2, "uplink_mbit_per_s": 20000}}
    testbed = TESTBED | {"fabrics": TESTBED["fabrics"] | {"10g-racks": racks}}
    made, plain = paper({"fabric": ["10g-racks"]}), paper({"fabric": ["10gbe"]})
    one, other = (durations.expected_seconds(p, make_design(p, testbed, "quick", 1)[0], testbed) for p in (made, plain))
    assert one - durations.OVERHEAD_S == pytest.approx(3 * (other - durations.OVERHEAD_S))  # 6 of 11 workers in a rack


def test_a_named_drive_is_that_of_its_level_without_its_sources():
    experiment = {"hardware": {"drive": {"count": 6}, "drives": {"ssd": {"count": 1, "sources": {"count": "a test"}}}},
                  "parameters": {}}  # fmt: skip
    assert hardware_of(experiment, {}) == {"count": 6}
    assert hardware_of(experiment, {"drive": "ssd"}) == {"count": 1}
    assert hardware_of(experiment | {"parameters": {"drive": "ssd"}}, {}) == {"count": 1}
    assert hardware_of(experiment, {"drive": "ssd", "count": 2}) == {"count": 2}


def test_cross_traffic_is_judged_by_the_host_that_sent_least():
    before, after = {"a": 0, "b": 1000}, {"a": 12_500_000, "b": 11_251_000}
    assert cross_traffic.share(before, after, seconds=2.0, uplink=100.0) == pytest.approx(0.45)


def test_datagrams_count_as_full_frames():
    command = iperf3.steady("10.0.0.1", 15e6)
    bits = float(command[command.index("--bitrate") + 1])
    assert bits * 1500 / 1458 == pytest.approx(15e6, rel=1e-6)


def sent(egress):
    return {"a": {"egress": egress, "ingress": 0}}


def test_a_segment_is_never_larger_than_one_that_was_sent():
    """100 segments of 1448 bytes that left ten at a time, each ten with one header, and 50 acknowledgements."""
    left = 100 * 1448 + 10 * 66 + 50 * 66
    found = observation._segment(sent(0), sent(left), {"a": (0, 0)}, {"a": (150, 100)})["segment"]
    assert 1300 < found <= 1448
    acknowledging = observation._segment(sent(0), sent(1000 * 66 + 200), {"a": (0, 0)}, {"a": (1002, 2)})["segment"]
    assert acknowledging <= 100
    assert observation._segment(sent(0), sent(9), {"a": (7, 7)}, {"a": (7, 7)}) == {}
