"""How exact are the emulated links? Goodput of iperf3 against rate × 1448/1514, one pair of hosts and three at once.

    .venv/bin/python bench/link_fidelity.py [--seconds 3] [--replicates 5]

Prints a table and ends with status 1 when the median error of a row is beyond 0.5 %.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from whitewire import paths
from whitewire.description.testbed import load_testbed
from whitewire.testbed.base import FRAME_SHARE
from whitewire.testbed.emulated import software
from whitewire.testbed.emulated.sandbox import EmulatedTestbed
from whitewire.tools import iperf3

RATES = (25, 50, 100, 250, 500, 1000)
BOUND = 0.005


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--seconds", type=float, default=3)
    arguments.add_argument("--replicates", type=int, default=5)
    given = arguments.parse_args()
    config = load_testbed("emulated") | {"fabrics": {str(rate): {"rate_mbit_per_s": rate} for rate in RATES}}
    worst = 0.0
    print("rate Mbit/s  pairs  median error  largest error  retransmits")
    with (
        EmulatedTestbed(config, {"server": 3, "client": 3}, 1, software.binds()) as testbed,
        tempfile.TemporaryDirectory(dir=paths.temporary()) as logs,
    ):
        servers, clients = testbed.by_role("server"), testbed.by_role("client")
        for host in servers:
            host.start(iperf3.server(host.address), Path(logs) / host.name).wait_ready("Server listening")
        for rate in RATES:
            testbed.fabric(str(rate))
            size = int(rate * 1e6 / 8 * given.seconds)
            for pairs in (1, 3):

                def one(number: int, size: int = size) -> iperf3.LinkResult:
                    argv = iperf3.client(servers[number].name, 1, size)
                    return iperf3.parse(clients[number].run(argv).check().stdout)

                with ThreadPoolExecutor(pairs) as pool:
                    results = [r for _ in range(given.replicates) for r in pool.map(one, range(pairs))]
                errors = [result.goodput / (rate * FRAME_SHARE) - 1 for result in results]
                middle, largest = statistics.median(errors), max(errors, key=abs)
                again = sum(result.retransmits for result in results)
                print(f"{rate:11}  {pairs:5}  {middle:+12.3%}  {largest:+13.3%}  {again:11}")
                worst = max(worst, abs(middle))
    print(f"largest median error {worst:.3%}, bound {BOUND:.1%}")
    return int(worst > BOUND)


if __name__ == "__main__":
    raise SystemExit(main())
