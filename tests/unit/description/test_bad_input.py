"""Configuration that is wrong in every way passes, or is one line and at once.

`WHITEWIRE_INPUTS` says how many inputs are tried; bench/bad_input.py tries them for an hour and counts.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from tests.support import bad_input

INPUTS = int(os.environ.get("WHITEWIRE_INPUTS", "600"))
SMALL = ("paper template", "testbed emulated", "testbed ssh", "testbed slurm", "config", "answers")
"""What is read in some 20 ms each. The other papers are for the hour's run."""
DATA = {base: bad_input.read(base) for base in SMALL}
PLACES = {base: bad_input.all_places(base) for base in SMALL}
CAME: Counter[str] = Counter()


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return bad_input.Project(tmp_path_factory.mktemp("bad"))


@st.composite
def inputs(draw) -> tuple[str, str]:
    """A file and its text: damaged at one place or at two, or as text."""
    base = draw(st.sampled_from((*SMALL, *["paper template"] * 4)))
    data = DATA[base]
    try:
        for _ in range(draw(st.sampled_from((1, 1, 1, 2)))):
            place, example = draw(st.sampled_from(PLACES[base]))
            kind = draw(st.sampled_from(bad_input.KINDS))
            data = bad_input.damaged(data, place, example, kind)
    except (bad_input.Skipped, KeyError, IndexError, TypeError):  # the first damage took the place of the second
        assume(False)
    text = bad_input.as_text(data)
    if draw(st.integers(0, 9)) == 0:
        text = bad_input.TEXTS[draw(st.sampled_from(sorted(bad_input.TEXTS)))](text, draw(st.integers(0, 10**6)))
    return base, text


@settings(
    max_examples=INPUTS, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(inputs())
def test_any_input_passes_or_is_one_line(project, given_input):
    base, text = given_input
    said = project.outcome(base, text).split(":")[0]
    CAME[said] += 1
    event(f"{base}: {said}")


def test_both_happened():
    assert CAME["refused"] > 10 * bool(CAME) and CAME["passed"] > 0


@pytest.mark.parametrize("base", SMALL)
def test_what_is_damaged_is_right_before(project, base):
    assert project.outcome(base, bad_input.as_text(DATA[base])) == "passed"
