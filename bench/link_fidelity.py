"""How exact are the emulated links? The part `links` of `whitewire trust`, with rates and pairs of one's own.

    .venv/bin/python bench/link_fidelity.py [--rates 25 100 1000] [--pairs 1 3] [--rounds 5]

Prints a table, by iperf3 and by the bytes that the switch's ports count, and ends with status 1 when a median error is
beyond 0.5 %.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from pathlib import Path

import pandas as pd

from whitewire import paths
from whitewire.analysis.trust import link_errors
from whitewire.description.testbed import load_testbed
from whitewire.measure.trust_links import LinkRounds
from whitewire.progress import Pulse
from whitewire.records.trust import link_rows

RATES = (25.0, 50.0, 100.0, 250.0, 500.0, 1000.0)
BOUND = 0.005


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rates", type=float, nargs="+", default=RATES, help="Mbit/s")
    arguments.add_argument("--pairs", type=int, nargs="+", default=(1, 3))
    arguments.add_argument("--rounds", type=int, default=5)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(dir=paths.temporary()) as folder:
        made = Path(folder) / "links"
        LinkRounds(load_testbed("emulated"), made, given.rates, given.pairs, Pulse("links")).make(given.rounds)
        rows = list(link_errors(pd.DataFrame(link_rows(made.parent)), BOUND, math.inf))
    print("rate Mbit/s  pairs  meter     median error  largest error  rounds")
    for row in rows:
        print(f"{row['rate']:>11}  {row['pairs']:5}  {row['meter']:8}  {float(str(row['error'])):+12.3%}  "
              f"{float(str(row['largest'])):+13.3%}  {row['n']:6}")  # fmt: skip
    worst = max(abs(float(str(row["error"]))) for row in rows)
    print(f"largest median error {worst:.3%}, bound {BOUND:.1%}")
    return int(worst > BOUND)


if __name__ == "__main__":
    raise SystemExit(main())
