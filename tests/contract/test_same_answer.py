"""The same links, so the same answer: one paper's claim judged from runs on each kind of testbed."""

from __future__ import annotations

import shutil

import pytest
import yaml

from tests.support.answers import TEMPLATE, describe, template_paper, verdicts
from tests.support.limits import wide
from tests.support.site import SCALE
from whitewire.measure import drives
from whitewire.paths import HOME


@pytest.fixture(scope="module")
def testbeds(tmp_path_factory, emulated_config, ssh_config, slurm_site, slurm_config, request):
    """Names of testbeds: the three, and where Apptainer is there, both sites in an image.

    The current folder has them, and two cells of the template's paper, without drives, at the sites' scale.
    """
    configs = {"emulated": emulated_config, "ssh": ssh_config, "slurm": slurm_config}
    if shutil.which("apptainer"):
        in_image = request.getfixturevalue("in_image")
        configs |= {f"{kind}-image": configs[kind] | in_image for kind in ("ssh", "slurm")}
    top = tmp_path_factory.mktemp("answer")
    shutil.copytree(HOME / "config", top / "config")
    paper = template_paper(SCALE, {"smoke": 1, "quick": 2, "full": 2})
    (top / "config" / "papers" / f"{TEMPLATE}.yaml").write_text(yaml.safe_dump(paper))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(top)
        for name, config in configs.items():
            describe(name, config | {"limits": wide(config["limits"], config["kind"])})
        patch.setenv("OUTLIERS", "mark")  # all hosts share this machine's drives
        patch.setitem(drives.EFFORTS, "quick", drives.EFFORTS["smoke"])  # the sites' drives are this machine's memory
        yield [*configs]


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_all_testbeds_agree(testbeds):
    found = {name: verdicts(TEMPLATE, name, "quick")["N-C01"] for name in testbeds}
    assert {row["route"] for row in found.values()} == {"emulated"}  # the sites' links are slowed down as well
    assert all(int(row["n"]) == 6 for row in found.values())
    assert len({row["verdict"] for row in found.values()}) == 1, found
    ratios = [float(row["estimate"]) for row in found.values()]
    assert max(ratios) / min(ratios) < 1.25, ratios
