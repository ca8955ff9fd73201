"""What a run was asked, and what hosts report of it: settings of daemons, and bounded writers."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from types import SimpleNamespace

import pytest

from whitewire.design.drive import Drive
from whitewire.design.scale import Scale
from whitewire.measure import conditions
from whitewire.measure.conditions import Conditions
from whitewire.measure.run import Run
from whitewire.testbed.base import Completed
from whitewire.testbed.drives import put_drives, read_back

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
    assert replace(found, run=replace(run, daemon_settings={})).daemons() == {"daemon_settings": {}}
    assert Conditions(SimpleNamespace(), RUN).daemons() == {}


@pytest.mark.parametrize(("rate", "states", "found"), [
    (1e6, [BOUND, BOUND | {"sent": 2010.0, "sending": 0.00201}], "on"),
    (1e6, [BOUND, BOUND | {"sent": 1999.0, "sending": 0.1}], "on, and 1999 of 2000 bytes came by"),
    (1e6, [BOUND, BOUND | {"sent": 4000.0, "sending": 0.002}], "on, and writers sent 2000000 B/s"),
    (1e6, [{}, BOUND | {"sent": 2010.0, "sending": 0.1}], "on, with 0 and 1000000 B/s"),
    (2e6, [BOUND, BOUND | {"sent": 2010.0, "sending": 0.1}], "on, with 1000000 B/s"),
    (0.0, [{}, {}], "off"),
])  # fmt: skip
def test_writers_were_bound_if_all_hosts_say_so_and_all_bytes_came_by(rate, states, found):
    drive = replace(Drive.none(), rate=1e6, writer=rate)
    said = Conditions(SimpleNamespace(), replace(RUN, drive=drive))._writers(states)
    assert said["writer_bound"] == found
    assert ("writers" in said) == any(states)


SSD = replace(Drive.none(), rate=5e8, read_rate=5e8, chunk=4e6)
OWN = {f"intermediate_{key}": value for key, value in SSD.numbers.items()} | {"intermediate_moved": 7.0}


@pytest.mark.parametrize(("states", "slow_drives", "found"), [
    ([OWN, OWN], 1, "ssd"),
    ([OWN, OWN | {"intermediate_rate": 2.5e8}], 0.5, "ssd"),
    ([OWN, OWN], 0.5, "drives of other properties"),
    ([OWN, {}], 1, "drives of other properties"),
    ([OWN, OWN | {"intermediate_read_rate": 1.0}], 1, "drives of other properties"),
    ([{}, {}], 1, "shared"),
])  # fmt: skip
def test_drives_of_intermediate_data_are_those_of_all_workers(states, slow_drives, found):
    stack = SimpleNamespace(testbed=SimpleNamespace(by_role=lambda role: [0, 1]), slow_worker=1)
    run = replace(RUN, parameters={"intermediate_drive": "ssd", "slow_drives": slow_drives},
                  drive=replace(SSD, intermediate=SSD))  # fmt: skip
    said = Conditions(stack, run)._intermediate_drive(states)
    assert said["intermediate_drive"] == found
    assert said.get("intermediate_moved") == (sum(7.0 for state in states if state) or None)


@pytest.mark.parametrize(("parameters", "asked"), [
    ({}, ["w0"]),
    ({"page_cache": "off"}, ["w0", "w1"]),
    ({"page_cache": "off", "intermediate_drive": "shared", "writer_bound": "off", "slow_drives": 1},
     ["w0", "w1", "client"]),
])  # fmt: skip
def test_each_host_is_asked_once_for_its_drives(monkeypatch, parameters, asked):
    hosts, seen = {"datanode": ["w0", "w1"], "client": ["client"]}, []
    monkeypatch.setattr(conditions.drives, "read_back", lambda host: seen.append(host) or {"rate": 5e8})
    stack = SimpleNamespace(testbed=SimpleNamespace(by_role=hosts.__getitem__), slow_worker="w1")
    found = Conditions(stack, replace(RUN, parameters=parameters, drive=SSD)).drives()
    assert sorted(seen) == sorted(asked)
    off = {"page_cache": "off", "intermediate_drive": "shared", "writer_bound": "off", "slow_drives": 1.0}
    assert found == {"drive": {"rate": 5e8}} | {key: off[key] for key in parameters}


def test_a_client_has_a_model_and_no_drives(tmp_path):
    def run(argv, stdin=None):
        done = subprocess.run(argv, input=stdin, capture_output=True, check=False)
        return Completed(tuple(argv), done.returncode, done.stdout, done.stderr)

    host = SimpleNamespace(drive_root=str(tmp_path / "drives"), run=run)
    put_drives(SSD, host)
    assert read_back(host)["count"] == 0
    (tmp_path / "drives" / "1").mkdir()
    assert read_back(host) == {"count": 1} | {key: value for key, value in SSD.record.items() if key != "count"}


def test_a_writer_that_nothing_says_off_is_bound():
    drive = replace(Drive.none(), rate=1e6, writer=1e6)
    assert Conditions(SimpleNamespace(), replace(RUN, drive=drive)).asked()["writer_bound"] == "on"
    assert "writer_bound" not in Conditions(SimpleNamespace(), RUN).asked()
