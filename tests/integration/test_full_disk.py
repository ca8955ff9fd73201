"""A disk that is full in mid-block: the run under way is invalid, the block ends, the next start goes on."""

import json
import subprocess
import sys

import pytest

from whitewire.paths import HOME

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

DRIVER = """
import json
import os
import sys
from pathlib import Path

from tests.support.small import small_block
from whitewire.errors import UserError
from whitewire.measure import session
from whitewire.records.checked import read_block
from whitewire.workloads.hdfs_put import HdfsPut

folder = Path(sys.argv[1]) / "smoke-1"
filler, real, made = folder.parent / "filler", HdfsPut.run, []
block = small_block(folder)
warm = session.warm_up


def then_kept(*arguments):
    found = warm(*arguments)
    HdfsPut.run = with_a_full_disk
    return found


def with_a_full_disk(workload, bench):
    made.append(bench.run.row["run_id"])
    if len(made) == 2:
        with filler.open("wb", buffering=0) as file:
            disk = os.statvfs(folder)
            file.write(bytes(disk.f_bavail * disk.f_frsize))
    return real(workload, bench)


session.warm_up = then_kept
try:
    block.measure()
    line = ""
except UserError as error:
    line = str(error)
HdfsPut.run = real
filler.unlink()
first = read_block(folder, block.rows)
kept = {path.name: path.stat().st_mtime_ns for path in folder.glob("runs/*")}
small_block(folder).measure()
second = read_block(folder, block.rows)
print(json.dumps({
    "line": line, "hit": made[1], "faults": first.faults + second.faults,
    "finished": [bool(first.finished), bool(second.finished)],
    "first": [[record["run_id"], record["valid"], record["why_invalid"]] for _, record in first.runs],
    "second": [record["run_id"] for _, record in second.runs if record["valid"]],
    "stayed": all((folder / "runs" / name).stat().st_mtime_ns == when for name, when in kept.items()),
    "left": [path.name for path in folder.rglob(".part-*")],
}))
"""


def test_the_run_is_invalid_the_block_ends_and_the_next_start_goes_on(can_emulate, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = 'mount -t tmpfs -o size=16m tmpfs "$1" && exec "$2" -c "$3" "$1"'
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mounted, "-", disk, sys.executable, DRIVER],
        cwd=HOME, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert "No space left on device" in result["line"] and "free some space" in result["line"]
    assert result["faults"] == [] and result["left"] == []
    assert result["finished"] == [False, True]
    valid = [run_id for run_id, valid, _ in result["first"] if valid]
    assert len(valid) == 1 and result["hit"] not in valid
    # Its record may fit where its files do not; then it says why.
    assert all("No space left on device" in why for run_id, valid, why in result["first"] if run_id == result["hit"])
    assert result["stayed"] and len(result["second"]) == 5
