"""What befell a run while it was observed: it does not count, whatever it measured."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from whitewire import workloads
from whitewire.measure.observation import LONGEST_GAP_S, disturbances
from whitewire.records.reasons import Reason
from whitewire.testbed.base import Process
from whitewire.testbed.samples import longest_gap
from whitewire.workloads import workload_of


@pytest.mark.parametrize(
    ("stopped", "after", "gap", "expected"),
    [
        ([], {"a": 2, "b": 4}, 0.2, []),
        (["datanode1"], {"a": 2, "b": 4}, 0.2, ["datanode1 stood still, stopped by a signal"]),
        ([], {"a": 2, "b": 6}, 0.2, ["the link of b went down or came up 2 times"]),
        ([], {"a": 2, "b": 4}, 30.04, ["no sample was taken for 30.0 s"]),
        ([], {"a": 2}, LONGEST_GAP_S, []),  # a host that is lost is reported otherwise
    ],
)
def test_each_is_said_in_words(stopped, after, gap, expected):
    assert disturbances(stopped, {"a": 2, "b": 4}, after, gap) == expected


def test_testbeds_that_count_no_links_are_not_judged_by_them():
    assert disturbances([], {}, {}, 0.1) == []


def test_a_disturbed_run_does_not_count(monkeypatch):
    few = Reason("other", {"why": "too few"})
    clock = {"stepped": 0.0, "slept": 0.0}
    record = {"workload": "hdfs_put", "start": 0.0, "end": 1.0, "clock": clock, "disturbed": [], "evidence": {}}
    monkeypatch.setattr(type(workload_of("hdfs_put")), "faults", lambda *_: [few])
    assert workloads.run_faults(record, {}, {}) == [few]
    record["disturbed"] = ["client1 stood still, stopped by a signal"]
    assert [*map(str, workloads.run_faults(record, {}, {}))] == ["client1 stood still, stopped by a signal", "too few"]


def test_the_longest_gap_between_samples():
    assert longest_gap([1.0, 1.1, 4.2, 4.3]) == pytest.approx(3.1)
    assert longest_gap([1.0]) == longest_gap([]) == 0


def until(condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_process_that_stood_still_is_known_also_when_it_goes_on(tmp_path):
    popen = subprocess.Popen(["sleep", "100"])
    try:
        process = Process("sleep", popen, tmp_path / "log")
        assert not process.stood_still()
        popen.send_signal(signal.SIGSTOP)
        until(lambda: state(popen.pid) == "T")
        assert process.stood_still()
        assert not process.stood_still()
        popen.send_signal(signal.SIGCONT)
        until(lambda: state(popen.pid) == "S")
        assert process.stood_still()  # that it goes on is news as well, once
        assert not process.stood_still()
        popen.send_signal(signal.SIGSTOP)
        until(lambda: state(popen.pid) == "T")
        popen.send_signal(signal.SIGCONT)
        until(lambda: state(popen.pid) == "S")
        assert process.stood_still()
        assert not process.stood_still()
    finally:
        popen.kill()
        popen.wait()
    assert not process.stood_still()
