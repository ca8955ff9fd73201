"""The rule of verdicts: every kind of verdict, every relation, and no verdict without evidence."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.support.papers import paper
from whitewire import statistics
from whitewire.analysis import claims as c
from whitewire.analysis.claims import Target, decide, resolve
from whitewire.estimands.cells import ratio_limits
from whitewire.estimands.evidence import Evidence, Sample

WITHIN = Target("within", 3.85, 3.27, 4.43, 1)
ABOVE = Target("above", 1.5, 1.5, None, 1)
BELOW = Target("below", 0.75, None, 0.75, 1)
RISING = Target("increasing", None, 0.95, None, 1)
LEVEL = Target("within", 1, 0.9, 1.1, 1)
CHEAP = Target("within", 0.982, 0.982 * 0.9, 0.982 * 1.1, 1)


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
        # So it is where the paper's number lies beside no effect, on either side of it.
        (CHEAP, runs(0.632, 0.511, 0.782), c.NOT_REPRODUCED),
        (CHEAP, runs(1.3, 1.2, 1.4), c.NOT_REPRODUCED),
        (CHEAP, runs(0.97, 0.9, 1.05), c.REPRODUCED),
        (CHEAP, runs(0.9, 0.8, 1.0), c.INCONCLUSIVE),
        (CHEAP, runs(1.0, 0.8, 1.2), c.INCONCLUSIVE),
        (Target("above", 0.9, 0.9, None, 1), runs(0.7, 0.6, 0.8), c.NOT_REPRODUCED),
        (Target("below", 1.1, None, 1.1, 1), runs(1.3, 1.2, 1.4), c.NOT_REPRODUCED),
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


def test_numbers_of_a_reason_have_no_exponent_and_differ_where_they_do():
    dear = decide(Target("within", 52000, 49400, 52000), Evidence("paper", 51000, None, None, n=0))
    assert dear.reason == "recomputed 51,000; the claim asks for 49,400 to 52,000"
    near = decide(Target("within", 135.6, 135.595, 135.605), Evidence("paper", 135.60499, None, None, n=0))
    assert near.reason == "recomputed 135.605; the claim asks for 135.595 to 135.605"


def test_inconclusive_says_how_many_runs_are_missing():
    assert decide(WITHIN, Evidence("runs", missing="none")).runs_needed == 3  # three runs have an interval
    assert decide(WITHIN, Evidence("runs", 3.8, n=2)).runs_needed == 1
    assert decide(WITHIN, Evidence("runs", 3.8, n=4, fewest=6)).runs_needed == 2
    assert decide(Target("equal", 3, 3, 3), Evidence("census", missing="none")).runs_needed == 1
    assert decide(WITHIN, Evidence("runs", 3.8, n=6)).runs_help is False


def narrowing(estimate, half):
    """The interval of n runs, as wide as one over the root of n."""
    return lambda n: (estimate * math.exp(-half / math.sqrt(n)), estimate * math.exp(half / math.sqrt(n)))


@pytest.mark.parametrize("half", [0.3, 0.45, 0.6, 1.2, 2.5])
def test_the_runs_that_are_said_to_decide_do_and_fewer_do_not(half):
    again = narrowing(3.6, half)
    wide = Evidence("runs", 3.6, *again(6), n=6, again=again)
    more = decide(WITHIN, wide).runs_needed
    assert more >= 1
    verdicts = [
        decide(WITHIN, replace(wide, n=n, low=again(n)[0], high=again(n)[1])).verdict for n in (5 + more, 6 + more)
    ]
    assert verdicts == [c.INCONCLUSIVE, c.REPRODUCED]
    assert decide(WITHIN, Evidence("runs", WITHIN.lower, *narrowing(WITHIN.lower, 1)(6), n=6,
                                   again=narrowing(WITHIN.lower, 1))).runs_needed is None  # fmt: skip


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        (CHEAP, c.EQUIVALENCE),
        (LEVEL, c.EQUIVALENCE),
        (Target("equal", 1, 1, 1, 1), c.EQUIVALENCE),
        (Target("above", 0.9, 0.9, None, 1), c.EQUIVALENCE),  # at most a tenth is lost
        (Target("below", 1.1, None, 1.1, 1), c.EQUIVALENCE),
        (Target("above", 1, 1, None, 1), c.SIGN),
        (Target("below", 1, None, 1, 1), c.SIGN),
        (RISING, c.SIGN),
        (WITHIN, c._SIZE),
        (ABOVE, c._SIZE),
        (BELOW, c._SIZE),
        (Target("within", 1.1, 1, 1.2, 1), c._SIZE),  # no effect is only its end
        (Target("within", 1, 0.9, 1.1), c._SIZE),  # nobody says that 1 means no effect
        (Target("equal", 3, 3, 3), c._SIZE),
    ],
)
def test_kind_of_a_claim(target, kind):
    assert target.kind == kind
    if kind == c.EQUIVALENCE:
        assert target.sign == 0
        assert decide(target, runs(5.0, 4.0, 6.0)).reason.startswith("a claim of equivalence: 5 (4 to 6; ")
    else:
        assert "equivalence" not in decide(target, runs(5.0, 4.0, 6.0)).reason


EQUIVALENT = st.tuples(st.floats(0.05, 0.5), st.floats(0.05, 0.5)).map(
    lambda off: Target("within", 1 + (off[1] - off[0]) / 2, 1 - off[0], 1 + off[1], 1)
)


@given(EQUIVALENT, st.floats(0.01, 100), st.floats(1, 10))
def test_a_claim_of_equivalence_is_never_direction_only(target, low, times):
    assert decide(target, runs(low * times**0.5, low, low * times)).verdict != c.DIRECTION


@given(EQUIVALENT, st.floats(1.01, 1.04))
def test_an_interval_that_moves_across_the_bounds_goes_through_the_verdicts_in_order(target, half):
    seen = []
    for step in range(-200, 201):
        middle = 2 ** (step / 100)
        verdict = decide(target, runs(middle, middle / half, middle * half)).verdict
        seen += [verdict] if seen[-1:] != [verdict] else []
    out, between, inside = c.NOT_REPRODUCED, c.INCONCLUSIVE, c.REPRODUCED
    assert seen == [out, between, inside, between, out]


@pytest.mark.parametrize(
    ("target", "low", "high", "said"),
    [
        (LEVEL, 0.8, 1.05, "the bound 0.9"),
        (LEVEL, 1.05, 1.2, "the bound 1.1"),
        (LEVEL, 0.8, 1.2, "the bounds 0.9 and 1.1"),
        (LEVEL, 1 / 3, 0.9 - 1e-10, "the bound 0.9"),  # within rounding
        (Target("above", 1, 1, None, 1), 0.9, 1.1, "the bound 1"),
    ],
)
def test_an_open_claim_names_the_bounds_that_its_interval_overlaps(target, low, high, said):
    verdict = decide(target, runs((low * high) ** 0.5, low, high))
    assert verdict.verdict == c.INCONCLUSIVE
    assert f"overlaps {said}, so the data cannot decide: " in verdict.reason


@pytest.mark.parametrize("n", [3, 6])
def test_a_difference_at_the_bound_is_rarely_called_equivalent(n):
    rng = np.random.default_rng(3)
    wrong, times = 0, 400
    for _ in range(times):
        above, below = (
            Sample(values, 0, "s", name, statistics.scatter(values), n - 1)
            for name, values in zip("ab", np.exp(0.03 * rng.standard_normal((2, n))) * [[0.9], [1]], strict=True)
        )
        wrong += decide(LEVEL, runs(above.centre / below.centre, *ratio_limits(above, below))).verdict == c.REPRODUCED
    assert wrong <= 0.05 * times


def test_what_runs_cannot_narrow_gives_no_number_of_runs():
    wide = runs(1.02, 0.89, 1.17, again=narrowing(1.02, 0.35))
    assert decide(LEVEL, wide).runs_needed > 0
    overheads = replace(wide, overheads=True, left_by="the scatter of startup overheads; more bytes a run are needed")
    hopeless = decide(LEVEL, replace(overheads, least=(0.9, 1.16)))
    assert (hopeless.verdict, hopeless.runs_needed, hopeless.runs_help) == (c.INCONCLUSIVE, None, False)
    assert hopeless.reason.endswith(
        "however many runs, 0.9 to 1.16 would be left, the scatter of startup overheads; more bytes a run are needed"
    )
    to_come = decide(LEVEL, replace(overheads, least=(0.9, 1.16), overheads_to_come=True))
    assert to_come.runs_help, "overhead runs that are still to be made may narrow it"
    assert decide(LEVEL, Evidence("runs", missing="why", runs_help=False)).runs_needed is None


@pytest.mark.parametrize("relation", ["above", "below"])
@pytest.mark.parametrize("bound", [3.0, 0.1, 2.5e9])
@pytest.mark.parametrize("off", [1 - 3e-16, 1.0, 1 + 3e-16])
def test_what_lies_at_a_bound_but_for_rounding_is_not_beyond_it(relation, bound, off):
    lower, upper = (bound, None) if relation == "above" else (None, bound)
    target, value = Target(relation, bound, lower, upper), bound * off
    assert decide(target, Evidence("census", value, n=3)).verdict == c.NOT_REPRODUCED
    assert decide(target, runs(value, value, value)).verdict == c.NOT_REPRODUCED


@given(st.floats(1e-6, 1e12), st.integers(1, 9))
def test_the_centre_of_runs_alike_is_their_value(value, count):
    assert Sample(np.full(count, value), 0, "s", "a").centre == value


def test_rounding_is_no_scatter():
    values = [0.1, np.nextafter(0.1, 1), 0.1]
    assert len(set(values)) > 1 and statistics.scatter(values) == 0
    assert statistics.scatter([1.0, 1.0, 1.0 + 1e-9]) > 0


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


SIDE = Target("above", 1, 1, None, 1, 0.02)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.985, 1.015, c.NOT_REPRODUCED),
        (1.001, 1.015, c.NOT_REPRODUCED),  # an effect, but none that matters
        (0.985, 0.999, c.NOT_REPRODUCED),
        (1.001, 1.03, c.REPRODUCED),
        (0.97, 1.015, c.INCONCLUSIVE),
        (0.9, 0.97, c.NOT_REPRODUCED),
    ],
)
def test_a_direction_without_a_size_has_a_smallest_effect_that_matters(low, high, verdict):
    found = decide(SIDE, runs((low * high) ** 0.5, low, high))
    assert found.verdict == verdict
    assert ("shows no effect above 2 %" in found.reason) == (low > 0.98 and high < 1.02)
    mirrored = replace(SIDE, relation="below", lower=None, upper=1)
    assert decide(mirrored, runs((low * high) ** -0.5, 1 / high, 1 / low)).verdict == verdict


def test_no_effect_is_shown_by_a_number_of_runs_where_no_sign_ever_is():
    def of(n):
        half = stats.t.isf(0.025, 2 * (n - 1)) * 0.03 * math.sqrt(2 / n)
        return math.exp(-half), math.exp(half)

    evidence = runs(1.0, 0.95, 1.05, again=of)
    assert decide(replace(SIDE, smallest=0.0), evidence).runs_needed is None
    assert 5 < decide(SIDE, evidence).runs_needed < 100
    left = replace(evidence, least=(0.99, 1.01), left_by="floors", overheads=True)
    assert decide(SIDE, left).runs_help and not decide(replace(SIDE, smallest=0.0), left).runs_help


def test_the_smallest_effect_is_two_percent_or_the_test_s_own():
    test = next(claim["test"] for claim in paper().claims if claim["id"] == "E-C41")
    assert resolve(paper(), test).smallest == 0.02
    own = {**test, "smallest_effect": {"value": 0.05, "why": "Jobs scatter"}}
    assert resolve(paper(), own).smallest == 0.05
    sized = next(claim["test"] for claim in paper().claims if claim["id"] == "E-C06")
    assert resolve(paper(), sized).smallest == 0
