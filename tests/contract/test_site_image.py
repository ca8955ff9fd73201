"""Hosts whose commands run in an image, with the real Apptainer over real sshd and a real Slurm."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.conftest import SMALL
from tests.contract.test_site_ssh import SLEEPER, sleepers, within
from tests.support import images
from tests.support.answers import verdicts
from tests.support.limits import wide
from tests.support.site import description, open_slurm_site, open_ssh_site
from whitewire.errors import UserError
from whitewire.measure import drives
from whitewire.measure.drives import DriveEffort
from whitewire.paths import HOME
from whitewire.testbed.site import shell
from whitewire.testbed.site.job import JobTestbed
from whitewire.testbed.site.ssh import SshTestbed
from whitewire.units import MIB

OPEN = {"ssh": SshTestbed, "slurm": JobTestbed}
FEW = {"namenode": 1, "datanode": 1}


@pytest.fixture(scope="module", params=list(OPEN))
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def site(kind, request):
    return request.getfixturevalue({"ssh": "ssh_site", "slurm": "slurm_site"}[kind])


@pytest.fixture(scope="module")
def config(kind, in_image, request):
    return request.getfixturevalue(f"{kind}_config") | in_image


@pytest.fixture
def without_java(site):
    """Hosts that have no Java of their own."""
    for host in site.testbed.hosts:
        site.hide(host, "/usr/bin/java", b"", "644")
    yield
    for host in site.testbed.hosts:
        site.as_root(host, "umount", "/usr/bin/java")


def test_hosts_without_java_pass_with_the_images_java(kind, config, site, image, without_java, capfd):
    testbed = OPEN[kind](config, SMALL, "site.yaml")
    assert testbed.preflight() == images.digest(image)
    table = capfd.readouterr().err
    assert " NO " not in table
    assert f"note: image: {images.digest(image)[:12]} in apptainer version " in table
    with testbed:
        described = testbed.describe()
        assert {host["image"] for host in described.values()} == {f"{images.digest(image)}  {image}"}
        assert all("version" in host["java"] and "iperf" in host["iperf3"] for host in described.values())
        assert testbed.hosts[0].run(["java", "-version"]).status == 0
        assert testbed.hosts[0].run_outside(["java", "-version"]).status != 0


def test_what_commands_see_of_a_host(kind, config):
    with OPEN[kind](config, FEW) as testbed:
        host = testbed.hosts[1]
        assert host.run(["ls", "/dev/shm"]).status == 0
        assert host.run(["cmp", "/proc/sys/kernel/random/boot_id", "/dev/stdin"], stdin=host.boot_id.encode() + b"\n",
                        ).status == 0  # fmt: skip
        assert host.run(["find", "/home", "/root", "-mindepth", "1"]).stdout == b""
        names = {line.split("=")[0] for line in host.run(["env"]).stdout.decode().splitlines()}
        assert names <= {"PATH", "LC_ALL", shell.MARKER, "PWD", "OLDPWD", "_"}
        for number in (1, 2):
            host.run(["sh", "-c", f"echo block > {host.drive(number)}/b"]).check()
            assert host.run_outside(["cat", f"{host.drive(number)}/b"]).stdout == b"block\n"
        done = host.run(["sh", "-c", "printf 'a\\n\\0b'; echo no >&2; exit 7"])
        assert (done.status, done.stdout, done.stderr) == (7, b"a\n\0b", b"no\n")


def test_a_daemon_and_its_children_end_and_the_image_is_unmounted(kind, config, site, tmp_path):
    with OPEN[kind](config, FEW) as testbed:
        host = testbed.hosts[1]
        daemon = host.start(SLEEPER, tmp_path / "log")
        daemon.wait_ready("started", timeout=20)
        assert sleepers(site, "datanode1") == 2
        assert daemon.cpu_seconds() >= 0
        with testbed.sampler():
            pass
        daemon.kill()
        assert sleepers(site, "datanode1") == 0
        with pytest.raises(subprocess.TimeoutExpired):
            host.run(SLEEPER, timeout=3)
        assert within(5, lambda: sleepers(site, "datanode1") == 0)
        assert within(10, lambda: not images.processes(site))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("running", [0.0, 2.0], ids=["starting", "running"])
def test_killing_the_launcher_leaves_nothing(kind, config, site, tmp_path, number, running):
    """Also what is just starting, whose command Apptainer has not begun yet."""
    program = f"""
import time
from pathlib import Path
from {OPEN[kind].__module__} import {OPEN[kind].__name__}
with {OPEN[kind].__name__}({config!r}, {SMALL!r}) as testbed:
    daemons = [host.start({SLEEPER!r}, Path({str(tmp_path)!r}) / host.name) for host in testbed.hosts]
    if {running}:
        for daemon in daemons:
            daemon.wait_ready("started", timeout=60)
    print("up", flush=True)
    time.sleep(600)
"""
    owner = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=HOME)
    try:
        assert owner.stdout.readline() == b"up\n"
    finally:
        os.kill(owner.pid, number)
        owner.wait()
        owner.stdout.close()

    def left() -> list:
        folders = [host.run(["find", "/tmp/work", "/tmp/data1", "/tmp/data2", "-name", "whitewire-*"]).stdout.split()
                   for host in site.testbed.hosts]  # fmt: skip
        return [*images.processes(site), *(sleepers(site, host.name) for host in site.testbed.hosts), *sum(folders, [])]

    assert within(30, lambda: not any(left())), left()


# -- images that cannot be used --------------------------------------------------------------------------------


def refused(kind, config, capfd, **changes) -> str:
    with pytest.raises(UserError) as error:
        OPEN[kind](config | changes, SMALL, "site.yaml").preflight()
    capfd.readouterr()
    return str(error.value)


def test_an_image_that_differs_on_one_host(kind, config, site, image, shelf, capfd):
    other, host = shelf / "longer.sif", site.testbed.host("datanode2")
    shutil.copyfile(image, other)
    with other.open("ab") as file:
        file.write(b"\0")
    site.as_root(host, "mount", "--bind", str(other), str(image))
    try:
        said = refused(kind, config, capfd)
    finally:
        site.as_root(host, "umount", str(image))
    assert said.startswith("site.yaml: 1 of 6 hosts cannot be used: datanode2 (datanode2): image ")
    assert f"on other hosts {images.digest(image)[:12]}" in said


def test_an_image_without_java_of_another_architecture_and_none(kind, config, image, shelf, capfd):
    bare = images.image(shelf, "bare", java=False)
    assert "6 of 6 hosts cannot be used" in (said := refused(kind, config, capfd, image={"path": str(bare)}))
    assert said.endswith(": no Java in the image")
    other = images.of_other_machines(bare)
    said = refused(kind, config, capfd, image={"path": str(other)})
    assert "the image's architecture (arm64) could not run on the host's (amd64)" in said
    said = refused(kind, config, capfd, image={"path": str(shelf / "none.sif")})
    assert said.endswith(": the image's file is not there")
    assert refused(kind, config, capfd, path=[]).endswith("no apptainer (a folder that holds it: `path`)")


def test_a_host_without_user_namespaces(kind, config, site, capfd):
    """As an administrator forbids them: no more of them for the site's user."""
    limit = "/proc/sys/user/max_user_namespaces"
    host = site.testbed.host("datanode3")
    before = host.run(["cat", limit]).stdout.decode().strip()
    done = subprocess.run(site.as_user(host, ["sh", "-c", f"echo 0 > {limit}"]))
    if done.returncode != 0:
        pytest.skip("this kernel lets no namespace be forbidden here")
    try:
        said = refused(kind, config, capfd)
    finally:
        subprocess.run(site.as_user(host, ["sh", "-c", f"echo {before} > {limit}"]), check=True)
    assert "user namespace" in said and "docs/sites/containers.md" in said


def test_an_image_is_copied_once(kind, config, site, image, capfd):
    sent = config | {"image": {"copy": str(image)}}
    name = f"/tmp/work/image-{images.digest(image)[:12]}.sif"
    try:
        for copies in (2, 0):
            testbed = OPEN[kind](sent, FEW)
            testbed.preflight()
            assert capfd.readouterr().err.count("MB to ") == copies
        with testbed:
            assert testbed.hosts[1].run(["java", "-version"]).status == 0
    finally:
        for host in site.testbed.hosts:
            host.run(["rm", "-f", name])


# -- papers ----------------------------------------------------------------------------------------------------

PAPERS = {
    "mellanox-mapr": ({"namenode": 1, "datanode": 5, "client": 1}, 100),
    "emulex-2012": ({"namenode": 1, "datanode": 11, "client": 3}, 300),
}


@pytest.mark.cluster
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("paper", list(PAPERS))
@pytest.mark.parametrize("way", list(OPEN))
def test_a_paper_in_the_image(way, paper, image, in_image, tmp_path, monkeypatch, can_emulate, emulated_config):
    roles, k = PAPERS[paper]
    shutil.copytree(HOME / "config", tmp_path / "config")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OUTLIERS", "mark")  # all hosts share this machine's drives
    monkeypatch.setitem(drives.EFFORTS, "smoke", DriveEffort(4 * MIB, 0.1, 1, (MIB,), (1,)))
    (servers := tmp_path / "servers").mkdir()
    emulated = emulated_config | {"memory": emulated_config["memory"] | {"storage_gib": 6}}
    more = {"scale": k, "data": ["/tmp/data1"], **in_image}
    limits = wide(emulated["limits"], way)
    opened = {"ssh": open_ssh_site, "slurm": open_slurm_site}[way]
    with opened(emulated, roles, k, servers) as site:
        described = site.description(limits) if way == "ssh" else description(limits, "slurm")
        Path("config/testbeds/lab.yaml").write_text(yaml.safe_dump(described | more))
        found = verdicts(paper, "lab", "smoke")
        assert within(10, lambda: not images.processes(site))
    recorded = [json.loads(path.read_text()) for path in Path("results/lab").rglob("environment*.json")]
    used = {host["image"] for record in recorded for host in record["machines"].values()}
    assert used == {f"{images.digest(image)}  {image}"}
    with Path("results/lab", paper, "tidy", "runs.csv").open() as table:
        runs = [row for row in csv.DictReader(table) if row["valid"] == "true"]
    assert runs and found
