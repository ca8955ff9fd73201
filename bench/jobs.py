"""What does it take to start a job's containers, in JVMs that stay on their worker and in new ones?

    .venv/bin/python bench/jobs.py [--replicates 5]

Three workers of the emulated testbed sort almost nothing with three maps and three reduces, then write three small
files with TestDFSIO; prints seconds and CPU seconds of a job after two that are not counted, and their ratio.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

import psutil

from whitewire import paths
from whitewire.cluster import hdfs, yarn
from whitewire.cluster.hadoop import Resident
from whitewire.cluster.hdfs import hdfs_settings
from whitewire.cluster.yarn import yarn_settings
from whitewire.description.testbed import load_testbed
from whitewire.design.drive import Drive
from whitewire.testbed.emulated import software
from whitewire.testbed.emulated.sandbox import EmulatedTestbed
from whitewire.testbed.emulated.software import NAMENODE_IMAGE
from whitewire.workloads import terasort
from whitewire.workloads.testdfsio import TESTDFSIO_TOOL, write_arguments

ROLES = {"namenode": 1, "datanode": 3, "client": 1}
VIEWED = {"fs.defaultFS": yarn.VIEW}
TASKS, UNCOUNTED = 3, 2


def busy_seconds() -> float:
    """CPU seconds that the machine has spent on anything."""
    times = psutil.cpu_times()
    return sum(times) - times.idle - times.iowait - times.guest - times.guest_nice


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--replicates", type=int, default=5)
    replicates = arguments.parse_args().replicates
    medians: dict[str, dict[bool, tuple[float, float]]] = {}
    for stay in (True, False):
        for name, found in _measure(stay, replicates).items():
            seconds, cpu = zip(*found, strict=True)
            middle, used = medians.setdefault(name, {})[stay] = statistics.median(seconds), statistics.median(cpu)
            what = "JVMs that stay" if stay else "a new JVM a container"
            span = f"{min(seconds):.1f} to {max(seconds):.1f}, n={len(found)}"
            print(f"{name}, {what}: median {middle:.1f} s ({span}), {used:.1f} CPU s")
    for name, median in medians.items():
        ratios = (median[True][part] / median[False][part] for part in (0, 1))
        print("{}: {:.2f} of the time, {:.2f} of the CPU time".format(name, *ratios))
    return 0


def _measure(stay: bool, replicates: int) -> dict[str, list[tuple[float, float]]]:
    """Seconds and CPU seconds of each job, by kind."""
    with (
        EmulatedTestbed(load_testbed("emulated"), ROLES, 100, software.binds()) as testbed,
        tempfile.TemporaryDirectory(dir=paths.temporary()) as logs,
    ):
        testbed.fabric("10gbe")
        installation, drive = software.installation(), Drive.none()
        values = hdfs_settings(testbed, 1 << 20, 3, 65536) | yarn_settings(testbed, installation.configuration, slots=1)
        with hdfs.Hdfs(testbed, installation, values, drive, Path(logs), NAMENODE_IMAGE) as below:
            jobs = yarn.Yarn(below)
            jobs.reuses_jvms = stay
            with jobs:
                client = below.clients[0]
                generate = terasort.generate(1000 * TASKS, "/in", maps=TASKS, settings=VIEWED)
                client.run(terasort.GENERATE, generate).check("input")
                found: dict[str, list[tuple[float, float]]] = {"TeraSort": [], "TestDFSIO write": []}
                for number in range(UNCOUNTED + replicates):
                    sort = terasort.sort("/in", f"/out-{number}", reduces=TASKS, settings=VIEWED)
                    found["TeraSort"].append(_job(client, terasort.SORT, sort))
                    write = write_arguments(TASKS, 65536, settings=VIEWED)
                    found["TestDFSIO write"].append(_job(client, TESTDFSIO_TOOL, write))
    return {name: values[UNCOUNTED:] for name, values in found.items()}


def _job(client: Resident, tool: str, arguments: list[str]) -> tuple[float, float]:
    before = busy_seconds()
    outcome = client.run(tool, arguments, timeout=120).check(tool)
    return outcome.end - outcome.begin, busy_seconds() - before


if __name__ == "__main__":
    raise SystemExit(main())
