"""What a testbed over ssh has to stand: hosts that cannot be used, connections that break, and others' processes."""

import os
import re
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from tests.conftest import SMALL
from tests.support.site import SshSite
from whitewire.errors import UserError
from whitewire.testbed.base import CommandFailed
from whitewire.testbed.site import preflight, shell
from whitewire.testbed.site.ssh import SESSIONS, SshTestbed

SLEEPER = ["sh", "-c", "sleep 77.5 & echo started; sleep 77.5"]
"""Two processes; the second one's parent ends before it where the first is killed."""


def sleepers(site, name):
    """How many of them live on a host, known by its network."""
    host = site.testbed.host(name)
    script = """
    own=$(readlink /proc/self/ns/net)
    for pid in $(pgrep -f '^sleep 77[.]5'); do [ "$(readlink /proc/$pid/ns/net)" = "$own" ] && echo $pid; done
    """
    return len(host.run(["sh", "-c", script]).stdout.split())


def within(seconds, condition):
    deadline = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def runs_of(site, name, run=""):
    """Folders of runs, or of one, on a host."""
    script = 'ls -d /tmp/work/whitewire-"$1"* /tmp/data*/whitewire-"$1"*'
    return site.testbed.host(name).run(["sh", "-c", script, "sh", run]).stdout.split()


@pytest.fixture
def config(ssh_config):
    return dict(ssh_config)


# -- pre-flight ----------------------------------------------------------------------------------------------


def test_good_hosts_pass_and_nothing_is_left(config, ssh_site, capfd):
    before = {host.name: runs_of(ssh_site, host.name) for host in ssh_site.testbed.hosts}
    begin = time.monotonic()
    SshTestbed.whole(config).preflight()
    assert time.monotonic() - begin < preflight._ANSWER_S
    table = capfd.readouterr().err
    assert len(table.splitlines()) >= 7
    for host in ssh_site.testbed.hosts:
        assert f"{host.name} " in table
        assert runs_of(ssh_site, host.name) == before[host.name]
    assert "1gbe=eth0:10000/1500 10gbe=eth1:10000/1500" in table
    assert " NO " not in table


def test_every_host_that_cannot_be_used_is_named_in_one_table(config, ssh_site: SshSite, capfd):
    """One refuses, one hangs, one has another key, one a full disk, a skewed clock, no Java and a busy port."""
    site, sick = ssh_site, ssh_site.testbed.host("datanode4")
    try:
        site.write_config(site.proxies | {"datanode1": "false", "datanode2": "sleep 1000"})
        site.write_known_hosts(site.public | {"datanode3": site.public["client"]})
        site.hide(sick, "/usr/bin/date", b"#!/bin/sh\necho 1500000000.5\n", "755")
        site.hide(sick, "/usr/bin/java", b"", "644")
        site.hide(sick, "/usr/bin/fio", b"", "644")
        site.as_root(sick, "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "/tmp/data2")
        port = subprocess.Popen(site.as_user(sick, ["iperf3", "--server", "--port", "9866"]), stdout=subprocess.DEVNULL)
        begin = time.monotonic()
        with pytest.raises(UserError) as error:
            SshTestbed(config, SMALL, "site.yaml").preflight()
        assert time.monotonic() - begin < preflight._ANSWER_S + 3
    finally:
        port.kill()
        port.wait()
        for path in ("/usr/bin/date", "/usr/bin/java", "/usr/bin/fio", "/tmp/data2"):
            site.as_root(sick, "umount", path)
        site.write_known_hosts(site.public)
        site.write_config(site.proxies)
    table = capfd.readouterr().err
    lines = {line.split()[0]: line for line in table.splitlines() if " NO " in line}
    assert set(lines) == {"datanode1", "datanode2", "datanode3", "datanode4"}
    # ssh may end without a word: what it would say is below the level of an error.
    assert re.search("[Cc]onnection (was )?closed|banner exchange", lines["datanode1"])
    assert "timed out" in lines["datanode2"] or "no answer in" in lines["datanode2"]
    assert "Host key for datanode3 has changed" in lines["datanode3"]
    assert "another host key" in lines["datanode3"]
    for what in ("clock -", "no Java", "no fio", "GiB free in /tmp/data2", "something listens on port 9866"):
        assert what in lines["datanode4"], what
    assert str(error.value).startswith("site.yaml: 4 of 6 hosts cannot be used: datanode1 (datanode1): ")
    assert all(name in str(error.value) for name in lines)


def test_a_host_whose_key_is_not_known_is_not_trusted(config, ssh_site, capfd):
    try:
        ssh_site.write_known_hosts({n: key for n, key in ssh_site.public.items() if n != "client"})
        with pytest.raises(
            UserError, match="1 of 6 hosts cannot be used: client .*host key is known for client .* once"
        ):
            SshTestbed(config, SMALL).preflight()
        assert "client" not in (ssh_site.local / "known_hosts").read_text()
    finally:
        ssh_site.write_known_hosts(ssh_site.public)


def test_nobody_is_asked_for_a_password(config, ssh_site, tmp_path, capfd):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "other")], check=True)
    text = ssh_site.config.read_text().replace(f"{ssh_site.local}/id", f"{tmp_path}/other")
    (tmp_path / "config").write_text(text)
    with pytest.raises(UserError, match=r"6 of 6 hosts.*Permission denied \(publickey\)"):
        SshTestbed(config | {"ssh_config": str(tmp_path / "config")}, SMALL).preflight()
    assert str(tmp_path / "other") not in capfd.readouterr().err  # no key, nor where it is


def test_too_little_memory_and_too_slow_an_interface(config, capfd):
    fabrics = config["fabrics"] | {"40gbe": {"rate_mbit_per_s": 400000, "interface": "eth1"}}
    with pytest.raises(UserError) as error:
        SshTestbed(config | {"memory": {"minimum_gib": 10000}, "fabrics": fabrics}, SMALL).preflight()
    assert "6 of 6 hosts" in str(error.value)
    assert "GiB of memory, 10000 needed" in str(error.value)
    assert "eth1 (40gbe) at 10000 Mbit/s, expected 20000" in str(error.value)


def test_what_opening_finds_is_one_line(config, ssh_site):
    """Without a pre-flight before it: a host that refuses, and a folder that is not local to each host."""
    before = {host.name: runs_of(ssh_site, host.name) for host in ssh_site.testbed.hosts}
    try:
        ssh_site.write_config(ssh_site.proxies | {"datanode3": "false"})
        with pytest.raises(UserError, match=r"site.yaml: 1 of 6 hosts not usable: datanode3 \(datanode3\): "):
            SshTestbed(config, SMALL, "site.yaml").__enter__()
    finally:
        ssh_site.write_config(ssh_site.proxies)
    with pytest.raises(UserError, match="5 of 6 hosts not usable.*File exists.*local to each host"):
        SshTestbed(config | {"work": "/run/whitewire/shared-work"}, SMALL).__enter__()
    assert before == {host.name: runs_of(ssh_site, host.name) for host in ssh_site.testbed.hosts}


# -- clean-up ------------------------------------------------------------------------------------------------


def test_a_timeout_ends_what_the_command_started(ssh_testbed, ssh_site):
    with pytest.raises(subprocess.TimeoutExpired):
        ssh_testbed.host("datanode1").run(SLEEPER, timeout=0.5)
    assert within(3, lambda: sleepers(ssh_site, "datanode1") == 0)


def test_a_daemons_children_end_with_it(ssh_testbed, ssh_site, tmp_path):
    daemon = ssh_testbed.host("datanode1").start(SLEEPER, tmp_path / "log")
    daemon.wait_ready("started", timeout=5)
    assert within(5, lambda: sleepers(ssh_site, "datanode1") == 2)
    daemon.kill()
    assert sleepers(ssh_site, "datanode1") == 0


def test_a_lost_connection_cleans_its_host_and_no_other(config, ssh_site, tmp_path):
    with SshTestbed(config, SMALL) as testbed:
        lost, kept = testbed.host("datanode1"), testbed.host("datanode2")
        daemons = [host.start(SLEEPER, tmp_path / host.name) for host in (lost, kept)]
        for daemon in daemons:
            daemon.wait_ready("started", timeout=5)

        def left():
            return runs_of(ssh_site, "datanode1", testbed.layout.run)

        assert len(left()) == 3
        os.kill(lost.watcher.pid, signal.SIGKILL)
        assert within(15, lambda: sleepers(ssh_site, "datanode1") == 0 and not left())
        assert within(5, lambda: not daemons[0].alive)
        with pytest.raises(CommandFailed, match=r"datanode1 \(datanode1\): the connection is lost"):
            lost.run(["true"])
        assert sleepers(ssh_site, "datanode2") == 2
        assert daemons[1].alive
        assert kept.run(["true"]).status == 0
    assert sleepers(ssh_site, "datanode2") == 0


def test_a_copy_of_software_that_is_cut_off_leaves_nothing(config, ssh_site):
    def parts():
        return ssh_site.testbed.host("datanode1").run(["find", "/tmp/work", "-name", "*part.*"]).stdout

    with SshTestbed(config, SMALL) as testbed:
        host = testbed.host("datanode1")
        unpack = shell.script(shell.UNPACK, f"{testbed.layout.work}/software-cut", "2", host.folder)
        command = shell.environment(unpack, {}, testbed.layout.path, host._mark())
        popen = host.popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert within(5, parts)
        os.kill(host.watcher.pid, signal.SIGKILL)
        assert within(15, lambda: not parts())
        popen.stdin.close()
        popen.wait(timeout=5)


def test_a_host_that_is_lost_while_it_is_sampled_is_named(config):
    with SshTestbed(config, {"namenode": 1, "datanode": 2}) as testbed:
        with pytest.raises(CommandFailed, match="sampling of datanode2: ended before the run"):
            with testbed.sampler():
                os.kill(testbed.host("datanode2").watcher.pid, signal.SIGKILL)


def test_a_host_that_hears_nothing_cleans_up(config, ssh_site, tmp_path, monkeypatch):
    """As when the network breaks: the connection stands, and nothing comes."""
    monkeypatch.setattr(shell, "WATCH_PATIENCE_S", 2)
    monkeypatch.setattr(shell, "BEAT_S", 0.3)
    with SshTestbed(config, {"namenode": 1, "datanode": 1}) as testbed:
        host = testbed.host("datanode")
        host.start(SLEEPER, tmp_path / "log").wait_ready("started", timeout=5)
        time.sleep(3)
        assert sleepers(ssh_site, "datanode1") == 2  # heard of, it waits
        os.kill(host.watcher.pid, signal.SIGSTOP)
        try:
            run = testbed.layout.run
            assert within(8, lambda: sleepers(ssh_site, "datanode1") == 0 and not runs_of(ssh_site, "datanode1", run))
        finally:
            os.kill(host.watcher.pid, signal.SIGCONT)


def test_two_testbeds_on_the_same_hosts_leave_each_other_alone(config, ssh_site, ssh_testbed, tmp_path):
    daemon = ssh_testbed.host("datanode1").start(SLEEPER, tmp_path / "log")
    daemon.wait_ready("started", timeout=5)
    with SshTestbed(config, SMALL) as other:
        assert other.layout.folder != ssh_testbed.layout.folder
        other.host("datanode1").start(SLEEPER, tmp_path / "other").wait_ready("started", timeout=5)
        assert within(5, lambda: sleepers(ssh_site, "datanode1") == 4)
    assert sleepers(ssh_site, "datanode1") == 2
    assert daemon.alive
    assert ssh_testbed.host("datanode1").run(["test", "-d", ssh_testbed.layout.folder]).status == 0
    daemon.kill()


# -- connections ---------------------------------------------------------------------------------------------


def test_more_commands_at_once_than_a_server_allows_on_one_connection(ssh_testbed, tmp_path):
    host = ssh_testbed.host("datanode3")
    daemons = [host.start(["sh", "-c", f"echo up {n}; exec sleep 100"], tmp_path / str(n)) for n in range(SESSIONS + 5)]
    for daemon in daemons:
        daemon.wait_ready(r"up \d+", timeout=20)
    assert len(host.connections) >= 2
    threads = [threading.Thread(target=lambda: host.run(["sleep", "0.2"]).check()) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(daemon.alive for daemon in daemons)
    for daemon in daemons:
        daemon.kill()
    assert not any(daemon.alive for daemon in daemons)


def test_large_output_and_input_pass_whole(ssh_testbed):
    content = os.urandom(3_000_000)
    host = ssh_testbed.host("client")
    host.put(content, f"{host.scratch}/large")
    assert host.get(f"{host.scratch}/large") == content


def test_commands_run_in_their_own_folder_with_nothing_of_the_logins_environment(ssh_testbed):
    host = ssh_testbed.host("client")
    assert host.run(["pwd"]).stdout.decode().strip() == host.scratch
    names = {line.split("=")[0] for line in host.run(["env"]).stdout.decode().splitlines()}
    assert names <= {"PATH", "LC_ALL", shell.MARKER, "PWD", "OLDPWD", "_"}


# -- fabrics -------------------------------------------------------------------------------------------------


def test_another_fabric_means_other_addresses(ssh_testbed):
    one = ssh_testbed.fabric("1gbe")
    first = [host.address for host in ssh_testbed.hosts]
    ten = ssh_testbed.fabric("10gbe")
    second = [host.address for host in ssh_testbed.hosts]
    assert (one.rate, one.full_scale_rate, ten.rate, ten.full_scale_rate) == (50, 1000, 500, 10000)
    assert all(a.startswith("10.77.") and b.startswith("10.78.") for a, b in zip(first, second, strict=True))
    assert [host.endpoint for host in ssh_testbed.hosts] == second
    assert ssh_testbed.fastest() == "10gbe"  # services have these addresses now
    with pytest.raises(UserError, match="only on an emulated testbed"):
        ssh_testbed.fabric("10gbe", port_buffer=65536)
    with pytest.raises(UserError, match="only on an emulated testbed"):
        ssh_testbed.offloads(False)
    ssh_testbed.offloads(True)


def test_a_link_that_is_down_and_a_route_by_the_wrong_one(ssh_testbed, ssh_site):
    host = ssh_site.testbed.host("datanode1")
    ssh_site.as_root(host, "ip", "link", "set", "eth1", "down")
    try:
        with pytest.raises(UserError, match=r"fabric 10gbe: .*datanode1 \(datanode1\): eth1 is down"):
            ssh_testbed.fabric("10gbe")
    finally:
        ssh_site.as_root(host, "ip", "link", "set", "eth1", "up")
    assert within(5, lambda: ssh_testbed.host("datanode1").run(["cat", "/sys/class/net/eth1/carrier"]).stdout == b"1\n")
    ssh_testbed.fabric("10gbe")
    peer = ssh_testbed.host("datanode2").address
    ssh_site.as_root(host, "ip", "route", "add", f"{peer}/32", "dev", "eth0")
    try:
        with pytest.raises(UserError, match=f"datanode1.*what goes to {peer} leaves by eth0, expected eth1"):
            ssh_testbed.fabric("10gbe")
    finally:
        ssh_site.as_root(host, "ip", "route", "del", f"{peer}/32", "dev", "eth0")
    ssh_testbed.fabric("1gbe")


# -- software and environment --------------------------------------------------------------------------------


def test_drives_are_the_sites_folders_and_are_cleared(ssh_testbed):
    host = ssh_testbed.host("datanode1")
    assert [Path(host.drive(n)).parent.as_posix() for n in (1, 2)] == ["/tmp/data1", "/tmp/data2"]
    host.put(b"x", f"{host.drive(2)}/current/block")
    assert host.run(["cat", f"{host.drive_root}/2/current/block"]).stdout == b"x"
    host.clear_drives()
    assert host.run(["ls", "-A", host.drive(1), host.drive(2)]).stdout.decode().split() == [
        f"{host.drive(1)}:", f"{host.drive(2)}:"]  # fmt: skip
    with pytest.raises(UserError, match="data: found 2 folders, expected at least 3"):
        host.drive(3)


def test_hosts_describe_themselves(ssh_testbed):
    found = ssh_testbed.describe()
    assert set(found) == {host.name for host in ssh_testbed.hosts}
    host = found["datanode1"]
    assert host["processors"].isdigit()
    assert host["memory"].startswith("MemTotal")
    assert "tcp_congestion_control" in host["sysctls"]
    assert "version" in host["java"]
    assert host["fabrics"]["10gbe"]["interface"] == "eth1"
    assert "driver: veth" in host["fabrics"]["10gbe"]["driver"]
    assert "generic-segmentation-offload" in host["fabrics"]["10gbe"]["offloads"]
    assert "htb" in host["fabrics"]["10gbe"]["qdisc"]


@pytest.mark.cluster
def test_our_hadoop_is_copied_once_and_runs(config, ssh_site):
    roles = {"namenode": 1, "datanode": 1}
    with SshTestbed(config, roles) as testbed:
        installation = testbed.installation()
        assert testbed.installation() is installation
        for host in testbed.hosts:
            argv = installation.argv("org.apache.hadoop.util.VersionInfo", 128, {})
            assert host.run(argv, timeout=60).check().stdout.startswith(b"Hadoop 3.")
            assert host.run([f"{installation.java_home}/bin/java", "-version"]).status == 0
        folder = str(Path(installation.workloads).parent)
        stamp = testbed.hosts[0].run(["stat", "-c", "%Y %i", folder]).check().stdout
    with SshTestbed(config, roles) as testbed:  # it outlives the run and is not copied again
        assert testbed.installation().workloads == installation.workloads
        assert testbed.hosts[0].run(["stat", "-c", "%Y %i", folder]).check().stdout == stamp


@pytest.mark.cluster
def test_hadoop_of_the_site_is_used(config):
    roles = {"namenode": 1, "datanode": 1}
    with SshTestbed(config | {"hadoop": "/run/whitewire/hadoop"}, roles) as testbed:
        installation = testbed.installation()
        assert any(jar.startswith("/run/whitewire/hadoop/hadoop-common") for jar in installation.jars)
        assert not [jar for jar in installation.jars if "defaults.jar" in jar or jar.endswith("-tests.jar")]
        argv = installation.argv("org.apache.hadoop.util.VersionInfo", 128, {})
        assert testbed.hosts[1].run(argv, timeout=60).check().stdout.startswith(b"Hadoop 3.")
    with SshTestbed(config | {"hadoop": "/nowhere"}, roles, "site.yaml") as testbed:
        with pytest.raises(UserError, match="site.yaml: hadoop: found no jars of Hadoop below /nowhere on namenode"):
            testbed.installation()
