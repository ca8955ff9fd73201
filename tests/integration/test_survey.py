"""The stage `links` on real emulated hosts: exact where nothing is wrong, and what is slow is named."""

from __future__ import annotations

import json

import pytest

from tests.conftest import SMALL
from whitewire.design.drive import Drive
from whitewire.measure import survey, survey_plan
from whitewire.measure.engine import Work
from whitewire.measure.survey_plan import Shape, Survey
from whitewire.records import links as records
from whitewire.records import outliers
from whitewire.testbed import kinds
from whitewire.testbed.emulated import software

pytestmark = pytest.mark.sandbox
HARDWARE = {"count": 2, "rate_mb_per_s": 110, "access_time_ms": 10, "writeback_chunk_bytes": 4194304, "cache_bytes": 0}


@pytest.fixture
def surveyed(tmp_path, can_emulate, emulated_config):
    """Makes a survey of six hosts, with `slow` links by host; the folder of its record."""
    limits = emulated_config["limits"] | {"link_error": 0.05, "drive_error": 0.3}
    config = emulated_config | {"limits": limits}
    shape = Shape("x", SMALL, 100, ("10gbe", "1gbe"), Drive.scaled(HARDWARE, 100, software.DRIVE_LIBRARY))

    def make(**slow):
        hosts = kinds.open_bare(config, SMALL, shape.k)
        plain = hosts.fabric
        hosts.fabric = lambda name: plain(name, slow=slow if name == "10gbe" else None)
        plan = survey_plan.planned("emulated", config, "quick", 60.0, shape, hosts)
        (tmp_path / records.PLAN).write_text(json.dumps(plan))
        survey.make(Survey(hosts, config, plan, shape, tmp_path, "emulated.yaml", Work("links", 60.0)))
        return tmp_path

    return make


def test_links_and_drives_of_emulated_hosts_are_what_they_are_set_to(surveyed, capfd):
    folder = surveyed()
    assert not records.faults(folder)
    ways = outliers.ways(records.pair_rows(folder))
    assert {way.fabric for way in ways} == {"10gbe", "1gbe"}
    assert len([way for way in ways if way.fabric == "10gbe"]) == 30
    wrong = [way for way in ways if outliers.beyond(way, 0.05)]
    assert len(wrong) <= 2  # this machine may be busy
    rest = [row["value"] for row in records.pair_rows(folder) if row["metric"] == "rtt_at_rest"]
    loaded = [way.rtt for way in ways if way.rtt]
    assert 5 < sorted(rest)[len(rest) // 2] < sorted(loaded)[len(loaded) // 2]
    assert {row["destination"] for row in records.model_rows(folder)} == {"drive 1", "drive 2"}
    said = capfd.readouterr().err
    assert "links: 6 hosts, 15 pairs, 2 fabrics: about " in said
    assert "left out: " in said and "finished in " in said


def test_a_slow_host_is_named(surveyed):
    folder = surveyed(datanode2=0.5)
    named = [each for each in outliers.of_folder(folder) if each.kind == "host"]
    assert [(each.subject, each.fabric) for each in named] == [("datanode2", "10gbe")]
    assert named[0].value == pytest.approx(0.5 * named[0].expected, rel=0.1)
