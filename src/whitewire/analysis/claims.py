"""The one rule that turns evidence into a verdict.

`resolve` makes the target of a typed test (what the paper says and how far off may be), `decide` compares it
with evidence. No verdict is set anywhere else.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from whitewire.description.paper import Paper
from whitewire.estimands.evidence import Evidence
from whitewire.rule import ALPHA, SMALLEST_EFFECT
from whitewire.statistics import MOST_RUNS
from whitewire.text import numbers

REPRODUCED = "reproduced"
DIRECTION = "direction only"
NOT_REPRODUCED = "not reproduced"
INCONCLUSIVE = "inconclusive"
NOT_TESTABLE = "not testable here"
CONSISTENT = "consistent"
INCONSISTENT = "inconsistent"
MEASURED = ("emulated", "measured")
"""Routes that rest on runs."""
BY_RUNS = (REPRODUCED, DIRECTION, NOT_REPRODUCED)
"""Verdicts by runs."""
VERDICTS = (REPRODUCED, DIRECTION, NOT_REPRODUCED, INCONCLUSIVE, CONSISTENT, INCONSISTENT, NOT_TESTABLE)
EQUIVALENCE, SIGN, _SIZE = "equivalence", "direction", "size"
"""Kinds of claims: no effect that matters, an effect in one direction, an effect of a size."""
EPSILON = 1e-9


@dataclass(frozen=True)
class Target:
    """What a claim asks of its estimand, in the estimand's unit; a bound of None is open.

    `no_effect` gives the claim a direction, where it has one, or makes it one of equivalence.
    """

    relation: str
    expected: float | None
    lower: float | None
    upper: float | None
    no_effect: float | None = None
    smallest: float = 0.0
    """For a claim of direction: the smallest effect that matters, as a share of no effect; 0: any effect matters."""
    own: tuple[float, float] = (1.0, 1.0)
    """The emulation's own error, by which intervals are widened."""

    def negligible(self, low: float | None, high: float | None) -> bool:
        """Whether low..high has no effect that matters."""
        if not self.smallest or low is None or high is None:
            return False
        least, most = self.indifferent
        return least < low and high < most

    @property
    def indifferent(self) -> tuple[float, float]:
        """The values between which an effect does not matter, for an interval that is widened."""
        assert self.no_effect is not None, "only a claim of direction has a smallest effect"
        low, high = self.own
        return low * self.no_effect / (1 + self.smallest), high * self.no_effect * (1 + self.smallest)

    def holds(self, low: float, high: float) -> bool:
        """Whether the relation holds throughout low..high."""
        least, most, slack = self._bounds
        if self.relation == "above":
            return low > least + slack
        if self.relation == "below":
            return high < most - slack
        return low >= least - slack and high <= most + slack

    def fails(self, low: float, high: float) -> bool:
        """Whether the relation holds nowhere in low..high."""
        least, most, slack = self._bounds
        if self.relation == "above":
            return high <= least + slack
        if self.relation == "below":
            return low >= most - slack
        return high < least - slack or low > most + slack

    def bounds_within(self, low: float, high: float) -> list[float]:
        """The bounds that low..high overlaps: at least one where the relation neither holds nor fails."""
        slack = self._bounds[-1]
        return [bound for bound in (self.lower, self.upper)
                if bound is not None and low - slack <= bound <= high + slack]  # fmt: skip

    @property
    def _bounds(self) -> tuple[float, float, float]:
        """Lower and upper bound, infinite where open, and how far rounding may move an interval's end."""
        slack = EPSILON * max(1.0, abs(self.lower or 0.0), abs(self.upper or 0.0))
        return (
            -math.inf if self.lower is None else self.lower,
            math.inf if self.upper is None else self.upper,
            slack,
        )

    @property
    def kind(self) -> str:
        """Equivalence where no effect lies inside what is asked for, direction where it is the bound, else size.

        A trend asks that no step falls, and its `no_effect` is that of the last level over the first.
        """
        if self.relation == "increasing":
            return SIGN
        none = self.no_effect
        if none is None:
            return _SIZE
        if self.relation in ("above", "below") and self.expected == none:
            return SIGN
        least, most, _ = self._bounds
        return EQUIVALENCE if least < none < most or least == none == most else _SIZE

    @property
    def sign(self) -> int:
        """+1 or -1 for the side of no effect that is claimed, 0 when the claim has no direction."""
        if self.no_effect is None or self.kind == EQUIVALENCE:
            return 0
        if self.relation in ("above", "increasing"):
            return 1
        if self.relation == "below":
            return -1
        if self.expected is None:
            return 0
        return (self.expected > self.no_effect) - (self.expected < self.no_effect)


@dataclass(frozen=True)
class Verdict:
    """A verdict, why, and (if inconclusive) the further runs of each cell that would decide.

    `runs_help` is false where no number of runs would.
    """

    verdict: str
    reason: str
    runs_needed: int | None = None
    runs_help: bool = True


def resolve(paper: Paper, test: Mapping[str, Any]) -> Target:
    """The target of a typed test, with expressions evaluated."""
    relation = test["relation"]
    expected = paper.evaluate(test["expected"]) if "expected" in test else None
    no_effect = test.get("no_effect")
    if relation == "increasing":
        return Target(relation, expected, 1 - test.get("relative", 0.0), None, no_effect)
    if relation in ("above", "below"):
        lower, upper = (expected, None) if relation == "above" else (None, expected)
        smallest = test.get("smallest_effect", {}).get("value", SMALLEST_EFFECT) if expected == no_effect else 0.0
        return Target(relation, expected, lower, upper, no_effect, smallest)
    if relation == "equal":
        return Target(relation, expected, expected, expected, no_effect)
    assert expected is not None, "the schema asks for it"
    half = test.get("absolute", abs(expected) * test.get("relative", 0.0))
    lower, upper = test.get("lower", expected - half), test.get("upper", expected + half)
    return Target(relation, expected, lower, upper, no_effect)


def _kinds(paper: Paper) -> dict[str, list[str]]:
    """Ids of a paper's claims by what they ask for: equivalence, direction, size, or `""` for those without a test."""
    found: dict[str, list[str]] = {EQUIVALENCE: [], SIGN: [], _SIZE: [], "": []}
    for claim in paper.claims:
        kind = resolve(paper, claim["test"]).kind if "relation" in claim["test"] else ""
        found[kind].append(claim["id"])
    return found


def kinds_said(paper: Paper) -> str:
    """Numbers of claims by kind in one line: `emulex-2012: 42 claims: 2 of equivalence (E-C12, E-C15), 5 of direction,
    …`."""
    found = _kinds(paper)
    named = ", ".join(found[EQUIVALENCE])
    parts = [
        f"{len(found[EQUIVALENCE])} of equivalence" + (f" ({named})" if named else ""),
        f"{len(found[SIGN])} of direction",
        f"{len(found[_SIZE])} of size",
        f"{len(found[''])} without a test",
    ]
    return f"{paper.id}: {len(paper.claims)} claim{'s' if len(paper.claims) != 1 else ''}: {', '.join(parts)}"


def decide(target: Target, evidence: Evidence) -> Verdict:
    """The verdict on a target by its evidence.

    With runs, reproduced: the relation holds throughout the 95 % interval. If it holds nowhere in the interval:
    direction only if the interval lies on the claimed side of no effect, else not reproduced. A claim of direction is
    also not reproduced if the interval shows no effect that matters. Inconclusive: the interval straddles a bound or
    does not exist. A claim of equivalence has no side, so it is never direction only. Arithmetic and models: consistent
    or inconsistent.
    """
    if evidence.estimate is None or not math.isfinite(evidence.estimate):
        needed = {"census": 1, "runs": _until_an_interval(evidence)}.get(evidence.source)
        reason = evidence.missing or "there is no finite estimate"
        return Verdict(INCONCLUSIVE, reason, needed if evidence.runs_help else None, evidence.runs_help)
    found = _compared(target, evidence)
    said = "a claim of equivalence: " if target.kind == EQUIVALENCE else ""
    return replace(found, reason=said + found.reason)


def _compared(target: Target, evidence: Evidence) -> Verdict:
    """The verdict by a finite estimate."""
    assert evidence.estimate is not None, "decide() asks before"
    number = _numbers(target, evidence)
    wanted, seen = asked_words(target, number), number(evidence.estimate)
    if evidence.source in ("paper", "model"):
        what = "recomputed" if evidence.source == "paper" else "the model gives"
        holds = target.holds(evidence.estimate, evidence.estimate)
        return Verdict(CONSISTENT if holds else INCONSISTENT, f"{what} {seen}; the claim asks for {wanted}")
    if evidence.source == "census":
        holds = target.holds(evidence.estimate, evidence.estimate)
        verdict = REPRODUCED if holds else NOT_REPRODUCED
        return Verdict(verdict, f"{seen} over {_runs(evidence.n)}; the claim asks for {wanted}")
    if evidence.low is None or evidence.high is None:
        if evidence.unbounded:
            reason = f"{seen} from {_runs(evidence.n)} a cell: {evidence.unbounded}"
            return Verdict(INCONCLUSIVE, reason, runs_help=evidence.runs_help)
        if evidence.n >= evidence.fewest:
            reason = f"{seen} from {_runs(evidence.n)} a cell: the interval is not finite"
            return Verdict(INCONCLUSIVE, reason, runs_help=False)
        reason = f"{seen} from {_runs(evidence.n)} a cell: too few for an interval"
        return Verdict(INCONCLUSIVE, reason, _until_an_interval(evidence))
    overheads = ", with the scatter of startup overheads" if evidence.overheads else ""
    interval = f"{seen} ({number(evidence.low)} to {number(evidence.high)}; {_runs(evidence.n)} a cell{overheads})"
    if target.negligible(evidence.low, evidence.high):
        beside = "" if target.own == (1, 1) else ", the emulation's own error aside"
        shown = f"{interval} shows no effect above {100 * target.smallest:.3g} %{beside}: {wanted}"
        return Verdict(NOT_REPRODUCED, shown)
    if target.holds(evidence.low, evidence.high):
        return Verdict(REPRODUCED, f"{interval} lies wholly within the claim: {wanted}")
    if target.fails(evidence.low, evidence.high):
        low, high = evidence.direction or (evidence.low, evidence.high)
        sign, none = target.sign, target.no_effect
        if none is not None and ((sign > 0 and low > none) or (sign < 0 and high < none)):
            return Verdict(DIRECTION, f"{interval} has the claimed sign but not the claimed size: {wanted}")
        return Verdict(NOT_REPRODUCED, f"{interval} excludes the claim: {wanted}")
    bounds = target.bounds_within(evidence.low, evidence.high)
    named = f"bound{'s' if len(bounds) > 1 else ''} {' and '.join(map(number, bounds))}"
    overlaps = f"{interval} overlaps the {named}, so the data cannot decide: {wanted}"
    if evidence.least and not _clear(target, evidence.least):
        ends = " to ".join(map(number, evidence.least))
        reason = f"{overlaps}; however many runs, {ends} would be left, {evidence.left_by}"
        if evidence.overheads_to_come:  # they may narrow it
            return Verdict(INCONCLUSIVE, reason, MOST_RUNS)
        return Verdict(INCONCLUSIVE, reason, runs_help=False)
    return Verdict(INCONCLUSIVE, overlaps, _runs_needed(target, evidence))


def _clear(target: Target, interval: tuple[float, float] | None) -> bool:
    """Whether an interval decides: the relation holds throughout it or nowhere in it, or it contains no effect that
    matters."""
    return interval is not None and any(ends(*interval) for ends in (target.holds, target.fails, target.negligible))


def _until_an_interval(evidence: Evidence) -> int:
    """Further runs of each cell until there can be an interval."""
    return max(1, evidence.fewest - evidence.n)


def _runs_needed(target: Target, evidence: Evidence) -> int | None:
    """Further runs of each cell until the expected interval clears every bound, or shows that no effect matters.

    The first few numbers are tried one by one, since the level changes from analysis to analysis; larger ones by
    bisection, as the interval only narrows. None for intervals of other kinds than means, or if no number of runs is
    enough.
    """
    again = evidence.again
    if again is None:
        return None
    first = evidence.n + 1
    for n in range(first, first + SINGLY):
        if _clear(target, again(n)):
            return n - evidence.n
    if not _clear(target, again(evidence.n + MOST_RUNS)):
        return MOST_RUNS if _between_bounds(target, evidence) else None
    return bisect.bisect_left(range(MOST_RUNS), True, key=lambda more: _clear(target, again(evidence.n + more)))


def _between_bounds(target: Target, evidence: Evidence) -> bool:
    """Whether the estimate lies at no bound, so that enough runs would decide."""
    return evidence.estimate not in (target.lower, target.upper) and evidence.estimate != 0


SINGLY = 20
"""Numbers of further runs that are tried one by one."""


def corrected(verdict: str, reason: str, target: Mapping[str, Any], p_holm: float | None) -> tuple[str, str]:
    """The verdict and its reason after Holm's correction over the paper's claims.

    A verdict that rests only on there being an effect at all (direction only; or reproduced where the claim asks for
    no more than that: above or below its `no_effect`) needs a corrected p-value below 0.05. Without it, direction only
    becomes not reproduced, since the interval excludes the size as before; reproduced becomes inconclusive.
    `target` holds the claim's `relation`, `expected` and `no_effect`. A claim of equivalence rests on its bounds, never
    on that.
    """
    no_effect = target.get("no_effect")
    no_more = target.get("relation") in ("above", "below") and target.get("expected") == no_effect
    if no_effect is None or not (verdict == DIRECTION or (verdict == REPRODUCED and no_more)):
        return verdict, reason
    if p_holm is not None and p_holm < ALPHA:
        return verdict, reason
    why = "no test against no effect could be made"
    if p_holm is not None:
        why = f"p = {p_holm:.2g} after Holm's correction over all claims"
    if verdict == DIRECTION:  # the interval excludes the size, whatever the sign
        return NOT_REPRODUCED, f"{reason}; and of the sign {why}"
    return INCONCLUSIVE, f"{reason}; but {why}"


def controlled(verdict: str, reason: str, failed: Sequence[str]) -> tuple[str, str]:
    """The verdict and its reason if controls of the same pair failed: then the difference has a cause besides the
    claimed one."""
    if not failed or verdict == NOT_TESTABLE:
        return verdict, reason
    return INCONCLUSIVE, f"{reason}; but {'; '.join(failed)}"


_MORE, LESS = "more than claimed", "less than claimed"
"""Words for `direction only` on pages."""


def verdict_in_words(row: Mapping[str, Any], no_effect: float) -> str:
    """A verdict as readers see it: `direction only` says which way the size is missed, by the distance from no effect.

    `row` is one of verdicts.csv, with its numbers as numbers. Pages do the same: paper/R/text/verdicts.R.
    """
    if row["verdict"] != DIRECTION:
        return str(row["verdict"])
    if row.get("relation") in ("above", "below", "increasing"):  # a bound or a trend is missed on the side of no effect
        return LESS
    gain = row["expected"] > no_effect
    beyond = row["estimate"] > row["expected_high"] if gain else row["estimate"] < row["expected_low"]
    return _MORE if beyond else LESS


def asked_words(target: Target, number: Callable[[float | None], str]) -> str:
    """What a claim asks for: `3.5 to 4.5`, `above 1`; `number` has the words of its numbers."""
    if target.relation in ("above", "below"):
        return f"{target.relation} {number(target.expected)}"
    if target.relation == "increasing":
        return f"no step below {number(target.lower)} of the one before"
    if target.relation == "equal":
        return f"exactly {number(target.expected)}"
    return f"{number(target.lower)} to {number(target.upper)}"


def _numbers(target: Target, evidence: Evidence) -> Callable[[float | None], str]:
    """Formats the numbers of a verdict's reason, with enough digits that different numbers look different."""
    found = (evidence.estimate, evidence.low, evidence.high, *(evidence.least or ()))
    values = [value for value in (*found, target.expected, target.lower, target.upper) if value is not None]
    words: dict[float | None, str] = {None: "open", **dict(zip(values, numbers(values), strict=True))}
    return words.__getitem__


def _runs(n: int) -> str:
    return f"{n} run" if n == 1 else f"{n} runs"
