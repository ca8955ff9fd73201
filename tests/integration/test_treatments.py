"""Four things that papers vary, as a paper says them: each really varies in the runs, and nothing else does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.support.limits import wide
from whitewire.description.paper import Paper
from whitewire.description.testbed import load_testbed
from whitewire.design.rows import make_design
from whitewire.measure.block import Block
from whitewire.workloads import run_proofs

pytestmark = pytest.mark.slow

TEMPLATE = Path(__file__).resolve().parents[2] / "docs" / "template" / "paper.yaml"
HOSTS = {"namenode": 1, "datanode": 3, "client": 1}
BYTES = {"smoke": 4_000_000, "quick": 4_000_000, "full": 4_000_000}
SORTING = {"size_bytes": 1.0e11, "block_size_bytes": 67108864, "replication": 2, "reduces": 3, "fabric": "10gbe"}
PUTTING = {"file_size_bytes": 5.0e9, "block_size_bytes": 67108864, "replication": 2, "clients": 1, "puts_per_client": 1,
           "fabric": "10gbe"}  # fmt: skip
WRITING = {"size_bytes": 1.0e11, "block_size_bytes": 67108864, "maps": 2, "fabric": "10gbe"}
VARIED = {
    "volume": ("terasort", {"size_bytes": [1.0e10, 1.0e11]}, SORTING),
    "blocks": ("terasort", {"block_size_bytes": [67108864, 268435456]}, SORTING),
    "jumbo": ("hdfs_put", {"mtu": [1500, 9000]}, PUTTING),
    "copies": ("testdfsio", {"replication": [2, 3]}, WRITING),
}


@pytest.fixture(scope="module")
def runs(can_emulate, tmp_path_factory) -> dict[str, list[dict]]:
    """Records of one run of each cell, by experiment; `copies` has two DataNodes, which validation refuses."""
    raw = yaml.safe_load(TEMPLATE.read_text(encoding="utf-8"))
    raw |= {"claims": [], "controls": [], "replicates": dict.fromkeys(("smoke", "quick", "full"), 1)}
    raw["scale"]["k"] = 100
    raw["experiments"] = [
        {"id": name, "title": name, "workload": workload, "factors": factors, "parameters": parameters,
         "roles": HOSTS | ({"datanode": 2} if name == "copies" else {}),
         **({"scale": {"k": 100, "bytes": BYTES, "splits": 8}} if workload != "hdfs_put" else {})}
        for name, (workload, factors, parameters) in VARIED.items()
    ]  # fmt: skip
    description = load_testbed("emulated")
    description = {**description, "limits": wide(description["limits"]) | {"attempts": 1}}
    description["memory"] = description["memory"] | {"storage_gib": 2}
    paper = Paper(raw, TEMPLATE)
    folder = tmp_path_factory.mktemp("treatments")
    Block(paper, description, "smoke-1", make_design(paper, description, "smoke", 7), folder).measure()
    found: dict[str, list[dict]] = {}
    for path in sorted(folder.glob("runs/*/run.json")) + sorted(folder.glob("invalid/*/run.json")):
        record = json.loads(path.read_text())
        found.setdefault(record["experiment"], []).append(record)
    return found


def proved(records: list[dict], factor: str) -> list[tuple[float, bool]]:
    """What each run had, and whether it is what was asked, in the order of what was asked."""
    proofs = [proof for record in records for proof in run_proofs(record) if proof.factor == factor]
    return [(proof.seen, proof.same) for proof in sorted(proofs, key=lambda proof: proof.asked)]


def test_ten_times_the_data_move_ten_times_the_bytes(runs):
    assert all(record["valid"] for record in runs["volume"])
    assert proved(runs["volume"], "size_bytes") == [(400_000, True), (4_000_000, True)]
    assert len({record["scale"]["block_bytes"] for record in runs["volume"]}) == 1
    small, large = sorted(runs["volume"], key=lambda record: record["user_bytes"])
    assert [job["maps"] for job in large["jobs"]] == [8] and [job["maps"] for job in small["jobs"]] == [1]


def test_blocks_of_four_times_the_size_are_written_and_the_data_stay(runs):
    assert all(record["valid"] for record in runs["blocks"])
    (small, _), (large, _) = proved(runs["blocks"], "block_size_bytes")
    assert large == pytest.approx(4 * small, rel=0.01)
    assert {seen for seen, _ in proved(runs["blocks"], "size_bytes")} == {4_000_000}


def test_frames_of_six_times_the_size_leave_the_links(runs):
    assert all(record["valid"] for record in runs["jumbo"])
    assert proved(runs["jumbo"], "mtu") == [(1500, True), (9000, True)]


def test_a_third_copy_that_was_not_made_is_no_run(runs):
    valid = {record["asked"]["replication"]: record["why_invalid"] for record in runs["copies"]}
    assert valid == {2: "", 3: "replication: asked 3, found 2"}
