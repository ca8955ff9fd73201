"""Factors of links and hosts on a small cluster: what is asked is what runs prove, and what they do to puts."""

import copy
import json

import pytest

from tests.support.limits import beside_others, wide
from tests.support.small import small_paper
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper
from whitewire.description.testbed import load_testbed
from whitewire.design.rows import make_design
from whitewire.measure.block import Block
from whitewire.workloads import run_proofs

RACKS = {"/rack1": ["datanode1", "datanode2"], "/rack2": ["datanode3", "datanode4"]}
pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module", autouse=True)
def busy():
    with beside_others():
        yield


def records(folder, kind):
    return [(path.parent, json.loads(path.read_text())) for path in folder.glob(f"{kind}/*/run.json")]


def measure(block):
    """With as many attempts as usual: others may use this machine, and then less cross traffic flows than was asked."""
    block.attempts = 8
    block.measure()


def runs(folder, factors, hardware=None, only=None):
    """One valid run of each cell of puts, or of some `only`: levels as text → its record."""
    testbed = load_testbed("emulated")
    limits = wide(testbed["limits"]) | {"wire_excess_high": 0.5}
    testbed |= {"limits": limits, "memory": testbed["memory"] | {"storage_gib": 2}}
    raw = copy.deepcopy(dict(small_paper().raw))
    experiment = next(e for e in raw["experiments"] if e["id"] == "put-grid")
    raw["experiments"] = [experiment]
    experiment["factors"] = {"fabric": ["10gbe"], "clients": [2], "puts_per_client": [2], **factors}
    experiment |= {"only": only} if only else {}
    experiment["hardware"] = hardware or {}
    paper = Paper(raw, small_paper().path)
    rows = [row for row in make_design(paper, testbed, "smoke", 7) if row["block"] == "smoke-1"]
    measure(Block(paper, testbed, "smoke-1", rows, folder))
    found = {}
    for _, record in records(folder, "runs"):
        assert not record["why_invalid"], record["why_invalid"]
        found[tuple(record["factors"][name] for name in factors)] = record
    assert len(found) == len(rows)
    return found


DRIVES = {
    "hdd": {"count": 4, "rate_mb_per_s": 100, "access_time_ms": 12.7},
    "ssd": {"count": 1, "rate_mb_per_s": 500, "read_rate_mb_per_s": 2000, "access_time_ms": 0.1},
    "raid0-4": {"count": 1, "rate_mb_per_s": 400, "access_time_ms": 12.7},
}
COMMON = {"writeback_chunk_bytes": 4194304, "cache_bytes": 16777216}


@pytest.mark.slow
def test_named_drives(tmp_path):
    found = runs(tmp_path, {"drive": list(DRIVES)}, hardware={"drives": {n: d | COMMON for n, d in DRIVES.items()}})
    for (name,), record in found.items():
        drive, k = DRIVES[name], record["scale"]["k"]
        seen = proof(record, "drive")
        assert record["evidence"]["volumes"] == seen["count"] == drive["count"]
        assert seen["rate"] * k == pytest.approx(drive["rate_mb_per_s"] * 1e6)
        reads = drive.get("read_rate_mb_per_s", drive["rate_mb_per_s"])
        assert seen.get("read_rate", seen["rate"]) * k == pytest.approx(reads * 1e6)
        assert seen["access_time"] * 1e3 == pytest.approx(drive["access_time_ms"])


def proof(record, factor):
    (found,) = [proof for proof in run_proofs(record) if proof.factor == factor]
    assert found.same, found.fault
    return found.seen


def seconds(record):
    return record["end"] - record["start"]


@pytest.mark.slow
def test_jumbo_frames(tmp_path):
    found = runs(tmp_path, {"mtu": [1500, 9000]})
    assert {mtu: proof(record, "mtu") for (mtu,), record in found.items()} == {1500: 1500, 9000: 9000}
    assert found[(1500,)]["evidence"]["segment"] <= 1448 < 2896 < found[(9000,)]["evidence"]["segment"]


@pytest.mark.slow
def test_one_slow_host_and_its_drives(tmp_path):
    found = runs(
        tmp_path, {"slow_host": [1, 0.1], "slow_drives": [1, 0.25]}, hardware={"drive": DRIVES["hdd"] | COMMON}
    )
    for (link, drives), record in found.items():
        assert proof(record, "slow_host") == pytest.approx(link, rel=0.001)
        assert proof(record, "slow_drives") == pytest.approx(drives)
        assert proof(record, "fabric") == pytest.approx(record["fabric"]["rate"], rel=0.001)
    assert seconds(found[(0.1, 1)]) > 1.5 * seconds(found[(1, 1)])


def test_racks_and_cross_traffic(tmp_path):
    fabrics = ["10gbe-2racks-1to1", "10gbe-2racks-4to1"]
    only = [{"fabric": fabric, "cross_traffic": share} for fabric, share in zip(fabrics, (0, 0.5), strict=True)]
    found = runs(tmp_path, {"fabric": fabrics, "cross_traffic": [0, 0.5]}, only=only)
    for (fabric, share), record in found.items():
        over = 1 if fabric.endswith("1to1") else 4
        assert proof(record, "uplink") == {"racks": 2, "uplink": f"{2 * record['fabric']['rate'] / over:.4g} Mbit/s"}
        assert proof(record, "cross_traffic") == pytest.approx(share, rel=0.1, abs=0.01)
        assert record["evidence"]["racks"] == {
            "/rack1": ["datanode1", "datanode2"],
            "/rack2": ["datanode3", "datanode4"],
        }
        assert not [name for name in record["links_after"] if name.startswith("traffic")]
    assert seconds(found[("10gbe-2racks-4to1", 0.5)]) > 1.2 * seconds(found[("10gbe-2racks-1to1", 0)])


@pytest.mark.slow
def test_a_job_in_racks_knows_them_and_its_overhead_meets_no_traffic(tmp_path):
    """TeraSort with jumbo frames on over-subscribed racks, half of whose uplinks others use."""
    testbed = load_testbed("emulated")
    testbed |= {"limits": wide(testbed["limits"])}
    loaded = load_paper(project.paper_path("mellanox-mapr"), testbed["fabrics"])
    raw = copy.deepcopy(dict(loaded.raw))
    experiment = next(e for e in raw["experiments"] if e["id"] == "terasort-curve")
    raw |= {"experiments": [experiment], "claims": [], "controls": []}
    experiment["roles"] = {"namenode": 1, "datanode": 4, "client": 1}
    experiment["factors"] = {"fabric": ["20gbe-2racks-2to1"], "cross_traffic": [0.5]}
    experiment["smoke_cells"] = [{"fabric": "20gbe-2racks-2to1", "cross_traffic": 0.5}]
    experiment["scale"] = {"k": 400, "bytes": {"smoke": 12_000_000}, "splits": 4}
    experiment["parameters"] |= {"maps": 4, "reduces": 4, "output_replication": 1, "mtu": 9000}
    paper = Paper(raw, loaded.path)
    rows = [row for row in make_design(paper, testbed, "smoke", 7) if row["block"] == "smoke-1"]
    measure(Block(paper, testbed, "smoke-1", rows, tmp_path))
    ((_, record),) = records(tmp_path, "runs")
    assert not record["why_invalid"], record["why_invalid"]
    assert proof(record, "uplink")["racks"] == 2
    assert proof(record, "mtu") == 9000
    assert proof(record, "cross_traffic") == pytest.approx(0.5, rel=0.1)
    for _, overhead in records(tmp_path, "floors"):
        assert overhead["evidence"].get("cross_traffic", 0) < 0.01
        assert {link["mtu"] for link in overhead["evidence"]["links"].values()} == {1500}
