"""The stage `links` on a site by ssh where one host sends slowly, one has another MTU and one has a slow drive."""

from __future__ import annotations

import csv
import shutil
import time
from pathlib import Path

import pytest
import yaml

from tests.conftest import SMALL
from tests.support.site import SCALE, SshSite, installed, open_ssh_site
from whitewire.measure import survey
from whitewire.records.links import LINKS_FOLDER
from whitewire.tidy.links import write_links_tables

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

SLOW, UNLIKE, DRIVE = "datanode2", "datanode4", "datanode3"


@pytest.fixture(scope="module")
def faulty(can_emulate, emulated_config, tmp_path_factory):
    """A site of its own with three faults."""
    with open_ssh_site(emulated_config, SMALL, SCALE, tmp_path_factory.mktemp("faulty")) as site:
        _make_faulty(site)
        yield site


def _make_faulty(ssh_site: SshSite) -> None:
    testbed, rate = ssh_site.testbed, 100
    by_name = {host.name: host for host in testbed.hosts}
    shaper = f"class change dev eth1 parent 1: classid 1:1 htb rate {rate}mbit ceil {rate}mbit burst 25000 cburst 25000"
    by_name[SLOW].run(["tc", "-batch", "-"], stdin=shaper.encode()).check()
    ssh_site.as_root(by_name[UNLIKE], "ip", "link", "set", "eth1", "mtu", "1400")
    fio = Path(installed("fio"))
    ssh_site.write(f"{ssh_site.folder}/bin/fio-real", fio.read_bytes(), "755")
    script = f'#!/bin/sh\nexec {ssh_site.folder}/bin/fio-real --rate=8m "$@"\n'
    ssh_site.hide(by_name[DRIVE], str(fio), script.encode(), "755")


@pytest.fixture(scope="module")
def folder(faulty, emulated_config, tmp_path_factory):
    """A project whose testbed is the site, and what its links are."""
    project = tmp_path_factory.mktemp("project")
    shutil.copytree(Path(__file__).parents[2] / "config", project / "config")
    # This machine's processors and memory are no subject here.
    limits = emulated_config["limits"] | {"link_error": 0.2, "drive_error": 0.5, "retransmit_share": 0.5}
    described = faulty.description(limits) | {"data": ["/tmp/data1"]}
    (project / "config" / "testbeds" / "lab.yaml").write_text(yaml.safe_dump(described))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        begin = time.monotonic()
        survey.survey("lab", project / "results" / "lab", within="120s")  # by the plan 90 s are too few for all pairs
        assert time.monotonic() - begin < 120
        write_links_tables(project / "results" / "lab" / LINKS_FOLDER)
        yield project / "results" / "lab" / LINKS_FOLDER


def table(folder, name):
    with (folder / "tables" / name).open(newline="") as rows:
        return list(csv.DictReader(rows))


def test_the_slow_sender_is_named_with_its_direction(folder):
    found = [row for row in table(folder, "outliers.csv") if not row["part_of"] and row["fabric"] == "10gbe"]
    (host,) = [row for row in found if row["kind"] == "host"]
    assert host["subject"] == SLOW
    assert "what it sends" in host["cause"]
    assert host["stops"] == "true"
    assert float(host["value"]) < 0.3 * float(host["expected"])
    assert not [row for row in table(folder, "outliers.csv") if row["kind"] == "pair" and row["part_of"] != SLOW]


def test_the_other_mtu_is_named(folder):
    (row,) = [row for row in table(folder, "outliers.csv") if row["kind"] == "unlike" and "MTU" in row["cause"]]
    assert (row["subject"], row["fabric"], row["cause"]) == (UNLIKE, "10gbe", "MTU 1400, on most hosts 1500")


def test_the_slow_drive_is_named(folder):
    found = [row for row in table(folder, "outliers.csv") if row["kind"] == "drive" and row["stops"] == "true"]
    assert {row["subject"] for row in found} == {f"{DRIVE} /tmp/data1"}


def test_every_pair_was_measured_and_nothing_stays_on_the_hosts(folder, faulty):
    ways = {(row["fabric"], row["source"], row["destination"]) for row in table(folder, "ways.csv")}
    assert len(ways) == 2 * 6 * 5
    assert all(float(row["rtt_at_rest"]) > 0 for row in table(folder, "ways.csv"))
    for host in faulty.testbed.hosts:
        assert host.run(["find", "/tmp/work", "/tmp/data1", "-name", "whitewire-*"]).stdout == b""


def test_papers_know_what_is_missing(folder):
    fit = {row["paper"]: row for row in table(folder, "fit.csv")}
    assert fit["emulex-2012"]["fit"] == "no"
    assert "4 datanode of 11" in fit["emulex-2012"]["reason"]
    assert fit["chelsio-iwarp"]["fit"] in ("partly", "no")
