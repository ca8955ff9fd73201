"""Digests of claims: another tolerance, interim analysis or rule gives another digest."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from whitewire.description.paper import Paper
from whitewire.estimands import estimand_of
from whitewire.rule import RULE_VERSION
from whitewire.text import canonical

_WORDS = ("also", "why", "title")
"""Keys of a test, of its smallest effect and of a control on which no verdict rests."""


def digests(paper: Paper, effort: str) -> dict[str, str]:
    """Twelve hexadecimal digits per claim: of its test with the values it names, of the emulation's known errors in its
    cells, of the paper's controls, of the effort's interim analyses and of the rule's version."""
    return {claim["id"]: _digest(paper, claim, effort) for claim in paper.claims}


def _digest(paper: Paper, claim: Mapping[str, Any], effort: str) -> str:
    test = _without_words(claim["test"])
    if "expected" in test:
        test |= {"expected": paper.evaluate(test["expected"])}
    cells = estimand_of(claim["test"]).cells()
    biases = [
        (bias["cell"], bias["metrics"], bias["lower"], bias["upper"])
        for bias in paper.as_written.get("biases", [])
        if (bias["cell"]["experiment"], bias["cell"]["where"]) in cells
    ]
    asked = {
        "test": test,
        "routes": claim["routes"],
        "biases": biases,
        "controls": [_without_words(control) | {"also": control.get("also", [])} for control in paper.controls],
        "looks": paper.analyses(effort),
        "rule": RULE_VERSION,
    }
    return hashlib.sha256(canonical(asked).encode()).hexdigest()[:12]


def _without_words(part: Mapping[str, Any]) -> dict[str, Any]:
    return {k: _without_words(v) if isinstance(v, dict) else v for k, v in part.items() if k not in _WORDS}
