"""Clocks that are set, and machines that sleep, in a run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitewire import workloads
from whitewire.measure.clocks import Clocks

SECONDS = st.floats(0, 1e4)


@given(SECONDS, st.floats(-1e4, 1e4), SECONDS)
def test_steps_and_sleep_are_distinguished(seconds, stepped, slept):
    begin = Clocks(1.7e9, 500.0, 600.0)
    end = Clocks(1.7e9 + seconds + slept + stepped, 500.0 + seconds, 600.0 + seconds + slept)
    moved = begin.since(end)
    assert moved["stepped"] == pytest.approx(stepped, abs=2e-3)
    assert moved["slept"] == pytest.approx(slept, abs=2e-3)


def test_a_run_on_a_machine_that_is_awake():
    assert workloads.clock_faults({"clock": Clocks.now().since(), "start": 0.0, "end": 60.0}) == []


def test_a_host_whose_clock_goes_on_while_this_machines_is_set_back_is_not_set():
    begin, end = Clocks(1.7e9, 500.0, 600.0), Clocks(1.7e9 + 60 - 3.0, 560.0, 660.0)
    assert begin.since(end, {"client1": 3.0, "client2": 1.0})["hosts"] == {"client1": 0.0, "client2": -2.0}


@pytest.mark.parametrize(
    ("clock", "why"),
    [
        ({"stepped": 3600.0, "slept": 0.0}, "the clock was set by +3600.0 s during the run"),
        ({"stepped": -0.4, "slept": 0.0}, "the clock was set by -0.4 s during the run"),
        ({"stepped": 0.0, "slept": 30.2}, "the machine slept for 30 s during the run"),
        (
            {"stepped": 0.0, "slept": 0.0, "hosts": {"client1": 0.01, "datanode2": -1.5}},
            "the clock of datanode2 was set by -1.50 s during the run; set clocks before or after, or slew them slowly",
        ),
    ],
)
def test_a_run_whose_times_are_none(clock, why):
    assert [*map(str, workloads.clock_faults({"clock": clock, "start": 0.0, "end": 60.0}))] == [why]


@pytest.mark.parametrize(("moved", "faults"), [(0.9, 0), (-0.9, 0), (1.1, 1)])
def test_a_hosts_clock_may_be_slewed_during_a_long_run(moved, faults):
    clock = {"stepped": 0.0, "slept": 0.0, "hosts": {"client1": moved}}
    assert len(workloads.clock_faults({"clock": clock, "start": 0.0, "end": 2000.0})) == faults
