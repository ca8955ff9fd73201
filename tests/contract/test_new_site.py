"""`whitewire site` over real sshd and in a real Slurm job: its file is valid, and doctor goes on with it."""

import shutil
from pathlib import Path

import pytest
import yaml

from tests.support.site import DATA, WORK
from whitewire import cli
from whitewire.description.testbed import read_testbed

pytestmark = pytest.mark.sandbox

NAMES = ["namenode", "datanode1", "datanode2", "datanode3", "datanode4", "client"]


@pytest.fixture
def project(tmp_path, monkeypatch):
    shutil.copytree(Path(__file__).parents[2] / "config", tmp_path / "config")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files_of(site):
    """All files and folders of each host's own that a user could have written."""
    return {host.name: sorted(host.run(["find", "/tmp", "/var/tmp", "-xdev"]).stdout.split())
            for host in site.testbed.hosts}  # fmt: skip


def edited(path):
    """What only the user knows: folders, and how much of them."""
    described = yaml.safe_load(path.read_text())
    described |= {"work": WORK, "data": DATA, "memory": {"minimum_gib": 1}, "disk": {"minimum_gib": 0.01}}
    path.write_text(yaml.safe_dump(described, sort_keys=False))
    return described


def test_hosts_of_a_list_are_asked_by_ssh(project, ssh_site, capfd):
    (project / "hosts.txt").write_text("".join(f"{name} slots=2\n" for name in NAMES))
    before = files_of(ssh_site)
    assert cli.main(["site", "lab", "--from", "hosts.txt", "--ssh-config", str(ssh_site.config)]) == 0
    said = capfd.readouterr().out
    assert "made config/testbeds/lab.yaml" in said and "make doctor TESTBED=lab" in said
    assert files_of(ssh_site) == before

    path = project / "config" / "testbeds" / "lab.yaml"
    found = read_testbed(path)
    assert [(host["ssh"], host["role"]) for host in found["hosts"]] == [(n, n.rstrip("1234")) for n in NAMES]
    assert found["ssh_config"] == str(ssh_site.config)
    # Both networks of the site are veth, which call themselves 10 Gbit/s.
    assert found["fabrics"] == {"10gbe": {"rate_mbit_per_s": 10000, "interface": "eth0"}}
    assert "look: 10.78.0.0/24 (eth1) is as fast as 10gbe above" in said
    assert "Java 17" in path.read_text()

    edited(path)
    assert cli.main(["doctor", "--testbed", "lab"]) == 0
    table = capfd.readouterr().err
    assert table.count(" ok ") == len(NAMES) and "10gbe=eth0:10000/1500" in table


def test_a_host_that_does_not_answer_is_named_and_nothing_is_written(project, ssh_site, capfd):
    (project / "hosts.txt").write_text("namenode\ndatanode1\nnode99\nclient\n")
    assert cli.main(["site", "lab", "--from", "hosts.txt", "--ssh-config", str(ssh_site.config)]) == 2
    said = capfd.readouterr().err
    assert said.startswith("whitewire: error: hosts.txt (hosts): 1 of 4 hosts do not answer: line 3 (node99): ")
    assert not (project / "config" / "testbeds" / "lab.yaml").exists()


def test_one_machine_under_two_names(project, ssh_site, capfd):
    try:
        ssh_site.write_config(ssh_site.proxies | {"other": ssh_site.proxies["client"]})
        ssh_site.write_known_hosts(ssh_site.public | {"other": ssh_site.public["client"]})
        (project / "hosts.txt").write_text("namenode\ndatanode1\nother\nclient\n")
        assert cli.main(["site", "lab", "--from", "hosts.txt", "--ssh-config", str(ssh_site.config)]) == 2
    finally:
        ssh_site.write_config(ssh_site.proxies)
        ssh_site.write_known_hosts(ssh_site.public)
    assert "hosts: found other and client with the same addresses, expected another machine" in capfd.readouterr().err


def test_the_nodes_of_a_slurm_job(project, slurm_site, capfd):
    assert cli.main(["site", "nodes"]) == 0
    path = project / "config" / "testbeds" / "nodes.yaml"
    found = read_testbed(path)
    assert found["kind"] == "slurm" and "hosts" not in found
    assert set(found["fabrics"]) == {"10gbe"}
    assert "6 hosts of this job of Slurm" in path.read_text()

    edited(path)
    capfd.readouterr()
    assert cli.main(["doctor", "--testbed", "nodes"]) == 0
    assert capfd.readouterr().err.count(" ok ") == len(NAMES)
