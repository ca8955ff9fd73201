"""A cluster that is there already: one stack plays the site, and runs go to it as to a stranger's."""

from __future__ import annotations

import pytest

from tests.support.small import BLOCK, small_stack
from whitewire.cluster.existing import Existing
from whitewire.cluster.stack import Stack
from whitewire.design.scale import Scale
from whitewire.errors import UserError
from whitewire.measure.bench import StackBench
from whitewire.measure.run import Run
from whitewire.testbed.emulated import software
from whitewire.workloads import run_metrics, workload_of


@pytest.fixture(scope="module")
def site(can_emulate, tmp_path_factory):
    """Hosts with a running HDFS and YARN, a user's file in it, and the folder of its configuration."""
    # As a site has it: job files and histories in HDFS.
    places = {
        "yarn.app.mapreduce.am.staging-dir": "/tmp/staging",
        "mapreduce.jobhistory.intermediate-done-dir": "/history/ended",
        "mapreduce.jobhistory.done-dir": "/history/done",
    }
    with small_stack(tmp_path_factory.mktemp("site"), clients=2, settings=places) as stack:
        stack.hdfs.shell("-mkdir", "-p", "/history/ended", "/history/done", "/tmp/staging", "/user/someone")
        stack.hdfs.shell("-chmod", "-R", "1777", "/history", "/tmp")
        stack.hdfs.shell("-put", "/etc/hosts", "/user/someone/hosts")
        stack.settle()  # the history server is there, as a site's is
        yield stack


def run_of(workload: str, size: int, **parameters) -> Run:
    row = {"run_id": "r", "block": "b", "order": 1, "experiment": "e", "workload": workload, "replicate": 1, "seed": 0}
    return Run(row, {}, {"fabric": "10gbe", "replication": 2, **parameters}, {}, Scale(100, 1.0, BLOCK, size), 10.0)


def listing(site: Stack) -> list[str]:
    return [line.split()[-1] for line in site.hdfs.shell("-ls", "-R", "/user").output.splitlines() if line[:1] in "-d"]


def copied(site: Stack, folder: str, insert: str = "") -> str:
    """A copy of the site's configuration on its clients; `insert` comes first in core-site.xml."""
    for host in site.testbed.by_role("client"):
        host.run(["rm", "-rf", folder]).check()
        host.run(["cp", "-R", "-L", site.hdfs.installation.configuration, folder]).check()
        host.run(["sed", "-i", f"s|<configuration[^>]*>|&{insert}|", f"{folder}/core-site.xml"]).check()
    return folder


def test_puts_run_in_a_folder_of_their_own_and_nothing_else_is_touched(site, tmp_path):
    before = listing(site)
    there = Existing(site.testbed, software.installation(), site.hdfs.installation.configuration, "/user/me", tmp_path)
    guest = Stack(there, there)
    try:
        guest.start()
        run = run_of("hdfs_put", 3 * BLOCK, clients=2, puts_per_client=2)
        result = workload_of("hdfs_put").run(StackBench(guest, run))
        folder, during = there.folder, listing(site)
    finally:
        guest.stop()
    assert sorted(o["operation"] for o in result.record["operations"]) == ["put1", "put1", "put2", "put2"]
    assert all(o["end"] >= o["start"] > 1e9 for o in result.record["operations"])
    values = run_metrics(result.record, result.files)
    assert values["user_bytes"] == 4 * 3 * BLOCK
    assert values["replicas_distinct_min"] == 2
    assert values["client_wire_bytes"] > 4 * 3 * BLOCK
    assert [path for path in during if path.endswith("put1")]
    own = folder.partition("9000")[2]
    assert all(path.startswith((own, "/user/me", "/user/someone")) for path in during)
    after = listing(site)
    assert folder.rpartition("/")[2] not in " ".join(after)
    assert [path for path in after if path != "/user/me"] == [path for path in before if path != "/user/me"]
    assert site.hdfs.shell("-cat", "/user/someone/hosts").output


def test_jobs_run_on_the_sites_own_yarn_and_are_known_though_the_site_logs_warnings_alone(site, tmp_path):
    clients, folder = site.testbed.by_role("client"), copied(site, "/tmp/quiet-site")
    lines = (
        "log4j.rootLogger=WARN,console",
        "log4j.appender.console=org.apache.log4j.ConsoleAppender",
        "log4j.appender.console.layout=org.apache.log4j.SimpleLayout",
    )
    for host in clients:
        host.put("\n".join(lines).encode() + b"\n", f"{folder}/log4j.properties")
    there = Existing(site.testbed, software.installation(), folder, "/user/me", tmp_path)
    guest = Stack(there, there)
    try:
        guest.start()
        made = workload_of("teragen").run(StackBench(guest, run_of("teragen", 1_000_000, maps=2)))
        (job,) = made.record["jobs"]
    finally:
        guest.stop()
    assert job["state"] == "SUCCEEDED"
    assert len([task for task in job["tasks"] if task["type"] == "MAP"]) == 2
    # The site's folder is as it was.
    assert clients[0].get(f"{folder}/log4j.properties").decode().splitlines() == [*lines]


def test_nothing_is_left_where_a_client_has_died(site, tmp_path, capsys):
    there = Existing(site.testbed, software.installation(), site.hdfs.installation.configuration, "/user/me", tmp_path)
    there.start()
    folder = there.folder.rpartition("/")[2]
    assert folder in " ".join(listing(site))
    there.clients[0].process.kill()
    there.stop()
    assert folder not in " ".join(listing(site))
    assert not capsys.readouterr().err


def test_a_final_file_system_of_the_site_is_not_the_clients_root(site, tmp_path):
    """As Ambari's clusters have it: fs.defaultFS is final. A folder of the site's has the name of a run's."""
    root = site.hdfs.values["fs.defaultFS"]
    final = f"<property><name>fs.defaultFS</name><value>{root}</value><final>true</final></property>"
    folder = copied(site, "/tmp/final-site", final)
    site.hdfs.shell("-mkdir", "-p", "/data/of-the-site").check("-mkdir")
    puts = Existing(site.testbed, software.installation(), folder, "/user/me", tmp_path, jobs=False)
    with puts:
        assert puts.shell("-put", "/etc/hosts", "/data").status == 0
        assert f"{puts.folder.removeprefix(root)}/data" in listing(site)
        puts.remove("/data")
        assert f"{puts.folder.removeprefix(root)}/data" not in listing(site)
    assert site.hdfs.shell("-test", "-d", "/data/of-the-site").status == 0
    jobs = Existing(site.testbed, software.installation(), folder, "/user/me", tmp_path)
    with pytest.raises(UserError, match="/tmp/final-site/core-site.xml on client1: fs.defaultFS: found <final>true"):
        jobs.start()


def test_a_history_server_that_cannot_be_reached_stops_jobs_before_they_run(site, tmp_path):
    folder, key = copied(site, "/tmp/elsewhere"), "mapreduce.jobhistory.webapp.address"
    for host in site.testbed.by_role("client"):
        host.run(["sed", "-i", "s/:19888</:9</", f"{folder}/site.xml"]).check()
    before = listing(site)
    there = Existing(site.testbed, software.installation(), folder, "/user/me", tmp_path)
    with pytest.raises(UserError, match=rf"{folder} on client1: {key}: no answer .*:9: curl: \(7\)"):
        there.start()
    assert listing(site) == before
    without_jobs = Existing(site.testbed, software.installation(), folder, "/user/me", tmp_path, jobs=False)
    without_jobs.start()
    without_jobs.stop()


def test_a_configuration_that_is_not_there(site, tmp_path):
    there = Existing(site.testbed, software.installation(), "/nowhere", "/user/me", tmp_path)
    with pytest.raises(UserError, match=r"/nowhere: fs.defaultFS: found 'file:.*', expected hdfs://"):
        there.start()
