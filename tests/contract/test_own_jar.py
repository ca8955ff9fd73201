"""A job on a site by ssh whose classes no host has: they come in the job's own jar."""

from __future__ import annotations

import pytest

from tests.support import own_job
from tests.support.small import stack_on
from whitewire.tools import history

pytestmark = [pytest.mark.cluster, pytest.mark.slow]


def test_a_job_brings_its_own_classes(ssh_testbed, tmp_path):
    with stack_on(ssh_testbed, tmp_path) as stack:
        stack.hdfs.shell("-mkdir", "-p", "/brought").check("mkdir")
        stack.hdfs.shell("-put", "/etc/hosts", "/brought/hosts").check("put")
        number = own_job.run(stack, "/brought", "/copied")
        assert history.job(stack.yarn.history(number))["state"] == "SUCCEEDED"
