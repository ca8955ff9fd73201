"""A paper that asks for too much, and one with a number that is none, are reported in one line before it is planned."""

from __future__ import annotations

import copy
import time

import pytest

from tests.support import bad_input, quick_yaml
from whitewire.description import reading
from whitewire.description.testbed import load_testbed
from whitewire.errors import UserError
from whitewire.paths import HOME
from whitewire.workflow.checked_paper import check_unique, checked_paper

TEMPLATE = quick_yaml.load((HOME / "docs" / "template" / "paper.yaml").read_text(encoding="utf-8"))
TESTBED = load_testbed("emulated")


def factors(data: dict) -> dict:
    return data["experiments"][0]["factors"]


def ten_factors(data: dict) -> None:
    factors(data).update({f"factor{n}": list(range(10)) for n in range(10)})


TOO_MUCH = {
    "levels": (
        lambda d: factors(d).update(clients=list(range(1, 202))),
        "experiments[0].factors: found 1005 combinations of levels, expected at most 1000"),
    "factors": (ten_factors, "experiments[0].factors: found 50000000000 combinations of levels, expected at most 1000"),
    "levels without end": (
        lambda d: factors(d).update({f"factor{n}": list(range(100)) for n in range(100)}),
        "experiments[0].factors: found more than 10^18 combinations of levels, expected at most 1000"),
    "replicates": (
        lambda d: d["replicates"]["full"].update(claimed=10**9),
        "replicates.full.claimed: found 1000000000, expected at most 1000"),
    "runs": (
        lambda d: (d["replicates"]["full"].update(claimed=1000, other=1000),
                   d["experiments"].append({**copy.deepcopy(d["experiments"][0]), "id": "again"}),
                   d["experiments"].append({**copy.deepcopy(d["experiments"][0]), "id": "once-more"})),
        "replicates.full: found 17000 runs, expected at most 10000"),
    "blocks": (lambda d: d["blocks"].update(quick=5000), "blocks.quick: found 5000, expected at most 1000"),
    "hosts": (
        lambda d: d["experiments"][0]["roles"].update(datanode=1_000_000),
        "experiments[0].roles.datanode: found 1000000, expected at most 1000"),
    "less than nothing": (
        lambda d: d["experiments"][0]["parameters"].update(puts_per_client=-1),
        "experiments[0].parameters.puts_per_client: found -1, expected a whole number from 1 to 1000"),
    "a size beyond all": (
        lambda d: d["experiments"][0]["parameters"].update(size_bytes="1e30 TB"),
        'experiments[0].parameters.size_bytes: found "1e30 TB", expected a number of at most 1e+18 (B)'),
    "a sweep": (
        lambda d: d["sweeps"][0]["vary"].update(share=[0.5] * 200, factor=[2] * 100),
        "sweeps (speedup).vary: found 20000 combinations of values, expected at most 10000"),
    "a power tower": (
        lambda d: d["claims"][0]["test"].update(expected="9**9**9"),
        "claims[0] (N-C01).test.expected: expression '9**9**9': found a number that is too large to compute with, "
        "expected a finite one"),
    "a formula for a spreadsheet": (
        lambda d: d["claims"][0].update(statement='=HYPERLINK("http://x")'),
        'claims[0].statement: found "=HYPERLINK(\\"http://x\\")", expected text that a spreadsheet does not take for a '
        "formula: begin with a word"),
    "a formula with a sign": (
        lambda d: d["audit"][0]["checks"][0].update(note="-cmd|' /C calc'!A0"),
        "audit[0].checks[0].note: found \"-cmd|' /C calc'!A0\", expected text that a spreadsheet does not take for a "
        "formula: begin with a word"),
}  # fmt: skip


@pytest.mark.parametrize("name", TOO_MUCH)
def test_too_much_is_one_line_and_at_once(name, tmp_path):
    change, line = TOO_MUCH[name]
    data = copy.deepcopy(TEMPLATE)
    change(data)
    path = tmp_path / f"{data['id']}.yaml"
    path.write_text(quick_yaml.dump(data, sort_keys=False), encoding="utf-8")
    began = time.process_time()
    with pytest.raises(UserError) as raised:
        checked_paper(path, TESTBED)
    assert time.process_time() - began < 2
    assert str(raised.value).split(f"{path.name}: ", 1)[1] == line


def test_the_id_of_a_run_has_an_end():
    with pytest.raises(UserError, match="found a run's id of 300 characters .* expected at most 200"):
        check_unique([{"run_id": "x" * 300}], "p.yaml")


def numbers(base: str) -> list[bad_input.Place]:
    found = []
    for place in bad_input.places(DATA[base]):
        value = DATA[base]
        for key in place:
            value = value[key]
        if isinstance(value, int | float) and not isinstance(value, bool):
            found.append(place)
    return found


DATA = {base: bad_input.read(base) for base in ("paper template", "testbed emulated", "testbed ssh", "testbed slurm")}


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), float("-inf"), 1e30], ids=str)
@pytest.mark.parametrize("base", DATA)
def test_no_number_is_read_that_is_none(base, wrong, tmp_path):
    places = numbers(base)
    assert len(places) > 20
    for place in places:
        data = part = copy.deepcopy(DATA[base])
        for key in place[:-1]:
            part = part[key]
        part[place[-1]] = wrong
        path = tmp_path / "x.yaml"
        path.write_text(bad_input.as_text(data), encoding="utf-8")
        with pytest.raises(UserError, match="expected a (finite number|number of at most 1e.18)"):
            reading.load_yaml(path)
