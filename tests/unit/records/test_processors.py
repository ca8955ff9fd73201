"""Whether a run had the processors that it needed, from made-up series with known answers."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitewire.records import processors
from whitewire.records.processors import processor_faults, processor_metrics
from whitewire.records.samples import Samples, Torn, WaitedSeries, read_waited

LIMITS = {"cpu_late_ms": 1.0}


def series(ran, waited, own=0.02, outside=0.0, late=0.0, seconds=10.0):
    """Ten seconds and one before and after, in which threads ran and waited so many seconds per second.

    A timer wakes 400 times a second, each time `late` milliseconds late.
    """
    times = [100.0 + step for step in range(int(seconds) + 3)]
    since = [time - times[0] for time in times]
    busy = [round(100 * (ran + own + outside) * each) for each in since]
    samples = Samples(times, [200 * round(each) for each in since],
                      [200 * round(each) - used for each, used in zip(since, busy, strict=True)], {})  # fmt: skip
    waits_of = WaitedSeries(times, [ran * t for t in since], [waited * t for t in since], [own * t for t in since],
                        [400 * t for t in since], [0.4 * late * t for t in since])  # fmt: skip
    return {"start": 101.0, "end": 101.0 + seconds, "cpu": "limit"}, samples, waits_of


@given(st.floats(0.1, 1.5), st.floats(0, 8), st.floats(0, 0.4), st.floats(0, 50))
def test_wake_latency_is_per_wake_waiting_per_second_that_threads_ran_and_others_are_what_is_left(
    ran, waited, outside, late
):
    found = processor_metrics(*series(ran, waited, outside=outside, late=late))
    assert found["cpu_late"] == pytest.approx(late, abs=1e-9)
    assert found["cpu_waited"] == pytest.approx(waited / ran)
    assert found["cpu_outside"] == pytest.approx(outside, abs=0.02)


@pytest.mark.parametrize("busy, needed", [(1, 0.2), (3, 1.6), (10, 1.6)])
def test_a_run_needs_what_it_uses_in_nine_of_ten_half_seconds(busy, needed):
    """Of ten seconds so many have 1.6 processors busy, the others 0.2."""
    record, _, waits_of = series(0.0, 0.0)
    ran = [0.0, 0.0]
    for second in range(10):
        ran.append(ran[-1] + (1.6 if second < busy else 0.2))
    found = processors.needed(record, replace(waits_of, ran=[*ran, ran[-1]]))
    assert found == pytest.approx(needed)


def test_a_run_in_which_nothing_ran_waited_for_nothing():
    assert processor_metrics(*series(0.0, 0.0))["cpu_waited"] == 0.0


def test_a_timer_that_never_woke_makes_a_run_invalid():
    record, samples, waits_of = series(0.5, 0.1)
    found = processor_metrics(record, samples, replace(waits_of, wakes=[0.0] * len(waits_of.time)))
    assert processor_faults(record, found, LIMITS)


def test_a_run_that_woke_too_late_says_so_and_what_others_used():
    record, *waits_of = series(0.8, 2.0, outside=0.6, late=2.5)
    found = processor_metrics(record, *waits_of)
    assert [*map(str, processor_faults(record, found, LIMITS))] == [
        "processors: a process woke 2.5 ms late on average, bound 1 ms; other programs used 0.6 processors"
    ]
    assert processor_faults(record, found, {"cpu_late_ms": 2.6}) == []
    assert processor_faults({**record, "cpu": "report"}, found, LIMITS | {"cpu_outside": 1.0}) == []


@pytest.mark.parametrize(
    ("outside", "reasons"),
    [
        (0.45, []),
        (
            1.0,
            [
                "processors: other programs used 1.0 of them, bound 0.5; what "
                "this experiment shows is how fast they compute"
            ],
        ),
    ],
)
def test_where_computing_is_the_point_no_other_program_computes(outside, reasons):
    """Of a job that is as fast as its processors, another program that takes one of two doubles the time."""
    record, *made = series(0.9, 1.5, outside=outside, late=0.13)
    found = processor_metrics(record, *made)
    faults = processor_faults({**record, "cpu": "report"}, found, LIMITS | {"cpu_outside": 0.5})
    assert [*map(str, faults)] == reasons
    assert processor_faults({**record, "cpu": "limit"}, found, LIMITS | {"cpu_outside": 0.5}) == []
    unknown = found | {"cpu_outside": math.nan}
    assert processor_faults({**record, "cpu": "report"}, unknown, LIMITS | {"cpu_outside": 0.5})


@given(st.integers(0, 10), st.booleans())
def test_the_share_of_seconds_in_which_a_process_woke_late_counts_and_not_how_busy_processors_are(number, idle):
    """A timer wakes 2 ms late in so many seconds, 0.1 ms in the others; all processors are idle, or none is."""
    record, samples, waits_of = series(0.5, 0.1)
    grown = [0.4 * (2.0 if 1 <= second <= number else 0.1) for second in range(len(waits_of.time))]
    waits_of = replace(waits_of, late=[sum(grown[: second + 1]) for second in range(len(waits_of.time))])
    samples = replace(samples, idle_ticks=list(samples.ticks) if idle else [0] * len(samples.ticks))
    start = record["start"] - 1
    assert processors.short_share(start, start + 11, samples, waits_of) == pytest.approx(number / 11)
    assert processors.short_share(start, start + 11, samples, None) == (0.0 if idle else 1.0)


def test_processors_are_short_where_the_timer_never_woke_and_nothing_is_reported_of_no_time():
    record, samples, waits_of = series(0.5, 0.1)
    assert processors.short_share(101, 105, samples, replace(waits_of, wakes=[0.0] * len(waits_of.time))) == 1.0
    assert math.isnan(processors.short_share(101, 101, samples, waits_of))


def test_of_a_site_nothing_is_reported():
    assert processor_faults({"start": 0.0, "end": 1.0}, {}, LIMITS) == []


def test_the_table_of_a_run_is_whole_or_refused():
    text = "time,ran,waited,own,wakes,late\n1.0,0.1,0.2,0.01,400,0.1\n2.0,0.3,0.5,0.02,800,0.2\n"
    assert read_waited(text).late == [0.1, 0.2]
    for torn in (text[:-4], "time,ran\n1,2\n", text.replace("0.5", "nan"), ""):
        with pytest.raises(Torn):
            read_waited(torn)
