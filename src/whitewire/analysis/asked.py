"""When a claim was asked: before the runs that its verdict rests on, alone, or judged before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from whitewire import statistics
from whitewire.analysis import net
from whitewire.description import asked
from whitewire.description.paper import Paper
from whitewire.design.rows import effort_of
from whitewire.tidy.columns import BY_ITSELF, JUDGED

BEFORE, ASKED_AFTER, AGAIN = "before", "after", "again"
"""Asked before the first run as it is asked now; changed since, or not noted; asked before the first run, but also
judged earlier with fewer runs, at the end of a start, by an analysis that spent the whole level."""


@dataclass(frozen=True)
class Noted:
    """The ledger's entries for a paper's claims."""

    since: Mapping[str, str] = field(default_factory=dict)
    """BEFORE or _AFTER by claim."""
    judged: Mapping[str, int] = field(default_factory=dict)
    """Runs of each cell when a claim was judged before its last run began."""
    alone: Sequence[str] = ()
    """Claims that a start measured by themselves."""

    @classmethod
    def of(cls, paper: Paper, table: pd.DataFrame | None) -> Noted:
        """Read from tidy/asked.csv; `table` is None without one."""
        return cls(of_claims(paper, table), judged_before(table), by_themselves(table))

    def word(self, claim: str, row: Mapping[str, Any]) -> str:
        """The column `asked` of a claim that runs judge. `row` is its row, with `n` and `decided_after`."""
        found = self.since.get(claim, ASKED_AFTER)
        return AGAIN if found == BEFORE and self.earlier(claim, row) else found

    def earlier(self, claim: str, row: Mapping[str, Any]) -> int:
        """Runs of each cell at an earlier analysis that spent the whole level; 0 if there was none.

        An analysis with too few runs for an interval spent nothing, nor did one after an interim analysis had decided
        the claim.
        """
        runs = self.judged.get(claim, 0)
        decided = row["decided_after"] is not None and row["decided_after"] <= runs
        return runs if statistics.FEWEST <= runs < (row["n"] or 0) and not decided else 0


NOTHING = Noted()
"""Results without a ledger."""


def effort(table: pd.DataFrame | None) -> str:
    """The effort at which claims were asked, from the names of blocks, which may have no run; empty if unknown."""
    return "" if table is None or table.empty else effort_of(table["block"].iloc[0])


def of_claims(paper: Paper, table: pd.DataFrame | None) -> Mapping[str, str]:
    """BEFORE or _AFTER by claim; `table` is tidy/asked.csv, None where there is none."""
    found = dict.fromkeys((claim["id"] for claim in paper.claims), ASKED_AFTER)
    if table is None or table.empty:
        return found
    now = asked.digests(paper, effort(table))
    for claim, rows in table.groupby("claim"):
        # Of blocks without a run of the claim what is asked last; where there are others these don't count.
        begun = rows[rows["first_run"].notna()] if rows["first_run"].notna().any() else rows
        asked_then = begun[begun["first_run"].isna() | (begun["asked_since"] <= begun["first_run"])]
        last = asked_then.groupby("block")["digest"].last()
        if set(last.index) == set(begun["block"]) and (last == now.get(str(claim))).all():
            found[str(claim)] = BEFORE
    return found


def judged_before(table: pd.DataFrame | None) -> Mapping[str, int]:
    """Runs of each cell with which claims were judged before they got more."""
    if table is None or JUDGED not in table:
        return {}
    known = table[pd.to_numeric(table[JUDGED]).notna()]
    return {str(claim): int(runs) for claim, runs in zip(known["claim"], known[JUDGED], strict=True)}


def by_themselves(table: pd.DataFrame | None) -> list[str]:
    """The claims that a start measured by themselves."""
    if table is None or BY_ITSELF not in table:
        return []
    return [str(claim) for claim in table.loc[net.flags(table[BY_ITSELF]), "claim"].unique()]
