"""Lanes of a site: which hosts each has, and one line for a description whose lanes cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from whitewire.description.testbed import (
    check_lanes_hold,
    digest,
    lane_count,
    lane_hosts,
    lane_of,
    lane_roles,
    read_testbed,
)
from whitewire.errors import UserError
from whitewire.paths import HOME
from whitewire.testbed.site.inventory import ALL_LANES, lanes_in_words, of_inventory, of_lane
from whitewire.workflow.plan import _lanes

EXAMPLES = HOME / "config" / "testbeds"
NAMES = ["nn1", "nn2", "dn1", "dn2", "dn3", "dn4", "dn5", "cl1", "cl2"]
ROLE = {"nn": "namenode", "dn": "datanode", "cl": "client"}


def described(lanes=None, names=NAMES):
    """The example's description with other hosts and these lanes."""
    config = yaml.safe_load((EXAMPLES / "ssh.example.yaml").read_text())
    config["hosts"] = [{"ssh": name, "role": ROLE[name[:2]]} for name in names]
    return config | ({"lanes": lanes} if lanes is not None else {})


def read(tmp_path: Path, config) -> dict:
    path = tmp_path / "lab.yaml"
    path.write_text(yaml.safe_dump(config))
    return read_testbed(path)


def names_of(config) -> list[list[str]]:
    return [[config["hosts"][number]["ssh"] for number in lane] for lane in lane_hosts(config)]


GROUPS = [["nn1", "dn1", "dn4", "cl1"], ["nn2", "dn2", "dn5", "cl2"]]


@pytest.mark.parametrize(
    ("lanes", "expected"),
    [
        (None, [NAMES]),
        (1, [NAMES]),
        (2, [["nn1", "dn1", "dn2", "cl1"], ["nn2", "dn3", "dn4", "cl2"]]),
        (GROUPS, GROUPS),
        (GROUPS[1:], GROUPS[1:]),
    ],
)
def test_each_lane_has_hosts_of_its_own(tmp_path, lanes, expected):
    config = read(tmp_path, described(lanes))
    assert names_of(config) == expected
    assert lane_count(config) == len(expected)


def test_a_block_has_the_hosts_of_its_lane_by_the_same_names(tmp_path):
    config = read(tmp_path, described(2))
    roles = {"namenode": 1, "datanode": 2, "client": 1}
    found = [[(place.name, place.target) for place in of_inventory(config, roles, "lab", lane)] for lane in (1, 2)]
    assert found[0] == [("namenode", "nn1"), ("datanode1", "dn1"), ("datanode2", "dn2"), ("client", "cl1")]
    assert found[1] == [("namenode", "nn2"), ("datanode1", "dn3"), ("datanode2", "dn4"), ("client", "cl2")]
    assert len(of_inventory(config, {"datanode": 5}, "lab", ALL_LANES)) == 5
    assert {place.key for place in of_inventory(config, {"client": 1}, "lab", 2)} == {"hosts[8]"}


@pytest.mark.parametrize(
    ("lanes", "message"),
    [
        ([["nn1", "dn1"], ["nn2", "db2"]], 'lanes[1][1]: found "db2", expected the `ssh` of one of the hosts; did you'),
        ([["nn1", "dn1"], ["nn2", "dn1"]], 'lanes[1][1]: found "dn1" of lanes[0][1] again, expected another'),
        ([["nn1", "dn1", "dn2"], ["nn2", "dn3"]],
         "lanes[1]: found 1 datanode, 1 namenode, expected 2 datanode, 1 namenode as in lanes[0]"),
        (0, "lanes"),
        ("two", "lanes"),
        ([], "lanes"),
    ],
)  # fmt: skip
def test_lanes_that_cannot_be_are_reported_in_one_line(tmp_path, lanes, message):
    with pytest.raises(UserError) as caught:
        read(tmp_path, described(lanes))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("lanes", "message"),
    [
        (2, "lab.yaml: lanes: found 2 hosts with role datanode in each of 2 lanes, expected 3, as big-paper needs; "
            "list 6 such hosts, take fewer lanes, or leave the paper out"),
        (3, "found 0 hosts with role namenode in each of 3 lanes, expected 1"),
        (GROUPS, "expected 3, as big-paper needs; take fewer lanes, or leave the paper out"),
    ],
)  # fmt: skip
def test_too_few_hosts_for_a_paper_are_reported_in_one_line(lanes, message):
    with pytest.raises(UserError) as caught:
        check_lanes_hold(described(lanes), {"namenode": 1, "datanode": 3, "client": 1}, "lab.yaml", "big-paper")
    assert message in str(caught.value)


def test_a_paper_that_fits_is_not_refused():
    check_lanes_hold(described(2), {"namenode": 1, "datanode": 2}, "lab.yaml", "paper")
    check_lanes_hold(described(), {"namenode": 1, "datanode": 50}, "lab.yaml", "paper")
    assert lane_roles(described(2)) == {"namenode": 1, "datanode": 2, "client": 1}


def test_other_lanes_leave_links_and_runs_as_they_are():
    assert digest(described(2)) == digest(described())
    assert digest(described(2)) != digest(described(2, NAMES[:-1]))


def test_doctor_names_the_hosts_of_each_lane():
    assert lanes_in_words(described()) == []
    assert lanes_in_words(described(2)) == [
        "lane 1: nn1, dn1, dn2, cl1", "lane 2: nn2, dn3, dn4, cl2", "in no lane: dn5"]  # fmt: skip
    assert lane_of(described(2))["dn3"] == 2
    assert "dn5" not in lane_of(described(2))
    assert lane_of(described()) == {}


def test_nodes_of_one_job_are_divided_evenly():
    nodes = [f"node{number:02}" for number in range(1, 10)]
    assert of_lane(nodes, 1, 2) == nodes[:4]
    assert of_lane(nodes, 2, 2) == nodes[4:8]
    assert of_lane(nodes, 1, 1) == of_lane(nodes, ALL_LANES, 2) == nodes


def test_a_slurm_site_has_a_number_of_lanes(tmp_path):
    config = yaml.safe_load((EXAMPLES / "slurm.example.yaml").read_text())
    assert lane_count(read(tmp_path, config | {"lanes": 3})) == 3
    with pytest.raises(UserError, match="lanes"):
        read(tmp_path, config | {"lanes": [["node01"]]})


@pytest.mark.parametrize("kind", ["ssh", "slurm"])
def test_a_site_has_as_many_lanes_as_its_description_says_and_blocks_wait(kind):
    testbed = {"kind": kind, "lanes": 3}
    assert _lanes("auto", testbed, lambda: 0.5) == (3, 3)
    assert _lanes(4, {"kind": kind}, lambda: 0.5) == (1, 1)
