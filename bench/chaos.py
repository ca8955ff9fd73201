"""Does anything that befalls a measurement leave something behind, lose a finished run, or count where it hit?

    .venv/bin/python bench/chaos.py [--minutes 60] [--seed 1] [--kinds kill,disk] [--times 30] [--testbeds emulated]
        [--lanes 2]

Measures a small paper in a copy of the committed tree, again and again: `make papers` up to the verdicts, at smoke
effort, on emulated hosts and on hosts reached by ssh. In mid-run something happens to it (tests/support/chaos.py has
the kinds, and what has to hold); then it is started again until the block is finished, and the block is compared with
one that nothing happened to. Of every fault but kills there is one on each testbed; kills fill the rest of the time, or
there are `--times` of them.

The clock is set in the measuring process alone, until another run begins, since a machine's own cannot be set without
root; short memory is a file system in memory that fills up, and a limit of a process (RLIMIT_AS), since control groups
need root as well.

Prints a line per fault and at the end a table. Ends with status 1 when anything is not as it has to be, and when a
fault was not made, for want of time or because it cannot be made here; of kills where `--times` of them were not made,
or where none hit one of their victims. With --folder the copy and all logs stay there, and the next call uses the copy.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support import chaos, ours
from tests.support import chaos_project as doing
from tests.support.chaos import Fault, Injection, Row, tracebacks
from tests.support.chaos_project import ENDS_S, LONGEST_S, STARTS, Project, Start, TooLate
from tests.support.site import installed, open_ssh_site
from whitewire.description.project import testbed_path

KILLS = 100
TRIES = 3
"""Blocks in which a fault's moment may come too late."""
LEAST_FREE_GIB = 8
"""Of memory, for what fills it: the file systems of the hosts hold at most half of that."""


class Unmeasured(Exception):
    """A paper cannot be measured even where nothing happens to it."""


class Suite:
    """The faults that were made and how they came out."""

    def __init__(self, project: Project, deadline: float) -> None:
        self.project, self.deadline = project, deadline
        self.rows: list[Row] = []
        self.undisturbed: dict[tuple[str, str], tuple[chaos.Block, float]] = {}
        self.late: Counter[Injection] = Counter()

    def reference(self, testbed: str, paper: str) -> tuple[chaos.Block, float]:
        """What an undisturbed block comes to, and the seconds it takes where links are known; measured once."""
        if (testbed, paper) not in self.undisturbed:
            self.project.clear()
            self.project.put_links(testbed)
            start = self._again(testbed, paper)
            if start.make.returncode != 0:
                raise Unmeasured(f"{paper} on {testbed} cannot be measured undisturbed: {start.log}\n" + _tail(start))
            block, seconds = self.project.block(testbed, paper), time.monotonic() - start.began
            seconds -= self.project.keep_links(testbed)
            self.undisturbed[testbed, paper] = block, seconds
            print(f"undisturbed {paper} on {testbed}: {len(block.valid)} runs, {block.verdict}, {seconds:.0f} s",
                  flush=True)  # fmt: skip
        return self.undisturbed[testbed, paper]

    def run(self, waiting: list[list[Injection]]) -> None:
        """Make the faults in their order until the time is over; `waiting` is what is left then."""
        while waiting and time.monotonic() < self.deadline:
            chain = waiting.pop(0)
            self.reference(chain[0].testbed, chain[0].paper)
            with self._results(chain[0]):
                made, tried = self._interrupt(chain)
            rest = chain[len(made) + tried :]
            if tried and self.late[chain[len(made)]] < TRIES:
                waiting.append([chain[len(made)]])
            if rest:
                waiting.insert(0, rest)

    @contextlib.contextmanager
    def _results(self, first: Injection) -> Iterator[None]:
        """A folder of results with links alone, on a small disk of its own where the disk is what fails."""
        self.project.clear()
        place = self.project.tree / "results"
        if first.kind not in ("disk", "readonly"):
            self.project.put_links(first.testbed)
            yield
            return
        place.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(place)], check=True)
        try:
            self.project.put_links(first.testbed)
            yield
        finally:
            subprocess.run(["umount", "--lazy", str(place)], check=True)

    def _interrupt(self, chain: list[Injection]) -> tuple[list[tuple[Fault, Row]], bool]:
        """Faults of one block, each with a start of its own, then its end; whether the next one came too late."""
        testbed, paper = chain[0].testbed, chain[0].paper
        made: list[tuple[Fault, Row]] = []
        late = False
        baseline = self.project.baseline()
        before: dict[str, int] = {}
        for injection in chain:
            row, begin = Row(injection), time.monotonic()
            start = self.project.start(testbed, paper, clock=injection.kind == "clock")
            try:
                doing.wait_for_moment(start, injection, self.reference(testbed, paper)[1])
                before = self.project.finished(testbed, paper)
                with doing.made(self.project, start, injection) as fault:
                    self._until_its_end(start, injection, row)
            except TooLate:
                late = True
                self.late[injection] += 1
                self._until_its_end(start, injection, row)
                break
            except BaseException:
                start.end()
                raise
            row.within = fault.within
            row.left, names = self.project.left(baseline)
            row.problems += names
            after = self.project.finished(testbed, paper)
            row.lost = len(chaos.lost(before, after))
            before = after
            row.seconds = time.monotonic() - begin
            made.append((fault, row))
            if self._whole(testbed, paper):
                break
        self._finish(testbed, paper, made, before, baseline)
        return made, late

    def _again(self, testbed: str, paper: str) -> Start:
        """One start that nothing happens to, up to its end."""
        start = self.project.start(testbed, paper)
        try:
            start.ends_within(LONGEST_S)
        finally:
            start.end()
        return start

    def _until_its_end(self, start: Start, injection: Injection, row: Row) -> None:
        ends = injection.kind == "kill" and injection.victim in chaos.ENDS
        if not start.ends_within(ENDS_S if ends else LONGEST_S):
            row.problems.append(f"make goes on: {start.log.name}")
            start.end()
        row.problems += [f"a traceback: {start.log.name}: {line}" for line in tracebacks(start.lines(), injection.how)]

    def _whole(self, testbed: str, paper: str) -> bool:
        return (self.project.results(testbed, paper) / "analysis" / "verdicts.csv").exists()

    def _finish(self, testbed: str, paper: str, made: list[tuple[Fault, Row]], before: dict[str, int],
                baseline: tuple[set[int], set[str], set[str]]) -> None:  # fmt: skip
        """Start again until the block is finished, then judge all faults that it went through."""
        begin = time.monotonic()
        for _ in range(STARTS):
            start = self._again(testbed, paper)
            if start.make.returncode == 0:
                break
        if not made:
            return
        _, row = made[-1]
        if start.make.returncode != 0:
            row.problems.append(f"not finished in {STARTS} starts: {start.log.name}")
        left, names = self.project.left(baseline)
        for what, number in left.items():
            row.left[what] = row.left.get(what, 0) + number
        parts = self.project.parts()
        row.left["files"] += len(parts)
        row.problems += [*names, *parts]
        row.lost += len(chaos.lost(before, self.project.finished(testbed, paper)))
        kept = self.project.kept(testbed, paper)
        for each, own in made:
            counted = chaos.hit(each, kept)
            own.counted = len(counted)
            own.problems += [f"counts though hit: {run_id}" for run_id in counted]
        try:
            why = chaos.unlike(self.project.block(testbed, paper), self.reference(testbed, paper)[0])
        except (OSError, KeyError, ValueError) as error:
            why = [f"{type(error).__name__}: {error}"]
        if said := self.project.unsound(testbed):
            row.problems.append(f"check: {said}")
        row.problems += why
        row.seconds += time.monotonic() - begin
        for _, own in made:
            own.same = not why
            self.rows.append(own)
            one = own.injection
            at = "in a run" if own.within else "outside of runs"
            print(
                f"{len(self.rows):3}: {one.kind} {one.victim} {one.how} on {one.testbed}, {at}: "
                f"{sum(own.left.values())} left, {own.lost} lost, {own.counted} counted though hit, "
                f"{'same' if own.same else 'OTHER'} runs and verdict, {own.seconds:.0f} s"
                + "".join(f"\n     {problem}" for problem in own.problems),
                flush=True,
            )


def _tail(start: Start) -> str:
    return "\n".join(start.lines()[-15:])


def _arguments() -> argparse.Namespace:
    given = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    given.add_argument("--minutes", type=float, default=60)
    given.add_argument("--seed", type=int, default=1)
    given.add_argument("--kinds", default=",".join(chaos.KINDS))
    given.add_argument("--times", type=int, help=f"kills; by default as many as there is time for, at most {KILLS}")
    given.add_argument("--testbeds", default=",".join(chaos.TESTBEDS))
    given.add_argument("--lanes", type=int, default=1, help="in so many lanes blocks are measured, and any may be hit")
    given.add_argument("--only", default="", help="victims, by commas; all if empty")
    given.add_argument("--folder", type=Path, help="where the copy and the logs are kept")
    found = given.parse_args()
    for name, known in (("kinds", chaos.KINDS), ("testbeds", chaos.TESTBEDS)):
        words = [word for word in getattr(found, name).split(",") if word]
        if unknown := sorted({*words} - {*known}):
            given.error(f"--{name}: found {unknown[0]}, expected some of {', '.join(known)}")
        setattr(found, name, words)
    return found


def _cannot(given: argparse.Namespace) -> dict[str, str]:
    """Kinds and testbeds that are asked for and cannot be had here, each with the reason."""
    found = {}
    if not installed("sshd"):
        found["ssh"] = "no sshd: install openssh-server"
    free = psutil.virtual_memory().available / 2**30
    if free < LEAST_FREE_GIB:
        found["memory"] = f"{free:.0f} GiB free, {LEAST_FREE_GIB} wanted, so that only ours gets short"
    return {name: why for name, why in found.items() if name in (*given.kinds, *given.testbeds)}


def main() -> int:
    """Set up, make the faults, print the table."""
    given = _arguments()
    ours.alone()
    # A shell starts what it puts in the background with SIGINT ignored, and so would be all that is started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    began = time.monotonic()
    emulated = yaml.safe_load(testbed_path("emulated").read_text())
    emulated["memory"]["storage_gib"] = 2
    with contextlib.ExitStack() as stack:
        folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="whitewire-chaos-")))
        folder = folder.resolve()
        tree = folder / "tree"
        folder.mkdir(parents=True, exist_ok=True)
        doing.prepare(tree, given.lanes)
        cannot = _cannot(given)
        testbeds = [name for name in given.testbeds if name not in cannot]
        site = None
        if "ssh" in testbeds:
            shutil.rmtree(folder / "site", ignore_errors=True)
            (folder / "site").mkdir()
            site = stack.enter_context(open_ssh_site(emulated, doing.ROLES, doing.K, folder / "site"))
        project = Project(folder, tree, site, given.lanes)
        for testbed in testbeds:
            project.describe(testbed, emulated)
        some = given.only.split(",") if given.only else None
        kills = KILLS if given.times is None else given.times
        chains = [
            [one for one in chain if some is None or one.victim in some]
            for chain in chaos.plan(given.seed, given.kinds, kills, given.testbeds, given.lanes)
        ]
        planned = [one for chain in chains for one in chain]
        possible = [[one for one in chain if not {one.kind, one.testbed} & {*cannot}] for chain in chains]
        waiting = [chain for chain in possible if chain]
        suite = Suite(project, began + 60 * given.minutes)
        stopped, unmeasured = False, ""
        try:
            suite.run(waiting)
        except KeyboardInterrupt:
            stopped = True
        except Unmeasured as error:
            unmeasured = str(error)
    print("\n" + chaos.table(planned, suite.rows))
    bad = [row for row in suite.rows if not row.good]
    missing = chaos.missing(planned, suite.rows)
    minutes = (time.monotonic() - began) / 60
    print(
        f"\n{len(suite.rows)} of {len(planned)} faults in {minutes:.0f} minutes (seed {given.seed}), {len(bad)} not as "
        f"they have to be.\nNever hit: {chaos.NEVER_HIT}."
    )
    for name, why in cannot.items():
        print(f"Cannot be made here: {name} ({why})")
    for key, number in missing.items():
        print(f"Not made: {' '.join(key[:3])} on {key[3]}, {number}")
    if unmeasured:
        print(unmeasured)
    lacking = unmeasured or not planned or chaos.lacking(missing, suite.rows, given.times)
    return 130 if stopped else int(bool(bad or lacking))


if __name__ == "__main__":
    sys.exit(main())
