"""The environment of a host's commands: its own, and that of the transport in use."""

from __future__ import annotations

import pytest

from tests.unit.testbed.test_remote_host import Here
from whitewire.testbed.base import Host

LIBRARY = {"LD_PRELOAD": "librspreload.so", "RS_SQ_SIZE": "512"}


@pytest.mark.parametrize(
    ("around", "own", "found"),
    [
        ({}, None, {}),
        ({}, {"A": "1"}, {"A": "1"}),
        (LIBRARY, None, LIBRARY),
        (LIBRARY, {"A": "1"}, LIBRARY | {"A": "1"}),
        (LIBRARY, {"LD_PRELOAD": "drive.so"}, LIBRARY | {"LD_PRELOAD": "drive.so:librspreload.so"}),
        ({}, {"LD_PRELOAD": ""}, {"LD_PRELOAD": ""}),
    ],
)
def test_both_libraries_are_preloaded_the_commands_own_first(around, own, found):
    host = Here.__new__(Here)
    host.variables = around
    assert host.surrounded(own) == found
    assert dict(Host.variables) == {}
