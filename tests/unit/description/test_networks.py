"""What links, hosts and named drives cannot have is refused in one line, before anything runs."""

import pytest

from tests.unit.description.test_paper import edited
from whitewire.description import experiment_checks
from whitewire.description.checks import load_paper
from whitewire.description.testbed import load_testbed
from whitewire.errors import UserError
from whitewire.workloads import workload_of

TESTBED = load_testbed("emulated")
RACKS = "10gbe-2racks-4to1"
COMMON = {"count": 1, "rate_mb_per_s": 500, "access_time_ms": 0.1, "writeback_chunk_bytes": 1, "cache_bytes": 0}
WRITER = {"rate_mb_per_s": "310 MB/s", "sources": {"rate_mb_per_s": "assumption: a test"}}
MEMORY = {"size_bytes": 16, "dirty_background_ratio": 10, "dirty_ratio": 20, "sources": dict.fromkeys(
    ("size_bytes", "dirty_background_ratio", "dirty_ratio"), "assumption: a test")}  # fmt: skip
SSD = COMMON | {"sources": dict.fromkeys(COMMON, "assumption: a test")}


def load(tmp_path, factors, hardware=None, **parameters):
    def change(raw):
        experiment = next(e for e in raw["experiments"] if e["id"] == "put-whole-file")
        experiment["factors"] = factors
        experiment["parameters"] |= parameters
        if hardware is not None:
            experiment["hardware"] = hardware
        for key in ("claims", "controls", "biases"):
            raw[key] = [one for one in raw.get(key, []) if "put-whole-file" not in str(one)]

    return load_paper(edited(tmp_path, change), TESTBED["fabrics"])


@pytest.mark.parametrize(
    ("factors", "parameters", "hardware", "line"),
    [
        ({"mtu": [1500, 90000]}, {}, None, r"factors.mtu: found 90000, expected bytes of an IP packet, a whole number "
         "from 576 to 9000"),
        ({"mtu": [True, 9000]}, {}, None, r"factors.mtu: found true, expected bytes of an IP packet"),
        ({}, {"mtu": "jumbo"}, None, r'parameters.mtu: found "jumbo", expected bytes'),
        ({"slow_host": [1, 0]}, {}, None, r"factors.slow_host: found 0, expected a share from 0.01 to 1"),
        ({"cross_traffic": [0, 1.5]}, {"fabric": RACKS}, None, r"factors.cross_traffic: found 1.5, expected a share"),
        ({"cross_traffic": [0, 0.5]}, {}, None, r'parameters.fabric: found "10gbe", expected a network with racks, '
         f"such as {RACKS}, for cross_traffic"),
        ({"mtu": [1500, 9000]}, {"fabric": "1gbe-shared"}, None, r'parameters.fabric: found "1gbe-shared", expected a '
         "network with a switch"),
        ({"fabric": ["10gbe-20racks-4to1"]}, {}, None, "factors.fabric: .*expected at least a worker in each rack"),
        ({"slow_drives": [1, 0.5]}, {}, None, "factors.slow_drives: .*expected hardware"),
        ({"page_cache": ["on", "off"]}, {}, None, "factors.page_cache: .*expected hardware.memory beside a drive"),
        ({"writer_bound": ["on", "off"]}, {}, None, "factors.writer_bound: .*expected hardware.writer beside a drive"),
        ({}, {}, {"writer": WRITER}, "hardware.writer: .*expected nothing without a drive"),
        ({}, {}, {"drives": {"ssd": SSD}, "writer": WRITER}, "hardware.writer: .*expected nothing without a drive"),
        ({}, {}, {"drives": {"ssd": SSD}, "memory": MEMORY}, "hardware.memory: .*expected nothing without a drive"),
        ({"page_cache": ["on", "off"]}, {}, {"drives": {"ssd": SSD}, "memory": MEMORY}, "page_cache: .*beside a drive"),
        ({}, {"drive": "ssd"}, {"drives": {"ssd": SSD, "shared": SSD}}, 'hardware.drives: found "shared", expected '
         "another name"),
        ({}, {"drive": "ssd"}, {"drives": {"ssd": SSD | {"count": 64}}}, "hardware.drives.ssd.count: found 64"),
        ({"count": [1, 64]}, {}, {"drive": COMMON}, r"factors.count\[1\]: found 64, expected a whole .* at most 63"),
        ({}, {"page_cache": "on"}, None, "parameters.page_cache: .*expected hardware.memory beside a drive"),
        ({"drive": ["ssd", "sdd"]}, {}, {"drives": {"ssd": SSD}}, r'factors.drive: found "sdd", expected a key of '
         'hardware.drives; did you mean "ssd"'),
        ({"racks": [1, 2]}, {}, None, "racks cannot be a factor: racks belong to a network"),
        ({"bonded_links": [1, 2]}, {}, None, "bonded_links cannot be a factor: the kernel has no bonding"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_named(tmp_path, factors, parameters, hardware, line):
    with pytest.raises(UserError, match=line) as caught:
        load(tmp_path, factors, hardware, **parameters)
    assert "\n" not in str(caught.value)


def test_what_can_be_is_taken(tmp_path):
    assert load(tmp_path, {"mtu": [1500, 9000], "slow_host": [1, 0.25]})
    assert load(tmp_path, {"fabric": [RACKS, "10gbe-2racks-1to1"], "cross_traffic": [0, 0.5]})
    assert load(tmp_path, {"drive": ["ssd"], "slow_drives": [1, 0.5]}, {"drives": {"ssd": SSD}})
    hardware = {"drives": {"ssd": SSD}, "writer": WRITER}
    bound = load(tmp_path, {"drive": ["ssd"], "writer_bound": ["on", "off"]}, hardware)
    assert bound.experiments["put-whole-file"]["hardware"]["writer"]["rate_mb_per_s"] == 310


@pytest.mark.parametrize(("workload", "store", "says"), [
    ("hdfs_put", {"kind": "hdfs"}, ""),
    ("testdfsio", {"kind": "hdfs"}, ""),
    ("testdfsio", {"kind": "cephfs"}, "nothing beside a store without replicas"),
    ("hdfs_put", {"kind": "hdfs", "erasure_coding": "XOR-2-1-1024k"}, "nothing beside a store without replicas"),
    ("nnbench", {"kind": "hdfs"}, "nothing: only hdfs_put and testdfsio have one writer for each of the paper's"),
])  # fmt: skip
def test_only_writers_that_are_the_papers_own_are_bound(workload, store, says):
    experiment = {"stores": {"a": store}, "hardware": {"drive": {}, "writer": WRITER}}
    found = experiment_checks._unbound(workload_of(workload), experiment)
    assert found.startswith(says) and bool(found) == bool(says)


def test_each_number_of_a_named_drive_has_a_source(tmp_path):
    unsourced = SSD | {"sources": {"count": "assumption: one"}}
    with pytest.raises(UserError, match="hardware.drives.ssd.sources"):
        load(tmp_path, {"drive": ["ssd"]}, {"drives": {"ssd": unsourced}})
