"""Sweeps of models against numbers worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from whitewire.analysis import sweeps
from whitewire.analysis.sweeps import sweeps_table
from whitewire.description.paper import Paper
from whitewire.errors import UserError


def paper(*sweep: dict) -> Paper:
    raw = {"id": "one", "values": [{"id": "X-V1", "value": 20}], "constants": {"drives": {"value": 4}}}
    return Paper(raw | ({"sweeps": list(sweep)} if sweep else {}), Path("one.yaml"))


TASK = {
    "id": "task",
    "title": "Task with striped output",
    "model": "striping.task_time",
    "unit": "s",
    "arguments": {"input_s": "X_V1", "compute_s": 60, "output_s": "X_V1", "stripes": 7},
    "vary": {"stripes": [1, 2, "drives"], "compute_s": [60, 0]},
}


def test_every_combination_has_a_row_by_hand():
    found = sweeps_table(paper(TASK))
    # 20 in, 60 or nothing between, and 20 out over 1, 2 or 4 drives.
    assert list(found["value"]) == [100, 40, 90, 30, 85, 25]
    assert list(found["stripes"]) == [1, 1, 2, 2, 4, 4]
    assert list(found["compute_s"]) == [60, 0] * 3
    assert set(found["arguments"]) == {"input_s=20, output_s=20"}
    assert set(found["unit"]) == {"s"}


def test_a_sweep_leaves_the_arguments_of_others_empty():
    other = {"id": "rate", "title": "", "model": "striping.copy_time", "unit": "s"}
    other |= {
        "arguments": {"size_mb": 100, "local_mb_per_s": 50, "store_mb_per_s": 80},
        "vary": {"link_mb_per_s": [10]},
    }
    found = sweeps_table(paper(TASK, other)).set_index("sweep")
    assert found.loc["rate", "value"] == 10
    assert found.loc["rate", ["stripes", "compute_s"]].isna().all()
    assert found.loc["task", "link_mb_per_s"].isna().all()


def test_a_sweep_may_use_what_an_experiment_holds():
    loaded = paper(TASK | {"experiment": "job", "arguments": {"input_s": "maps", "output_s": "drive_count"}})
    drive = {"drive": {"count": 2, "rate_mb_per_s": 500}}
    loaded.raw["experiments"] = [{"id": "job", "factors": {}, "parameters": {"maps": 10}, "hardware": drive}]
    found = sweeps_table(loaded)
    # 10 in, 60 or nothing between, and 2 out over 1, 2 or 4 drives.
    assert list(found["value"]) == [72, 12, 71, 11, 70.5, 10.5]


def test_a_paper_without_sweeps_has_an_empty_table():
    found = sweeps_table(paper())
    assert list(found.columns) == sweeps._COLUMNS
    assert len(found) == 0


@pytest.mark.parametrize(
    ("change", "nearest"),
    [
        ({"model": "striping.task_tim"}, "striping.task_time"),
        ({"vary": {"stripe": [1]}}, "stripes"),
        ({"vary": {"stripes": ["drive"]}}, "drives"),
        ({"experiment": "job"}, "experiment"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(change, nearest):
    with pytest.raises(UserError, match=nearest):
        sweeps_table(paper(TASK | change))


def test_a_misspelt_argument_stops_before_anything_is_measured():
    from whitewire.analysis.sweeps import check_sweeps
    from whitewire.description import project, testbed
    from whitewire.description.checks import load_paper
    from whitewire.description.paper import Paper
    from whitewire.errors import UserError

    loaded = load_paper(project.paper_path("xyratex-lustre-2011"), testbed.load_testbed("emulated")["fabrics"])
    check_sweeps(loaded)
    first = loaded.raw["sweeps"][0]
    bad = {**first, "vary": {"nodez": [1, 2]}}
    with pytest.raises(UserError, match="nodez"):
        check_sweeps(Paper({**loaded.raw, "sweeps": [bad]}, loaded.path))
