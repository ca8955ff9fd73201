"""Fixtures that several suites share."""

import os
import signal
import time
from collections.abc import Callable

import psutil
import pytest
from hypothesis import settings

from tests.support import once
from whitewire.cli import TRACEBACK
from whitewire.description import checks
from whitewire.description.testbed import load_testbed
from whitewire.install.doctor import user_namespaces
from whitewire.lock import INSIDE
from whitewire.testbed.emulated import software
from whitewire.testbed.emulated.sandbox import EmulatedTestbed

# Before other modules take it from there.
checks.load_paper = once.loading(checks.load_paper)

# A busy machine is no reason for a failure. `make test` tries the same inputs each time, `make test-all` others, and
# twice as many where a test does not say how many.
settings.register_profile("same", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("others", deadline=None)
settings.load_profile("same")

# What nothing foresaw is seen whole, also where a test calls the command.
os.environ[TRACEBACK] = "1"
# Tests that run two at once start commands in this repository, and so does a developer beside them.
os.environ[INSIDE] = "tests"

# A shell starts what it puts in the background with SIGINT ignored, and tests send it to what they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

SMALL = {"namenode": 1, "datanode": 4, "client": 1}


@pytest.fixture(scope="session")
def emulated_config():
    """The emulated testbed's file, with less memory behind the drives."""
    config = load_testbed("emulated")
    return config | {"memory": config["memory"] | {"storage_gib": 2}}


@pytest.fixture(scope="session")
def can_emulate():
    """Fails, rather than skips, where the default testbed cannot work: then nothing here is tested."""
    finding = user_namespaces()
    assert finding.ok, f"{finding.name}: {finding.state}; {finding.remedy}"


@pytest.fixture(scope="module")
def testbed(can_emulate, emulated_config):
    """Six emulated hosts."""
    with EmulatedTestbed(emulated_config, SMALL, 20, software.binds()) as hosts:
        yield hosts


def alive(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rpartition(b")")[2].split()[0] != b"Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def descendants(pid: int) -> set[int]:
    """All processes below one, in its sandboxes too: seen from outside they are its children's children."""
    try:
        return {child.pid for child in psutil.Process(pid).children(recursive=True)}
    except psutil.NoSuchProcess:
        return set()


def still_alive(pids: set[int], patience: float = 5.0) -> set[int]:
    """Those of the processes that still run after at most `patience` seconds."""
    deadline = time.monotonic() + patience
    while (left := {pid for pid in pids if alive(pid)}) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def reaches(lowest: float, highest: float, measured: Callable[[], float], attempts: int = 6) -> None:
    """A rate that this machine can only lessen, by being busy: none of a few measurements may be above `highest`, and
    one has to be above `lowest`. Ever more time passes between them, as what keeps it busy comes and goes."""
    found: list[float] = []
    while len(found) < attempts:
        if found:
            time.sleep(2 ** (len(found) - 1))
        found.append(measured())
        assert found[-1] < highest
        if found[-1] > lowest:
            return
    pytest.fail(f"measured {', '.join(f'{value:.4g}' for value in found)}, expected {lowest:.4g} to {highest:.4g}")


def comes_to(expected: float, rel: float, measured: Callable[[], float], attempts: int = 4) -> None:
    """As `reaches`, within the relative distance `rel` of what is expected."""
    reaches(expected * (1 - rel), expected * (1 + rel), measured, attempts)
