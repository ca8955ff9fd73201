"""What a run was asked, and what hosts report of it: settings of daemons, and bounded writers."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from whitewire.design.drive import Drive
from whitewire.design.scale import Scale
from whitewire.measure import conditions
from whitewire.measure.conditions import Conditions
from whitewire.measure.run import Run

ROW = {"run_id": "r", "block": "b", "order": 1, "experiment": "e", "workload": "hdfs_put", "replicate": 1, "seed": 0}
PARAMETERS = {"clients": 1, "puts_per_client": 2, "replication": 2}
RUN = Run(ROW, {}, PARAMETERS, {}, Scale(100, 1.0, 500, 1000), 10.0)
BOUND = {"writer": 1e6, "sent": 0.0, "sending": 0.0}


def test_settings_of_clients_and_daemons_are_asked_and_the_daemons_say_what_they_have():
    own = {"dfs.datanode.handler.count": 3}
    run = replace(RUN, parameters={"settings": "a"}, settings={"b": True}, daemon_settings=own)
    found = Conditions(SimpleNamespace(settings_of_daemons=dict), run)
    assert found.asked()["settings"] == {"b": "true", "dfs.datanode.handler.count": "3"}
    assert found.daemons() == {"daemon_settings": own}
    assert Conditions(SimpleNamespace(), RUN).daemons() == {}


@pytest.mark.parametrize(("rate", "states", "found"), [
    (1e6, [BOUND, BOUND | {"sent": 2010.0, "sending": 0.00201}], "on"),
    (1e6, [BOUND, BOUND | {"sent": 1999.0, "sending": 0.1}], "on, and 1999 of 2000 bytes came by"),
    (1e6, [BOUND, BOUND | {"sent": 4000.0, "sending": 0.002}], "on, and writers sent 2000000 B/s"),
    (1e6, [{}, BOUND | {"sent": 2010.0, "sending": 0.1}], "on, with 0 and 1000000 B/s"),
    (2e6, [BOUND, BOUND | {"sent": 2010.0, "sending": 0.1}], "on, with 1000000 B/s"),
    (0.0, [{}, {}], "off"),
])  # fmt: skip
def test_writers_were_bound_if_all_hosts_say_so_and_all_bytes_came_by(monkeypatch, rate, states, found):
    monkeypatch.setattr(conditions.drives, "read_back", states.__getitem__)
    testbed = SimpleNamespace(by_role=lambda role: [("datanode", "client").index(role)])
    drive = replace(Drive.none(), rate=1e6, writer=rate)
    said = Conditions(SimpleNamespace(testbed=testbed), replace(RUN, drive=drive))._writers()
    assert said["writer_bound"] == found
    assert ("writers" in said) == any(states)


def test_a_writer_that_nothing_says_off_is_bound():
    drive = replace(Drive.none(), rate=1e6, writer=1e6)
    assert Conditions(SimpleNamespace(), replace(RUN, drive=drive)).asked()["writer_bound"] == "on"
    assert "writer_bound" not in Conditions(SimpleNamespace(), RUN).asked()
