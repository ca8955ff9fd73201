"""Guards: a metric that is unusable, what would help, and no number of runs where runs do not help."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pandas as pd
import pytest

from whitewire.analysis import analyse, judging
from whitewire.analysis.claims import INCONCLUSIVE, decide, resolve
from whitewire.analysis.runs import Runs
from whitewire.description import project, testbed
from whitewire.description.checks import load_paper
from whitewire.estimands import estimand_of
from whitewire.workloads import WORKLOADS
from whitewire.workloads.testdfsio import TestDfsio

WHOLE, PART = SimpleNamespace(data_fraction=1.0, k=20), SimpleNamespace(data_fraction=0.1, k=20)
ON_HOSTS = SimpleNamespace(data_fraction=1.0, k=1)
why_unusable = Runs.why_unusable


def paper_of(name):
    return load_paper(project.paper_path(name), testbed.load_testbed("emulated")["fabrics"])


def tasks_of(metrics, experiment="testdfsio-curve", scale=None, k=20.0, **levels):
    """Six runs of one cell of Mellanox's TestDFSIO with five tasks."""
    rows = [
        {"run_id": str(number), "attempt": 1, "block": "quick-1", "experiment": experiment, "valid": True,
         "metric": metric, "value": value + number / 1000, "unit": "1", "full_scale_unit": "",
         "full_scale_value": None} | levels
        for number in range(6)
        for metric, value in metrics.items()
    ]  # fmt: skip
    paper = paper_of("mellanox-mapr")
    return Runs(pd.DataFrame(rows), paper, k=k, scaling=None if scale is None else lambda name, levels: scale)


APART = {"read_aggregate": 100.0, "read_tasks_at_once": 2.1}


def test_tasks_that_would_meet_with_more_to_do_need_more_bytes():
    said = why_unusable(
        tasks_of(APART | {"read_tasks_at_best": 4.8}, scale=PART), "testdfsio-curve", {}, "read_aggregate"
    )
    assert "of 5 tasks only 2.1 read at once" in said and said.endswith("; more bytes a run are needed")


def test_nothing_helps_tasks_of_which_some_end_at_once_whatever_they_do():
    said = why_unusable(
        tasks_of(APART | {"read_tasks_at_best": 2.4}, scale=PART), "testdfsio-curve", {}, "read_aggregate"
    )
    assert said.endswith("; nothing helps here while some end long before others: begun together 2.4 would")
    assert "more bytes" not in said


def test_nothing_helps_where_the_paper_s_bytes_have_all_moved():
    said = why_unusable(
        tasks_of(APART | {"read_tasks_at_best": 4.8}, scale=WHOLE), "testdfsio-curve", {}, "read_aggregate"
    )
    assert said.endswith("; nothing helps here: the runs moved all of the paper's bytes already")


def test_old_results_do_not_say_how_many_could_have_met():
    assert why_unusable(tasks_of(APART), "testdfsio-curve", {}, "read_aggregate").endswith(
        "; more bytes a run are needed"
    )


def test_a_net_time_that_is_shorter_than_links_need_is_unusable_and_old_results_pass():
    def said(**more):
        seen = {"completion_time_net": 5.9, "job_floor": 6.8, "throughput_net": 20.0} | more
        runs = tasks_of(seen, "terasort-curve", PART, fabric="10gbe")
        return why_unusable(runs, "terasort-curve", {"fabric": "10gbe"}, "throughput_net")

    assert said(link_time=6.8).endswith(
        ": 5.9 s beyond the startup overhead, and the busiest link needs 6.8 s for the bytes, so tasks moved data "
        "while others started; more bytes a run are needed"
    )
    assert said(link_time=6.0) == said() == ""


@pytest.mark.parametrize(
    ("k", "scale", "remedy"),
    [(20.0, PART, "a larger k is needed"), (1.0, ON_HOSTS, "with these processors nothing helps here")],
)
def test_hosts_at_their_own_rates_have_no_larger_k(k, scale, remedy):
    runs = tasks_of({"write_rate_while_busy": 9.0, "write_short_while_busy": 0.8}, scale=scale, k=k)
    assert why_unusable(runs, "testdfsio-curve", {}, "write_rate_while_busy").endswith(remedy)


def test_runs_that_lack_a_metric_are_not_missing_and_more_of_them_do_not_help():
    paper = paper_of("mellanox-mapr")
    claim = next(claim for claim in paper.claims if claim["id"] == "M-C08")
    fabrics = [claim["test"][side]["where"]["fabric"] for side in ("numerator", "denominator")]
    tables = [tasks_of({"completion_time": 9.0}, fabric=fabric).table for fabric in fabrics]
    found = decide(
        resolve(paper, claim["test"]), estimand_of(claim["test"]).evaluate(Runs(pd.concat(tables), paper), paper)
    )
    assert (found.verdict, found.runs_needed, found.runs_help) == (INCONCLUSIVE, None, False)
    assert "none of 6 valid runs reports write_node_bandwidth; more of them would not" in found.reason
    none = decide(resolve(paper, claim["test"]), estimand_of(claim["test"]).evaluate(Runs(tables[0][:0], paper), paper))
    assert "no valid run" in none.reason and none.runs_help


def test_runs_without_a_number_do_not_report_a_metric():
    runs = tasks_of({"read_rate_while_busy": math.nan})
    assert why_unusable(runs, "testdfsio-curve", {}, "read_rate_while_busy") == (
        "testdfsio-curve: none of 6 valid runs reports read_rate_while_busy; more of them would not"
    )
    hidden = tasks_of({"completion_time_net": math.nan, "job_floor": 4.0}, "terasort-curve")
    said = why_unusable(hidden, "terasort-curve", {}, "completion_time_net")
    assert "6 of 6 runs took no longer than their startup overhead" in said


@pytest.mark.parametrize("lacking", ["write_tasks_at_once", "write_short_while_busy", ""])
def test_a_guard_that_has_nothing_to_go_by_is_said_in_a_caution(lacking):
    paper = paper_of("mellanox-mapr")
    test = next(claim["test"] for claim in paper.claims if claim["id"] == "M-C08")
    metrics = {test["metric"]: 100.0, "write_tasks_at_once": 4.9, "write_short_while_busy": 0.1}
    metrics |= {lacking: math.nan} if lacking else {}
    sides = [test[side] for side in ("numerator", "denominator")]
    tables = [tasks_of(metrics, side["experiment"], **side["where"]).table for side in sides]
    reason = judging.judged(paper, test, "measured", Runs(pd.concat(tables), paper), [])["reason"]
    assert reason.count("caution: ") == 2 * bool(lacking), "one of each side"
    assert f"is not checked by {lacking}, which no run reports" in reason or not lacking


def test_no_number_of_runs_where_a_guard_decides():
    paper = paper_of("mellanox-mapr")
    claim = next(claim for claim in paper.claims if claim["id"] == "M-C08")
    metric = claim["test"]["metric"]
    operation = metric.partition("_")[0]
    fabrics = [claim["test"][side]["where"]["fabric"] for side in ("numerator", "denominator")]
    apart = {metric: 100.0, f"{operation}_tasks_at_once": 1.1}
    experiment = claim["test"]["numerator"]["experiment"]
    tables = [tasks_of(apart, experiment, fabric=fabric).table for fabric in fabrics]
    evidence = estimand_of(claim["test"]).evaluate(Runs(pd.concat(tables), paper), paper)
    found = decide(resolve(paper, claim["test"]), evidence)
    assert (found.verdict, found.runs_needed) == (INCONCLUSIVE, None)
    assert "at once" in found.reason


def test_a_single_copy_is_named_as_why_a_reader_ends_long_before_others():
    paper = paper_of("mellanox-mapr")
    paper.experiments["testdfsio-curve"]["parameters"]["replication"] = 1
    runs = tasks_of(APART | {"read_tasks_at_best": 2.4})
    runs.paper = paper
    said = why_unusable(runs, "testdfsio-curve", {}, "read_aggregate")
    assert "some end long before others, as one beside the only copy of its data does" in said


def test_the_workload_says_which_metrics_a_guard_covers():
    dfsio = TestDfsio()
    covered = {metric for metric in dfsio.metric_names if dfsio.together(metric)}
    assert covered == {f"{operation}_{rate}" for operation in ("write", "read")
                       for rate in ("throughput", "rate_mean", "aggregate", "node_bandwidth")}  # fmt: skip
    assert {m for m in dfsio.metric_names if dfsio.short_while(m)} == covered | {
        "write_rate_while_busy",
        "read_rate_while_busy",
    }
    others = [workload for workload in WORKLOADS.values() if workload.name != "testdfsio"]
    assert not any(workload.together(metric) or workload.short_while(metric) for workload in others
                   for metric in workload.metric_names)  # fmt: skip


def test_estimates_say_which_medians_are_unusable():
    runs = tasks_of(APART | {"read_tasks_at_best": 2.4, "read_rate_while_busy": 70.0}, fabric="10gbe")
    table = analyse._estimates(runs.paper, runs, "emulated").set_index("metric")["untold"]
    assert table["read_aggregate"].startswith("of 5 tasks only 2.1 read at once")
    assert not table["read_rate_while_busy"] and not table["read_tasks_at_once"]
