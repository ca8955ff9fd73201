"""iperf3 over the transports of a testbed, on hosts whose counters show by which way the bytes went."""

from __future__ import annotations

import contextlib
import copy
import csv
import json
import math
import subprocess
from types import SimpleNamespace

import pytest

from tests.unit.measure.test_survey import CONFIG, REPORT, Replayed, Replaying
from whitewire.errors import UserError
from whitewire.measure import survey, survey_plan
from whitewire.records import links as records
from whitewire.records.links import LINKS_FOLDER, links_faults, read_plan
from whitewire.testbed.base import Completed
from whitewire.tidy import links as tidy
from whitewire.tidy.links import write_links_tables
from whitewire.tools.rdma_counters import Moved, PortCounters

RSOCKETS = {"kind": "rdma", "preload": ["librspreload.so"], "java": ["-Dpoll=yes"]}
POLL = {"kind": "tcp", "java": ["-Dpoll=yes"]}
WITH = CONFIG | {"transports": {"poll": POLL, "rsockets": RSOCKETS}}


class OverAny(Replaying):
    """A host whose iperf3 goes by RDMA where the library is preloaded, at twice the goodput and half the processors."""

    def start(self, argv, log, env=None, name="", stdin=None):
        if env is not None:  # else a server for pairs of hosts
            self.testbed.servers.append((self.name, dict(env)))
        return SimpleNamespace(wait_ready=lambda *_, **__: None, stop=lambda *_: None)

    def run(self, argv, env=None, stdin=None, timeout=None):
        if argv[0] == "sh":
            lacking = env["PRELOAD"] if self.name in self.testbed.without_library else ""
            return Completed(tuple(argv), 0, lacking.encode(), b"")
        if "--parallel" not in argv or env is None:
            return super().run(argv, timeout=timeout)
        way = "rdma" if env else "tcp"
        if int(argv[argv.index("--parallel") + 1]) >= self.testbed.hangs.get(way, math.inf):
            raise subprocess.TimeoutExpired(argv, timeout)
        other = argv[argv.index("--client") + 1]
        report = copy.deepcopy(REPORT)
        speed = {"tcp": 4000.0, "rdma": 8000.0}[way]
        report["end"]["sum_received"] |= {"bits_per_second": speed * 1e6, "seconds": 1.0}
        self.testbed.carried(self.name, other, speed * 1e6 / 8, self.testbed.falls_back or way == "tcp", way)
        return Completed(tuple(argv), 0, json.dumps(report).encode(), b"")


class Carrying(Replayed):
    """Hosts of a site, each with an RDMA port or without."""

    def __init__(self, count=3, ports=None, falls_back=False, hangs=None, without_library=()):
        super().__init__(count)
        self.hosts = [OverAny(self, host.name, host.role) for host in self.hosts]
        names = [host.name for host in self.hosts]
        self.with_port = names if ports is None else ports
        self.falls_back, self.hangs, self.without_library, self.servers = falls_back, hangs or {}, without_library, []
        self.sent = {name: {"egress": 0, "ingress": 0, "rdma": 0, "segments": 0, "busy": 0.0} for name in names}

    def carried(self, source, destination, count, by_tcp, way):
        if by_tcp:
            self.sent[source]["egress"] += int(count)
            self.sent[destination]["ingress"] += int(count)
            self.sent[source]["segments"] += int(count) // 1448
        else:
            self.sent[source]["rdma"] += int(count)
        for name in (source, destination):
            self.sent[name]["busy"] += 0.5 if way == "tcp" else 0.25

    def counters(self):
        return {name: {way: of[way] for way in ("egress", "ingress")} for name, of in self.sent.items()}

    def cpu_seconds(self):
        return {name: of["busy"] for name, of in self.sent.items()}

    def rdma_ports(self):
        return {
            name: PortCounters("mlx5_0/1", Moved(of["rdma"]), Moved(0), of["segments"]) if name in self.with_port
            else PortCounters("", Moved(), Moved(), of["segments"]) for name, of in self.sent.items()
        }  # fmt: skip


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(survey, "preflight", lambda *_, **__: None)
    monkeypatch.setattr(tidy, "load_testbed", lambda _: CONFIG)
    monkeypatch.setattr(tidy, "paper_names", list)


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """Surveys a site with these hosts and this description, and returns the rows of transports.csv."""
    opened = []

    def measure(hosts, config=WITH, parts=records.OF_LINKS, effort="quick"):
        opened[:] = [hosts]
        monkeypatch.setattr(survey, "load_testbed", lambda _: config)
        monkeypatch.setattr(survey.project, "testbed_path", lambda name: tmp_path / f"{name}.yaml")
        monkeypatch.setattr(survey.testbeds, "open_bare", lambda *_: opened[0])
        monkeypatch.setattr(survey, "shape_here", lambda *_: survey_plan.Shape("", {}, 1, ("10gbe",)))
        survey.survey("lab", tmp_path, effort, parts=parts)
        folder = tmp_path / LINKS_FOLDER
        with contextlib.suppress(UserError):  # parts alone make no record
            write_links_tables(folder)
            with (folder / "tables" / "transports.csv").open(newline="") as table:
                return list(csv.DictReader(table))
        return None

    return measure


def values(rows, transport, metric):
    return [float(row["value"]) for row in rows if (row["transport"], row["metric"]) == (transport, metric)]


def test_goodput_and_processor_time_of_both_hosts_over_each_transport(measured):
    hosts = Carrying()
    rows = measured(hosts)
    assert {(row["transport"], row["kind"]) for row in rows} == {("tcp", "tcp"), ("rsockets", "rdma")}
    assert values(rows, "tcp", "goodput") == [4000.0] * 6 and values(rows, "rsockets", "goodput") == [8000.0] * 6
    # 0.5 s on each of two hosts for half a gigabyte; half of that for a whole one.
    assert values(rows, "tcp", "cpu_seconds_per_gb") == pytest.approx([2.0] * 6)
    assert values(rows, "rsockets", "cpu_seconds_per_gb") == pytest.approx([0.5] * 6)
    assert {(row["source"], row["destination"], row["fabric"]) for row in rows} == {
        ("namenode", "datanode1", "10gbe")}  # fmt: skip
    assert {row["streams"] for row in rows} == {"1", "4"} and not any(row["why"] for row in rows)
    over_rdma = {"RDMAV_FORK_SAFE": "1", "LD_PRELOAD": "librspreload.so"}
    assert [env for _, env in hosts.servers] == [{}, over_rdma] * 6


def test_one_test_of_each_at_smoke_effort(measured):
    assert len(measured(Carrying(), effort="smoke")) == 4


def test_a_test_that_fell_back_to_tcp_has_no_value(measured):
    rows = measured(Carrying(falls_back=True))
    assert values(rows, "tcp", "goodput") == [4000.0] * 6
    lost = [row for row in rows if row["transport"] == "rsockets"]
    assert len(lost) == 3 and {(row["value"], row["metric"]) for row in lost} == {("", "goodput")}
    assert {row["why"] for row in lost} == {
        "asked rdma, found the kernel's TCP sent up to 100% of the bytes (fell back to TCP) on namenode"}  # fmt: skip


@pytest.mark.parametrize(("streams", "given_up"), [(1, ["1", "4"]), (4, ["4"])])
def test_a_transport_that_hangs_with_some_streams_is_given_up_with_these(measured, streams, given_up):
    """Streams: the least number with which it hangs."""
    rows = measured(Carrying(hangs={"rdma": streams}))
    lost = [row for row in rows if row["why"]]
    assert [(row["transport"], row["streams"]) for row in lost] == [("rsockets", each) for each in given_up]
    assert {row["why"] for row in lost} == {"iperf3 did not end in 70 s"}
    found = [row for row in rows if row["value"]]
    assert len(values(found, "tcp", "goodput")) == 6
    assert len(values(found, "rsockets", "goodput")) == 3 * (2 - len(given_up))


@pytest.mark.parametrize(
    ("hosts", "ends", "why"),
    [
        ({"ports": ["namenode", "datanode2"]}, ("namenode", "datanode2"), ""),
        ({"ports": ["namenode"]}, ("namenode", "datanode1"), "no RDMA port on datanode1"),
        ({"ports": []}, ("namenode", "datanode1"), "no RDMA port on namenode and datanode1"),
        ({"without_library": ["datanode1"]}, ("namenode", "datanode1"),
         "librspreload.so cannot be preloaded on datanode1"),
    ],
)  # fmt: skip
def test_what_hosts_lack_is_the_reason_and_tcp_is_measured(measured, hosts, ends, why):
    rows = measured(Carrying(**hosts))
    assert {(row["source"], row["destination"]) for row in rows} == {ends}
    assert {row["why"] for row in rows if row["transport"] == "rsockets"} == {why}
    assert len(values(rows, "tcp", "goodput")) == 6


def test_a_testbed_without_transports_has_no_such_part(measured, tmp_path):
    only_java = CONFIG | {"transports": {"poll": POLL}}
    for config in (CONFIG, only_java):
        assert measured(Carrying(), config) == []
        assert "transports" not in read_plan(tmp_path / LINKS_FOLDER)
        assert not (tmp_path / LINKS_FOLDER / "transports.json").exists()
    with pytest.raises(UserError, match=r"lab\.yaml: transports: found none with a library or variables"):
        measured(Carrying(), only_java, ["transports"])


def test_a_transport_that_is_added_or_changed_is_measured_alone(measured, tmp_path):
    folder = tmp_path / LINKS_FOLDER
    assert measured(Carrying(), CONFIG) == []
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.parts[-2] in ("10gbe", "rdma")}
    first = Carrying()
    assert len(measured(first)) == 24 and not any("--parallel" in asked for asked in first.asked)
    assert {path: path.stat().st_mtime_ns for path in before} == before and not links_faults(folder)
    again = Carrying()
    measured(again)
    assert again.entered == 0
    changed = WITH | {"transports": {"rsockets": RSOCKETS | {"environment": {"RDMAV_FORK_SAFE": "0"}}}}
    other = Carrying()
    assert len(measured(other, changed)) == 24
    assert other.servers[1][1] == {"RDMAV_FORK_SAFE": "0", "LD_PRELOAD": "librspreload.so"}
    java = WITH | {"transports": {"rsockets": changed["transports"]["rsockets"] | {"java": ["-Dpoll=no"]}}}
    same = Carrying()
    measured(same, java)
    assert same.entered == 0


def test_a_row_without_value_and_reason_is_damage(measured, tmp_path):
    measured(Carrying())
    path = tmp_path / LINKS_FOLDER / records.TRANSPORTS
    rows = json.loads(path.read_text())
    rows[1]["value"] = None
    path.write_text(json.dumps(rows))
    (tmp_path / LINKS_FOLDER / "manifest.json").unlink()
    found = records.damaged(path.parents[1])
    assert (path, "[1].value: found nothing, expected a number where `why` is empty") in found
