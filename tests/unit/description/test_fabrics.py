"""Fabrics that a name alone says all of."""

import pytest

from tests.unit.description.test_paper import edited
from whitewire.description.checks import load_paper
from whitewire.description.testbed import Fabrics, _named, load_testbed
from whitewire.design.rows import make_design
from whitewire.errors import UserError

TESTBED = load_testbed("emulated")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("25gbe", {"rate_mbit_per_s": 25000}),
        ("2.5gbe", {"rate_mbit_per_s": 2500}),
        ("0.1gbe", {"rate_mbit_per_s": 100}),
        ("50gbe-shared", {"rate_mbit_per_s": 50000, "shared": True}),
        ("10gbe-2racks-4to1", {"rate_mbit_per_s": 10000, "racks": {"count": 2, "oversubscription": 4}}),
        ("1gbe-3racks-2.5to1", {"rate_mbit_per_s": 1000, "racks": {"count": 3, "oversubscription": 2.5}}),
    ],
)
def test_a_name_says_rate_and_kind(name, expected):
    assert _named(name) == expected


@pytest.mark.parametrize(
    "name",
    ["25gb", "gbe", "0gbe", "10.0gbe", "010gbe", "1.2.3gbe", "25gbee", "1e3gbe", "-1gbe", "10gbe-1racks-4to1",
     "10gbe-2racks-0to1", "10gbe-2racks", "10gbe-02racks-4to1", "10gbe-2racks-4.0to1", "10gbe-shared-2racks-4to1"],
)  # fmt: skip
def test_other_names_say_nothing(name):
    assert _named(name) is None


def test_what_is_listed_counts_first_and_only_that_is_gone_through():
    fabrics = Fabrics({"25gbe": {"rate_mbit_per_s": 24000}})
    assert fabrics["25gbe"] == fabrics.get("25gbe") == {"rate_mbit_per_s": 24000}
    assert fabrics["50gbe"]["rate_mbit_per_s"] == 50000
    assert "50gbe" in fabrics and "fast" not in fabrics and 50 not in fabrics
    assert list(fabrics) == ["25gbe"]
    assert fabrics.get("fast", {}) == {}
    with pytest.raises(KeyError):
        fabrics["fast"]


def with_fabrics(tmp_path, *names):
    return edited(tmp_path, lambda d: d["experiments"][0]["factors"]["fabric"].extend(names))


def test_a_paper_may_name_any_rate_and_no_other_run_gets_another_id(tmp_path):
    before = load_paper(with_fabrics(tmp_path), TESTBED["fabrics"])
    ids = {row["run_id"] for row in make_design(before, TESTBED, "full", 1)}
    after = load_paper(with_fabrics(tmp_path, "25gbe", "2.5gbe"), TESTBED["fabrics"])
    rows = make_design(after, TESTBED, "full", 1)
    assert ids < {row["run_id"] for row in rows}
    assert {row["fabric"] for row in rows if row["run_id"] not in ids} == {"25gbe", "2.5gbe"}
    site = TESTBED | {"kind": "ssh", "fabrics": dict(TESTBED["fabrics"])}
    assert not {"25gbe", "2.5gbe"} & {row["fabric"] for row in make_design(after, site, "full", 1)}


@pytest.mark.parametrize(("name", "near"), [("25gbee", "5gbe"), ("10gb", "10gbe"), ("1gbe-sharedd", "1gbe-shared")])
def test_a_misspelt_name_gives_the_nearest(tmp_path, name, near):
    with pytest.raises(UserError, match=f'found "{name}", expected a fabric of the testbed; did you mean "{near}"'):
        load_paper(with_fabrics(tmp_path, name), TESTBED["fabrics"])
