"""Services together: what is asked of one that is not there."""

from types import SimpleNamespace

import pytest

from whitewire.cluster.cephfs import CephFs
from whitewire.cluster.posix import Posix
from whitewire.cluster.service import Service
from whitewire.cluster.stack import Stack
from whitewire.design.drive import Drive


def test_a_clusters_own_yarn_alone_can_be_told_which_workers_work():
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


class Noted(Service):
    """Notes when it begins and starts."""

    start_seconds = 1.0

    def __init__(self, notes, name):
        self.notes, self.name, self.drive = notes, name, Drive.none()

    def begin(self):
        self.notes.append(f"{self.name} begins")

    def start(self):
        self.notes.append(f"{self.name} starts")

    def stop(self):
        self.notes.append(f"{self.name} stops")

    def processes(self):
        return {}


def test_what_needs_no_other_service_comes_up_beside_the_first():
    notes = []
    stack = Stack(Noted(notes, "hdfs"), Noted(notes, "yarn"))
    stack.start()
    assert notes == ["hdfs begins", "yarn begins", "hdfs starts", "yarn starts"]


def test_a_service_of_its_own_begins_and_starts():
    notes = []
    with Noted(notes, "hdfs"):
        assert notes == ["hdfs begins", "hdfs starts"]
