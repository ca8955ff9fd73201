"""What the end of a start says."""

import json

import pytest

from tests.support.blocks import BLOCK
from whitewire.report import ending


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Results of two papers of a project of its own."""
    (tmp_path / "config").mkdir()
    config = {"papers": ["a", "b"], "testbed": "emulated", "effort": "quick", "budget": "30m"}
    monkeypatch.setattr(ending, "load_config", lambda: config)
    monkeypatch.setattr(ending, "root", lambda: tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "results" / "emulated"


def paper(results, name, verdicts, left, report=True, runs=3):
    folder = results / name
    (folder / "analysis").mkdir(parents=True)
    rows = "\n".join(f"{route},{verdict}" for route, verdict in verdicts)
    (folder / "analysis" / "verdicts.csv").write_text(f"route,verdict\n{rows}\n")
    block = folder / "raw" / "quick-1"
    for number in range(runs):
        (block / "runs" / str(number)).mkdir(parents=True)
        (block / "runs" / str(number) / "run.json").write_text("{}")
    (block / "block.json").write_text(json.dumps(BLOCK | {"left": left}))
    if report:
        (results / "reports").mkdir(exist_ok=True)
        (results / "reports" / f"{name}.html").write_text("")


def test_what_is_decided_open_and_left_is_told_with_what_to_do(results):
    left = {"1": "the budget ended", "2": "the budget ended", "3": "decided after 3 runs of each cell"}
    paper(results, "a", [("emulated", "reproduced"), ("emulated", "inconclusive"), ("arithmetic", "consistent")], left)
    paper(results, "b", [("emulated", "not reproduced")], {"9": "other programs used the processors"})
    (results / "reports" / "index.html").write_text("")
    assert list(ending.lines()) == [
        "a: 3 runs; 1 of 2 claims that runs judge are decided; results/emulated/reports/a.html",
        "b: 3 runs; 1 of 1 claims that runs judge are decided; results/emulated/reports/b.html",
        "the budget of 30m ended before 2 runs: BUDGET=2h make papers goes on",
        "other programs used the processors in 1 runs: stop them, and BUDGET=2h make papers goes on",
        "start page: results/emulated/reports/index.html",
    ]


def test_a_paper_that_failed_is_named_last(results):
    paper(results, "a", [("emulated", "reproduced")], {}, report=False)
    assert list(ending.lines()) == [
        "a: 3 runs; 1 of 1 claims that runs judge are decided; no report",
        "b: 0 runs; no verdicts yet",
        "not finished: a, b; what was measured is kept, and `make papers` goes on",
    ]
