"""Drives pooled behind a network, compared with drives in the nodes: bounds from the data that each part must carry.

Rates are in MB/s, times in s. The bounds assume ideal sharing, no cache and no loss to seeks unless the given drive
rate includes it (see disks.py), so a measured rate above a bound needs an explanation.
"""

from __future__ import annotations


def task_time(input_s: float, compute_s: float, output_s: float, stripes: float) -> float:
    """Time (s) of a task whose output goes to `stripes` idle drives in parallel instead of one."""
    if min(input_s, compute_s, output_s) < 0 or stripes < 1:
        raise ValueError("times must be at least 0 and stripes at least 1")
    return input_s + compute_s + output_s / stripes


def task_speedup(input_s: float, compute_s: float, output_s: float, stripes: float) -> float:
    """Time of the task on one drive over its time with striped output (no unit)."""
    return task_time(input_s, compute_s, output_s, 1) / task_time(input_s, compute_s, output_s, stripes)


def output_busy_share(tasks: float, input_s: float, compute_s: float, output_s: float, stripes: float) -> float:
    """Share of the time in which the pooled drives write, while `tasks` such tasks repeat without pause."""
    return tasks * output_s / stripes / task_time(input_s, compute_s, output_s, stripes)


def busy_share(tasks: float, input_s: float, compute_s: float, output_s: float, stripes: float) -> float:
    """Share of the time in which the pooled drives read or write, where `input_s` is the input's time on one drive."""
    used = tasks * (input_s + output_s) / stripes
    return used / task_time(input_s, compute_s, output_s, stripes)


def undisturbed_share(tasks: float, input_s: float, compute_s: float, output_s: float, stripes: float) -> float:
    """Probability that an output overlaps none of the other tasks' outputs, if all start at random times."""
    cycle = task_time(input_s, compute_s, output_s, stripes)
    return max(0.0, 1 - 2 * output_s / stripes / cycle) ** (tasks - 1)


def network_copies(replication: float, writer_on_datanode: float) -> float:
    """Times that a block crosses the network; `writer_on_datanode`: 1 if the first replica is local, else 0."""
    if replication < 1 or writer_on_datanode not in (0, 1):
        raise ValueError("replication must be at least 1 and writer_on_datanode 0 or 1")
    return replication - writer_on_datanode


def hdfs_write_rate(
    writers: float,
    replication: float,
    link_mb_per_s: float,
    drive_mb_per_s: float,
    nodes: float,
    shared_medium: float = 0,
) -> float:
    """Upper bound on the rate (MB/s) of each of `writers` tasks, spread evenly over nodes with one drive and one link.

    The first replica stays on the writer's node. `shared_medium`: 1 if all nodes share one segment of
    `link_mb_per_s`; 0 for a switch, where each link has that rate in each direction.
    """
    if min(writers, replication, link_mb_per_s, drive_mb_per_s, nodes) <= 0 or shared_medium not in (0, 1):
        raise ValueError("all but shared_medium must be above 0, and that 0 or 1")
    bounds = [drive_mb_per_s, nodes * drive_mb_per_s / (writers * replication)]
    if replication > 1:
        crossing = replication - 1
        links = 1 if shared_medium else nodes
        bounds += [link_mb_per_s, links * link_mb_per_s / (writers * crossing)]
    return min(bounds)


def striped_rate(
    clients: float,
    link_mb_per_s: float,
    servers: float,
    targets_per_server: float,
    target_mb_per_s: float,
    cached_share: float = 0,
) -> float:
    """Upper bound on the rate (MB/s) of each of `clients` clients, to or from files striped over all targets.

    Each client and each server has one link. `cached_share` (0 to below 1): share of a written file that is still in
    the client's cache when its write returns.
    """
    if min(clients, link_mb_per_s, servers, targets_per_server, target_mb_per_s) <= 0 or not 0 <= cached_share < 1:
        raise ValueError("counts and rates must be above 0 and cached_share in 0..1")
    server = min(link_mb_per_s, targets_per_server * target_mb_per_s)
    return min(link_mb_per_s, servers * server / clients) / (1 - cached_share)


def needed_cache_share(rate_mb_per_s: float, clients: float, targets: float, target_mb_per_s: float) -> float:
    """Least share of the data still in caches that explains `rate_mb_per_s` for each of `clients` writers."""
    if min(rate_mb_per_s, clients, targets, target_mb_per_s) <= 0:
        raise ValueError("counts and rates must be above 0")
    return max(0.0, 1 - targets * target_mb_per_s / (clients * rate_mb_per_s))


def copy_time(size_mb: float, local_mb_per_s: float, link_mb_per_s: float, store_mb_per_s: float) -> float:
    """Time (s) to copy a file between a local drive and a store, at the rate of the slowest part."""
    if min(local_mb_per_s, link_mb_per_s, store_mb_per_s) <= 0 or size_mb < 0:
        raise ValueError("rates must be above 0 and the size at least 0")
    return size_mb / min(local_mb_per_s, link_mb_per_s, store_mb_per_s)


def split_efficiency(split_mb: float, rate_mb_per_s: float, start_s: float) -> float:
    """Share (0 to 1) of a map task's time after its start-up of `start_s`, if it reads a split at `rate_mb_per_s`."""
    if split_mb <= 0 or rate_mb_per_s <= 0 or start_s < 0:
        raise ValueError("split and rate must be above 0, the start at least 0")
    moving = split_mb / rate_mb_per_s
    return moving / (moving + start_s)


def split_efficiency_ratio(split_mb: float, other_split_mb: float, rate_mb_per_s: float, start_s: float) -> float:
    """Efficiency with splits of `split_mb` over that with splits of `other_split_mb` (no unit)."""
    mine = split_efficiency(split_mb, rate_mb_per_s, start_s)
    return mine / split_efficiency(other_split_mb, rate_mb_per_s, start_s)
