"""Known errors of the emulation in a cell, by which intervals are widened. Pure.

A study showed how far values measured there may be off. More runs do not reduce this error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from whitewire.description.paper import Paper
from whitewire.estimands import estimand_of
from whitewire.estimands.evidence import Evidence
from whitewire.text import numbers


def factors(paper: Paper, test: Mapping[str, Any]) -> tuple[float, float, str]:
    """(least, most) factor from the measured to the right value, and its source; (1, 1, "") if no error is known."""
    low = high = 1.0
    sources: dict[str, None] = {}
    estimand = estimand_of(test)
    for (experiment, levels), metric, sign in zip(estimand.cells(), estimand.metrics(), estimand.signs, strict=False):
        for bias in paper.raw.get("biases", []):
            cell = bias["cell"]
            if (cell["experiment"], cell["where"]) != (experiment, levels) or metric not in bias["metrics"]:
                continue
            ends = sorted(bias[end] ** sign for end in ("lower", "upper"))
            low, high = low * ends[0], high * ends[1]
            sources[bias["source"]] = None
    return low, high, "; ".join(sources)


def own_error(paper: Paper, test: Mapping[str, Any]) -> float:
    """Share by which a measured value may be wrong, in either direction."""
    low, high, _ = factors(paper, test)
    return max(high, 1 / low) - 1


def widened(paper: Paper, test: Mapping[str, Any], evidence: Evidence) -> tuple[Evidence, str]:
    """The evidence with an interval that includes the emulation's own error, and a sentence on it; "" if no error is
    known."""
    low, high, source = factors(paper, test)
    if not source or evidence.estimate is None or evidence.low is None or evidence.high is None or evidence.low < 0:
        return evidence, ""
    direction = evidence.direction and (evidence.direction[0] * low, evidence.direction[1] * high)
    said = f"the interval holds the emulation's own error, {' to '.join(numbers([low, high], 3))} times ({source})"
    left, again = evidence.least or (evidence.estimate, evidence.estimate), evidence.again

    def widened_again(runs_of_each: int) -> tuple[float, float] | None:
        found = again(runs_of_each) if again else None
        return found and (found[0] * low, found[1] * high)

    return replace(
        evidence, low=evidence.low * low, high=evidence.high * high, direction=direction,
        again=again and widened_again,
        least=(left[0] * low, left[1] * high), left_by="the emulation's own error",
        overheads_to_come=evidence.overheads_to_come and evidence.least is not None,
    ), said  # fmt: skip
