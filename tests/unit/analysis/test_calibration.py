"""Published against emulated ratios: on given verdicts, and on the sets of config/calibration."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest

from whitewire.analysis import calibration
from whitewire.description.checks import load_paper
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.errors import UserError
from whitewire.paths import HOME
from whitewire.records import checked

SETS = sorted((HOME / "config" / "calibration").glob("*.yaml"))


def claim(name, numerator, denominator, **more):
    test = {"numerator": {"where": numerator}, "denominator": {"where": denominator}} | more
    return {"id": name, "statement": f"statement of {name}", "test": test}


CLAIMS = [
    claim("A-C01", {"fabric": "1gbe", "nodes": 6}, {"fabric": "10gbe", "nodes": 6}),
    claim("A-C02", {"replication": 3}, {"replication": 1}),
    claim("A-C03", {"replication": 3}, {"replication": 2}, lower=0.85, upper=1.15),
    claim("A-C04", {"nodes": 4}, {"nodes": 6}),
    {"id": "A-C05", "statement": "statement of A-C05", "test": {"cell": {"where": {}}, "over": {"link_of": "10gbe"}}},
    claim("A-C06", {"drive": "ssd"}, {"drive": "sata"}),
]


def verdict(expected, limits, estimate="", interval=("", ""), word="inconclusive"):
    return {"n": "3", "estimate": estimate, "low": interval[0], "high": interval[1], "expected": expected,
            "expected_low": limits[0], "expected_high": limits[1], "verdict": word, "reason": ""}  # fmt: skip


VERDICTS = {
    "A-C01": verdict("4", ("3.2", "4.8"), "8", ("7", "9")),  # twice as large
    "A-C02": verdict("0.5", ("0.4", "0.6"), "0.55", ("0.45", "0.65")),  # inside
    "A-C03": verdict("0.98", ("0.85", "1.15"), "0.5", ("0.4", "0.6")),  # none is printed
    "A-C04": verdict("1.5", ("1.2", "1.8"), "0.9", ("0.8", "1.0")),  # the other way
    "A-C05": verdict("0.25", ("0.1625", "0.3375"), "0.9"),  # no interval
    "A-C06": verdict("2", ("1.3", "2.7")),  # not measured
}


def rows_of(paper):
    return calibration.ratios(paper, CLAIMS, VERDICTS)


def test_each_claim_is_a_row_with_its_kind_distance_and_miss():
    rows = {row["claim"]: row for row in rows_of("a")}
    assert [row["kind"] for row in rows.values()] == ["network", "copies", "copies", "nodes", "absolute", "drives"]
    found = {name: (row["inside"], row["published_inside"], row["off"], row["miss"]) for name, row in rows.items()}
    assert found == {
        "A-C01": ("false", "false", "2", calibration.LARGE),
        "A-C02": ("true", "true", "1.1", ""),
        "A-C03": ("false", "false", "1.96", calibration.NONE),
        "A-C04": ("false", "false", "1.667", calibration.OTHER),
        "A-C05": ("false", "", "3.6", calibration.HIGH),
        "A-C06": ("", "", "", ""),
    }


@pytest.mark.parametrize(("numerator", "denominator", "kind"), [
    ({"fabric": "10gbe", "drive": "ssd"}, {"fabric": "1gbe", "drive": "hdd"}, "network and drives"),
    ({"count": 2, "drive": "a"}, {"count": 4, "drive": "b"}, "drives"),
    ({"block_size_bytes": 1}, {"block_size_bytes": 2}, "block size"),
    ({"store": "coded"}, {"store": "copies"}, "coding"),
    ({"drive": "sata"}, {"drive": "sata"}, "operation"),  # of one cell, with another metric
    ({"maps": 1}, {"maps": 2}, "maps"),
])  # fmt: skip
def test_a_ratio_is_of_what_its_cells_differ_in(numerator, denominator, kind):
    assert calibration.kind_of(claim("A-C01", numerator, denominator)["test"]) == kind


@pytest.mark.parametrize(("test", "estimate", "published", "low", "high", "miss"), [
    (CLAIMS[0]["test"], 0.1, 0.5, 0.4, 0.6, calibration.LARGE),  # below 1 an effect is the larger the smaller the ratio
    (CLAIMS[0]["test"], 0.9, 0.5, 0.4, 0.6, calibration.SMALL),
    (CLAIMS[0]["test"], 5.9, 5.0, 4.0, 6.0, ""),
    (CLAIMS[0]["test"], 0.7, 1.17, 0.76, 1.58, calibration.OTHER),  # the range of a small effect holds 1 too
    (CLAIMS[2]["test"], 0.7, 0.98, 0.85, 1.15, calibration.NONE),
    (CLAIMS[4]["test"], 0.1, 0.5, 0.4, 0.6, calibration.LOW),
])  # fmt: skip
def test_a_miss_says_on_which_side_the_effect_is(test, estimate, published, low, high, miss):
    assert calibration.miss_of(test, estimate, published, low, high) == miss


def test_shares_count_what_was_measured_by_half_kind_and_set():
    halves = {calibration.half_of(name): name for name in ("osu-hibd", "jikelab-2016")}
    rows = [row for name in halves.values() for row in rows_of(name)]
    found = {(row["half"], row["by"], row["name"]): row for row in calibration.summary(rows)}
    one, both = found["score", "all", ""], found["both", "all", ""]
    assert (one["of"], one["measured"], one["inside"], one["share"]) == (6, 5, 1, "0.2")
    assert (both["of"], both["measured"], both["inside"]) == (12, 10, 2)
    assert float(one["low"]) < 0.2 < float(one["high"])
    assert (one["large"], one["small"], one["other"], one["published_inside"]) == (3, 0, 1, 1)
    assert one["without_effect"] == 1, "the range of A-C03 alone holds 1"
    assert one["median_off"] == "1.96"
    assert found["score", "kind", "copies"]["measured"] == 2
    assert found["score", "set", "osu-hibd"]["measured"] == 5
    unmeasured = found["tune", "kind", "drives"]
    assert (unmeasured["measured"], unmeasured["share"], unmeasured["median_off"]) == (0, "", "")


def test_no_set_makes_empty_shares():
    assert [row["measured"] for row in calibration.summary([])] == [0, 0, 0]


def test_assumptions_are_those_of_set_up_and_drives_and_what_is_not_stated():
    raw = {
        "testbed": {"assumed": {"copies": "three, Hadoop's own"}, "not_stated": ["runs"]},
        "experiments": [
            {"id": "a", "hardware": {"sources": {"count": "page", "rate_mb_per_s": "assumption: SATA"}}},
            {"id": "b", "hardware": {"drives": {"ssd": {"sources": {"count": "assumption: one"}}}}},
        ],
    }
    found = {row["what"]: row["why"] for row in calibration.assumptions("a", raw)}
    assert found == {
        "copies": "three, Hadoop's own", "a: drive: rate_mb_per_s": "SATA", "b: ssd: count": "one",
        "runs": "not stated by the source",
    }  # fmt: skip


def test_tables_are_written_with_a_manifest(tmp_path):
    calibration.write(tmp_path / "analysis", rows_of("a"), [])
    assert checked.analysis(tmp_path / "analysis") == []
    text = (tmp_path / "analysis" / "calibration.csv").read_text()
    assert [row["claim"] for row in csv.DictReader(io.StringIO(text))] == [each["id"] for each in CLAIMS]
    assert "calibration.csv" in json.loads((tmp_path / "analysis" / "manifest.json").read_text())["files"]


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Results of one set; sets are read where `make calibrate` finds them."""
    config = tmp_path / "config"
    config.mkdir()
    (config / "papers").symlink_to(HOME / "config" / "calibration")
    (config / "testbeds").symlink_to(HOME / "config" / "testbeds")
    (config / "config.yaml").write_text("papers: [craysun-iosig]\ntestbed: emulated\neffort: quick\nseed: 1\n")
    monkeypatch.chdir(tmp_path)
    for name in ("PAPERS", "TESTBED", "EFFORT"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "results" / "emulated"
    table = folder / "craysun-iosig" / "analysis" / "verdicts.csv"
    table.parent.mkdir(parents=True)
    rows = csv.DictWriter(stream := io.StringIO(), ["claim", *VERDICTS["A-C01"]], lineterminator="\n")
    rows.writeheader()
    rows.writerow({"claim": "I-C01"} | verdict("0.385", ("0.25", "0.52"), "0.4", ("0.3", "0.5")))
    table.write_text(stream.getvalue())
    return folder


def test_tables_are_made_of_the_verdicts_of_the_sets_of_the_configuration(results):
    calibration.tables(results)
    folder = results / "calibration" / "analysis"
    (row,) = csv.DictReader((folder / "calibration.csv").open())
    assert (row["paper"], row["kind"], row["inside"], row["half"]) == ("craysun-iosig", "operation", "true", "score")
    assumed = [each["what"] for each in csv.DictReader((folder / "assumptions.csv").open())]
    assert {"network", "dfsio: drive: rate_mb_per_s", "runs"} <= set(assumed)


def test_a_damaged_table_is_named(results):
    path = results / "craysun-iosig" / "analysis" / "verdicts.csv"
    path.write_text(path.read_text().replace("0.385", "about"))
    with pytest.raises(UserError, match=r"verdicts\.csv: line 2: expected: found \"about\""):
        calibration.tables(results)


# --- the sets themselves ------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_claims_have_their_ratio_and_the_tolerance_of_the_decision(path):
    """Decision 17: 20 or 35 percent; of a ratio within 5 percent of 1, and of expected nulls, 0.85 to 1.15."""
    paper = load_paper(path, fabric_names(load_testbed("emulated")))
    for each in paper.raw["claims"]:
        test = each["test"]
        expected = paper.evaluate(test["expected"])
        if stated := re.search(r"([\d.]+) times", each["statement"]):
            assert float(stated[1]) == pytest.approx(expected, rel=0.02), each["id"]
        if "lower" in test:
            assert (test["lower"], test["upper"], test["no_effect"]) == (0.85, 1.15, 1), each["id"]
        else:
            assert test["relative"] in (0.2, 0.35), each["id"]
            assert not 0.95 < expected < 1.05, each["id"]


def test_the_split_is_that_of_the_decision():
    """A set's half never changes: neither the rule nor an id may."""
    text = (HOME / "docs" / "decisions" / "0017-calibration.md").read_text()
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    decided = {line.split("`")[1]: line.rsplit("|", 2)[1].strip() for line in lines}
    assert {path.stem: calibration.half_of(path.stem) for path in SETS} == decided
