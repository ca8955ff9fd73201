"""Executes one block of a design: probes, cluster up, warm-up, the runs that are missing, cluster down."""

from __future__ import annotations

import fcntl
import json
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from pathlib import Path

from whitewire import calibration, config, design, metrics, software
from whitewire.cluster import hdfs
from whitewire.cluster.hdfs import Hdfs
from whitewire.doctor import preflight
from whitewire.drives import Drive
from whitewire.errors import UserError
from whitewire.execution import FAILURES, WORKLOADS, Result, Run, warm_up
from whitewire.journal import Journal
from whitewire.monitor import environment
from whitewire.paper import Paper, load_paper
from whitewire.progress import Progress
from whitewire.testbed.emulated import EmulatedTestbed

WARM_UP_GIB = 1.0
"""Memory touched before the first run: about what one run's replicas take."""
PACKET = 65536
"""Bytes in a packet of HDFS's write pipeline (dfs.client-write-packet-size, Hadoop's default)."""
WARM_UP_ROUNDS, WARM_UP_RUNS = 5, 2
"""Rounds of many small puts, then runs of the block's largest cell, none of them kept."""
PROBE_SECONDS_SMOKE = 0.3


def measure(paper: str, testbed: str, design_path: Path, block: str, output: Path) -> None:
    """Make every run of a block that its journal lacks; `output` (block.json) is written last.

    Raises UserError when the testbed cannot work here or its calibration fails; runs that are finished stay.
    """
    settings = config.load_testbed(testbed)
    loaded = load_paper(config.paper_path(paper), settings["fabrics"])
    rows = [row for row in design.read_csv(design_path) if row["block"] == block]
    if not rows:
        raise UserError(f"{design_path}: block: found no run of {block!r}, expected at least one")
    folder = Path(output).parent
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"{config.shown(folder)}: another process measures this block now") from None
        Block(loaded, settings, block, sorted(rows, key=lambda row: row["order"]), folder).measure()


class Block:
    """One block: its rows in the order of running and the journal that they go to."""

    def __init__(self, paper: Paper, testbed: Mapping, name: str, rows: Sequence[Mapping], folder: Path) -> None:
        self.paper, self.config, self.name, self.rows = paper, testbed, name, rows
        self.effort = name.rsplit("-", 1)[0]
        self.journal = Journal(folder)
        self.given_up: list[str] = []

    def measure(self) -> None:
        begin = time.time()
        missing = [self._run(row) for row in self.rows if not self.journal.has(row["run_id"])]
        progress = Progress(self.name, [run.expected_seconds for run in missing])
        progress.say(f"{len(self.rows)} runs, {len(missing)} to make")
        if missing:
            preflight(self.config)
            number = 0
            for key, runs in self._clusters(missing).items():
                number = self._on_one_cluster(json.loads(key), runs, progress, number)
            progress.say(f"finished, {len(self.given_up)} runs given up")
        self.journal.finish(
            {
                "block": self.name,
                "runs": [row["run_id"] for row in self.rows],
                "given_up": self.given_up,
                "seconds": round(time.time() - begin, 1),
                **environment.commit(),
            }
        )

    def _run(self, row: Mapping) -> Run:
        levels = design.levels_of(self.paper, row)
        experiment = self.paper.experiments[row["experiment"]]
        return Run(
            row=row,
            levels=levels,
            parameters=self.paper.parameters(row["experiment"], levels),
            settings=experiment.get("settings", {}).get(levels.get("settings"), {}),
            scale=design.scale_of(self.paper, row["experiment"], self.effort, levels, self.config["kind"]),
            expected_seconds=design.expected_seconds(self.paper, row),
        )

    def _clusters(self, runs: Sequence[Run]) -> dict[str, list[Run]]:
        """Runs by the cluster they need (hosts and drives); runs that share one keep their order."""
        found: dict[str, list[Run]] = {}
        for run in runs:
            experiment = self.paper.experiments[run.row["experiment"]]
            drive = dict(experiment["hardware"]["drive"])
            drive |= {name: level for name, level in run.levels.items() if name in drive}
            key = json.dumps({"roles": experiment["roles"], "drive": dict(sorted(drive.items()))})
            found.setdefault(key, []).append(run)
        return found

    def _on_one_cluster(self, wanted: Mapping, runs: Sequence[Run], progress: Progress, number: int) -> int:
        k = runs[0].scale.k
        drive = Drive.scaled(wanted["drive"], k, software.DRIVE_LIBRARY)
        with EmulatedTestbed(self.config, wanted["roles"], k, software.binds()) as testbed:
            progress.say(f"{len(testbed.hosts)} hosts up ({testbed.congestion_control}), probing links and drives")
            self._calibrate(testbed, drive, runs, fresh=number == 0)
            testbed.warm_memory(WARM_UP_GIB)
            cluster = self._cluster(testbed, drive, runs[0])
            try:
                self._start(cluster)
                progress.say(f"HDFS ready in {cluster.hdfs_seconds:.1f} s")
                self._record_environment(testbed, cluster)
                self._warm_up(cluster, runs)
                number = self._all(cluster, runs, progress, number)
            finally:
                cluster.stop()
        return number

    def _cluster(self, testbed: EmulatedTestbed, drive: Drive, run: Run) -> Hdfs:
        values = hdfs.settings(run.scale.block_bytes, run.parameters["replication"], PACKET)
        logs = self.journal.folder / "logs"
        return Hdfs(testbed, software.installation(), values, drive, logs, software.IMAGE)

    def _calibrate(self, testbed: EmulatedTestbed, drive: Drive, runs: Sequence[Run], fresh: bool) -> None:
        probes, limits = self.config["probes"], self.config["limits"]
        folder = self._fresh("probes")
        used = {run.parameters["fabric"]: None for run in sorted(runs, key=lambda run: run.row["run_id"])}
        # Fabrics that the grid compares are probed over every pair, those of the response curve over one a client.
        grid = [name for name in used if any("clients" in r.levels and r.parameters["fabric"] == name for r in runs)]
        thorough = self.effort != "smoke" and fresh
        seconds = probes["seconds"] if thorough else PROBE_SECONDS_SMOKE
        common = {"seconds": seconds, "bound": limits["link_error"], "folder": folder}
        rows = calibration.probe_drives(testbed, drive, limits["drive_error"], folder)
        rows += calibration.probe_links(testbed, grid, streams=probes["streams"], every_pair=thorough, **common)
        others = [name for name in used if name not in grid]
        rows += calibration.probe_links(testbed, others, streams=probes["streams"][:1], every_pair=False, **common)
        calibration.write(folder, rows)

    def _fresh(self, name: str, suffix: str = "") -> Path:
        """A path in the block's folder that no earlier cluster of this block has used: name, name-2, …"""
        path, number = self.journal.folder / f"{name}{suffix}", 1
        while path.exists():
            number += 1
            path = self.journal.folder / f"{name}-{number}{suffix}"
        return path

    def _record_environment(self, testbed: EmulatedTestbed, cluster: Hdfs) -> None:
        jars = [Path(jar).name for jar in cluster.installation.jars]
        record = environment.capture(testbed, jars) | {
            "cluster": {
                "configuration": cluster.values,
                "drive": {name: value for name, value in cluster.drive.__dict__.items() if name != "library"},
                "hdfs_seconds": cluster.hdfs_seconds,
                "start_seconds": cluster.start_seconds,
            },
            "limits": self.config["limits"],
            "switch": self.config["switch"],
        }
        self._fresh("environment", ".json").write_text(json.dumps(record, indent=1) + "\n")

    def _warm_up(self, cluster: Hdfs, runs: Sequence[Run]) -> None:
        """Runs that are not kept: JVMs compile, files and memory get warm, so that the order of runs doesn't matter."""
        puts = [run for run in runs if run.row["workload"] == "hdfs_put"] or list(runs)

        def load(run: Run) -> tuple[int, float]:
            rate = self.config["fabrics"][run.parameters["fabric"]]["rate_mbit_per_s"]
            return run.parameters["clients"] * run.parameters["puts_per_client"], rate

        largest = max(puts, key=load)
        try:
            fastest = max(self.config["fabrics"], key=lambda name: self.config["fabrics"][name]["rate_mbit_per_s"])
            cluster.testbed.fabric(fastest)
            for _ in range(WARM_UP_ROUNDS):
                warm_up(cluster)
            for _ in range(WARM_UP_RUNS):
                WORKLOADS[largest.row["workload"]](cluster, largest)
        except FAILURES as failure:
            raise UserError(f"warm-up: {_line(failure)}; logs: {cluster.logs}") from None

    def _all(self, cluster: Hdfs, runs: Sequence[Run], progress: Progress, number: int) -> int:
        """Make the runs; one that is not valid is tried again after all others, until its attempts are used up.

        Every attempt is kept. Attempts of an earlier, interrupted measurement do not count against the bound.
        """
        waiting, tried = deque(runs), Counter()
        while waiting:
            run = waiting.popleft()
            run_id = run.row["run_id"]
            if not tried[run_id]:
                number += 1
            tried[run_id] += 1
            progress.run(number, run.title + (f", attempt {tried[run_id]}" if tried[run_id] > 1 else ""))
            why, failed = self._attempt(cluster, run)
            progress.done(why)
            if why and tried[run_id] < self.config["limits"]["attempts"]:
                waiting.append(run)
            elif why:
                self.given_up.append(run_id)
            if failed and waiting:
                # A daemon or client that ended or hangs: nothing of the old cluster is trusted.
                progress.say(f"starting HDFS again ({', '.join(cluster.dead()) or 'the run did not end'})")
                self._restart(cluster, run)
        return number

    @staticmethod
    def _start(cluster: Hdfs) -> None:
        """Start HDFS; a start in some dozens fails, so once again. Raises UserError when that fails too."""
        try:
            cluster.start()
        except FAILURES:
            cluster.stop()
            try:
                cluster.start()
            except FAILURES as failure:
                raise UserError(f"HDFS does not start: {_line(failure)}; logs: {cluster.logs}") from None

    def _restart(self, cluster: Hdfs, run: Run) -> None:
        cluster.stop()
        self._start(cluster)
        self._warm_up(cluster, [run])

    def _attempt(self, cluster: Hdfs, run: Run) -> tuple[str, bool]:
        """One attempt; returns why it is not valid (empty: it is) and whether it failed, rather than ran badly."""
        run_id, files, failed = run.row["run_id"], {}, False
        attempt = self.journal.attempts(run_id) + 1
        try:
            result: Result = WORKLOADS[run.row["workload"]](cluster, run)
            files = result.files
            values = metrics.OF[run.row["workload"]](result.record, metrics.read_samples(files["samples.csv"]))
            record, why = (
                result.record,
                "; ".join(metrics.faults(result.record, values, self.config["limits"])),
            )
        except FAILURES as failure:
            record = {**run.row, "factors": dict(run.levels), "scale": run.scale.__dict__}
            why, failed = _line(failure), True
            files = {f"{name}.log": daemon.log_end(60) for name, daemon in cluster.daemons.items() if not daemon.alive}
        record = record | {"attempt": attempt, "valid": not why, "why_invalid": why}
        self.journal.write(run_id, record | environment.commit(), files, valid=not why)
        return why, failed


def _line(failure: Exception) -> str:
    return " ".join(str(failure).split())[:400] or failure.__class__.__name__
