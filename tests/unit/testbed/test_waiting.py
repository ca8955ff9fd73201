"""Wake-up latency of a process, and how long threads wait for a processor: real processes on one processor."""

import os
import subprocess
import sys
import time

import pytest

from whitewire.testbed.base import CommandFailed
from whitewire.testbed.emulated.waiting import NAP_S, STRANGERS, Meter, Threads, Timer, seconds_of_all_below

SPIN = "import time\nend = time.monotonic() + {}\nwhile time.monotonic() < end: pass"


@pytest.fixture
def folder(tmp_path):
    """A folder that shows the processes that are put into it."""

    def show(*processes):
        for process in processes:
            (tmp_path / str(process.pid)).symlink_to(f"/proc/{process.pid}")
        return tmp_path

    return show


def spinning(count, seconds):
    """So many processes that want one and the same processor."""
    place = min(os.sched_getaffinity(0))
    argv = ["taskset", "--cpu-list", str(place), sys.executable, "-c", SPIN.format(seconds)]
    return [subprocess.Popen(argv) for _ in range(count)]


def test_two_on_one_processor_wait_half_of_the_time(folder):
    processes = spinning(2, 1.5)
    time.sleep(0.3)
    meter = Threads(str(folder(*processes)))
    (ran, waited), begin = meter.take(), time.monotonic()
    time.sleep(1.0)
    (ran_later, waited_later), seconds = meter.take(), time.monotonic() - begin
    for process in processes:
        process.wait()
    assert ran_later - ran <= 1.1 * seconds
    assert waited_later - waited >= 0.8 * seconds  # each waits while the other runs; others may want it too


def test_what_a_thread_ran_counts_after_it_has_ended(folder):
    (process,) = spinning(1, 0.6)
    time.sleep(0.3)
    meter = Threads(str(folder(process)))
    last = meter.take()
    assert last[0] > 0
    process.wait()
    assert meter.take() == last
    assert meter.take() == last


def busy(seconds):
    return f"import time\nwhile time.process_time() < {seconds}: pass"


def test_all_that_a_process_started_counts_once_also_what_ended_and_what_its_children_started():
    child = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {busy(0.3)!r}])\n{busy(0.2)}"
    before, begin = seconds_of_all_below(os.getpid()), time.process_time()
    alive = subprocess.Popen([sys.executable, "-c", busy(0.4) + "\nprint(1, flush=True)\ninput()"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
    try:
        subprocess.run([sys.executable, "-c", child], check=True)
        alive.stdout.readline()
        own = time.process_time() - begin
        known = seconds_of_all_below(os.getpid()) - before - own
        assert 0.85 <= known <= 1.3  # and what three starts of Python take
        STRANGERS.add(alive.pid)
        assert seconds_of_all_below(os.getpid()) - before - own <= known - 0.35
    finally:
        STRANGERS.discard(alive.pid)
        alive.communicate()


def started(*before):
    """What starts the timer's process, with another one in front of it."""
    return lambda argv: subprocess.Popen([*before, *argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def late(timer, seconds):
    """Mean wake-up latency (s) over a time, and how often it woke."""
    wakes, before = timer.take()
    time.sleep(seconds)
    more, after = timer.take()
    return (after - before) / (more - wakes), more - wakes


def test_a_timer_beside_others_on_its_processor_wakes_later():
    """They are in sessions of their own and sleep as little: so each has the same right to the processor."""
    place = ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0)))]
    timer = Timer(started(*place))
    try:
        alone, wakes = late(timer, 1.0)
        assert 100 < wakes <= 1.1 / NAP_S
        assert 0 <= alone < 0.01
        spin = [*place, sys.executable, "-c", SPIN.format(30)]
        others = [subprocess.Popen(spin, start_new_session=True) for _ in range(8)]
        try:
            beside, _ = late(timer, 2.0)
        finally:
            for other in others:
                other.kill()
                other.wait()
        assert beside > alone
    finally:
        timer.close()
    assert timer.process.returncode is not None


def test_a_timer_that_ended_is_reported():
    timer = Timer(started())
    timer.process.kill()
    timer.process.wait()
    with pytest.raises(CommandFailed, match="the timer that measures wake-up latency has ended"):
        timer.take()
    timer.close()


def test_both_are_read_at_one_moment(folder):
    timer = Timer(started())
    meter = Meter(Threads(str(folder(timer.process))), timer)
    try:
        until = time.monotonic() + 2
        while (waits := meter.take()).ran == 0 and time.monotonic() < until:  # the kernel counts by ticks
            time.sleep(0.05)
    finally:
        timer.close()
    assert abs(waits.time - time.time()) < 5
    assert waits.ran > 0
    assert waits.own + waits.ran >= time.process_time() * 0.9
    assert waits.wakes >= 0
    assert waits.late >= 0
