"""Configuration that is wrong in every way passes, or is one line and at once.

`WHITEWIRE_INPUTS` says how many inputs are tried; bench/bad_input.py tries them for an hour and counts.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from tests.support import bad_input

INPUTS = int(os.environ.get("WHITEWIRE_INPUTS", "300"))
SMALL = ("paper template", "testbed emulated", "testbed ssh", "testbed slurm", "config", "answers")
"""What is read in some 20 ms each. The other papers are for the hour's run."""
DATA = {base: bad_input.read(base) for base in SMALL}
PLACES = {base: bad_input.all_places(base) for base in SMALL}
PASSED_AT_MOST = 0.2
"""Share of inputs; of those that are tried here it is some 0.1."""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return bad_input.Project(tmp_path_factory.mktemp("bad"))


@st.composite
def inputs(draw) -> tuple[str, str, str]:
    """A file, its text, which is damaged at one place or at two, or as text, and the kind where it is one alone."""
    base = draw(st.sampled_from((*SMALL, *["paper template"] * 4)))
    data, kind, number = DATA[base], "", draw(st.sampled_from((1, 1, 1, 2)))
    try:
        for _ in range(number):
            place, example = draw(st.sampled_from(PLACES[base]))
            kind = draw(st.sampled_from(bad_input.KINDS))
            data = bad_input.damaged(data, place, example, kind)
    except (bad_input.Skipped, KeyError, IndexError, TypeError):  # the first damage took the place of the second
        assume(False)
    text = bad_input.as_text(data)
    if draw(st.integers(0, 9)) == 0:
        number = 0
        text = bad_input.TEXTS[draw(st.sampled_from(sorted(bad_input.TEXTS)))](text, draw(st.integers(0, 10**6)))
    return base, text, kind if number == 1 else ""


def test_any_input_passes_or_is_one_line_and_most_is_refused(project):
    """What passes is another text, another number that will do, or a key that need not be there."""
    came: Counter[str] = Counter()

    @settings(
        max_examples=INPUTS, derandomize=True, database=None,
        suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
    )  # fmt: skip
    @given(inputs())
    def one(given_input):
        base, text, kind = given_input
        said = project.outcome(base, text).split(":")[0]
        assert said == "refused" or kind not in bad_input.NOWHERE_RIGHT, (kind, text)
        came[said] += 1
        event(f"{base}: {said}")

    one()
    assert came["passed"] > 0
    assert came["passed"] <= PASSED_AT_MOST * came.total()


def some_refused(project, wanted: int) -> Iterator[tuple[str, str, str]]:
    """Of damage by chance, always the same: a file, its text and the line that refuses it."""
    rng = random.Random(2026)
    while wanted:
        base = rng.choice(SMALL)
        place, example = rng.choice(PLACES[base])
        try:
            text = bad_input.as_text(bad_input.damaged(DATA[base], place, example, rng.choice(bad_input.KINDS)))
        except bad_input.Skipped:
            continue
        verdict, _, line = project.outcome(base, text).partition(": ")
        if verdict == "refused":
            wanted -= 1
            yield base, text, line


def test_the_command_ends_with_status_2_and_that_line_and_writes_nothing(project):
    bases = set()
    for base, text, line in some_refused(project, 30):
        assert project.ended(base, text) == (2, [f"whitewire: error: {line}"])
        bases.add(base)
    assert bases == {*SMALL}


@pytest.mark.parametrize("base", SMALL)
def test_what_is_damaged_is_right_before(project, base):
    assert project.outcome(base, bad_input.as_text(DATA[base])) == "passed"
