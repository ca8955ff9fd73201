"""How do the configuration's checks bear input that is wrong in every way?

    .venv/bin/python bench/bad_input.py [--minutes 60] [--only 'paper template'] [--seed 1] [--all]

Each place of each file, and each key that its schema has beside, is made wrong in each of the ways of
tests/support/bad_input.py, in random order; with --all every combination once, otherwise until the time is over. Prints
how each kind came out and, of what ended in anything but a pass or one line, how to see it again.
"""

from __future__ import annotations

import argparse
import itertools
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support import bad_input

SHOWN = 40
"""Faults that are printed."""


def _overdue(*_: Any) -> None:
    raise TimeoutError("more than 20 s")


def main() -> int:
    """Damage, try, count."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--minutes", type=float, default=60)
    given.add_argument("--only", default="")
    given.add_argument("--seed", type=int, default=1)
    given.add_argument("--all", action="store_true")
    args = given.parse_args()
    rng = random.Random(args.seed)
    names = [name for name in bad_input.bases() if args.only in name]
    data = {name: bad_input.read(name) for name in names}
    places = {name: bad_input.all_places(name) for name in names}
    every: dict[str, list[tuple[str, Any, Any, str]]] = {
        name: [(name, place, example, kind) for place, example in places[name] for kind in bad_input.KINDS]
        for name in names
    }
    for some in every.values():
        rng.shuffle(some)
    # One of each file in turn, so that large files do not take all the time.
    todo = [one for turn in itertools.zip_longest(*every.values()) for one in turn if one is not None]
    print(f"{len(todo)} combinations of {sum(map(len, places.values()))} places and {len(bad_input.KINDS)} kinds")
    came: dict[str, Counter[str]] = defaultdict(Counter)
    faults: dict[str, str] = {}
    signal.signal(signal.SIGALRM, _overdue)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        project = bad_input.Project(Path(folder))
        for name, place, example, kind in todo:
            if not args.all and time.monotonic() - began > 60 * args.minutes:
                break
            try:
                if rng.random() < 0.1:
                    kind = rng.choice(list(bad_input.TEXTS))
                    text = bad_input.TEXTS[kind](bad_input.as_text(data[name]), rng.randrange(10**6))
                else:
                    text = bad_input.as_text(bad_input.damaged(data[name], place, example, kind))
            except bad_input.Skipped:
                continue
            signal.alarm(20)
            try:
                came[kind][project.outcome(name, text).split(":")[0]] += 1
            except Exception as error:
                came[kind]["FAULT"] += 1
                last = traceback.extract_tb(error.__traceback__)[-1]
                what = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}: {str(error)[:200]}"
                faults.setdefault(what[:90], f"{name} {place} {kind}: {what}")
            finally:
                signal.alarm(0)
    total = sum((Counter(each) for each in came.values()), Counter())
    for kind in sorted(came):
        print(f"{kind:28}" + "".join(f"{came[kind][way]:>9}" for way in ("passed", "refused", "FAULT")))
    print(f"{'all':28}" + "".join(f"{total[way]:>9}" for way in ("passed", "refused", "FAULT")))
    for line in list(faults.values())[:SHOWN]:
        print(line)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
