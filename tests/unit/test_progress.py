"""The progress line's estimate of the time left."""

import io
import re
import time

from whitewire.progress import Progress, Pulse


def test_a_long_step_says_that_it_goes_on_and_stops_with_it():
    out = io.StringIO()
    pulse = Pulse("quick-1", out, every=0.5)
    with pulse.going():
        pulse.say("run 1 of 2: a | last run valid")
        time.sleep(1.3)
        pulse.say("run 2 of 2: b")
    said = out.getvalue()
    time.sleep(0.8)
    assert out.getvalue() == said
    lines = re.sub(r", \d+ s", "", said).splitlines()
    assert lines[0] == "quick-1: run 1 of 2: a | last run valid"
    assert set(lines[1:-1]) == {"quick-1: … run 1 of 2: a"}
    assert lines[-1] == "quick-1: run 2 of 2: b"


def test_time_left_is_of_the_runs_and_of_clusters_that_still_start():
    now, out = [0.0], io.StringIO()
    progress = Progress("quick-1", [10, 10, 10, 20], clusters=2, out=out, clock=lambda: now[0])

    def left():
        return [int(seconds) for seconds in re.findall(r"about (\d+) s left", out.getvalue())][-1:]

    progress.cluster()
    now[0] += 100
    progress.run(1, "a")
    assert left() == []  # nothing is known yet
    now[0] += 20
    progress.done("")
    progress.run(2, "b")
    assert left() == [180]  # 40 s of the model at twice its time, and another start
    now[0] += 20
    progress.done("too busy")
    progress.cluster()
    now[0] += 60
    progress.run(3, "c")
    assert left() == [60]  # no start is ahead
    assert "quick-1: run 3 of 4: c | last run invalid: too busy" in out.getvalue()
    now[0] += 5
    progress.run(4, "d")
    assert left() == [30]  # 45 s for 30 of the model


def test_a_run_to_be_made_again_takes_time_too():
    now, out = [0.0], io.StringIO()
    progress = Progress("quick-1", [10, 20], out=out, clock=lambda: now[0])
    for number, seconds in ((1, 10), (2, 20), (2, 20)):
        progress.run(number, "a")
        now[0] += seconds
        progress.done("too busy")
        progress.again(20)
    found = re.findall(r"run (\d) of (\d): .*about (\d+) s left", out.getvalue())
    assert found == [("2", "2", "40"), ("2", "2", "40")]
