"""Policies, their cells at other scales, and what coded files take; on what fsck really printed."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitewire.design.scale import _granule
from whitewire.records import evidence
from whitewire.tools import Unreadable
from whitewire.tools.erasure_coding import BUILT_IN, Policy
from whitewire.tools.namenode import fsck_blocks

DATA = Path(__file__).parents[2] / "data"
XOR = (DATA / "fsck-xor.txt").read_text()
RS = Policy("RS", 3, 2, 1 << 20)


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_policy_has_the_name_it_came_from(name):
    assert Policy.of(name).name == name


@pytest.mark.parametrize("name", ["", "RS-3-2", "RS-0-2-64k", "XOR-2-2-64k", "RS-3-2-8192k", "rs-3-2-64k"])
def test_what_hdfs_could_not_have_is_none(name):
    assert Policy.of(name) is None


@given(st.integers(1, 20000), st.floats(1e-4, 1))
def test_a_block_is_whole_cells(kib, share):
    """HDFS never ends a put whose blocks are not."""
    found = RS.of_block(kib * 1024, share)
    assert kib * 1024 % found.cell == 0 and found.cell % 1024 == 0 and found.datanodes == 5


def test_cells_are_scaled_as_blocks_are():
    assert RS.of_block((134 << 20) // 16, 1 / 16).cell == 64 << 10
    assert RS.of_block(1 << 20, 1 / 128).name == "RS-3-2-8k"
    with pytest.raises(ValueError, match="found a block of 1000 bytes"):
        RS.of_block(1000, 1)


def test_parity_is_as_long_as_the_longest_data():
    assert RS.kept(3 << 20) == 5 << 20
    assert RS.kept(1000) == 3000  # one block of data, two of parity
    assert RS.kept((3 << 20) + 10) == (5 << 20) + 30
    assert [RS.blocks(length) for length in (1, 1 << 20, (1 << 20) + 1, 9 << 20)] == [3, 3, 4, 5]


def test_the_file_that_adds_a_policy_is_xml_with_the_scheme():
    root = ElementTree.fromstring(RS.file)
    assert [root.findtext(f".//{name}") for name in ("codec", "k", "m", "cellsize")] == ["rs", "3", "2", "1048576"]


def test_block_groups_of_a_real_file():
    first, second = fsck_blocks(XOR, coded=True)
    assert (first.policy, first.length, second.length) == ("XOR-2-1-10k", 2109440, 1890560)
    assert set(first.addresses) == {"10.77.0.3", "10.77.0.4", "10.77.0.5"}
    found = evidence.of_fsck(XOR, coded=True)
    assert (found["policy"], found["wanting"], found["largest_block"]) == ("XOR-2-1-10k", 0, 1054720)
    assert evidence.coding(found) == "XOR-2-1-10k"


def test_a_coded_file_counts_only_where_one_was_asked_for():
    with pytest.raises(Unreadable, match="/ecx/f: found erasure coding with XOR-2-1-10k, expected replicas"):
        evidence.of_fsck(XOR)


def test_a_block_group_that_lacks_a_block_shows():
    """As where HDFS found no third DataNode for the parity of the second group."""
    head, place = XOR.split("\n1. BP-")[0], XOR.split("\n1. BP-")[1]
    line, rest = place.split("\n", 1)
    short = line[: line.rindex(", blk_")] + "]"
    found = evidence.of_fsck(f"{head}\n1. BP-{short}\n{rest}", coded=True)
    assert found["wanting"] == 1
    assert evidence.coding(found) == "XOR-2-1-10k, 1 of 2 block groups lack a block"


def test_blocks_of_an_experiment_with_coded_stores_are_whole_cells():
    """Those of its cells with replicas too, so that all have one shape."""
    stores = {"copies": {"kind": "hdfs"}, "coded": {"kind": "hdfs", "erasure_coding": "RS-3-2-1024k"}}
    assert _granule({"stores": stores}, 512, 1 / 16) == 65536
    assert _granule({"stores": stores}, 3 * 512, 1 / 2000) == 3072
    assert _granule({}, 512, 1 / 16) == 512
