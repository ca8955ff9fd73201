"""Services together: what is asked of one that is not there."""

from types import SimpleNamespace

import pytest

from whitewire.cluster.stack import Stack
from whitewire.design.drive import Drive


def test_a_clusters_own_yarn_alone_can_be_told_which_workers_work():
    stack = Stack(SimpleNamespace(drive=Drive.none()))
    stack.work_on(None)  # all of them, as it is
    with pytest.raises(RuntimeError, match="only a YARN of our own"):
        stack.work_on((2, 2))
