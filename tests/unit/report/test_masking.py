"""What of a site does not travel: its names are replaced in every byte of a crate, and it is judged alike."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.support import kept
from tests.support.kept import PAPER
from whitewire import atomic
from whitewire.analysis.analyse import write_analysis
from whitewire.cli import main
from whitewire.description.checks import load_paper
from whitewire.description.testbed import digest, fabric_names, read_testbed
from whitewire.errors import UserError
from whitewire.records import manifest
from whitewire.records.manifest import MANIFEST_FILE, manifest_faults, manifest_of_folder
from whitewire.report import bundle, crate, masking, names, rebuild
from whitewire.report.bundle import BUNDLE_FILE, bundle_of, check_bundle
from whitewire.report.crate import read_crate
from whitewire.report.reference import read_reference
from whitewire.tidy import tables

SITE = "lab"
USER, HOME_OF, OTHER = "zebracanary", "quaggacanary", "okapicanary"
DOMAIN, JUMP, NODE, GATE = "secretcanary.example-lab.test", "jumpcanary", "ibexcanary", "gatecanary"
INTERFACE, FOLDER, ACCOUNT, PARTITION = "ifcanary0", "projcanary", "acctcanary", "partcanary"
COMMENT = "commentcanary"
ADDRESSES = ("10.42.7.19", "131.169.40.7", "2a00:1450:4001:81b::200e", "fe80::3efd:feff:fe9c:1", "3c:fd:fe:9c:5a:e1",
             "506b:4b03:00cc:aa01")  # fmt: skip
CANARIES = ("canary", *ADDRESSES)

TESTBED = f"""\
# {COMMENT} of {NODE}01
kind: ssh
fabrics:
  1gbe: {{ rate_mbit_per_s: 1000, interface: {INTERFACE} }} # {COMMENT}
  2gbe: {{ rate_mbit_per_s: 2000, interface: ens1f0 }}
  5gbe: {{ rate_mbit_per_s: 5000, interface: ens1f0 }}
  10gbe: {{ rate_mbit_per_s: 10000, interface: ens1f0 }}
  20gbe: {{ rate_mbit_per_s: 20000, interface: ens1f0 }}
ssh_config: ~/.ssh/{FOLDER}
work: /scratch/{FOLDER}/{USER}
data: [/data1, /{FOLDER}/data2]
java: /home/{HOME_OF}/jdk-17/bin/java
transports:
  rsockets:
    kind: rdma
    preload: [/sw/libcanary/librspreload.so]
    java: [-Djava.library.path=/sw/libcanary]
    environment: {{ LD_LIBRARY_PATH: "/sw/pathcanary:/usr/lib" }}
image: {{ pull: "oras://{GATE}.{DOMAIN}:5000/{FOLDER}/hadoop@sha256:{"ab" * 32}" }}
hosts:
  - {{ ssh: {NODE}01.{DOMAIN}, role: namenode }}
  - {{ ssh: {USER}@{NODE}02, role: datanode }}
  - {{ ssh: {NODE}10, role: datanode, fabrics: {{ 10gbe: {{ address: {ADDRESSES[0]} }} }} }}
  - {{ ssh: {USER}@{ADDRESSES[1]}, role: client }}
memory: {{ minimum_gib: 16 }}
disk: {{ minimum_gib: 100 }}
limits:
  {{ cpu_idle_floor: 0.05, link_error: 0.1, wire_excess_low: -0.02, wire_excess_high: 0.10, retransmit_share: 0.01,
     queue_drop_share: 0.01, drive_error: 0.2, compute_share: 0.5, job_wire_low: -0.10, job_wire_high: 0.35,
     attempts: 3 }}
probes: {{ seconds: 5, streams: [1] }}
"""
LOGS = {
    f"hadoop-{USER}-namenode-{NODE}01.log": f"""\
2026-11-20 10:00:00,000 INFO NameNode: STARTUP_MSG:   host = {NODE}01.{DOMAIN}/{ADDRESSES[0]}
2026-11-20 10:00:01,000 INFO FSNamesystem.audit: allowed=true ugi={OTHER} (auth:SIMPLE) ip=/{ADDRESSES[1]} cmd=create
java.net.ConnectException: Call From {GATE}/{ADDRESSES[0]} to {NODE}02:8020 failed on connection exception
BP-1478-{ADDRESSES[0]}-1690000000000 in /home/{HOME_OF}/whitewire, /tmp/hadoop-{USER}/dfs
""",
    "iperf3.json": json.dumps({"start": {"connected": [{"local_host": ADDRESSES[0], "remote_host": ADDRESSES[2]}],
                                         "system_info": f"Linux {GATE} 6.1.0-9-amd64 #1 SMP x86_64"}}),
    "ssh.txt": f"{USER}@{JUMP}: Permission denied (publickey).\nConnection closed by {JUMP} port 22\n",
    "slurm.txt": f"SLURM_JOB_ACCOUNT={ACCOUNT}\nJobId=7 UserId={USER}(1000) Partition={PARTITION} "
                 f"NodeList={NODE}[01-16]\nsrun --account={ACCOUNT} --partition={PARTITION}\n",
    "ip.txt": f"2: {INTERFACE}: <UP> mtu 1500\n    link/ether {ADDRESSES[4]} brd ff:ff:ff:ff:ff:ff\n"
              f"    inet6 {ADDRESSES[3]}/64 scope link\n    node_guid: {ADDRESSES[5]}\n    inet 127.0.0.1/8\n",
    "latin.log": f"\xe9t\xe9 {NODE}10\n",
}  # fmt: skip


def _environment() -> dict:
    fabrics = {"1gbe": {"interface": INTERFACE, "address": ADDRESSES[0], "driver": "driver: ixgbe"}}
    return {
        "hosts": [{"name": "namenode", "role": "namenode", "address": ADDRESSES[0]},
                  {"name": "client", "role": "client", "address": ADDRESSES[1]}],
        "software": {"python_packages": ["numpy==2.4.6"], "debian_packages": ["x=1.2.3.4-1"],
                     "conda": {"prefix": f"/home/{HOME_OF}/envs/{FOLDER}", "packages": []}},
        "tools": {"hadoop": "3.5.0"}, "machine": {"kernel": "6.1.0"},
        "machines": {"namenode": {"target": f"{NODE}01.{DOMAIN}", "fabrics": fabrics},
                     "client": {"target": f"{USER}@{ADDRESSES[1]}", "fabrics": fabrics}},
    }  # fmt: skip


def _raw(results: Path) -> None:
    """Raw output with names, in a run whose folder has a manifest, which the block's lists."""
    block = results / PAPER / "raw" / "quick-1"
    (block / "environment.json").write_text(json.dumps(_environment()))
    run = min((block / "runs").iterdir())
    (run / "logs").mkdir()
    for name, text in LOGS.items():
        (run / "logs" / name).write_bytes(text.encode("latin-1"))
    (run / "logs" / "old.log.gz").write_bytes(gzip.compress(f"{NODE}02\n".encode()))
    (run / "core").write_bytes(b"\0" + NODE.encode())
    kept.rewritten(run)
    (block / MANIFEST_FILE).write_text(json.dumps(manifest_of_folder(
        block, [block / "environment.json", *sorted(block.glob("runs/*/manifest.json"))])))  # fmt: skip


def _pages(results: Path) -> None:
    table = base64.b64encode(f"host,target\nclient,{NODE}02\n".encode()).decode()
    pages = {f"{PAPER}.html": f'<a href="data:text/csv;base64,{table}">{NODE}01.{DOMAIN}</a> will be',
             "index.html": "<p>No name</p>", f"data/{PAPER}/x.csv": f"target\n{NODE}10\n"}  # fmt: skip
    drawn = {f"{PAPER}.pdf": NODE.encode() + b"\0", f"figures/{PAPER}/a.png": b"\0" + NODE.encode()}
    for name, content in {**{key: text.encode() for key, text in pages.items()}, **drawn}.items():
        (results / "reports" / name).parent.mkdir(parents=True, exist_ok=True)
        (results / "reports" / name).write_bytes(content)


def _tables(results: Path) -> None:
    """Rows with names in tables whose datapackage lists them."""
    folder = results / PAPER / "tidy"
    package = json.loads((folder / tables.PACKAGE).read_text())
    filled = {"placement.csv": [{"run_id": "r", "file": f"/user/{USER}/x", "block_index": 0, "datanode": GATE}],
              "topology.csv": [{"host": "namenode", "role": "namenode", "address": ADDRESSES[0]}],
              "series.csv.gz": [{"run_id": "r", "time": 0, "host": GATE, "series": "cpu", "value": 1, "unit": "1"}],
              "marks.csv": [{"block": "quick-1", "mark": f"drive /{FOLDER}/data2 of {NODE}02"}]}  # fmt: skip
    for name, rows in filled.items():
        content = tables.as_csv(tables.TABLES[name], rows, name)
        (folder / name).write_bytes(content)
        (own,) = (each for each in package["resources"] if each["path"] == name)
        entry = manifest.entry(content)
        own |= {"bytes": entry["bytes"], "hash": f"sha256:{entry['sha256']}"}
    (folder / tables.PACKAGE).write_text(atomic.as_json(package))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A project with results of a site that has canaries in every field."""
    folder = kept.project(tmp_path_factory.mktemp("site"))
    (folder / "config" / "testbeds" / f"{SITE}.yaml").write_text(TESTBED)
    config = folder / "config" / "config.yaml"
    config.write_text(f"# {COMMENT}\n" + config.read_text().replace("emulated", SITE))
    (folder / "profiles" / "slurm").mkdir(parents=True)
    (folder / "profiles" / "slurm" / "config.yaml").write_text(f"default-resources:\n  slurm_partition: {PARTITION}\n")
    results = kept.results(folder, name=SITE)
    _raw(results)
    _tables(results)
    _pages(results)
    return folder


@pytest.fixture
def project(site, monkeypatch):
    monkeypatch.chdir(site)
    for name in rebuild._OVERRIDES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(crate, "described_as", lambda *argv: {"software": crate._software(argv[0])})
    return site


def _bytes(path: Path) -> dict[str, bytes]:
    """All of a crate, with what archives and pages carry unpacked."""
    found = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            content = archive.read(name)
            content = gzip.decompress(content) if name.endswith(".gz") else content
            for carried in re.findall(rb";base64,([A-Za-z0-9+/=]+)", content):
                content += base64.b64decode(carried)
            found[name] = content
    return found


def _seen(found: dict[str, bytes]) -> set[str]:
    return {f"{each} in {name}" for name, content in found.items() for each in CANARIES
            if each.encode() in content.lower() or each in name}  # fmt: skip


@pytest.fixture
def made(project, tmp_path, capsys):
    """(the crate's file, what was printed)."""
    assert main(["crate", "--raw", "--output", str(tmp_path / "a.zip")]) == 0
    return tmp_path / "a.zip", capsys.readouterr().err


def test_no_name_of_a_site_is_in_any_byte(made):
    path, said = made
    assert _seen(_bytes(path)) == set()
    counted = re.search(r"replaced: (.*) \(PRIVATE=keep keeps them\)", said)
    assert counted and counted[1] == (
        "5 host names, 3 users, 1 interface, 2 Slurm names, 4 folders, 6 addresses"
    )  # fmt: skip
    assert f"cannot be replaced: reports/figures/{PAPER}/a.png, reports/{PAPER}.pdf, results/{PAPER}/raw/" in said
    assert re.search(r"tables: \d+ files, [\d.]+ MB", said) and "raw output: " in said


def test_names_are_kept_where_that_is_asked_for(project, tmp_path, capsys):
    assert main(["crate", "--raw", "--private", "keep", "--output", str(tmp_path / "a.zip")]) == 0
    seen = _seen(_bytes(tmp_path / "a.zip"))
    every = " ".join(content.decode("latin-1") for content in _bytes(tmp_path / "a.zip").values())
    for name in (USER, HOME_OF, OTHER, DOMAIN, JUMP, NODE, GATE, INTERFACE, FOLDER, ACCOUNT, PARTITION, COMMENT,
                 *ADDRESSES):  # fmt: skip
        assert name in every
    assert seen and "are kept as they are (PRIVATE=keep)" in capsys.readouterr().err
    assert main(["crate", "--private", "yes"]) == 2
    assert "PRIVATE: found 'yes', expected keep" in capsys.readouterr().err


def test_a_name_is_the_same_everywhere_and_what_says_nothing_stays(made):
    found = _bytes(made[0])
    testbed = found["results/testbed.yaml"].decode()
    assert "#" not in testbed and "ssh: host-02.site-01.example" not in testbed
    assert re.search(r"ssh: (host-\d+)\n +role: namenode", testbed)
    log = next(content.decode() for name, content in found.items() if "/logs/hadoop-user-" in name)
    namenode = re.search(r"ssh: (host-\d+)\n +role: namenode", testbed)[1]
    address = re.search(r"address: (\S+)", testbed)[1]
    assert f"host = {namenode}/{address}" in log and f"-{address}-1690000000000" in log
    assert "127.0.0.1/8" in next(content.decode() for name, content in found.items() if name.endswith("/ip.txt"))
    record = json.loads(found[f"results/{PAPER}/raw/quick-1/environment.json"])
    assert record["software"]["debian_packages"] == ["x=1.2.3.4-1"] and record["tools"] == {"hadoop": "3.5.0"}
    assert record["machines"]["namenode"]["target"] == namenode
    assert "interface: ens1f0" in testbed and "- /data1\n" in testbed
    assert found[f"reports/{PAPER}.html"].decode().count(namenode) == 1
    slurm = next(content.decode() for name, content in found.items() if name.endswith("slurm.txt"))
    assert "NodeList=host-[01-16]" in slurm


def test_what_was_replaced_is_whole_by_every_manifest(made, tmp_path):
    with zipfile.ZipFile(made[0]) as archive:
        archive.extractall(tmp_path / "crate")
    block = tmp_path / "crate" / "results" / PAPER / "raw" / "quick-1"
    assert manifest_faults(block, whole=False) == []
    (run,) = (path.parent for path in block.glob("runs/*/manifest.json"))
    assert [path.name for path, _ in manifest_faults(run)] == ["core"]  # which was left out


def test_an_opened_crate_is_judged_alike(made, project, tmp_path):
    record, files = read_crate(made[0])
    results = bundle.unpack(tmp_path / "opened", record, files.items())
    testbed = read_testbed(tmp_path / "opened" / "config" / "testbeds" / f"{SITE}.yaml")
    paper = load_paper(tmp_path / "opened" / "config" / "papers" / f"{PAPER}.yaml", fabric_names(testbed))
    write_analysis(paper, testbed, results / PAPER, 7)
    own = project / "results" / SITE / PAPER
    assert bundle.judged_otherwise(results, files) == []
    for path in (own / "analysis").iterdir():
        if path.name != MANIFEST_FILE:
            assert (results / PAPER / "analysis" / path.name).read_bytes() == path.read_bytes(), path.name
    before, after = ([row["run_id"].rpartition("-")[0] for row in csv.DictReader(io.StringIO(text))]
                     for text in ((own / "design.csv").read_text(), files[f"{PAPER}/design.csv"].decode()))  # fmt: skip
    assert before == after


def test_a_crate_of_an_opened_crate_has_the_same_names(made, project, tmp_path, monkeypatch):
    record, files = read_crate(made[0])
    results = bundle.unpack(tmp_path / "opened", record, files.items())
    monkeypatch.chdir(tmp_path / "opened")
    again = bundle_of(results, [PAPER])
    assert masking.masked(again, record, "", tmp_path)[0] == files


def test_the_reference_is_without_names_too(project, capsys):
    assert main(["reference"]) == 0
    assert "replaced: " in capsys.readouterr().err
    _, files = read_reference()
    assert _seen(files) == set()
    assert main(["reference", "--private", "keep"]) == 0
    assert NODE in read_reference()[1]["testbed.yaml"].decode()


def test_the_description_of_links_becomes_that_of_the_masked_one(project, tmp_path):
    testbed = read_testbed(project / "config" / "testbeds" / f"{SITE}.yaml")
    files = bundle_of(project / "results" / SITE, [PAPER])
    record = json.dumps({"plan": {"description": digest(testbed)}}).encode()
    made, *_ = masking.masked(files | {"links/links.json": record}, json.loads(files[BUNDLE_FILE]), "", tmp_path)
    path = tmp_path / "again.yaml"
    path.write_bytes(made["testbed.yaml"])
    assert json.loads(made["links/links.json"])["plan"]["description"] == digest(read_testbed(path)) != digest(testbed)


@pytest.mark.parametrize("kind, name, text, expected", [
    (names.USER, "will", "it will do; /home/will/x, will@node", "it will do; /home/user-01/x, user-01@node"),
    (names.USER, "will", "it will do; ugi=will", "it will do; ugi=user-01"),
    (names.HOST, "data", 'the <a data-file="x">; data/10.1.2.3', 'the <a data-file="x">; host-01/192.0.2.1'),
    (names.HOST, "n1", "n1:8020, n1.log, n10, xn1", "host-01:8020, n1.log, n10, xn1"),
    (names.HOST, "node7", "node7.log.gz node7.a.example NODE7", "host-01.log.gz host-01 host-01"),
    (names.HOST, "", "iperf 3.12.1, 1.2.3, 12:30:45, 2026:11:20, chromium=1.2.3.4-1, x==1.2.3.4", None),
    (names.HOST, "", "0.0.0.0 127.0.1.1 255.255.255.0 239.1.1.1 192.0.2.9", None),
    (names.HOST, "", "172.17.0.2:80 172.17.0.2 172.17.0.3", "192.0.2.1:80 192.0.2.1 192.0.2.2"),
])  # fmt: skip
def test_what_is_a_name_and_what_is_not(kind, name, text, expected):
    pairs = names.numbered(names.sorted_out([(kind, name)] if name else []))
    assert masking.Mask(pairs).text(text) == (text if expected is None else expected)


# Hadoop in alexholmes/hiped2#3 and apache/accumulo-fluo#1084, Slurm in tdegeus/GooseSLURM#32, iperf3 in esnet/iperf#545
SAID = {
    "WARN UserGroupInformation: PriviledgedActionException as:jdoe (auth:SIMPLE) cause: Call "
    "From quick7.lab.example/10.1.2.3 to quick7:8021 failed": "as:user-01 (auth:SIMPLE)",
    "Call From orion/192.168.65.128 to localhost:8020": "Call From host-01/192.0.2.1 to localhost",
    "JobId=1 JobName=pin.py-00 UserId=jdoe(177478) GroupId=physics(10532) Priority=5487 Account=physics QOS=normal":
        "UserId=user-01(177478) GroupId=user-02(10532) Priority=5487 Account=user-02 QOS=normal",
    "Partition=serial AllocNode:Sid=fidis:20733 ReqNodeList=(null)": "AllocNode:Sid=host-01:20733 ReqNodeList=(null)",
    "NodeList=f006 BatchHost=f006": "NodeList=host-01 BatchHost=host-01",
    "Command=/home/jdoe/run.slurm": "Command=/home/user-01/run.slurm",
    '"system_info":\t"Linux vlan-3101 4.4.0-66-generic #87-Ubuntu SMP Fri Mar 3 15:29:05 UTC 2017 x86_64"':
        '"Linux host-01 4.4.0-66-generic #87-Ubuntu SMP Fri Mar 3 15:29:05',
    '"local_host":\t"172.17.0.1", "remote_host":\t"172.17.0.2"': '"192.0.2.1", "remote_host":\t"192.0.2.2"',
    "Linux version 6.1.0-9-amd64 (debian-kernel@lists.debian.org)": "Linux version 6.1.0-9-amd64 (",
}  # fmt: skip


@pytest.mark.parametrize("text", SAID)
def test_names_that_programs_say(text):
    mask = masking.Mask(names.numbered(names.sorted_out(names.of_text(text))))
    assert SAID[text] in mask.text(text)


@pytest.mark.parametrize("text, expected", [
    ("node[01-16],node[1]", "host-[01-16],host-[1]"),
    ("node0[1-4] NODE1[0,2-5]", "host-0[1-4] host-1[0,2-5]"),
    ("node[001-003,007,01", "host-[001-003,007,01"),  # as squeue cuts it off
    ("rack1n[01-04]-ib,rack[1-2]n[01-04].a.example", "host-1[01-04],host-[1-2][01-04].a.example"),
    ("nodes[1] nodemanager[2] anode[3] node[i]", "nodes[1] nodemanager[2] anode[3] node[i]"),
])  # fmt: skip
def test_lists_of_hosts_as_slurm_writes_them(text, expected):
    pairs = names.numbered(names.sorted_out([(names.HOST, "node01"), (names.HOST, "rack1n01-ib")]))
    assert masking.Mask(pairs).text(text) == expected


def _masked(project: Path, tmp_path: Path, said: str) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Files of a bundle, with a log that says something, before and after."""
    files = bundle_of(project / "results" / SITE, [PAPER]) | {"log.txt": said.encode()}
    return files, masking.masked(files, json.loads(files[BUNDLE_FILE]), "", tmp_path)[0]


@pytest.mark.parametrize("said", [
    "SLURM_JOB_PARTITION=10gbe", "srun --constraint=x --account=10GBE", '"interface": "20gbe"', "ugi=5gbe",
    "hdfs://10gbe:8020", "--partition=ingest-10gbe", "--qos=hdfs_put", "--job-name=throughput_sum",
    "UserId=puts_per_client(7)", "--account=made-up", "--account=made-up-2026",
    '"folder": "/home/bob/made-up-2026"', '"path": "/data/made-up"', f"--partition={SITE}", '"folder": "/x/quick-1"',
])  # fmt: skip
def test_ids_of_the_project_stay_whatever_a_site_calls_alike(project, tmp_path, said):
    before, after = _masked(project, tmp_path, said)
    assert {*before} == {*after}
    assert json.loads(after[BUNDLE_FILE]) == json.loads(before[BUNDLE_FILE])
    assert after[f"{PAPER}/tidy/runs.csv"].count(b",throughput_sum,") > 0
    check_bundle(json.loads(after[BUNDLE_FILE]), after, "crate")


def test_a_name_that_an_id_has_in_it_is_replaced_elsewhere(project, tmp_path):
    said = "SLURM_JOB_ACCOUNT=made-up made-up-2026 ugi=10gbe 10gbe.lab-x.example SLURM_SUBMIT_HOST=ax1.lab-x.example"
    log = _masked(project, tmp_path, said)[1]["log.txt"].decode()
    assert log == ("SLURM_JOB_ACCOUNT=slurm-01 made-up-2026 ugi=10gbe 10gbe.site-01.example "
                   "SLURM_SUBMIT_HOST=host-01")  # fmt: skip


def test_another_number_of_runs_is_said_in_a_line(project):
    testbed = read_testbed(project / "config" / "testbeds" / f"{SITE}.yaml")
    fewer = {**testbed, "fabrics": {name: each for name, each in testbed["fabrics"].items() if name != "10gbe"}}
    record = json.loads(bundle_of(project / "results" / SITE, [PAPER])[BUNDLE_FILE])
    with pytest.raises(UserError, match=rf"^{PAPER}: found \d+ runs once names of {SITE} are replaced, expected \d+ "):
        masking._ids(record, testbed, fewer)


def test_an_emulated_testbed_keeps_what_every_machine_has():
    text = "namenode 10.77.0.2 /data/client2/put1 datanode11 8.8.8.8"
    pairs = names.numbered(names.sorted_out([(names.HOST, "namenode"), (names.HOST, "datanode11")]))
    assert masking.Mask(pairs, emulated=True).text(text) == text.replace("8.8.8.8", "192.0.2.1")


@pytest.mark.parametrize("asked", ["", "keep"])
def test_make_hands_the_word_on(tmp_path, asked):
    lines = (kept.HOME / "Makefile").read_text()
    (tmp_path / "whitewire").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "whitewire").chmod(0o755)
    for target in ("crate", "reference"):
        command = lines.partition(f"\n{target}:")[2].splitlines()[1].strip().removeprefix("@").replace("$$", "$")
        done = subprocess.run(["sh", "-c", command], env={"PATH": f"{tmp_path}:/usr/bin:/bin", "PRIVATE": asked},
                              capture_output=True, text=True)  # fmt: skip
        assert done.stdout == (f"{target} --private=keep\n" if asked else f"{target}\n"), done
