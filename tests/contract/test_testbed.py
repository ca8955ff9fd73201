"""The contract that every testbed keeps. A new testbed adds its fixture to TESTBEDS and passes all of this."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import SMALL, alive, descendants, still_alive
from whitewire import software
from whitewire.errors import UserError
from whitewire.parsers import iperf3
from whitewire.probes import iperf3 as probe
from whitewire.testbed.base import CommandFailed, ProcessDied
from whitewire.testbed.emulated import FRAME_SHARE, EmulatedTestbed

TESTBEDS = ["testbed"]


@pytest.fixture(scope="module", params=TESTBEDS)
def hosts(request):
    return request.getfixturevalue(request.param)


def test_roles_and_names(hosts):
    assert [host.name for host in hosts.hosts] == [
        "namenode", "datanode1", "datanode2", "datanode3", "datanode4", "client"]  # fmt: skip
    assert len(hosts.by_role("datanode")) == 4
    assert len({host.address for host in hosts.hosts}) == 6
    with pytest.raises(UserError, match="no host datanode9"):
        hosts.host("datanode9")


def test_each_host_has_its_own_name_and_knows_the_others(hosts):
    for host in hosts.hosts:
        assert host.run(["hostname"]).check().stdout.decode().strip() == host.name
        for other in hosts.hosts:
            found = host.run(["getent", "hosts", other.name]).check().stdout.decode().split()
            assert found[0] == other.address


def test_run_gives_status_and_output_verbatim(hosts):
    done = hosts.hosts[0].run(["sh", "-c", "printf 'a\\n\\0b'; echo no >&2; exit 7"])
    assert (done.status, done.stdout, done.stderr) == (7, b"a\n\0b", b"no\n")
    with pytest.raises(CommandFailed, match="exit status 7: no"):
        done.check()


def test_run_never_passes_through_a_shell(hosts):
    word = "$(touch /tmp/injected); `id` 'x' \"y\" *"
    assert hosts.hosts[0].run(["printf", "%s", word]).stdout.decode() == word
    assert hosts.hosts[0].run(["test", "-e", "/tmp/injected"]).status != 0


def test_run_reads_stdin_and_environment(hosts):
    host = hosts.hosts[1]
    assert host.run(["cat"], stdin=b"in\0put").stdout == b"in\0put"
    assert host.run(["sh", "-c", 'printf %s "$WORD"'], env={"WORD": "a b"}).stdout == b"a b"
    assert b"HOME=" not in host.run(["env"]).stdout  # nothing of the caller's environment


def test_run_ends_at_its_timeout(hosts):
    with pytest.raises(subprocess.TimeoutExpired):
        hosts.hosts[0].run(["sleep", "31.5"], timeout=0.3)
    time.sleep(0.2)
    assert hosts.hosts[0].run(["pgrep", "-f", "sleep 31.5"]).status != 0


def test_put_get_and_private_tmp(hosts):
    first, second = hosts.hosts[:2]
    content = bytes(range(256)) * 100
    first.put(content, "/tmp/folder/file")
    assert first.get("/tmp/folder/file") == content
    assert second.run(["test", "-e", "/tmp/folder/file"]).status != 0


def test_share_is_seen_by_all(hosts):
    hosts.share("/run/whitewire/shared/x", b"same")
    assert {host.get("/run/whitewire/shared/x") for host in hosts.hosts} == {b"same"}


def test_daemon_log_ready_and_stop(hosts, tmp_path):
    process = hosts.hosts[0].start(["sh", "-c", "echo ready 1; echo ready 2; sleep 100"], tmp_path / "log")
    assert len(process.wait_ready(r"ready \d", count=2, timeout=5)) == 2
    main = process.main_process().pid
    assert process.alive
    process.stop()
    assert not process.alive
    assert not alive(main)


def test_daemon_that_dies_is_named_with_the_end_of_its_log(hosts, tmp_path):
    process = hosts.hosts[0].start(["sh", "-c", "echo disk on fire; exit 3"], tmp_path / "log", name="Thing")
    with pytest.raises(ProcessDied, match="(?s)Thing ended with status 3.*disk on fire"):
        process.wait_ready("never", timeout=5)


def test_daemon_that_is_never_ready_times_out(hosts, tmp_path):
    process = hosts.hosts[0].start(["sh", "-c", "echo starting; sleep 100"], tmp_path / "log")
    with pytest.raises(TimeoutError, match="starting"):
        process.wait_ready("never", timeout=0.3)
    process.stop()


def test_a_killed_daemon_takes_no_other_with_it(hosts, tmp_path):
    one = hosts.hosts[1].start(["sleep", "100"], tmp_path / "one")
    two = hosts.hosts[2].start(["sleep", "100"], tmp_path / "two")
    time.sleep(0.2)
    one.kill()
    assert not one.alive
    assert two.alive
    two.stop()


def test_unknown_fabric(hosts):
    with pytest.raises(UserError, match="fabric 9gbe is not defined, expected one of 0.125gbe, .*10gbe"):
        hosts.fabric("9gbe")


@pytest.mark.parametrize("name", ["1gbe", "10gbe"])
@pytest.mark.parametrize("way", ["to a host", "from a host"])
def test_fabric_shapes_both_directions_and_counters_count(hosts, tmp_path, name, way):
    fabric = hosts.fabric(name)
    client, server = hosts.by_role("client")[0], hosts.by_role("datanode")[0]
    if way == "from a host":
        client, server = server, client
    daemon = server.start(probe.server(), tmp_path / "server")
    daemon.wait_ready("Server listening", timeout=10)
    before = hosts.counters()
    raw = client.run(probe.client(server.name, 1, int(fabric.rate * 1e6 / 8)), timeout=30).check().stdout
    after = hosts.counters()
    daemon.stop()
    result = iperf3.parse(raw)
    # Loose here, since tests share the machine; bench/link_fidelity.py measures it.
    assert result.goodput == pytest.approx(fabric.rate * FRAME_SHARE, rel=0.03)
    sent = after[client.name]["egress"] - before[client.name]["egress"]
    received = after[server.name]["ingress"] - before[server.name]["ingress"]
    assert sent == pytest.approx(fabric.rate * 1e6 / 8, rel=0.03)
    assert received == pytest.approx(sent, rel=0.01)


def test_leaving_leaves_nothing(can_emulate, emulated_config, tmp_path):
    before = descendants(os.getpid())
    with EmulatedTestbed(emulated_config, SMALL, 20, software.binds()) as testbed:
        process = testbed.hosts[0].start(["sleep", "1000"], tmp_path / "log")
        time.sleep(0.1)
        inside = descendants(os.getpid()) - before
        assert len(inside) > 2 * len(testbed.hosts)
    assert not process.alive
    assert not still_alive(inside)


def test_an_exception_leaves_nothing(can_emulate, emulated_config):
    before = descendants(os.getpid())
    with pytest.raises(RuntimeError, match="boom"), EmulatedTestbed(emulated_config, SMALL, 20, software.binds()):
        inside = descendants(os.getpid()) - before
        raise RuntimeError("boom")
    assert len(inside) > sum(SMALL.values())
    assert not still_alive(inside)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_killed_owner_leaves_nothing(can_emulate, tmp_path, number):
    program = f"""
import time
from pathlib import Path
from whitewire import software
from whitewire.config import load_testbed
from whitewire.testbed.emulated import EmulatedTestbed
with EmulatedTestbed(load_testbed("emulated"), {SMALL!r}, 20, software.binds()) as testbed:
    for host in testbed.hosts:
        host.start(["sleep", "1000"], Path({str(tmp_path)!r}) / host.name)
    print("up", flush=True)
    time.sleep(1000)
"""
    owner = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert owner.stdout.readline() == b"up\n"
    inside = descendants(owner.pid)
    assert len(inside) >= 4 * sum(SMALL.values())  # of each host: its holder and its daemon, each with its carrier
    owner.send_signal(number)
    owner.wait(timeout=20)
    assert not [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in still_alive(inside)]
    assert "whitewire/hosts" not in Path("/proc/self/mounts").read_text()
    assert not [name for name in os.listdir("/sys/class/net") if name.startswith(("port", "switch"))]
