"""What `make chaos` does in which order, what has to hold after it, and its table. Pure; bench/chaos.py does it.

What was done to a measurement may not show in what counts. Of each kind of fault, which valid runs it may not have hit:

kill: of what ends the measurement (make, Snakemake, the measuring command), a run that began before and
    ended after the measuring command was gone. Of the sandbox's first process, a daemon, a client or a
    connection, a run within which it ended: whatever came before its end was whole.
disk, readonly: a run whose record was written while the disk of the results was full or could be read only.
clock: a run within which the clock of the measuring process was set.
stop: a run within which a process stood still: what it measured is the pause. Of the measuring command itself, only
    one that it did not sample meanwhile: hosts reached by ssh sample themselves.
link: a run within which a host's link was down, also where TCP got over it.
memory: a run within which memory was short, unless it rode it out: then HDFS itself (fsck.txt) has every block of it
    with all of its replicas.

No process, namespace, mount or temporary file is left 15 seconds after the end, and none after the next start. A run
that was finished before is the same file afterwards. The block ends up with the runs, the verdict and the
value of one that nothing happened to. No program says a traceback of Python's, whatever was done to it.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

KINDS = ("disk", "readonly", "clock", "stop", "link", "memory", "kill")
"""In the order of the suite: the rare ones first, so that none is missing when its time is over."""
TESTBEDS = ("emulated", "ssh")
SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT")
ENDS = ("make", "snakemake", "measure")
"""Victims with which the measurement ends at once."""
PUTS, JOBS = "chaos-puts", "chaos-jobs"
"""The papers that are measured."""
IN_A_RUN = 0.5
"""Of the kills, the share whose moment is one of a run; the others may come at any time from make's start on."""
OF_SSH, OF_JOBS = 0.16, 0.06
"""Of the kills, the share on hosts reached by ssh, and on blocks of jobs."""
CHAIN = 5
"""Kills of one block, each of which interrupts a start of its own, before it is let finish."""
STOPPED_S, DOWN_S, SHORT_S = 30.0, 5.0, 12.0
"""How long a process stands still, a link is down for a while, and memory is short."""
GAP_S = 3.0
"""Longest time between two samples of a run that counts."""
NEVER_HIT = "`make trust`, and a paper's move to its next k"
"""What measures, too, and is not under test here."""
APART = 2.0
"""Factor by which estimates may differ: far more than a busy machine makes medians of three. Of fewer, its square."""
STEP_S = 3600.0
"""By how much the clock is set."""


@dataclass(frozen=True)
class Moment:
    """`seconds` after the line of the `run`-th long run; with `run` 0 that share of an undisturbed block's time."""

    run: int
    after: float


@dataclass(frozen=True)
class Injection:
    """A fault: its kind, whom it hits, how (a signal, how long), on which testbed and paper, and when."""

    kind: str
    victim: str
    how: str
    testbed: str
    paper: str
    moment: Moment

    @property
    def ends_the_measurement(self) -> bool:
        return self.kind == "kill" and self.victim in ENDS


def _others(testbed: str) -> list[tuple[str, str, str]]:
    """(kind, victim, how) of all faults but kills, once each."""
    return [
        ("disk", "results", "full"),
        ("readonly", "results", "read-only"),
        ("clock", "measure", f"set forward by {STEP_S:.0f} s"),
        ("clock", "measure", f"set back by {STEP_S:.0f} s"),
        *(("stop", victim, f"{STOPPED_S:.0f} s") for victim in ("datanode", "measure", "client")),
        ("link", "datanode", f"down for {DOWN_S:.0f} s"),
        ("link", "client", f"down for {DOWN_S:.0f} s"),
        ("link", "datanode", "down for good"),
        ("memory", "drives", f"full for {SHORT_S:.0f} s"),
        ("memory", "datanode", f"no further memory for {SHORT_S:.0f} s"),
    ]


def _kill(chance: random.Random, number: int, testbeds: Sequence[str], lanes: int) -> tuple[str, str, str, str]:
    """(victim, signal, testbed, paper) of one kill."""
    where = chance.random()
    if "ssh" in testbeds and (where < OF_SSH or "emulated" not in testbeds):
        testbed, paper = "ssh", PUTS
    elif where > 1 - OF_JOBS:
        testbed, paper = "emulated", JOBS
    else:
        testbed, paper = "emulated", PUTS
    if paper == JOBS:
        victims = ("resourcemanager", "nodemanager")
    else:  # each in turn, so that none is missing by chance
        own = ("init", "client") if testbed == "emulated" else ("connection",)
        lane = ("lane",) if lanes > 1 and testbed == "emulated" else ()
        victims = ("make", "snakemake", "measure", "datanode", "namenode", *own, *lane)
    victim = victims[number % len(victims)]
    signals = SIGNALS if victim in ("make", "snakemake", "measure") else SIGNALS[:2]
    # The kernel lets nothing else than SIGKILL reach the first process of a namespace.
    how = "SIGKILL" if victim == "init" else chance.choice(signals)
    return victim, how, testbed, paper


def moment(chance: random.Random, kind: str) -> Moment:
    """When a fault comes: in a run, or for half of the kills at any time."""
    if kind == "kill" and chance.random() >= IN_A_RUN:
        return Moment(0, round(chance.random(), 3))
    return Moment(chance.randint(1, 2), round(chance.uniform(0.6, 2.4), 3))


def plan(seed: int, kinds: Iterable[str], kills: int, testbeds: Sequence[str], lanes: int = 1
         ) -> list[list[Injection]]:  # fmt: skip
    """What is done in which order: lists of faults that hit the same block one after the other.

    With several `lanes` the process of a further one is a victim too.
    """
    chance, wanted = random.Random(seed), set(kinds)
    found = [
        [Injection(kind, victim, how, testbed, PUTS, moment(chance, kind))]
        for testbed in testbeds
        for kind, victim, how in _others(testbed)
        if kind in wanted
    ]
    chance.shuffle(found)
    if "kill" not in wanted:
        return found
    by_block: dict[tuple[str, str], list[Injection]] = {}
    for number in range(kills):
        victim, how, testbed, paper = _kill(chance, number, testbeds, lanes)
        kill = Injection("kill", victim, how, testbed, paper, moment(chance, "kill"))
        by_block.setdefault((testbed, paper), []).append(kill)
    chains = [kills[at : at + CHAIN] for kills in by_block.values() for at in range(0, len(kills), CHAIN)]
    chance.shuffle(chains)
    return found + chains


@dataclass(frozen=True)
class Fault:
    """When a fault began and when it was over, in seconds since 1970; of a kill: when what it hit had ended.

    `within`: whether an attempt at a run was under way when it began.
    """

    injection: Injection
    begin: float
    end: float
    within: bool
    lane: int = 0
    """The lane that it hit; 0: any."""


@dataclass(frozen=True)
class Kept:
    """A valid run of the block: its record's start and end, when its record was written, whether HDFS has it whole."""

    run_id: str
    start: float
    end: float
    written: float
    whole: bool
    gap: float = 0.0
    """Longest time between two samples, in seconds."""
    lane: int = 1


def hit(fault: Fault, runs: Iterable[Kept]) -> list[str]:
    """Valid runs that the fault hit while they ran, by the rules above."""
    return [run.run_id for run in runs if _hit(fault, run)]


def _hit(fault: Fault, run: Kept) -> bool:
    kind = fault.injection.kind
    if fault.lane not in (0, run.lane):
        return False
    if kind in ("disk", "readonly"):
        return fault.begin < run.written < fault.end
    first, last = run.start, run.end
    if fault.injection.ends_the_measurement:
        return first < fault.begin and last > fault.end
    if kind == "kill":
        return first < fault.end < last
    overlap = first < fault.end and last > fault.begin
    if kind == "clock":
        return overlap or last < first
    if kind == "memory":
        return overlap and not run.whole
    sampled = fault.injection.victim == "measure" and run.gap <= GAP_S
    return overlap and not (kind == "stop" and sampled)


def whole(fsck: str, replication: int) -> bool:
    """Whether `hdfs fsck -files -blocks -locations` shows all blocks with so many replicas on distinct DataNodes."""
    found = [set(re.findall(r"DatanodeInfoWithStorage\[([^,]+)", line)) for line in fsck.splitlines()
             if re.match(r"\d+\. ", line)]  # fmt: skip
    return bool(found) and all(len(holders) >= replication for holders in found)


def lost(before: Mapping[str, int], after: Mapping[str, int]) -> list[str]:
    """Finished runs that are gone or were made again: by name, when their record was written."""
    return sorted(name for name, written in before.items() if after.get(name) != written)


@dataclass(frozen=True)
class Block:
    """What a finished block comes to: ids of its valid runs, its verdict, how many runs that rests on, the estimate."""

    valid: frozenset[str]
    listed: frozenset[str]
    """Runs that block.json has."""
    verdict: str
    n: str
    estimate: float


@dataclass
class Row:
    """How a fault came out."""

    injection: Injection
    within: bool = False
    left: dict[str, int] = field(default_factory=dict)
    lost: int = 0
    counted: int = 0
    same: bool = True
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return not (any(self.left.values()) or self.lost or self.counted or self.problems) and self.same


def unlike(found: Block, undisturbed: Block) -> list[str]:
    """How a block differs from one that nothing happened to; empty: not at all."""
    why = []
    for name, mine, other in (
        ("valid runs", found.valid, undisturbed.valid),
        ("runs of block.json", found.listed, undisturbed.listed),
    ):
        if mine != other:
            why.append(f"{name}: {len(other - mine)} missing, {len(mine - other)} more than without the fault")
    for name, got, expected in (("verdict", found.verdict, undisturbed.verdict), ("n", found.n, undisturbed.n)):
        if got != expected:
            why.append(f"{name}: found {got!r}, without the fault {expected!r}")
    apart = APART if float(undisturbed.n or 0) >= 3 else APART**2
    if not 1 / apart < found.estimate / undisturbed.estimate < apart:
        why.append(f"estimate: found {found.estimate:.4g}, without the fault {undisturbed.estimate:.4g}")
    return why


def tracebacks(lines: Iterable[str], how: str) -> list[str]:
    """The last line of each traceback in what a start said, after a fault of this manner.

    SIGINT may end an interpreter that is not yet, or no more, in the package's code: that is Python's own end.
    """
    found, inside, ours = [], False, False
    for line in lines:
        if line.startswith("Traceback (most recent call last)"):
            inside, ours = True, False
        elif inside and line[:1].isspace():
            ours |= "/src/whitewire/" in line
        elif inside and line:
            inside = False
            if how != "SIGINT" or ours or line != "KeyboardInterrupt":
                found.append(line)
    return found


LEFT = ("processes", "namespaces", "mounts", "files")
HEADER = ("fault", "victim", "how", "testbed", "made", "in a run", f"left ({', '.join(LEFT)})", "finished runs lost",
          "counted though hit", "same runs, verdict, value", "seconds")  # fmt: skip


Kind = tuple[str, str, str, str]
"""Kind, victim, manner and testbed of a fault."""


def _kind(one: Injection) -> Kind:
    return one.kind, one.victim, one.how, one.testbed


def missing(planned: Iterable[Injection], rows: Iterable[Row]) -> dict[Kind, int]:
    """How many faults of each kind were planned and not made."""
    return dict(Counter(map(_kind, planned)) - Counter(_kind(row.injection) for row in rows))


def lacking(missing: Mapping[Kind, int], rows: Iterable[Row], times: int | None) -> bool:
    """Whether what was not made is a failure: any other fault than a kill, and kills where a number of them was asked
    for; else only a victim that no kill hit."""
    hit = {row.injection.victim for row in rows if row.injection.kind == "kill"}
    return any(kind != "kill" or times is not None or victim not in hit for kind, victim, *_ in missing)


def table(planned: Iterable[Injection], rows: Iterable[Row]) -> str:
    """A line of Markdown per kind, victim, manner and testbed, and one of all; seconds are those of the slowest."""
    planned, rows = list(planned), list(rows)
    wanted = Counter(map(_kind, planned))
    groups: dict[Kind, list[Row]] = {key: [] for key in wanted}
    for row in rows:
        groups[_kind(row.injection)].append(row)
    order = {kind: place for place, kind in enumerate(reversed(KINDS))}
    keys = sorted(groups, key=lambda key: (order[key[0]], key))
    lines = [_line(key, groups[key], wanted[key]) for key in keys]
    every = _line(("all", "", "", ""), rows, len(planned))
    return "\n".join([_cells(HEADER), _cells("---" for _ in HEADER), *lines, every])


def _line(key: Kind, rows: Sequence[Row], wanted: int) -> str:
    left = [sum(row.left.get(what, 0) for row in rows) for what in LEFT]
    same, slowest = sum(row.same for row in rows), max((row.seconds for row in rows), default=0.0)
    return _cells([
        *key, f"{len(rows)} of {wanted}", sum(row.within for row in rows), ", ".join(map(str, left)),
        sum(row.lost for row in rows), sum(row.counted for row in rows), f"{same} of {len(rows)}", f"{slowest:.0f}",
    ])  # fmt: skip


def _cells(values: Iterable[Any]) -> str:
    return "| " + " | ".join(map(str, values)) + " |"
