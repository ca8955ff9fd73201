"""The reference results of this repository are whole, of this version's design, and judged as this version judges."""

import pytest

from whitewire.report import bundle, rebuild, reference
from whitewire.report.reference import read_reference

PAPERS = reference.results_record()["papers"]
QUICK = 60
"""Of a paper with more runs the analysis takes long."""


def test_they_are_whole_and_of_this_versions_design():
    record, files = read_reference()
    assert record["modified"] is False and bundle.UNKNOWN not in record["commits"]
    assert (
        sum(path.stat().st_size for path in reference.reference_folder().rglob("*") if path.is_file())
        <= reference._MOST_BYTES
    )
    for name in record["papers"]:
        assert f"{name}/tidy/runs.csv" in files and f"{name}/analysis/verdicts.csv" in files


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if own["runs"] > QUICK else []) for name, own in PAPERS.items()],
)
def test_their_verdicts_are_those_of_this_version(tmp_path, name):
    """Else `make report TESTBED=reference` says which are not, and docs/use/share.md how to keep them anew."""
    record, files = read_reference()
    results = bundle.unpack(tmp_path / "opened", record, files.items())
    testbed = record["testbed"]
    argv = ["analyse", "--paper", name, "--testbed", testbed, "--results", f"results/{testbed}/{name}"]
    assert rebuild._said(tmp_path / "opened", argv) == []
    assert [line for line in bundle.judged_otherwise(results, files) if line.startswith(f"{name} ")] == []
