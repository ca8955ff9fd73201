"""A copy of the repository in which `make papers` measures a small paper, and what can be done to it meanwhile."""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
import yaml

from tests.support import ours
from tests.support.answers import template_paper
from tests.support.chaos import (
    DOWN_S,
    JOBS,
    PUTS,
    SHORT_S,
    STEP_S,
    STOPPED_S,
    Block,
    Fault,
    Injection,
    Kept,
    whole,
)
from tests.support.limits import wide
from tests.support.site import DATA, WORK, SshSite
from whitewire.cli import TRACEBACK
from whitewire.cluster.hdfs import DATANODE, NAMENODE
from whitewire.cluster.yarn import NODE_MANAGER, RESOURCE_MANAGER
from whitewire.paths import HOME
from whitewire.records.samples import read_samples
from whitewire.testbed.emulated.software import ROOT

ROLES = {"namenode": 1, "datanode": 3, "client": 1}
K = 20
REPLICATION = 2
"""Of three DataNodes: a busy machine's NameNode leaves out the busiest of them, and eight replicas miss none else."""
DAEMONS = {"namenode": NAMENODE, "datanode": DATANODE, "client": "whitewire.Resident",
           "resourcemanager": RESOURCE_MANAGER, "nodemanager": NODE_MANAGER}  # fmt: skip
BLOCK, CLAIM = "smoke-1", "N-C01"
NAMED = rf"^(?:\S+ )?{BLOCK}(?:, lane \d+)?"
"""How a line of progress begins: with several lanes it names the paper, and the lane of rounds that are spread."""
LONG_RUN = re.compile(rf"{NAMED}: run \d+ of \d+: .*fabric=1gbe")
ANY_RUN, NO_RUN = re.compile(rf"{NAMED}: run \d+ of"), re.compile(rf"{NAMED}: (starting HDFS again|finished)")
LEAVES_S, ENDS_S = 15.0, 60.0
"""Seconds within which nothing is left, and within which a killed start ends."""
ROUNDS_OF_A_LANE = 12
STARTS = 3
"""Starts within which a block has to be finished."""
LONGEST_S = 420.0
"""Of a start that is not killed."""

CLOCK = """
# Sets the clock of the measuring process alone: a machine's own cannot be set without root, and time namespaces have
# no CLOCK_REALTIME. What was to be set stands in a file.
import os, sys, time
if "whitewire" in sys.orig_argv and "measure" in sys.orig_argv:
    def wrap(name, seconds):
        real = getattr(time, name)
        def read(*clock):
            value = real(*clock)
            if clock and clock[0] != time.CLOCK_REALTIME:
                return value
            try:
                with open({step!r}) as file:
                    return value + type(value)(float(file.read()) * seconds)
            except OSError:
                return value
        setattr(time, name, read)
    wrap("time", 1), wrap("time_ns", 10**9), wrap("clock_gettime", 1), wrap("clock_gettime_ns", 10**9)
"""


class TooLate(Exception):
    """The block was finished before the fault's moment came."""


def papers(lanes: int = 1) -> dict[str, dict[str, Any]]:
    """The papers that are measured, by id: six runs of puts with a claim, and two jobs.

    For several lanes there are so many runs of puts that further lanes are worth their start.
    """
    runs = 3 if lanes == 1 else ROUNDS_OF_A_LANE * lanes
    puts = template_paper(K, {"smoke": 1, "quick": 1, "full": 1})
    puts |= {
        "id": PUTS,
        "replicates": {effort: {"claimed": runs, "other": runs} for effort in ("smoke", "quick", "full")},
    }
    puts["controls"] = []
    # Far from what two links of which one is ten times as fast come to, so that the verdict is no matter of chance.
    puts["claims"][0]["test"] |= {"expected": 2, "relation": "above"}
    puts["claims"][0]["test"].pop("relative")
    (ingest,) = puts["experiments"]
    ingest["roles"] = dict(ROLES)
    ingest["parameters"]["replication"] = REPLICATION
    jobs = yaml.safe_load(yaml.safe_dump(puts)) | {"id": JOBS}
    (sort,) = jobs["experiments"]
    sort |= {"title": "TeraSort", "workload": "terasort"}
    sort["scale"] = {"k": 100, "bytes": {"smoke": 6_000_000, "quick": 6_000_000, "full": 6_000_000}, "splits": 3}
    sort["parameters"] = {"size_bytes": 1e12, "block_size_bytes": 268435456, "replication": 3, "output_replication": 1,
                          "maps": 3, "reduces": 3}  # fmt: skip
    jobs["replicates"] = {effort: {"claimed": 1, "other": 1} for effort in ("smoke", "quick", "full")}
    jobs["claims"][0]["test"] |= {"metric": "completion_time", "expected": 100}
    jobs["claims"][0]["test"].pop("also")
    return {PUTS: puts, JOBS: jobs}


def describe_papers(tree: Path, lanes: int = 1) -> None:
    """Write the papers and their documents: no document is rendered, but each is checked against its paper."""
    for name, paper in papers(lanes).items():
        (tree / "config" / "papers" / f"{name}.yaml").write_text(yaml.safe_dump(paper))
        document = re.sub(r"`r inverse_sentence[^`]*`", "", (HOME / "docs" / "template" / "paper.qmd").read_text())
        if name == JOBS:
            document = re.sub(r'"throughput(_sum)?"', '"completion_time"', document)
        (tree / "paper" / f"{name}.qmd").write_text(document)


def prepare(tree: Path, lanes: int = 1) -> None:
    """The committed tree, set up with what this one has downloaded: set-up is not under test here."""
    if not tree.exists():
        subprocess.run(["git", "clone", "-q", str(HOME), str(tree)], check=True)
        ignored = shutil.ignore_patterns("tmp", "*.lock")
        shutil.copytree(HOME / ".cache", tree / ".cache", symlinks=True, ignore=ignored)
    subprocess.run(["git", "fetch", "-q", str(HOME), "HEAD"], cwd=tree, check=True)
    subprocess.run(["git", "reset", "-q", "--hard", "FETCH_HEAD"], cwd=tree, check=True)
    describe_papers(tree, lanes)
    subprocess.run(["make", "setup"], cwd=tree, check=True, env=os.environ | {"EFFORT": "smoke"})


def measures(argv: list[str]) -> bool:
    """Whether it is the command of a process that measures."""
    return "measure" in argv and "--block" in argv and "setpriv" not in argv[:1]


def _below_one(process: psutil.Process) -> bool:
    """Whether the process was started by one that measures."""
    with contextlib.suppress(psutil.Error):
        return any(measures(parent.cmdline()) for parent in process.parents()[:1])
    return False


def lane_of(process: psutil.Process) -> int:
    """The lane of a process or of the nearest one above it that has one, by the lock it holds; 0: none is known."""
    with contextlib.suppress(OSError, psutil.Error):
        for each in (process, *process.parents()):
            for link in Path(f"/proc/{each.pid}/fd").iterdir():
                if os.readlink(link).endswith("/lanes.lock"):
                    locks = Path(f"/proc/{each.pid}/fdinfo/{link.name}").read_text()
                    if found := re.search(r"^lock:.* (\d+) \1$", locks, re.MULTILINE):
                        return int(found[1])
    return 0


def _any(processes: Sequence[psutil.Process]) -> psutil.Process | None:
    return random.choice(processes) if processes else None


class Start:
    """One `make papers` up to the verdicts; what it says goes to a file."""

    def __init__(self, argv: Sequence[str], tree: Path, environment: Mapping[str, str], log: Path) -> None:
        self.log, self.began = log, time.monotonic()
        with log.open("wb") as output:
            self.make = subprocess.Popen(
                argv, cwd=tree, env=environment, start_new_session=True, stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT,
            )  # fmt: skip

    def lines(self) -> list[str]:
        return self.log.read_text(errors="replace").splitlines()

    def in_a_run(self) -> bool:
        """Whether the last that it said of runs is that one begins."""
        said = [line for line in self.lines() if ANY_RUN.match(line) or NO_RUN.match(line)]
        return bool(said) and bool(ANY_RUN.match(said[-1])) and self.measure() is not None

    @property
    def ended(self) -> bool:
        return self.make.poll() is not None

    def ends_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not self.ended and time.monotonic() < deadline:
            time.sleep(0.05)
        return self.ended

    def until(self, condition: Callable[[], Any], period: float = 0.03) -> Any:
        """What a condition gives once it is anything. Raises TooLate when make ends first."""
        while not (found := condition()):
            if self.ended:
                raise TooLate
            time.sleep(period)
        return found

    def below(self) -> list[psutil.Process]:
        try:
            return psutil.Process(self.make.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def find(self, test: Callable[[list[str]], bool]) -> psutil.Process | None:
        """The first process below make whose command line is as tested."""
        return next(iter(self.find_all(test)), None)

    def find_all(self, test: Callable[[list[str]], bool]) -> list[psutil.Process]:
        found = []
        for process in self.below():
            with contextlib.suppress(psutil.Error):
                if test(process.cmdline()):
                    found.append(process)
        return found

    def measures(self) -> list[psutil.Process]:
        """The process of the block, and those of its further lanes."""
        return sorted(self.find_all(measures), key=lambda process: process.pid)

    def measure(self) -> psutil.Process | None:
        return next((process for process in self.measures() if not _below_one(process)), None)

    def lane(self) -> psutil.Process | None:
        """The process of a further lane that has begun."""
        return _any([process for process in self.measures() if _below_one(process) and lane_of(process) > 1])

    def init(self) -> psutil.Process | None:
        """The first process of the sandbox of a lane."""
        found = self.find_all(lambda argv: argv[:1] == ["unshare"] and "--kill-child" in argv)
        unshare = _any(found)
        return next(iter(unshare.children()), None) if unshare else None

    def end(self) -> None:
        """SIGTERM, as a person would; then all of it at once. Nothing where it has ended."""
        if self.ended:
            return
        self.make.terminate()
        if not self.ends_within(ENDS_S):
            os.killpg(self.make.pid, signal.SIGKILL)
            self.make.wait()


class Project:
    """The copy of the repository; `site` is where hosts are reached by ssh."""

    def __init__(self, folder: Path, tree: Path, site: SshSite | None, lanes: int = 1) -> None:
        self.folder, self.tree, self.site, self.lanes = folder, tree, site, lanes
        self.step = folder / "clock"
        self.patched = tree / ".cache" / "patched"  # a PYTHONPATH from elsewhere is left out
        self.patched.mkdir(parents=True, exist_ok=True)
        (self.patched / "sitecustomize.py").write_text(CLOCK.format(step=str(self.step)))
        self.starts = 0

    # -- measuring -----------------------------------------------------------------------------------------

    def describe(self, testbed: str, emulated: Mapping[str, Any]) -> None:
        """Write the testbed's file."""
        if testbed == "ssh" and self.site:
            described = self.site.description(wide(emulated["limits"], "ssh"))
        else:
            described = dict(emulated) | {"limits": wide(emulated["limits"])}
        (self.tree / "config" / "testbeds" / f"chaos-{testbed}.yaml").write_text(yaml.safe_dump(described))

    def results(self, testbed: str, paper: str) -> Path:
        return self.tree / "results" / f"chaos-{testbed}" / paper

    def raw(self, testbed: str, paper: str) -> Path:
        return self.results(testbed, paper) / "raw" / BLOCK

    def environment(self, testbed: str, paper: str, clock: bool = False) -> dict[str, str]:
        own = {"PAPERS": paper, "EFFORT": "smoke", "TESTBED": f"chaos-{testbed}", "TMPDIR": str(self.folder / "tmp"),
               TRACEBACK: "1", "LANES": str(self.lanes)}  # fmt: skip
        found = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MAKEFLAGS")} | own
        return found | ({"PYTHONPATH": str(self.patched)} if clock else {})

    def start(self, testbed: str, paper: str, clock: bool = False) -> Start:
        own = self.results(testbed, paper).relative_to(self.tree)
        targets = own / "analysis" / "verdicts.csv", own / "logs" / "analysis.done"
        (self.folder / "tmp").mkdir(exist_ok=True)
        self.starts += 1
        log = self.folder / f"start-{self.starts:03d}.log"
        argv = ["setpriv", "--pdeathsig", "TERM", "--", "make", "papers", f"ARGS={targets[0]} {targets[1]}"]
        return Start(argv, self.tree, self.environment(testbed, paper, clock), log)

    def clear(self) -> None:
        shutil.rmtree(self.tree / "results", ignore_errors=True)

    def keep_links(self, testbed: str) -> float:
        """Set what the links of a testbed carry aside: to measure it for each block anew takes as long as the block.

        Returns the seconds that it took, 0 where it was there before.
        """
        logs = self.results(testbed, "logs")
        if not (logs / "links.tsv").exists():
            return 0.0
        kept = self.folder / f"links-{testbed}"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(self.results(testbed, "links"), kept)
        benchmarks = [path.read_text() for path in (logs / "links.tsv", *logs.glob("links-[dnr]*.tsv"))]
        return sum(float(text.splitlines()[1].split("\t")[0]) for text in benchmarks)  # a rule's seconds come first

    def put_links(self, testbed: str) -> None:
        """Put it into results that are empty; nothing where there is none yet."""
        kept = self.folder / f"links-{testbed}"
        if kept.exists():
            shutil.copytree(kept, self.results(testbed, "links"))

    def finished(self, testbed: str, paper: str) -> dict[str, int]:
        """Valid runs by id, and when their record was written (ns)."""
        found = self.raw(testbed, paper).glob("runs/[!.]*/run.json")
        return {path.parent.name: path.stat().st_mtime_ns for path in found}

    def kept(self, testbed: str, paper: str) -> list[Kept]:
        """The valid runs of the block."""
        found = []
        for path in self.raw(testbed, paper).glob("runs/[!.]*/run.json"):
            record, fsck = json.loads(path.read_text()), path.with_name("fsck.txt")
            there = fsck.exists() and whole(fsck.read_text(), record.get("replication", 1))
            written = path.stat().st_mtime
            times = read_samples(path.with_name("samples.csv").read_text()).time
            gap = max((later - earlier for earlier, later in itertools.pairwise(times)), default=0.0)
            lane = record.get("lane", 1)
            found.append(Kept(record["run_id"], record["start"], record["end"], written, there, gap, lane))
        return found

    def block(self, testbed: str, paper: str) -> Block:
        """What the finished block comes to. Raises OSError, KeyError or ValueError where it is not finished."""
        record = json.loads((self.raw(testbed, paper) / "block.json").read_text())
        with (self.results(testbed, paper) / "analysis" / "verdicts.csv").open() as table:
            (row,) = [row for row in csv.DictReader(table) if row["claim"] == CLAIM]
        valid = frozenset(self.finished(testbed, paper))
        return Block(valid, frozenset(record["runs"]), row["verdict"], row["n"], float(row["estimate"]))

    def unsound(self, testbed: str) -> str:
        """What `whitewire check` has against the results; empty where it finds them sound."""
        argv = [str(self.tree / ".venv" / "bin" / "whitewire"), "check", f"results/chaos-{testbed}"]
        done = subprocess.run(argv, cwd=self.tree, capture_output=True, text=True)
        return "" if done.returncode == 0 else (done.stderr or done.stdout).strip().replace("\n", "; ")[:300]

    # -- what is left --------------------------------------------------------------------------------------

    def baseline(self) -> tuple[set[int], set[str], set[str]]:
        """Processes, namespaces and mounts that are there by right."""
        there = list(ours.processes())
        return {process.pid for process in there}, ours.namespaces([*there, psutil.Process()]), ours.mounts()

    def left(self, baseline: tuple[set[int], set[str], set[str]], patience: float = LEAVES_S
             ) -> tuple[dict[str, int], list[str]]:  # fmt: skip
        """How much is left of each kind, after `patience` seconds at most, and what."""
        deadline = time.monotonic() + patience
        while True:
            there = [process for process in ours.processes() if process.pid not in baseline[0]]
            spaces, mounts = ours.namespaces(there) - baseline[1], ours.mounts() - baseline[2]
            files = self._files()
            if not (there or spaces or mounts or files) or time.monotonic() > deadline:
                break
            time.sleep(0.2)
        names = []
        for process in there:
            with contextlib.suppress(psutil.Error):
                names.append(f"process {process.pid} {' '.join(process.cmdline())[:120]}")
        counts = {"processes": len(there), "namespaces": len(spaces), "mounts": len(mounts), "files": len(files)}
        return counts, [*names, *sorted(mounts), *files]

    def _files(self) -> list[str]:
        """Temporary files here and on the site's hosts."""
        found = [str(path) for path in (self.folder / "tmp").glob("*")]
        found += [str(path) for path in self.tree.glob("whitewire-tmp*")]
        for host in self.site.testbed.hosts if self.site else ():
            done = host.run(["find", WORK, *DATA, "-name", "whitewire-*"])
            found += [f"{host.name}: {line}" for line in done.stdout.decode().splitlines()]
        return found

    def parts(self) -> list[str]:
        """What a writer that was cut off left in the results; the next start removes it."""
        return [str(path) for path in (self.tree / "results").rglob(".part-*")]


def java(victim: str) -> Callable[[], psutil.Process | None]:
    """Finds a JVM of a kind, in any lane."""

    def find() -> psutil.Process | None:
        found = []
        for process in ours.processes():
            with contextlib.suppress(psutil.Error):
                argv = process.cmdline()
                if argv and argv[0].endswith("java") and DAEMONS[victim] in argv:
                    found.append(process)
        return _any(found)

    return find


def connection() -> psutil.Process | None:
    """The ssh process that a host's life hangs on: its watcher's."""
    for process in ours.processes():
        with contextlib.suppress(psutil.Error):
            argv = process.cmdline()
            if argv[:1] == ["ssh"] and argv[-1].find("sweep()") >= 0 and "datanode1" in argv:
                return process
    return None


def alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def gone(process: psutil.Process, seconds: float = ENDS_S) -> float:
    """When a process had ended, in seconds since 1970; infinity when it does not."""
    deadline = time.monotonic() + seconds
    while alive(process):
        if time.monotonic() > deadline:
            return float("inf")
        time.sleep(0.002)
    return time.time()


# -- faults ----------------------------------------------------------------------------------------------------


def wait_for_moment(start: Start, injection: Injection, undisturbed: float) -> None:
    """Raises TooLate when the block is finished before."""
    moment = injection.moment
    if moment.run:
        start.until(lambda: sum(bool(LONG_RUN.match(line)) for line in start.lines()) >= moment.run)
        until = time.monotonic() + moment.after
    else:
        until = start.began + moment.after * undisturbed
    start.until(lambda: time.monotonic() >= until, 0.01)


@contextlib.contextmanager
def made(project: Project, start: Start, injection: Injection) -> Iterator[Fault]:
    """Do it. The context ends when the fault is over; where it lasts, when make has ended."""
    act = {"kill": _kill, "disk": _full_disk, "readonly": _read_only, "clock": _clock, "stop": _stop, "link": _link,
           "memory": _memory}[injection.kind]  # fmt: skip
    with act(project, start, injection) as fault:
        yield fault


def _victim(start: Start, name: str) -> psutil.Process:
    """Raises TooLate when there is none before make ends."""
    if name == "make":
        return psutil.Process(start.make.pid)
    if name == "snakemake":

        def find():
            return start.find(lambda argv: any(part.endswith("/snakemake") for part in argv[:4]))
    else:
        own = {"measure": start.measure, "init": start.init, "lane": start.lane, "connection": connection}
        find = own.get(name) or java(name)
    return start.until(find)


@contextlib.contextmanager
def _kill(project: Project, start: Start, injection: Injection) -> Iterator[Fault]:
    number = signal.Signals[injection.how]
    victim = _victim(start, injection.victim)
    judged = start.measure() if injection.ends_the_measurement else victim
    lane = 0 if injection.ends_the_measurement else lane_of(victim)
    begin, within = time.time(), start.in_a_run()
    with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
        # make and Snakemake alone take SIGINT as a wish to end after the job under way; a terminal sends it to all.
        if number == signal.SIGINT and injection.victim in ("make", "snakemake"):
            os.killpg(os.getpgid(victim.pid), number)
        else:
            victim.send_signal(number)
    yield Fault(injection, begin, gone(judged) if judged else begin, within, lane)


@contextlib.contextmanager
def _full_disk(project: Project, start: Start, injection: Injection) -> Iterator[Fault]:
    filler = project.tree / "results" / "filler"
    begin, within = time.time(), start.in_a_run()
    subprocess.run(["dd", "if=/dev/zero", f"of={filler}", "bs=64k"], stderr=subprocess.DEVNULL)
    try:
        end = begin + LONGEST_S if start.ends_within(LONGEST_S) else float("inf")
        yield Fault(injection, begin, min(end, time.time()), within)
    finally:
        filler.unlink()


@contextlib.contextmanager
def _read_only(project: Project, start: Start, injection: Injection) -> Iterator[Fault]:
    """As a file system that found an error: what is open may be written on, and nothing new."""
    place = str(project.tree / "results")
    begin, within = time.time(), start.in_a_run()
    subprocess.run(["mount", "--bind", place, place], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", place], check=True)
        start.ends_within(LONGEST_S)
        yield Fault(injection, begin, time.time(), within)
    finally:
        subprocess.run(["umount", place], check=True)


@contextlib.contextmanager
def _clock(project: Project, start: Start, injection: Injection) -> Iterator[Fault]:
    """Set until another run begins, then set right: all other processes, also those of the hosts, keep the right time,
    and a machine on which they stay an hour apart does not exist."""

    def begun() -> int:
        return sum(bool(ANY_RUN.match(line)) for line in start.lines())

    begin, within, runs = time.time(), start.in_a_run(), begun()
    beside = project.step.with_suffix(".new")
    beside.write_text(str(STEP_S if "forward" in injection.how else -STEP_S))
    beside.replace(project.step)
    try:
        with contextlib.suppress(TooLate):  # it was the last run
            start.until(lambda: begun() > runs)
    finally:
        project.step.unlink()
    yield Fault(injection, begin, time.time(), within)


@contextlib.contextmanager
def _stop(project: Project, start: Start, injection: Injection) -> Iterator[Fault]:
    victim = _victim(start, injection.victim)
    begin, within = time.time(), start.in_a_run()
    victim.suspend()
    start.ends_within(STOPPED_S)
    with contextlib.suppress(psutil.NoSuchProcess):
        for process in (victim, *victim.parents()):  # nsenter stops when what it carries is stopped
            if process.status() == psutil.STATUS_STOPPED:
                process.resume()
    yield Fault(injection, begin, time.time(), within)


@contextlib.contextmanager
def _link(project: Project, start: Start, injection: Injection) -> Iterator[Fault]:
    victim = _victim(start, injection.victim)
    site = project.site if injection.testbed == "ssh" else None
    enter = ["nsenter", "--target", str(victim.pid), "--user", "--preserve-credentials", "--net", "--"]
    if site:
        network = os.readlink(f"/proc/{victim.pid}/ns/net")
        (host,) = [h for h in site.testbed.hosts if os.readlink(f"/proc/{h.holder}/ns/net") == network]
        enter = ["nsenter", "--target", str(host.holder), "--user", "--preserve-credentials", "--net", "--"]
    down = [*enter, "ip", "link", "set", "eth0"]
    begin, within = time.time(), start.in_a_run()
    subprocess.run([*down, "down"], check=True)
    if "good" in injection.how:
        # Until a run has failed by it and services are being started again, in vain: then someone ends the measurement.
        with contextlib.suppress(TooLate):
            deadline = time.monotonic() + LONGEST_S
            again = f"{BLOCK}: starting HDFS again"
            start.until(lambda: time.monotonic() > deadline or any(line.startswith(again) for line in start.lines()))
        if not start.ended:
            start.end()
    else:
        start.ends_within(DOWN_S)
    end = time.time()
    if site or not start.ended:  # emulated hosts end with their measurement
        subprocess.run([*down, "up"], check=bool(site))
    yield Fault(injection, begin, end, within)


@contextlib.contextmanager
def _memory(project: Project, start: Start, injection: Injection) -> Iterator[Fault]:
    """All drives are one file system in memory, which fills up; or a daemon gets no further page (RLIMIT_AS)."""
    if injection.victim == "drives":
        victim = psutil.Process(project.site.testbed.init_pid) if injection.testbed == "ssh" and project.site else \
            _victim(start, "init")  # fmt: skip
        inside = ["nsenter", "--target", str(victim.pid), "--user", "--preserve-credentials", "--mount", "--"]
        begin, within = time.time(), start.in_a_run()
        subprocess.run([*inside, "dd", "if=/dev/zero", f"of={ROOT}/fill", "bs=1M"], stderr=subprocess.DEVNULL)
        start.ends_within(SHORT_S)
        subprocess.run([*inside, "rm", "-f", f"{ROOT}/fill"], stderr=subprocess.DEVNULL)
    else:
        victim = _victim(start, injection.victim)
        begin, within = time.time(), start.in_a_run()
        soft, hard = victim.rlimit(psutil.RLIMIT_AS)
        victim.rlimit(psutil.RLIMIT_AS, (victim.memory_info().vms, hard))
        start.ends_within(SHORT_S)
        with contextlib.suppress(psutil.Error):
            victim.rlimit(psutil.RLIMIT_AS, (soft, hard))
    yield Fault(injection, begin, time.time(), within)
