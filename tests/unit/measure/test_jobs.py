"""Parsers and metrics of Map/Reduce runs on what the tools really said."""

import copy
import json
import math
import re
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from whitewire import workloads
from whitewire.analysis.claims import INCONCLUSIVE, decide, resolve
from whitewire.analysis.runs import Runs
from whitewire.cluster.cephfs import CephFs
from whitewire.cluster.posix import Posix
from whitewire.description.checks import load_paper
from whitewire.description.project import paper_path
from whitewire.description.testbed import load_testbed
from whitewire.estimands import estimand_of
from whitewire.measure.bench import StackBench
from whitewire.measure.client import StackClient, viewed
from whitewire.measure.conditions import StackShaping
from whitewire.measure.file_systems import HdfsFiles, MountedFiles
from whitewire.records import processors
from whitewire.records.samples import Samples
from whitewire.tools import Unreadable, history, testdfsio
from whitewire.tools.testdfsio import dfsio_result
from whitewire.workloads import workload_of


def of(record, samples, cpu):
    return workload_of(record["workload"]).metrics(record, samples, cpu)


SAID = """2026-11-21 12:19:23,581 INFO fs.TestDFSIO: ----- TestDFSIO ----- : write
2026-11-21 12:19:23,581 INFO fs.TestDFSIO:             Date & time: Sat Nov 21 12:19:23 UTC 2026
2026-11-21 12:19:23,581 INFO fs.TestDFSIO:         Number of files: 5
2026-11-21 12:19:23,581 INFO fs.TestDFSIO:  Total MBytes processed: 30.52
2026-11-21 12:19:23,581 INFO fs.TestDFSIO:       Throughput mb/sec: 1.69
2026-11-21 12:19:23,581 INFO fs.TestDFSIO:  Average IO rate mb/sec: 1.93
2026-11-21 12:19:23,581 INFO fs.TestDFSIO:   IO rate std deviation: 0.8
2026-11-21 12:19:23,581 INFO fs.TestDFSIO:      Test exec time sec: 12
"""
RESULT = "f:rate\t9651.3\nf:sqrate\t21839.7\nl:size\t32000000\nl:tasks\t5\nl:time\t18066\n"
ATTEMPT = {
    "startTime": 1795264712624, "finishTime": 1795264714553, "elapsedTime": 1929, "progress": 100,
    "id": "attempt_1795264706080_0001_m_000000_0", "rack": "/default-rack", "state": "SUCCEEDED", "status": "map",
    "nodeHttpAddress": "datanode2:8042", "diagnostics": "", "type": "MAP",
}  # fmt: skip
ANSWERS = {
    "job": {"job": {"id": "job_1795264706080_0001", "state": "SUCCEEDED", "submitTime": 1795264710542,
                    "startTime": 1795264711113, "finishTime": 1795264715567, "mapsTotal": 1, "reducesTotal": 0}},
    "counters": {"jobCounters": {"id": "job_1795264706080_0001", "counterGroup": [
        {"counterGroupName": "org.apache.hadoop.mapreduce.FileSystemCounter",
         "counter": [{"name": "FILE_BYTES_READ", "totalCounterValue": 98}]},
        {"counterGroupName": "org.apache.hadoop.mapreduce.JobCounter",
         "counter": {"name": "DATA_LOCAL_MAPS", "totalCounterValue": 1}},
    ]}},
    "attempts": [{"taskAttempts": {"taskAttempt": ATTEMPT}}],
}  # fmt: skip


def test_testdfsio_closing_lines():
    found = dfsio_result(SAID)
    assert (found.files, found.seconds) == (5, 12.0)
    assert found.throughput == pytest.approx(1.69 * 2**20)
    assert found.rate_mean == pytest.approx(1.93 * 2**20)


@pytest.mark.parametrize("line", ["Throughput", "Number of files", "Test exec time"])
def test_testdfsio_without_a_line_is_unreadable(line):
    kept = "\n".join(text for text in SAID.splitlines() if line not in text)
    with pytest.raises(Unreadable, match="found no "):
        dfsio_result(kept)


@pytest.mark.parametrize(("mean", "deviation"), [("∞", "NaN"), ("?", "?"), ("Infinity", "NaN"), ("\ufffd", "\ufffd")])
def test_testdfsio_says_of_a_task_without_time_that_its_rate_is_infinite(mean, deviation):
    said = re.sub(r"(Average IO rate mb/sec:\s*)[\d.]+", rf"\g<1>{mean}", SAID)
    said = re.sub(r"(IO rate std deviation:\s*)[\d.]+", rf"\g<1>{deviation}", said)
    assert said != SAID
    found = dfsio_result(said)
    assert (found.rate_mean, found.rate_deviation, found.seconds) == (math.inf, math.inf, 12.0)
    sums = re.sub(r"(?m)^(f:rate\s+)\S+$", r"\g<1>Infinity", RESULT)
    assert testdfsio.task_values(sums)["rate"] == math.inf


CASES = Path(__file__).parents[2] / "data" / "cases"


@pytest.mark.parametrize(("name", "rates", "seconds"), [
    ("exponent-small", (5.1234250618132e-4, 5.35442842713e-4, 6.09e-5), 197.818),
    ("exponent-large", (1.2345678e7, 6.5, 0.6), 197.818),
    ("total-throughput-2.8.0", (81.1, 85.44, 22.68), 28.29),
])  # fmt: skip
def test_testdfsio_numbers_are_read_whole(name, rates, seconds):
    found = dfsio_result((CASES / "testdfsio" / f"{name}.txt").read_text())
    assert (found.throughput, found.rate_mean, found.rate_deviation) == tuple(rate * 2**20 for rate in rates)
    assert (found.files, found.seconds) == (10, seconds)


def test_testdfsio_of_another_locale_is_unreadable():
    with pytest.raises(Unreadable, match="found '85,44', expected a number with a decimal point"):
        dfsio_result((CASES / "testdfsio" / "decimal-comma.txt").read_text())


@pytest.mark.parametrize(("old", "new", "says"), [
    ("1.69", "NaN", "throughput: found 'NaN'"),
    ("1.93", "NaN", "rate_mean: found 'NaN'"),
    ("0.8", "NaN", "rate_deviation: found 'NaN'"),
    ("sec: 12", "sec: 12 s", "seconds: found '12 s'"),
    ("files: 5", "files: 5.5", "files: found '5.5', expected a whole number"),
    ("Total MBytes processed", "Throughput mb/sec", "throughput: found 2 values in one result"),
])  # fmt: skip
def test_testdfsio_that_says_no_number_is_unreadable(old, new, says):
    with pytest.raises(Unreadable, match=says):
        dfsio_result(SAID.replace(old, new))


def test_testdfsio_gives_its_last_result_or_none():
    again = SAID.replace("1.69", "2.5")
    assert dfsio_result(SAID + again) == dfsio_result(again)
    assert dfsio_result(re.sub("(?m)^(.*\n)", r"\1\1", again)) == dfsio_result(again)
    with pytest.raises(Unreadable, match="found no seconds"):
        dfsio_result(SAID + again[: again.index("     Test exec time")])


@pytest.mark.parametrize(("old", "new"), [("9651.3", "9651,3"), ("9651.3", "9.6.3"), ("18066", "1.8"),
                                          ("l:time\t18066\n", "l:time\t18066\nl:time\t18067\n")])  # fmt: skip
def test_testdfsio_sums_that_are_no_numbers_are_unreadable(old, new):
    with pytest.raises(Unreadable, match="TestDFSIO: (rate|time): found"):
        testdfsio.task_values(RESULT.replace(old, new))
    assert testdfsio.task_values(RESULT.replace("9651.3", "9.6E-4"))["rate"] == 9.6e-4


def test_testdfsio_sums():
    found = testdfsio.task_values(RESULT)
    assert found["size"] == 32000000 and found["time"] == 18066 and found["tasks"] == 5
    with pytest.raises(Unreadable):
        testdfsio.task_values("cat: no such file")


LOGGED = """2026-11-22 08:20:40,250 INFO [main] org.apache.hadoop.fs.TestDFSIO: Exec time = 1250
2026-11-22 08:20:41,000 INFO [main] org.apache.hadoop.fs.TestDFSIO: Exec time = 1000
"""


def test_spans_of_tasks_from_their_logs():
    (a, b), (c, d) = testdfsio.task_spans(LOGGED)
    assert (b - a, d - c, c - a, d - b) == pytest.approx((1.25, 1.0, 1.0, 0.75))
    assert testdfsio.task_spans("2026-11-22 08:20:40,250 INFO [main] x: IO rate = 12.5\n") == []


def dfsio_run(spans, files=2):
    values = {"tasks": float(files), "size": 4e6, "time": 1000.0 * sum(e - b for b, e in spans), "rate": 1e3}
    job = {"name": "write", "submit": 100.0, "start": 101.0, "end": 120.0, "testdfsio": values, "spans": spans,
           "counters": {}, "tasks": []}  # fmt: skip
    return sorted_run() | {"workload": "testdfsio", "jobs": [job]}


@pytest.mark.parametrize(("spans", "expected", "busy", "best"), [
    ([(102, 106), (102, 106)], 2.0, 4, 2.0),
    ([(102, 104), (106, 108)], 1.0, 4, 2.0),
    ([(104, 108), (102, 106)], 1.5, 6, 2.0),
    ([(102, 108), (103, 104)], 9 / 7, 6, 9 / 7),  # the short one ends long before the other, whenever it begins
])  # fmt: skip
def test_tasks_at_once(spans, expected, busy, best):
    counted = samples()
    counted.links.update({f"{host}.{way}": [0] * 201 for host in "ab" for way in ("egress", "ingress")})
    found = of(dfsio_run(spans), counted, CPU)
    assert found["write_tasks_at_once"] == pytest.approx(expected)
    assert found["write_tasks_at_best"] == pytest.approx(best)
    assert found["write_rate_while_busy"] == pytest.approx(4 / busy)
    # A task whose log has no line leaves both unknown.
    unknown = of(dfsio_run(spans, files=3), counted, CPU)
    assert all(
        math.isnan(unknown[name]) for name in ("write_tasks_at_once", "write_tasks_at_best", "write_rate_while_busy")
    )


def test_processors_are_short_while_tasks_write():
    counted = samples()
    counted.links.update({f"{host}.{way}": [0] * 201 for host in "ab" for way in ("egress", "ingress")})
    # No wake-up latency is reported. Between the seconds 104 and 106 a tenth is idle, before and after four fifths.
    counted.idle_ticks[:] = [round(16 * i - 14 * min(max(i - 40, 0), 20)) for i in range(201)]
    spans = [(102, 106), (104, 108)]
    busy = workload_of("testdfsio").while_busy(dfsio_run(spans))
    assert busy == {"write_short_while_busy": (102, 108)}
    assert processors.short_share(102, 108, counted, None) == pytest.approx(2 / 6)
    assert workload_of("testdfsio").while_busy(dfsio_run(spans, files=3)) == {"write_short_while_busy": None}


def test_the_share_of_a_segment_is_of_all_that_all_hosts_send():
    spans = [(102, 106), (102, 106)]
    run = dfsio_run(spans)
    counted = samples()
    # Each sends 200 kB a second, to the other one; a link of 100 Mbit/s carries 12.5 MB/s.
    lines = [f"{host}.{way}" for host in "ab" for way in ("egress", "ingress")]
    counted.links.update({line: [20_000 * i for i in range(201)] for line in lines})
    alone = of(run, counted, CPU)["write_link_share"]
    shared = of(run | {"fabric": FABRIC | {"shared": True}}, counted, CPU)["write_link_share"]
    assert alone == pytest.approx(0.016, rel=0.02)
    assert shared == pytest.approx(2 * alone)


def test_history_gives_one_element_where_there_is_one():
    job = history.job(ANSWERS)
    assert job["counters"] == {"FILE_BYTES_READ": 98, "DATA_LOCAL_MAPS": 1}
    (task,) = job["tasks"]
    assert task["host"] == "datanode2" and task["type"] == "MAP"
    assert job["end"] - job["submit"] == pytest.approx(5.025)


def test_history_of_an_attempt_that_never_got_a_host():
    job = history.job(json.loads((CASES / "history" / "null-host.json").read_text()))
    assert [(task["host"], task["state"]) for task in job["tasks"]] == [("", "KILLED")]


@pytest.mark.parametrize("unknown", history.UNKNOWN_TIMES)
def test_history_of_a_success_without_a_time_is_unreadable(unknown):
    job, attempt = copy.deepcopy(ANSWERS), copy.deepcopy(ANSWERS)
    job["job"]["job"]["finishTime"] = unknown
    listed = attempt["attempts"][0]["taskAttempts"]["taskAttempt"]
    (listed[0] if isinstance(listed, list) else listed)["startTime"] = unknown
    for answers, name in ((job, "finishTime"), (attempt, "startTime")):
        with pytest.raises(Unreadable, match=f"history server: .*: {name} {unknown}, expected a time"):
            history.job(answers)


def test_history_leaves_out_a_counter_that_nothing_measured():
    answers = copy.deepcopy(ANSWERS)
    group = {"counter": [{"name": "PHYSICAL_MEMORY_BYTES", "totalCounterValue": -1},
                         {"name": "CPU_MILLISECONDS", "totalCounterValue": 0}]}  # fmt: skip
    answers["counters"]["jobCounters"]["counterGroup"] = [group]
    assert history.job(answers)["counters"] == {"CPU_MILLISECONDS": 0}


@pytest.mark.parametrize(("changed", "says"), [
    ({"job": {"RemoteException": {"message": "job, job_1_1, is not found"}}}, "job, job_1_1, is not found"),
    ({"job": None}, "another form"),
    ({"counters": {"jobCounters": None}}, "another form"),
    ({"attempts": [{"taskAttempts": None}]}, "another form"),
    ({"attempts": [{}]}, "lacks 'taskAttempts'"),
])  # fmt: skip
def test_history_of_another_form_is_unreadable(changed, says):
    with pytest.raises(Unreadable, match=f"history server: .*{says}"):
        history.job(ANSWERS | changed)


def task(kind, host, start, end):
    return {"task": "t", "type": kind, "state": "SUCCEEDED", "host": host, "start": start, "end": end,
            "shuffle_end": end - 2, "merge_end": end - 1}  # fmt: skip


FABRIC = {"name": "10gbe", "rate": 100.0, "full_scale_rate": 10_000.0, "shared": False, "burst": 0, "mtu": 0,
          "racks": 0, "uplink": 0.0, "unlike": {}}  # fmt: skip


def sorted_run(wire=60_000_000):
    job = {
        "name": "terasort", "submit": 100.0, "start": 101.0, "end": 120.0,
        "counters": {"REDUCE_SHUFFLE_BYTES": 40_000_000, "HDFS_BYTES_WRITTEN": 20_000_000, "DATA_LOCAL_MAPS": 2,
                     "HDFS_BYTES_READ": 40_000_000},
        "tasks": [task("MAP", "a", 102, 108), task("MAP", "b", 102, 109), task("REDUCE", "a", 105, 120)],
    }  # fmt: skip
    links = {host: {"egress": 0, "ingress": 0} for host in ("a", "b")}
    after = {host: {"egress": wire // 2, "ingress": wire // 2} for host in ("a", "b")}
    return {
        "workload": "terasort", "start": 100.0, "end": 120.0, "user_bytes": 40_000_000, "workers": ["a", "b"],
        "floors": {"terasort": 8.0}, "jobs": [job], "output_replication": 3, "mounted": False, "cpu": "limit",
        "links_before": links, "links_after": after, "tcp_retransmits": 0, "queue_drops": 0, "fabric": FABRIC,
        "floor": "", "asked": {}, "evidence": {}, "clock": {"stepped": 0.0, "slept": 0.0}, "disturbed": [],
    }  # fmt: skip


def samples(idle=0.8):
    times = [100 + i / 10 for i in range(201)]
    return Samples(times, [i * 20 for i in range(201)], [int(i * 20 * idle) for i in range(201)], {})


CPU = ([100.0, 120.0], {"a": [0.0, 10.0], "b": [0.0, 5.0]})
LIMITS = {"compute_share": 0.5, "job_wire_low": -0.1, "job_wire_high": 0.35, "retransmit_share": 0.05,
          "queue_drop_share": 0.05}  # fmt: skip


def test_time_beyond_the_overhead_and_bytes_that_must_cross():
    found = of(sorted_run(), samples(), CPU)
    assert found["completion_time_net"] == 12.0
    assert found["link_time"] == pytest.approx(2.4)  # 30 MB each way over the busiest link of 100 Mbit/s
    assert found["throughput_net"] == pytest.approx(40 / 12)
    # Half of what is shuffled comes from the other host; two replicas of the output beyond the writer's own.
    assert found["shuffle_wire_bytes"] == 20_000_000
    assert found["wire_excess"] == pytest.approx(0)
    assert found["worker_cpu_cores"] == pytest.approx(15 / 2 / 20)
    assert found["compute_share"] == 0.0
    assert workloads.run_faults(sorted_run(), found, LIMITS) == []


def test_a_second_that_is_partly_over_counts_in_part():
    """The processors are short from 119 s on, and the run ends at 20.1 s: 1.1 s, in two windows that overlap."""
    times = [100 + i / 10 for i in range(202)]
    samples = Samples(times, [i * 20 for i in range(202)], [min(i, 190) * 20 for i in range(202)], {})
    record = sorted_run() | {"end": 120.1, "floors": {}}
    assert of(record, samples, CPU)["compute_share"] == pytest.approx(1.1 / 20.1)


def test_short_processors_make_a_run_invalid_unless_they_may():
    record = sorted_run()
    found = of(record, samples(idle=0.1), CPU)
    assert found["compute_share"] == 1.0
    assert "processors short in 100%" in str(workloads.run_faults(record, found, LIMITS)[0])
    assert workloads.run_faults(record | {"cpu": "report"}, found, LIMITS) == []


@pytest.mark.parametrize("wire", [20_000_000, 120_000_000])
def test_bytes_on_the_links_that_do_not_fit_the_job_make_it_invalid(wire):
    record = sorted_run(wire)
    found = of(record, samples(), CPU)
    assert "workers' links carried" in str(workloads.run_faults(record, found, LIMITS)[0])


def test_a_job_that_moves_as_little_as_its_overhead_is_judged_by_losses_alone():
    """WordCount's shuffle: its own bytes say nothing beside control traffic."""
    record = sorted_run(wire=200_000_000) | {"floor_wire": 70_000_000}
    found = of(record, samples(), CPU)
    assert math.isnan(found["wire_excess"])
    assert workloads.run_faults(record, found, LIMITS) == []
    lossy = record | {"queue_drops": 100_000, "tcp_retransmits": 100_000}
    assert [fault.code for fault in workloads.run_faults(lossy, found, LIMITS)] == ["retransmits", "drops"]
    record["floor_wire"] = 10_000_000
    (fault,) = workloads.run_faults(record, of(record, samples(), CPU), LIMITS)
    assert "workers' links carried" in str(fault)


@pytest.mark.parametrize("kind", [{"floor": "terasort hdfs 1 3"}, {"program": "scan"}])
def test_only_too_few_bytes_on_the_links_count_while_control_traffic_is_unknown(kind):
    """No overhead run was valid, or none is made of such a program; the job moves 60 kB beside 400 kB of control."""
    record = sorted_run(wire=460_000) | kind | {"floors": {}, "user_bytes": 40_000}
    record["jobs"][0]["counters"] |= {"REDUCE_SHUFFLE_BYTES": 40_000, "HDFS_BYTES_WRITTEN": 20_000}
    found = of(record, samples(), CPU)
    assert found["wire_excess"] > 1 and workloads.run_faults(record, found, LIMITS) == []
    (fault,) = workloads.run_faults(record | {"queue_drops": 100_000}, found, LIMITS)
    assert "packets dropped in queues" in str(fault)
    few = sorted_run(wire=20_000) | {name: record[name] for name in (*kind, "floors", "user_bytes", "jobs")}
    (fault,) = workloads.run_faults(few, of(few, samples(), CPU), LIMITS)
    assert "workers' links carried" in str(fault)


def test_a_job_without_data_is_short_of_no_processors():
    record = sorted_run() | {"workload": "sleep", "user_bytes": 0, "floors": {}, "program": "sleep"}
    found = of(record, samples(idle=0.1), CPU)
    assert workloads.run_faults(record, found, LIMITS) == [] and "node_throughput" not in found
    assert "completion_time_net" not in found and "job_floor" not in found, "no startup overhead was measured"


def test_throughput_of_a_node_is_reported_of_hibenchs_programs():
    assert "node_throughput" not in of(sorted_run(), samples(), CPU)
    found = of(sorted_run() | {"program": "terasort"}, samples(), CPU)
    assert found["node_throughput"] == 40 / 20 / 2


@pytest.mark.parametrize("overhead", [20.0, 25.0])
def test_a_job_no_longer_than_its_overhead_has_no_net_time(overhead):
    record = sorted_run() | {"floors": {"terasort": overhead}}
    found = of(record, samples(), CPU)
    for metric in ("completion_time_net", "throughput_net", "compute_share", "shuffle_share"):
        assert math.isnan(found[metric]), metric
    assert found["completion_time"] == 20.0
    # Slower runs would be kept and faster ones dropped: the estimand says so instead, for a cell at a time.
    assert not any("floor" in str(fault) for fault in workloads.run_faults(record, found, LIMITS))


def test_a_cell_that_hardly_exceeds_its_overhead_is_inconclusive():
    paper = load_paper(paper_path("mellanox-mapr"), load_testbed("emulated")["fabrics"])
    claim = next(claim for claim in paper.claims if claim["id"] == "M-C02")

    def table(net_of_40: float) -> pd.DataFrame:
        rows = []
        for fabric, net in (("10gbe", 20.0), ("40gbe", net_of_40)):
            for number in range(6):
                base = {"run_id": f"{fabric}{number}", "experiment": "terasort-curve", "fabric": fabric, "valid": True}
                for metric, value in (("completion_time_net", net + number / 100), ("job_floor", 10.0)):
                    scaled = value * 10 if metric == "completion_time_net" else None
                    unit = {"unit": "s", "full_scale_unit": "s", "full_scale_value": scaled}
                    rows.append(base | {"metric": metric, "value": value, **unit})
        return pd.DataFrame(rows)

    evidence = estimand_of(claim["test"]).evaluate(Runs(table(8.0), paper), paper)
    assert evidence.estimate == pytest.approx(0.4, abs=0.01)
    hidden = estimand_of(claim["test"]).evaluate(Runs(table(0.5), paper), paper)
    assert "beyond the startup overhead of 10.0 s" in hidden.missing
    lost = table(8.0)
    one = (lost["run_id"] == "40gbe3") & (lost["metric"] == "completion_time_net")
    lost.loc[one, ["value", "full_scale_value"]] = math.nan
    found = estimand_of(claim["test"]).evaluate(Runs(lost, paper), paper)
    assert "1 of 6 runs took no longer than their startup overhead, so they have no net time" in found.missing
    assert decide(resolve(paper, claim["test"]), hidden).verdict == INCONCLUSIVE


@pytest.mark.parametrize(
    ("met", "short", "why"),
    [
        (7.5, 0.4, ""),
        (float("nan"), float("nan"), ""),
        (1.2, 0.0, "of 8 tasks only 1.2 write at once"),
        (7.5, 0.6, "the processors were short in 60% of the time in which tasks wrote; a larger k is needed"),
    ],
)
def test_a_rate_of_tasks_that_hardly_met_or_lacked_processors_is_inconclusive(met, short, why):
    paper = load_paper(paper_path("xyratex-lustre-2011"), load_testbed("emulated")["fabrics"])
    claim = next(claim for claim in paper.claims if claim["id"] == "X-C20")
    rows = []
    for store, fabric, rate in (("cephfs", "32g-qdr", 9.0), ("hdfs-3x", "10g-ipoib", 1.0)):
        for number in range(6):
            base = {"run_id": f"{store}{number}", "experiment": "testdfsio", "store": store, "fabric": fabric}
            lost = float("nan") if number == 0 else met  # one run whose log lacks a task says nothing of the others
            values = {"throughput": rate + number / 100, "tasks_at_once": lost, "short_while_busy": short}
            for metric, value in ((f"write_{name}", value) for name, value in values.items()):
                rows.append(base | {"valid": True, "metric": metric, "value": value, "unit": "MB/s",
                                    "full_scale_unit": "", "full_scale_value": None})  # fmt: skip
    found = estimand_of(claim["test"]).evaluate(Runs(pd.DataFrame(rows), paper), paper)
    if why:
        assert why in found.missing
        assert decide(resolve(paper, claim["test"]), found).verdict == INCONCLUSIVE
    else:
        assert not found.missing and found.estimate == pytest.approx(9.0, rel=0.05)


def test_rates_may_lack_processors_where_that_is_the_point():
    paper = load_paper(paper_path("mellanox-mapr"), load_testbed("emulated")["fabrics"])
    rows = [
        {"run_id": name, "experiment": name, "valid": True, "metric": metric, "value": 1.0,
         "unit": "1", "full_scale_unit": "", "full_scale_value": None}
        for name in ("offloads", "testdfsio-curve") for metric in ("write_short_while_busy", "write_aggregate")
    ]  # fmt: skip
    runs = Runs(pd.DataFrame(rows), paper)
    assert not runs.why_unusable("offloads", {}, "write_aggregate")
    assert "in 100% of the time in which tasks wrote" in runs.why_unusable("testdfsio-curve", {}, "write_aggregate")


def test_a_run_on_a_mounted_store_removes_files_when_their_clients_mounts_have_gone():
    did = []
    store = SimpleNamespace(
        remount=lambda **sizes: did.append(("remount", sizes)),
        remove=lambda path: did.append(("remove", path)),
        layout=lambda *words: did.append(("layout", *words)),
    )
    sizes = {"stripe_count": 8, "stripe_size_bytes": 2**20, "max_dirty_bytes": 2**28, "readahead_bytes": 2**20}
    run = SimpleNamespace(store={"kind": "cephfs", **sizes}, scale=SimpleNamespace(k=4, data_fraction=0.5))
    StackBench(SimpleNamespace(mounted=store), run).files.begin("/out")
    assert did == [
        ("remount", {"max_dirty": 2**25, "readahead": 2**17}),
        ("remove", "out"),
        ("layout", "input", 8, 2**18),
        ("layout", "out", 8, 2**18),
    ]


@pytest.mark.parametrize(
    ("own", "counts"),
    [({}, False), ({"operation": "read"}, False), ({"operation": "write"}, True), ({"keep_caches": True}, True)],
)
def test_reads_from_memory_that_should_have_been_empty_do_not_count(own, counts):
    store = Posix(SimpleNamespace(hosts=[]), "/scratch")
    store.warm = ["client1: 4096 bytes of files stayed in memory", "worker1: no fincore"]
    run = SimpleNamespace(store={"kind": "cephfs"}, parameters=own)
    found = workloads.cache_faults({"evidence": StackBench(SimpleNamespace(mounted=store), run).files.caches()})
    why = "caches were to be empty and are not shown to be: client1: 4096 bytes of files stayed in memory (2 hosts)"
    assert [*map(str, found)] == ([] if counts else [why])
    assert not workloads.cache_faults({"evidence": {"warm": []}})


def test_each_round_has_an_input_of_its_own_which_its_runs_share(monkeypatch):
    made = []
    monkeypatch.setattr(StackShaping, "lift", lambda *arguments: None)
    monkeypatch.setattr(HdfsFiles, "begin_input", lambda *arguments: None)
    monkeypatch.setattr(StackClient, "tool", lambda client, *said: made.append((client.run.row["replicate"], said[-1])))
    stack = SimpleNamespace(made={})

    def run(replicate, kind="rows"):
        row, scale = {"replicate": replicate}, SimpleNamespace(file_bytes=8, block_bytes=4)
        run = SimpleNamespace(row=row, store={"kind": "hdfs"}, parameters={}, scale=scale)
        return StackBench(stack, run).jobs.input(kind, lambda path: ("tool", [path]))

    assert run(1) == run(1) == run(2) == run(2)
    assert made == [(1, "input of rows"), (2, "input of rows")]
    run(2, "words"), run(2)
    assert made[2:] == [(2, "input of words")]
    run(1)
    assert made[3:] == [(1, "input of rows")], "only the last one made is there"


def test_no_run_reads_an_input_from_the_caches_of_its_writers(monkeypatch):
    """A round's first sort on CephFS read 1.5 of its 3.2 MB so, and took 5.6 s where an equal one took 6.4 s."""
    did = []
    monkeypatch.setattr(StackShaping, "lift", lambda *arguments: None)
    monkeypatch.setattr(StackClient, "tool", lambda *said: did.append(said[-1]))
    store = SimpleNamespace(remount=lambda: did.append("remount"), remove=lambda path: None)
    stack = SimpleNamespace(made={}, mounted=store)
    scale = SimpleNamespace(file_bytes=8, block_bytes=4)
    run = SimpleNamespace(row={"replicate": 1}, store={"kind": "cephfs"}, parameters={}, scale=scale)
    for _ in range(2):
        StackBench(stack, run).jobs.input("rows", lambda path: ("tool", [path]))
    assert did == ["input of rows", "remount"]


@pytest.mark.parametrize(("way", "rate", "valid"), [
    ("copy_out_rate", 2.17, False), ("copy_in_rate", 4.6, False), ("copy_out_rate", 0.52, True)])  # fmt: skip
def test_a_copy_that_its_clients_drive_cannot_have_made_does_not_count(way, rate, valid):
    found = dict.fromkeys(("copy_in_rate", "copy_out_rate"), 0.4) | {way: rate}
    record = {"evidence": {"drive": {"rate": 0.5e6}}}
    faults = workload_of("copy").too_fast(record, found)
    assert (faults == []) == valid
    record["evidence"]["drive"]["read_rate"] = 5e6
    assert (workload_of("copy").too_fast(record, found) == []) == (valid or way == "copy_in_rate")
    assert workload_of("copy").too_fast({"evidence": {}}, found) == [], "on a site drives are what they are"


def test_what_jobs_wrote_on_cephfs_is_counted_once_no_writer_holds_it(monkeypatch):
    """Else each file waits for its writer: 12 s for nine of them."""
    done = []

    def shell(arguments, what):
        done.append(arguments[-1])
        return SimpleNamespace(output=f"           1            9              79044 {arguments[-1]}\n")

    monkeypatch.setattr(CephFs, "remount", lambda self: done.append("remount"))
    files = MountedFiles(object.__new__(CephFs), SimpleNamespace(), SimpleNamespace(shell=shell))
    assert files.seen(files.output("result")) == {"files": 9, "bytes": 79044}
    files.seen(files.path("/io/io_data"))
    assert done == ["remount", viewed("/mounted/output/result"), viewed("/mounted/io/io_data")]
