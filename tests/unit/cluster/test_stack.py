"""Services together: what is asked of one that is not there."""

import json
from types import SimpleNamespace

import pytest

from whitewire.cluster.cephfs import CephFs
from whitewire.cluster.posix import Posix
from whitewire.cluster.stack import Stack
from whitewire.design.drive import Drive
from whitewire.testbed.base import Completed
from whitewire.tools import Unreadable
from whitewire.tools.daemon import settings_of_daemon


def test_a_clusters_own_yarn_alone_can_choose_which_workers_work():
    stack = Stack(SimpleNamespace(drive=Drive.none()))
    stack.work_on(None)  # all of them, as it is
    with pytest.raises(RuntimeError, match="only a YARN of our own"):
        stack.work_on((2, 2))


class Hdfs(SimpleNamespace):
    """Services are in sets."""

    __hash__ = object.__hash__


class Daemon(SimpleNamespace):
    """A host whose daemon answers curl with these settings."""

    def run(self, argv, env=None):
        self.asked = [page for page in argv if page.startswith("http:")]
        names = [page.rpartition("=")[2] for page in self.asked]
        said = "".join(json.dumps({"property": {"key": name, "value": self.has[name]}}) for name in names)
        return Completed(tuple(argv), 0, said.encode(), b"")


def test_every_daemon_that_reads_a_setting_says_what_it_has():
    handlers, streams = "dfs.datanode.handler.count", "dfs.namenode.replication.max-streams"
    master, one, other = (Daemon(has=has) for has in ({streams: "2"}, {handlers: "3"}, {handlers: "10"}))
    hdfs = Hdfs(
        drive=Drive.none(), installation=SimpleNamespace(environment=dict),
        web_servers={"namenode": [(master, "n:9870")], "datanode": [(one, "a:9864"), (other, "b:9864")]},
    )  # fmt: skip
    assert Stack(hdfs).settings_of_daemons([handlers, streams]) == {handlers: "10 and 3", streams: "2"}
    assert master.asked == [f"http://n:9870/conf?name={streams}"]
    assert other.asked == [f"http://b:9864/conf?name={handlers}"]
    with pytest.raises(Unreadable, match="b:9864/conf: found .*, expected dfs.datanode.handler.count with its value"):
        settings_of_daemon('{"property":{"key":"x","value":"1"}}', [handlers], "b:9864")


def test_a_file_system_that_started_at_its_second_try_says_why():
    twice = CephFs.__new__(CephFs)
    twice.first_failure = "ost6 ended"
    hdfs = SimpleNamespace(drive=Drive.none())
    assert Stack(hdfs, None, twice).first_failure == "ost6 ended"
    assert Stack(hdfs).first_failure == Stack(hdfs, None, Posix(SimpleNamespace(hosts=[]), "/x")).first_failure == ""
