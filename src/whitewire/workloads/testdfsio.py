"""`testdfsio`: TestDFSIO (Hadoop's tests), in which every map task writes, or reads, one file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from whitewire.errors import RunFailed
from whitewire.factors import parameter
from whitewire.records.jobs import ANY_METRICS, JOB_METRICS, beyond_overhead
from whitewire.records.metrics import Found, Metric, names_for_claims
from whitewire.records.result import Result
from whitewire.records.run import Job, RunRecord
from whitewire.records.samples import SEGMENT, Samples, nearest
from whitewire.tools import testdfsio
from whitewire.tools.testdfsio import dfsio_result
from whitewire.workloads.base import OF_WRITERS, ShortWhile, Together, Workload, generic_options
from whitewire.workloads.bench import Bench

TESTDFSIO_TOOL = "org.apache.hadoop.fs.TestDFSIO"
_FOLDER = "/io"
"""Folder of its files, in the file system of the job."""
MIDDLE = (0.1, 0.9)
"""Range of an operation's bytes, as shares, over which its link use is measured: without start and end."""


def write_arguments(files: int, size: int, settings: Mapping[str, object] | None = None) -> list[str]:
    """Arguments that write `files` files of `size` bytes."""
    return _arguments("-write", files, size, settings)


def read_arguments(files: int, size: int, settings: Mapping[str, object] | None = None) -> list[str]:
    """Arguments that read the files that write_arguments() made."""
    return _arguments("-read", files, size, settings)


def _arguments(operation: str, files: int, size: int, settings: Mapping[str, object] | None) -> list[str]:
    own = {"test.build.data": _FOLDER} | dict(settings or {})
    return [
        *generic_options(own), operation, "-nrFiles", str(files), "-size", f"{size}B",
        "-resFile", "/dev/null",  # it prints the same
    ]  # fmt: skip


def _of_operation(op: str) -> tuple[Metric, ...]:
    """Metrics of one operation `op`, `write` or `read`."""
    return (
        Metric.rate(f"{op}_throughput", "all bytes ÷ sum of the tasks' times, as TestDFSIO defines it: a mean rate of "
                    "one task"),
        Metric.rate(f"{op}_rate_mean", "mean of the tasks' own rates (TestDFSIO's average I/O rate; its MB are 2^20 "
                    "bytes, ours 10^6)"),
        Metric.rate(f"{op}_aggregate", f"`{op}_throughput` × number of files"),
        Metric.rate(f"{op}_node_bandwidth", f"`{op}_aggregate` ÷ number of workers"),
        Metric.number(f"{op}_link_share", "largest use of any worker's link in either direction ÷ line rate, over the "
                      "middle 80 % of its bytes in the job"),
        Metric.number(f"{op}_wire_per_user_byte", "bytes into all workers over their links in that job ÷ bytes of all "
                      "files"),
        Metric.number(f"{op}_tasks_at_once", "mean number of tasks that read or write while one does, itself counted, "
                      "by the tasks' own logs (none on a cluster that a site runs)"),
        Metric.number(f"{op}_tasks_at_best", "the same if all had begun together, from the tasks' lengths",
                      in_claims=False),
        Metric.rate(f"{op}_rate_while_busy", "bytes of all files ÷ seconds in which any task reads or writes, by the "
                    "same logs: the rate of a store whose drives any one task can use"),
        Metric.number(f"{op}_short_while_busy", "share of the seconds from the first task's begin to the last one's "
                      "end, by the same logs, in which processors were short: mean wake-up latency above 0.4 ms; on "
                      "sites, less than 35 % of them were idle", in_claims=False),
        Metric.time(f"{op}_time", "submission to end of the job", "always"),
        Metric.time(f"{op}_time_net", f"`{op}_time` less that job's startup overhead"),
    )  # fmt: skip


DID = {"write": "wrote", "read": "read"}
"""Each operation, with its past tense for sentences about its tasks."""
OF_ALL = ("throughput", "rate_mean", "aggregate", "node_bandwidth")
"""Rates of an operation over several tasks together, which share drives and links."""
TOGETHER = {
    f"{operation}_{rate}": Together(f"{operation}_tasks_at_once", f"{operation}_tasks_at_best", operation)
    for operation in DID for rate in OF_ALL
}  # fmt: skip
SHORT_WHILE = {
    f"{operation}_{rate}": ShortWhile(f"{operation}_short_while_busy", f"tasks {DID[operation]}")
    for operation in DID for rate in (*OF_ALL, "rate_while_busy")
}  # fmt: skip
"""Conditions of those rates that tasks share, by metric."""


_OPERATIONS: dict[str, tuple[str, ...]] = {
    "both": tuple(DID), **{operation: (operation,) for operation in DID}
}  # fmt: skip
"""Operations that a run times, by the parameter `operation`; without it: both."""


def timed(parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """The operations that a run times, in their order."""
    return _OPERATIONS[parameters.get("operation", "both")]


def _of_run(operations: Iterable[str]) -> tuple[Metric, ...]:
    """Metrics of a run that times these operations."""
    own = (metric for operation in operations for metric in _of_operation(operation))
    return (*ANY_METRICS, *JOB_METRICS, *own)


class TestDfsio(Workload):
    __test__ = False
    """Not a test, though pytest would take it for one by its name."""

    name: ClassVar[str] = "testdfsio"
    needs: ClassVar[frozenset[str]] = frozenset({"maps"})
    reads: ClassVar[frozenset[str]] = OF_WRITERS | {"reduces", "keep_caches", "operation", "writer_bound"}
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"operation": tuple(_OPERATIONS)}
    factors: ClassVar[frozenset[str]] = Workload.factors | OF_WRITERS | {"maps", "operation", "writer_bound"}
    startup_s: ClassVar[float] = 9
    passes: ClassVar[float] = 1
    times_itself: ClassVar[bool] = True
    io_buffer: ClassVar[str] = "task"
    declares: ClassVar[tuple[Metric, ...]] = _of_run(DID)

    def metric_names_with(self, parameters: Mapping[str, Any]) -> tuple[str, ...]:
        """Without the metrics of an operation that the run leaves out."""
        return names_for_claims(_of_run(timed(parameters)))

    def kind(self, parameters: Mapping[str, Any]) -> str:
        """A run of a single operation is of another kind, with a startup overhead of its own."""
        return " ".join([self.name, *([] if len(timed(parameters)) > 1 else timed(parameters))])

    def files(self, parameters: Mapping[str, Any]) -> int:
        return parameter(parameters, "maps")

    def together(self, metric: str) -> Together | None:
        return TOGETHER.get(metric)

    def short_while(self, metric: str) -> ShortWhile | None:
        return SHORT_WHILE.get(metric)

    def crossings(self, remote: float, copies: int, outputs: int, workers: int) -> float:
        return copies - 1

    def written(self, parameters: Mapping[str, Any]) -> float:
        return parameter(parameters, "replication") if "write" in timed(parameters) else 0

    def run(self, bench: Bench) -> Result:
        """Write files with TestDFSIO, then read them, with cold clients unless they keep their caches.

        `operation` may leave out one of the two: files that are only read are written before, unthrottled and anew for
        each run, so that their placement is random in each. Raises RunFailed when a job failed.
        """
        bench.files.begin(_FOLDER)
        files, size = bench.parameters["maps"], bench.scale.file_bytes
        options = bench.jobs.options() | {"test.build.data": bench.files.path(_FOLDER)}

        operations = timed(bench.parameters)

        def act(kept: dict[str, str]) -> list[Job]:
            done = []
            for operation in operations:
                if operation == "read" and not bench.parameters.get("keep_caches"):
                    bench.files.drop_caches()
                command = {"write": write_arguments, "read": read_arguments}[operation]
                done.append(_job(bench, operation, command(files, size, options), kept))
            return done

        if "write" not in operations:
            bench.shaping.lift()
            bench.client.tool(TESTDFSIO_TOOL, write_arguments(files, size, options), "files to read")

        result = bench.jobs.record(act, files * size, output=bench.files.path(f"{_FOLDER}/io_data"))
        for job in result.record["jobs"]:
            if int(job["testdfsio"]["size"]) != files * size:
                raise RunFailed(f"{job['name']}: {job['testdfsio']['size']:.0f} bytes, expected {files * size}")
        return result

    def while_busy(self, record: RunRecord) -> dict[str, tuple[float, float] | None]:
        found: dict[str, tuple[float, float] | None] = {}
        for job in record["jobs"]:
            spans = job.get("spans", [])
            complete = len(spans) == int(job["testdfsio"]["tasks"])
            busy = (min(begin for begin, _ in spans), max(end for _, end in spans)) if complete and spans else None
            found[f"{job['name']}_short_while_busy"] = busy
        return found

    def own_metrics(self, record: RunRecord, samples: Samples) -> Found:
        found: Found = {}
        for job in record["jobs"]:
            name, values, seconds = job["name"], job["testdfsio"], job["end"] - job["submit"]
            if name not in DID:
                raise ValueError(f"a job {name!r}, not of {' or '.join(DID)}")
            files, spans = int(values["tasks"]), job.get("spans", ())
            span = job["submit"], job["end"]
            if not math.isfinite(values["rate"]):
                raise ValueError(f"{name}: a task took less than a millisecond, which is no rate")
            throughput = values["size"] / (values["time"] / 1000) / 1e6
            aggregate = throughput * files
            found |= {
                f"{name}_throughput": throughput,
                f"{name}_rate_mean": values["rate"] / 1000 / files * 2**20 / 1e6,
                f"{name}_aggregate": aggregate,
                f"{name}_node_bandwidth": aggregate / len(record["workers"]),
                f"{name}_link_share": _link_share(record, samples, *span),
                f"{name}_wire_per_user_byte": _ingress(record, samples, *span) / values["size"],
                f"{name}_tasks_at_once": _at_once(spans, files),
                f"{name}_tasks_at_best": _at_once([(0.0, end - begin) for begin, end in spans], files),
                f"{name}_rate_while_busy": values["size"] / _busy(spans, files) / 1e6,
                f"{name}_time": seconds,
                f"{name}_time_net": beyond_overhead(seconds, record["floors"].get(name, 0.0)),
            }
        return found


def _job(bench: Bench, operation: str, arguments: list[str], kept: dict[str, str]) -> Job:
    """The job of one operation, with the values and times of its tasks."""
    job = bench.jobs.submit(TESTDFSIO_TOOL, arguments, operation, kept)
    said = dfsio_result(kept[f"{operation}.txt"])
    shown = bench.client.cat(bench.files.path(f"{_FOLDER}/io_{operation}/part-00000"))
    kept[f"{operation}-result.txt"] = shown + "\n"
    kept[f"{operation}-tasks.txt"] = bench.jobs.task_lines(job["id"], testdfsio.TASK_LINE)
    return job | {
        "testdfsio": testdfsio.task_values(shown),
        "spans": testdfsio.task_spans(kept[f"{operation}-tasks.txt"]),
        "seconds": said.seconds,
    }


def _at_once(spans: Sequence[Sequence[float]], tasks: int) -> float:
    """Mean number of tasks that read or write while one does, including itself; NaN if a task is missing."""
    spent = sum(end - begin for begin, end in spans)
    if len(spans) != tasks or spent <= 0:
        return math.nan
    shared = sum(max(0.0, min(a[1], b[1]) - max(a[0], b[0])) for a in spans for b in spans)
    return shared / spent


def _busy(spans: Sequence[Sequence[float]], tasks: int) -> float:
    """Seconds in which any task reads or writes; NaN if a task is missing."""
    seconds, until = 0.0, -math.inf
    for begin, end in sorted(map(tuple, spans)):
        seconds += max(0.0, end - max(begin, until))
        until = max(until, end)
    return seconds if len(spans) == tasks and seconds > 0 else math.nan


def _ingress(record: RunRecord, samples: Samples, start: float, end: float) -> int:
    """Bytes into all workers between two moments."""
    first, last = nearest(samples.time, start), nearest(samples.time, end)
    return sum(samples.links[f"{h}.ingress"][last] - samples.links[f"{h}.ingress"][first] for h in record["workers"])


def _link_share(record: RunRecord, samples: Samples, start: float, end: float) -> float:
    """Rate in the busiest direction of any worker's link, or on the segment that all hosts share, over its line rate;
    measured over the middle part of its bytes."""
    first, last = nearest(samples.time, start), nearest(samples.time, end)
    times, best = samples.time[first : last + 1], 0.0
    rate = record["fabric"]["rate"] * 1e6 / 8
    for line in _lines(record, samples):
        totals = line[first : last + 1]
        moved = totals[-1] - totals[0]
        inside = [i for i, total in enumerate(totals) if MIDDLE[0] <= (total - totals[0]) / max(1, moved) <= MIDDLE[1]]
        if len(inside) > 1 and moved > 20 * SEGMENT:
            seconds = times[inside[-1]] - times[inside[0]]
            best = max(best, (totals[inside[-1]] - totals[inside[0]]) / max(seconds, 0.1) / rate)
    return best


def _lines(record: RunRecord, samples: Samples) -> list[list[int]]:
    """Cumulative bytes at each sample: for each direction of each worker's link, or for a shared segment as a whole."""
    if record["fabric"]["shared"]:
        return [samples.total(record["links_before"], "egress")]
    return [samples.links[f"{host}.{way}"] for host in record["workers"] for way in ("egress", "ingress")]
