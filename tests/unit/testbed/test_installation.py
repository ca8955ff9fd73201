"""The environment of daemons and clients: that of the transport in use, and a command's own."""

from __future__ import annotations

import inspect

import pytest

from whitewire.testbed.base import Host
from whitewire.testbed.installation import Installation

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
    assert Installation(["/j.jar"], "/conf", None, variables=around).environment(own) == found


def test_a_host_has_no_environment_that_every_command_on_it_would_get():
    assert [name for name, _ in inspect.getmembers(Host) if "variable" in name or "environment" in name] == []
