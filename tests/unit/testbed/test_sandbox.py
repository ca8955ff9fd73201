"""The emulated testbed's checks of what its tools say, without a sandbox."""

import subprocess
from types import SimpleNamespace

import pytest

from whitewire.errors import UserError
from whitewire.testbed.base import CommandFailed, Fabric
from whitewire.testbed.emulated import sandbox
from whitewire.testbed.emulated.sandbox import EmulatedTestbed
from whitewire.testbed.emulated.switch import Switch


def test_the_fastest_fabric_has_no_uplinks_to_wait_for():
    racks = {"rate_mbit_per_s": 2000, "racks": {"count": 2, "oversubscription": 8}}
    fabrics = {"1gbe": {"rate_mbit_per_s": 1000}, "2gbe-racks": racks}
    assert EmulatedTestbed({"fabrics": fabrics}, {"client": 1}, 1, {}).fastest() == "1gbe"


@pytest.mark.parametrize("way", ["rate", "rate_in"])
def test_a_link_that_is_not_shaped_as_asked_is_named(way):
    switch = Switch({}, [], None)
    switch.links = lambda: {"client": {"rate": 100.0, "rate_in": 100.05, way: 90.0}}
    with pytest.raises(CommandFailed, match="fabric 1gbe: client is at 90.0 Mbit/s, expected 100.0"):
        switch._verify(Fabric("1gbe", 100.0, 1000.0))


def test_a_rack_that_is_not_shaped_as_asked_is_named_and_so_is_a_host_with_other_frames():
    switch = Switch({}, [], None)
    wanted = Fabric("10gbe-racks", 100.0, 1000.0, mtu=9000, racks=2, uplink=50.0, unlike=(("slow", 0.5),))
    good = {"rate": 100.0, "rate_in": 100.0, "mtu": 9000}
    switch.links = lambda: {"client": good, "slow": good | {"rate": 50.0, "rate_in": 50.0}}
    switch.racks.uplinks = lambda: {"rack1": {"rate": 50.0, "rate_in": 49.0}}
    with pytest.raises(CommandFailed, match=r"rack1 is at 49.0 Mbit/s, expected 50.0"):
        switch._verify(wanted)
    switch.racks.uplinks = lambda: {"rack1": {"rate": 50.0, "rate_in": 50.0}}
    switch._verify(wanted)
    switch.links = lambda: {"client": good | {"mtu": 1500}}
    with pytest.raises(CommandFailed, match="client has an MTU of 1500, expected 9000"):
        switch._verify(wanted)


class Stuck:
    """A process that ends only when it is killed once more, or (`times`) not even then."""

    def __init__(self, times=1):
        self.times, self.kills, self.stdin, self.stdout, self.stderr = (
            times,
            0,
            None,
            SimpleNamespace(close=self.shut),
            None,
        )
        self.closed = False

    def shut(self):
        self.closed = True

    def kill(self):
        self.kills += 1

    def wait(self, timeout):
        if self.kills <= self.times:
            raise subprocess.TimeoutExpired("stuck", timeout)


def test_what_does_not_end_keeps_nothing_else_of_a_sandbox_from_its_end():
    testbed = EmulatedTestbed({}, {"client": 2}, 1, {})
    never, late, meter = Stuck(9), Stuck(0), Stuck(0)
    testbed.init, testbed.meter = never, SimpleNamespace(timer=SimpleNamespace(close=meter.shut))
    for host in testbed.hosts:
        host.carrier = late
    with pytest.raises(subprocess.TimeoutExpired):
        testbed.__exit__(None, None, None)
    assert never.kills == 2 and late.kills == 1 and never.closed and late.closed and meter.closed
    assert testbed.init is testbed.meter is None


def test_a_sandbox_that_hangs_at_its_start_is_ended_and_reported(monkeypatch):
    popen = subprocess.Popen
    monkeypatch.setattr(sandbox, "READY_S", 0.1)
    monkeypatch.setattr(sandbox.subprocess, "Popen", lambda argv, **options: popen(["sleep", "600"], **options))
    testbed = EmulatedTestbed({"memory": {"storage_gib": 1}}, {"client": 1}, 1, {})
    with pytest.raises(UserError, match="testbed emulated: the sandbox did not start .no message."):
        testbed.__enter__()
