"""The catalogue of metrics: name, unit, scaling with k, startup overhead and meaning, declared here once.

Workloads compute values by name. Tables, checks of claims and documents take the rest from here. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

Found = dict[str, float]
"""Metric → value as measured."""
ScalesAs = Literal["rate", "time", "size", "none"]
"""Full-scale equivalent: rates × k, times ÷ data fraction, sizes × k ÷ data fraction; none for all others."""
Overhead = Literal["never", "of jobs", "always"]
"""Whether a value includes the startup overhead of jobs: never, in runs of jobs only, or always."""


@dataclass(frozen=True)
class Metric:
    """What a metric of a run is. Only those `in_claims` may be the metric of a claim or a control.

    `words`: its name in sentences, unless that is the name with spaces.
    """

    name: str
    unit: str
    meaning: str
    scaling: ScalesAs = "none"
    overhead: Overhead = "never"
    in_claims: bool = True
    words: str = ""

    def holds_overhead(self, jobs: bool) -> bool:
        """Whether a value includes a startup overhead, which does not scale. `jobs`: it is of a run of jobs."""
        return self.overhead == "always" or (self.overhead == "of jobs" and jobs)

    def full_scale(self, value: float, jobs: bool, k: float, data_fraction: float) -> float | None:
        """A measured value at full scale; None for one that has no equivalent. `jobs`: it is of a run of jobs."""
        factors = {"rate": k, "time": 1 / data_fraction, "size": k / data_fraction}
        scales = self.scaling in factors and not self.holds_overhead(jobs)
        return value * factors[self.scaling] if scales else None


def _rate(name: str, meaning: str, overhead: Overhead = "never", **more: Any) -> Metric:
    return Metric(name, "MB/s", meaning, "rate", overhead, **more)


def _time(name: str, meaning: str, overhead: Overhead = "never", **more: Any) -> Metric:
    return Metric(name, "s", meaning, "time", overhead, **more)


def _size(name: str, meaning: str, **more: Any) -> Metric:
    return Metric(name, "B", meaning, "size", **more)


def _number(name: str, meaning: str, **more: Any) -> Metric:
    return Metric(name, "1", meaning, **more)


ANY = (
    _time("completion_time", "first start to last end of all puts, jobs (from submission) or commands", "of jobs"),
    _rate("throughput", "user bytes ÷ `completion_time`", "of jobs"),
    _number("cpu_idle_min", "least idle share of the measuring machine's processors in a whole second"),
    _number("cpu_idle_mean", "mean idle share of the measuring machine's processors"),
    Metric("cpu_seconds_per_gb", "s/GB", "CPU time of the whole machine ÷ user gigabyte (10^9 bytes)",
           overhead="of jobs"),
    _size("user_bytes", "bytes that are written, generated, sorted, read or copied, counted once"),
    _number("tcp_retransmits", "TCP segments sent again, all hosts"),
    _number("queue_drops", "packets dropped in queues of links, all hosts"),
)  # fmt: skip
"""Of any run that moves data."""
MACHINE_METRICS = (
    Metric("cpu_late", "ms", "mean wake-up latency of a process that sleeps 2 ms", in_claims=False),
    _number("cpu_waited", "seconds that ready threads of the hosts waited for a processor ÷ seconds that they ran",
            in_claims=False),
    Metric("cpu_outside", "cores", "processors in use by other programs: all that were busy, less the hosts' and the "
           "measuring process's", in_claims=False),
)  # fmt: skip
"""Of any run on hosts that share one machine: whether it had the processors that it needed."""
CLIENTS = (
    _size("client_wire_bytes", "bytes that left the clients over their links"),
    _size("datanode_wire_bytes", "bytes that reached the DataNodes over their links"),
)
"""Of runs without jobs, besides those of any run."""
PUTS = (
    _rate("throughput_sum", "sum over puts of bytes ÷ that put's own time"),
    _rate("throughput_peak", "largest rate out of the clients in a window that stands for 1 s at full scale (data "
          "fraction × 1 s, at least 0.1 s)"),
    _rate("throughput_peak_100ms", "the same in a window of 0.1 s"),
    _rate("throughput_peak_1s", "the same in a window of 1 s"),
    _number("link_share", "`throughput` per client ÷ set link rate"),
    Metric("client_cpu_cores", "cores", "CPU time of the busiest client's JVM ÷ `completion_time`"),
    _number("datanodes_used", "distinct DataNodes with a replica of the run's first file"),
    _number("replicas_distinct_min", "least number of distinct DataNodes with a replica of a block"),
)  # fmt: skip
"""Of `hdfs_put`."""
RECOVERY = (_number("blocks_copied", "replicas that were made again"),)
"""Of `rereplicate`."""
JOBS = (
    _time("job_floor", "sum of the startup overheads of the run's jobs, each the median of its block; 0 for copies and "
          "read loops", "always"),
    _time("completion_time_net", "`completion_time` − `job_floor`; missing where nothing is left", words="net time"),
    _rate("throughput_net", "user bytes ÷ `completion_time_net`", words="net throughput"),
    _number("compute_share", "(seconds with less than 35 % of the processors idle − `job_floor`) ÷ "
            "`completion_time_net`, within 0 to 1"),
    Metric("worker_cpu_cores", "cores", "CPU time on a worker ÷ `completion_time`, mean over workers"),
    Metric("worker_cpu_seconds_per_gb", "s/GB", "CPU time on all workers ÷ user gigabyte"),
    _size("worker_wire_bytes", "bytes into all workers over their links, control traffic included"),
    _number("wire_per_user_byte", "`worker_wire_bytes` ÷ `user_bytes`; of `testdfsio` over both its jobs"),
)  # fmt: skip
"""Of jobs, copies and read loops, besides those of any run."""
CALLS = (
    Metric("operations_per_second", "1/s", "calls of the NameNode ÷ time of the longest map task (NNBench's TPS, not "
           "rounded); create_write counts two calls per file"),
    Metric("latency_mean", "ms", "mean time of a call: create, open, rename or delete"),
    Metric("close_latency_mean", "ms", "of create_write: mean time of the call that closes a file"),
)  # fmt: skip
"""Of `nnbench`."""
ONE_JOB = (
    _number("maps", "map tasks that ran"),
    _number("reduces", "reduce tasks that ran"),
    _number("local_maps_share", "maps beside a replica of their split, as the scheduler counts them ÷ maps"),
    _time("map_time", "mean over map tasks of end − start", "always"),
    _time("shuffle_time", "mean over reduce tasks, start to end of shuffle", "always"),
    _time("merge_time", "mean over reduce tasks, end of shuffle to end of merge", "always"),
    _time("reduce_time", "mean over reduce tasks, end of merge to end", "always"),
    _time("map_phase", "submission to the end of the last map", "always"),
    _time("reduce_phase", "end of the last map to the end of the job", "always"),
    _number("map_phase_share", "`map_phase` ÷ the job's time"),
    _number("shuffle_share", "(end of the last shuffle − end of the last map) ÷ the job's time less its startup "
            "overhead"),
    _size("shuffle_bytes", "the counter `REDUCE_SHUFFLE_BYTES`"),
    _size("shuffle_wire_bytes", "`shuffle_bytes` × share of (map, reduce) pairs on different hosts: computed, not "
          "counted"),
    _number("wire_excess", "bytes into the workers, less the overhead run's, against what shuffle, remote reads and "
            "replicas must move; 0 between the least and the most possible"),
)  # fmt: skip
"""Of `teragen`, `terasort`, `teravalidate`, `sort`, `wordcount`, and programs of `hibench` with one job."""


def of_operation(op: str) -> tuple[Metric, ...]:
    """Of `testdfsio`: metrics of its operation `op`, `write` or `read`."""
    return (
        _rate(f"{op}_throughput", "all bytes ÷ sum of the tasks' times, as TestDFSIO defines it: a mean rate of one "
              "task"),
        _rate(f"{op}_rate_mean", "mean of the tasks' own rates (TestDFSIO's average I/O rate; its MB are 2^20 bytes, "
              "ours 10^6)"),
        _rate(f"{op}_aggregate", f"`{op}_throughput` × number of files"),
        _rate(f"{op}_node_bandwidth", f"`{op}_aggregate` ÷ number of workers"),
        _number(f"{op}_link_share", "largest use of any worker's link in either direction ÷ line rate, over the middle "
                "80 % of its bytes in the job"),
        _number(f"{op}_wire_per_user_byte", "bytes into all workers over their links in that job ÷ bytes of all files"),
        _number(f"{op}_tasks_at_once", "mean number of tasks that read or write while one does, itself counted, by the "
                "tasks' own logs (none on a cluster that a site runs)"),
        _number(f"{op}_tasks_at_best", "the same if all had begun together, from the tasks' lengths", in_claims=False),
        _rate(f"{op}_rate_while_busy", "bytes of all files ÷ seconds in which any task reads or writes, by the same "
              "logs: the rate of a store whose drives any one task can use"),
        _number(f"{op}_short_while_busy", "share of the seconds from the first task's begin to the last one's end, by "
                "the same logs, in which processors were short: mean wake-up latency above 0.4 ms; on "
                "sites, less than 35 % of them were idle", in_claims=False),
        _time(f"{op}_time", "submission to end of the job", "always"),
        _time(f"{op}_time_net", f"`{op}_time` less that job's startup overhead"),
    )  # fmt: skip


COPIES = (
    _time("copy_in_time", "time of the command that copies into the store, in a JVM that is up already"),
    _time("copy_out_time", "time of the command that copies out of it"),
    _rate("copy_in_rate", "user bytes ÷ `copy_in_time`"),
    _rate("copy_out_rate", "user bytes ÷ `copy_out_time`"),
)
"""Of `copy`."""
LOOPS = (
    _size("old_bytes_read", "read by the loop of Hadoop 0.20 before it ends at the first short read"),
    _size("old_bytes_credited", "credited to it by TestDFSIO: the whole file"),
    _rate("old_rate_credited", "`old_bytes_credited` ÷ the loop's time"),
    _rate("old_rate_read", "`old_bytes_read` ÷ the loop's time"),
    _rate("present_rate", "rate of the present loop, which reads to the end"),
    _number("credit_ratio", "credited ÷ read, with reads that are short only at a block's end, as with clients of that "
            "time"),
    _number("credit_ratio_present_client", "the same with a client of today, whose reads may be short at any packet"),
)  # fmt: skip
"""Of `read_loop`, whose file one client reads three times."""
SUITE = (_rate("node_throughput", "`throughput` ÷ number of workers, as HiBench defines it", "always"),)
"""Of `hibench`."""


def of_report(part: str) -> tuple[Metric, ...]:
    """Of HiBench's own report; `part`: before the name, `write_` or `read_`, where a program has two rows."""
    return (
        _time(f"{part}report_time", "duration of the command, the start of its JVM included", "always"),
        _size(f"{part}report_bytes", "bytes of the program's input", in_claims=False),
        _rate(f"{part}report_throughput", "the report's bytes ÷ its time, whole bytes per second", "always"),
        _rate(f"{part}report_node_throughput", "the same per node", "always"),
        _number(f"{part}report_nodes", "nodes that HiBench divides by: the ratio of the two"),
    )


OPERATIONS, REPORT_PARTS = ("write", "read"), ("", "write_", "read_")
GROUPS = (ANY, MACHINE_METRICS, CLIENTS, PUTS, RECOVERY, JOBS, CALLS, ONE_JOB, COPIES, LOOPS, SUITE)
"""All but the two families, of_operation() and of_report()."""
TABLE: dict[str, Metric] = {
    metric.name: metric
    for group in (*GROUPS, *map(of_operation, OPERATIONS), *map(of_report, REPORT_PARTS)) for metric in group
}  # fmt: skip
"""All metrics by name."""


def names_for_claims(*groups: Iterable[Metric]) -> tuple[str, ...]:
    """Names of those metrics of some groups that claims may use."""
    return tuple(metric.name for group in groups for metric in group if metric.in_claims)


def unit_of(metric: str) -> str:
    """The unit of a metric. KeyError for one that the catalogue lacks."""
    return TABLE[metric].unit


def catalogue_rows(group: Iterable[Metric]) -> Iterator[str]:
    """Lines of a group's table in docs/inside/tables.md."""
    for each in group:
        scaling, overhead = ("" if word in ("none", "never") else word for word in (each.scaling, each.overhead))
        yield f"| `{each.name}` | {each.unit} | {scaling} | {overhead} | {each.meaning} |"
