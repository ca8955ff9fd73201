"""Samples of remote hosts, taken on each host and then converted to one clock and one time grid."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from whitewire.records.samples import TICKS
from whitewire.testbed.base import CommandFailed
from whitewire.testbed.samples import HOST_PERIOD, PERIOD, CounterSample, Waited, longest_gap
from whitewire.testbed.site import shell
from whitewire.testbed.site.remote_host import RemoteHost, RemoteHosts, RemoteProcess

_START_S = 15.0
"""Longest wait in seconds for the first sample of every host."""
AFTER_S = 10.0
"""Longest wait in seconds, after the end of a run, for one more sample of every host."""
STILL = "still "
EPOCH = 1e9
"""Times above it are seconds since 1970, those below it seconds since boot."""


@dataclass(frozen=True)
class SampleRow:
    """One sample of one host: time (seconds since 1970), ticks of all processors, idle ticks, bytes of its link."""

    time: float
    ticks: int
    idle_ticks: int
    egress: int
    ingress: int


def _rows_of(said: str, offset: float) -> list[SampleRow]:
    """Parse the output of shell.SAMPLE; `offset` (seconds) is subtracted from its times.

    Raises ValueError for invalid output.
    """
    lines = whole_lines(said)
    _, now, up = lines[0].split()
    booted = float(now) - float(up)
    rows = []
    for line in lines[1:]:
        moment, *counts = line.split()
        clock = float(moment) if float(moment) > EPOCH else booted + float(moment)
        rows.append(SampleRow(clock - offset, *map(int, counts)))
    return rows


def whole_lines(said: str) -> list[str]:
    """The lines of samples from `base` on, without earlier output of the carrying command and a cut last line."""
    lines = [line for line in said.split("\n")[:-1] if not line.startswith(STILL)]
    first = next((number for number, line in enumerate(lines) if line.startswith("base ")), None)
    if first is None:
        raise ValueError(f"samples: found {said[:100]!r}, expected base, time and uptime")
    return lines[first:]


def still(said: str) -> set[str]:
    """Marks of the processes that were seen stopped by a signal, from the output of shell.SAMPLE."""
    return {line.removeprefix(STILL) for line in said.split("\n")[:-1] if line.startswith(STILL)}


def merged(hosts: Mapping[str, Sequence[SampleRow]], machines: Mapping[str, str]) -> list[CounterSample]:
    """Samples of all hosts at common times, every PERIOD seconds while all hosts were sampled.

    A host's counters are interpolated linearly between its samples. `machines`: each host's machine (boot_id), because
    the ticks of a machine that is several hosts count once. Raises ValueError without a common period.
    """
    if not all(hosts.values()):
        raise ValueError(f"no sample of {', '.join(name for name, rows in hosts.items() if not rows)}")
    begin = max(rows[0].time for rows in hosts.values())
    end = min(rows[-1].time for rows in hosts.values())
    if end < begin:
        raise ValueError(f"hosts were not sampled at the same time ({begin - end:.1f} s apart)")
    grid = begin + PERIOD * np.arange(int((end - begin) / PERIOD + 1e-9) + 1)

    def at(name: str, what: str) -> np.ndarray:
        rows = hosts[name]
        counts = np.interp(grid, [row.time for row in rows], [getattr(row, what) for row in rows])
        return np.rint(counts).astype(np.int64)

    one_each = list({machines[name]: name for name in reversed(list(hosts))}.values())
    ticks, idle = (np.sum([at(name, what) for name in one_each], axis=0) for what in ("ticks", "idle_ticks"))
    links = {name: (at(name, "egress"), at(name, "ingress")) for name in hosts}
    return [
        CounterSample(
            float(moment), int(ticks[i]), int(idle[i]),
            {name: {"egress": int(sent[i]), "ingress": int(got[i])} for name, (sent, got) in links.items()},
        )
        for i, moment in enumerate(grid)
    ]  # fmt: skip


def busy_seconds(
    hosts: Mapping[str, Sequence[SampleRow]], grid: Sequence[float]
) -> list[tuple[float, dict[str, float]]]:
    """(time, CPU seconds that each host's machine has been busy since boot, by host), for each time of the grid."""
    found = {
        name: np.interp(grid, [r.time for r in rows], [(r.ticks - r.idle_ticks) / TICKS for r in rows])
        for name, rows in hosts.items()
    }
    return [(float(moment), {name: float(busy[i]) for name, busy in found.items()}) for i, moment in enumerate(grid)]


@dataclass
class RemoteSampler:
    """`with RemoteSampler(testbed) as sampler:` samples until the block ends; then `samples` holds the results.

    Times are by the clock of the testbed's reference host.
    """

    testbed: RemoteHosts
    by_host: bool = False
    samples: list[CounterSample] = field(default_factory=list)
    gap: float = 0.0
    """Longest time between two samples of a host, in seconds."""
    host_cpu: list[tuple[float, dict[str, float]]] = field(default_factory=list)
    waited: list[Waited] = field(default_factory=list)
    moved: dict[str, float] = field(default_factory=dict)
    """Seconds that each host's clock gained on this machine's during the block, by host; negative: it lost."""

    def __enter__(self) -> RemoteSampler:
        self._at_first = self.testbed.clocks()
        self._ahead = self._at_first[self.testbed.reference.name]
        self._offsets = {name: offset - self._ahead for name, offset in self._at_first.items()}
        self._number = self.testbed.next_number()
        self._loops: dict[str, RemoteProcess] = {}
        try:
            self.testbed.on_all(self._start)
            self._wait_for_first()
        except BaseException:
            self._stop()
            raise
        return self

    def _start(self, host: RemoteHost) -> None:
        argv = ["sh", "-c", shell.BEST_SHELL, "whitewire", shell.SAMPLE, "samples", host.interface, host.pids]
        log = self.testbed.private / f"{host.name}.samples.{self._number}"
        self._loops[host.name] = host.start_outside(argv, log, name=f"sampling of {host.name}")

    def _wait_for_first(self) -> None:
        deadline = time.monotonic() + _START_S
        for loop in self._loops.values():
            loop.wait_ready(r"(?m)^\d.*\n", timeout=max(0.1, deadline - time.monotonic()))

    def __exit__(self, kind: object, *exception: object) -> None:
        if kind is not None:
            self._stop()
            return
        try:
            # The grid ends up to one period before the last sample.
            self._wait_for_last(time.time() + self._ahead + PERIOD)
            said = {name: loop.said() for name, loop in self._loops.items()}
            self.moved = {name: offset - self._at_first[name] for name, offset in self.testbed.clocks().items()}
        finally:
            self._stop()
        self._merge(said)

    def _wait_for_last(self, moment: float) -> None:
        """Wait until each host has a sample at or after a time (seconds since 1970, reference clock)."""
        deadline = time.monotonic() + AFTER_S
        for name, loop in self._loops.items():
            while self._last(name) < moment:
                if not loop.alive or time.monotonic() > deadline:
                    raise CommandFailed(f"{loop.name}: ended before the run: {loop.log_end(2)}")
                time.sleep(PERIOD / 2)

    def _last(self, name: str) -> float:
        """Time of a host's last sample."""
        lines = whole_lines(self._loops[name].said())
        return _rows_of(f"{lines[0]}\n{lines[-1]}\n", self._offsets[name])[-1].time

    def _stop(self) -> None:
        self.testbed.on_all(lambda host: self._loops[host.name].kill() if host.name in self._loops else None)
        for loop in self._loops.values():
            loop.log.unlink(missing_ok=True)

    def _merge(self, said: Mapping[str, str]) -> None:
        for host in self.testbed.hosts:
            host.stopped |= still(said[host.name])
        try:
            rows = {name: _rows_of(text, self._offsets[name]) for name, text in said.items()}
            self.gap = max((longest_gap([row.time for row in own]) for own in rows.values()), default=0.0)
            self.samples = merged(rows, {host.name: host.boot_id for host in self.testbed.hosts})
        except ValueError as error:
            raise CommandFailed(f"sampling: {error}") from None
        if self.by_host:
            every = round(HOST_PERIOD / PERIOD)
            grid = [sample.time for sample in self.samples]
            moments = grid[::every] if (len(grid) - 1) % every == 0 else [*grid[::every], grid[-1]]
            self.host_cpu = busy_seconds(rows, moments)
