"""Amounts with units: converted once, on reading; what a claim expects measures what its metric does."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import yaml

from tests.support.papers import TESTBED
from whitewire import workloads
from whitewire.description import measures
from whitewire.description.checks import load_paper
from whitewire.errors import UserError
from whitewire.records.metrics import unit_of

RUNS = Path(__file__).resolve().parents[2] / "data" / "runs"
TEMPLATE = Path(__file__).resolve().parents[3] / "docs" / "template" / "paper.yaml"


def written(tmp_path, change):
    data = yaml.safe_load(TEMPLATE.read_text())
    data["source"]["accessed"] = "2026-11-26"
    change(data)
    path = tmp_path / "made-up-2026.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


def read(tmp_path, change):
    return load_paper(written(tmp_path, change), TESTBED["fabrics"])


def test_a_value_is_converted_to_its_unit(tmp_path):
    found = read(tmp_path, lambda d: d["values"][1].update(value="900 MiB/s", unit="MB/s"))
    assert found.evaluate("N_V02") == pytest.approx(943.7184)
    found = read(tmp_path, lambda d: d["values"][6].update(value=["900 MiB/s", 5, "8 Gbit/s"], unit="MB/s"))
    assert found.evaluate("N_V07[2] + N_V07[1]") == 1005


def test_sizes_and_rates_of_experiments_are_converted(tmp_path):
    def change(data):
        ingest = data["experiments"][0]
        ingest["parameters"].update(file_size_bytes="5 GB")
        del ingest["parameters"]["block_size_bytes"]
        ingest["factors"]["block_size_bytes"] = ["64 MiB", "128 MiB"]
        ingest["hardware"]["drive"].update(rate_mb_per_s="150 MB/s", cache_bytes="64 MiB", access_time_ms="12.3 ms")
        for cell in ingest["smoke_cells"]:
            cell["block_size_bytes"] = "64 MiB"
        for control in data["controls"]:
            control["cell"]["where"]["block_size_bytes"] = "64 MiB"
        for side in ("numerator", "denominator"):
            data["claims"][0]["test"][side]["where"]["block_size_bytes"] = 67108864
        del data["claims"][3]["inverse"]

    ingest = read(tmp_path, change).experiments["ingest"]
    assert ingest["parameters"]["file_size_bytes"] == 5_000_000_000
    assert ingest["factors"]["block_size_bytes"] == [67108864, 134217728]
    assert ingest["hardware"]["drive"] == {
        "count": 2, "rate_mb_per_s": 150, "access_time_ms": 12.3, "writeback_chunk_bytes": 4194304,
        "cache_bytes": 67108864,
    }  # fmt: skip


def test_levels_of_a_test_and_bytes_of_a_scale_are_sizes():
    data = {
        "claims": [{"test": {"factor": "size_bytes", "levels": ["1 GB", 5]}}, {"test": {"levels": ["10gbe"]}}],
        "experiments": [{"scale": {"k": 9, "bytes": {"smoke": "64 MB"}}}],
        "audit": [{"checks": [{"arguments": {"volume_bytes": "N_V01 * 5"}}]}],
    }
    measures.convert(data, Path("p.yaml"))
    assert data["claims"][0]["test"]["levels"] == [1_000_000_000, 5]
    assert data["claims"][1]["test"]["levels"] == ["10gbe"]
    assert data["experiments"][0]["scale"]["bytes"] == {"smoke": 64_000_000}
    assert data["audit"][0]["checks"][0]["arguments"] == {"volume_bytes": "N_V01 * 5"}


def _test(data, **more):
    data["claims"][0]["test"].update(more)


def _rate(data, unit="MB/s", **more):
    data["claims"][0]["test"] = {
        "estimand": "share", "metric": "throughput", "cell": {"experiment": "ingest", "where": {"fabric": "10gbe"}},
        "over": {"constant": 1, "unit": unit}, "relation": "within", "relative": 0.1, "expected": "N_V02", **more,
    }  # fmt: skip


FAULTS = {
    "a rate for a time": (lambda d: _rate(d, expected="N_V03"), "expected a rate (MB/s), found a time (s): N_V03"),
    "a time for a rate": (
        lambda d: _rate(d, metric="completion_time", unit="s"),
        "expected a time (s), found a rate (MB/s): N_V02",
    ),
    "a rate for a ratio": (lambda d: _test(d, expected="N_V02"), "expected a plain number (1), found a rate (MB/s)"),
    "an expression": (lambda d: _rate(d, expected="2 * N_V06"), "expected a rate (MB/s), found a size: 2 * N_V06"),
    "unlike things added": (
        lambda d: _rate(d, expected="N_V02 + N_V03"),
        "found a rate and a time set against each other, expected like with like",
    ),
    "another size of unit": (
        lambda d: (_rate(d), d["values"][1].update(unit="GB/s")),
        "found N_V02 in GB/s, expected MB/s, of which one GB/s is 1000; write the value with its unit",
    ),
    "the unit of a metric": (
        lambda d: _rate(d, metric="completion_time"),
        'test.over.unit: found "MB/s", expected s, the unit of completion_time',
    ),
    "percent for a share": (
        lambda d: (d["values"][0].update(unit="percent")),
        "found N_V01 in percent, expected 1, of which one percent is 0.01",
    ),
    "unknown unit": (
        lambda d: d["values"][1].update(unit="MB/sek"),
        'values[1] (N-V02).unit: found "MB/sek", expected a unit such as MB/s; did you mean "MB/s"?, or one that the',
    ),
    "unknown unit of an amount": (
        lambda d: d["values"][1].update(value="900 MiBs/sek"),
        'values[1].value: found "MiBs/sek", expected a unit such as MB/s; did you mean "MiB/s"?',
    ),
    "a time as a rate": (
        lambda d: d["values"][1].update(value="900 s"),
        "values[1].value: expected a rate (MB/s), found a time (s)",
    ),
    "a size without a unit": (
        lambda d: d["experiments"][0]["parameters"].update(file_size_bytes="5"),
        'experiments[0].parameters.file_size_bytes: found "5", expected a number with its unit, such as 64 B',
    ),
    "a rate as a size": (
        lambda d: d["experiments"][0]["parameters"].update(file_size_bytes="5 GB/s"),
        "experiments[0].parameters.file_size_bytes: expected a size (B), found a rate (GB/s)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_one_line(tmp_path, name):
    change, said = FAULTS[name]
    with pytest.raises(UserError) as told:
        read(tmp_path, change)
    assert said in str(told.value)


def test_units_of_metrics_are_those_that_runs_record():
    rows = list(csv.DictReader((RUNS / "metrics.csv").open()))
    assert len({row["metric"] for row in rows}) > 60
    assert {(row["metric"], unit_of(row["metric"])) for row in rows} == {(row["metric"], row["unit"]) for row in rows}


def test_every_metric_that_a_claim_may_be_on_has_a_unit_that_is_known():
    from whitewire import quantities

    for metric in workloads.told():
        assert quantities.one(unit_of(metric)), metric
