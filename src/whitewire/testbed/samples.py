"""Samples links and processors during a run, in a separate thread."""

from __future__ import annotations

import csv
import io
import itertools
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, Self

from whitewire.records.samples import WAITED

PERIOD, HOST_PERIOD, WAIT_PERIOD = 0.1, 1.0, 0.5
"""Seconds between samples: of links and processors (10 Hz), of hosts' CPU times, and of threads' waiting times."""


@dataclass(frozen=True)
class CounterSample:
    """Counters at one time (seconds since 1970): ticks of all processors, idle ticks, link bytes by host."""

    time: float
    ticks: int
    idle_ticks: int
    links: dict[str, dict[str, int]]


@dataclass(frozen=True)
class Waited:
    """Totals up to one time (seconds since 1970): seconds that all threads ran, and that they were ready but waited;
    further CPU seconds of the campaign's first process and its descendants, including other lanes (`own`); wake-ups of
    the timer, and the sum of their latencies in seconds."""

    time: float
    ran: float
    waited: float
    own: float
    wakes: int
    late: float


def longest_gap(times: Sequence[float]) -> float:
    """Longest difference between consecutive times; 0 for fewer than two."""
    return max((later - earlier for earlier, later in itertools.pairwise(times)), default=0.0)


def processor_ticks() -> tuple[int, int]:
    """(all, idle) ticks of the machine's processors since boot, from proc_stat(5); I/O wait counts as idle."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return sum(fields), fields[3] + fields[4]


class WaitMeter(Protocol):
    """Reads how long the threads of a testbed's hosts have waited for a processor."""

    def take(self) -> Waited: ...


class Sampled(Protocol):
    """The parts of a testbed that a Sampler reads; see testbed.base.Testbed."""

    def counters(self) -> dict[str, dict[str, int]]: ...

    def cpu_seconds(self) -> dict[str, float]: ...

    def waiting(self) -> WaitMeter | None: ...


class Sampling(Protocol):
    """Samples links and processors during its `with` block; afterwards `samples` and `host_cpu` hold the results."""

    samples: list[CounterSample]
    host_cpu: list[tuple[float, dict[str, float]]]
    waited: list[Waited]
    moved: dict[str, float]
    """Seconds that each host's clock gained on this machine's during the block; only hosts with own clocks."""

    @property
    def gap(self) -> float:
        """Longest time between two samples of a host, in seconds."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: object, /, *exception: object) -> None: ...


class Repeated:
    """Calls take() at the start of a `with` block, then every `period` seconds in a thread, and at its end."""

    period = PERIOD

    def take(self) -> None:
        """Take one sample."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._stop = threading.Event()
        self.take()
        self._thread = threading.Thread(target=self._go_on, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._thread.join()
        self.take()

    @property
    def ending(self) -> bool:
        """Whether the current sample is the last one."""
        return self._stop.is_set()

    def _go_on(self) -> None:
        following = time.monotonic() + self.period
        while not self._stop.wait(max(0.0, following - time.monotonic())):
            following += self.period
            try:
                self.take()
            except OSError:  # the testbed ended meanwhile: the run reports that
                return


@dataclass
class Sampler(Repeated):
    """`with Sampler(testbed) as sampler:` samples until the block ends; then `samples` holds the results."""

    testbed: Sampled
    by_host: bool = False
    """Whether to sample each host's CPU time too; only once a second, because it reads every process."""
    samples: list[CounterSample] = field(default_factory=list)
    host_cpu: list[tuple[float, dict[str, float]]] = field(default_factory=list)
    waited: list[Waited] = field(default_factory=list)
    """Waiting times on a testbed whose hosts share this machine's processors; empty elsewhere."""
    moved: dict[str, float] = field(default_factory=dict)

    def __enter__(self) -> Self:
        self._waiting = self.testbed.waiting()
        return super().__enter__()

    @property
    def gap(self) -> float:
        return longest_gap([sample.time for sample in self.samples])

    def take(self) -> None:
        ticks, idle = processor_ticks()
        self.samples.append(CounterSample(time.time(), ticks, idle, self.testbed.counters()))
        if self.by_host and (not self.host_cpu or time.time() - self.host_cpu[-1][0] >= HOST_PERIOD or self.ending):
            self.host_cpu.append((time.time(), self.testbed.cpu_seconds()))
        if self._waiting and (not self.waited or time.time() - self.waited[-1].time >= WAIT_PERIOD or self.ending):
            self.waited.append(self._waiting.take())


_COLUMNS = ("time", "ticks", "idle_ticks")


def to_csv(samples: list[CounterSample]) -> str:
    """CSV with one line per sample; columns `<host>.egress` and `<host>.ingress`: bytes since the link came up."""
    hosts = list(samples[0].links)
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow([*_COLUMNS, *(f"{host}.{way}" for host in hosts for way in ("egress", "ingress"))])
    for sample in samples:
        links = [sample.links[host][way] for host in hosts for way in ("egress", "ingress")]
        writer.writerow([f"{sample.time:.6f}", sample.ticks, sample.idle_ticks, *links])
    return output.getvalue()


def host_cpu_to_csv(samples: list[tuple[float, dict[str, float]]]) -> str:
    """CSV with one line per sample: time (seconds since 1970), then each host's CPU seconds so far."""
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(["time", *samples[0][1]])
    writer.writerows([f"{moment:.3f}", *(f"{value:.2f}" for value in hosts.values())] for moment, hosts in samples)
    return output.getvalue()


def waited_to_csv(rows: list[Waited]) -> str:
    """CSV with one line per reading, in the columns of records.samples.WaitedSeries."""
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(WAITED)
    writer.writerows(
        [f"{row.time:.3f}", f"{row.ran:.4f}", f"{row.waited:.4f}", f"{row.own:.4f}", row.wakes, f"{row.late:.5f}"]
        for row in rows
    )
    return output.getvalue()
