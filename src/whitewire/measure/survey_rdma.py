"""The RDMA ports of a testbed, in the stage `links`: curves of one pair, bandwidth and latency of the others."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from whitewire.measure import rdma, schedule
from whitewire.measure.engine import TIME_UP, Unit, make_units
from whitewire.measure.rdma import NoRdma, find_endpoint, nothing_measured, write_rdma_rows
from whitewire.measure.schedule import Pair
from whitewire.measure.survey_plan import Survey
from whitewire.records import links as records
from whitewire.testbed.base import Host
from whitewire.testbed.each import on_each
from whitewire.tools import perftest
from whitewire.tools.perftest import MESSAGE_SIZES

_SIZES = MESSAGE_SIZES[::2]
_SHORT = (("ib_write_bw", 2**20), ("ib_write_lat", 4))
"""Message sizes of the first pair's curves; tests and sizes of the others."""


def measure_rdma_ports(survey: Survey) -> None:
    """Measure RDMA ports on every fabric."""
    with survey.work.phase("rdma"):
        path = survey.folder / records.RDMA_TABLE
        if path.exists():
            return
        if not survey.testbed.capabilities.has_rdma:
            rows = [rdma.row(why="emulated links have no RDMA ports")]
        else:
            rows = [row for of in survey.plan["fabrics"] for row in _on_a_fabric(survey, of["name"], path.parent)]
        write_rdma_rows(path, rows)
        if why := nothing_measured(rows):
            survey.work.progress.say(f"RDMA: {why}")


def _on_a_fabric(survey: Survey, fabric: str, folder: Path) -> list[dict]:
    """Measure curves of the first pair, and bandwidth and latency of each other pair of neighbours."""
    hosts, work = survey.testbed.hosts, survey.work
    survey.testbed.fabric(fabric)
    ports = on_each(hosts, _port, len(hosts))
    with_port = [host for host, lack in zip(hosts, ports, strict=True) if not lack]
    rows = [rdma.row({"fabric": fabric, "source": host.name, **lack.cells})
            for host, lack in zip(hosts, ports, strict=True) if lack]  # fmt: skip
    if len(with_port) < 2:
        return rows or [rdma.row(fabric=fabric, why="no pair of hosts to measure")]
    work.progress.say(f"RDMA on {fabric}: {len(with_port)} hosts have a port")

    def short(pairs: Sequence[Pair]) -> None:
        if pairs:
            with ThreadPoolExecutor(len(pairs)) as pool:
                made = pool.map(lambda pair: _short(with_port, pair, fabric, folder), pairs)
                rows.extend(row for each in made for row in each)

    (first, *beside), *turns = schedule.turns(
        schedule.ring(len(with_port)), max(1, min(survey.at_once, len(with_port)) // 2)
    )
    rows += rdma.between(with_port[first[0]], with_port[first[1]], fabric, folder, perftest.TESTS, _SIZES)
    short(beside)
    if late := make_units([Unit(partial(short, pairs), size=len(pairs)) for pairs in turns], work.deadline):
        work.leave_out(f"RDMA on {fabric}", TIME_UP, f"{sum(unit.size for unit in late)} pairs")
    return rows


def _short(hosts: Sequence[Host], pair: Pair, fabric: str, folder: Path) -> list[dict]:
    one, other = (hosts[number] for number in pair)
    found = (rdma.between(one, other, fabric, folder, [test], [size]) for test, size in _SHORT)
    return [row for rows in found for row in rows]


def _port(host: Host) -> NoRdma | None:
    """Why a host has no RDMA port on the fabric in use; None: it has one."""
    try:
        find_endpoint(host)
    except NoRdma as lack:
        return lack
    return None
