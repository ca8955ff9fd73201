"""Does a killed run leave anything behind, or lose a finished run?

    .venv/bin/python bench/kill.py [--times 20] [--effort smoke] [--seed 1]

Starts `make papers` in a copy of the committed tree, kills it at a random moment with a random signal (make itself,
Snakemake, the measuring command, or all of them at once), looks for what is left, and starts again. Every second time
the moment comes after a run has been finished, so that there is something to lose. Ends with status 1 when a process or
a temporary folder was left, or a finished run was lost or made again.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from whitewire.paths import HOME

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
VICTIMS = ("make", "snakemake", "measure", "group")
LONGEST, AFTER_A_RUN = 60.0, 10.0
"""Seconds from the start, or from the end of a run, within which the moment lies."""


def clone(target: Path) -> None:
    """The committed tree, set up with what this one has downloaded: set-up is not under test here."""
    subprocess.run(["git", "clone", "-q", str(HOME), str(target)], check=True)
    shutil.copytree(HOME / ".cache", target / ".cache", symlinks=True, ignore=shutil.ignore_patterns("tmp", "*.lock"))
    subprocess.run(["make", "setup"], cwd=target, check=True)


def below(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def named(processes: list[psutil.Process], word: str) -> Iterator[psutil.Process]:
    for process in processes:
        try:
            if word in process.cmdline()[:4] or any(part.endswith(f"/{word}") for part in process.cmdline()[:4]):
                yield process
        except psutil.Error:
            continue


def kill(make: subprocess.Popen[bytes], victim: str, number: signal.Signals) -> list[psutil.Process]:
    """Send the signal, to all where the victim does not run yet; every process that ran below make at that moment."""
    inside = below(make.pid)
    found = next(named(inside, victim), None)
    if victim == "make":
        os.kill(make.pid, number)
    elif found:
        os.kill(found.pid, number)
    else:
        os.killpg(make.pid, number)
    return inside


def finished(tree: Path) -> dict[str, int]:
    return {path.parent.name: path.stat().st_mtime_ns for path in tree.glob("results/*/*/raw/*/runs/*/run.json")}


def ends_within(make: subprocess.Popen[bytes], seconds: float, tree: Path, runs: int) -> bool:
    """Whether make ends by itself before `seconds` have passed since more than `runs` runs were finished."""
    until = None
    while make.poll() is None:
        if until is None and len(finished(tree)) > runs:
            until = time.monotonic() + seconds
        if until is not None and time.monotonic() >= until:
            return False
        time.sleep(0.05)
    return True


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--times", type=int, default=20)
    arguments.add_argument("--effort", default="smoke")
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    # A shell starts what it puts in the background with SIGINT ignored, and so would be all that is started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    chance = random.Random(given.seed)
    left, lost, most = 0, 0, 0.0
    with tempfile.TemporaryDirectory(prefix="whitewire-kill-") as folder:
        tree = Path(folder) / "tree"
        clone(tree)
        kept = finished(tree)
        for turn in range(1, given.times + 1):
            if (tree / "results" / "emulated" / "reports" / "index.html").exists():
                shutil.rmtree(tree / "results")
                kept = {}
            outside = set(os.listdir(tempfile.gettempdir()))
            environment = os.environ | {"EFFORT": given.effort, "TMPDIR": tempfile.gettempdir()}
            make = subprocess.Popen(
                ["make", "papers"], cwd=tree, env=environment, start_new_session=True,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            victim = chance.choice(VICTIMS)
            # make or Snakemake alone takes SIGINT as a wish to end after the job under way, and does so: nothing to
            # test. A terminal sends it to the whole group.
            number = chance.choice(SIGNALS[1:] if victim in ("make", "snakemake") else SIGNALS)
            after_a_run = turn % 2 == 0
            seconds, runs = chance.uniform(0, AFTER_A_RUN if after_a_run else LONGEST), len(kept) if after_a_run else -1
            try:
                inside = [] if ends_within(make, seconds, tree, runs) else kill(make, victim, number)
            except KeyboardInterrupt:
                os.killpg(make.pid, signal.SIGKILL)
                make.wait()
                raise
            begin = time.monotonic()
            while any(alive(process) for process in inside) and time.monotonic() - begin < 15:
                time.sleep(0.02)
            took = time.monotonic() - begin
            remaining = [process for process in inside if alive(process)]
            try:
                make.wait(timeout=30)
            except subprocess.TimeoutExpired:  # it goes on as if nothing had been: a left-over, which ends here
                os.killpg(make.pid, signal.SIGKILL)
                make.wait()
            time.sleep(0.2)
            folders = set(os.listdir(tempfile.gettempdir())) - outside
            now = finished(tree)
            gone = [name for name, stamp in kept.items() if now.get(name) != stamp]
            left += len(remaining) + len(folders)
            lost += len(gone)
            most = max(most, took)
            print(
                f"{turn:2}: {number.name} to {victim}: {len(inside)} processes ended in {took:.2f} s, "
                f"{len(remaining)} left, temporary folders left: {', '.join(folders) or 'none'}, "
                f"{len(now)} runs kept, {len(gone)} lost",
                flush=True,
            )
            kept = now
    print(f"killed {given.times} times: {left} left-overs, {lost} finished runs lost, slowest end {most:.2f} s")
    return int(left + lost > 0)


if __name__ == "__main__":
    sys.exit(main())
