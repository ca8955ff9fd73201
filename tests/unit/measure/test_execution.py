"""What a run asks of its clients."""

from __future__ import annotations

import pytest

from whitewire.design.scale import PACKET, Scale
from whitewire.measure import puts
from whitewire.measure.bench import StackBench
from whitewire.measure.run import Run

SIZE = "dfs.client-write-packet-size"


@pytest.mark.parametrize(
    ("packet", "settings", "expected"),
    [(16384, {}, 16384), (16384, {SIZE: 131072}, 131072), (PACKET, {}, None), (PACKET, {SIZE: 131072}, 131072)],
)
def test_puts_write_in_the_packets_of_their_run(monkeypatch, packet, settings, expected):
    asked = {}

    def together(stack, clients, files, options, timeout):
        asked.update(options, clients=clients, files=files)
        return []

    monkeypatch.setattr(puts, "put_together", together)
    run = Run({}, {}, {"clients": 3}, {}, Scale(128, 0.02, 524288, 1048576, packet), 5.0)
    StackBench(None, run).puts.put(["put1"], settings)
    assert (asked["dfs.blocksize"], asked["clients"], asked["files"]) == (524288, 3, ["put1"])
    assert asked.get(SIZE) == expected
