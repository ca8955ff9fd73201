"""How long threads wait for a processor, as the kernel counts it: real processes on one processor."""

import os
import subprocess
import sys
import time

import pytest

from whitewire.testbed.emulated.waiting import Waiting

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
    meter = Waiting(str(folder(*processes)))
    before = meter.take()
    time.sleep(1.0)
    after = meter.take()
    for process in processes:
        process.wait()
    seconds = after.time - before.time
    assert after.ran - before.ran <= 1.1 * seconds
    assert after.waited - before.waited >= 0.8 * seconds  # each waits while the other runs; others may want it too


def test_what_a_thread_ran_counts_after_it_has_ended(folder):
    (process,) = spinning(1, 0.6)
    time.sleep(0.3)
    meter = Waiting(str(folder(process)))
    last = meter.take()
    assert last.ran > 0
    process.wait()
    after = meter.take()
    assert (after.ran, after.waited) == (last.ran, last.waited)
    assert meter.take().ran == last.ran
