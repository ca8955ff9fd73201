"""How long does the emulated HDFS take to start, and what does a put cost?

    .venv/bin/python bench/cluster.py [--replicates 5]

Starts NameNode, 11 DataNodes and 3 clients with and without the class archive; then puts, and prints their CPU
seconds per GB.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

import psutil

from whitewire import paths, workloads
from whitewire.cluster import hdfs
from whitewire.cluster.hdfs import hdfs_settings
from whitewire.cluster.stack import Stack
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper
from whitewire.description.project import load_config, paper_path
from whitewire.description.testbed import load_testbed
from whitewire.design.drive import Drive
from whitewire.design.scale import Scale, scale_of
from whitewire.measure.bench import StackBench
from whitewire.measure.run import Run
from whitewire.records.run import DesignRow
from whitewire.testbed.emulated import software
from whitewire.testbed.emulated.sandbox import EmulatedTestbed
from whitewire.testbed.emulated.software import NAMENODE_IMAGE

FABRIC = "10gbe"
LEVELS = {"fabric": FABRIC, "clients": 3, "puts_per_client": 6}


def busy_seconds() -> float:
    times = psutil.cpu_times()
    return sum(times) - times.idle - times.iowait - times.guest - times.guest_nice


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--replicates", type=int, default=5)
    given = arguments.parse_args()
    config = load_testbed("emulated")
    paper = load_paper(paper_path(load_config()["papers"][0]), config["fabrics"])
    experiment = paper.experiments["put-grid"]
    scale = scale_of(paper, "put-grid", "quick", LEVELS)
    drive = Drive.scaled(experiment["hardware"]["drive"], scale.k, software.DRIVE_LIBRARY)
    for archive in (True, False):
        seconds, cpu, costs = [], [], []
        for _ in range(given.replicates):
            with (
                EmulatedTestbed(config, experiment["roles"], scale.k, software.binds()) as testbed,
                tempfile.TemporaryDirectory(dir=paths.temporary()) as logs,
            ):
                testbed.fabric(FABRIC)
                values = hdfs_settings(testbed, scale.block_bytes, 3, scale.packet_bytes)
                before = busy_seconds()
                installation = software.installation(use_archive=archive)
                with hdfs.Hdfs(testbed, installation, values, drive, Path(logs), NAMENODE_IMAGE) as cluster:
                    seconds.append(cluster.hdfs_seconds)
                    cpu.append(busy_seconds() - before)
                    if archive:
                        costs += [_cost(cluster, paper, scale) for _ in range(6)][3:]
        what = "with" if archive else "without"
        print(f"NameNode and 11 DataNodes ready, {what} class archive: median {statistics.median(seconds):.1f} s "
              f"({min(seconds):.1f} to {max(seconds):.1f}, n={len(seconds)}), {statistics.median(cpu):.1f} CPU s "
              "with 3 client JVMs")  # fmt: skip
        if costs:
            print(f"put, 3 clients x 6, 10GbE: median {statistics.median(costs):.1f} CPU s per GB (n={len(costs)})")
    return 0


def _cost(cluster: hdfs.Hdfs, paper: Paper, scale: Scale) -> float:
    row: DesignRow = {"run_id": "bench", "block": "bench-1", "effort": "bench", "order": 1, "experiment": "put-grid",
                      "workload": "hdfs_put", "replicate": 1, "seed": 0}  # fmt: skip
    run = Run(row, LEVELS, paper.parameters("put-grid", LEVELS), {}, scale, 5.0)
    result = run.workload.run(StackBench(Stack(cluster), run))
    return workloads.run_metrics(result.record, result.files)["cpu_seconds_per_gb"]


if __name__ == "__main__":
    raise SystemExit(main())
