"""Grid Engine (Son of, Univa, Altair, Open Cluster Scheduler): a line of $PE_HOSTFILE for each host and queue.

The columns are host, slots, queue and processors. `qrsh -inherit` starts a task of the job on one of its hosts if the
parallel environment has control_slaves; each task occupies a slot there while it runs.
Sources: sge_pe(5), qrsh(1) -inherit, qsub(1) -notify: SIGUSR2 before SIGKILL, SIGUSR1 before a suspension, by the
queue's `notify` (60 s); queue_conf(5) s_rt: SIGUSR1.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Mapping
from typing import Any

from whitewire.errors import UserError
from whitewire.testbed.site.inventory import machines, same_machine
from whitewire.testbed.site.schedulers.scheduler import ByCommand, checked_host_name, node_file
from whitewire.testbed.site.ssh import for_any_login_shell

LEAST_SLOTS = 10
"""Most commands that run concurrently on a host: its watcher, up to three daemons, clients, samples, questions."""


class GridEngine(ByCommand):
    name = "Grid Engine"
    variable = "PE_HOSTFILE"
    signals = (signal.SIGUSR2, signal.SIGUSR1, signal.SIGTERM)

    def nodes(self, config: Mapping[str, Any], environ: Mapping[str, str]) -> list[str]:
        path = environ.get(self.variable, "")
        slots = slots_of(node_file(self.name, self.variable, path), path)
        for host in machines([*slots], self.name):
            count = sum(number for name, number in slots.items() if same_machine(host, name))
            if count < LEAST_SLOTS:
                raise UserError(
                    f"{path}: {host}: found {count} slots, expected at least {LEAST_SLOTS}: each command that runs on "
                    "a host takes one; ask for whole hosts"
                )
        return list(slots)

    def command_line(self, node: str, rank: int, command: str, environ: Mapping[str, str]) -> list[str]:
        """qrsh joins its arguments to one line, which the user's login shell on the node parses."""
        return ["qrsh", "-inherit", node, for_any_login_shell(command)]


def slots_of(text: str, source: str) -> dict[str, int]:
    """Host → slots, in the file's order. Raises a UserError that names an invalid line."""
    slots: Counter[str] = Counter()
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words:
            continue
        if len(words) < 2 or not (words[1].isascii() and words[1].isdigit()):
            expected = "expected a host, its slots, a queue and processors"
            raise UserError(f"{source}: line {number}: found {line[:60]!r}, {expected}")
        slots[checked_host_name(words[0], f"{source}: line {number}")] += int(words[1])
    return dict(slots)
