"""The stage `links` on real emulated hosts, one of them slow: it is named, and all else is what it is set to."""

from __future__ import annotations

import json

import pytest

from tests.conftest import SMALL
from whitewire.design.drive import Drive
from whitewire.measure import survey
from whitewire.measure.engine import Work
from whitewire.measure.survey_plan import Shape, Survey, plan_survey
from whitewire.records import links as records
from whitewire.records import outliers
from whitewire.records.links import links_faults
from whitewire.records.outliers import outliers_of_folder
from whitewire.testbed import kinds
from whitewire.testbed.emulated import software

pytestmark = pytest.mark.sandbox
HARDWARE = {"count": 2, "rate_mb_per_s": 110, "access_time_ms": 10, "writeback_chunk_bytes": 4194304, "cache_bytes": 0}


SLOW = "datanode2"


@pytest.fixture
def surveyed(tmp_path, can_emulate, emulated_config):
    """The folder of a survey of six hosts, of which one has half the 10gbe."""
    limits = emulated_config["limits"] | {"link_error": 0.05, "drive_error": 0.3}
    config = emulated_config | {"limits": limits}
    shape = Shape("x", SMALL, 100, ("10gbe", "1gbe"), Drive.scaled(HARDWARE, 100, software.DRIVE_LIBRARY))
    hosts = kinds.open_bare(config, SMALL, shape.k, "testbed")
    plain = hosts.fabric
    hosts.fabric = lambda name: plain(name, slow={SLOW: 0.5} if name == "10gbe" else None)
    plan = plan_survey("emulated", config, "quick", 60.0, shape, hosts)
    (tmp_path / records.PLAN).write_text(json.dumps(plan))
    survey.make(Survey(hosts, config, plan, shape, tmp_path, "emulated.yaml", Work("links", 60.0)))
    return tmp_path


def test_links_and_drives_are_what_they_are_set_to_and_a_slow_host_is_named(capfd, surveyed):
    assert not links_faults(surveyed)
    ways = outliers.ways(records.pair_rows(surveyed))
    assert {way.fabric for way in ways} == {"10gbe", "1gbe"}
    assert len([way for way in ways if way.fabric == "10gbe"]) == 30
    right = [way for way in ways if way.fabric == "1gbe" or SLOW not in (way.source, way.destination)]
    wrong = [way for way in right if outliers.beyond(way, 0.05)]
    assert len(wrong) <= 2  # this machine may be busy
    named = [each for each in outliers_of_folder(surveyed) if each.kind == "host"]
    assert [(each.subject, each.fabric) for each in named] == [(SLOW, "10gbe")]
    assert named[0].value == pytest.approx(0.5 * named[0].expected, rel=0.1)
    rest = [row["value"] for row in records.pair_rows(surveyed) if row["metric"] == "rtt_at_rest"]
    loaded = [way.rtt for way in ways if way.rtt]
    assert 5 < sorted(rest)[len(rest) // 2] < sorted(loaded)[len(loaded) // 2]
    assert {row["destination"] for row in records.model_rows(surveyed)} == {"drive 1", "drive 2"}
    said = capfd.readouterr().err
    assert "links: 6 hosts, 15 pairs, 2 fabrics: about " in said
    assert "left out: " in said and "finished in " in said
