"""What the tables of `trust` say of runs whose right answer is known, here by how they were made up."""

import copy
import json
import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.support import quick_yaml
from tests.support.papers import same_of
from whitewire import statistics
from whitewire.analysis import trust
from whitewire.analysis.trust import write_trust_tables
from whitewire.description.checks import load_paper
from whitewire.description.paper import cells_of
from whitewire.description.project import paper_path
from whitewire.description.testbed import load_testbed
from whitewire.design import synthetic
from whitewire.estimands.evidence import Sample
from whitewire.records import trust as records
from whitewire.records.checked import table_faults as faults_of
from whitewire.records.manifest import MANIFEST_FILE, manifest_of_folder
from whitewire.records.trust import PART_RECORD, TRUST_RECORD, files_of_trust
from whitewire.tidy.tables import TABLES

TESTBED = load_testbed("emulated")


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_of_a_share_holds_it_and_no_binomial_puts_more_than_a_fortieth_beyond_an_end(held_count):
    held, count = held_count
    low, high = statistics.share_interval(held, count)
    assert 0 <= low <= held / count <= high <= 1
    assert low == 0 or stats.binom.sf(held - 1, count, low) == pytest.approx(0.025, abs=1e-6)
    assert high == 1 or stats.binom.cdf(held, count, high) == pytest.approx(0.025, abs=1e-6)


def test_of_no_trial_there_is_no_interval():
    assert statistics.share_interval(0, 0) is None


@pytest.mark.parametrize(("estimate", "goal", "said"), [
    ((0.96, 0.9, 0.99), (0.95, 1), trust.MET), ((0.9, 0.8, 0.96), (0.95, 1), trust._OPEN),
    ((0.9, 0.85, 0.94), (0.95, 1), trust.NOT_MET), ((0.04, 0, 0.2), (0, 0.05), trust.MET),
    ((0.3, 0.1, 0.5), (0, 0.05), trust.NOT_MET), ((math.nan, math.nan, math.nan), (0, 1), trust._OPEN),
])  # fmt: skip
def test_a_goal_is_missed_only_where_chance_does_not_explain_it(estimate, goal, said):
    assert trust.outcome(*estimate, goal) == said


# --- links ---------------------------------------------------------------------------------------------


def links_tested(error, rounds=6, rates=(25.0, 2000.0), pairs=3, lost=0):
    return pd.DataFrame([
        {"rate": rate, "pairs": pairs, "number": number, "meter": meter, "source": f"client{pair}",
         "destination": f"server{pair}", "expected": rate * 0.956, "why": "",
         "goodput": None if number <= lost else rate * 0.956 * (1 + error)}
        for rate in rates for number in range(1, rounds + 1) for meter in (records.IPERF3, records.COUNTERS)
        for pair in range(pairs)
    ])  # fmt: skip


def test_an_error_of_links_is_that_of_rounds_and_only_within_reach_is_something_asked():
    rows = list(trust.link_errors(links_tested(-0.004, lost=1), 0.01, 1200))
    assert [(row["rate"], row["meter"], row["n"], row["missing"]) for row in rows] == [
        (rate, meter, 5, 3) for rate in ("25", "2000") for meter in (records.COUNTERS, records.IPERF3)
    ]
    assert {row["error"] for row in rows} == {"-0.004"}
    assert [(row["reach"], row["within_bound"]) for row in rows[::2]] == [("true", "true"), ("false", "")]


def test_an_error_beyond_its_bound_is_not_within_it():
    rows = list(trust.link_errors(links_tested(0.02), 0.01, 1200))
    assert rows[0]["within_bound"] == "false" and rows[0]["low"] == rows[0]["high"] == "0.02"


# --- ratios and A/A: the real analysis on runs that were made up --------------------------------------------


def made_up(paper, groups, scatter, biased=1.0, seed=5):
    """tidy/runs.csv of runs that take exactly as long as their real links say, but for their scatter."""
    rng, rows = np.random.default_rng(seed), []
    for name, experiment in paper.experiments.items():
        for levels in cells_of(experiment):
            rate = TESTBED["fabrics"][paper.parameters(name, levels)["fabric"]]["rate_mbit_per_s"] / 1000
            for replicate in range(1, synthetic.RUNS * groups + 1):
                value = rate**biased * math.exp(scatter * rng.standard_normal())
                rows.append({
                    "run_id": f"{name}-{levels}-{replicate}", "attempt": 1, "block": synthetic.BLOCK,
                    "order": len(rows) + 1,
                    "experiment": name, "replicate": replicate, "made_by": None, "floor": None, **levels,
                    "metric": synthetic.METRIC, "value": value, "unit": "MB/s", "full_scale_value": value * synthetic.K,
                    "full_scale_unit": "MB/s", "valid": "true", "why_invalid": None,
                })  # fmt: skip
    return pd.DataFrame(rows)


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """A folder of results with a known paper whose runs are made up."""

    def make(groups, scatter=0.02, biased=1.0):
        folder = tmp_path / "trust"
        (folder / "ratio" / synthetic.BLOCK).mkdir(parents=True)
        (folder / "ratio" / "known.yaml").write_text(
            quick_yaml.dump(synthetic.paper_of_ratios(groups), sort_keys=False)
        )
        part = {"units": groups, "planned": groups, "unit": "group", "seconds": 1.0, "papers": ["known"],
                "description": "d", "begun": 0.0}  # fmt: skip
        parts = [part | {"part": name, "papers": []} for name in ("ratio", "same", "order")]
        for each in parts:
            (folder / each["part"]).mkdir(exist_ok=True)
            (folder / each["part"] / PART_RECORD).write_text(json.dumps(each))
        record = {"testbed": "emulated", "description": "d", "parts": parts, "left_out": [], "begun": 0.0,
                  "seconds": 1.0, "bound": 0.01, "reach": 1200.0, "commit": "c", "modified": False,
                  "software": "s"}  # fmt: skip
        (folder / TRUST_RECORD).write_text(json.dumps(record))
        overheads = pd.DataFrame(columns=TABLES["floors.csv"])
        monkeypatch.setattr(
            trust, "_read",
            lambda paper, rows, block, groups: trust.Read(
                paper, (made_up(paper, groups, scatter, biased), overheads), {}, groups
            ),
        )  # fmt: skip
        listed = manifest_of_folder(folder, [*files_of_trust(folder, records.PARTS), folder / TRUST_RECORD])
        (folder / MANIFEST_FILE).write_text(json.dumps(listed))
        write_trust_tables(folder, tmp_path)
        return SimpleNamespace(folder=folder, of=lambda name: pd.read_csv(folder / "tables" / f"{name}.csv"))

    return make


def test_intervals_of_the_real_analysis_hold_the_truth_as_often_as_they_say(measured):
    made = measured(20)
    coverage = made.of("coverage").set_index("expected")
    assert coverage.loc["all", "n"] == 20 * len(synthetic._RATIOS) * len(synthetic._CLIENTS)
    assert 0.9 <= coverage.loc["all", "share"] <= 1 and abs(coverage.loc["all", "error"]) < 0.005
    assert coverage["n"].drop("all").tolist() == [20 * len(synthetic._CLIENTS)] * len(synthetic._RATIOS)
    same = made.of("same")
    assert len(same) == 20 * (1 + len(synthetic._RATIOS)) * len(synthetic._CLIENTS) and same["alarm"].mean() <= 0.1
    assert set(made.of("ratio")["verdict"]) <= {"reproduced", "inconclusive"}
    summary = made.of("summary").set_index("part")
    assert summary.loc["ratio", "n"] == coverage.loc["all", "n"]
    assert faults_of(made.folder / "tables") == []


def test_links_that_are_not_what_they_are_called_are_found_out(measured):
    """Rates to the power of 0.9: a link that should be four times as fast is 3.5 times."""
    made = measured(4, scatter=0.005, biased=0.9)
    summary = made.of("summary").set_index("part")
    assert summary.loc["ratio", "outcome"] == trust.NOT_MET and summary.loc["ratio", "value"] < 0.5


def test_a_part_that_was_not_measured_has_an_empty_table_and_no_answer(measured):
    made = measured(1)
    assert made.of("links").empty and made.of("load").empty
    assert not {"links", "load", "scales"} & set(made.of("summary")["part"])


def test_controls_of_papers_count_by_their_first_metric_and_only_with_an_interval(tmp_path, measured):
    folder = tmp_path / "emulex-2012" / "analysis"
    folder.mkdir(parents=True)
    base = {"cell": "c", "really": "fabric 1gbe", "n": 3, "n_against": 3, "estimate": 1.0}
    pd.DataFrame([
        base | {"control": "E-K01", "kind": "A/A", "metric": "throughput", "low": 0.9, "high": 0.99},
        base | {"control": "E-K01", "kind": "A/A", "metric": "completion_time", "low": 1.01, "high": 1.1},
        base | {"control": "E-K02", "kind": "A/A", "metric": "throughput", "low": None, "high": None},
        base | {"control": "E-K05", "kind": "known ratio", "metric": "throughput", "low": 0.4, "high": 0.6},
    ]).to_csv(folder / "controls.csv")  # fmt: skip
    same = measured(1).of("same")
    assert same[same["source"] == "emulex-2012, as judged"][["control", "metric", "alarm"]].values.tolist() == [
        ["E-K01", "throughput", True]
    ]


# --- k against k, load, order ------------------------------------------------------------------------------


@pytest.mark.parametrize(("factor", "scatter", "said"), [
    (1.0, 0.002, "yes"), (1.1, 0.002, "no"), (1.0, 0.2, "cannot tell"),
])  # fmt: skip
def test_two_k_agree_where_all_of_the_interval_is_near_1(factor, scatter, said):
    one = Sample(np.array([1.0, 1.0, 1.0]), 0, "MB/s", "c", scatter, 4)
    two = Sample(np.array([1.0, 1.0, 1.0]) * factor, 0, "MB/s", "c", scatter, 4)
    assert trust._between(one, two)["agrees"] == said


def test_two_k_cannot_be_told_apart_by_an_overhead_whose_scatter_is_unknown():
    one, two = (Sample(np.ones(3), 0, "s", "c", 0.002, 4, problem=why) for why in ("", "a single overhead run"))
    assert trust._between(one, one)["agrees"] == trust._AGREES
    assert {trust._between(*pair)["agrees"] for pair in ((one, two), (two, one))} == {trust._UNKNOWN}


@pytest.mark.parametrize(("words", "n", "value", "found"), [
    (["yes", "yes", "no", "cannot tell"], 3, "0.333333", trust._OPEN),
    (["yes", "cannot tell"], 1, "0", trust.MET),
    (["no"] * 9 + ["cannot tell"] * 991, 9, "1", trust.NOT_MET),
    (["cannot tell", "cannot tell"], 0, "", trust._OPEN),
])  # fmt: skip
def test_two_k_that_cannot_be_distinguished_speak_for_nothing(words, n, value, found):
    (row,) = trust._summary({"scales.csv": [{"agrees": word} for word in words]}, {"bound": 0.05})
    assert (row["n"], row["value"], row["outcome"]) == (n, value, found)
    assert ("more cannot tell" in row["of"]) == ("cannot tell" in words)


def under_load(slowed, of=(0.0, 1.0)):
    rng, rows, loads = np.random.default_rng(3), [], {}
    for load in of:
        for clients in (1, 2):
            for number in range(6):
                run_id = f"{load}-{clients}-{number}"
                loads[run_id] = load
                value = 8 * (1 - slowed * load) * math.exp(0.002 * rng.standard_normal())
                rows.append({"run_id": run_id, "attempt": 1, "clients": clients, "metric": synthetic.METRIC,
                             "value": value, "valid": "false" if (load and number == 5) else "true"})  # fmt: skip
    return pd.DataFrame(rows), loads


@pytest.mark.parametrize("slowed", [0.0, 0.1])
def test_load_is_judged_by_what_counts_beside_what_was_made_without_it(slowed):
    rows = list(trust.load_rows(*under_load(slowed)))
    assert [(row["load"], row["clients"], row["made"], row["n"], row["n_calm"]) for row in rows] == [
        ("1", "1", 6, 5, 6), ("1", "2", 6, 5, 6),
    ]  # fmt: skip
    for row in rows:
        assert float(row["low"]) <= 1 - slowed <= float(row["high"])
        assert float(row["ratio"]) == pytest.approx(1 - slowed, abs=0.005)


def test_intervals_of_several_loads_hold_together():
    def width(rows):
        return np.mean([math.log(float(row["high"]) / float(row["low"])) for row in rows])

    one, three = (list(trust.load_rows(*under_load(0.0, (0.0, *loads)))) for loads in ([1.0], [0.5, 1.0, 2.0]))
    by_hand = stats.t.ppf(1 - 0.025 / 6, 9) / stats.t.ppf(1 - 0.025 / 2, 9)
    assert width(three) / width(one) == pytest.approx(by_hand, rel=0.25)


def runs_in_order(slope, seed, cells=8, runs=6, scatter=0.01):
    rng = np.random.default_rng(seed)
    cell = np.repeat(np.arange(cells), runs)
    place = rng.permutation(len(cell)) / (len(cell) - 1)
    return place, 5.0 * cell + slope * place + scatter * (1 + cell) * rng.standard_normal(len(cell)), cell.astype(str)


@pytest.mark.parametrize("slope", [0.2, -0.2])
def test_a_drift_over_a_block_is_found_with_its_size(slope):
    found = trust.drift(*runs_in_order(slope, 1))
    assert found.low <= math.expm1(slope) <= found.high and found.p_value < 0.01
    assert (found.n, found.cells) == (48, 8)


def test_without_a_drift_there_is_one_false_alarm_in_twenty_by_either_way(monkeypatch):
    monkeypatch.setattr(trust, "PERMUTATIONS", 199)
    found = [trust.drift(*runs_in_order(0, seed)) for seed in range(200)]
    assert np.mean([each.p_value <= 0.05 for each in found]) <= 0.1
    assert 0.88 <= np.mean([each.low <= 0 <= each.high for each in found]) <= 0.99


@given(st.lists(st.sampled_from("ab"), min_size=0, max_size=4, unique=True))
def test_cells_of_one_run_show_no_drift(cells):
    assert trust.drift(np.linspace(0, 1, len(cells)), np.zeros(len(cells)), np.array(cells, dtype=str)) is None


def test_places_are_those_in_which_attempts_were_made_and_not_those_of_the_design(tmp_path):
    table = pd.DataFrame({
        "run_id": list("abbcd"), "attempt": [1, 1, 2, 1, 1], "block": "quick-1", "order": [1, 2, 2, 3, 4],
        "experiment": "e", "replicate": [1, 2, 2, 3, 4], "fabric": "1gbe", "metric": trust.TIMED,
        "value": [1.0, 9.0, 2.0, 3.0, 4.0], "valid": ["true", "false", "true", "true", "true"],
    })  # fmt: skip
    starts = {("a", 1): 10.0, ("b", 1): 20.0, ("b", 2): 40.0, ("c", 1): 30.0}  # of d there is no record
    table = pd.concat([table, table.assign(metric="other")], ignore_index=True)
    found = trust.placed(trust.begun(table, starts))
    assert found["place"].tolist() == pytest.approx([0, 1, 2 / 3])
    assert found["log"].tolist() == pytest.approx([0, math.log(2), math.log(3)])
    assert found["cell"].nunique() == 1
    several = table.assign(fabric=["1gbe", "1gbe", "1gbe", "10gbe", "1gbe"] * 2, floor=list("abcde") * 2)
    assert trust.placed(trust.begun(several, starts))["cell"].nunique() == 2, "by levels, and by nothing else"
    assert trust.starts_of(table, tmp_path) == {}
    assert trust.placed(trust.begun(table, {})).empty


def test_a_source_that_drifts_is_reported_beside_all_together():
    place, logs, cells = runs_in_order(0.3, 2)
    table = pd.DataFrame({
        "run_id": range(len(place)), "attempt": 1, "block": "quick-1",
        "begun": (place * (len(place) - 1)).round() + 1e9, "experiment": cells, "replicate": 1,
        "metric": trust.TIMED, "value": np.exp(logs / 10), "valid": "true",
    })  # fmt: skip
    undisturbed = copy.deepcopy(table)
    undisturbed["value"] = np.exp(np.random.default_rng(1).standard_normal(len(undisturbed)) / 100)
    rows = {row["source"]: row for row in trust.order_rows({"one": table, "two": undisturbed})}
    assert set(rows) == {"one", "two", trust._ALL}
    assert float(rows["one"]["p_value"]) < 0.01 < float(rows["two"]["p_value"])


def test_between_two_k_only_what_has_a_value_at_full_scale_is_compared(tmp_path):
    """A job's `throughput` holds its startup overhead and has none: as measured it is half as much at twice the k."""
    qubole = load_paper(paper_path("qubole-2015"), TESTBED["fabrics"])

    def reads(settled, rows, folder):
        table = same_of(settled, pd.DataFrame(rows))
        job = table[table["metric"] == "write_throughput"].assign(metric="throughput", full_scale_value=np.nan)
        table = pd.concat([table, job.assign(value=job["value"] / settled.raw["scale"]["k"])])
        return trust.Read(settled, (table, pd.DataFrame(columns=["valid", "seconds", "block", "floor"])), {})

    rows = list(trust.scale_rows(qubole, TESTBED, tmp_path, 1, reads=reads))
    assert {row["metric"] for row in rows} == {"completion_time_net", "write_throughput"}
    assert all(float(row["ratio"]) == pytest.approx(1, abs=0.05) for row in rows)


def test_turns_of_one_k_have_overheads_of_their_own(tmp_path):
    """Of two starts one has overheads of 2 s, the other of 3 s; both number their first run 1."""
    qubole = load_paper(paper_path("qubole-2015"), TESTBED["fabrics"])

    def reads(settled, rows, folder):
        kind = f"terasort k={settled.raw['scale']['k']}"
        table = same_of(settled, pd.DataFrame(rows)).assign(floor=kind, block=synthetic.BLOCK)
        table["value"] = table["full_scale_value"] = table["value"] ** 0.1
        seconds = 3.0 if folder.parent.name.endswith("-1") else 2.0
        numbers = [1, *(seconds + 5 * i for i in range(1, 4))]
        overheads = [(synthetic.BLOCK, kind, "terasort", "terasort", number, seconds + i / 1000, "true")
                     for i, number in enumerate(numbers)]  # fmt: skip
        names = ["block", "floor", "workload", "job", "number", "seconds", "valid"]
        return trust.Read(settled, (table, pd.DataFrame(overheads, columns=names)), {})

    rows = list(trust.scale_rows(qubole, TESTBED, tmp_path, 2, reads=reads))
    assert {row["agrees"] for row in rows if row["metric"] == "completion_time_net" and row["n"] > 2} == {trust._AGREES}


WRITES_AND_READS = "testdfsio hdfs 5 4 1 k=1000 | client=1 datanode=5 namenode=1 | drives=2 slots=1 | a42872"
SORTS = "terasort hdfs 4 4 1 k=20 | client=1 datanode=2 namenode=1 | drives=1 slots=2 | a42872"


def overhead_jobs(*rows):
    """tidy/floors.csv of rows (floor, number, attempt, job, seconds, valid)."""
    columns = ["floor", "number", "attempt", "job", "seconds", "valid"]
    return pd.DataFrame(rows, columns=columns).assign(block=synthetic.BLOCK)


def beside(count, slower, overheads_slower, n=12, seed=0):
    """Tables of a start of a cluster with so many lanes, whose runs and overhead runs take so many times as long."""
    rng = np.random.default_rng(100 * count + seed)
    runs = pd.DataFrame({
        "experiment": ["testdfsio-curve", "terasort-curve"] * n, "metric": trust.TIMED, "valid": "true", "attempt": 1,
        "value": slower * np.exp(rng.normal(0, 0.004, 2 * n)), "run_id": [f"{number}" for number in range(2 * n)],
    })  # fmt: skip
    disturbed = runs.head(2).assign(valid="false", value=99.0, attempt=2)
    runs = pd.concat([runs, runs.assign(metric="other"), disturbed])
    times = overheads_slower * np.exp(rng.normal(0, 0.004, n))
    return runs, overhead_jobs(*((SORTS, number, 1, "terasort", each, "true") for number, each in enumerate(times)))


def test_an_overhead_of_two_jobs_is_one_and_an_attempt_that_failed_outright_is_one_too():
    mellanox = load_paper(paper_path("mellanox-mapr"), TESTBED["fabrics"])
    runs, _ = beside(1, 1, 1, n=1)
    failed = pd.DataFrame([{"experiment": "terasort-curve", "run_id": "1", "attempt": 3, "metric": None, "value": None,
                            "valid": "false"}])  # fmt: skip
    overheads = overhead_jobs(
        (WRITES_AND_READS, 1, 1, "write", 2.556, "true"), (WRITES_AND_READS, 1, 1, "read", 2.02, "true"),
        (WRITES_AND_READS, 2, 2, None, None, "false"), (SORTS, 3, 1, "terasort", 4.1, "true"),
    )  # fmt: skip
    found = trust._timed(mellanox, pd.concat([runs, failed]), overheads).set_index("cell")
    assert found.loc[WRITES_AND_READS, "seconds"].tolist() == pytest.approx([4.576, math.nan], nan_ok=True)
    assert found.loc[SORTS, ["kind", "seconds", "valid"]].tolist() == [trust.OVERHEAD, 4.1, True]
    assert found.loc["terasort-curve", "valid"].tolist() == [True, False, False]
    assert found["kind"].value_counts().to_dict() == {trust.OVERHEAD: 3, "terasort": 3, "testdfsio": 2}


def in_turns(slower, overheads_slower, turns=4, between=0.002):
    """Turns of one lane and two, whose clusters differ by so much from start to start."""
    rng = np.random.default_rng(4)
    return [
        {count: beside(count, *np.array(of) * math.exp(rng.normal(0, between)), seed=turn)
         for count, of in ((1, (1, 1)), (2, (slower, overheads_slower)))}
        for turn in range(turns)
    ]  # fmt: skip


@pytest.mark.parametrize(("slower", "overheads_slower", "said"), [
    (1.004, 1.17, {"testdfsio": trust.MET, "terasort": trust.MET, "startup overhead": trust.NOT_MET}),
    (1.05, 1.0, {"testdfsio": trust.NOT_MET, "terasort": trust.NOT_MET, "startup overhead": trust.MET}),
])  # fmt: skip
def test_times_beside_other_lanes_are_set_against_those_alone_by_kind(slower, overheads_slower, said):
    mellanox = load_paper(paper_path("mellanox-mapr"), TESTBED["fabrics"])
    rows = list(trust.lane_rows(mellanox, in_turns(slower, overheads_slower)))
    assert {(row["kind"], row["lanes"], row["turns"], row["n"], row["n_alone"]) for row in rows} == {
        (kind, 2, 4, 48, 48) for kind in ("testdfsio", "terasort", "floor")
    }
    assert {row["kind"]: row["made"] for row in rows} == {"testdfsio": 52, "terasort": 52, "floor": 48}
    answers = trust._summary({"lanes.csv": rows}, {"bound": 0.01})
    assert {row["asked"].split("(")[1].split(";")[0]: row["outcome"] for row in answers} == said


def test_clusters_that_differ_from_start_to_start_are_no_effect_of_lanes():
    """The runs of a start agree far better than starts do: by them alone every start would show an effect."""
    mellanox = load_paper(paper_path("mellanox-mapr"), TESTBED["fabrics"])
    for row in trust.lane_rows(mellanox, in_turns(1, 1, between=0.1)):
        assert float(row["low"]) < 1 < float(row["high"])


def test_one_turn_gives_no_interval_and_nothing_is_met_by_it():
    mellanox = load_paper(paper_path("mellanox-mapr"), TESTBED["fabrics"])
    rows = list(trust.lane_rows(mellanox, in_turns(1, 1.5, turns=1)))
    assert {(row["turns"], row["low"], row["high"]) for row in rows} == {(1, "", "")}
    assert {row["outcome"] for row in trust._summary({"lanes.csv": rows}, {"bound": 0.01})} == {trust._OPEN}


def test_where_no_run_beside_other_lanes_counts_it_is_open():
    mellanox = load_paper(paper_path("mellanox-mapr"), TESTBED["fabrics"])
    turns = in_turns(1, 1, turns=2)
    for turn in turns:
        turn[2] = turn[2][0], turn[2][1].assign(valid="false")
    rows = list(trust.lane_rows(mellanox, turns))
    (overhead,) = [row for row in rows if row["kind"] == trust.OVERHEAD]
    assert (overhead["turns"], overhead["made"], overhead["n"]) == (0, 24, 0)
    answers = {row["asked"].split("(")[1]: row for row in trust._summary({"lanes.csv": rows}, {"bound": 0.01})}
    assert [row["outcome"] for asked, row in answers.items() if asked.startswith("startup overhead")] == [trust._OPEN]


def ratios(*given):
    """Rows of lanes.csv of one kind: (ratio, low, high), empty where nothing is known."""
    return [dict(zip(("ratio", "low", "high"), map(str, each), strict=True)) | {"kind": "floor", "n": 3}
            for each in given]  # fmt: skip


@pytest.mark.parametrize(("rows", "said", "value"), [
    (ratios((1.001, 0.99, 1.01), (0.9995, 0.985, 1.015)), trust.MET, "0.001"),
    (ratios((1.001, 0.99, 1.01), (0.9995, 0.97, 1.03)), trust._OPEN, "-0.0005"),
    (ratios((1.5, 0.5, 2.5), (1.05, 1.03, 1.07)), trust.NOT_MET, "0.05"),
    (ratios((1.001, 0.99, 1.01), (1.002, "", "")), trust._OPEN, "0.002"),
    (ratios((1.001, 0.99, 1.01), ("", "", "")), trust._OPEN, ""),
])  # fmt: skip
def test_lanes_change_nothing_only_where_every_interval_says_so(rows, said, value):
    (row,) = trust._summary({"lanes.csv": rows}, {"bound": 0.01})
    assert (row["outcome"], row["value"], row["n"]) == (said, value, 6)


def test_without_runs_alone_nothing_is_reported_of_lanes():
    mellanox = load_paper(paper_path("mellanox-mapr"), TESTBED["fabrics"])
    assert list(trust.lane_rows(mellanox, [{2: beside(2, 1, 1)}])) == list(trust.lane_rows(mellanox, [])) == []
