"""Numbers of the rule of verdicts, and its version (docs/decisions/0015-the-rule.md).

A new number needs a new version, because it changes what claims ask.
"""

from __future__ import annotations

RULE_VERSION = "2026-11-28"
"""Date of the last change. It is part of a claim's digest (description/asked.py)."""
ALPHA = 0.05
"""Largest share of wrong verdicts on a claim, over all its analyses together."""
POWER = 3.0
"""Exponent of the spending function of interim analyses (sequential.py); chosen by `bench/interim.py`."""
SMALLEST_EFFECT = 0.02
"""Smallest effect that matters, as a share, where a claim of direction names none."""
