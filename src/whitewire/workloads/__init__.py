"""The table of workloads, and the functions by which stages use the workload of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping

from whitewire.factors import factor_proofs
from whitewire.factors.base import Proof
from whitewire.records import processors, reasons
from whitewire.records.metrics import Found, Metric
from whitewire.records.processors import MACHINE_METRICS, processor_faults, processor_metrics
from whitewire.records.reasons import Reason
from whitewire.records.run import RunRecord
from whitewire.records.samples import read_host_cpu, read_samples, read_waited
from whitewire.workloads.base import Workload
from whitewire.workloads.copy import Copy
from whitewire.workloads.hdfs_put import HdfsPut
from whitewire.workloads.hibench import HiBenchWorkload
from whitewire.workloads.nnbench import NNBench
from whitewire.workloads.randomwriter import RandomTextWriter, RandomWriter
from whitewire.workloads.read_loop import ReadLoop
from whitewire.workloads.rereplicate import Rereplicate
from whitewire.workloads.sleep import Sleep
from whitewire.workloads.sort import Sort
from whitewire.workloads.teragen import TeraGen
from whitewire.workloads.terasort import TeraSort
from whitewire.workloads.teravalidate import TeraValidate
from whitewire.workloads.testdfsio import TestDfsio
from whitewire.workloads.wordcount import WordCount

WORKLOADS: dict[str, Workload] = {
    workload.name: workload
    for workload in (
        HdfsPut(),
        Rereplicate(),
        TeraGen(),
        RandomWriter(),
        RandomTextWriter(),
        TeraSort(),
        TeraValidate(),
        TestDfsio(),
        Sort(),
        WordCount(),
        Sleep(),
        Copy(),
        ReadLoop(),
        NNBench(),
        HiBenchWorkload(),
    )
}

METRICS: dict[str, Metric] = {
    metric.name: metric
    for declared in (*(workload.declares for workload in WORKLOADS.values()), MACHINE_METRICS) for metric in declared
}  # fmt: skip
"""All metrics of runs by name, as the modules that compute them declare them."""


def in_papers() -> list[str]:
    """Names of the workloads that a paper may ask for."""
    return [workload.name for workload in WORKLOADS.values() if workload.in_papers]


def metric_names() -> list[str]:
    """Names of the metrics of all workloads."""
    return list(dict.fromkeys(metric for workload in WORKLOADS.values() for metric in workload.metric_names))


def unit_of(metric: str) -> str:
    """The unit of a metric. KeyError for one that no workload declares."""
    return METRICS[metric].unit


def workload_of(name: str) -> Workload:
    """The workload of that name. KeyError for a name that the table lacks, which the schema refuses beforehand."""
    return WORKLOADS[name]


def run_metrics(record: RunRecord, files: Mapping[str, str]) -> Found:
    """Metrics of any run, from its record and its files by name."""
    workload = workload_of(record["workload"])
    cpu = read_host_cpu(files["host-cpu.csv"]) if workload.on_yarn else ([], {})
    samples = read_samples(files["samples.csv"])
    waited = read_waited(files["waited.csv"]) if "waited.csv" in files else None
    short: Found = {
        name: processors.short_share(*busy, samples, waited) if busy else math.nan
        for name, busy in workload.while_busy(record).items()
    }
    lack = processor_metrics(record, samples, waited) if waited else {}
    return workload.metrics(record, samples, cpu) | short | lack


def processors_of(record: RunRecord, files: Mapping[str, str]) -> Found:
    """Metrics of a run's processors; none if its hosts do not share processors."""
    if "waited.csv" not in files:
        return {}
    return processor_metrics(record, read_samples(files["samples.csv"]), read_waited(files["waited.csv"]))


def processors_needed(record: RunRecord, files: Mapping[str, str]) -> float:
    """Processors that a run needed; 0 if its hosts do not share processors."""
    return processors.needed(record, read_waited(files["waited.csv"])) if "waited.csv" in files else 0.0


def run_faults(record: RunRecord, found: Found, limits: Mapping[str, float]) -> list[Reason]:
    """Why a run does not count (empty: it is valid): disturbed, not as asked, or beyond the testbed's `limits`."""
    unlike = [Reason("unlike", {"why": proof.fault}) for proof in run_proofs(record) if not proof.same]
    lacking = clock_faults(record) + cache_faults(record) + processor_faults(record, found, limits)
    return (
        reasons.disturbed_by(record) + unlike + lacking + workload_of(record["workload"]).faults(record, found, limits)
    )


STEP_S, SLEEP_S = 0.05, 1.0
"""Most seconds by which a clock may be set, and a machine may sleep, in a valid run: corrections, and noise."""
SLEW = 5e-4
"""Further seconds per second by which two clocks may drift apart: the most that the kernel slews one (adjtimex)."""


def clock_faults(record: RunRecord) -> list[Reason]:
    """Why the times of a run are unusable (empty: they are usable): a clock was set, or the machine slept."""
    clock = record["clock"]
    apart = STEP_S + SLEW * (record["end"] - record["start"])
    checks = [
        (abs(clock["stepped"]) > STEP_S, Reason("clock", {"seconds": clock["stepped"]})),
        (clock["slept"] > SLEEP_S, Reason("slept", {"seconds": clock["slept"]})),
        *((abs(step) > apart, Reason("host_clock", {"host": name, "seconds": step}))
          for name, step in clock.get("hosts", {}).items()),
    ]  # fmt: skip
    return [why for so, why in checks if so]


def cache_faults(record: RunRecord) -> list[Reason]:
    """Why data may have been read from a host's memory rather than its drives (empty: it was not, or was allowed)."""
    warm = record["evidence"].get("warm", [])
    every = f" ({len(warm)} hosts)" if len(warm) > 1 else ""
    return [Reason("caches", {"why": f"{warm[0]}{every}"})] if warm else []


def run_proofs(record: RunRecord) -> list[Proof]:
    """Requested and reported level of every factor that a run's workload knows and its record reports."""
    return factor_proofs(record, workload_of(record["workload"]).factors) if "asked" in record else []
