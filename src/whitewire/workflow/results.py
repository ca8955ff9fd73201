"""Files and state of a testbed's results, as rules of the workflow ask for them."""

from __future__ import annotations

import hashlib
from pathlib import Path

from whitewire.analysis.trust import OF_TRUST
from whitewire.description.testbed import load_testbed
from whitewire.measure import survey_plan
from whitewire.paths import root
from whitewire.records.checked import PACKAGE
from whitewire.records.links import LINKS_FOLDER, TransportPlan
from whitewire.records.parts import OF_LINKS, OfLinks
from whitewire.text import canonical
from whitewire.tidy.tables import LINKS_COLUMNS, TABLES
from whitewire.workflow.plan import Plan

TIDY_FILES = ("runs.csv", *TABLES, PACKAGE)
LINKS_FILES = (*LINKS_COLUMNS, PACKAGE)
TRUST_FILES = (*OF_TRUST, PACKAGE)


def has_verdicts(testbed: str) -> bool:
    """Whether a start page has anything to show."""
    return any((root() / "results" / testbed).glob("*/analysis/verdicts.csv"))


def state(testbed: str, *patterns: str) -> str:
    """Digest of matching results of the testbed: a rule that may use them, but does not need them, runs again when they
    change."""
    results = root() / "results" / testbed
    found = sorted(path for pattern in patterns for path in results.glob(pattern))
    digests = {str(path.relative_to(results)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}
    return hashlib.sha256(canonical(digests).encode()).hexdigest()[:16] if digests else ""


def survey_effort(plan: Plan) -> str:
    """The effort at which links are measured: the user's, or a larger one at which they were measured before."""
    return survey_plan.effort_there(root() / "results" / plan.testbed / LINKS_FOLDER, plan.description, plan.effort)


def measured_transports(testbed: str) -> list[TransportPlan]:
    """The testbed's transports that iperf3 measures; they are measured again when they change."""
    return survey_plan.transports_of(load_testbed(testbed))


def link_parts(testbed: str) -> list[OfLinks]:
    """The parts of a survey of links; each has a rule of its own."""
    return [part for part in OF_LINKS if part != "transports" or measured_transports(testbed)]


def transport_tables(plan: Plan, paper: str) -> list[str]:
    """Inputs of a report on runs over a transport: tables of links, if the paper has runs and the testbed a
    transport."""
    if not plan.designs.get(paper) or not measured_transports(plan.testbed):
        return []
    names = ("links/tables/rdma.csv", "links/tables/transports.csv", "logs/links-tables.done")
    return [f"results/{plan.testbed}/{name}" for name in names]


def reference_files() -> list[str]:
    """The file that describes the reference results, if the folder in use has them."""
    path = Path("results", "reference", "manifest.json")
    return [str(path)] if (root() / path).is_file() else []
