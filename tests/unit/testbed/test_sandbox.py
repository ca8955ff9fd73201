"""The emulated testbed's checks of what its tools say, without a sandbox."""

import pytest

from whitewire.testbed.base import CommandFailed, Completed, Fabric
from whitewire.testbed.emulated.sandbox import EmulatedTestbed


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        (b"", "a link has no rate, expected 100.0 Mbit/s"),
        (b"class htb 1:1 root rate 90Mbit ceil 90Mbit \n", "a link is at 90.0 Mbit/s, expected 100.0"),
    ],
)
def test_a_link_that_is_not_shaped_as_asked_is_named(said, fault):
    testbed = EmulatedTestbed({}, {"client": 1}, 1, {})
    testbed.inside = lambda argv, stdin=None: Completed(tuple(argv), 0, said, b"")
    testbed._on_all = lambda action: []
    with pytest.raises(CommandFailed, match=fault):
        testbed._verify(Fabric("1gbe", 100.0, 1000.0))
