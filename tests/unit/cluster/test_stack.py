"""Services together: what is asked of one that is not there."""

from types import SimpleNamespace

import pytest

from whitewire.cluster.cephfs import CephFs
from whitewire.cluster.posix import Posix
from whitewire.cluster.stack import Stack
from whitewire.design.drive import Drive


def test_a_clusters_own_yarn_alone_can_choose_which_workers_work():
    stack = Stack(SimpleNamespace(drive=Drive.none()))
    stack.work_on(None)  # all of them, as it is
    with pytest.raises(RuntimeError, match="only a YARN of our own"):
        stack.work_on((2, 2))


def test_a_file_system_that_started_at_its_second_try_says_why():
    twice = CephFs.__new__(CephFs)
    twice.first_failure = "ost6 ended"
    hdfs = SimpleNamespace(drive=Drive.none())
    assert Stack(hdfs, None, twice).first_failure == "ost6 ended"
    assert Stack(hdfs).first_failure == Stack(hdfs, None, Posix(SimpleNamespace(hosts=[]), "/x")).first_failure == ""
