"""What a paper varies makes runs that differ, or is refused before anything is measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import quick_yaml
from whitewire.description.checks import load_paper
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.design import shapes
from whitewire.design.rows import make_design
from whitewire.design.scale import scale_of
from whitewire.design.treatments import check_treatments
from whitewire.errors import UserError

TESTBED = load_testbed("emulated")
TEMPLATE = Path(__file__).resolve().parents[3] / "docs" / "template" / "paper.yaml"
BYTES = {"smoke": 16_000_000, "quick": 16_000_000, "full": 64_000_000}
JOB = {"workload": "terasort", "roles": {"namenode": 1, "datanode": 3, "client": 1},
       "scale": {"k": 100, "bytes": BYTES, "splits": 6}}  # fmt: skip
SORTING = {"fabric": "10gbe", "size_bytes": 1.0e11, "block_size_bytes": 67108864, "replication": 2, "reduces": 3}
PUTTING = {"fabric": "10gbe", "file_size_bytes": 5.0e9, "block_size_bytes": 67108864, "replication": 2, "clients": 1,
           "puts_per_client": 2}  # fmt: skip


def read(tmp_path, factors, parameters, **keys):
    """The template's paper with one more experiment that varies `factors`."""
    data = quick_yaml.load(TEMPLATE.read_text(encoding="utf-8"))
    base = {"id": "varied", "title": "t", "factors": factors, "parameters": parameters}
    own = JOB if "reduces" in parameters else {"workload": "hdfs_put", "roles": JOB["roles"]}
    data["experiments"].append(base | own | keys)
    path = tmp_path / "made-up-2026.yaml"
    path.write_text(quick_yaml.dump(data, sort_keys=False), encoding="utf-8")
    return load_paper(path, fabric_names(TESTBED))


def scales(paper, factor, effort="quick"):
    levels = paper.experiments["varied"]["factors"][factor]
    return [scale_of(paper, "varied", effort, {factor: level}, TESTBED) for level in levels]


@pytest.mark.parametrize("effort", ["smoke", "quick", "full"])
def test_ten_times_the_data_are_ten_times_the_bytes_in_blocks_of_one_size(tmp_path, effort):
    paper = read(tmp_path, {"size_bytes": [1.0e10, 1.0e11]}, SORTING)
    small, large = scales(paper, "size_bytes", effort)
    assert large.file_bytes == 10 * small.file_bytes == {"full": 64_000_000}.get(effort, 16_000_000)
    assert small.block_bytes == large.block_bytes
    assert small.data_fraction == pytest.approx(large.data_fraction, rel=1e-6)
    check_treatments(paper, TESTBED)


def test_blocks_of_four_times_the_size_hold_the_same_bytes(tmp_path):
    paper = read(tmp_path, {"block_size_bytes": [67108864, 268435456]}, SORTING)
    small, large = scales(paper, "block_size_bytes")
    assert large.block_bytes == pytest.approx(4 * small.block_bytes, rel=1e-3)
    assert (small.file_bytes, small.data_fraction) == (large.file_bytes, large.data_fraction)
    check_treatments(paper, TESTBED)


def test_blocks_and_files_of_puts_vary_alone(tmp_path):
    paper = read(tmp_path, {"block_size_bytes": [33554432, 134217728]}, PUTTING)
    small, large = scales(paper, "block_size_bytes")
    assert (large.block_bytes, large.file_bytes) == (4 * small.block_bytes, small.file_bytes)
    paper = read(tmp_path, {"file_size_bytes": [2.5e9, 5.0e9]}, PUTTING)
    small, large = scales(paper, "file_size_bytes")
    assert (large.file_bytes, large.block_bytes) == (2 * small.file_bytes, small.block_bytes)
    check_treatments(paper, TESTBED)


def test_on_real_hardware_too(tmp_path):
    site = {"kind": "ssh", "data_fraction": {"quick": 0.01}, "fabrics": {}}
    paper = read(tmp_path, {"block_size_bytes": [67108864, 268435456]}, SORTING)
    found = [scale_of(paper, "varied", "quick", {"block_size_bytes": size}, site) for size in (67108864, 268435456)]
    assert found[0].file_bytes == found[1].file_bytes
    assert [scale.block_bytes for scale in found] == [67108864, 268435456]


def test_blocks_that_no_file_fills_are_refused(tmp_path):
    paper = read(tmp_path, {"block_size_bytes": [67108864, 536870912]}, PUTTING)
    with pytest.raises(UserError, match=r"\(varied\)\.factors\.block_size_bytes: found 536870912, .* never fill"):
        check_treatments(paper, TESTBED)


@pytest.mark.parametrize(("factors", "parameters", "keys", "line"), [
    ({"settings": ["plain", "tuned"]}, SORTING, {"settings": {"plain": {}, "tuned": {}}},
     "settings: found plain and tuned, which come out as the same run at smoke effort"),
    ({"fabric": ["10gbe", "10g-ipoib"]}, SORTING, {},
     "fabric: found 10gbe and 10g-ipoib, which come out as the same run"),
])  # fmt: skip
def test_levels_that_come_out_as_one_run_are_refused(tmp_path, factors, parameters, keys, line):
    with pytest.raises(UserError) as caught:
        check_treatments(read(tmp_path, factors, parameters, **keys), TESTBED)
    said = str(caught.value)
    assert f"experiments[1] (varied).factors.{line}" in said and "\n" not in said
    assert said.endswith("fabrics that the testbed's file sets apart" if "fabric" in factors else "change the run")


@pytest.mark.parametrize(("factor", "line"), [
    ("keep_caches", "keep_caches cannot be a factor: nothing shows from outside"),
    ("blocksize_bytes", 'did you mean "block_size_bytes"?'),
])  # fmt: skip
def test_what_cannot_be_proved_cannot_be_a_factor(tmp_path, factor, line):
    with pytest.raises(UserError, match="found") as caught:
        read(tmp_path, {factor: [1, 2]}, SORTING)
    assert line in str(caught.value)


def test_a_study_adds_no_difference_to_a_claims_cells(tmp_path):
    """What else of the shape follows a factor comes from the table of factors."""
    paper = read(tmp_path, {"size_bytes": [1.0e10, 1.0e11]}, SORTING)
    one, other = (("varied", {"size_bytes": size}) for size in (1.0e10, 1.0e11))
    assert shapes._differences(paper, one, other, "quick", TESTBED) == {}
    assert len(make_design(paper, TESTBED, "quick", 1)) > 0


def test_cells_whose_network_a_site_lacks_are_left_alone(tmp_path):
    paper = read(tmp_path, {"fabric": ["1gbe", "10gbe"]}, SORTING)
    check_treatments(paper, {"kind": "ssh", "fabrics": {"1gbe": {"rate_mbit_per_s": 1000}}})
