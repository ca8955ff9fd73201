"""The testbeds that keep the contract: emulated hosts, and sites of such hosts with real sshd or Slurm on them."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SMALL
from tests.support import images
from tests.support.site import DATA, SCALE, WORK, description, in_the_job, open_nodes, open_ssh_site
from whitewire.description.files import validate_by_schema
from whitewire.paths import HOME
from whitewire.testbed.base import Testbed
from whitewire.testbed.emulated import software
from whitewire.testbed.emulated.sandbox import EmulatedTestbed
from whitewire.testbed.site.job import JobTestbed
from whitewire.testbed.site.ssh import SshTestbed


@dataclass(frozen=True)
class Kind:
    """A way to open a testbed: in this process, in another one (as text of a program), and what it must not leave."""

    make: Callable[[], Testbed]
    program: str
    leftovers: Callable[[], list[str]]


@pytest.fixture(scope="package", autouse=True)
def temporary() -> Iterator[Path]:
    """The folder of this process's temporary files, because tests of other processes leave some in /tmp meanwhile."""
    with tempfile.TemporaryDirectory(prefix="sites-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


@pytest.fixture(scope="module")
def emulated(can_emulate, emulated_config):
    def leftovers() -> list[str]:
        mounts = [line for line in Path("/proc/self/mounts").read_text().splitlines() if "whitewire/hosts" in line]
        return mounts + [name for name in os.listdir("/sys/class/net") if name.startswith(("port", "switch"))]

    program = f"""
from whitewire.testbed.emulated import software
from whitewire.description.testbed import load_testbed
from whitewire.testbed.emulated.sandbox import EmulatedTestbed
testbed = EmulatedTestbed(load_testbed("emulated"), {SMALL!r}, 20, software.binds())
"""
    return Kind(lambda: EmulatedTestbed(emulated_config, SMALL, 20, software.binds()), program, leftovers)


@pytest.fixture(scope="package")
def ssh_site(can_emulate, emulated_config, tmp_path_factory):
    """Six hosts that are reached by ssh; all modules share them, and leave them as they were."""
    with open_ssh_site(emulated_config, SMALL, SCALE, tmp_path_factory.mktemp("site")) as site:
        yield site


@pytest.fixture(scope="module")
def ssh_config(ssh_site, emulated_config):
    config = ssh_site.description(emulated_config["limits"])
    validate_by_schema(config, "testbed", "site.yaml")
    return config


@pytest.fixture(scope="module")
def ssh(ssh_site, ssh_config, temporary):
    return remote_kind(ssh_site, ssh_config, SshTestbed, temporary)


@pytest.fixture(scope="package")
def nodes(can_emulate, emulated_config, tmp_path_factory):
    """Six nodes of a Slurm cluster, all of them in one job; all modules share them, and leave them as they were."""
    with open_nodes(emulated_config, SMALL, SCALE, tmp_path_factory.mktemp("slurm")) as site:
        yield site


@pytest.fixture(scope="module")
def slurm_site(nodes):
    """These nodes, with this process in their job as far as it can tell."""
    with in_the_job(nodes):
        yield nodes


@pytest.fixture(scope="module")
def slurm_config(emulated_config):
    config = description(emulated_config["limits"], "slurm")
    validate_by_schema(config, "testbed", "site.yaml")
    return config


@pytest.fixture(scope="module")
def slurm(slurm_site, slurm_config, temporary):
    return remote_kind(slurm_site, slurm_config, JobTestbed, temporary)


@pytest.fixture(scope="module")
def slurm_testbed(slurm):
    """Six hosts over srun."""
    with slurm.make() as testbed:
        yield testbed


@pytest.fixture(scope="package")
def shelf() -> Iterator[Path]:
    """A folder that all hosts see: /tmp is each host's own."""
    if HOME.is_relative_to("/tmp"):
        pytest.skip("hosts have a /tmp of their own and do not see this clone")
    with tempfile.TemporaryDirectory(dir=HOME / ".cache") as folder:
        yield Path(folder)


@pytest.fixture(scope="package")
def image(shelf) -> Path:
    if shutil.which("apptainer") is None:
        pytest.skip("no apptainer on the PATH: CONTRIBUTING.md says where it is from")
    return images.image(shelf)


@pytest.fixture(scope="package")
def in_image(image) -> dict[str, Any]:
    """What an image adds to a description."""
    return {"image": {"path": str(image)}, "path": [str(Path(shutil.which("apptainer") or "").parent)]}


def remote_kind(site, config, testbed_class, temporary: Path) -> Kind:
    program = f"""
import json, tempfile
from {testbed_class.__module__} import {testbed_class.__name__}
tempfile.tempdir = {str(temporary)!r}
testbed = {testbed_class.__name__}(json.loads({json.dumps(config)!r}), {SMALL!r})
"""
    return Kind(lambda: testbed_class(config, SMALL), program, lambda: leftovers_of(site, temporary))


def leftovers_of(site, temporary: Path) -> list[str]:
    """Folders of runs on the site's hosts and of control sockets here, and processes of runs."""
    found = [str(path) for path in temporary.glob("whitewire-*")]
    for host in site.testbed.hosts:
        done = host.run(["find", WORK, *DATA, "-name", "whitewire-*"])
        found += [f"{host.name}: {line}" for line in done.stdout.decode().splitlines()]
    marked = site.testbed.inside(["sh", "-c", "grep -lsF WHITEWIRE_RUN= /proc/[0-9]*/environ"])
    return found + marked.stdout.decode().split()


@pytest.fixture(scope="module")
def ssh_testbed(ssh):
    """Six hosts over ssh."""
    with ssh.make() as testbed:
        yield testbed
