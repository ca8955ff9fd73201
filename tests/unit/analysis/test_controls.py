"""Controls: which runs they are, what they are compared with, what they say, and which verdicts they take down."""

import copy

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import quick_yaml
from whitewire.analysis import analyse, claims, controls
from whitewire.analysis.runs import Runs, on_testbed
from whitewire.description import project, testbed
from whitewire.description.checks import load_paper
from whitewire.description.names import paper_names
from whitewire.description.paper import Paper, ratio_of
from whitewire.design import scale
from whitewire.design.rows import levels_of, make_design
from whitewire.errors import UserError
from whitewire.estimands.evidence import Evidence

TESTBED = testbed.load_testbed("emulated")
EMULEX = load_paper(project.paper_path("emulex-2012"), TESTBED["fabrics"])
LIGHT = {"clients": 1, "puts_per_client": 1}
HEAVY = {"clients": 3, "puts_per_client": 6}


def with_controls(*specs, paper=EMULEX):
    raw = copy.deepcopy(dict(paper.raw))
    raw["controls"] = list(specs)
    return Paper(raw, paper.path)


def same(number, cell, really, **more):
    where = {"fabric": cell, **more.pop("load", HEAVY)}
    return {"id": f"E-K{number:02}", "title": "a control", "metric": "throughput",
            "cell": {"experiment": "put-grid", "where": where}, "really": {"fabric": really}, **more}  # fmt: skip


def runs_of(paper, cells, n=6, spread=0.02, seed=1):
    """A table of runs: `cells` maps (experiment, fabric, clients, puts) to the true value."""
    rng, rows = np.random.default_rng(seed), []
    for (experiment, fabric, clients, puts), value in cells.items():
        for replicate in range(n):
            base = {"run_id": f"{experiment}-{fabric}-{clients}-{puts}-{replicate}", "attempt": 1, "block": "quick-1"}
            base |= dict.fromkeys(paper.factors, "")
            base |= {"experiment": experiment, "fabric": fabric, "clients": clients, "puts_per_client": puts}
            for metric, unit in (("throughput", "MB/s"), ("completion_time", "s")):
                seen = value * np.exp(rng.normal(0, spread))
                rows.append(base | {"metric": metric, "value": seen, "unit": unit, "full_scale_value": seen,
                                    "full_scale_unit": unit, "valid": "true"})  # fmt: skip
    return Runs(pd.DataFrame(rows), paper)


@pytest.mark.parametrize("name", paper_names())
def test_each_paper_has_an_a_a_control_at_the_slow_and_at_the_fast_rate(name):
    paper = load_paper(project.paper_path(name), TESTBED["fabrics"])
    pairs = [(c["cell"], c["really"]) for c in paper.controls if "expected" not in c]
    backwards = [({**cell["where"], **really}, {f: cell["where"][f] for f in really}) for cell, really in pairs]
    assert pairs
    assert all((cell["where"], really) in backwards for cell, really in pairs)


@pytest.mark.parametrize("name", paper_names())
def test_a_control_has_as_many_runs_as_the_cell_it_is_compared_with_and_shares_its_block(name):
    paper = load_paper(project.paper_path(name), TESTBED["fabrics"])
    for effort in ("quick", "full"):
        rows = make_design(paper, TESTBED, effort, 1)
        cells = [(row["experiment"], str(sorted(levels_of(paper, row).items()))) for row in rows]
        for control in paper.controls:
            test = ratio_of(control)
            counts = [
                cells.count((side["experiment"], str(sorted(side["where"].items()))))
                for side in (test["numerator"], test["denominator"])
            ]
            assert counts[0] == counts[1] >= 3, (control["id"], counts)


def test_a_control_covers_a_ratio_by_the_metrics_of_its_sides():
    sides = [{"experiment": "put-grid", "where": {"fabric": fabric, **HEAVY}} for fabric in ("10gbe", "1gbe")]
    test = {"estimand": "ratio", "metric": "throughput", "numerator": sides[0], "denominator": sides[1]}
    own = {**test, "numerator": {**sides[0], "metric": "completion_time"},
           "denominator": {**sides[1], "metric": "completion_time"}}  # fmt: skip
    for control in (same(1, "10gbe", "1gbe", also=["completion_time"]),
                    same(2, "1gbe", "0.5gbe", also=["completion_time"], expected=0.5)):  # fmt: skip
        paper = with_controls(control)
        metrics = [control["metric"], *control["also"]]
        assert [controls.covers(paper, control, metric, test) for metric in metrics] == [True, False]
        assert [controls.covers(paper, control, metric, own) for metric in metrics] == [False, True]


@pytest.mark.parametrize(("estimate", "low"), [(0.5, 0.0), (0.5, -0.1), (0.0, 0.0)])
def test_an_interval_that_reaches_0_is_too_wide_to_show_a_fault(monkeypatch, estimate, low):
    paper = with_controls(same(1, "10gbe", "1gbe"))
    found = Evidence("runs", estimate, low, 2.0, 6, unit="1", p_value=0.5)
    monkeypatch.setattr("whitewire.estimands.ratio.Ratio.evaluate", lambda *_: found)
    (control,) = controls.judge(paper, runs_of(paper, {("put-grid", "1gbe", 3, 6): 100}))
    assert (control.row["outcome"], control.row["t"]) == (controls.OPEN, None)
    assert control.row["reason"].endswith("the interval does not exclude a fault of 10%")


def test_smoke_has_no_controls():
    rows = make_design(EMULEX, TESTBED, "smoke", 1)
    assert not {row["experiment"] for row in rows} & {control["id"] for control in EMULEX.controls}


def test_a_control_has_the_shape_of_its_name_and_the_link_of_what_it_really_is():
    paper = with_controls(same(1, "10gbe", "1gbe"))
    levels = {"fabric": "10gbe", **HEAVY}
    assert paper.parameters("E-K01", levels)["fabric"] == "1gbe"
    assert scale.scale_of(paper, "E-K01", "quick", levels) == scale.scale_of(paper, "put-grid", "quick", levels)
    row = next(r for r in make_design(paper, TESTBED, "quick", 1) if r["experiment"] == "E-K01")
    assert (row["fabric"], levels_of(paper, row)) == ("10gbe", levels)


def test_other_runs_keep_their_ids_when_a_control_comes():
    without, beside = (
        {r["run_id"] for r in make_design(paper, TESTBED, "full", 1)}
        for paper in (with_controls(), with_controls(same(1, "10gbe", "1gbe")))
    )
    assert without < beside


def test_one_factor_too_many_is_caught_where_equal_cells_are_not():
    """A name that changes more than the link: 0.91 where 1 is right."""
    paper = with_controls(same(1, "10gbe", "1gbe", load=LIGHT))
    good = runs_of(paper, {("E-K01", "10gbe", 1, 1): 100, ("put-grid", "1gbe", 1, 1): 100}, spread=0.01)
    bad = runs_of(paper, {("E-K01", "10gbe", 1, 1): 91, ("put-grid", "1gbe", 1, 1): 100}, spread=0.01)
    (held,), (failed,) = controls.judge(paper, good), controls.judge(paper, bad)
    assert held.row["outcome"] == "held"
    assert failed.row["outcome"] == "failed"
    assert failed.row["t"] < -4
    assert failed.said.startswith("the control E-K01 failed: 0.9")
    assert failed.said.endswith("where 1 is right")
    together = controls.Control({"id": controls.POOLED}, {"control": controls.POOLED, "reason": "0.9 where 1 is right"})
    assert together.said == "all A/A controls of the paper together failed: 0.9 where 1 is right"


def test_a_known_ratio_is_compared_with_the_cell_whose_name_it_bears():
    control = same(5, "1gbe", "0.5gbe", expected=0.5, relative=0.02)
    paper = with_controls(control)
    for value, outcome in ((50, "held"), (50.5, "held"), (58, "failed")):
        runs = runs_of(paper, {("E-K05", "1gbe", 3, 6): value, ("put-grid", "1gbe", 3, 6): 100}, spread=0.003)
        (judged,) = controls.judge(paper, runs)
        assert judged.row["outcome"] == outcome, value
        assert judged.row["against"] == "put-grid 1gbe 3 6"


def test_a_control_without_runs_or_that_shows_nothing_is_open():
    paper = with_controls(same(1, "10gbe", "1gbe"))
    empty = runs_of(paper, {("put-grid", "1gbe", 3, 6): 100})
    (none,) = controls.judge(paper, empty)
    assert (none.row["outcome"], none.row["reason"][:19]) == ("open", "no control possible")
    wide = runs_of(paper, {("E-K01", "10gbe", 3, 6): 100, ("put-grid", "1gbe", 3, 6): 100}, spread=0.6, seed=3)
    assert controls.judge(paper, wide)[0].row["outcome"] == "open"


def test_a_network_that_the_testbed_lacks_is_said():
    paper = with_controls(same(5, "1gbe", "0.5gbe", expected=0.5))
    site = {"kind": "ssh", "fabrics": {"1gbe": {}, "10gbe": {}}}
    runs = on_testbed(paper, site, "", runs_of(paper, {("put-grid", "1gbe", 3, 6): 100}).table)
    (judged,) = controls.judge(paper, runs)
    assert judged.row["reason"] == "no control possible: this testbed has no network 0.5gbe"
    assert "E-K05" not in {row["experiment"] for row in make_design(paper, site, "quick", 1)}


def test_a_control_whose_p_value_underflows_to_0_fails_the_pooled_test():
    paper = with_controls(same(1, "10gbe", "1gbe", load=LIGHT), same(2, "10gbe", "1gbe"))
    cells = {("put-grid", "1gbe", 1, 1): 100, ("put-grid", "1gbe", 3, 6): 100}
    cells |= {("E-K01", "10gbe", 1, 1): 110, ("E-K02", "10gbe", 3, 6): 100}
    failed, held, pooled = controls.judge(paper, runs_of(paper, cells, n=40, spread=1e-7))
    assert failed.row["p_value"] == 0
    assert (failed.row["outcome"], held.row["outcome"]) == ("failed", "held")
    assert pooled.row["kind"] == controls.POOLED and pooled.row["cell"] == "2 A/A controls"
    assert pooled.row["outcome"] == "failed" and 0 < pooled.row["p_value"] < 1e-300


def test_a_failed_control_takes_every_verdict_of_its_pair_and_no_other():
    paper = with_controls(same(1, "10gbe", "1gbe", load=LIGHT))
    cells = {("put-grid", fabric, clients, puts): (100 if fabric == "1gbe" else 400)
             for fabric in ("1gbe", "10gbe") for clients in (1, 2, 3) for puts in (1, 2, 4, 6, 8)}  # fmt: skip
    runs = runs_of(paper, cells | {("E-K01", "10gbe", 1, 1): 80})
    judged = controls.judge(paper, runs)
    table, _ = analyse._verdicts(paper, runs, Runs(runs.table[:0], paper), "emulated", None, judged)
    table = table.set_index("claim")
    assert table.loc["E-C02", "control"] == "E-K01"
    assert table.loc["E-C02", "verdict"] == claims.INCONCLUSIVE
    assert "the control E-K01 failed: 0.8" in table.loc["E-C02", "reason"]
    assert table.loc["E-C02", "control_failed"] == "E-K01"
    assert table.loc["E-C15", "control"] == ""  # eight puts over four, on one network
    assert "control" not in table.loc["E-C15", "reason"]


def test_a_control_that_failed_on_another_metric_leaves_a_verdict_that_its_own_held():
    paper = with_controls(same(1, "10gbe", "1gbe", also=["completion_time"]))
    cells = {("put-grid", fabric, clients, puts): (100 if fabric == "1gbe" else 400)
             for fabric in ("1gbe", "10gbe") for clients in (1, 2, 3) for puts in (1, 2, 4, 6, 8)}  # fmt: skip
    table = runs_of(paper, cells | {("E-K01", "10gbe", 3, 6): 100}).table
    late = (table["experiment"] == "E-K01") & (table["metric"] == "completion_time")
    table.loc[late, ["value", "full_scale_value"]] *= 2
    rates = table[(table["experiment"] == "put-grid") & (table["metric"] == "throughput")]
    table = pd.concat([table, rates.assign(metric="throughput_sum")])
    runs = Runs(table, paper)
    judged = controls.judge(paper, runs)
    assert [control.row["outcome"] for control in judged] == ["held", "failed"]
    found, readings = analyse._verdicts(paper, runs, Runs(table[:0], paper), "emulated", None, judged)
    reasons = dict(zip(found["claim"], found["reason"], strict=True))
    assert "failed" not in reasons["E-C02"]  # a ratio of throughputs
    assert "the control E-K01 failed" in reasons["E-C08"]  # a ratio of times
    failed = readings["reason"].str.contains("the control E-K01 failed")
    # The control has not that metric, so any failure counts.
    assert failed[readings["metric"] == "throughput_sum"].any()
    assert not failed[readings["route"] == "modelled"].any()
    assert not failed[readings["metric"] == "throughput"].any()


def test_a_held_control_changes_no_verdict():
    paper = with_controls(same(1, "10gbe", "1gbe", load=LIGHT))
    cells = {("put-grid", fabric, clients, puts): (100 if fabric == "1gbe" else 400)
             for fabric in ("1gbe", "10gbe") for clients in (1, 2, 3) for puts in (1, 2, 4, 6, 8)}  # fmt: skip
    runs = runs_of(paper, cells | {("E-K01", "10gbe", 1, 1): 100})
    beside, without = (
        analyse._verdicts(paper, runs, Runs(runs.table[:0], paper), "emulated", None, judged)[0]
        for judged in (controls.judge(paper, runs), [])
    )
    assert list(beside["verdict"]) == list(without["verdict"])
    assert beside["control"].str.contains("E-K01").any()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_of_equal_runs_few_controls_fail(seed):
    """Over a paper's four controls together: 5 % of papers by chance; 20 papers with more than five are one in 3000."""
    paper = with_controls(*[same(n, "10gbe", "1gbe", load={"clients": 1, "puts_per_client": n}) for n in (1, 2, 4, 6)])
    cells = {("put-grid", "1gbe", 1, n): 100 for n in (1, 2, 4, 6)}
    cells |= {(f"E-K0{n}", "10gbe", 1, n): 100 for n in (1, 2, 4, 6)}
    judged = controls.judge(paper, runs_of(paper, cells, spread=0.03, seed=seed))
    assert sum(control.failed for control in judged) <= 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"really": {"fabric": "10gbe"}}, "really: found .*expected another level than that of the cell"),
        ({"really": {"clients": 2}}, 'really: found "clients", expected one of fabric, store'),
        ({"cell": {"experiment": "put-gird", "where": {}}}, 'did you mean "put-grid"'),
        ({"cell": {"experiment": "put-grid", "where": {"fabric": "10gbe"}}}, "a level of clients too"),
        ({"really": {"fabric": "2gbe"}}, "expected a cell of put-grid, to compare the control with"),
    ],
)
def test_a_control_that_cannot_be_is_named(tmp_path, change, message):
    text = project.paper_path("emulex-2012").read_text(encoding="utf-8")
    data = quick_yaml.load(text)
    data["controls"] = [same(1, "10gbe", "1gbe") | change]
    path = tmp_path / "emulex-2012.yaml"
    path.write_text(quick_yaml.dump(data), encoding="utf-8")
    with pytest.raises(UserError, match=message):
        load_paper(path, TESTBED["fabrics"])
