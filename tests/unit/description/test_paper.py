"""The paper's file: complete, and every fault of it is one telling line."""

from __future__ import annotations

import pytest

from tests.support.papers import PAPER, TESTBED, edited, paper
from whitewire.description import files
from whitewire.description.checks import load_paper
from whitewire.errors import UserError
from whitewire.models import MODELS


def test_schema_lists_every_model():
    schema = files.schema("paper")
    assert sorted(schema["$defs"]["model"]["enum"]) == sorted(MODELS)
    assert schema["additionalProperties"] is False


def test_values_are_named_with_an_underscore():
    loaded = paper()
    assert loaded.evaluate("E_V10 / E_V07") == pytest.approx(831 / 216)
    assert loaded.evaluate("E_V27[3]") == 6
    assert loaded.evaluate(3) == 3.0


def _claim(data: dict, claim: str) -> dict:
    return next(c for c in data["claims"] if c["id"] == claim)


AMENDMENT = {"date": "2026-11-28", "claims": ["E-C06"], "what": "a tolerance", "why": "a reason"}
FAULTS = {
    "no scale": (lambda d: d.pop("scale"), "scale: found null, expected one"),
    "missing exhibit": (lambda d: _claim(d, "E-C06").update(exhibits=["tabel1"]), 'did you mean "table1"'),
    "missing experiment": (
        lambda d: _claim(d, "E-C28")["test"]["numerator"].update(experiment="put-tune"),
        'did you mean "put-tuned"',
    ),
    "missing level": (
        lambda d: _claim(d, "E-C06")["test"]["numerator"]["where"].update(fabric="11gbe"),
        'did you mean "1gbe"',
    ),
    "missing factor": (
        lambda d: _claim(d, "E-C06")["test"]["numerator"]["where"].pop("clients"),
        "a level of clients too",
    ),
    "missing value": (lambda d: _claim(d, "E-C03")["test"].update(expression="E_V010 / 2"), "E_V10"),
    "missing audit": (lambda d: _claim(d, "E-C03").update(audit="E-A77"), 'did you mean "E-A7"'),
    "factor of nothing": (
        lambda d: d["experiments"][0]["factors"].update(block_size_byte=[1]),
        'did you mean "block_size_bytes"',
    ),
    "parameter of jobs": (
        lambda d: d["experiments"][0]["parameters"].update(reduces=3),
        'found "reduces", expected a parameter that hdfs_put reads',
    ),
    "factor of jobs": (
        lambda d: d["experiments"][0]["factors"].update(splits=[1, 2]),
        'factors: found "splits", expected what runs of hdfs_put can vary',
    ),
    "unknown factor": (lambda d: d["experiments"][0]["factors"].update(frames=[1500, 9000]), 'factors: found "frames"'),
    "more combinations than levels have": (
        lambda d: d["experiments"][0].update(only=[{"clients": n} for n in range(1000)]),
        "at most 200 items",
    ),
    "claim id twice": (lambda d: d["claims"][1].update(id="E-C01"), "every id only once"),
    "value of no exhibit": (lambda d: d["values"][0].update(exhibit="fig55"), 'did you mean "fig5"'),
    "route that cannot be": (lambda d: _claim(d, "E-C03").update(routes=["emulated"]), "arithmetic"),
    "no tolerance": (lambda d: _claim(d, "E-C06")["test"].pop("relative"), "relative, absolute"),
    "headline of no claim": (lambda d: d.update(headline="E-C66"), 'headline: found "E-C66"'),
    "amendment of no claim": (
        lambda d: d.update(amendments=[AMENDMENT | {"claims": ["E-C66"]}]),
        'amendments[0].claims: found "E-C66"',
    ),
    "amendment of no day": (
        lambda d: d.update(amendments=[AMENDMENT | {"date": "2026-02-30"}]),
        "a day of the calendar",
    ),
    "smallest effect of a size": (
        lambda d: _claim(d, "E-C06")["test"].update(smallest_effect={"value": 0.05, "why": "scatter"}),
        "only a claim of direction",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_one_line_that_names_the_file_and_the_way_out(name, tmp_path):
    change, hint = FAULTS[name]
    with pytest.raises(UserError) as caught:
        load_paper(edited(tmp_path, change), TESTBED["fabrics"])
    message = str(caught.value)
    assert "\n" not in message
    assert "emulex-2012.yaml" in message
    assert hint in message


def test_a_fabric_may_be_missing_where_the_experiment_says_so():
    with pytest.raises(UserError, match="fabric"):
        load_paper(PAPER, ["1gbe"])
    assert load_paper(PAPER, ["1gbe", "10gbe"]).id == "emulex-2012"
