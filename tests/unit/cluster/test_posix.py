"""A site's shared file system, on hosts that are folders of this machine."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from whitewire.cluster import posix
from whitewire.cluster.posix import Posix
from whitewire.errors import UserError
from whitewire.testbed.base import Completed


class LocalHost:
    """Runs commands here; `hidden` hides what lies below a path, as a host without the mount would."""

    def __init__(self, name, hidden=None, answers=None):
        self.name, self.hidden, self.answers, self.ran = name, hidden, answers or {}, []

    def run(self, argv, env=None, stdin=None, timeout=None):
        self.ran.append(argv)
        for words, answer in self.answers.items():
            if " ".join(argv).startswith(words):
                return Completed(tuple(argv), 0, answer, b"")
        if self.hidden and argv[0] == "cat" and argv[-1].startswith(self.hidden):
            return Completed(tuple(argv), 1, b"", b"No such file")
        done = subprocess.run(argv, input=stdin or b"", capture_output=True)
        return Completed(tuple(argv), done.returncode, done.stdout, done.stderr)

    run_outside = run


class Hosts:
    def __init__(self, *hosts):
        self.hosts = list(hosts)


def test_own_folder_only_and_removed_at_the_end(tmp_path):
    (tmp_path / "theirs").write_text("x")
    with Posix(Hosts(LocalHost("a"), LocalHost("b")), str(tmp_path)) as store:
        assert store.layout("data/in", 4, 2**20) == ""
        assert store.layouts == {f"{store.mount}/data/in": ""}
        assert store.kind
        assert (store.dead(), store.processes()) == ([], {})
        store.check()
        store.remove("data")
        for outside in ("../theirs", "/etc", str(tmp_path)):
            with pytest.raises(UserError, match="is not below"):
                store.remove(outside)
        with pytest.raises(UserError, match="removed by stop"):
            store.remove(".")
    assert [path.name for path in tmp_path.iterdir()] == ["theirs"]


def test_hosts_that_do_not_share_it(tmp_path):
    hosts = Hosts(LocalHost("a"), LocalHost("b", hidden=str(tmp_path)))
    with pytest.raises(UserError, match="b does not see what a wrote to .*; mount one shared file system"):
        Posix(hosts, str(tmp_path)).start()
    assert not list(tmp_path.iterdir())


def test_no_such_folder(tmp_path):
    with pytest.raises(UserError, match="a cannot make a folder in .*/absent: .*No such file"):
        Posix(Hosts(LocalHost("a")), str(tmp_path / "absent")).start()
    with pytest.raises(UserError, match="not an absolute path"):
        Posix(Hosts(LocalHost("a")), "scratch")


def test_a_folder_that_vanishes(tmp_path):
    store = Posix(Hosts(LocalHost("a")), str(tmp_path))
    store.start()
    store.stop()
    for _ in range(2):
        with pytest.raises(UserError, match="is gone from a"):
            store.check()


def test_it_is_not_asked_again_and_again_while_it_is_measured(tmp_path, monkeypatch):
    host, now = LocalHost("a"), [1000.0]
    monkeypatch.setattr(posix.time, "monotonic", lambda: now[0])
    with Posix(Hosts(host), str(tmp_path)) as store:
        store.check()
        before = len(host.ran)
        for _ in range(100):
            store.check()
        assert len(host.ran) == before
        now[0] += posix._LOOK_S
        store.check()
        assert len(host.ran) == before + 1


@pytest.fixture
def nobody(tmp_path, monkeypatch):
    """No right to empty the cache of the whole machine."""
    monkeypatch.setattr(posix, "DROP_CACHES", str(tmp_path / "absent" / "drop_caches"))


@pytest.mark.skipif(shutil.which("fincore") is None, reason="fincore is not installed")
def test_files_leave_the_memory_of_an_ordinary_users_host(tmp_path, nobody):
    with Posix(Hosts(LocalHost("a")), str(tmp_path)) as store:
        store.layout("in", 1, 2**20)
        for name in ("one", "a b'c"):
            Path(store.path(f"in/{name}")).write_bytes(os.urandom(2**20))
        if held(store.path("in/one")) == 0 or store.kind == "tmpfs":
            pytest.skip("files of this folder are never in the page cache, or always")
        store.remount()
        assert store.warm == []
        assert held(store.path("in/one")) == 0


def held(path):
    """Bytes of a file in the page cache."""
    return int(subprocess.check_output(["fincore", "--bytes", "--noheadings", "--output", "RES", path]))


@pytest.mark.parametrize("tools, why", [
    ({"fincore": "#!/bin/sh\necho 4096\n"}, "a: 4096 bytes of files stayed in memory"),
    ({"fincore": "#!/bin/sh\nexit 1\n"}, "a: no message"),
    ({"dd": "#!/bin/sh\necho no such flag >&2; exit 1\n"}, "a: no such flag"),
    ({}, "a: no fincore, which shows what memory holds; install util-linux (on Debian util-linux-extra)"),
])  # fmt: skip
def test_what_is_not_shown_to_have_left_memory_is_reported(tmp_path, monkeypatch, nobody, tools, why):
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    for name in ("sh", "sync", "find", "head", "dd", "awk", "mkdir", "stat", "rm", "cat"):
        (bin_ / name).symlink_to(shutil.which(name))
    for name, text in tools.items():
        (bin_ / name).unlink(missing_ok=True)
        (bin_ / name).write_text(text)
        (bin_ / name).chmod(0o755)
    if "dd" in tools:
        (bin_ / "fincore").symlink_to("/bin/true")
    with Posix(Hosts(LocalHost("a")), str(tmp_path)) as store:
        for name in ("one", "two"):
            Path(store.path(name)).mkdir()
            Path(store.path(f"{name}/file")).write_bytes(b"x")
        monkeypatch.setenv("PATH", str(bin_))
        store.remount()
        assert store.warm == [why]
        monkeypatch.undo()


@pytest.mark.skipif(shutil.which("fincore") is None, reason="fincore is not installed")
def test_what_root_may_do_is_shown_as_well(tmp_path, monkeypatch):
    """The kernel takes the word, and keeps what is mapped or dirty again."""
    (tmp_path / "drop_caches").touch()
    monkeypatch.setattr(posix, "DROP_CACHES", str(tmp_path / "drop_caches"))
    with Posix(Hosts(LocalHost("a")), str(tmp_path)) as store:
        Path(store.path("file")).write_bytes(b"x" * 8192)
        if held(store.path("file")) == 0:
            pytest.skip("files of this folder are never in the page cache")
        store.remount()
        assert (tmp_path / "drop_caches").read_text() == "3\n"
        assert store.warm == ["a: 8192 bytes of files stayed in memory"]


def test_memory_that_is_not_the_page_cache_cannot_be_shown_to_be_empty(tmp_path, nobody):
    with Posix(Hosts(LocalHost("a", answers={"stat -f -c %T": b"gpfs\n"})), str(tmp_path)) as store:
        store.remount()
        assert store.warm == ["a: gpfs has memory of its own, which no ordinary user can empty"]


def test_stripes_on_lustre(tmp_path):
    host = LocalHost("a", answers={"stat -f -c %T": b"lustre\n", "lfs ": b""})
    with Posix(Hosts(host), str(tmp_path)) as store:
        assert store.layout("x", 8, 2**20) == "setstripe --stripe-count 8 --stripe-size 1048576"
        assert host.ran[-1][-1] == f"{store.mount}/x"
