"""Published against emulated ratios: on given verdicts, and on the sets of config/calibration."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

from whitewire import statistics
from whitewire.analysis import calibration
from whitewire.analysis.calibration import RATES_TABLE, rates_beside_ratios, write_calibration_tables
from whitewire.analysis.similitude import QUANTITIES, similitude_table
from whitewire.cluster.yarn import Memory
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper, cells_of
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.errors import UserError
from whitewire.measure.groups import even_share
from whitewire.paths import HOME
from whitewire.records import checked

SETS = sorted((HOME / "config" / "calibration").glob("*.yaml"))


def claim(name, numerator, denominator, expected, **more):
    sides = {name: {"experiment": "a", "where": where}
             for name, where in (("numerator", numerator), ("denominator", denominator))}  # fmt: skip
    test = {"estimand": "ratio", "metric": "completion_time_net", "relation": "within", "expected": expected,
            "relative": 0.2}  # fmt: skip
    return {"id": name, "statement": f"statement of {name}", "test": test | sides | more}


RATE = {"estimand": "share", "metric": "throughput", "cell": {"experiment": "a", "where": {}},
        "over": {"link_of": "10gbe"}, "relation": "within", "expected": 0.25, "relative": 0.35}  # fmt: skip
CLAIMS = [
    claim("A-C01", {"fabric": "1gbe", "nodes": 6}, {"fabric": "10gbe", "nodes": 6}, 4),
    claim("A-C02", {"replication": 3}, {"replication": 1}, 0.5),
    claim("A-C03", {"replication": 3}, {"replication": 2}, 0.98, lower=0.85, upper=1.15),
    claim("A-C04", {"nodes": 4}, {"nodes": 6}, 1.5),
    {"id": "A-C05", "statement": "statement of A-C05", "test": RATE},
    claim("A-C06", {"drive": "ssd"}, {"drive": "sata"}, 2, relative=0.35),
]


def verdict(expected, limits, estimate="", interval=("", ""), word="inconclusive", asked="before", reason=""):
    return {"asked": asked, "n": "3", "estimate": estimate, "low": interval[0], "high": interval[1],
            "expected": expected, "expected_low": limits[0], "expected_high": limits[1], "verdict": word,
            "reason": reason}  # fmt: skip


VERDICTS = {
    "A-C01": verdict("4", ("3.2", "4.8"), "8", ("7", "9")),  # twice as large
    "A-C02": verdict("0.5", ("0.4", "0.6"), "0.55", ("0.45", "0.65")),  # inside
    "A-C03": verdict("0.98", ("0.85", "1.15"), "0.5", ("0.4", "0.6")),  # none is printed
    "A-C04": verdict("1.5", ("1.2", "1.8"), "0.9", ("1e-30", "1e30")),  # the other way
    "A-C05": verdict("0.25", ("0.1625", "0.3375"), "0.9", asked="after"),  # no interval
    "A-C06": verdict("2", ("1.3", "2.7"), reason="only 0.1 s beyond the startup overhead"),  # a guard rejects it
}


def made_up(name, claims=CLAIMS):
    factors = dict.fromkeys(("fabric", "nodes", "replication", "drive"), ())
    raw = {"id": name, "claims": claims, "values": [], "experiments": [{"id": "a", "factors": factors}]}
    return Paper(raw, Path("a.yaml"))


def rows_of(name, verdicts=VERDICTS):
    return calibration._ratios(made_up(name), verdicts)


def test_each_claim_is_a_row_with_its_kind_distance_and_miss():
    rows = {row["claim"]: row for row in rows_of("a")}
    assert [row["kind"] for row in rows.values()] == ["network", "copies", "copies", "nodes", "absolute", "drives"]
    found = {name: (row["inside"], row["published_inside"], row["off"], row["miss"]) for name, row in rows.items()}
    assert found == {
        "A-C01": ("false", "false", "2", calibration.LARGE),
        "A-C02": ("true", "true", "1.1", ""),
        "A-C03": ("false", "false", "1.96", calibration._NONE),
        "A-C04": ("false", "true", "1.667", calibration._OTHER),
        "A-C05": ("false", "", "3.6", calibration.HIGH),
        "A-C06": ("", "", "", ""),
    }
    assert rows["A-C06"]["reason"] == "only 0.1 s beyond the startup overhead"
    assert (rows["A-C01"]["above"], rows["A-C01"]["below"]) == (
        "a 1gbe 6 completion_time_net", "a 10gbe 6 completion_time_net",
    )  # fmt: skip
    assert (rows["A-C05"]["above"], rows["A-C05"]["below"]) == ("a throughput", "")


def test_what_is_not_measured_is_a_row_with_what_is_published():
    rows = rows_of("a", {})
    assert [(row["published"], row["published_low"], row["published_high"]) for row in rows[:3]] == [
        (4, 3.2, 4.8), (0.5, 0.4, 0.6), (0.98, 0.85, 1.15),
    ]  # fmt: skip
    assert {row["inside"] for row in rows} == {""} and {row["reason"] for row in rows} == {"not measured"}
    (whole,) = (row for row in calibration._summary(rows) if (row["half"], row["by"]) == ("both", "all"))
    assert (whole["of"], whole["measured"], whole["independent"]) == (6, 0, 0)
    assert (whole["share"], whole["low"], whole["median_off"], whole["off_without_effect"]) == ("", "", "", "")


def test_claims_of_no_size_are_no_ratios():
    claims = [{"id": "A-C01", "statement": "", "test": {"estimand": "nothing"}},
              {"id": "A-C02", "statement": "", "test": CLAIMS[0]["test"] | {"relation": "above"}}]  # fmt: skip
    assert calibration._ratios(made_up("a", claims), {}) == []


def test_ratios_that_follow_from_others_count_once():
    a, b, c = ({"nodes": n} for n in (1, 2, 3))
    pairs = [(a, b), (b, c), (a, c), (b, a), (a, b)]
    claims = [claim(f"A-C{number}", *pair, 2) for number, pair in enumerate(pairs)]
    rows = calibration._ratios(made_up("a", claims), {})
    assert [calibration.independent(rows[:count]) for count in range(6)] == [0, 1, 2, 2, 2, 2]
    assert calibration.independent([*rows, *calibration._ratios(made_up("b", claims), {})]) == 4
    times = claim("A-C07", a, b, 2, metric="throughput_net")
    assert calibration.independent(calibration._ratios(made_up("a", [*claims, times]), {})) == 3


@pytest.mark.parametrize(("numerator", "denominator", "kind"), [
    ({"fabric": "10gbe", "drive": "ssd"}, {"fabric": "1gbe", "drive": "hdd"}, "network and drives"),
    ({"count": 2, "drive": "a"}, {"count": 4, "drive": "b"}, "drives"),
    ({"block_size_bytes": 1}, {"block_size_bytes": 2}, "block size"),
    ({"store": "coded"}, {"store": "copies"}, "coding"),
    ({"drive": "sata"}, {"drive": "sata"}, "operation"),  # of one cell, with another metric
    ({"maps": 1}, {"maps": 2}, "maps"),
])  # fmt: skip
def test_a_ratio_is_of_what_its_cells_differ_in(numerator, denominator, kind):
    assert calibration._kind_of(claim("A-C01", numerator, denominator, 2)["test"]) == kind


@pytest.mark.parametrize(("test", "estimate", "published", "low", "high", "miss"), [
    (CLAIMS[0]["test"], 0.1, 0.5, 0.4, 0.6, calibration.LARGE),  # below 1 an effect is the larger the smaller the ratio
    (CLAIMS[0]["test"], 0.9, 0.5, 0.4, 0.6, calibration._SMALL),
    (CLAIMS[0]["test"], 5.9, 5.0, 4.0, 6.0, ""),
    (CLAIMS[0]["test"], 0.7, 1.17, 0.76, 1.58, calibration._OTHER),  # the range of a small effect holds 1 too
    (CLAIMS[2]["test"], 0.7, 0.98, 0.85, 1.15, calibration._NONE),
    (CLAIMS[4]["test"], 0.1, 0.5, 0.4, 0.6, calibration.LOW),
])  # fmt: skip
def test_a_miss_says_on_which_side_the_effect_is(test, estimate, published, low, high, miss):
    assert calibration.miss_of(test, estimate, published, low, high) == miss


def test_shares_count_what_was_measured_by_half_kind_and_set():
    halves = {calibration.half_of(name): name for name in ("osu-hibd", "jikelab-2016")}
    rows = [row for name in halves.values() for row in rows_of(name)]
    found = {(row["half"], row["by"], row["name"]): row for row in calibration._summary(rows)}
    one, both = found["score", "all", ""], found["both", "all", ""]
    assert (one["of"], one["measured"], one["inside"], one["share"]) == (6, 5, 1, "0.2")
    assert (both["of"], both["measured"], both["inside"]) == (12, 10, 2)
    assert float(one["low"]) < 0.2 < float(one["high"])
    assert (one["large"], one["small"], one["other"], one["published_inside"]) == (3, 0, 1, 2)
    assert (one["independent"], one["asked_before"], both["independent"]) == (5, 4, 10)
    assert one["without_effect"] == 1, "the range of A-C03 alone holds 1"
    assert (one["median_off"], one["off_without_effect"]) == ("1.96", "2")
    assert found["score", "kind", "copies"]["measured"] == 2
    assert found["score", "set", "osu-hibd"]["measured"] == 5
    unmeasured = found["tune", "kind", "drives"]
    assert (unmeasured["measured"], unmeasured["share"], unmeasured["median_off"]) == (0, "", "")


@pytest.mark.parametrize(("held", "count"), [(0, 5), (5, 5), (14, 22)])
def test_the_interval_of_a_share_is_the_exact_one_where_all_ratios_are_independent(held, count):
    assert statistics.share_interval_of(held / count, count) == pytest.approx(statistics.share_interval(held, count))


def test_the_interval_of_a_share_is_wider_where_fewer_are_independent():
    (low, high), (least, most) = statistics.share_interval(14, 22), statistics.share_interval_of(14 / 22, 19)
    assert 0 < least < low < high < most < 1


def test_a_half_in_words_says_how_many_how_far_and_in_which_direction():
    halves = [row for name in ("osu-hibd", "jikelab-2016") for row in rows_of(name)]
    says = {row["half"]: row["says"] for row in calibration._summary(halves) if row["by"] == "all"}
    assert says["score"] == (
        "of 5 of the 6 published ratios of real clusters, none used for tuning, 1 came out within tolerance (20 %, "
        "95 % interval 1 to 72); without any effect 1 would. The median is off by a factor of 1.96, and 3 of 4 misses "
        "are too large"
    )
    assert says["tune"].startswith("of 5 of the 6 published ratios of real clusters that may be used for tuning, 1 ")
    assert says["both"].startswith("of 10 of the 12 published ratios of real clusters, 2 came")
    inside = [row for row in rows_of("osu-hibd") if row["inside"] == "true"]
    (one,) = (row["says"] for row in calibration._summary(inside) if (row["half"], row["by"]) == ("score", "all"))
    assert one.startswith("of 1 published ratios") and one.endswith("a factor of 1.1")
    assert {row["says"] for row in calibration._summary([]) if row["by"] == "all"} == {
        "no published ratio of a real cluster is compared yet"
    }


def test_rates_are_those_of_claims_without_a_second_cell_and_of_readings():
    reading = {"claim": "A-C01", "reading": "inbound over a link", "n": "3", "estimate": "0.9", "low": "0.8",
               "high": "1", "expected": "0.6", "verdict": "not reproduced", "reason": "x"}  # fmt: skip
    rejected = reading | {"estimate": "", "low": "", "high": "", "reason": "too short"}
    one, two, three = rates_beside_ratios(rows_of("a"), [reading, rejected], "a")
    assert (one["claim"], one["rate"], one["published"], one["off"]) == ("A-C05", "statement of A-C05", "0.25", "3.6")
    assert (two["rate"], two["published"], two["low"], two["off"]) == ("inbound over a link", "0.6", "0.8", "1.5")
    assert (three["estimate"], three["off"], three["reason"]) == ("", "", "too short")
    assert set(one) == set(two) == set(RATES_TABLE)


def test_assumptions_are_those_of_set_up_drives_and_writers_and_what_is_not_stated():
    raw = {
        "testbed": {"assumed": {"copies": "three, Hadoop's own"}, "not_stated": ["runs"]},
        "experiments": [
            {"id": "a", "hardware": {"sources": {"count": "page", "rate_mb_per_s": "assumption: SATA"}}},
            {"id": "b", "hardware": {"drives": {"ssd": {"sources": {"count": "assumption: one"}}}}},
            {
                "id": "c",
                "hardware": {
                    "sources": {"rate_mb_per_s": "assumption: SATA"},
                    "writer": {"sources": {"rate_mb_per_s": "assumption: a put"}},
                },
            },
        ],
    }
    found = {row["what"]: row["why"] for row in calibration.assumptions("a", raw)}
    assert found == {
        "copies": "three, Hadoop's own", "a, c: drive: rate_mb_per_s": "SATA", "b: ssd: count": "one",
        "c: writer: rate_mb_per_s": "a put", "runs": "not stated by the source",
    }  # fmt: skip


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
    folder = tmp_path / "results" / "emulated" / "craysun-iosig" / "analysis"
    folder.mkdir(parents=True)
    found = verdict("0.385", ("0.25", "0.52"), "0.4", ("0.3", "0.5"))
    write(folder / "verdicts.csv", {"claim": "I-C01"} | found)
    write(folder / "readings.csv", {"claim": "I-C01", "reading": "inbound over a link"} | found | {"estimate": "0.77"})
    return tmp_path / "results" / "emulated"


def write(path, row):
    table = csv.DictWriter(stream := io.StringIO(), list(row), lineterminator="\n")
    table.writeheader()
    table.writerow(row)
    path.write_text(stream.getvalue())


def read(results, name):
    return list(csv.DictReader((results / "calibration" / "analysis" / name).open()))


def test_tables_are_made_of_all_sets_and_of_the_verdicts_that_there_are(results):
    write_calibration_tables(results)
    folder = results / "calibration" / "analysis"
    assert checked.analysis(folder) == []
    assert "calibration.csv" in json.loads((folder / "manifest.json").read_text())["files"]
    rows = read(results, "calibration.csv")
    assert {row["paper"] for row in rows} == {path.stem for path in SETS}
    (row,) = (row for row in rows if row["inside"])
    assert (row["paper"], row["kind"], row["inside"], row["half"]) == ("craysun-iosig", "operation", "true", "score")
    (score,) = (row for row in read(results, "summary.csv") if (row["half"], row["by"]) == ("score", "all"))
    assert (score["of"], score["measured"]) == ("22", "1")
    assert score["says"].startswith("of 1 of the 22 published ratios")
    rates = {row["paper"]: row for row in read(results, "rates.csv")}
    assert (rates["craysun-iosig"]["rate"], rates["craysun-iosig"]["off"]) == ("inbound over a link", "2")
    assert (rates["jikelab-2016"]["claim"], rates["jikelab-2016"]["reason"]) == ("J-C05", "not measured")
    assumed = {each["what"] for each in read(results, "assumptions.csv")}
    assert {"network", "dfsio: drive: rate_mb_per_s", "runs"} <= assumed


def test_a_damaged_table_is_named(results):
    path = results / "craysun-iosig" / "analysis" / "verdicts.csv"
    path.write_text(path.read_text().replace("0.385", "about"))
    with pytest.raises(UserError, match=r"verdicts\.csv: line 2: expected: found \"about\""):
        write_calibration_tables(results)


def test_a_table_of_an_earlier_description_is_named(results):
    path = results / "craysun-iosig" / "analysis" / "verdicts.csv"
    path.write_text(path.read_text().replace("I-C01", "I-C09"))
    with pytest.raises(UserError, match=r"verdicts\.csv: found no row of I-C01, expected one; make it anew with"):
        write_calibration_tables(results)


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


SEVERAL_WRITE = {
    ("cisco-ucs-tera", "teragen"), ("cisco-ucs-tera", "teragen-nodes"), ("portworx-2017", "bare"),
    ("portworx-2017", "volumes"), ("quantcast-qfs", "write"), ("osu-ccgrid-2011", "dfsio"), ("bigstep-2016", "dfsio"),
    ("bigstep-2016", "teragen"), ("osu-hibd", "dfsio-hdd"), ("osu-hibd", "dfsio-ssd"), ("osu-hibd", "teragen-hdd"),
    ("osu-hibd", "teragen-ssd"), ("craysun-iosig", "dfsio"),
}  # fmt: skip
ONE_WRITES = {("jikelab-2016", "dfsio"), ("jikelab-2016", "put")}


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_writers_have_blocks_packets_and_buffers_by_the_amendment_of_the_decision(path):
    """Decision 17: busiest worker's share, packets of a block, seconds that a port holds, tasks at once."""
    testbed = load_testbed("emulated")
    paper = load_paper(path, fabric_names(testbed))
    table = similitude_table(paper, testbed, "quick")

    def values(experiment, quantity, column):
        rows = table[(table["experiment"] == experiment) & (table["quantity"] == QUANTITIES[quantity].text)]
        assert len(rows), (experiment, quantity)
        return rows[column].astype(float)

    for experiment in (name for of, name in SEVERAL_WRITE | ONE_WRITES if of == path.stem):
        assert (values(experiment, "packets_block", "emulated") >= 38).all(), experiment
        assert (values(experiment, "port_time", "emulated") <= 0.1001).all(), experiment
    for experiment in (name for of, name in SEVERAL_WRITE if of == path.stem):
        shares = values(experiment, "busiest_link", "emulated") / values(experiment, "busiest_link", "full_scale")
        assert (shares <= 1.1).all(), experiment
        for levels in cells_of(paper.experiments[experiment]):
            at_once = even_share(paper.parameters(experiment, levels), paper.roles(experiment, levels))
            assert at_once <= Memory().most_slots, experiment


def test_the_split_is_that_of_the_decision():
    """A set's half never changes: neither the rule nor an id may."""
    text = (HOME / "docs" / "decisions" / "0017-calibration.md").read_text()
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    decided = {line.split("`")[1]: line.rsplit("|", 2)[1].strip() for line in lines}
    assert {path.stem: calibration.half_of(path.stem) for path in SETS} == decided
