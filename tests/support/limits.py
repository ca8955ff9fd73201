"""A testbed's bounds where all of it has to work and its numbers do not matter: how busy this machine is sets them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from whitewire.description.testbed import OF_SITES, OF_THIS_MACHINE
from whitewire.measure import idle
from whitewire.records import processors

WIDE = {"link_error": 0.2, "drive_error": 0.5, "job_wire_low": -1.0, "job_wire_high": 5.0, "retransmit_share": 0.5,
        "queue_drop_share": 0.5}  # fmt: skip
OF_PROCESSORS = {"cpu_late_ms": 1000.0, "cpu_outside": 1000.0, "cpu_idle_floor": 0.0, "compute_share": 1.0}


def of_kind(limits: Mapping[str, float], kind: str) -> dict[str, float]:
    """These bounds with those on the processors that count on this kind of testbed, wide open."""
    own = OF_THIS_MACHINE if kind == "emulated" else OF_SITES
    kept = {name: bound for name, bound in limits.items() if name not in OF_PROCESSORS}
    return kept | {name: OF_PROCESSORS[name] for name in own}


def wide(limits: Mapping[str, float], kind: str = "emulated") -> dict[str, float]:
    """These bounds wide open, but for those that no load of this machine changes."""
    return of_kind(limits, kind) | WIDE


OF_OTHERS = ((idle, "IDLE"), (processors, "OVERHEAD_SHARE"))
"""What other programs may use of the processors when a run begins, and during overhead runs: module, constant."""


@contextmanager
def beside_others() -> Iterator[None]:
    """Let blocks of this process begin, and their overhead runs count, beside any load."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in OF_OTHERS:
            patch.setattr(module, name, math.inf)
        yield
