"""The scripts behind the figures for speed run as their first lines say, and print what they measured."""

import subprocess
import sys

import pytest

from whitewire.paths import HOME

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["jobs.py", "--replicates", "1"], "of the CPU time"),
        (["cephfs.py", "--starts", "1", "--repeats", "1"], "remount of"),
        (["chaos.py", "--kinds", "kill", "--times", "1", "--testbeds", "emulated"], "1 of 1 faults in"),
    ],
    ids=("jobs", "cephfs", "chaos"),
)
def test_a_bench_runs(can_emulate, argv, said):
    script, *arguments = argv
    command = [sys.executable, f"bench/{script}", *arguments]
    done = subprocess.run(command, cwd=HOME, capture_output=True, text=True, timeout=800, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert said in done.stdout
