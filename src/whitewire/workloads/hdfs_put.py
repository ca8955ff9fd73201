"""`hdfs_put`: clients copy files into HDFS at one signal, with the stock `hdfs dfs -put`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from whitewire.errors import RunFailed
from whitewire.factors import PUT_FROM, on_datanodes, parameter
from whitewire.records.metrics import Found, Metric
from whitewire.records.result import Result
from whitewire.records.run import EvidenceRecord, PlacedBlock, RunRecord
from whitewire.records.samples import HostCpu, Samples, peak_rate
from whitewire.tools.erasure_coding import Policy
from whitewire.tools.namenode import Operation
from whitewire.workloads.base import generic_options
from whitewire.workloads.bench import Bench, Outcome
from whitewire.workloads.without_jobs import WithoutJobs

MOST_THREADS = 16
_PEAKS = (
    Metric.rate("throughput_peak", "largest rate out of the clients in a window that stands for 1 s at full scale "
                "(data fraction × 1 s, at least 0.1 s); missing where clients are on DataNodes"),
    Metric.rate("throughput_peak_100ms", "the same in a window of 0.1 s"),
    Metric.rate("throughput_peak_1s", "the same in a window of 1 s"),
)  # fmt: skip
_METRICS = (
    Metric.rate("throughput_sum", "sum over puts of bytes ÷ that put's own time"),
    *_PEAKS,
    Metric.number("link_share", "`throughput` per client ÷ set link rate"),
    Metric("client_cpu_cores", "cores", "CPU time of the busiest client's JVM ÷ `completion_time`"),
    Metric.number("datanodes_used", "distinct DataNodes with a replica of the run's first file"),
    Metric.number("replicas_distinct_min", "least number of distinct DataNodes with a replica of a block"),
)  # fmt: skip


def put_arguments(files: Sequence[str], target: str, settings: Mapping[str, object]) -> list[str]:
    """Arguments of `hdfs dfs` that copy all files to a folder of HDFS at once, one thread a file (to MOST_THREADS).

    `settings` are client settings of this call (Hadoop's generic option -D).
    """
    threads = ["-t", str(min(len(files), MOST_THREADS))] if len(files) > 1 else []
    return [*generic_options(settings), "-put", *threads, *files, target]


class HdfsPut(WithoutJobs):
    name: ClassVar[str] = "hdfs_put"
    reads: ClassVar[frozenset[str]] = WithoutJobs.reads | {"writer_bound", "put_from"}
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"put_from": PUT_FROM}
    factors: ClassVar[frozenset[str]] = WithoutJobs.factors | {"store", "writer_bound", "put_from"}
    modelled: ClassVar[bool] = True
    declares: ClassVar[tuple[Metric, ...]] = (*WithoutJobs.declares, *_METRICS)

    def metric_names_with(self, parameters: Mapping[str, Any]) -> tuple[str, ...]:
        """Without rates out of the clients' hosts where these are DataNodes, which pass on copies too."""
        left_out = {peak.name for peak in _PEAKS} if on_datanodes(parameters) else set()
        return tuple(metric for metric in self.metric_names if metric not in left_out)

    def written(self, parameters: Mapping[str, Any]) -> float:
        return parameter(parameters, "replication")

    def run(self, bench: Bench) -> Result:
        """Clients × puts, started together. Raises RunFailed when a put failed, ProcessDied when a daemon died."""
        puts, files = bench.puts, bench.puts.source_files()
        puts.empty()
        outcomes: list[Outcome] = []
        before = puts.packets()

        def act() -> RunRecord:
            outcomes.extend(puts.put(files, bench.settings))
            return {"busy_clients": puts.names()}

        result = bench.observer.observe(act)
        after = puts.packets()
        kept = result.files | {f"client{n}.txt": o.output + "\n" for n, o in enumerate(outcomes, start=1)}
        placement, fsck = puts.placement(settled=True)
        kept["fsck.txt"] = fsck + "\n"
        operations = puts.operations(kept["namenode-audit.txt"])
        _check_written(bench, outcomes, operations, placement)
        stored = puts.stored(fsck)
        packets: EvidenceRecord = {} if before is None or after is None else {"packets": after - before}
        record: RunRecord = {
            **stored,
            "start": min(operation.start for operation in operations),
            "end": max(operation.end for operation in operations),
            "commands": [{"begin": o.begin, "end": o.end, "status": o.status} for o in outcomes],
            "operations": [
                {"client": o.path.split("/")[2], "operation": o.path.split("/")[3], "bytes": bench.scale.file_bytes,
                 "start": o.start, "end": o.end}
                for o in operations
            ],
            "placement": placement,
            "asked": {**result.record["asked"], **stored["asked"]},
            "evidence": {**result.record["evidence"], **stored["evidence"], "settings": bench.client.settings(),
                         **packets},
        }  # fmt: skip
        return result.plus(record, kept)

    def metrics(self, record: RunRecord, samples: Samples, cpu: HostCpu) -> Found:
        operations = record["operations"]
        found = self.of_clients(record, samples, sum(operation["bytes"] for operation in operations))
        lines = 1 if record["fabric"]["shared"] else record["clients"]
        line_rate = record["fabric"]["rate"] / 8 * lines
        seconds = record["end"] - record["start"]
        busiest = max(record["cpu_seconds"][name] for name in record["busy_clients"])
        totals = [bytes_ / 1e6 for bytes_ in samples.total(record["client_hosts"], "egress")]
        windows = () if _stays(record) else (max(0.1, record["scale"]["data_fraction"]), 0.1, 1.0)
        return found | {
            "throughput_sum": sum(o["bytes"] / (o["end"] - o["start"]) for o in operations) / 1e6,
            **{peak.name: peak_rate(samples.time, totals, window)
               for peak, window in zip(_PEAKS, windows, strict=False)},
            "link_share": found["throughput"] / line_rate,
            "client_cpu_cores": busiest / seconds,
            "replicas_distinct_min": min(len(set(b["datanodes"])) for b in record["placement"]),
            "datanodes_used": _datanodes_of_first_file(record["placement"]),
        }  # fmt: skip

    def written_to(self, record: RunRecord, found: Found) -> Iterable[tuple[str, float, float]]:
        user = found["user_bytes"]
        if policy := Policy.of(record.get("coding", "")):  # the client sends each block of a group to its DataNode
            sent = arrived = float(sum(policy.kept(group["bytes"]) for group in record["placement"]))
        else:  # a pipeline: the client sends once, DataNodes pass it on
            sent, arrived = user, user * (record["replication"] - _stays(record))
        if not _stays(record):
            yield "client links", found["client_wire_bytes"], sent
        yield "DataNode links", found["datanode_wire_bytes"], arrived


def _stays(record: RunRecord) -> bool:
    """Whether each block's first copy stayed on the host that put it."""
    return on_datanodes(record["asked"])


def _datanodes_of_first_file(placement: Sequence[PlacedBlock]) -> int:
    first = placement[0]["file"]
    return len({name for block in placement if block["file"] == first for name in block["datanodes"]})


def _check_written(
    bench: Bench, outcomes: Sequence[Outcome], operations: Sequence[Operation], placement: Sequence[PlacedBlock]
) -> None:
    """Raises RunFailed unless all puts completed and HDFS holds all their bytes."""
    puts = bench.parameters["clients"] * bench.parameters["puts_per_client"]
    # With several threads the shell ends with status 0 even when a copy failed: count what the NameNode completed.
    failed = next((outcome for outcome in outcomes if outcome.status != 0), None)
    if failed or len(operations) != puts:
        lines = [line.strip() for o in outcomes for line in o.output.splitlines() if line.strip()]
        # The shell's own message about a file, rather than a warning before it.
        said = next((line for line in lines if line.startswith("put: ")), next(iter(lines), "no message"))
        raise RunFailed(f"{len(operations)} of {puts} puts completed: {said[:200]}")
    written, expected = sum(block["bytes"] for block in placement), puts * bench.scale.file_bytes
    if written != expected:
        raise RunFailed(f"HDFS holds {written} bytes, expected {expected}")
