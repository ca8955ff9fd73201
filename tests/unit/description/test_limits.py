"""Bounds of validity: which a file may lack, and the page that has each."""

import yaml

from whitewire.description import files
from whitewire.description.testbed import load_testbed, read_testbed
from whitewire.paths import HOME

EMULATED = load_testbed("emulated")


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
