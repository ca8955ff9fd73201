"""A site's shared file system, on hosts that are folders of this machine."""

import subprocess

import pytest

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


class Hosts:
    def __init__(self, *hosts):
        self.hosts = list(hosts)


def test_own_folder_only_and_removed_at_the_end(tmp_path):
    (tmp_path / "theirs").write_text("x")
    with Posix(Hosts(LocalHost("a"), LocalHost("b")), str(tmp_path)) as store:
        assert store.layout("data/in", 4, 2**20) == ""
        assert store.layouts == {f"{store.mount}/data/in": ""}
        assert store.kind
        assert store.free() > 0
        assert (store.dead(), store.processes()) == ([], {})
        store.check()
        store.remove("data")
        for outside in ("../theirs", "/etc", str(tmp_path)):
            with pytest.raises(UserError, match="is not below"):
                store.remove(outside)
        with pytest.raises(UserError, match="removed by stop"):
            store.remove(".")
        with pytest.raises(UserError, match=r"GB free on .*, 1000000000.0 GB are needed"):
            store.need(10**18)
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
    with pytest.raises(UserError, match="is gone from a"):
        store.check()


def test_stripes_on_lustre(tmp_path):
    host = LocalHost("a", answers={"stat -f -c %T": b"lustre\n", "lfs ": b""})
    with Posix(Hosts(host), str(tmp_path)) as store:
        assert store.layout("x", 8, 2**20) == "setstripe --stripe-count 8 --stripe-size 1048576"
        assert host.ran[-1][-1] == f"{store.mount}/x"
