"""The Emulex paper's smoke experiment with all its 15 hosts on each kind of testbed: same links, same answer."""

from __future__ import annotations

import shutil

import pytest
import yaml

from tests.support.answers import describe, verdicts
from tests.support.limits import wide
from tests.support.site import description, open_slurm_site, open_ssh_site
from whitewire.measure import drives
from whitewire.measure.drives import DriveEffort
from whitewire.paths import HOME
from whitewire.units import MIB

PAPER = "emulex-2012"
ROLES = {"namenode": 1, "datanode": 11, "client": 3}
RUNS = 3
"""Runs of each cell: with one, as smoke has it, nearly every measured claim stays inconclusive everywhere."""
K = 300
"""More than the paper's own: fewer bytes a second leave this machine's processors time for 15 nodes' connections."""

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def project(tmp_path_factory, can_emulate, emulated_config):
    """The paper without its drives, which a site on this machine's memory does not have, and three testbeds."""
    top = tmp_path_factory.mktemp("smoke")
    shutil.copytree(HOME / "config", top / "config")
    path = top / "config" / "papers" / f"{PAPER}.yaml"
    paper = yaml.safe_load(path.read_text())
    paper["scale"]["k"] = K
    del paper["biases"]  # of the paper's own k
    paper["replicates"]["smoke"]["claimed"] = RUNS
    for experiment in paper["experiments"]:
        if "smoke" in experiment.get("efforts", ["smoke"]):
            experiment.pop("hardware", None)
    path.write_text(yaml.safe_dump(paper))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(top)
        patch.setenv("OUTLIERS", "mark")  # all hosts share this machine's drives
        # The sites' drives are this machine's memory: one point of each is enough.
        patch.setitem(drives.EFFORTS, "smoke", DriveEffort(4 * MIB, 0.1, 1, (MIB,), (1,)))
        # The site's hosts each hold Hadoop as well, and a DataNode leaves the last GiB of a drive alone.
        own = {"limits": wide(emulated_config["limits"]), "memory": emulated_config["memory"] | {"storage_gib": 6}}
        yield emulated_config | own, tmp_path_factory.mktemp("servers")


def answer(kind: str, config: dict) -> dict[str, dict[str, str]]:
    """Every claim's row on a testbed of this description."""
    describe(kind, config)
    return verdicts(PAPER, kind, "smoke")


def test_all_testbeds_agree(project):
    emulated, servers = project
    found = {"emulated": answer("emulated", emulated)}
    with open_ssh_site(emulated, ROLES, K, servers) as site:
        found["ssh"] = answer("ssh", site.description(emulated["limits"]) | {"scale": K, "data": ["/tmp/data1"]})
    with open_slurm_site(emulated, ROLES, K, servers):
        found["slurm"] = answer("slurm", description(emulated["limits"], "slurm", scale=K, data=["/tmp/data1"]))
    for kind, rows in found.items():
        for claim, row in rows.items():
            own = found["emulated"][claim]
            assert (row["verdict"], row["route"]) == (own["verdict"], own["route"]), (kind, claim)
            if row["estimate"] and own["estimate"]:
                assert float(row["estimate"]) == pytest.approx(float(own["estimate"]), rel=0.2), (kind, claim)
    measured = [claim for claim, row in found["ssh"].items() if row["route"] == "emulated" and int(row["n"] or 0)]
    assert measured
