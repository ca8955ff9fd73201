"""How long it is waited for other programs."""

from types import SimpleNamespace

import pytest

from whitewire.measure import idle
from whitewire.measure.idle import _GLANCE_S, _MOST_S, IDLE, NEVER_S, IdleWait


class Machine:
    """A machine of two processors on which others burn `load(time)`, and a cluster that uses a tenth of one."""

    def __init__(self, load):
        self.load, self.now, self.busy, self.ran, self.said = load, 0.0, 0.0, 0.0, []

    def sleep(self, seconds):
        steps = max(1, round(seconds / 0.05))
        for _ in range(steps):
            step = seconds / steps
            self.busy += step * (self.load(self.now) + 0.1 + 0.02)
            self.ran += step * 0.1
            self.now += step

    def ticks(self):
        return int(200 * self.now), int(100 * (2 * self.now - self.busy))

    def read(self):
        return SimpleNamespace(time=self.now, ran=self.ran, own=0.02 * self.now)


@pytest.fixture
def machine_under(monkeypatch):
    """Makes a machine under a load, whose clock and processors a wait reads."""

    def made(load):
        machine = Machine(load)
        monkeypatch.setattr(idle, "time", SimpleNamespace(monotonic=lambda: machine.now, sleep=machine.sleep))
        monkeypatch.setattr(idle, "processor_ticks", machine.ticks)
        return machine

    return made


def test_what_others_use_is_distinct_from_what_the_cluster_and_the_runner_use(machine_under):
    machine = machine_under(lambda now: 0.7)
    assert IdleWait(machine.said.append).outside(machine.read) == pytest.approx(0.7, abs=0.05)
    machine = machine_under(lambda now: 0.0)
    assert IdleWait(machine.said.append).outside(machine.read) < IDLE


def test_an_idle_machine_is_not_waited_for(machine_under):
    machine = machine_under(lambda now: 0.0)
    assert IdleWait(machine.said.append).before_a_run(machine.read, 1e9) < IDLE
    assert machine.now == pytest.approx(_GLANCE_S)
    assert not machine.said


def test_a_load_that_ends_is_sat_out_and_said(machine_under):
    machine = machine_under(lambda now: 1.2 if now < 20 else 0.0)
    assert IdleWait(machine.said.append).before_a_run(machine.read, 1e9) < IDLE
    assert 20 <= machine.now < 22
    assert machine.said == [machine.said[0]]
    assert machine.said[0].startswith("waiting: other programs use 1.2 of ")


def test_a_load_that_stays_is_met_and_each_wait_for_it_is_shorter(machine_under):
    machine = machine_under(lambda now: 1.0)
    idle_wait = IdleWait(machine.said.append)
    waits = []
    for _ in range(8):
        begin = machine.now
        assert idle_wait.before_a_run(machine.read, 1e9) > IDLE
        waits.append(machine.now - begin)
        machine.sleep(5)
    assert waits[0] == pytest.approx(_MOST_S, abs=1)
    assert waits[-1] < 2
    assert sum(waits) < _MOST_S + NEVER_S


def test_it_never_waits_beyond_the_time_that_there_is(machine_under):
    machine = machine_under(lambda now: 1.0)
    IdleWait(machine.said.append).before_a_run(machine.read, 3.0)
    assert machine.now < 4
