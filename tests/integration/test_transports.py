"""A second transport on the emulated testbed, over TCP as all there is: from the design to the proof of each run."""

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
PROVIDER = "-Djava.nio.channels.spi.SelectorProvider=sun.nio.ch.PollSelectorProvider"
POLL = {"kind": "tcp", "java": [PROVIDER], "settings": {"dfs.datanode.transferTo.allowed": False}}
SORTING = {"size_bytes": 1.0e11, "block_size_bytes": 67108864, "replication": 2, "reduces": 3, "fabric": "10gbe"}


@pytest.fixture(scope="module")
def folder(can_emulate, tmp_path_factory) -> Path:
    """A block with one run over either transport."""
    raw = yaml.safe_load(TEMPLATE.read_text(encoding="utf-8"))
    one = {"claimed": 1, "other": 1}
    raw |= {"claims": [], "controls": [], "replicates": dict.fromkeys(("smoke", "quick", "full"), one)}
    raw["scale"]["k"] = 100
    raw["experiments"] = [
        {"id": "ways", "title": "ways", "workload": "terasort", "factors": {"transport": ["tcp", "poll"]},
         "parameters": SORTING, "roles": {"namenode": 1, "datanode": 3, "client": 1},
         "scale": {"k": 100, "bytes": dict.fromkeys(("smoke", "quick", "full"), 4_000_000), "splits": 8}},
    ]  # fmt: skip
    description = load_testbed("emulated") | {"transports": {"poll": POLL}}
    description |= {"limits": wide(description["limits"]) | {"attempts": 1}}
    paper = Paper(raw, TEMPLATE)
    made = tmp_path_factory.mktemp("transports")
    Block(paper, description, "smoke-1", make_design(paper, description, "smoke", 7), made).measure()
    return made


def test_both_transports_have_a_run_that_proves_its_own(folder):
    records = [json.loads(path.read_text()) for path in folder.glob("runs/*/run.json")]
    assert {record["factors"]["transport"]: record["transport"]["name"] for record in records} == {
        "tcp": "tcp", "poll": "poll",
    }  # fmt: skip
    for record in records:
        (proof,) = (proof for proof in run_proofs(record) if proof.factor == "transport")
        assert proof.same and proof.seen == record["factors"]["transport"]


def test_only_the_second_has_its_settings(folder):
    environments = [json.loads(path.read_text()) for path in folder.glob("environment*.json")]
    name = "dfs.datanode.transferTo.allowed"
    assert sorted(name in each["cluster"]["configuration"] for each in environments) == [False, True]
