"""A record's numbers are finite but where its form says that they need not be."""

import json
import math
from typing import Annotated, Literal, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitewire.records import checked
from whitewire.records.run import RunRecord
from whitewire.records.schema import Broken, MayBeInfinite, fault_of_value, parse_json
from whitewire.records.trust import LinkRow


class Form(TypedDict):
    rate: float
    drive: Annotated[dict[str, float], MayBeInfinite(("rate",))]
    way: Literal["in", "out"]


def fault(**other):
    return fault_of_value({"rate": 1.5, "drive": {"rate": 2, "cache": 0.5}, "way": "in"} | other, Form)


@pytest.mark.parametrize("written", ["Infinity", "-Infinity", "1e999", "-1e999", "1" + 400 * "0"])
def test_a_number_that_is_not_finite_is_a_fault(written):
    value = parse_json(written)
    assert fault(rate=value).endswith(", expected a finite number") and fault(rate=value).startswith("rate: found ")
    assert "drive.cache: found" in fault(drive={"rate": 1.0, "cache": value})
    assert (fault(drive={"rate": value}) == "") == isinstance(value, float)


def test_nan_is_no_number_anywhere():
    with pytest.raises(Broken, match="found NaN, expected a number"):
        parse_json('{"drive": {"rate": NaN}}')


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(1 - (1 << 63), (1 << 63) - 1))
def test_every_finite_number_is_one(value):
    assert fault(rate=value, drive={"rate": value, "cache": value}) == ""


@pytest.mark.parametrize("value", [True, "1", None, [1]])
def test_what_is_no_number_is_reported_as_before(value):
    assert fault(rate=value) == f"rate: found {json.dumps(value)}, expected a number"


def test_a_word_that_is_none_of_its_form_is_reported_with_the_nearest():
    assert fault(way="ot") == 'way: found "ot", expected one of in, out; did you mean "out"?'


def test_a_drive_without_a_model_has_an_infinite_rate_and_goodput_never():
    drive = {"count": 1, "rate": math.inf, "read_rate": math.inf, "access_time": 0.0, "chunk": math.inf, "cache": 0.0}
    assert fault_of_value({"evidence": {"drive": drive}}, RunRecord) == ""
    assert "access_time: found" in fault_of_value({"evidence": {"drive": drive | {"access_time": math.inf}}}, RunRecord)
    job = {"name": "read", "submit": 1.0, "end": 2.0, "tasks": [], "counters": {},
           "testdfsio": {"size": 1.0, "time": 0.0, "rate": math.inf, "sqrate": math.inf, "tasks": 1.0}}  # fmt: skip
    assert fault_of_value({"jobs": [job]}, RunRecord) == ""
    row = {"rate": 25.0, "pairs": 1, "number": 1, "meter": "iperf3", "source": "a", "destination": "b",
           "goodput": math.inf, "expected": 23.9, "why": ""}  # fmt: skip
    assert fault_of_value([row], list[LinkRow]) == "[0].goodput: found Infinity, expected a finite number or nothing"
    probe = {"probe": "iperf3", "fabric": "1gbe", "source": "a", "destination": "b", "streams": 1, "metric": "goodput",
             "value": math.inf, "unit": "Mbit/s", "ok": True}  # fmt: skip
    assert "[0].value: found Infinity" in fault_of_value([probe], list[checked.ProbeRow])
