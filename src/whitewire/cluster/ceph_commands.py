"""Makes a new Ceph cluster's OSDs, pools and file system, over one connection instead of a `ceph` process per command.

Its text is run by the system's Python, which has Ceph's `rados` module. A plan comes as JSON on standard input;
progress goes to standard output, one word a line: `created` (the OSDs may start), `ready` (the file system serves).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import rados

_PATIENCE = 45.0


def _run(cluster: rados.Rados, prefix: str, **arguments: object) -> Any:
    """Run a command of the `ceph` tool; returns its decoded answer, None if that is not JSON."""
    request = json.dumps({"prefix": prefix, "format": "json", **arguments})
    status, answer, said = cluster.mon_command(request, b"", timeout=30)
    if status != 0:
        sys.exit(f"ceph {prefix} {arguments}: {said or status}")
    try:
        return json.loads(answer)
    except ValueError:
        return None


def wait(what: str, done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not done():
        if time.monotonic() > deadline:
            sys.exit(f"after {_PATIENCE:.0f} s not yet {what}")
        time.sleep(0.05)


def _main() -> None:
    plan = json.load(sys.stdin)
    cluster = rados.Rados(name="client.admin", conffile=plan["configuration"])
    cluster.connect(timeout=30)
    numbers = []
    for root, osds in plan["roots"].items():
        for number, uuid in osds.items():
            _run(cluster, "osd new", uuid=uuid, id=int(number))
            _run(cluster, "osd crush add", id=int(number), weight=1.0, args=[f"root={root}"])
            numbers.append(int(number))
        _run(cluster, "osd crush rule create-simple", name=root, root=root, type="osd")
    # Marked as in before they run: a placement group may be put only on OSDs that are in.
    _run(cluster, "osd in", ids=[str(number) for number in numbers])
    _run(cluster, "osd set-require-min-compat-client", version="luminous")
    for root, osds in plan["roots"].items():
        _run(cluster, "osd pool create", pool=root, pg_num=len(osds), pgp_num=len(osds), pool_type="replicated",
             rule=root)  # fmt: skip
    # Placement group i of the data lies on OST i and nowhere else.
    pools = {pool["pool_name"]: pool["pool"] for pool in _run(cluster, "osd dump")["pools"]}
    for group, number in enumerate(plan["roots"][plan["data"]]):
        _run(cluster, "osd pg-upmap", pgid=f"{pools[plan['data']]}.{group:x}", id=[int(number)])
    _run(cluster, "fs new", fs_name="whitewire", metadata=plan["metadata"], data=plan["data"])
    print("created", flush=True)

    def active() -> bool:
        (filesystem,) = _run(cluster, "fs dump")["filesystems"]
        return any(mds["state"] == "up:active" for mds in filesystem["mdsmap"]["info"].values())

    wait("all OSDs up", lambda: sum(osd["up"] for osd in _run(cluster, "osd dump")["osds"]) == len(numbers))
    wait("an active metadata server", active)
    print("ready", flush=True)
    cluster.shutdown()


_main()
