"""The emulated testbed's checks of what its tools say, without a sandbox."""

import pytest

from whitewire.testbed.base import CommandFailed, Fabric
from whitewire.testbed.emulated.sandbox import EmulatedTestbed


@pytest.mark.parametrize("way", ["rate", "rate_in"])
def test_a_link_that_is_not_shaped_as_asked_is_named(way):
    testbed = EmulatedTestbed({}, {"client": 1}, 1, {})
    testbed.links = lambda: {"client": {"rate": 100.0, "rate_in": 100.05, way: 90.0}}
    with pytest.raises(CommandFailed, match="fabric 1gbe: client is at 90.0 Mbit/s, expected 100.0"):
        testbed._verify(Fabric("1gbe", 100.0, 1000.0))
