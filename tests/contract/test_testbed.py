"""The contract that every testbed keeps. A new testbed adds its fixtures (conftest.py) and passes all of this."""

import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import descendants, still_alive
from whitewire.errors import UserError
from whitewire.testbed.base import FRAME_SHARE, CommandFailed, ProcessDied
from whitewire.testbed.emulated.sandbox import EmulatedTestbed
from whitewire.testbed.samples import processor_ticks
from whitewire.tools.iperf3 import iperf3_client, iperf3_result, iperf3_server

KINDS = ["emulated", "ssh", "slurm"]
"""Each is a fixture that says how to open one; `testbed` is the emulated one that other suites use too."""


@pytest.fixture(scope="module", params=KINDS)
def hosts(request):
    return request.getfixturevalue({"emulated": "testbed"}.get(request.param, f"{request.param}_testbed"))


@pytest.fixture(params=KINDS)
def kind(request):
    return request.getfixturevalue(request.param)


def test_roles_and_names(hosts):
    assert [host.name for host in hosts.hosts] == [
        "namenode", "datanode1", "datanode2", "datanode3", "datanode4", "client"]  # fmt: skip
    assert len(hosts.by_role("datanode")) == 4
    assert len({host.address for host in hosts.hosts}) == 6
    with pytest.raises(UserError, match="no host datanode9"):
        hosts.host("datanode9")


def test_each_host_finds_the_others_by_their_endpoints(hosts):
    for host in hosts.hosts:
        for other in hosts.hosts:
            found = host.run(["getent", "ahostsv4", other.endpoint]).check().stdout.decode().split()
            assert found[0] == other.address


def test_each_host_has_its_own_name_and_knows_the_others(hosts):
    if not hosts.capabilities.makes_hosts:
        pytest.skip("names and name service are the site's own: endpoints there are addresses")
    for host in hosts.hosts:
        assert host.run(["hostname"]).check().stdout.decode().strip() == host.name
        assert host.endpoint == host.name


def test_run_gives_status_and_output_verbatim(hosts):
    done = hosts.hosts[0].run(["sh", "-c", "printf 'a\\n\\0b'; echo no >&2; exit 7"])
    assert (done.status, done.stdout, done.stderr) == (7, b"a\n\0b", b"no\n")
    with pytest.raises(CommandFailed, match="exit status 7: no"):
        done.check()


def test_run_never_passes_through_a_shell(hosts):
    host = hosts.hosts[0]
    word = f"$(touch {host.scratch}/injected); `id` 'x' \"y\" * ! \\\\ \\n\n\té %s"
    assert host.run(["printf", "%s", word]).stdout.decode() == word
    assert host.run(["sh", "-c", 'printf %s "$1"; exit 3', "sh", word]).stdout.decode() == word
    assert host.run(["env"], env={"WORD": word}).stdout.decode().split("WORD=")[1].rstrip("\n") == word
    assert host.run(["test", "-e", f"{host.scratch}/injected"]).status != 0


def test_run_reads_stdin_and_environment(hosts):
    host = hosts.hosts[1]
    assert host.run(["cat"], stdin=b"in\0put").stdout == b"in\0put"
    assert host.run(["sh", "-c", 'printf %s "$WORD"'], env={"WORD": "a b"}).stdout == b"a b"
    assert b"HOME=" not in host.run(["env"]).stdout  # nothing of the caller's environment


def test_run_ends_at_its_timeout(hosts):
    with pytest.raises(subprocess.TimeoutExpired):
        hosts.hosts[0].run(["sleep", "31.5"], timeout=0.3)
    time.sleep(0.2)
    assert hosts.hosts[0].run(["pgrep", "-f", "sleep 31[.]5"]).status != 0


def test_put_get_and_private_tmp(hosts):
    first, second = hosts.hosts[:2]
    content = bytes(range(256)) * 100
    path = f"{first.scratch}/folder/a file"
    first.put(content, path)
    assert first.get(path) == content
    assert second.run(["test", "-e", path]).status != 0


def test_share_is_seen_by_all(hosts):
    path = f"{hosts.shared or hosts.hosts[0].folder}/x"
    hosts.share(path, b"same")
    assert {host.get(path) for host in hosts.hosts} == {b"same"}


def test_daemon_log_ready_and_stop(hosts, tmp_path):
    host = hosts.hosts[0]
    process = host.start(["sh", "-c", "echo ready 1; echo ready 2; exec sleep 100.25"], tmp_path / "log")
    assert len(process.wait_ready(r"ready \d", count=2, timeout=5)) == 2
    assert process.alive
    process.stop()
    assert not process.alive
    assert host.run(["pgrep", "-f", "sleep 100[.]25"]).status != 0


def test_a_daemon_may_end_in_its_own_time(hosts, tmp_path):
    ends = "trap 'echo ending; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
    process = hosts.hosts[0].start(["sh", "-c", ends], tmp_path / "log")
    process.wait_ready("ready", timeout=5)
    process.stop()
    assert "ending" in process.said()


def test_a_daemon_that_does_not_end_is_killed(hosts, tmp_path):
    ignores = "trap '' TERM; echo ready; while :; do sleep 0.05; done"
    process = hosts.hosts[0].start(["sh", "-c", ignores], tmp_path / "log")
    process.wait_ready("ready", timeout=5)
    begin = time.monotonic()
    process.stop(timeout=0.5)
    assert not process.alive
    assert 0.4 < time.monotonic() - begin < 4


def test_a_daemon_reads_what_it_is_given_and_its_cpu_time_is_known(hosts, tmp_path):
    program = "read word; i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; echo got $word; exec sleep 100"
    process = hosts.hosts[0].start(["sh", "-c", program], tmp_path / "log", stdin=subprocess.PIPE)
    process.popen.stdin.write(b"hello\n")
    process.popen.stdin.flush()
    process.wait_ready("got hello", timeout=20)
    assert 0.01 < process.cpu_seconds() < 20
    process.kill()
    assert process.cpu_seconds() == 0


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
    with pytest.raises(UserError, match="fabric 9gb is not defined, expected one of .*10gbe"):
        hosts.fabric("9gb")


@pytest.mark.parametrize("name", ["1gbe", "10gbe"])
def test_links_say_what_they_really_are(hosts, name):
    fabric = hosts.fabric(name)
    links = hosts.links()
    assert list(links) == [host.name for host in hosts.hosts]
    for link in links.values():
        assert link["rate"] == pytest.approx(fabric.rate, rel=1e-3)
        assert link["mtu"] == 1500
        assert link["offloads"] in ("on", "mixed", "off")
        assert ("queue" in link) == ("rate_in" in link) == isinstance(hosts, EmulatedTestbed)


def test_links_follow_what_is_set(testbed):
    fabric = testbed.fabric("1gbe", port_buffer=50000)
    testbed.offloads(False)
    for link in testbed.links().values():
        assert link["rate"] == link["rate_in"] == pytest.approx(fabric.rate, rel=1e-3)
        assert (link["queue"], link["offloads"]) == (50000, "off")
    testbed.offloads(True)
    assert {link["offloads"] for link in testbed.links().values()} == {"on"}


def test_frames_and_single_hosts_follow_what_is_asked(testbed, tmp_path):
    client, server = testbed.by_role("client")[0], testbed.by_role("datanode")[-1]
    fabric = testbed.fabric("1gbe", mtu=9000, slow={server.name: 0.5})
    links, before = testbed.links(), testbed.segments()[client.name][1]
    assert {link["mtu"] for link in links.values()} == {9000}
    assert links[server.name]["rate"] == links[server.name]["rate_in"] == pytest.approx(fabric.rate / 2)
    assert links[client.name]["rate"] == pytest.approx(fabric.rate)
    goodput, sent, _ = one_second_of_iperf3(testbed, client, server, fabric, tmp_path / "server")
    assert goodput < 0.51 * fabric.rate
    assert sent / (testbed.segments()[client.name][1] - before) > 4000
    testbed.fabric("1gbe")
    for link in testbed.links().values():
        assert (link["mtu"], link["rate"]) == (1500, pytest.approx(fabric.rate))


def test_racks_share_an_uplink(testbed, tmp_path):
    fabric = testbed.fabric("1gbe-2racks-4to1")
    assert testbed.uplinks() == {
        f"rack{n}": {"rate": pytest.approx(fabric.rate / 2), "rate_in": pytest.approx(fabric.rate / 2)} for n in (1, 2)
    }
    first, second, third, _ = testbed.by_role("datanode")
    near = one_second_of_iperf3(testbed, first, second, fabric, tmp_path / "near")[0]
    far = one_second_of_iperf3(testbed, first, third, fabric, tmp_path / "far")[0]
    assert far < 0.51 * fabric.rate < near
    flat = testbed.fabric("1gbe")
    assert testbed.uplinks() == {}
    assert one_second_of_iperf3(testbed, first, third, flat, tmp_path / "flat")[0] > 0.51 * fabric.rate


def test_what_a_testbed_cannot_set_is_said(hosts):
    if isinstance(hosts, EmulatedTestbed):
        pytest.skip("it can")
    for wanted in ({"port_buffer": 50000}, {"mtu": 9000}, {"slow": {"datanode1": 0.5}}):
        with pytest.raises(UserError, match="cannot be .* here, only on an emulated testbed"):
            hosts.fabric("1gbe", **wanted)
    assert hosts.uplinks() == hosts.racks(2) == {}


def one_second_of_iperf3(hosts, client, server, fabric, log):
    """Goodput in Mbit/s, bytes that left the client and bytes that reached the server."""
    daemon = server.start(iperf3_server(server.address), log)
    daemon.wait_ready("Server listening", timeout=10)
    before = hosts.counters()
    raw = client.run(iperf3_client(server.address, 1, int(fabric.rate * 1e6 / 8)), timeout=30).check().stdout
    after = hosts.counters()
    daemon.stop()
    sent = after[client.name]["egress"] - before[client.name]["egress"]
    received = after[server.name]["ingress"] - before[server.name]["ingress"]
    return iperf3_result(raw).goodput, sent, received


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("1gbe", "to a host"),
        ("10gbe", "from a host"),
        pytest.param("1gbe", "from a host", marks=pytest.mark.slow),
        pytest.param("10gbe", "to a host", marks=pytest.mark.slow),
    ],
)
def test_fabric_shapes_both_directions_and_counters_count(hosts, tmp_path, name, way):
    fabric = hosts.fabric(name)
    client, server = hosts.by_role("client")[0], hosts.by_role("datanode")[0]
    if way == "from a host":
        client, server = server, client
    expected, starved = fabric.rate * FRAME_SHARE, True
    for _ in range(15):  # tests share the machine, and a busy one is too slow; `make trust` measures it
        ticks, idle = processor_ticks()
        goodput, sent, received = one_second_of_iperf3(hosts, client, server, fabric, tmp_path / "server")
        all_ticks, all_idle = processor_ticks()
        assert goodput < 1.03 * expected
        assert sent == pytest.approx(fabric.rate * 1e6 / 8, rel=0.03)
        assert received == pytest.approx(sent, rel=0.01)
        if goodput > 0.97 * expected:
            return
        starved = starved and (all_idle - idle) < 0.1 * (all_ticks - ticks)
    if starved:
        pytest.skip(f"{goodput:.0f} of {expected:.0f} Mbit/s, with no processor idle in fifteen attempts")
    assert goodput == pytest.approx(expected, rel=0.03)


def test_counters_name_every_host_and_grow(hosts):
    names = {host.name for host in hosts.hosts}
    before = hosts.cpu_seconds(), hosts.tcp_retransmits(), hosts.queue_drops()
    hosts.by_role("client")[0].run(["sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done"]).check()
    after = hosts.cpu_seconds(), hosts.tcp_retransmits(), hosts.queue_drops()
    assert set(before[0]) == set(before[1]) == names
    assert all(after[i][name] >= before[i][name] for i in (0, 1) for name in names)
    assert after[2] >= before[2]


def test_samples_cover_the_block_and_see_what_crosses_a_link(hosts, tmp_path):
    fabric = hosts.fabric("1gbe")
    client, server = hosts.by_role("client")[0], hosts.by_role("datanode")[0]
    daemon = server.start(iperf3_server(server.address), tmp_path / "server")
    daemon.wait_ready("Server listening", timeout=10)
    with hosts.sampler(by_host=True) as sampler:
        begin = time.time()
        client.run(iperf3_client(server.address, 1, int(fabric.rate * 1e6 / 8)), timeout=30).check()
        end = time.time()
    daemon.stop()
    times = [sample.time for sample in sampler.samples]
    assert times[0] <= begin + 0.05  # clocks are brought together over a connection
    assert times[-1] >= end - 0.05
    assert all(0 < later - earlier < 1.5 for earlier, later in itertools.pairwise(times))
    assert len(times) > 5 * (end - begin)  # ten a second, but tests share the machine
    first, last = sampler.samples[0], sampler.samples[-1]
    assert last.links[client.name]["egress"] - first.links[client.name]["egress"] > 0.95 * fabric.rate * 1e6 / 8
    assert last.links[server.name]["ingress"] - first.links[server.name]["ingress"] > 0.95 * fabric.rate * 1e6 / 8
    assert 0 <= last.idle_ticks - first.idle_ticks <= last.ticks - first.ticks
    assert len(sampler.host_cpu) >= 2
    assert set(sampler.host_cpu[-1][1]) == {host.name for host in hosts.hosts}
    assert all(sampler.host_cpu[-1][1][name] >= value for name, value in sampler.host_cpu[0][1].items())


def test_leaving_leaves_nothing(kind, tmp_path):
    before = descendants(os.getpid()), set(kind.leftovers())
    with kind.make() as testbed:
        process = testbed.hosts[0].start(["sleep", "1000"], tmp_path / "log")
        time.sleep(0.1)
        inside = descendants(os.getpid()) - before[0]
        assert len(inside) > 2 * len(testbed.hosts)
    process.popen.wait(5)  # it is dead; on a busy machine it takes a moment until that is known
    assert not still_alive(inside)
    assert not set(kind.leftovers()) - before[1]


# SIGINT is an exception within the program. SIGTERM, of which it takes no notice, ends it as SIGKILL does.
SIGNALS = [signal.SIGINT, signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]


@pytest.mark.parametrize("number", SIGNALS)
def test_a_killed_owner_leaves_nothing(kind, tmp_path, number):
    before = set(kind.leftovers())
    program = f"""
import signal, time
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job, as this one may be, ignores it
{kind.program}
with testbed:
    for host in testbed.hosts:
        host.start(["sleep", "1000"], Path({str(tmp_path)!r}) / host.name)
    print("up", len(testbed.hosts), flush=True)
    time.sleep(1000)
"""
    owner = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        said, _, count = owner.stdout.readline().strip().partition(b" ")
        assert said == b"up"
        time.sleep(0.5)
        inside = descendants(owner.pid)
        assert len(inside) >= 4 * int(count)  # of each host: what holds it and its daemon, each with its carrier
        owner.send_signal(number)
        owner.wait(timeout=20)
    finally:
        owner.kill()
        owner.wait()
        owner.stdout.close()
    assert not [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in still_alive(inside)]
    deadline = time.monotonic() + 5
    while (left := set(kind.leftovers()) - before) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left
