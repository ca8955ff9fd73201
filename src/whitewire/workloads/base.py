"""The interface of a workload: the parameters that it reads, its run, its metrics, what it costs.

Adding a workload is one module with a subclass and its line in the table (workloads/__init__.py). A run gets a `Bench`
(workloads/bench.py), through which it reaches the cluster; the module itself starts nothing and imports neither
measurement, testbed nor cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from whitewire import factors
from whitewire.factors import parameter
from whitewire.records import jobs
from whitewire.records.jobs import ANY_METRICS, JOB_METRICS, ONE_JOB_METRICS, job_faults, job_metrics
from whitewire.records.metrics import Found, Metric, names_for_claims
from whitewire.records.reasons import Reason
from whitewire.records.result import Result
from whitewire.records.run import Job, RunRecord
from whitewire.records.samples import HostCpu, Samples
from whitewire.tools.history import setting_text
from whitewire.workloads.bench import Bench, Outcome

DATA, OUTPUT = "/data", "/output"
"""Folders of runs: of puts in HDFS, and of jobs in their file system. They are emptied before each run."""
EVERY_RUN = frozenset({
    "fabric", "transport", "replication", "block_size_bytes", "drive", "page_cache",
}) | factors.NETWORK  # fmt: skip
"""Parameters that each run reads, whatever its workload."""

ANY_RUN = factors.DRIVE | factors.NETWORK | {
    "drive", "page_cache",
    "fabric", "transport", "k", "switch_buffer_kib", "offloads", "nodes", "settings", "replication", "block_size_bytes",
}  # fmt: skip
"""Factors of any run, whatever its workload."""


@dataclass(frozen=True)
class Together:
    """Metrics that show whether the tasks behind a common rate ran at the same time.

    `met`: metric with the mean number of tasks that ran while one did; `at_best`: the same if all had begun together;
    `did`: the operation (`read`).
    """

    met: str
    at_best: str
    did: str


@dataclass(frozen=True)
class ShortWhile:
    """How to tell whether processors limited a rate: the metric with the share of time in which they were short, and a
    name for that time (`tasks read`)."""

    metric: str
    when: str


OF_TASKS = frozenset({"tasks_per_worker"})
"""Parameters, and factors, of jobs whose tasks the runner spreads over the workers."""
OF_WRITERS = OF_TASKS | {"task_workers"}
"""Parameters, and factors, of jobs each of whose map tasks has a file of its own, so that runs share no input."""
OF_SHUFFLE = OF_TASKS | {"map_output_compression", "intermediate_drive"}
"""Parameters, and factors, of jobs whose map tasks' output goes to reduce tasks."""


def as_job(name: str, command: Outcome) -> Job:
    """A command as a job without tasks."""
    return {"name": name, "submit": command.begin, "end": command.end, "tasks": [], "counters": {}}


def generic_options(settings: Mapping[str, object]) -> list[str]:
    """Settings of one call as Hadoop's generic options (-D name=value)."""
    return [f"-D{name}={setting_text(value)}" for name, value in settings.items()]


class Workload:
    """A kind of run. Class attributes hold what all its runs share; a subclass overrides what differs."""

    name: ClassVar[str]

    # --- what a paper may write ---

    in_papers: ClassVar[bool] = True
    """Whether a paper's experiment may use it."""
    declares: ClassVar[tuple[Metric, ...]] = (*ANY_METRICS, *JOB_METRICS, *ONE_JOB_METRICS)
    """Metrics of its runs, but for those of the machine; own_metrics() or metrics() computes them."""
    settings_of_clients: ClassVar[bool] = True
    """Whether its runs give settings to clients or jobs; otherwise to daemons only."""
    scales: ClassVar[bool] = True
    """Whether its rates, times and sizes have full-scale equivalents."""
    needs: ClassVar[frozenset[str]] = frozenset()
    """Parameters (or factors) that an experiment must have."""
    reads: ClassVar[frozenset[str]] = frozenset()
    """Further parameters that its runs read."""
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """The words that a parameter may take, for parameters with a few words only."""
    factors: ClassVar[frozenset[str]] = ANY_RUN | {"store", "splits", "size_bytes"}
    """Factors that its runs may vary, by their names in the table; a run can prove each of them."""
    size: ClassVar[str] = "size_bytes"
    """The parameter with the bytes of its file at full scale."""

    def known(self) -> frozenset[str]:
        """All parameters that its runs read."""
        return EVERY_RUN | self.needs | self.reads | {self.size}

    def whole_bytes(self, parameters: Mapping[str, Any]) -> float:
        """Bytes of a run's file at full scale; 0 for one that moves none."""
        return parameters.get("size_bytes") or parameters["file_size_bytes"]

    @property
    def metric_names(self) -> tuple[str, ...]:
        """Metrics of its runs that a claim or a control may use."""
        return names_for_claims(self.declares)

    def metric_names_with(self, parameters: Mapping[str, Any]) -> tuple[str, ...]:
        """Metrics of a run with these parameters that a claim or a control may use."""
        return self.metric_names

    # --- what it takes ---

    on_yarn: ClassVar[bool] = True
    """Whether its cluster has YARN."""
    native: ClassVar[bool] = True
    """Whether its jobs are Hadoop's own, whose tasks the runner spreads over the workers that it chooses."""
    of_suite: ClassVar[bool] = False
    """Whether it is a program of a suite (`program`, `profile`) that the testbed may have."""
    has_overhead: ClassVar[bool] = True
    """Whether the startup overhead of its jobs is measured."""
    times_itself: ClassVar[bool] = False
    """Whether its tasks measure their own times, so that it comes last in a warm-up."""
    computes: ClassVar[bool] = True
    """Whether lack of processors beyond the startup overhead makes a run invalid."""
    modelled: ClassVar[bool] = False
    """Whether the max-min model predicts its runs."""

    startup_s: ClassVar[float] = 0.0
    """Seconds of a run besides moving its data: its jobs' startup overhead, and the work around them."""
    passes: ClassVar[float] = 0.0
    """How often its bytes go from or to drives, apart from its output: input, spills, merges, reads."""
    crossings_of_mount: ClassVar[float] = 2.0
    """How often its bytes cross links if they are in a parallel file system."""

    def stands_for(self, parameters: Mapping[str, Any]) -> Workload:
        """The workload with the same traffic as a run: itself, or for a suite's program the equivalent workload."""
        return self

    def kind(self, parameters: Mapping[str, Any]) -> str:
        """Name of the kind of its overhead runs: its own name, or that of a suite's program."""
        return parameters.get("program", self.name)

    def measures_overhead(self, parameters: Mapping[str, Any], suite: bool) -> bool:
        """Whether a run's startup overhead can be measured; `suite`: the testbed has the suite of the workload."""
        return self.has_overhead

    def identity(self, testbed: Mapping[str, Any]) -> list[str]:
        """Further parts of a testbed's description that distinguish its runs from others."""
        return []

    def files(self, parameters: Mapping[str, Any]) -> int:
        """Number of files of the run's size that it moves."""
        return 1

    def output_copies(self, parameters: Mapping[str, Any]) -> int:
        """Copies of each block of its output."""
        return parameter(parameters, "replication")

    def file_bytes(self, size: float, parameters: Mapping[str, Any]) -> float:
        """Bytes of each file that is divided into blocks, in a run of `size` bytes."""
        return size

    def crossings(self, remote: float, copies: int, outputs: int, workers: int) -> float:
        """How often its bytes cross links; `remote`: the share of workers that are not the same as a given one."""
        return 0.0

    def outputs(self, copies: int, outputs: int, drives: int) -> float:
        """How often its bytes are written as output, over all `drives`."""
        return copies

    # --- conditions of its metrics (analysis/guards.py) ---

    def together(self, metric: str) -> Together | None:
        """Metrics that show whether tasks ran at the same time, for a rate of all of them; None for other metrics."""
        return None

    def short_while(self, metric: str) -> ShortWhile | None:
        """Metric that shows whether processors were short, for a rate that they may have limited; None for others."""
        return None

    # --- similitude (docs/inside/scale-model.md) ---

    shares_input: ClassVar[bool] = False
    """Whether its tasks share one input, of which each worker has a part."""
    asks_again: ClassVar[bool] = True
    """Whether its clients poll the NameNode until a block is complete."""
    heartbeats: ClassVar[frozenset[str]] = frozenset({"datanode", "nodemanager"})
    """Daemons whose heartbeats it waits for."""
    sorts: ClassVar[bool] = False
    """Whether its tasks sort and merge."""
    sampled: ClassVar[bool] = False
    """Whether it reads a sample of its input first."""
    io_buffer: ClassVar[str] = ""
    """The buffer that its files are moved through: `task` (Hadoop's), `reader` (ours, scaled) or empty for none."""

    def part(self, size: float, parameters: Mapping[str, Any], workers: int) -> float:
        """Bytes of a file, or of a worker's part of it if tasks share one input."""
        return size / workers if self.shares_input else size

    def written(self, parameters: Mapping[str, Any]) -> float:
        """How often each of its files is written to drives; 0 where it is not known beforehand."""
        return 0.0

    # --- a run, and its metrics ---

    def run(self, bench: Bench) -> Result:
        """Make one run. Raises RunFailed when it did not do what it should."""
        raise NotImplementedError

    def own_metrics(self, record: RunRecord, samples: Samples) -> Found:
        """Metrics of its own, besides those of every run of jobs."""
        return jobs.one_job(record)

    def while_busy(self, record: RunRecord) -> dict[str, tuple[float, float] | None]:
        """Metric → begin and end (seconds since 1970) of the time in which it measures whether processors were short.

        None if the run does not record that time.
        """
        return {}

    def metrics(self, record: RunRecord, samples: Samples, cpu: HostCpu) -> Found:
        """Metrics of a run, all of which it declares."""
        return job_metrics(record, samples, cpu, self.own_metrics(record, samples))

    def faults(self, record: RunRecord, found: Found, limits: Mapping[str, float]) -> list[Reason]:
        """Why a run does not count (empty: it is valid), by the testbed's `limits`."""
        return job_faults(record, found, limits, self.computes)
