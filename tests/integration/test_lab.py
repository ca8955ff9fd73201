"""`whitewire lab`: a shell on the cluster of a paper, whatever its first experiment is."""

import os
import re
import subprocess
import sys

import pytest

from whitewire.paths import HOME, temporary

pytestmark = pytest.mark.cluster

COMMANDS = """
hosts
hdfs dfs -mkdir /made
hdfs dfs -ls /
on datanode1 hostname
fabric 1gbe
fabric 1gbx
exit 3
"""


def test_a_shell_on_the_cluster_of_a_paper_without_drives(can_emulate):
    """The first experiment of chelsio-iwarp is one of jobs, and has no modelled drive."""
    before = set(temporary().glob("lab-*"))
    done = subprocess.run(
        [sys.executable, "-m", "whitewire", "lab"], input=COMMANDS, text=True, capture_output=True, timeout=300,
        cwd=HOME, env={**os.environ, "PAPERS": "chelsio-iwarp", "TESTBED": "emulated"}, check=False,
    )  # fmt: skip
    said = done.stdout + done.stderr
    assert done.returncode == 3, said  # what the shell ended with
    assert "Traceback" not in said
    assert "HDFS ready in" in said
    assert re.search(r"^datanode2 +datanode +[0-9.]+$", done.stdout, re.MULTILINE)
    assert re.search(r"supergroup .* /made$", done.stdout, re.MULTILINE)
    assert "datanode1" in done.stdout.splitlines()
    assert "all links at 50 Mbit/s (1000 Mbit/s at full scale)" in done.stdout
    assert "fabric 1gbx is not defined" in done.stdout
    assert set(temporary().glob("lab-*")) == before, "something is left"
