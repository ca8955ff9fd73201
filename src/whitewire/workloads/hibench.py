"""`hibench`: a program of HiBench at a scale profile, made by HiBench or, without it, by Hadoop's own jars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from whitewire.errors import RunFailed
from whitewire.factors import DRIVE, parameter
from whitewire.records import jobs
from whitewire.records.jobs import SUITE_METRICS
from whitewire.records.metrics import Found, Metric
from whitewire.records.result import Result
from whitewire.records.run import Job, RunRecord
from whitewire.records.samples import Samples
from whitewire.tools import hibench
from whitewire.tools.hibench import PROFILE_SIZES, dfsioe_files, profile_file_bytes
from whitewire.tools.hibench_report import REPORT_PARTS, Report, report_metrics
from whitewire.workloads import hibench_copy
from whitewire.workloads.base import Workload
from whitewire.workloads.bench import Bench, Suite
from whitewire.workloads.sleep import Sleep
from whitewire.workloads.sort import Sort
from whitewire.workloads.terasort import SAMPLED_ROWS, TeraSort
from whitewire.workloads.testdfsio import TestDfsio
from whitewire.workloads.wordcount import WordCount

NATIVE: dict[str, Workload] = {
    "sort": Sort(), "terasort": TeraSort(), "wordcount": WordCount(), "dfsioe": TestDfsio(), "sleep": Sleep()
}  # fmt: skip
"""The workload of ours that runs each micro program without HiBench."""


def _of_report(part: str) -> tuple[Metric, ...]:
    """Metrics of HiBench's own report; `part`: prefix of a program's part, such as `write_`, if it has several."""
    return (
        Metric.time(f"{part}report_time", "duration of the command, the start of its JVM included", "always"),
        Metric.size(f"{part}report_bytes", "bytes of the program's input", in_claims=False),
        Metric.rate(f"{part}report_throughput", "the report's bytes ÷ its time, whole bytes per second", "always"),
        Metric.rate(f"{part}report_node_throughput", "the same per node", "always"),
        Metric.number(f"{part}report_nodes", "nodes that HiBench divides by: the ratio of the two"),
    )


class HiBenchWorkload(Workload):
    name: ClassVar[str] = "hibench"
    needs: ClassVar[frozenset[str]] = frozenset({"program", "profile", "maps", "reduces"})
    reads: ClassVar[frozenset[str]] = frozenset({"output_replication"})
    factors: ClassVar[frozenset[str]] = (
        frozenset({"fabric", "k", "switch_buffer_kib", "offloads", "nodes", "settings", "program", "profile"}) | DRIVE
    )
    """Each program has folders of its own for its files, so nothing reports their blocks and copies."""
    native: ClassVar[bool] = False
    of_suite: ClassVar[bool] = True
    startup_s: ClassVar[float] = 12
    asks_again: ClassVar[bool] = False
    declares: ClassVar[tuple[Metric, ...]] = (
        *Workload.declares, *TestDfsio.declares, *SUITE_METRICS,
        *(metric for prefix in ("", *(f"{part}_" for part in REPORT_PARTS)) for metric in _of_report(prefix)),
    )  # fmt: skip

    def whole_bytes(self, parameters: Mapping[str, Any]) -> float:
        """Bytes by the program's profile."""
        if "size_bytes" in parameters:
            return parameters["size_bytes"]
        program, profile = parameters["program"], parameters["profile"]
        return profile_file_bytes(program, profile) if program in hibench.MICRO else 1

    def stands_for(self, parameters: Mapping[str, Any]) -> Workload:
        return NATIVE.get(parameters["program"], self)

    def files(self, parameters: Mapping[str, Any]) -> int:
        return dfsioe_files(parameters["profile"]) if parameters["program"] == "dfsioe" else 1

    def measures_overhead(self, parameters: Mapping[str, Any], suite: bool) -> bool:
        """`dfsioe` of HiBench has no file below 1 MiB, `sleep` is startup overhead alone."""
        program = parameters["program"]
        return program in PROFILE_SIZES or (program == "dfsioe" and not suite)

    def identity(self, testbed: Mapping[str, Any]) -> list[str]:
        """Distinguishes runs with HiBench from those with Hadoop's own jars, and runs of different trees."""
        if "hibench" not in testbed:
            return []
        return ["HiBench", *hibench_copy.identity(testbed["hibench"]["home"])]

    def own_metrics(self, record: RunRecord, samples: Samples) -> Found:
        """Metrics of HiBench's own report and, for a program with one job, those of any job."""
        report = report_metrics(record["reports"])
        return report | (jobs.one_job(record) if len(record["jobs"]) == 1 else {})

    def run(self, bench: Bench) -> Result:
        """Run one program. Raises RunFailed when a script or a job failed."""
        suite = bench.suite
        own: RunRecord = {"program": bench.parameters["program"], "profile": bench.parameters["profile"]}
        return (_native(bench) if suite is None else _by_hibench(bench, suite)).plus(own)


def _native(bench: Bench) -> Result:
    """Run the same program from Hadoop's jars."""
    parameters = bench.parameters
    program, profile = parameters["program"], parameters["profile"]
    own: dict[str, Any] = {
        "maps": parameter(parameters, "maps"),
        "output_replication": _outputs(parameters),
    }
    if program == "dfsioe":
        own["maps"] = dfsioe_files(profile)
    if program == "sleep":
        own["map_ms"] = hibench.sleep_ms(profile)
    workload = NATIVE[program]
    return workload.run(bench.with_workload(workload.name, own))


def _outputs(parameters: Mapping[str, Any]) -> int:
    """Replicas of the program's output: TeraSort's own default is one."""
    own = NATIVE.get(parameters["program"], Workload())
    return own.output_copies(parameters)


def _by_hibench(bench: Bench, suite: Suite) -> Result:
    program, outputs = bench.parameters["program"], _outputs(bench.parameters)
    options = bench.jobs.options() | {"mapreduce.terasort.output.replication": outputs}
    if bench.scaled:
        options["mapreduce.terasort.partitions.sample"] = SAMPLED_ROWS
    suite.configure(options)
    suite.prepare()
    reports: list[Report] = []

    def act(kept: dict[str, str]) -> list[Job]:
        done = []
        for reported in suite.measure():
            reports.append(reported.record())
            kept[f"{reported.name}.txt"] = reported.output
            names = _names(reported.name, reported.jobs)
            done += [bench.jobs.finished(number, name, kept) for name, number in names.items()]
        if not done:
            raise RunFailed(f"hibench {program}: it submitted no job")
        return done

    result = bench.jobs.record(act, 0)
    size, dfsioe = bench.scale.file_bytes, program == "dfsioe"
    user = size * dfsioe_files(bench.parameters["profile"]) if dfsioe else sum(report["bytes"] for report in reports)
    own: RunRecord = {
        "user_bytes": user, "output_replication": outputs, "reports": reports, "made_by": suite.made_by
    }  # fmt: skip
    return result.plus(own, suite.files())


def _names(name: str, numbers: Sequence[str]) -> dict[str, str]:
    """Job ids of one run by name: the run's name, with a number appended from the second job on."""
    return {name if place == 1 else f"{name}-{place}": number for place, number in enumerate(numbers, start=1)}
