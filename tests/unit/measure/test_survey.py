"""The stage `links` on hosts that answer as iperf3 does: what is measured, what stays, and what is said of it."""

import contextlib
import copy
import csv
import json
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.damage import DAMAGES, json_of
from whitewire import cli
from whitewire.description.capabilities import INVENTORY
from whitewire.description.checks import load_paper
from whitewire.description.project import paper_path
from whitewire.description.testbed import load_testbed
from whitewire.design.drive import Drive
from whitewire.errors import Faults, UserError
from whitewire.measure import drives, survey, survey_pairs, survey_plan
from whitewire.measure.engine import Work
from whitewire.measure.survey_plan import Shape, Survey, plan_survey
from whitewire.paths import HOME
from whitewire.records import links as records
from whitewire.records.checked import TESTBED_TABLES
from whitewire.records.links import (
    DRIVES_FILE,
    LINKS_RECORD,
    MODELS_FILE,
    RDMA_COLUMNS,
    files_of_links,
    links_faults,
    read_hosts,
    read_links,
)
from whitewire.records.manifest import MANIFEST_FILE, manifest_of_folder
from whitewire.records.outliers import outliers_of_folder
from whitewire.testbed.base import FRAME_SHARE, Completed, Fabric, ProcessDied
from whitewire.tidy import links as tidy
from whitewire.tidy.links import write_links_tables
from whitewire.tidy.tables import LINKS_COLUMNS
from whitewire.tools.iperf3 import iperf3_server

DATA = Path(__file__).parents[2] / "data"
REPORT = json.loads((DATA / "iperf3-4-streams.json").read_bytes())
REST = b'{"start": {}, "end": {"streams": [{"sender": {"mean_rtt": 130}}]}}'
DRIVER = "driver: mlx4_en (MT_0DD0120009_CX3)\nversion: 2.1.6 (Aug 2013)\nfirmware-version: 2.30.3000\nbus-info: 0\n"


class Replaying:
    """A host whose iperf3 finds a share of the expected goodput."""

    def __init__(self, testbed, name, role):
        self.testbed, self.name, self.role, self.address, self.target = testbed, name, role, name, f"{name}.lab"

    def start(self, argv, log):
        assert argv == iperf3_server(self.address)
        server = type("Server", (), {"wait_ready": lambda *_, **__: None, "stop": lambda *_: None})
        return server()

    def run(self, argv, timeout=None, **_):
        if argv[0] == "ls":
            return Completed(tuple(argv), 2, b"", b"ls: cannot access '/sys/class/infiniband'")
        self.testbed.asked.append((self.name, *argv))
        if "--parallel" not in argv:
            return Completed(tuple(argv), 0, REST, b"")
        other = argv[argv.index("--client") + 1]
        share = self.testbed.shares(self.name, other)
        if share is None:
            return Completed(tuple(argv), 1, b'{"error": "unable to connect to server"}', b"")
        report = copy.deepcopy(REPORT)
        report["end"]["sum_received"]["bits_per_second"] = share * self.testbed.now.rate * FRAME_SHARE * 1e6
        return Completed(tuple(argv), 0, json.dumps(report).encode(), b"")


class Replayed:
    """Hosts of a site. `shares`: of its expected goodput what a pair has, None: it cannot connect."""

    capabilities = INVENTORY

    def __init__(self, count=5, shares=lambda source, destination: 1.0):
        roles = ["namenode", *["datanode"] * (count - 1)]
        self.hosts = [Replaying(self, f"{role}{n}" if n else role, role) for n, role in enumerate(roles)]
        self.shares, self.asked, self.entered = shares, [], 0
        self.now = None

    def by_role(self, role):
        return [host for host in self.hosts if host.role == role]

    def preflight(self, bare=False):
        assert bare

    def keep_names(self, known):
        pass

    def __enter__(self):
        self.entered += 1
        return self

    def __exit__(self, *_):
        pass

    def fabric(self, name):
        self.now = Fabric(name, CONFIG["fabrics"][name]["rate_mbit_per_s"], 1.0, mtu=0)
        return self.now

    def links(self):
        return {host.name: {"rate": self.now.rate, "mtu": 1500, "offloads": "on"} for host in self.hosts}

    def describe(self):
        facts = {"processor": "model name\t: Xeon", "memory": "MemTotal:       16777216 kB", "kernel": "6.1.0",
                 "system": 'PRETTY_NAME="Debian 12"', "sysctls": "ipv4/tcp_congestion_control cubic"}  # fmt: skip
        on = {name: {"interface": "ens1", "address": "10.0.0.1", "driver": DRIVER} for name in CONFIG["fabrics"]}
        return {host.name: {**facts, "fabrics": on} for host in self.hosts}

    def clocks(self):
        return {host.name: 0.001 for host in self.hosts}

    def segments(self):
        return {}


CONFIG = {
    "kind": "ssh", "fabrics": {"1gbe": {"rate_mbit_per_s": 1000}, "10gbe": {"rate_mbit_per_s": 10000}}, "data": [],
    "limits": {"link_error": 0.1, "drive_error": 0.2, "retransmit_share": 0.01},
    "probes": {"seconds": 5, "streams": [1, 4]},
    "hosts": [{"ssh": f"{name}.lab", "role": name.rstrip("1234")}
              for name in ("namenode", "datanode1", "datanode2", "datanode3", "datanode4")],
}  # fmt: skip
SHAPE = Shape("", {}, 1, ("1gbe", "10gbe"))
PARTS = ("network", "drives", "rdma")  # of a testbed without transports


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Nothing waits, and the machine is not asked whether it can."""
    monkeypatch.setattr(survey_pairs.time, "sleep", lambda _: None)
    monkeypatch.setattr(survey, "preflight", lambda *_, **__: None)
    monkeypatch.setattr(tidy, "load_testbed", lambda _: CONFIG)
    monkeypatch.setattr(tidy, "paper_names", lambda: ["mellanox-mapr"])


def made(folder, hosts, seconds=240.0, parts=records.OF_LINKS):
    folder.mkdir(exist_ok=True)
    plan = plan_survey("lab", CONFIG, "quick", seconds, SHAPE, hosts)
    (folder / records.PLAN).write_text(json.dumps(plan))
    survey.make(Survey(hosts, CONFIG, plan, SHAPE, folder, "lab.yaml", Work("links", seconds)), parts)


def rows_of(folder, name):
    write_links_tables(folder)
    with (folder / "tables" / name).open(newline="") as table:
        return list(csv.DictReader(table))


def test_each_part_is_measured_and_kept_and_has_a_rule():
    assert {*records.OF_LINKS} == {*survey.MEASURES} == {*records.FOLDERS_OF_PARTS}
    rules = (HOME / "workflow" / "rules" / "links.smk").read_text(encoding="utf-8")
    assert [part for part in records.OF_LINKS if f"links_{part}" not in rules] == [], "workflow/rules/links.smk"


def test_a_fabric_whose_servers_do_not_start_is_left_out_and_the_others_are_measured(tmp_path, monkeypatch):
    start, stopped = Replaying.start, []

    def occupied(self, argv, log):
        server = start(self, argv, log)
        if self.testbed.now.name == "1gbe":
            if self.name == self.testbed.hosts[-1].name:
                raise ProcessDied("iperf3 ended with status 1; its log ends: Address already in use")
            server.stop = lambda: stopped.append(self.name)
        return server

    monkeypatch.setattr(Replaying, "start", occupied)
    hosts = Replayed()
    made(tmp_path / "links", hosts)
    assert {*stopped} == {host.name for host in hosts.hosts[:-1]}, "servers beside the one that does not start"
    left = records.read_links_unchecked(tmp_path / "links")["left_out"]
    assert any(why.startswith("1gbe: iperf3 ended with status 1") for why in left)
    assert {row["fabric"] for row in rows_of(tmp_path / "links", "pairs.csv")} == {"10gbe"}


def test_every_pair_is_measured_both_ways_with_each_number_of_streams_on_every_fabric(tmp_path):
    folder = tmp_path / "links"
    made(folder, Replayed())
    rows = rows_of(folder, "pairs.csv")
    for fabric in CONFIG["fabrics"]:
        for streams in ("1", "4"):
            of = [row for row in rows if (row["fabric"], row["streams"], row["metric"]) == (fabric, streams, "goodput")]
            assert len({(row["source"], row["destination"]) for row in of}) == len(of) == 20
            assert all(float(row["error"]) == pytest.approx(0.0) for row in of)
        assert len([row for row in rows if row["fabric"] == fabric and row["metric"] == "rtt_at_rest"]) == 10
    assert rows_of(folder, "outliers.csv") == []
    assert read_links(folder)["left_out"] == []
    assert not links_faults(folder)


def test_tables_have_the_hosts_and_what_their_links_are(tmp_path):
    folder = tmp_path / "links"
    made(folder, Replayed())
    assert rows_of(folder, "hosts.csv")[1] == {
        "host": "datanode1", "role": "datanode", "target": "datanode1.lab", "processor": "Xeon", "processors": "",
        "memory_gib": "16.0", "kernel": "6.1.0", "system": "Debian 12", "clock_ms": "1.000",
        "congestion_control": "cubic", "lane": "",
    }  # fmt: skip
    link = rows_of(folder, "links.csv")[0]
    assert (link["interface"], link["rate"], link["mtu"]) == ("ens1", "1000", "1500")
    assert (link["driver"], link["firmware"]) == ("mlx4_en (MT_0DD0120009_CX3)", "2.30.3000")
    assert [row["why"] for row in rows_of(folder, "rdma.csv")][:2] == [
        "no RDMA device on namenode", "no RDMA device on datanode1"]  # fmt: skip
    assert {row["why_code"] for row in rows_of(folder, "rdma.csv")} == {"no_rdma_device"}
    (fit,) = rows_of(folder, "fit.csv")
    assert (fit["paper"], fit["fit"]) == ("mellanox-mapr", "no")
    assert "4 datanode of 5" in fit["reason"] and "no network 40gbe" in fit["reason"]
    way = rows_of(folder, "ways.csv")[0]
    assert (way["beyond"], float(way["rtt_at_rest"])) == ("false", 130.0)
    package = json.loads((folder / "tables" / "datapackage.json").read_text())
    assert {each["path"] for each in package["resources"]} == set(LINKS_COLUMNS)


def test_no_host_is_in_two_tests_at_one_time_and_pairs_apart_are_at_once(tmp_path):
    hosts = Replayed(count=7)
    plan = plan_survey("lab", CONFIG, "quick", 240.0, SHAPE, hosts)
    assert {each["at_once"] for each in plan["fabrics"]} == {3}
    slowed = {**CONFIG, "scale": 20}
    at_once = {each["at_once"] for each in plan_survey("lab", slowed, "quick", 240.0, SHAPE, hosts)["fabrics"]}
    assert at_once <= {1, 2, 3}
    assert survey_plan.at_once_here(700.0, 30) == 1
    assert survey_plan.at_once_here(1.0, 2) == 1


def test_a_slow_host_is_named_asked_for_less_and_measured_again_alone(tmp_path):
    folder = tmp_path / "links"
    hosts = Replayed(shares=lambda *pair: 0.2 if "datanode2" in pair else 1.0)
    made(folder, hosts)
    found = [each for each in outliers_of_folder(folder) if not each.part_of]
    assert [(each.kind, each.subject, each.fabric) for each in found] == [
        ("host", "datanode2", "10gbe"), ("host", "datanode2", "1gbe")]  # fmt: skip
    again = [row for row in records.pair_rows(folder) if row["attempt"] == 2]
    assert {row["beside"] for row in again} == {0}
    assert len({(row["fabric"], row["source"], row["destination"]) for row in again}) == 16
    sizes = [int(asked[asked.index("--bytes") + 1]) for asked in hosts.asked
             if asked[0] == "datanode2" and "--parallel" in asked]  # fmt: skip
    assert sizes[1] < 0.3 * sizes[0]


def test_a_host_that_nobody_reaches_costs_few_tests_and_the_others_are_measured(tmp_path):
    folder = tmp_path / "links"
    hosts = Replayed(shares=lambda *pair: None if "datanode3" in pair else 1.0)
    made(folder, hosts)
    refused = [asked for asked in hosts.asked if "datanode3" in asked and "--parallel" in asked]
    assert len(refused) == survey_pairs._TRIES * survey_pairs.LOST
    (host,) = [each for each in outliers_of_folder(folder) if not each.part_of and each.fabric == "1gbe"]
    assert (host.kind, host.subject) == ("host", "datanode3")
    reached = [row for row in records.pair_rows(folder) if row["metric"] == "goodput" and not row["why"]]
    assert len({(row["source"], row["destination"]) for row in reached}) == 12


def test_an_interrupted_survey_goes_on_where_it_was(tmp_path):
    folder = tmp_path / "links"
    hosts = Replayed()
    calls = iter(range(9))

    def broken(*_):
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return 1.0

    hosts.shares = broken
    with pytest.raises(KeyboardInterrupt):
        made(folder, hosts)
    assert not (folder / LINKS_RECORD).exists()
    before = {path.name: path.stat().st_mtime_ns for path in (folder / "pairs" / "1gbe").glob("*.json")}
    assert before
    hosts.shares = lambda *_: 1.0
    made(folder, hosts)
    after = {path.name: path.stat().st_mtime_ns for path in (folder / "pairs" / "1gbe").glob("*.json")}
    assert {name: after[name] for name in before} == before
    assert not links_faults(folder)


def test_time_that_is_up_leaves_the_rest_out_and_says_so(tmp_path, monkeypatch):
    folder = tmp_path / "links"
    clock = iter(range(0, 10**6, 10))
    monkeypatch.setattr(survey_pairs.time, "monotonic", lambda: float(next(clock)))
    made(folder, Replayed(), seconds=200.0)
    left = read_links(folder)["left_out"]
    assert any(why.endswith("the time was up") for why in left)
    assert list(records.pair_rows(folder))


@contextlib.contextmanager
def configured(monkeypatch, tmp_path, config, count=5):
    hosts = []

    def opened(*_):
        hosts.append(Replayed(count))
        return hosts[-1]

    monkeypatch.setattr(survey, "load_testbed", lambda _: config)
    monkeypatch.setattr(survey.project, "testbed_path", lambda name: tmp_path / f"{name}.yaml")
    monkeypatch.setattr(survey.testbeds, "open_bare", opened)
    yield hosts


def test_nothing_is_made_twice_unless_the_testbeds_file_changed_or_more_is_asked(tmp_path, monkeypatch):
    config = copy.deepcopy(CONFIG)
    with configured(monkeypatch, tmp_path, config) as hosts:
        survey.survey("lab", tmp_path, "quick")
        survey.survey("lab", tmp_path, "quick")
        survey.survey("lab", tmp_path, "smoke")
        assert [host.entered for host in hosts] == [1, 0, 0]
        survey.survey("lab", tmp_path, "full")
        assert hosts[-1].entered == 1
        config["fabrics"]["10gbe"]["rate_mbit_per_s"] = 9000
        survey.survey("lab", tmp_path, "quick")
        assert hosts[-1].entered == 1
        survey.survey("lab", tmp_path, "quick", within="30s")
        assert hosts[-1].entered == 1
    with pytest.raises(UserError, match='--within: found "soon", expected a time'):
        survey._seconds_of("soon", "quick", False)


def test_a_damaged_record_is_not_read(tmp_path):
    folder = tmp_path / "links"
    made(folder, Replayed())
    path = next((folder / "pairs" / "1gbe").glob("*.json"))
    path.write_text(path.read_text().replace("1gbe", "2gbe", 1))
    with pytest.raises(Faults, match=r"SHA-256 .* by manifest.json"):
        read_links(folder)
    (folder / MANIFEST_FILE).unlink()
    with pytest.raises(Faults, match="found no such file, expected one beside links.json"):
        read_links(folder)
    (folder / LINKS_RECORD).unlink()
    with pytest.raises(UserError, match="links.json: found no such file, expected the testbed's links; make testbed"):
        write_links_tables(folder)


# -- parts by themselves


def without_times(folder):
    """links.json but for what differs between any two surveys."""
    record = json.loads((folder / LINKS_RECORD).read_text())
    return {name: value for name, value in record.items() if name not in ("begun", "seconds", "spent")}


def test_parts_one_by_one_make_the_same_record(tmp_path, monkeypatch):
    with configured(monkeypatch, tmp_path, CONFIG) as hosts:
        survey.survey("lab", tmp_path / "whole", "quick")
        for part in ("rdma", "network", "drives"):
            with pytest.raises(
                UserError, match=f"found no .*{part}.*, expected what iperf3, fio and perftest measured"
            ):
                survey.finish(tmp_path / "apart" / "links")
            survey.survey("lab", tmp_path / "apart", "quick", parts=[part])
            assert not (tmp_path / "apart" / "links" / LINKS_RECORD).exists()
        assert [each.entered for each in hosts] == [1, 1, 1, 1]
        survey.finish(tmp_path / "apart" / "links")
    whole, apart = tmp_path / "whole" / "links", tmp_path / "apart" / "links"
    assert without_times(whole) == without_times(apart) and not links_faults(apart)
    assert list(records.pair_rows(whole)) == list(records.pair_rows(apart))
    assert records.rdma_rows(whole) == records.rdma_rows(apart)
    assert set(records.read_links_unchecked(apart)["spent"]) == {"drives", "links", "again", "rdma"}


def test_a_part_asks_only_its_own_tool(tmp_path, monkeypatch):
    with configured(monkeypatch, tmp_path, CONFIG) as hosts:
        survey.survey("lab", tmp_path, "quick", parts=["rdma"])
        assert hosts[-1].asked == []
        survey.survey("lab", tmp_path, "quick", parts=["network"])
        assert hosts[-1].asked and {asked[1] for asked in hosts[-1].asked} == {"iperf3"}


def test_a_part_that_is_removed_is_measured_again_alone(tmp_path, monkeypatch):
    with configured(monkeypatch, tmp_path, CONFIG) as hosts:
        survey.survey("lab", tmp_path, "quick")
        folder = tmp_path / "links"
        before = (folder / "network.json").read_text()
        shutil.rmtree(folder / "rdma")
        (folder / "rdma.json").unlink()
        survey.survey("lab", tmp_path, "quick", parts=["rdma"])
        assert hosts[-1].asked == [] and (folder / "network.json").read_text() == before
        survey.finish(folder)
        assert not links_faults(folder)


@pytest.mark.parametrize("how", ["other hosts", "damaged"])
def test_a_part_that_removes_finished_ones_measures_them_too(tmp_path, monkeypatch, capsys, how):
    """As in a start of Snakemake, which has seen network.json and starts the other parts alone."""
    folder, count = tmp_path / "links", 4 if how == "other hosts" else 5
    with configured(monkeypatch, tmp_path, CONFIG):
        survey.survey("lab", tmp_path, "quick", parts=["network"])
    if how == "damaged":
        path = next((folder / "pairs" / "1gbe").glob("*.json"))
        path.write_text(path.read_text()[:-9])
    capsys.readouterr()
    with configured(monkeypatch, tmp_path, CONFIG, count=count):
        for part in ("drives", "rdma"):
            survey.survey("lab", tmp_path, "quick", parts=[part])
    assert capsys.readouterr().err.count("network: of other hosts, of another k or damaged: measured again") == 1
    survey.finish(folder)
    pairs = {(row["source"], row["destination"]) for row in records.pair_rows(folder) if row["metric"] == "goodput"}
    assert len(pairs) == count * (count - 1) and not links_faults(folder)


def test_after_another_description_each_part_is_left_to_its_own_rule(tmp_path, monkeypatch):
    config, folder = copy.deepcopy(CONFIG), tmp_path / "links"
    with configured(monkeypatch, tmp_path, config) as hosts:
        survey.survey("lab", tmp_path, "quick")
        config["fabrics"]["10gbe"]["rate_mbit_per_s"] = 9000
        survey.survey("lab", tmp_path, "quick", parts=["rdma"])
        assert hosts[-1].asked == [] and not (folder / "network.json").exists()


class InImage(Replayed):
    def __init__(self, digest):
        super().__init__(count=3)
        self.digest = digest

    def preflight(self, bare=False):
        return self.digest

    def describe(self):
        image = f"{self.digest}  /shared/hadoop.sif"
        return {name: {**facts, "image": image} for name, facts in super().describe().items()}


def test_hosts_on_which_nothing_was_measured_may_get_another_image(tmp_path):
    measured, folder, new = tmp_path / "links", tmp_path / "lab", "3f2a" * 16
    made(measured, InImage("9c1b" * 16), parts=["network"])
    folder.mkdir()
    shutil.copy(measured / records.HOSTS, folder)
    made(folder, InImage(new), parts=["network"])
    assert {facts["image"].partition(" ")[0] for facts in read_hosts(folder)["facts"].values()} == {new}


def test_parts_in_another_image_than_those_before_are_refused(tmp_path):
    folder, old, other = tmp_path / "links", "9c1b" * 16, InImage("3f2a" * 16)
    made(folder, InImage(old), parts=["network"])
    with pytest.raises(UserError, match="lab.yaml: image: found SHA-256 3f2a3f2a3f2a…, expected 9c1b9c1b9c1b…, which"):
        made(folder, other, parts=["rdma", "drives"])
    assert (other.entered, other.asked) == (0, [])
    made(folder, InImage(old), parts=["rdma", "drives"])
    survey.finish(folder)


def test_a_part_on_other_hosts_is_not_taken_for_one_on_the_same(tmp_path):
    """As in two jobs of Slurm: their nodes are called by different names (inventory.named)."""
    folder = tmp_path / "links"
    made(folder, Replayed(count=3), parts=["network"])
    others = Replayed(count=3)
    others.hosts[2].name, others.hosts[2].target = "datanode9", "node9.lab"
    made(folder, others, parts=["drives", "rdma"])
    survey.finish(folder)
    hosts = {host["name"]: host["target"] for host in read_links(folder)["hosts"]}
    assert hosts == {"namenode": "namenode.lab", "datanode1": "datanode1.lab", "datanode2": "datanode2.lab",
                     "datanode9": "node9.lab"}  # fmt: skip
    assert {"datanode2", "datanode9"} <= set(read_hosts(folder)["links"]["10gbe"])
    assert {row["source"] for row in records.rdma_rows(folder)} == {"namenode", "datanode1", "datanode9"}
    assert len(rows_of(folder, "hosts.csv")) == 4


# -- hosts of an emulated testbed without a paper


def test_the_largest_cluster_of_the_papers_gives_hosts_and_k(monkeypatch):
    monkeypatch.undo()
    testbed = load_testbed("emulated")
    papers = [load_paper(paper_path(name), testbed["fabrics"]) for name in ("mellanox-mapr", "emulex-2012")]
    shape = survey_plan.shape_of(papers, testbed, "quick")
    assert (shape.paper, sum(shape.roles.values())) == ("emulex-2012", 15)
    assert shape.k == papers[1].raw["scale"]["k"]
    assert {"10gbe", "40gbe"} <= set(shape.fabrics)
    assert survey_plan.shape_of(papers, testbed, "quick", "mellanox-mapr").paper == "mellanox-mapr"
    with pytest.raises(UserError, match="found no paper with runs at this effort"):
        survey_plan.shape_of([], testbed, "quick")


def test_fabrics_that_would_measure_the_processors_are_left_out_with_the_reason():
    testbed = load_testbed("emulated")
    shape = Shape("x", {}, 100, ("10gbe", "400gbe", "10gbe-2racks-4to1"), Drive.none())
    wanted, left = survey_plan._wanted(testbed, shape, apart=False, hosts=15)
    assert [each.name for each in wanted] == ["10gbe"]
    assert left[0].startswith("400gbe: a link has 4000 Mbit/s here, and above 1200")
    assert left[1].startswith("10gbe-2racks-4to1: its racks are probed before each block")
    assert left[2].endswith("no paper of config.yaml names them")


def test_curves_of_drives_fit_into_their_time():
    least = list(drives.EFFORTS)[-1]
    for seconds in (20, 60, 100, 300):
        for turns in (1, 2, 4):
            chosen = drives.effort_for(seconds, turns)
            assert turns * drives.curve_seconds(drives.EFFORTS[chosen]) <= seconds or chosen == least
    assert drives.effort_for(1000, 1) == "full"
    for plan in drives.EFFORTS.values():
        assert 2 * max(plan.blocks) * max(plan.depths) <= plan.file_bytes


# -- what is damaged


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """What a survey of two hosts leaves that was killed before its last file; its hosts have drives and RDMA."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(survey, "preflight", lambda *_, **__: None)
        patch.setattr(survey_pairs.time, "sleep", lambda _: None)
        folder = tmp_path_factory.mktemp("survey") / "links"
        made(folder, Replayed(count=2, shares=lambda source, _: 0.5 if source == "namenode" else 1.0))
    (folder / "drives").mkdir()
    (folder / DRIVES_FILE).write_text(json.dumps({"rows": [CURVE, CURVE | {"metric": "failed", "value": ""}]}))
    (folder / MODELS_FILE).write_text(json.dumps([MODEL]))
    for name in (LINKS_RECORD, MANIFEST_FILE):
        (folder / name).unlink()
    return folder


CURVE = {"host": "datanode1", "folder": "/data", "kind": "drive", "mode": "direct", "operation": "write",
         "block_bytes": 4096, "queue_depth": 1, "metric": "bandwidth", "value": 88.5, "unit": "MB/s",
         "problem": ""}  # fmt: skip
MODEL = {"probe": "fio", "fabric": "", "source": "datanode1", "destination": "drive 1", "streams": 1,
         "operation": "write", "mode": "direct", "metric": "bandwidth", "value": 1.5, "unit": "MB/s", "expected": 1.5,
         "error": 0.0, "ok": True, "attempt": 1}  # fmt: skip
PART_FILES = ("plan.json", "hosts.json", "pairs/1gbe/0-0000.json", "pairs/10gbe/1-0000.json", "drives/drives.json",
              "drives/models.json", "rdma/rdma.csv")  # fmt: skip


def started(folder):
    """Tables after a further start, of no papers."""
    with pytest.MonkeyPatch.context() as patch, configured(patch, folder.parent, CONFIG, count=2):
        survey.survey("lab", folder.parent, "quick")
    tables(folder)


def tables(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tidy, "paper_names", list)
        write_links_tables(folder)


@settings(max_examples=25, deadline=None)
@given(st.data(), st.sampled_from(PART_FILES), st.sampled_from(sorted(DAMAGES)))
def test_an_interrupted_survey_with_any_damaged_file_goes_on_to_a_whole_record(interrupted, data, name, how):
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "links"
        shutil.copytree(interrupted, folder)
        before = (folder / name).read_bytes()
        after = DAMAGES[how](before, data)
        (folder / name).write_bytes(after)
        with contextlib.suppress(UserError):
            started(folder)
            assert not links_faults(folder)


def test_a_kept_file_that_is_cut_is_measured_again_and_said(interrupted, tmp_path, capsys):
    for name in ("hosts.json", "pairs/10gbe/1-0000.json"):
        folder = tmp_path / name.partition("/")[0] / "links"
        shutil.copytree(interrupted, folder)
        whole = (folder / name).read_text()
        (folder / name).write_text(whole[: len(whole) // 2])
        started(folder)
        said = capsys.readouterr().err
        assert f"{name}: line " in said and "removed, and what is missing is measured again" in said
        again = json.loads((folder / name).read_text())
        if name == "hosts.json":
            assert again["links"] == json.loads(whole)["links"]
        else:
            values = [row["value"] for row in again if row["metric"] == "goodput"]
            assert values == pytest.approx([10000 * FRAME_SHARE] * 2)


def test_a_file_that_no_manifest_lists_is_a_fault_and_never_read(tmp_path):
    folder = tmp_path / "links"
    made(folder, Replayed(count=2))
    true = next((folder / "pairs" / "10gbe").glob("1-*.json"))
    rows = [row | {"value": 1.0, "error": -0.9, "attempt": 9} for row in json.loads(true.read_text())]
    (folder / "pairs" / "10gbe" / "zz.json").write_text(json.dumps(rows))
    with pytest.raises(Faults, match=r"pairs/10gbe/zz.json: found a file that manifest.json does not list"):
        write_links_tables(folder)
    listed = json.loads((folder / MANIFEST_FILE).read_text())
    (folder / "pairs" / "10gbe" / "zz.json").unlink()
    del listed["files"]["hosts.json"]
    (folder / MANIFEST_FILE).write_text(json.dumps(listed))
    with pytest.raises(Faults, match=r"hosts.json: found a file that manifest.json does not list"):
        write_links_tables(folder)


def test_what_a_killed_writer_left_is_read_by_nobody(tmp_path):
    folder = tmp_path / "links"
    made(folder, Replayed(count=2))
    before = list(records.pair_rows(folder))
    for name in (".part-1-0000.json", ".part-zz.json"):
        (folder / "pairs" / "10gbe" / name).write_text("[{")
    (folder / "pairs" / "10gbe" / "folder.json").mkdir()
    assert list(records.pair_rows(folder)) == before and links_faults(folder) == []


def test_a_start_after_damage_never_makes_the_damaged_file_part_of_the_record(tmp_path, monkeypatch, capsys):
    config = copy.deepcopy(CONFIG)
    with configured(monkeypatch, tmp_path, config):
        survey.survey("lab", tmp_path, "quick")
        folder = tmp_path / "links"
        path = next((folder / "pairs" / "10gbe").glob("1-*.json"))
        before = path.read_text()
        path.write_text(before.replace('"value": ', '"value": 1', 1))
        survey.survey("lab", tmp_path, "quick")
        assert "by manifest.json: removed" in capsys.readouterr().err
        assert json.loads(path.read_text())[0]["value"] == json.loads(before)[0]["value"]
        assert not links_faults(folder)


@pytest.fixture(scope="module")
def finished(interrupted, tmp_path_factory):
    """The same survey, finished."""
    folder = tmp_path_factory.mktemp("finished") / "links"
    shutil.copytree(interrupted, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(survey, "preflight", lambda *_, **__: None)
        patch.setattr(tidy, "load_testbed", lambda _: CONFIG)
        started(folder)
    return folder


@settings(max_examples=25, deadline=None)
@given(st.data(), st.sampled_from([*PART_FILES, "links.json", "manifest.json"]), st.sampled_from(sorted(DAMAGES)))
def test_no_damage_of_a_whole_record_is_read_in_silence(finished, data, name, how):
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "links"
        shutil.copytree(finished, folder)
        before = {path.name: path.read_bytes() for path in (folder / "tables").iterdir()}
        whole = (folder / name).read_bytes()
        after = DAMAGES[how](whole, data)
        (folder / name).write_bytes(after)
        if json_of(after) == json_of(whole):
            return
        with pytest.raises(UserError) as error:
            tables(folder)
        assert any(Path(name).name in line for line in error.value.lines)
        assert {path.name: path.read_bytes() for path in (folder / "tables").iterdir()} == before


@pytest.mark.parametrize("name, where", [
    ("links.json", "plan.fabrics[0].extra"), ("hosts.json", "links, host 0: extra"), ("plan.json", "fabrics[0].extra"),
    ("pairs", "[0].extra"), ("drives/models.json", "[0].extra"), ("rdma/rdma.csv", "line 1: extra"),
])  # fmt: skip
def test_a_key_that_no_table_has_a_column_for_is_one_line(tmp_path, name, where):
    """As of a later release's record: no file of it is damaged."""
    folder = tmp_path / "links"
    made(folder, Replayed())
    path = next((folder / name).rglob("*.json")) if name == "pairs" else folder / name
    path.parent.mkdir(exist_ok=True)
    if name == "drives/models.json":
        texts = ("probe", "fabric", "source", "destination", "mode", "metric", "unit")
        row = dict.fromkeys(records.ModelRow.__annotations__, 1) | dict.fromkeys(texts, "")
        path.write_text(json.dumps([row | {"operation": "read", "ok": True}]))
    if name == "rdma/rdma.csv":
        path.write_text(",".join([*RDMA_COLUMNS, "extra"]) + "\n" + "1," * len(RDMA_COLUMNS) + "1\n")
    else:
        found = json.loads(path.read_text())
        link = found["links"]["1gbe"] if name == "hosts.json" else {}
        rows = {"links.json": lambda: found["plan"]["fabrics"], "plan.json": lambda: found["fabrics"],
                "hosts.json": lambda: list(link.values())}.get(name, lambda: found)()  # fmt: skip
        rows[0]["extra"] = 1
        path.write_text(json.dumps(found))
    kept = [*files_of_links(folder), folder / LINKS_RECORD]
    (folder / MANIFEST_FILE).write_text(json.dumps(manifest_of_folder(folder, kept)))
    with pytest.raises(Faults) as error:
        write_links_tables(folder)
    (line,) = [line for line in error.value.lines if "extra" in line]
    assert f"{path.name}: {where}: found an unknown key, expected one of " in line


def checked(capsys, results):
    status = cli.main(["check", str(results)])
    said = capsys.readouterr()
    return status, [line.split()[:3] for line in said.out.splitlines()[1:]], said.err


def test_check_asks_for_links_by_their_plan_or_their_record(finished, tmp_path, capsys):
    folder = tmp_path / "links"
    shutil.copytree(finished, folder)
    assert checked(capsys, tmp_path)[:2] == (0, [["links", "record", "sound"]])
    path = next((folder / "pairs" / "1gbe").glob("*.json"))
    before = path.read_text()
    for name in (LINKS_RECORD, MANIFEST_FILE):
        (folder / name).rename(tmp_path / name)
    assert checked(capsys, tmp_path)[:2] == (0, [["links", "record", "not"]])
    path.write_text(before[:-9])
    status, rows, said = checked(capsys, tmp_path)
    assert (status, rows) == (2, [["links", "record", "unsound"]]) and f"{path.name}: line" in said
    path.write_text(before)
    for name in (LINKS_RECORD, MANIFEST_FILE):
        (tmp_path / name).rename(folder / name)
    (folder / records.PLAN).unlink()
    status, rows, said = checked(capsys, tmp_path)
    assert (status, rows) == (2, [["links", "record", "unsound"]]) and "plan.json: found no such file" in said


def test_check_of_links_that_travelled_asks_for_record_and_tables_alone(finished, tmp_path, capsys):
    folder = tmp_path / "results" / "lab" / "links"
    shutil.copytree(finished, folder)
    for path in folder.iterdir():
        if path.name not in (LINKS_RECORD, TESTBED_TABLES):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert checked(capsys, folder.parent)[0] == 2
    (tmp_path / "results.json").write_text("{}")
    assert checked(capsys, folder.parent)[:2] == (0, [["links", "record", "sound"]])
    (folder / LINKS_RECORD).write_text("{}")
    status, _, said = checked(capsys, folder.parent)
    assert status == 2 and "links.json: plan: found no such key" in said
