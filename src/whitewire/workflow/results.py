"""State of a testbed's results, as rules of the workflow ask for it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from whitewire.measure import survey_plan
from whitewire.paths import root
from whitewire.records import links
from whitewire.text import canonical
from whitewire.workflow.plan import Plan


def has_verdicts(testbed: str) -> bool:
    """Whether a start page has anything to show."""
    return any((root() / "results" / testbed).glob("*/analysis/verdicts.csv"))


def state(testbed: str, *patterns: str) -> str:
    """A digest of the testbed's results that match: a rule that may use them, but does not require them, runs again
    when they change."""
    results = root() / "results" / testbed
    found = sorted(path for pattern in patterns for path in results.glob(pattern))
    digests = {str(path.relative_to(results)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}
    return hashlib.sha256(canonical(digests).encode()).hexdigest()[:16] if digests else ""


def survey_effort(plan: Plan) -> str:
    """The effort at which links are measured: the user's, or a larger one at which they were measured before."""
    return survey_plan.effort_there(root() / "results" / plan.testbed / links.FOLDER, plan.description, plan.effort)


def reference() -> list[str]:
    """The file that describes the reference results, if the folder in use has them."""
    path = Path("results", "reference", "manifest.json")
    return [str(path)] if (root() / path).is_file() else []
