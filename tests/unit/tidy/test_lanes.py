"""The column of lanes is there where runs of one block were made in several, and only there."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from tests.support.papers import paper
from whitewire.analysis import so_far
from whitewire.tidy.columns import LANE
from whitewire.tidy.tables import in_lanes, metric_rows


def record(lane, block="quick-1", valid=True):
    own = {"run_id": f"{block}-{lane}", "block": block, "valid": valid, "why_invalid": "", "why_codes": [],
           "factors": {}}  # fmt: skip
    return own | ({"lane": lane} if lane else {})


@pytest.mark.parametrize(
    ("made", "several"),
    [
        ([record(0), record(0)], False),
        ([record(2), record(2)], False),
        ([record(1), record(2, block="quick-2")], False),
        ([record(1), record(2, valid=False)], False),
        ([record(1), record(2)], True),
        ([record(0), record(2)], True),
    ],
)
def test_lanes_are_a_column_where_a_block_has_valid_runs_of_several(made, several):
    assert in_lanes(made) == several


def test_a_row_has_the_lane_of_its_run_where_it_is_asked_for():
    (plain,) = metric_rows(Path("nowhere"), record(2), [])
    (own,) = metric_rows(Path("nowhere"), record(2), [], lanes=True)
    assert LANE not in plain
    assert own == plain | {LANE: 2}


def test_an_interim_analysis_sees_the_lanes_too():
    rows = [row for lane in (1, 2) for row in metric_rows(Path("nowhere"), record(lane), [], lanes=True)]
    table, _ = so_far.as_read(paper(), rows, [])
    assert list(table[LANE]) == [1, 2]
    table, _ = so_far.as_read(paper(), [], [])
    assert isinstance(table, pd.DataFrame) and LANE not in table
