"""Numbers of messages: the cases are those of tests/testthat/test-format.R."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from whitewire.text import numbers

CASES = json.loads((Path(__file__).parents[1] / "data" / "numbers.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["texts"][0])
def test_numbers_that_differ_look_different(case) -> None:
    assert numbers(case["numbers"], case["least"]) == case["texts"]


def test_what_is_not_finite_has_its_name() -> None:
    assert numbers([float("inf"), float("nan")]) == ["inf", "nan"]
