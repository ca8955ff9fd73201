"""Lanes share processors: nobody has more than there are, one that needs many is not passed, and none is lost."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from whitewire import lanes
from whitewire.errors import UserError
from whitewire.lanes import LANES_VARIABLE, Lanes
from whitewire.measure import weights

HOLD = """
import sys
from whitewire import lanes
with lanes.processors(float(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def of_two(tmp_path, monkeypatch):
    """Two lanes on two processors, in this process's environment."""
    shared_lanes = Lanes(2, os.getpid(), str(tmp_path / "lanes"), 2, lanes.boot_id())
    monkeypatch.setenv(LANES_VARIABLE, shared_lanes.text())
    return shared_lanes


@pytest.fixture
def hold():
    """Starts processes that hold processors until they are asked to end or are killed."""
    started = []

    def start(wanted):
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(wanted)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        started.append(process)
        os.set_blocking(process.stdout.fileno(), False)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def holds(process, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if process.stdout.read():
            return True
        time.sleep(0.02)
    return False


def test_what_fits_is_held_at_once_and_what_does_not_waits(of_two, hold):
    first = hold(0.9)
    assert holds(first, 10)
    assert holds(hold(0.9), 10)
    third = hold(0.9)
    assert not holds(third, 0.5)
    first.stdin.write(b"\n")
    first.stdin.flush()
    assert holds(third, 10)


def test_one_that_needs_all_is_not_passed_by_those_that_need_few(of_two, hold):
    first = hold(0.5)
    assert holds(first, 10)
    many = hold(weights.ALL)
    assert not holds(many, 0.5)
    few = hold(0.5)
    assert not holds(few, 0.5)
    first.send_signal(signal.SIGKILL)  # what it held goes with it
    assert holds(many, 10)
    assert not holds(few, 0.3)
    many.send_signal(signal.SIGKILL)
    assert holds(few, 10)


def test_each_lane_has_its_number(of_two):
    with lanes.lane() as first, lanes.lane() as second:
        assert (first, second) == (1, 2)
    with lanes.lane() as again:
        assert again == 1


def test_without_lanes_nothing_is_held_and_the_campaign_is_this_process(monkeypatch):
    monkeypatch.delenv(LANES_VARIABLE, raising=False)
    with lanes.lane() as number, lanes.processors(99), lanes.processors(99):
        assert (number, lanes.count(), lanes.campaign()) == (1, 1, os.getpid())


def test_lanes_of_another_machine_are_not_these(of_two, monkeypatch):
    assert (lanes.count(), lanes.campaign()) == (2, os.getpid())
    monkeypatch.setattr(lanes, "boot_id", lambda: "another")
    assert lanes.count() == 1


def test_a_cell_that_was_short_has_all_processors_at_its_next_run_and_no_longer(monkeypatch):
    run = SimpleNamespace(row={"experiment": "grid"}, levels={"fabric": "1gbe"})
    monkeypatch.setattr(weights.scale_candidate, "busy_processors", lambda of: 0.4)
    made = weights.Weights()
    assert made.of(run) == pytest.approx(0.5)
    made.note(run, 0.6, short=True)
    assert made.of(run) == weights.ALL
    made.note(run, 0.8, short=False)
    assert made.of(run) == pytest.approx(0.8)


def test_lanes_whose_hosts_are_their_own_wait_for_nobody(tmp_path, monkeypatch, hold):
    shared_lanes = Lanes.of(2, tmp_path / "lanes", on_a_site=True)
    monkeypatch.setenv(LANES_VARIABLE, shared_lanes.text())
    assert lanes.shared() is None
    assert holds(hold(weights.ALL), 10)
    assert holds(hold(weights.ALL), 10)
    with lanes.lane() as first, lanes.lane() as second:
        assert (first, second) == (1, 2)


@pytest.mark.parametrize("on_a_site", [True, False])
def test_without_locks_no_two_blocks_get_the_same_hosts(tmp_path, monkeypatch, on_a_site):
    """Lustre without flock, NFS without lockd."""

    def refused(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(lanes.fcntl, "fcntl", refused)
    monkeypatch.setenv(LANES_VARIABLE, Lanes.of(2, tmp_path, on_a_site=on_a_site).text())
    if on_a_site:
        said = re.escape(f"{tmp_path}/lanes.lock: found a file system without locks (No locks available)")
        with pytest.raises(UserError, match=f"^{said}.* `lanes: 1` "), lanes.lane():
            pass
    else:
        with lanes.lane() as number, lanes.processors(1):
            assert number == 1


def test_a_block_that_has_begun_gets_further_lanes_when_all_others_have_begun(tmp_path, monkeypatch):
    shared_lanes = Lanes.of(2, tmp_path, ["a/1", "b/1"], most=3)
    monkeypatch.setenv(LANES_VARIABLE, shared_lanes.text())
    assert lanes.most() == 3
    with lanes.lane("a/1") as first:
        assert lanes.free() == 0
        with lanes.further_lane() as none:
            assert (first, none) == (1, 0)
        with lanes.lane("b/1") as second:
            assert lanes.free() == 1
            with lanes.further_lane() as third, lanes.further_lane() as fourth:
                assert (second, third, fourth) == (2, 3, 0)
        assert lanes.free() == 2
    assert Lanes.of(2, tmp_path, ["a/1"]).most == 0
    with lanes.further_lane() as none:
        assert none == 0, "another campaign has begun no block yet"


def test_who_only_reads_the_plan_forgets_no_block_of_a_campaign_that_goes_on(tmp_path, monkeypatch):
    shared_lanes = Lanes.of(2, tmp_path, ["a/1"])
    monkeypatch.setenv(LANES_VARIABLE, shared_lanes.text())
    with lanes.lane("a/1"):
        dry_run = f"from pathlib import Path; from whitewire.lanes import Lanes; Lanes.of(2, Path({str(tmp_path)!r}))"
        subprocess.run([sys.executable, "-c", dry_run], check=True)
        assert lanes.free() == 1


def test_blocks_that_wait_for_another_of_their_paper_leave_it_the_free_lanes(tmp_path, monkeypatch):
    shared_lanes = Lanes.of(2, tmp_path, ["a/full-1", "a/full-2", "a/full-3", "b/full-1"])
    monkeypatch.setenv(LANES_VARIABLE, shared_lanes.text())
    with lanes.lane("b/full-1"):
        assert lanes.free() == 0
    with lanes.lane("a/full-1"):
        assert lanes.free() == 1
        with lanes.further_lane() as second:
            assert second == 2


@pytest.mark.parametrize(
    ("processors", "busy", "memory", "carried"),
    [(2, 0.6, 8, 2), (2, 1.4, 8, 1), (16, 0.6, 30, 21), (16, 0.6, 4, 4), (2, 4.0, 8, 1), (2, 0.0, 8, 2)],
)
def test_so_many_lanes_are_carried_by_processors_and_memory(processors, busy, memory, carried):
    assert lanes.carried(processors, busy, memory) == carried


ROOM = [(0.5, 1, False), (0.6, 1, True), (0.4, 2, True), (0.2, 2, False)]


@pytest.mark.parametrize(("idle", "working", "room"), ROOM)
def test_another_lane_has_room_where_the_processors_are_idle_enough(idle, working, room):
    assert lanes.room(idle, working) is room
