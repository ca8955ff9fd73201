"""Metrics and validity rules of runs of jobs: times, startup overhead, phases, bytes on links. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from whitewire.records.metrics import Found, Metric
from whitewire.records.reasons import Reason
from whitewire.records.run import Job, RunRecord, Task
from whitewire.records.samples import (
    HEADERS,
    SEGMENT,
    TICKS,
    HostCpu,
    Samples,
    grown,
    idle_shares,
    nearest,
    seconds_held,
)
from whitewire.tools.erasure_coding import Policy

SHORT = 0.35
"""Least idle share of processors in a second; with less, processors are short (Mininet-HiFi's bound)."""

ANY_METRICS = (
    Metric.time("completion_time", "first start to last end of all puts, jobs (from submission) or commands",
                "of jobs"),
    Metric.rate("throughput", "user bytes ÷ `completion_time`", "of jobs"),
    Metric.number("cpu_idle_min", "least idle share of the measuring machine's processors in a whole second"),
    Metric.number("cpu_idle_mean", "mean idle share of the measuring machine's processors"),
    Metric("cpu_seconds_per_gb", "s/GB", "CPU time of the whole machine ÷ user gigabyte (10^9 bytes)",
           overhead="of jobs"),
    Metric.size("user_bytes", "bytes that are written, generated, sorted, read or copied, counted once"),
    Metric.number("tcp_retransmits", "TCP segments sent again because they were lost, all hosts"),
    Metric.number("queue_drops", "packets dropped in queues of links, all hosts"),
)  # fmt: skip
"""Metrics of any run that moves data."""
JOB_METRICS = (
    Metric.time("job_floor", "sum of the startup overheads of the run's jobs, each the median of its block; 0 for "
                "copies and read loops", "always"),
    Metric.time("completion_time_net", "`completion_time` − `job_floor`; missing where nothing is left",
                words="net time"),
    Metric.rate("throughput_net", "user bytes ÷ `completion_time_net`", words="net throughput"),
    Metric.time("link_time", "(bytes over the busiest worker's link in one direction − all bytes of the overhead "
                "runs) ÷ the link's rate, the least net time", in_claims=False),
    Metric.number("compute_share", "(seconds with less than 35 % of the processors idle − `job_floor`) ÷ "
                  "`completion_time_net`, within 0 to 1"),
    Metric("worker_cpu_cores", "cores", "CPU time on a worker ÷ `completion_time`, mean over workers"),
    Metric("worker_cpu_seconds_per_gb", "s/GB", "CPU time on all workers ÷ user gigabyte"),
    Metric.size("worker_wire_bytes", "bytes into all workers over their links, control traffic included"),
    Metric.number("wire_per_user_byte", "`worker_wire_bytes` ÷ `user_bytes`; of `testdfsio` over both its jobs"),
)  # fmt: skip
"""Metrics of jobs, copies and read loops, besides ANY_METRICS."""
ONE_JOB_METRICS = (
    Metric.number("maps", "map tasks that ran"),
    Metric.number("reduces", "reduce tasks that ran"),
    Metric.number("local_maps_share", "maps beside a replica of their split, as the scheduler counts them ÷ maps"),
    Metric.time("map_time", "mean over map tasks of end − start", "always"),
    Metric.time("shuffle_time", "mean over reduce tasks, start to end of shuffle", "always"),
    Metric.time("merge_time", "mean over reduce tasks, end of shuffle to end of merge", "always"),
    Metric.time("reduce_time", "mean over reduce tasks, end of merge to end", "always"),
    Metric.time("map_phase", "submission to the end of the last map", "always"),
    Metric.time("reduce_phase", "end of the last map to the end of the job", "always"),
    Metric.number("map_phase_share", "`map_phase` ÷ the job's time"),
    Metric.number("shuffle_share", "(end of the last shuffle − end of the last map) ÷ the job's time less its startup "
                  "overhead"),
    Metric.size("shuffle_bytes", "the counter `REDUCE_SHUFFLE_BYTES`"),
    Metric.size("shuffle_wire_bytes", "`shuffle_bytes` × share of (map, reduce) pairs on different hosts: computed, "
                "not counted"),
    Metric.number("wire_excess", "bytes into the workers, less the overhead run's, against what shuffle, remote reads "
                  "and replicas must move; 0 between the least and the most possible"),
)  # fmt: skip
"""Metrics of `teragen`, `randomwriter`, `randomtextwriter`, `terasort`, `teravalidate`, `sort`, `wordcount`, and of
`hibench`'s programs with one job."""
SUITE_METRICS = (Metric.rate("node_throughput", "`throughput` ÷ number of workers, as HiBench defines it", "always"),)
"""Metrics of `hibench` alone."""

WHOLE_RUN = ("completion_time_net", "job_floor")
_WRITE, READ = ("write_time_net", "write_time"), ("read_time_net", "read_time")
NET = {
    "completion_time_net": WHOLE_RUN, "throughput_net": WHOLE_RUN,
    "compute_share": WHOLE_RUN, "shuffle_share": WHOLE_RUN,
    "write_time_net": _WRITE, "read_time_net": READ,
}  # fmt: skip
"""Metrics that depend on a net time → (metric of the net time, metric of the overhead or of the total time)."""
OF_OVERHEADS = (*NET, "job_floor", "wire_excess")
"""Metrics that rest on the overhead runs of the block besides the run itself."""

NEED_OVERHEAD = ("job_floor", "completion_time_net", "throughput_net")
"""Metrics that need a startup overhead."""


def beyond_overhead(seconds: float, overhead: float) -> float:
    """Net time of a job in seconds: its time less its startup overhead; NaN if that is not above 0."""
    return seconds - overhead if seconds > overhead else math.nan


def share_of_net(seconds: float, net: float) -> float:
    """Share of a job's net time, from 0 to 1; NaN without a net time."""
    return max(0.0, min(1.0, seconds / net)) if net > 0 else math.nan


def job_metrics(record: RunRecord, samples: Samples, cpu: HostCpu, own: Found) -> Found:
    """Metrics of every run of jobs, and its workload's `own` ones."""
    found = _common(record, samples, cpu) | own | _per_node(record)
    if record["floors"]:
        return found
    # HiBench's dfsioe and sleep have no startup overhead; for others (with a `floor`), no overhead run was valid.
    without = (*NET, "job_floor") if record.get("floor") else NEED_OVERHEAD if "program" in record else ()
    return {name: value for name, value in found.items() if name not in without}


def _common(record: RunRecord, samples: Samples, cpu: HostCpu) -> Found:
    start, end, user = record["start"], record["end"], record["user_bytes"]
    seconds = end - start
    shares = idle_shares(samples, start, end) or [(0.0, math.nan)]
    overhead = sum(record["floors"].values())
    net = beyond_overhead(seconds, overhead)
    short = seconds_held([(left, share < SHORT) for left, share in shares], seconds)
    first, last = nearest(samples.time, start), nearest(samples.time, end)
    ticks = max(1, samples.ticks[last] - samples.ticks[first])
    busy = ticks - (samples.idle_ticks[last] - samples.idle_ticks[first])
    workers = record["workers"]
    used = [grown(cpu[0], cpu[1][host], start, end) for host in workers]
    wire = worker_wire(record)
    return {
        "completion_time": seconds,
        "throughput": user / seconds / 1e6,
        "job_floor": overhead,
        "completion_time_net": net,
        "throughput_net": user / net / 1e6,
        "link_time": link_time(record),
        "compute_share": share_of_net(short - overhead, net),
        "cpu_idle_min": min(share for _, share in shares),
        "cpu_idle_mean": 1 - busy / ticks,
        "worker_cpu_cores": sum(used) / len(used) / seconds,
        "user_bytes": user,
        "worker_wire_bytes": wire,
        "tcp_retransmits": record["tcp_retransmits"],
        "queue_drops": record["queue_drops"],
        **_per_byte(user, busy / TICKS, sum(used), wire),
    }


def _per_byte(user: float, cpu: float, worker_cpu: float, wire: float) -> Found:
    """Metrics per user byte; empty for a job without user bytes."""
    if not user:
        return {}
    return {
        "cpu_seconds_per_gb": cpu / (user / 1e9),
        "worker_cpu_seconds_per_gb": worker_cpu / (user / 1e9),
        "wire_per_user_byte": wire / user,
    }


def _per_node(record: RunRecord) -> Found:
    """Throughput of a HiBench program per worker, as HiBench defines it; empty for other runs."""
    if "program" not in record or not record["user_bytes"]:
        return {}
    seconds = record["end"] - record["start"]
    return {"node_throughput": record["user_bytes"] / seconds / len(record["workers"]) / 1e6}


def moved(record: RunRecord, hosts: Iterable[str], way: str) -> int:
    """Bytes that left (`egress`) or reached (`ingress`) hosts over their links in a run."""
    return sum(record["links_after"][h][way] - record["links_before"][h][way] for h in hosts)


def link_time(record: RunRecord) -> float:
    """Seconds that the busiest worker's link needs for a run's data in one direction."""
    busiest = max(moved(record, [host], way) for host in record["workers"] for way in ("ingress", "egress"))
    return max(0.0, busiest - record.get("floor_wire", 0.0)) * 8e-6 / record["fabric"]["rate"]


def worker_wire(record: RunRecord) -> int:
    """Bytes that all workers received over their links."""
    return moved(record, record["workers"], "ingress")


def all_wire(record: RunRecord) -> int:
    """Bytes that all hosts received over their links: traffic to a parallel file system passes no worker."""
    return moved(record, record["links_after"], "ingress")


def _tasks(job: Job, kind: str) -> list[Task]:
    return [task for task in job["tasks"] if task["type"] == kind]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def at_once(tasks: Sequence[Task]) -> int:
    """Largest number of tasks that ran concurrently on one host."""
    most = 0
    for host in {task["host"] for task in tasks}:
        own = [task for task in tasks if task["host"] == host]
        most = max(most, *(sum(t["start"] <= task["start"] < t["end"] for t in own) for task in own))
    return most


def waves(tasks: Sequence[Task]) -> int:
    """Largest number of tasks that one host ran one after the other."""
    most = 0
    for host in {task["host"] for task in tasks}:
        until, number = -math.inf, 0
        for task in sorted((task for task in tasks if task["host"] == host), key=lambda task: task["end"]):
            if task["start"] >= until:
                until, number = task["end"], number + 1
        most = max(most, number)
    return most


OVERHEAD_PER_RECORD = 2
"""Least number of bytes per record of a map task's output in addition to key and value (IFile.java)."""


def map_output_shorter(counters: Mapping[str, int]) -> bool:
    """Whether map tasks wrote fewer bytes than they emitted, although no combiner ran, which shows compression."""
    out, written = counters.get("MAP_OUTPUT_BYTES", 0), counters.get("MAP_OUTPUT_MATERIALIZED_BYTES", 0)
    records = counters.get("MAP_OUTPUT_RECORDS", 0)
    return not counters.get("COMBINE_INPUT_RECORDS") and 0 < written < out + OVERHEAD_PER_RECORD * records


def one_job(record: RunRecord) -> Found:
    """Metrics from the phases and counters of a run's only job."""
    (job,) = record["jobs"]
    maps, reduces, counters = _tasks(job, "MAP"), _tasks(job, "REDUCE"), job["counters"]
    maps_end = max((task["end"] for task in maps), default=job["start"])
    shuffle_end = max((task["shuffle_end"] for task in reduces), default=maps_end)
    net = beyond_overhead(job["end"] - job["submit"], sum(record["floors"].values()))
    crossing, least, most = crossing_bytes(record, job)
    # The bytes of an overhead run are control traffic, which does not grow with the data.
    wire = worker_wire(record) - record.get("floor_wire", 0.0)
    found: Found = {
        "maps": len(maps),
        "reduces": len(reduces),
        "local_maps_share": counters.get("DATA_LOCAL_MAPS", 0) / max(1, len(maps)),
        "map_time": _mean([task["end"] - task["start"] for task in maps]),
        "map_phase": maps_end - job["submit"],
        "reduce_phase": job["end"] - maps_end,
        "map_phase_share": (maps_end - job["submit"]) / (job["end"] - job["submit"]),
        "shuffle_share": max(0.0, shuffle_end - maps_end) / net,
        "shuffle_bytes": counters.get("REDUCE_SHUFFLE_BYTES", 0),
        "shuffle_wire_bytes": crossing,
        "wire_excess": _excess(wire, least, most, record),
    }
    if reduces:
        found |= {
            "shuffle_time": _mean([task["shuffle_end"] - task["start"] for task in reduces]),
            "merge_time": _mean([task["merge_end"] - task["shuffle_end"] for task in reduces]),
            "reduce_time": _mean([task["end"] - task["merge_end"] for task in reduces]),
        }
    return found


def _excess(wire: float, least: float, most: float, record: RunRecord) -> float:
    """Share by which the workers' links carried less (negative) or more than a job must move.

    NaN for a job that moves no more than its overhead run: its control traffic varies by as much.
    """
    if not record["user_bytes"] or least <= record.get("floor_wire", 0.0):
        return math.nan
    return min(wire / least - 1, 0.0) + max(wire / most - 1, 0.0)


def crossing_bytes(record: RunRecord, job: Job) -> tuple[float, float, float]:
    """(shuffled bytes that cross links, least and most bytes that the job moves into workers over links).

    A reduce task fetches the output of maps on other hosts over its host's link, by assumption an equal part of each
    map's output. Each replica except for the writer's own crosses one link. A map that the scheduler does not call
    local may still have a local replica, so the input of such maps counts only in the upper bound. All input from a
    mounted file system crosses links. For coded files, a task reads and writes the blocks of a group, except for at
    most one, over its host's link.
    """
    counters = job["counters"]
    maps, reduces = _tasks(job, "MAP"), _tasks(job, "REDUCE")
    pairs = len(maps) * len(reduces)
    apart = sum(m["host"] != r["host"] for m in maps for r in reduces)
    crossing = counters.get("REDUCE_SHUFFLE_BYTES", 0) * apart / pairs if pairs else 0.0
    if record.get("mounted"):
        return crossing, crossing, crossing + record["user_bytes"]
    away = 1 - counters.get("DATA_LOCAL_MAPS", len(maps)) / max(1, len(maps))
    read, written = counters.get("HDFS_BYTES_READ", 0), counters.get("HDFS_BYTES_WRITTEN", 0)
    if policy := Policy.of(record.get("coding", "")):
        # The blocks of a group are on distinct hosts; at most one of them is the task's own.
        away, spread = 1 - 1 / policy.data, policy.datanodes / policy.data
        least = crossing + read * away + written * (spread - 1 / policy.data)
        return crossing, least, crossing + read + written * spread
    copied = written * max(0, record["output_replication"] - 1)
    return crossing, crossing + copied, crossing + copied + read * away


def job_faults(record: RunRecord, found: Found, limits: Mapping[str, float], computes: bool = True) -> list[Reason]:
    """Reasons why a run of jobs is invalid (empty: it is valid). `limits`: the testbed's bounds.

    `computes`: its tasks compute, so that a lack of processors may have determined its time.
    """
    why = []
    # For hosts with processors of their own; see also records/processors.py. Jobs without data have no time beyond
    # their overhead.
    asked = "compute_share" in limits and "compute_share" in found
    if asked and record["cpu"] == "limit" and computes and record["user_bytes"]:
        share = found["compute_share"]
        if share > limits["compute_share"]:
            why.append(Reason("busy", {"share": share, "bound": limits["compute_share"]}))
    excess = found.get("wire_excess", math.nan)
    most = limits["job_wire_high"] if record["floors"] else math.inf  # an excess may be control traffic
    if math.isfinite(excess) and not limits["job_wire_low"] <= excess <= most:
        why.append(Reason("job_wire", {"excess": excess}))
    return why + losses(record, limits, all_wire(record))


def segment(record: RunRecord) -> float:
    """Bytes of payload in a full TCP segment of a run."""
    mtu = record["fabric"]["mtu"]
    return mtu - HEADERS if mtu else SEGMENT


def losses(record: RunRecord, limits: Mapping[str, float], carried: float) -> list[Reason]:
    """Reasons why losses on the links make a run or an overhead run invalid (empty: they do not).

    `carried`: bytes on the links whose segments may be lost.
    """
    found = []
    segments = max(1.0, carried / segment(record))
    # Datagrams of cross traffic are dropped in the same queues, by design.
    beside = record["asked"].get("cross_traffic", 0)
    counted = [(record["tcp_retransmits"], "retransmit_share", "retransmits")]
    counted += [] if beside else [(record["queue_drops"], "queue_drop_share", "drops")]
    for number, limit, code in counted:
        bound = limits[limit]
        if number / segments > bound:
            found.append(Reason(code, {"share": number / segments, "bound": bound}))
    return found
