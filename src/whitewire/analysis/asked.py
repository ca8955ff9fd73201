"""Whether a claim was asked before the runs that its verdict rests on were made, and by itself."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from whitewire.analysis import net
from whitewire.description import asked
from whitewire.description.paper import Paper
from whitewire.design.rows import effort_of
from whitewire.tidy.tables import BY_ITSELF

BEFORE, AFTER = "before", "after"
"""Asked as it is now before the first run; changed since, or nobody noted what was asked."""


def effort(table: pd.DataFrame | None) -> str:
    """The effort at which claims were asked: blocks are there though they may have no run. Empty: unknown."""
    return "" if table is None or table.empty else effort_of(table["block"].iloc[0])


def of_claims(paper: Paper, table: pd.DataFrame | None) -> Mapping[str, str]:
    """BEFORE or AFTER by claim; `table` is tidy/asked.csv, None where there is none."""
    found = dict.fromkeys((claim["id"] for claim in paper.claims), AFTER)
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


def by_themselves(table: pd.DataFrame | None) -> list[str]:
    """The claims that a start measured by themselves."""
    if table is None or BY_ITSELF not in table:
        return []
    return [str(claim) for claim in table.loc[net.flags(table[BY_ITSELF]), "claim"].unique()]
