"""Whether a run had the processors that it needed, from made-up series with known answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitewire.records import processors
from whitewire.records.samples import Samples, Torn, WaitedSeries, read_waited

LIMITS = {"cpu_waited": 1.0}


def series(ran, waited, own=0.02, outside=0.0, seconds=10.0):
    """Ten seconds and one before and after, in which threads ran and waited so many seconds per second."""
    times = [100.0 + step for step in range(int(seconds) + 3)]
    since = [time - times[0] for time in times]
    busy = [round(100 * (ran + own + outside) * each) for each in since]
    samples = Samples(times, [200 * round(each) for each in since],
                      [200 * round(each) - used for each, used in zip(since, busy, strict=True)], {})  # fmt: skip
    told = WaitedSeries(times, [ran * t for t in since], [waited * t for t in since], [own * t for t in since])
    return {"start": 101.0, "end": 101.0 + seconds}, samples, told


@given(st.floats(0.1, 1.5), st.floats(0, 8), st.floats(0, 0.4))
def test_waiting_is_per_second_that_threads_ran_and_others_are_what_is_left(ran, waited, outside):
    found = processors.metrics(*series(ran, waited, outside=outside))
    assert found["cpu_waited"] == (pytest.approx(waited / ran), "1")
    assert found["cpu_outside"][0] == pytest.approx(outside, abs=0.02)


def test_a_run_in_which_nothing_ran_waited_for_nothing():
    assert processors.metrics(*series(0.0, 0.0))["cpu_waited"] == (0.0, "1")


def test_a_run_that_waited_too_long_says_so_and_what_others_used():
    record, *told = series(0.8, 2.0, outside=0.6)
    found = processors.metrics(record, *told)
    assert processors.faults(record, found, LIMITS) == [
        "processors: threads waited 2.50 s for each second that they ran, bound 1; other programs used 0.6 processors"
    ]
    assert processors.faults(record, found, {"cpu_waited": 2.6}) == []
    assert processors.faults({**record, "cpu": "report"}, found, LIMITS) == []


def test_of_a_site_nothing_is_told():
    assert processors.faults({"start": 0.0, "end": 1.0}, {}, LIMITS) == []


def test_the_table_of_a_run_is_whole_or_refused():
    text = "time,ran,waited,own\n1.0,0.1,0.2,0.01\n2.0,0.3,0.5,0.02\n"
    assert read_waited(text) == WaitedSeries([1.0, 2.0], [0.1, 0.3], [0.2, 0.5], [0.01, 0.02])
    for torn in (text[:-4], "time,ran\n1,2\n", text.replace("0.5", "nan"), ""):
        with pytest.raises(Torn):
            read_waited(torn)
