"""`whitewire validate`: checks before a start, and what it would measure."""

from __future__ import annotations

import sys

from whitewire.analysis.claims import kinds_said
from whitewire.description.drafts import open_to_dos
from whitewire.description.project import document_path
from whitewire.description.testbed import load_testbed
from whitewire.install.doctor import preflight
from whitewire.paths import shown
from whitewire.workflow.ahead import outlook_of
from whitewire.workflow.documents import check_documents
from whitewire.workflow.plan import Plan


def validated() -> Plan:
    """Check every file that a start uses and whether this machine can run it, and print the outlook and the kinds of
    claims; returns the plan. Raises UserError."""
    plan = Plan.load()
    testbed = load_testbed(plan.testbed)
    if left_out := check_documents([(paper, document_path(name)) for name, paper in plan.described.items()]):
        print(f"whitewire: {left_out}", file=sys.stderr)
    preflight(testbed)
    for name, lines in plan.left_out.items():
        for line in lines:
            print(f"whitewire: {name}: left out: {line}", file=sys.stderr)
    print(outlook_of(plan, testbed), flush=True)
    for paper in plan.described.values():
        print(kinds_said(paper))
        for number, what in open_to_dos(paper.path):
            print(f"{shown(paper.path)}: line {number}: to do: {what}")
    return plan
