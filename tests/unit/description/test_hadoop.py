"""What an experiment may ask of Hadoop: words, stores, names of settings. One line for each fault."""

from __future__ import annotations

import copy
import zipfile

import pytest

from tests.support import quick_yaml
from whitewire.description import hadoop
from whitewire.description.checks import load_paper
from whitewire.description.claim_checks import check_metric
from whitewire.description.project import paper_path
from whitewire.description.testbed import load_testbed
from whitewire.design.rows import make_design
from whitewire.errors import UserError
from whitewire.measure import groups
from whitewire.workflow.outlook import outlook_lines
from whitewire.workloads import workload_of

TESTBED = load_testbed("emulated")
CODED = {"copies": {"kind": "hdfs", "replication": 2}, "coded": {"kind": "hdfs", "erasure_coding": "XOR-2-1-1024k"}}


def read(tmp_path, change, like="terasort-curve", **experiment):
    """A paper of one more experiment like one of Mellanox's, changed."""
    data = quick_yaml.load(paper_path("mellanox-mapr").read_text(encoding="utf-8"))
    made = copy.deepcopy(next(e for e in data["experiments"] if e["id"] == like)) | {"id": "more"} | experiment
    made.pop("smoke_cells", None)
    change(made)
    data["experiments"].append(made)
    path = tmp_path / "mellanox-mapr.yaml"
    path.write_text(quick_yaml.dump(data, sort_keys=False), encoding="utf-8")
    return load_paper(path, TESTBED["fabrics"])


def coded(experiment, **store):
    stores = {name: dict(of) for name, of in CODED.items()}
    stores["coded"] |= store
    experiment["stores"] = stores
    experiment["factors"] = {"fabric": ["10gbe"], "store": list(stores)}
    experiment["roles"] = {"namenode": 1, "datanode": 3, "client": 1}
    experiment["parameters"] |= {"replication": 2}


def set_to(experiment, settings):
    experiment["settings"], experiment["factors"] = {"a": settings}, {**experiment["factors"], "settings": ["a"]}


def intermediate(experiment, drive, without_data=False, **ssd):
    own = {"count": 1, "rate_mb_per_s": 500, "access_time_ms": 0, "writeback_chunk_bytes": 4194304, "cache_bytes": 0}
    experiment["hardware"] = {} if without_data else dict(experiment["hardware"])
    experiment["hardware"]["drives"] = {"ssd": own | {"sources": dict.fromkeys(own, "a test")} | ssd}
    experiment["factors"] = {**experiment["factors"], "intermediate_drive": ["shared", drive]}


FAULTS = {
    "no drive": (lambda e: intermediate(e, "sdd"), r'factors.intermediate_drive: found "sdd", expected a key of '
                 'hardware.drives or shared; did you mean "ssd"'),
    "too many drives": (lambda e: intermediate(e, "ssd", count=9),
                        r"hardware.drives.ssd.count: found 9, expected at most \d, the DataNode's drives"),
    "no drives for data": (lambda e: intermediate(e, "ssd", without_data=True),
                           "hardware.drives.ssd.count: found 1, expected at most 0, the DataNode's drives"),
    "policy": (lambda e: coded(e, erasure_coding="RS-3-2-1024"),
               r'stores.coded.erasure_coding: found "RS-3-2-1024", expected a policy .* did you mean "RS-3-2-1024k"'),
    "too few DataNodes": (lambda e: coded(e, erasure_coding="RS-3-2-1024k"),
                          r"roles.datanode: found 3, expected at least 5, one for each block of a group of RS-3-2"),
    "both": (lambda e: coded(e, replication=2), r"stores.coded.replication: found 2, expected nothing beside erasure"),
    "compression": (lambda e: e["parameters"].update(map_output_compression="snapy"),
                    r'map_output_compression: found "snapy", expected one of none, .* did you mean "snappy"'),
    "of daemons that are not here": (
        lambda e: set_to(e, {"dfs.journalnode.handler.count": 3}),
        r'settings.a: found "dfs.journalnode.handler.count", expected a setting of clients, jobs or daemons that run'),
    "an address": (lambda e: set_to(e, {"dfs.datanode.address": "0.0.0.0:1"}),
                   r'settings.a: found "dfs.datanode.address", expected no setting that the testbed owns'),
    "folders": (lambda e: set_to(e, {"yarn.nodemanager.local-dirs": "/tmp"}),
                r'settings.a: found "yarn.nodemanager.local-dirs", expected no setting that the testbed owns'),
    "heartbeats of DataNodes": (
        lambda e: set_to(e, {"dfs.heartbeat.interval": 3}),
        r'settings.a: found "dfs.heartbeat.interval", expected no setting that the testbed owns, .* and heartbeats'),
    "heartbeats of NodeManagers": (
        lambda e: set_to(e, {"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": 1000}),
        r'settings.a: found "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms", expected no setting that'),
    "a packet in words": (lambda e: set_to(e, {"dfs.client-write-packet-size": "128k"}),
                          r'settings.a: found {"dfs.client-write-packet-size": "128k"}, expected a whole number, at'),
    "no packets": (lambda e: set_to(e, {"dfs.client.write.max-packets-in-flight": 0}),
                   r'settings.a: found {"dfs.client.write.max-packets-in-flight": 0}, expected a whole number, at'),
    "a rate in words": (lambda e: set_to(e, {"dfs.datanode.balance.bandwidthPerSec": "100m"}),
                        r'settings.a: found {"dfs.datanode.balance.bandwidthPerSec": "100m"}, expected a number of'),
    "a second command": (lambda e: set_to(e, {"x": "y\nFsShell\t-rm\t-r\t/"}),
                         r'settings.a: found {"x": "y\\nFsShell.*"}, expected letters, digits, blanks and'),
    "a second word": (lambda e: set_to(e, {"mapreduce.terasort.x\t/": 1}),
                      r'settings.a: found {"mapreduce.terasort.x\\t/": 1}, expected letters, digits, blanks and'),
    "a command of a shell": (lambda e: set_to(e, {"mapreduce.map.java.opts": "-Xmx1g; touch $HOME/here"}),
                             r'settings.a: found {"mapreduce.map.java.opts": .*}, expected letters, digits, blanks'),
    "another place": (lambda e: set_to(e, {"fs.defaultFS": "hdfs://namenode:9000"}),
                      r'settings.a: found "fs.defaultFS", expected no setting that says where files are'),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_one_line(tmp_path, name):
    change, says = FAULTS[name]
    with pytest.raises(UserError, match=says) as failure:
        read(tmp_path, change)
    assert "\n" not in str(failure.value)


@pytest.mark.parametrize(("workload", "settings", "says"), [
    ("hdfs_put", {"yarn.nodemanager.vmem-check-enabled": True},
     "a setting of HDFS's daemons: hdfs_put has no nodemanager"),
    ("rereplicate", {"io.file.buffer.size": 4096}, "a setting of daemons: rereplicate measures no client"),
    ("rereplicate", {"dfs.namenode.replication.max-streams": 2}, None),
    ("hdfs_put", {"dfs.datanode.handler.count": 3, "io.file.buffer.size": 4096}, None),
])  # fmt: skip
def test_settings_have_a_reader_in_the_run(workload, settings, says):
    found = [expected for _, _, expected, _ in hadoop._settings(workload_of(workload), {"settings": {"a": settings}})]
    assert found == ([says] if says else [])


def test_every_rate_is_of_a_daemon_that_runs_here():
    assert all(hadoop.daemons_that_read(name) for name in hadoop.BANDWIDTHS)
    assert set(hadoop.daemons_that_read("ipc.server.listen.queue.size")) > hadoop.OF_HDFS
    assert hadoop.daemons_that_read("yarn.app.mapreduce.am.resource.mb") is None


def test_coded_files_beside_copies_are_taken(tmp_path):
    paper = read(tmp_path, coded)
    assert paper.store("more", {"fabric": "10gbe", "store": "coded"})["erasure_coding"] == "XOR-2-1-1024k"


def test_a_misspelt_setting_is_refused_with_the_nearest_of_hadoops_own(tmp_path, monkeypatch):
    jar = tmp_path / "defaults.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("mapred-default.xml", "<configuration><property><name>mapreduce.task.io.sort.mb</name>"
                         "<value>100</value></property></configuration>")  # fmt: skip
    known = hadoop._names(jar)
    monkeypatch.setattr(hadoop, "_names", lambda: known)
    settings = {"a": {"mapreduce.task.io.srt.mb": 50}}

    def change(experiment):
        experiment["settings"] = settings
        experiment["factors"]["settings"] = ["a"]

    with pytest.raises(UserError, match='found "mapreduce.task.io.srt.mb".* mean "mapreduce.task.io.sort.mb"'):
        read(tmp_path, change)
    settings["a"] = {"mapreduce.task.io.sort.mb": 50, "mapreduce.terasort.num.partitions": 2}
    assert read(tmp_path, change)


def test_where_hadoop_is_not_installed_names_are_not_known(tmp_path):
    assert hadoop._names(tmp_path / "none.jar") == ()


@pytest.mark.parametrize(("wanted", "says"), [
    (3, "found 3, expected a whole number from 1 to 2, a worker's even share of the tasks"),
    (1, None), (2, None),
])  # fmt: skip
def test_tasks_at_once_that_a_job_cannot_have(tmp_path, wanted, says):
    def change(experiment):
        experiment["roles"] = {"namenode": 1, "datanode": 3, "client": 1}
        experiment["parameters"] |= {"maps": 6, "reduces": 3, "tasks_per_worker": wanted}

    paper = read(tmp_path, change)
    if says is None:
        groups.check_slots(paper, TESTBED)
        return
    with pytest.raises(UserError, match=says):
        groups.check_slots(paper, TESTBED)


def test_tasks_at_once_that_a_workers_memory_does_not_hold(tmp_path):
    def change(experiment):
        experiment["roles"] = {"namenode": 1, "datanode": 1, "client": 1}
        experiment["parameters"] |= {"maps": 9, "reduces": 1, "replication": 1, "tasks_per_worker": 5}
        experiment["parameters"].pop("output_replication", None)

    with pytest.raises(UserError, match="found 5, expected at most 4, which a worker's memory holds"):
        groups.check_slots(read(tmp_path, change), TESTBED)


@pytest.mark.parametrize(("own", "says"), [
    ({}, "15 tasks on 3 workers, each with memory for 4 at once (yarn of the testbed), run in 2 waves, the last of 3; "
         "set tasks_per_worker where waves are meant"),
    ({"tasks_per_worker": 4}, None),
    ({"maps": 12}, None),
    ({"maps": 10}, None),
])  # fmt: skip
def test_waves_that_nobody_asked_for_are_in_the_plan(tmp_path, own, says):
    def change(experiment):
        experiment["roles"] = {"namenode": 1, "datanode": 3, "client": 1}
        experiment["parameters"] |= {"maps": 15, "reduces": 3, **own}

    paper = read(tmp_path, change)
    groups.check_slots(paper, TESTBED)
    assert groups.unasked_waves(paper, "more", TESTBED) == ([says] if says else [])
    assert groups.unasked_waves(paper, "more", TESTBED | {"yarn": {"node_mib": 2048}, "cluster": {}}) == []
    assert groups.unasked_waves(paper, "more", TESTBED | {"yarn": {"node_mib": 2048}}) == []
    lines = list(outlook_lines(paper, make_design(paper, TESTBED, "quick", 1), TESTBED))
    assert (f"    caution: {says}" in lines) == bool(says)


@pytest.mark.parametrize(("like", "own", "says"), [
    ("testdfsio-curve", {"maps": 6, "task_workers": 4}, "found 4, expected at most 3, the workers of more"),
    ("testdfsio-curve", {"maps": 2, "task_workers": 3}, "found 3, expected at most 2, the map tasks of more"),
    ("testdfsio-curve", {"maps": 6, "task_workers": 0}, "found 0, expected a whole number from 1 to 1000"),
    ("terasort-curve", {"task_workers": 1}, 'found "task_workers", expected a parameter that terasort reads'),
])  # fmt: skip
def test_workers_that_a_jobs_tasks_cannot_have(tmp_path, like, own, says):
    def change(experiment):
        experiment["roles"] = {"namenode": 1, "datanode": 3, "client": 1}
        experiment["parameters"] |= own

    with pytest.raises(UserError, match=says):
        read(tmp_path, change, like=like)


@pytest.mark.parametrize(("own", "share"), [({}, 2), ({"task_workers": 2}, 3), ({"task_workers": 3}, 2)])
def test_the_workers_that_run_tasks_share_them(tmp_path, own, share):
    def change(experiment):
        experiment["roles"] = {"namenode": 1, "datanode": 3, "client": 1}
        experiment["parameters"] |= {"maps": 6, "tasks_per_worker": share, **own}

    paper = read(tmp_path, change, like="testdfsio-curve")
    groups.check_slots(paper, TESTBED)
    paper.experiments["more"]["parameters"]["tasks_per_worker"] = share + 1
    with pytest.raises(UserError, match=f"found {share + 1}, expected a whole number from 1 to {share}, a worker's"):
        groups.check_slots(paper, TESTBED)


def test_what_testdfsio_does_not_do_is_no_metric():
    from whitewire.workloads.testdfsio import TestDfsio

    alone = TestDfsio().metric_names_with({"operation": "read"})
    assert "read_throughput" in alone and "completion_time" in alone
    assert not [metric for metric in alone if metric.startswith("write_")]
    assert TestDfsio().metric_names_with({}) == TestDfsio().metric_names
    assert {TestDfsio().kind({"operation": word}) for word in ("both", "read")} == {"testdfsio", "testdfsio read"}


def test_a_claim_on_what_a_run_does_not_time_is_refused(tmp_path):
    def change(experiment):
        experiment["factors"] = {"fabric": ["10gbe"], "operation": ["read", "both"]}

    paper = read(tmp_path, change, like="testdfsio-curve")
    check_metric(paper, "key", "more", "write_throughput", {"operation": "both"})
    with pytest.raises(
        UserError, match='found "write_throughput", expected a metric that runs of testdfsio .more 10gbe read'
    ):
        check_metric(paper, "key", "more", "write_throughput", {"fabric": "10gbe", "operation": "read"})


def test_options_of_a_jvm_are_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(hadoop, "_names", lambda: ())
    settings = {"mapreduce.map.java.opts": "-Xmx512m -XX:+UseG1GC -Da=b,c", "io.file.buffer.size": 1e-05, "x": True}
    paper = read(tmp_path, lambda experiment: set_to(experiment, settings))
    assert paper.experiments["more"]["settings"] == {"a": settings}
