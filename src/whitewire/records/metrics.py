"""From one run's record and samples to its metrics (docs/architecture.md lists them). Pure functions."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

TICKS = 100
"""Clock ticks a second in /proc/stat (sysconf _SC_CLK_TCK; 100 on Linux)."""
SHORT_OF_PROCESSORS = "processors"
"""How a reason begins that a run does not count for want of processors."""
SEGMENT = 1448
"""Bytes of data in a full TCP segment on Ethernet (1500 less 52 of IP and TCP headers with time stamps)."""


@dataclass(frozen=True)
class Samples:
    """samples.csv of a run: times (seconds since 1970), ticks, and link bytes by `<host>.<way>`."""

    time: list[float]
    ticks: list[int]
    idle_ticks: list[int]
    links: dict[str, list[int]]

    def total(self, hosts: Sequence[str], way: str) -> list[int]:
        """Sum over hosts of their link's bytes, sample by sample."""
        return [sum(values) for values in zip(*(self.links[f"{host}.{way}"] for host in hosts), strict=True)]


def read_samples(text: str) -> Samples:
    rows = list(csv.DictReader(io.StringIO(text)))
    links = [name for name in rows[0] if "." in name]
    return Samples(
        [float(row["time"]) for row in rows],
        [int(row["ticks"]) for row in rows],
        [int(row["idle_ticks"]) for row in rows],
        {name: [int(row[name]) for row in rows] for name in links},
    )


def peak_rate(times: Sequence[float], totals: Sequence[float], window: float) -> float:
    """Largest mean rate (units of `totals` a second) over any window of `window` seconds that starts at a sample.

    A window reaches to the first sample at or after its length; a series shorter than the window counts whole.
    """
    best, end = 0.0, 0
    for start in range(len(times) - 1):
        end = max(end, start + 1)
        while end < len(times) - 1 and times[end] - times[start] < window - 1e-3:
            end += 1
        best = max(best, (totals[end] - totals[start]) / max(times[end] - times[start], window))
    return best


def idle_shares(samples: Samples, start: float, end: float, step: float = 1.0) -> list[tuple[float, float]]:
    """(seconds since start, idle share of all processors) for each `step` of the run, or for the run if shorter.

    The shares are between the samples next to the step's ends.
    """
    whole = int((end - start) / step)
    windows = [(start + number * step, start + (number + 1) * step) for number in range(whole)]
    # The rest of the run is in a last window of full length, which overlaps the one before.
    if end - start > whole * step:
        windows.append((max(start, end - step), end))
    found = []
    for left, right in windows:
        first, last = (nearest(samples.time, left), nearest(samples.time, right))
        if last == first:
            continue
        ticks = samples.ticks[last] - samples.ticks[first]
        if ticks > 0:
            found.append((left - start, (samples.idle_ticks[last] - samples.idle_ticks[first]) / ticks))
    return found


def nearest(times: Sequence[float], moment: float) -> int:
    """Number of the sample next to a moment."""
    return min(range(len(times)), key=lambda number: abs(times[number] - moment))


def _moved(record: Mapping, hosts: Sequence[str], way: str) -> int:
    return sum(record["links_after"][h][way] - record["links_before"][h][way] for h in hosts)


def _common(record: Mapping, samples: Samples, user_bytes: int) -> dict[str, tuple[float, str]]:
    start, end = record["start"], record["end"]
    shares = [share for _, share in idle_shares(samples, start, end)] or [float("nan")]
    first, last = nearest(samples.time, start), nearest(samples.time, end)
    ticks = samples.ticks[last] - samples.ticks[first]
    busy = ticks - (samples.idle_ticks[last] - samples.idle_ticks[first])
    return {
        "completion_time": (end - start, "s"),
        "throughput": (user_bytes / (end - start) / 1e6, "MB/s"),
        "cpu_idle_min": (min(shares), "1"),
        "cpu_idle_mean": (1 - busy / ticks if ticks else float("nan"), "1"),
        "cpu_seconds_per_gb": (busy / TICKS / (user_bytes / 1e9), "s/GB"),
        "user_bytes": (user_bytes, "B"),
        "client_wire_bytes": (_moved(record, record["client_hosts"], "egress"), "B"),
        "datanode_wire_bytes": (_moved(record, record["datanode_hosts"], "ingress"), "B"),
        "tcp_retransmits": (record["tcp_retransmits"], "1"),
        "queue_drops": (record["queue_drops"], "1"),
    }


def of_put(record: Mapping, samples: Samples) -> dict[str, tuple[float, str]]:
    """Metric → (value as measured, unit) of an hdfs_put run."""
    operations = record["operations"]
    metrics = _common(record, samples, sum(operation["bytes"] for operation in operations))
    totals = [bytes_ / 1e6 for bytes_ in samples.total(record["client_hosts"], "egress")]
    lines = 1 if record["fabric"].get("shared") else record["clients"]
    line_rate = record["fabric"]["rate"] / 8 * lines
    seconds = record["end"] - record["start"]
    metrics |= {
        "throughput_sum": (sum(o["bytes"] / (o["end"] - o["start"]) for o in operations) / 1e6, "MB/s"),
        "throughput_peak": (
            peak_rate(samples.time, totals, max(0.1, record["scale"]["data_fraction"])),
            "MB/s",
        ),
        "throughput_peak_100ms": (peak_rate(samples.time, totals, 0.1), "MB/s"),
        "throughput_peak_1s": (peak_rate(samples.time, totals, 1.0), "MB/s"),
        "link_share": (metrics["throughput"][0] / line_rate, "1"),
        "client_cpu_cores": (
            max(record["cpu_seconds"][h] for h in record["busy_clients"]) / seconds,
            "cores",
        ),
        "replicas_distinct_min": (min(len(set(b["datanodes"])) for b in record["placement"]), "1"),
        "datanodes_used": (_datanodes_of_first_file(record["placement"]), "1"),
    }
    return metrics


def _datanodes_of_first_file(placement: Sequence[Mapping]) -> int:
    first = placement[0]["file"]
    return len({name for block in placement if block["file"] == first for name in block["datanodes"]})


def of_rereplicate(record: Mapping, samples: Samples) -> dict[str, tuple[float, str]]:
    """Metric → (value as measured, unit) of a rereplicate run; user bytes are those copied."""
    return _common(record, samples, record["bytes_copied"]) | {"blocks_copied": (record["blocks_copied"], "1")}


OF = {"hdfs_put": of_put, "rereplicate": of_rereplicate}
"""The metrics of each workload that is no job; job_metrics has the others."""


def of(record: Mapping, files: Mapping[str, str]) -> dict[str, tuple[float, str]]:
    """Metric → (value as measured, unit) of any run, from its record and its files by name."""
    samples = read_samples(files["samples.csv"])
    if record["workload"] in OF:
        return OF[record["workload"]](record, samples)
    from whitewire.records import job_metrics

    return job_metrics.of(record, samples, job_metrics.read_host_cpu(files["host-cpu.csv"]))


SCALES = {"MB/s": ("rate", "MB/s"), "s": ("time", "s"), "B": ("size", "B")}


WALL = frozenset(
    [
        "job_floor",
        "map_time",
        "shuffle_time",
        "merge_time",
        "reduce_time",
        "map_phase",
        "reduce_phase",
        "write_time",
        "read_time",
    ]
)
"""Times and rates of jobs that include their floor, which does not scale: they have no full-scale equivalent."""


def full_scale(metric: str, value: float, unit: str, workload: str, k: float, data_fraction: float):
    """(value, unit) at full scale of a measured value: rates × k, times ÷ data fraction, bytes × k ÷ data fraction.

    None where nothing scales.
    """
    wall = metric in WALL or metric.endswith(("report_time", "report_throughput", "node_throughput"))
    if wall or (workload not in OF and metric in ("completion_time", "throughput", "cpu_seconds_per_gb")):
        return None
    kind = SCALES.get(unit, (None,))[0]
    factor = {"rate": k, "time": 1 / data_fraction, "size": k / data_fraction}.get(kind)
    return None if factor is None else (value * factor, unit)


def faults(record: Mapping, metrics: Mapping[str, tuple[float, str]], limits: Mapping) -> list[str]:
    """Why a run may not count (empty: it is valid). The bounds are the testbed's `limits`."""
    found = []
    if record["workload"] not in OF:
        from whitewire.records import job_metrics

        return job_metrics.faults(record, metrics, limits)
    idle = metrics["cpu_idle_min"][0]
    if not idle >= limits["cpu_idle_floor"]:
        found.append(f"{SHORT_OF_PROCESSORS} idle only {idle:.0%} in one second, floor {limits['cpu_idle_floor']:.0%}")
    user = metrics["user_bytes"][0]
    if record["workload"] == "hdfs_put":
        pairs = (
            ("client links", metrics["client_wire_bytes"][0], user),
            ("DataNode links", metrics["datanode_wire_bytes"][0], user * record["replication"]),
        )
    else:
        pairs = (("DataNode links", metrics["datanode_wire_bytes"][0], user),)
    for what, wire, expected in pairs:
        excess = wire / expected - 1
        if not limits["wire_excess_low"] <= excess <= limits["wire_excess_high"]:
            found.append(f"{what} carried {excess:+.1%} against the {expected / 1e6:.1f} MB written there")
    wire = metrics["client_wire_bytes"][0] + metrics["datanode_wire_bytes"][0]
    again = metrics["tcp_retransmits"][0] / (wire / SEGMENT)
    if again > limits["retransmit_share"]:
        found.append(f"{again:.1%} of all TCP segments sent again, bound {limits['retransmit_share']:.1%}")
    dropped = metrics["queue_drops"][0] / (wire / SEGMENT)
    if dropped > limits["queue_drop_share"]:
        found.append(f"{dropped:.1%} of all packets dropped in queues, bound {limits['queue_drop_share']:.1%}")
    return found
