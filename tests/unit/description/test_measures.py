"""Amounts with units: converted once, on reading; what a claim expects measures what its metric does."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.support import quick_yaml
from tests.support.papers import TESTBED
from whitewire import workloads
from whitewire.description import measures
from whitewire.description.checks import load_paper
from whitewire.errors import UserError
from whitewire.workloads import unit_of

RUNS = Path(__file__).resolve().parents[2] / "data" / "runs"
TEMPLATE = Path(__file__).resolve().parents[3] / "docs" / "template" / "paper.yaml"


def written(tmp_path, change):
    data = quick_yaml.load(TEMPLATE.read_text())
    data["source"]["accessed"] = "2026-11-26"
    change(data)
    path = tmp_path / "made-up-2026.yaml"
    path.write_text(quick_yaml.dump(data))
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
        "found a rate compared with a time, expected two of one kind",
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
    "percent for the effect of an inverse question": (
        lambda d: (d["values"][3].update(unit="percent", value=30)),
        "claims[3] (N-C04).inverse.effect: found N_V04 in percent, expected 1, of which one percent is 0.01",
    ),
    "percent less than a whole": (
        lambda d: (d["values"][3].update(unit="percent"), d["claims"][3]["inverse"].update(effect="2 - N_V04")),
        "claims[3] (N-C04).inverse.effect: found 2 - N_V04 in units of 0.01 1, expected it in 1",
    ),
    "a rate for the bound of an inverse question": (
        lambda d: d["claims"][3]["inverse"].update(plausible=[1, "N_V02"]),
        "claims[3] (N-C04).inverse.plausible: expected a plain number (1), found a rate (MB/s): N_V02",
    ),
    "the arithmetic of an expression": (
        lambda d: d["claims"][1]["test"].update(unit="GB/s", expected=0.9),
        "claims[1] (N-C02).test.expression: found N_V05 * N_V06 * mb_per_gb / N_V03 in units of 0.001 GB/s",
    ),
    "the arithmetic of an audit": (
        lambda d: d["audit"][0]["checks"][0].update(unit="s"),
        "audit[0] (N-A1).checks[0].expression: expected a time (s), found a rate: N_V05",
    ),
    "what an audit compares with": (
        lambda d: d["audit"][0]["checks"][0].update(printed="N_V03"),
        "audit[0] (N-A1).checks[0].printed: expected a rate (MB/s), found a time (s): N_V03",
    ),
    "the unit of an audit": (
        lambda d: d["audit"][0]["checks"][0].update(unit="mb/sec"),
        'audit[0] (N-A1).checks[0].unit: found "mb/sec": "mb" is a millibit; did you mean MB or Mb?',
    ),
    "unlike units added": (
        lambda d: (d["values"][4].update(unit="GB/s"), _rate(d, expected="N_V02 + N_V05")),
        "found two units of a rate compared, one 1000 times the other",
    ),
    "a decimal comma": (
        lambda d: d["values"][1].update(value="0,9 GB/s"),
        'values[1].value: found "0,9 GB/s", expected 0.9 GB/s: a comma groups three digits',
    ),
    "a decimal comma in a unit of the paper's own": (
        lambda d: (d.update(units={"DVD": "4,7 GB"}), d["values"][5].update(unit="DVD")),
        'units.DVD: found "4,7 GB", expected 4.7 GB or 4,700 GB: a comma groups three digits',
    ),
    "a decimal comma in a unit that a test names": (
        lambda d: (d.update(units={"DVD": "4,7 GB"}), _rate(d, unit="DVD")),
        'units.DVD: found "4,7 GB", expected 4.7 GB or 4,700 GB: a comma groups three digits',
    ),
    "a unit of the paper's own that is a list": (
        lambda d: (d.update(units={"DVD": [1]}), d["values"][5].update(value="2 DVD", unit="GB")),
        'values[5].value: found "DVD", expected a unit such as MB/s',
    ),
    "a unit in which b is a bit": (
        lambda d: d["values"][1].update(unit="mb/sec"),
        'values[1] (N-V02).unit: found "mb/sec": "mb" is a millibit; did you mean MB or Mb?',
    ),
    "a size in bits": (
        lambda d: d["experiments"][0]["parameters"].update(file_size_bytes="5 Gb"),
        'experiments[0].parameters.file_size_bytes: found "Gb", expected GB or Gbit',
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
    with pytest.raises(UserError) as error:
        read(tmp_path, change)
    assert said in str(error.value)


def test_units_of_metrics_are_those_that_runs_record():
    rows = list(csv.DictReader((RUNS / "metrics.csv").open()))
    assert len({row["metric"] for row in rows}) > 60
    assert {(row["metric"], unit_of(row["metric"])) for row in rows} == {(row["metric"], row["unit"]) for row in rows}


def test_every_metric_that_a_claim_may_be_on_has_a_unit_that_is_known():
    from whitewire import quantities

    for metric in workloads.metric_names():
        assert quantities.one(unit_of(metric)), metric


@pytest.mark.parametrize(
    "effect", ["N_V04", "1 / N_V04", "1 - N_V08 / 100", "1 + N_V08 / hundred", "N_V02 / N_V09", 1.3]
)
def test_an_effect_may_be_any_ratio(tmp_path, effect):
    def change(data):
        more = {"exhibit": "text", "metric": "m", "scope": "result", "printed": "p", "condition": "c"}
        data["values"] += [
            {"id": "N-V08", "value": 30, "unit": "percent", **more},
            {"id": "N-V09", "value": 700, "unit": "MB/s", **more},
        ]
        data["constants"]["hundred"] = {"value": 100, "unit": "1", "source": "definition"}
        data["claims"][3]["inverse"]["effect"] = effect

    assert read(tmp_path, change).evaluate(effect) > 0


def test_an_argument_of_a_model_is_in_the_unit_that_its_name_ends_in(tmp_path):
    def change(data):
        data["audit"][0]["checks"].append(
            {"model": "striping.split_efficiency", "unit": "1", "note": "n",
             "arguments": {"split_mb": 64, "rate_mb_per_s": "N_V02", "start_s": "N_V02"}}
        )  # fmt: skip

    with pytest.raises(UserError, match=r"arguments.start_s: expected a time \(s\), found a rate \(MB/s\): N_V02"):
        read(tmp_path, change)


@pytest.mark.parametrize(
    ("one", "other"),
    [(("USD", "USD/h"), "h"), (("GB", "GB/min"), "min"), (("GB", "GB/h"), "h")],
)
def test_a_product_of_units_is_the_unit_that_it_makes(one, other):
    """Their scales differ in the last digits of a float."""
    amount, rate, time = (measures._named(unit, {}, converts=False) for unit in (*one, other))
    assert measures._alike(amount, measures._product(rate, time, 1)).scale == pytest.approx(amount.scale)
