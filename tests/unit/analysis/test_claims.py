"""The rule of verdicts: every kind of verdict, every relation, and no verdict without evidence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.papers import paper
from whitewire.analysis import claims as c
from whitewire.analysis.claims import Target, decide, resolve
from whitewire.estimands.evidence import Evidence

WITHIN = Target("within", 3.85, 3.27, 4.43, 1)
ABOVE = Target("above", 1.5, 1.5, None, 1)
BELOW = Target("below", 0.75, None, 0.75, 1)
RISING = Target("increasing", None, 0.95, None, 1)
LEVEL = Target("within", 1, 0.9, 1.1, 1)


def runs(estimate, low, high, **more):
    return Evidence("runs", estimate, low, high, n=6, **more)


@pytest.mark.parametrize(
    ("target", "evidence", "verdict"),
    [
        (WITHIN, runs(3.8, 3.5, 4.0), c.REPRODUCED),
        (WITHIN, runs(2.5, 2.4, 2.6), c.DIRECTION),
        (WITHIN, runs(6.0, 5.5, 6.5), c.DIRECTION),
        (WITHIN, runs(1.0, 0.9, 1.1), c.NOT_REPRODUCED),
        (WITHIN, runs(0.5, 0.4, 0.6), c.NOT_REPRODUCED),
        (WITHIN, runs(3.3, 3.0, 3.6), c.INCONCLUSIVE),
        (WITHIN, runs(3.3, 0.5, 9.0), c.INCONCLUSIVE),
        (ABOVE, runs(2.0, 1.8, 2.2), c.REPRODUCED),
        (ABOVE, runs(1.2, 1.1, 1.3), c.DIRECTION),
        (ABOVE, runs(1.0, 0.9, 1.1), c.NOT_REPRODUCED),
        (ABOVE, runs(1.5, 1.4, 1.6), c.INCONCLUSIVE),
        (ABOVE, runs(1.5, 1.5, 1.5), c.DIRECTION),
        (BELOW, runs(0.6, 0.5, 0.7), c.REPRODUCED),
        (BELOW, runs(0.85, 0.8, 0.9), c.DIRECTION),
        (BELOW, runs(1.2, 1.1, 1.3), c.NOT_REPRODUCED),
        (BELOW, runs(0.75, 0.7, 0.8), c.INCONCLUSIVE),
        (RISING, runs(1.2, 0.99, 1.4), c.REPRODUCED),
        (RISING, runs(0.8, 0.7, 0.9, direction=(1.5, 2.0)), c.DIRECTION),
        (RISING, runs(0.8, 0.7, 0.9, direction=(0.8, 1.1)), c.NOT_REPRODUCED),
        (RISING, runs(0.95, 0.9, 1.0, direction=(1.5, 2.0)), c.INCONCLUSIVE),
        # No effect is the claim itself: there is no direction to be right about.
        (LEVEL, runs(1.0, 0.95, 1.05), c.REPRODUCED),
        (LEVEL, runs(1.3, 1.2, 1.4), c.NOT_REPRODUCED),
        (Target("equal", 3, 3, 3), Evidence("census", 3, n=100), c.REPRODUCED),
        (Target("equal", 3, 3, 3), Evidence("census", 2, n=100), c.NOT_REPRODUCED),
        (Target("within", 11, 10, 11), Evidence("census", 10, n=1), c.REPRODUCED),
        (Target("equal", 3, 3, 3), Evidence("census", missing="no run"), c.INCONCLUSIVE),
        (WITHIN, Evidence("paper", 3.847), c.CONSISTENT),
        (WITHIN, Evidence("paper", 2.5), c.INCONSISTENT),
        (WITHIN, Evidence("model", 2.5), c.INCONSISTENT),
        (WITHIN, Evidence("runs", missing="no valid run of x"), c.INCONCLUSIVE),
        (WITHIN, Evidence("runs", float("nan"), n=6), c.INCONCLUSIVE),
        (WITHIN, Evidence("runs", 3.8, n=2), c.INCONCLUSIVE),
    ],
)
def test_verdict(target, evidence, verdict):
    found = decide(target, evidence)
    assert found.verdict == verdict
    assert found.reason
    if verdict != c.INCONCLUSIVE:
        assert found.runs_needed is None


def test_inconclusive_says_how_many_runs_are_missing():
    assert decide(WITHIN, Evidence("runs", missing="none")).runs_needed == 6
    assert decide(WITHIN, Evidence("runs", 3.8, n=2)).runs_needed == 4
    assert decide(Target("equal", 3, 3, 3), Evidence("census", missing="none")).runs_needed == 1
    spread = [[2.8, 3.0, 3.2, 3.4, 3.6, 3.8], [0.9, 0.95, 1, 1, 1.05, 1.1]]
    wide = decide(WITHIN, Evidence("runs", 3.5, 3.0, 4.0, n=6, samples=spread))
    assert wide.verdict == c.INCONCLUSIVE and 1 <= wide.runs_needed <= 1000


NUMBER = st.floats(0.01, 100)


@given(st.sampled_from([WITHIN, ABOVE, BELOW, RISING, LEVEL]), NUMBER, NUMBER, NUMBER)
def test_an_interval_never_both_holds_and_fails(target, a, b, d):
    low, estimate, high = sorted((a, b, d))
    assert not (target.holds(low, high) and target.fails(low, high))
    assert decide(target, runs(estimate, low, high)).verdict in {
        c.REPRODUCED,
        c.DIRECTION,
        c.NOT_REPRODUCED,
        c.INCONCLUSIVE,
    }


@given(st.sampled_from([WITHIN, ABOVE, BELOW, RISING]), NUMBER, NUMBER)
def test_a_narrower_interval_keeps_a_settled_verdict(target, a, b):
    low, high = sorted((a, b))
    verdict = decide(target, runs((low + high) / 2, low, high)).verdict
    middle = (low + high) / 2
    narrow = decide(target, runs(middle, (low + middle) / 2, (high + middle) / 2)).verdict
    if verdict == c.REPRODUCED:
        assert narrow == c.REPRODUCED
    if verdict == c.DIRECTION:
        assert narrow == c.DIRECTION


def test_targets_come_from_the_paper_s_own_values():
    tests = {claim["id"]: claim["test"] for claim in paper().claims}
    gain = resolve(paper(), tests["E-C06"])
    assert (gain.expected, gain.lower, gain.upper) == pytest.approx((3.85, 3.85 * 0.85, 3.85 * 1.15))
    share = resolve(paper(), tests["E-C14"])
    assert (share.expected, share.lower) == pytest.approx((225 / 3 / 108, 225 / 3 / 108 - 0.1))
    peak = resolve(paper(), tests["E-C42"])
    assert peak.expected == pytest.approx(251 / 375)
    assert resolve(paper(), tests["E-C17"]).upper == 0.75
    assert resolve(paper(), tests["E-C19"]).lower == 0.95
    assert resolve(paper(), tests["E-C16"]).sign == 1
    assert resolve(paper(), tests["E-C17"]).sign == -1
    assert resolve(paper(), tests["E-C12"]).sign == 0


def test_an_interval_that_is_not_finite_is_not_called_too_few_runs():
    found = decide(Target("above", 1, 1, None), Evidence("runs", 14.5, None, None, 12))
    assert (found.verdict, found.runs_needed) == (c.INCONCLUSIVE, None)
    assert "not finite" in found.reason
