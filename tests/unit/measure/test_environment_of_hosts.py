"""What is recorded of the hosts on which a block was measured."""

from types import SimpleNamespace

import pytest

from whitewire.measure import environment
from whitewire.testbed.base import Completed, Host


@pytest.mark.parametrize(("of_the_host", "asked"), [({}, "eth0"), ({"interface": "ens1f0"}, "ens1f0")])
def test_the_link_is_that_of_the_clients_interface_on_the_fabric_in_use(monkeypatch, of_the_host, asked):
    """On a site `eth0` is another network, or none."""
    ran = []

    def run(argv, *_, **__):
        ran.append(list(argv))
        return Completed(tuple(argv), 0, b"", b"")

    client = SimpleNamespace(
        **{"interface": Host.interface, **of_the_host}, name="client", role="client", address="10.0.0.1", run=run,
        run_outside=run,
    )  # fmt: skip
    testbed = SimpleNamespace(hosts=[client], by_role=lambda role: [client], describe=dict)
    monkeypatch.setattr(environment, "said", lambda *argv: "")
    environment.capture(testbed, "3.5.0")
    assert ["tc", "-d", "qdisc", "show", "dev", asked] in ran
    assert ["ethtool", "-k", asked] in ran
