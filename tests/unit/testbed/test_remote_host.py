"""A remote host's life, with this machine as the host and sh in place of ssh."""

import os
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import replace
from types import SimpleNamespace

import psutil
import pytest

from whitewire.testbed.base import CommandFailed
from whitewire.testbed.site import deployment, shell
from whitewire.testbed.site.inventory import Place
from whitewire.testbed.site.remote import RemoteTestbed
from whitewire.testbed.site.remote_host import _CARRIED, Layout, RemoteHost

PLACE = Place("datanode1", "datanode", "here", "hosts[0]", {})


class Here(RemoteHost):
    def carry(self, command):
        return ["sh", "-c", command]

    def popen(self, command, **options):
        return self._popen(self.carry(command), **options)


@pytest.fixture
def host(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "data").mkdir()
    layout = Layout.of({"work": str(tmp_path / "work"), "data": [str(tmp_path / "data")]})
    made = Here(PLACE, layout)
    yield made
    made.release()
    made.closed(10)


def test_nothing_is_sent_to_a_host_that_is_not_open(host):
    host.beat()
    host.release()
    assert host.closed(0)
    with pytest.raises(CommandFailed, match="the connection is lost"):
        host.run(["true"])


def test_a_host_opens_runs_commands_and_cleans_up(host, tmp_path):
    host.open(tmp_path)
    host.beat()
    assert host.run(["cat"], stdin=b"said").check().stdout == b"said"
    assert abs(host.clock_offset()) < 5
    host.put(b"content", f"{host.scratch}/file")
    assert host.get(f"{host.scratch}/file") == b"content"
    daemon = host.start(["sh", "-c", "echo up; exec sleep 60"], tmp_path / "daemon.log")
    daemon.wait_ready("up", timeout=10)
    assert daemon.cpu_seconds() >= 0
    daemon.stop()
    assert not daemon.alive
    host.release()
    assert host.closed(15)
    host.beat()  # the thread that beats may be on its way
    assert list((tmp_path / "work").iterdir()) == list((tmp_path / "data").iterdir()) == []


def test_software_that_lost_a_file_is_copied_again(host, tmp_path, capfd):
    """As to systemd-tmpfiles, which removes files that nothing has used for some weeks, one by one."""
    (tmp_path / "jar").write_bytes(b"content")
    files = {f"hadoop/{name}.jar": tmp_path / "jar" for name in "ab"}
    folder = tmp_path / "work" / "software-1"
    testbed = SimpleNamespace(hosts=[host], on_all=lambda act: [act(host)], source="x.yaml")
    host.open(tmp_path)
    for lost, copies in (("a", 1), (None, 1), (None, 0)):
        deployment._copy(testbed, files, str(folder))
        assert sorted(path.name for path in folder.rglob("*.jar")) == ["a.jar", "b.jar"]
        assert capfd.readouterr().err.count("MB to copy") == copies
        if lost:
            (folder / "hadoop" / f"{lost}.jar").unlink()


def test_local_files_go_although_a_scheduler_signals_all_processes_of_its_job(host, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    testbed = RemoteTestbed({}, [], host.layout, "x.yaml")
    testbed._make_private()
    (testbed.private / "datanode1.said").touch()
    janitor = testbed._janitor
    while not psutil.Process(janitor.pid).children():  # it has begun to wait
        assert janitor.poll() is None
        time.sleep(0.01)
    for number in (signal.SIGTERM, signal.SIGUSR2):
        os.killpg(janitor.pid, number)
    testbed.__exit__(None, None, None)
    assert janitor.returncode == 0 and not testbed.private.exists()


@pytest.mark.parametrize(("length", "used"), [(54, True), (55, False)])
def test_control_sockets_fit_below_the_folder_of_temporary_files(monkeypatch, length, used):
    with tempfile.TemporaryDirectory(dir="/tmp") as top:
        base = f"{top}/".ljust(length, "x")
        os.mkdir(base)
        monkeypatch.setattr(tempfile, "tempdir", base)
        testbed = RemoteTestbed({}, [], Layout("", "", (), "", ""), "")
        testbed._make_private()
        assert str(testbed.private.parent) == (base if used else "/tmp")
        with socket.socket(socket.AF_UNIX) as control:
            control.bind(f"{testbed.private}/datanode100.10.{'x' * 16}")
        testbed.__exit__(None, None, None)


def test_a_command_that_takes_too_long_is_ended(host, tmp_path):
    host.open(tmp_path)
    begin = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        host.run(["sleep", "60"], timeout=0.3)
    assert time.monotonic() - begin < 20


def test_a_host_whose_folder_is_there_already_says_so(host, tmp_path):
    (tmp_path / "work" / f"whitewire-{host.layout.run}").mkdir()
    with pytest.raises(CommandFailed, match="`work` and `data` are to be folders that are local to each host"):
        host.open(tmp_path)


def test_a_clock_whose_answer_is_cut_off_is_asked_again(host, monkeypatch):
    """srun loses what a command says some once in two thousand times; a run asks each host's clock twice."""
    asked, carry = [], host.carry

    def cut(command):
        asked.append(command)
        return ["true"] if len(asked) < _CARRIED else carry(command)

    monkeypatch.setattr(host, "carry", cut)
    assert abs(host.clock_offset()) < 5
    assert len(asked) == _CARRIED
    monkeypatch.setattr(host, "carry", lambda command: ["true"])
    with pytest.raises(CommandFailed, match="the connection was closed before the host answered"):
        host.clock_offset()


class Slow(Here):
    """Its login takes longer than a watcher waits for a word."""

    def carry(self, command):
        return ["sh", "-c", f"sleep 3; {command}"]


def test_hosts_that_are_open_hear_from_us_while_others_open(tmp_path, monkeypatch):
    monkeypatch.setattr(shell, "WATCH_PATIENCE_S", 1)
    monkeypatch.setattr(shell, "BEAT_S", 0.1)
    config = {"work": str(tmp_path), "data": [str(tmp_path)], "fabrics": {"10gbe": {}}}
    hosts = [
        Here(PLACE, Layout.of(config)),
        Slow(replace(PLACE, name="datanode2"), Layout.of(config)),
    ]
    testbed = RemoteTestbed(config, hosts, hosts[0].layout, "x.yaml")
    monkeypatch.setattr(testbed, "_learn", lambda: None)
    monkeypatch.setattr(testbed, "fabric", lambda name: None)
    with testbed:
        assert [host.connected for host in hosts] == [True, True]
