"""How long does the emulated CephFS take to start, what rates do its stripes give, and what does that cost?

    .venv/bin/python bench/cephfs.py [--starts 5] [--repeats 3] [--rate 2e6]

Rates are against stripes x the OST's rate: written with fsync by one client, read by another.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

from jobs import busy_seconds

from whitewire import paths
from whitewire.cluster.cephfs import CephFs
from whitewire.description.testbed import load_testbed
from whitewire.testbed.base import Argv, Host
from whitewire.testbed.emulated.sandbox import EmulatedTestbed

MIB = 2**20
ROLES = {"mds": 1, "oss": 2, "client": 3}


def proportional_memory(store: CephFs) -> float:
    """MB of all daemons and mounts, shared pages divided among their users."""
    mains = [process.main_process() for process in store.processes().values()]
    return sum(main.memory_full_info().pss for main in mains if main is not None) / 1e6


def own_cpu_seconds(store: CephFs) -> float:
    """Of the daemons and mounts, whatever else the machine does."""
    return sum(process.cpu_seconds() for process in store.processes().values())


def timed(host: Host, argv: Argv) -> float:
    begin = time.monotonic()
    host.run(argv).check()
    return time.monotonic() - begin


def rates(store: CephFs, count: int, size: int, number: int) -> dict[str, float]:
    """Errors of the rates, CPU seconds per 100 MB, and bytes on the drives' wires for one of data."""
    folder, wanted = f"stripes{count}", store.drives.rate * count
    found: dict[str, float] = {}
    store.layout(folder, count, MIB)
    file = f"{store.mount}/{folder}/{number}"
    ways = {
        "write": (store.clients[0], ["dd", "if=/dev/zero", f"of={file}", "bs=1M", f"count={size // MIB}",
                                     "conv=fsync"]),
        "read": (store.clients[1], ["dd", f"if={file}", "of=/dev/null", "bs=1M"]),
    }  # fmt: skip
    for way, (host, argv) in ways.items():
        moved, cpu = sum(store.drives.moved().values()), own_cpu_seconds(store)
        seconds = timed(host, argv)
        found[f"{way} error"] = size / seconds / wanted - 1
        found[f"{way} CPU s"] = (own_cpu_seconds(store) - cpu) / size * 1e8
        found[f"{way} wire"] = (sum(store.drives.moved().values()) - moved) / size
    store.remove(folder)
    return found


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--starts", type=int, default=5)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--rate", type=float, default=2e6, help="bytes/s of an OST")
    given = arguments.parse_args()
    config = load_testbed("emulated")
    print(f"{os.cpu_count()} processors, load average {os.getloadavg()[0]:.1f}")
    with (
        EmulatedTestbed(config, ROLES, 20, {}) as testbed,
        tempfile.TemporaryDirectory(dir=paths.temporary()) as logs,
    ):
        testbed.fabric("10gbe")
        store = CephFs(testbed, given.rate, Path(logs), readahead=32 * MIB)
        seconds, cpu = [], []
        for number in range(given.starts):
            before = busy_seconds()
            store.start()
            cpu.append(busy_seconds() - before)
            seconds.append(store.start_seconds)
            if number + 1 < given.starts:
                store.stop()
        print(f"up and mounted on {len(store.clients)} clients, {len(store.osts)} OSTs: median "
              f"{statistics.median(seconds):.1f} s ({min(seconds):.1f} to {max(seconds):.1f}, n={len(seconds)}), "
              f"{statistics.median(cpu):.1f} CPU s, {proportional_memory(store):.0f} MB")  # fmt: skip
        cpu_before, begin = busy_seconds(), time.monotonic()
        own = own_cpu_seconds(store)
        time.sleep(5)
        own = own_cpu_seconds(store) - own
        print(f"idle: {own / (time.monotonic() - begin):.1%} of one processor (the machine: "
              f"{(busy_seconds() - cpu_before) / (time.monotonic() - begin):.1%})")  # fmt: skip
        for count in (1, 2, 4, 8):
            size = int(4 * given.rate // MIB) * MIB * count
            rows = [rates(store, count, size, number) for number in range(given.repeats)]
            middle = {name: statistics.median(row[name] for row in rows) for name in rows[0]}
            worst = max(abs(row[name]) for row in rows for name in row if "error" in name)
            print(f"{count} stripes, {size / 1e6:.0f} MB, n={len(rows)}: write {middle['write error']:+.1%}, "
                  f"read {middle['read error']:+.1%}, worst {worst:.1%}; CPU s per 100 MB "
                  f"{middle['write CPU s']:.2f} and {middle['read CPU s']:.2f}; wire bytes per byte "
                  f"{middle['write wire']:.4f} and {middle['read wire']:.4f}")  # fmt: skip
        print(f"remount of {len(store.clients)} clients: {store.remount():.1f} s; all in memory: "
              f"{proportional_memory(store):.0f} MB; load average {os.getloadavg()[0]:.1f}")  # fmt: skip
        store.stop()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
