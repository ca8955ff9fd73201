"""What a claim compares has one shape, and a paper where it has not is refused in one line."""

import copy

import pytest

from whitewire.description import project, testbed
from whitewire.description.checks import load_paper
from whitewire.description.names import paper_names
from whitewire.description.paper import Paper
from whitewire.design import shapes
from whitewire.design.shapes import check_shapes
from whitewire.errors import UserError

TESTBED = testbed.load_testbed("emulated")
NAMES = paper_names()


def paper_of(name, change=None):
    loaded = load_paper(project.paper_path(name), TESTBED["fabrics"])
    raw = copy.deepcopy(dict(loaded.raw))
    if change:
        change({e["id"]: e for e in raw["experiments"]}, raw)
    return Paper(raw, loaded.path)


@pytest.mark.parametrize("name", NAMES)
def test_every_claim_of_every_paper_compares_one_shape(name):
    check_shapes(paper_of(name), TESTBED)


def test_stores_with_unlike_scales_are_refused_with_cells_key_and_both_values():
    def change(experiments, raw):
        experiments["shared-segment"]["scale"] = {**experiments["shared-segment"]["scale"], "k": 80}
        claim = next(c for c in raw["claims"] if c["id"] == "X-C21")
        claim["test"]["numerator"] = {"experiment": "testdfsio", "where": {"store": "cephfs", "fabric": "32g-qdr"}}

    with pytest.raises(UserError) as refused:
        check_shapes(paper_of("xyratex-lustre-2011", change), TESTBED)
    line = str(refused.value)
    assert "\n" not in line
    assert "claim X-C21: testdfsio cephfs 32g-qdr and shared-segment hdfs-3x 1gbe-shared: k: found 160 and 80" in line


@pytest.mark.parametrize(
    ("key", "edit"),
    [
        ("drive.rate_mb_per_s", lambda e: e["hardware"]["drive"].update(rate_mb_per_s=90)),
        ("maps", lambda e: e["parameters"].update(maps=10)),
        ("hosts", lambda e: e["roles"].update(datanode=7)),
        ("keep_caches", lambda e: e["parameters"].update(keep_caches=True)),
    ],
)
def test_every_part_of_a_shape_is_compared(key, edit):
    def change(experiments, raw):
        experiments["tunables"] = copy.deepcopy(experiments["tunables"])
        raw["experiments"] = [experiments["tunables"] if e["id"] == "tunables" else e for e in raw["experiments"]]
        edit(experiments["tunables"])

    with pytest.raises(UserError, match=f": {key}: found"):
        check_shapes(paper_of("xyratex-lustre-2011", change), TESTBED)


def test_what_a_claim_is_about_may_differ_when_it_says_so():
    def forget(experiments, raw):
        next(c for c in raw["claims"] if c["id"] == "X-C31")["test"].pop("compares")

    with pytest.raises(UserError, match="X-C31.*keep_caches: found true and none"):
        check_shapes(paper_of("xyratex-lustre-2011", forget), TESTBED)


def test_a_level_that_both_cells_name_may_change_what_follows_from_it():
    paper = paper_of("emulex-2012")
    light = {"fabric": "1gbe", "clients": 1, "puts_per_client": 1}
    one, other = (("block-size", light | {"block_size_bytes": size}) for size in (67108864, 134217728))
    assert shapes._differences(paper, one, other, "full", TESTBED) == {}
    study = ("put-grid", light)  # the same block in another experiment is the same cell
    assert shapes._differences(paper, one, study, "full", TESTBED) == {}
    assert "processors may be short" not in shapes._differences(paper, other, study, "full", TESTBED)
