"""The tests' own descriptions of testbeds are ones that the program takes."""

import pytest
import yaml

from tests.support.chaos_project import Project
from tests.support.limits import of_kind, wide
from tests.support.site import description
from whitewire.description import files
from whitewire.description.testbed import load_testbed, read_testbed
from whitewire.paths import HOME

EMULATED = load_testbed("emulated")


@pytest.mark.parametrize("kind", ["ssh", "slurm"])
@pytest.mark.parametrize("bounds", [EMULATED["limits"], wide(EMULATED["limits"]), wide(EMULATED["limits"], "ssh")])
def test_sites_get_the_bounds_of_sites(kind, bounds, tmp_path):
    hosts = {"ssh_config": "x", "hosts": [{"ssh": "a", "role": "namenode"}]} if kind == "ssh" else {}
    (tmp_path / "site.yaml").write_text(yaml.safe_dump(description(bounds, kind, **hosts)))
    limits = read_testbed(tmp_path / "site.yaml")["limits"]
    assert limits["cpu_idle_floor"] == 0.0 and "cpu_late_ms" not in limits


def test_an_emulated_testbed_keeps_what_no_load_changes():
    limits = wide(of_kind(EMULATED["limits"], "ssh"))
    assert limits["wire_excess_high"] == EMULATED["limits"]["wire_excess_high"]
    assert set(limits) == set(EMULATED["limits"])
    assert limits["cpu_late_ms"] > EMULATED["limits"]["cpu_late_ms"]


def test_what_others_may_use_has_a_default(tmp_path):
    limits = {name: bound for name, bound in EMULATED["limits"].items() if name != "cpu_outside"}
    described = EMULATED | {"fabrics": dict(EMULATED["fabrics"]), "limits": limits}
    (tmp_path / "old.yaml").write_text(yaml.safe_dump(described))
    assert "cpu_outside" not in read_testbed(tmp_path / "old.yaml")["limits"]


def test_the_page_of_validity_has_each_bound():
    text = (HOME / "docs" / "inside" / "scale-model.md").read_text(encoding="utf-8")
    bounds = files.schema("testbed")["$defs"]["limits"]["properties"]
    lacking = [name for name in bounds if f"`{name}`" not in text]
    assert lacking == [], "name each in docs/inside/scale-model.md, under When a run counts"


def test_a_testbed_of_the_chaos_suite_can_be_read(tmp_path):
    (tmp_path / "config" / "testbeds").mkdir(parents=True)
    project = Project(tmp_path, tmp_path, None)
    project.describe("emulated", EMULATED | {"fabrics": dict(EMULATED["fabrics"])})
    assert read_testbed(tmp_path / "config" / "testbeds" / "chaos-emulated.yaml")["kind"] == "emulated"
