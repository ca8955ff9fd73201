"""Metrics and validity, on a run that was really made and on made-up series with known answers."""

import copy
import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitewire import workloads
from whitewire.description.testbed import load_testbed
from whitewire.records.metrics import names_for_claims
from whitewire.records.processors import MACHINE_METRICS
from whitewire.records.samples import (
    Samples,
    grown,
    idle_shares,
    nearest,
    peak_rate,
    read_samples,
    second_windows,
    seconds_held,
)
from whitewire.tidy.tables import metric_rows
from whitewire.workloads import METRICS, WORKLOADS, workload_of

RUN = Path(__file__).parents[2] / "data" / "run"
RECORD = json.loads((RUN / "run.json").read_text())
SAMPLES = read_samples((RUN / "samples.csv").read_text())
LIMITS = load_testbed("emulated")["limits"]


def of_put(record):
    return workload_of("hdfs_put").metrics(record, SAMPLES, ([], {}))


def test_metrics_of_a_real_run():
    found = of_put(RECORD)
    operations = RECORD["operations"]
    user = sum(operation["bytes"] for operation in operations)
    wall = max(o["end"] for o in operations) - min(o["start"] for o in operations)
    assert found["user_bytes"] == 8 * 3355136
    assert found["completion_time"] == pytest.approx(wall)
    assert found["throughput"] == pytest.approx(user / wall / 1e6)
    assert found["throughput_sum"] >= found["throughput"]  # overlapping puts: each is shorter than the whole
    assert found["throughput_peak_100ms"] >= found["throughput_peak_1s"]
    assert found["replicas_distinct_min"] == 3
    assert 3 <= found["datanodes_used"] <= 11
    # A link cannot carry more than its rate.
    assert found["throughput_peak_100ms"] * 8 < RECORD["fabric"]["rate"] * 1.1
    assert found["link_share"] == pytest.approx(found["throughput"] * 8 / RECORD["fabric"]["rate"])


@pytest.mark.parametrize(("copies", "carried", "codes"), [
    (3, 2, []), (3, 3, ["wire"]), (3, 1.9, ["wire"]),
    (1, 0.05, []), (1, 0.5, ["wire_of_none"]), (1, 1, ["wire_of_none"]),
])  # fmt: skip
def test_copies_that_stay_with_a_client_on_a_datanode_cross_no_link(copies, carried, codes):
    """`carried`: bytes into DataNodes per user byte."""
    record = RECORD | {"asked": {"put_from": "datanode"}, "client_hosts": ["datanode1"], "replication": copies,
                       "busy_clients": ["client-datanode1"], "queue_drops": 0}  # fmt: skip
    record["cpu_seconds"] = RECORD["cpu_seconds"] | {"client-datanode1": 0.4}
    found = of_put(record)
    assert found["client_cpu_cores"] == pytest.approx(0.4 / found["completion_time"])
    assert not [name for name in found if name.startswith("throughput_peak")]
    found |= {"datanode_wire_bytes": carried * found["user_bytes"], "client_wire_bytes": 0}
    why = workload_of("hdfs_put").faults(record, found, LIMITS)
    assert [reason.code for reason in why] == codes
    if codes == ["wire_of_none"]:
        assert str(why[0]) == f"DataNode links carried {carried:.1%} of the 26.8 MB written, which were to cross none"


@given(st.lists(st.floats(min_value=0, max_value=100), min_size=3, max_size=60), st.floats(min_value=0.1, max_value=3))
def test_peak_lies_between_a_fair_share_and_the_largest_step(steps, window):
    times = [0.1 * number for number in range(len(steps) + 1)]
    totals = [sum(steps[:number]) for number in range(len(steps) + 1)]
    peak = peak_rate(times, totals, window)
    assert peak <= max(steps) / 0.1 * (1 + 1e-6)
    # So many windows (a sample longer than asked at most) cover the series: one of them carries its share.
    windows = math.ceil(times[-1] / window)
    assert peak >= totals[-1] / (windows * (window + 0.1)) * (1 - 1e-6)


def test_peak_of_a_known_series():
    times = [0.0, 0.5, 1.0, 1.5, 2.0]
    assert peak_rate(times, [0, 1, 4, 5, 5], 1.0) == 4.0
    assert peak_rate(times, [0, 1, 4, 5, 5], 0.5) == 6.0
    assert peak_rate([0.0, 0.5], [0, 3], 1.0) == 3.0  # shorter than the window: not blown up


@given(st.lists(st.floats(0, 100), min_size=1, max_size=20).map(sorted), st.floats(-1, 101))
def test_the_nearest_sample_is_the_nearest(times, moment):
    found = nearest(times, moment)
    assert abs(times[found] - moment) == min(abs(time - moment) for time in times)


def test_a_total_grows_linearly_between_its_samples():
    assert grown([1.0, 2.0, 4.0], [10, 20, 40], 1.5, 3.0) == pytest.approx(15)
    assert grown([1.0, 2.0], [10, 20], 0.0, 9.0) == 10  # no more than was sampled


@given(st.floats(0.1, 20))
def test_the_seconds_of_a_run_are_no_more_than_it_has(seconds):
    windows = [(begin, True) for begin, _ in second_windows(0, seconds)]
    assert seconds_held(windows, seconds) == pytest.approx(seconds)
    assert seconds_held([(begin, False) for begin, _ in windows], seconds) == 0


def test_idle_shares_by_whole_seconds():
    samples = Samples([0, 1, 1.5, 2, 2.5], [0, 200, 300, 400, 500], [0, 200, 225, 250, 250], {})
    assert idle_shares(samples, 0, 2) == [(0, 1.0), (1.0, 0.25)]
    # The rest after the last whole second is in a window that ends with the run.
    assert idle_shares(samples, 0, 2.5) == [(0, 1.0), (1.0, 0.25), (1.5, 0.125)]
    short = Samples([0, 0.4], [0, 80], [0, 20], {})
    assert idle_shares(short, 0, 0.4) == [(0, 0.25)]


def full_scale(metric, jobs):
    return METRICS[metric].full_scale(5.0, jobs, 20, 0.1)


def test_full_scale():
    assert full_scale("throughput", jobs=False) == 100.0
    assert full_scale("completion_time", jobs=False) == 50.0
    assert full_scale("user_bytes", jobs=False) == 1000.0
    assert full_scale("link_share", jobs=False) is None


def test_what_holds_a_job_overhead_has_no_full_scale_equivalent():
    assert full_scale("completion_time", jobs=True) is None
    assert full_scale("map_time", jobs=True) is None
    assert full_scale("completion_time_net", jobs=True) == 50.0
    for metric in ("throughput", "node_throughput", "report_throughput", "report_node_throughput",
                   "read_report_node_throughput"):  # fmt: skip
        assert full_scale(metric, jobs=True) is None


def test_a_name_has_one_declaration_whichever_workloads_have_the_metric():
    declared = {*MACHINE_METRICS, *(metric for workload in WORKLOADS.values() for metric in workload.declares)}
    assert {*METRICS.values()} == declared and len(declared) == len(METRICS)
    assert {*workloads.metric_names()} == {*names_for_claims(METRICS.values())}


def test_a_workload_names_each_metric_once():
    """That of HiBench has the metrics of jobs by way of TestDFSIO too, and messages count them."""
    assert all(len(set(each.metric_names)) == len(each.metric_names) for each in WORKLOADS.values())


def test_a_metric_that_is_not_declared_is_named_with_where_to_declare_it(monkeypatch):
    monkeypatch.delitem(METRICS, "link_share")
    with pytest.raises(RuntimeError) as error:
        list(metric_rows(RUN, RECORD, []))
    assert str(error.value) == (
        'whitewire.workloads.hdfs_put: found the metric "link_share", expected one of `HdfsPut.declares`; '
        'did you mean "read_link_share"?'
    )


def valid():
    record = copy.deepcopy(RECORD)
    found = dict(of_put(record))
    found |= {"cpu_late": 0.2, "cpu_outside": 0.1}
    return record, found


def test_a_run_within_all_bounds_is_valid():
    assert workloads.run_faults(*valid(), LIMITS) == []


@pytest.mark.parametrize(
    "metric, value, says",
    [
        ("cpu_late", 0.7, "a process woke 0.7 ms late"),
        ("cpu_late", float("nan"), "ms late"),
        ("client_wire_bytes", 20e6, "client links carried -25"),
        ("datanode_wire_bytes", 160e6, "DataNode links carried"),
        ("tcp_retransmits", 50000, "TCP segments sent again"),
        ("queue_drops", 50000, "packets dropped"),
    ],
)
def test_each_bound_makes_a_run_invalid(metric, value, says):
    record, found = valid()
    for each in (record, found):
        each.update({metric: value} if metric in each else {})
    (fault,) = workloads.run_faults(record, found, LIMITS)
    assert says in str(fault)


@pytest.mark.parametrize("idle", [0.1, float("nan")])
def test_on_a_site_every_second_must_be_idle_enough(idle):
    record, found = valid()
    limits = {name: bound for name, bound in LIMITS.items() if name not in ("cpu_late_ms", "cpu_outside")} | {
        "cpu_idle_floor": 0.35
    }
    found = {name: value for name, value in found.items() if name != "cpu_late"} | {"cpu_idle_min": idle}
    (fault,) = workloads.run_faults(record, found, limits)
    assert "idle only" in str(fault)
    assert workloads.run_faults(record, found | {"cpu_idle_min": 0.4}, limits) == []
