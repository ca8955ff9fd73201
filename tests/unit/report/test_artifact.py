"""The facts of a run as an artifact, from small made-up results and from the reference of the repository."""

from __future__ import annotations

import json

import pytest

from tests.support import kept
from tests.support.blocks import BLOCK
from tests.support.blocks import left as left_of
from tests.support.compared import ENVIRONMENT, claim, write
from whitewire.errors import UserError
from whitewire.records.manifest import manifest_faults
from whitewire.report import artifact, reference
from whitewire.report.artifact import agreement_facts, artifact_of
from whitewire.report.reference import keep_reference


@pytest.fixture
def results(tmp_path, monkeypatch):
    project = kept.project(tmp_path / "project")
    monkeypatch.chdir(project)
    return kept.results(project)


def test_a_run_is_reported_as_its_records_have_it(results):
    own = results / kept.PAPER
    block = own / "raw" / "quick-1"
    record = json.loads((block / "block.json").read_text())
    ids = record["runs"]
    left = {ids[0]: "decided after 3 runs of each cell", ids[1]: "decided after 4 runs of each cell"}
    more = {"seconds": 90.0, "spent": {"runs": 60.0, "start": 30.0}, "budget_seconds": 40.0,
            "start_budget_seconds": 120.0, **left_of(left)}  # fmt: skip
    (block / "block.json").write_text(json.dumps(record | more | {"given_up": [ids[2]]}))
    (own / "logs").mkdir()
    (own / "logs" / "analysis.tsv").write_text("s\th:m:s\tmax_rss\n4.25\t0:00:04\t100\n")
    found = artifact_of(results, {"state": "none"})
    (paper,) = found["papers"]
    assert paper["seconds"] == {"measure": 90.0, "measure: runs": 60.0, "measure: start": 30.0, "analysis": 4.2}
    assert paper["left"] == {"decided after some runs of each cell": 2, "given up: no attempt was valid": 1}
    assert (paper["effort"], paper["designed"]) == ("quick", len(ids))
    assert found["budget"] == {"had": True, "seconds": 120.0, "asked": "2m", "ended_before": 0}
    assert paper["counted"] == len(ids)
    assert sum(each["runs"] for each in paper["experiments"]) == len(ids)
    assert {each["k"] for each in paper["experiments"]} == {"30", ""}  # that of the controls is their cell's
    assert paper["bytes"]["tidy"] == sum(path.stat().st_size for path in (own / "tidy").iterdir())
    assert (found["commits"], found["modified"]) == ([kept.COMMIT], record["modified"])
    assert (found["testbed"], found["kind"], found["seed"], found["memory_gib"]) == ("emulated", "emulated", 7, 8)
    assert found["roles"] == {"namenode": 1, "datanode": 2}
    assert not found["is_reference"]


ENDED = {"1": "the budget ended", "2": "the budget ended", "3": "decided after 3 runs of each cell"}


@pytest.mark.parametrize(
    "blocks, expected",
    [
        # What each block has until its first analysis is no share: 40 and 50 minutes of one start of one hour.
        ([{"budget_seconds": 2400.0, "start_budget_seconds": 3600.0}, {"budget_seconds": 3000.0,
                                                                       "start_budget_seconds": 3600.0}],
         {"had": True, "seconds": 3600.0, "asked": "60m", "ended_before": 0}),
        ([{"budget_seconds": 2400.0, "seconds": 90.0, **left_of(ENDED)}, {"budget_seconds": 3000.0, "seconds": 61.0}],
         {"had": True, "seconds": None, "asked": "3m", "ended_before": 2}),
        ([{"budget_seconds": None, "start_budget_seconds": None}],
         {"had": False, "seconds": None, "asked": "none", "ended_before": 0}),
        ([{}], {"had": False, "seconds": None, "asked": "none", "ended_before": 0}),
    ],
)  # fmt: skip
def test_the_budget_is_that_of_the_start_and_not_of_its_blocks(blocks, expected):
    assert artifact.budget([BLOCK | block for block in blocks]) == expected


MEASURED, HOLDS = "a" * 40, "b" * 40


@pytest.mark.parametrize(
    "measured_by, state, later, expected",
    [
        ([MEASURED], "itself", False, {"commit": HOLDS, "holds": True}),  # at the other one an earlier reference is
        ([MEASURED], "compared", False, {"commit": MEASURED, "holds": False}),
        ([MEASURED], "compared", True, {"commit": HOLDS, "holds": True}),
        ([MEASURED, HOLDS], "compared", True, {"commit": "", "holds": False}),
        (["unknown"], "none", True, {"commit": "", "holds": False}),
    ],
)
def test_the_commit_to_check_out_has_the_reference(results, monkeypatch, measured_by, state, later, expected):
    monkeypatch.setattr(artifact.commits, "holding", lambda folder: HOLDS)
    monkeypatch.setattr(artifact.commits, "precedes", lambda one, other: later and (one, other) == (MEASURED, HOLDS))
    block = results / kept.PAPER / "raw" / "quick-1" / "block.json"
    record = json.loads(block.read_text())
    monkeypatch.setattr(artifact, "_blocks", lambda *_: [record | {"commit": commit} for commit in measured_by])
    assert artifact_of(results, {"state": state})["checkout"] == expected


def test_claims_have_what_is_asked_and_what_was_found(tmp_path):
    trend = claim("C3", 1.0, 0.9, 1.1, route="arithmetic", expected="rising")
    write(tmp_path, claims=[claim("C1", 4.1, 3.9, 4.3, estimand="throughput: b / a"), claim("C2", 2.0, n=3), trend])
    found = artifact_of(tmp_path, {"state": "none"})
    one, two, three = found["claims"]
    assert (one["estimand"], one["expected"], one["expected_low"], one["expected_high"]) == (
        "throughput: b / a", 4.0, 3.5, 4.5)  # fmt: skip
    assert (one["estimate"], one["low"], one["high"], one["n"], one["verdict"]) == (4.1, 3.9, 4.3, 10, "reproduced")
    assert (two["low"], two["high"]) == (None, None)
    assert three["expected"] == "rising"
    assert (found["bounded"], found["by_chance"]) == (1, 0)  # of claims that runs judge, one has an interval


def test_machines_that_are_alike_are_reported_once():
    one, two = {"cpu": "A", "memory_gib": 64.0, "load_average": 0.1}, {"cpu": "B", "memory_gib": 64.0}
    records = [{"machines": {"w1": one, "w2": one | {"load_average": 3.0}, "w3": two}}, {"machines": {"w1": one}}]
    assert artifact._machines(records) == [
        {"hosts": "w1, w2", "facts": {"cpu": "A", "memory_gib": "64"}},
        {"hosts": "w3", "facts": {"cpu": "B", "memory_gib": "64"}},
    ]
    (only,) = artifact._machines([ENVIRONMENT])
    assert only == {"hosts": "", "facts": {"kernel": "6.1.0", "processors": "2"}}


def test_packages_of_every_kind():
    software = {"debian_packages": ["fio=3.33-3", "git=1:2.39.5-0+deb12u3"], "python_packages": ["numpy==2.4.6"],
                "conda": {"packages": ["r-base-4.2.3-h1_0", "odd"]}}  # fmt: skip
    found = artifact._packages([{"software": software}, {"software": software}])
    assert [tuple(each.values()) for each in found] == [
        ("Debian", "fio", "3.33-3"), ("Debian", "git", "1:2.39.5-0+deb12u3"), ("Python", "numpy", "2.4.6"),
        ("conda", "r-base", "4.2.3"), ("conda", "odd", ""),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "s\th:m:s\n", "h:m:s\n0:01\n", "s\nnone\n"])
def test_a_record_of_time_that_cannot_be_read_is_none(tmp_path, text):
    (tmp_path / "tidy.tsv").write_text(text)
    assert artifact.benchmarked(tmp_path / "tidy.tsv") is None


def test_sizes_follow_no_link(tmp_path):
    (tmp_path / "a").write_bytes(b"12345")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b").write_bytes(b"123")
    (tmp_path / "deep" / "up").symlink_to(tmp_path)
    (tmp_path / "again").symlink_to(tmp_path / "a")
    assert artifact.bytes_of(tmp_path) == 8
    assert artifact.bytes_of(tmp_path / "none") == 0


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(UserError, match="found no <paper>/analysis/verdicts.csv"):
        artifact_of(tmp_path, {"state": "none"})


def test_a_second_run_is_reported_beside_the_reference(results, tmp_path):
    own = keep_reference(results, [kept.PAPER])
    assert agreement_facts(own, tmp_path)["state"] == "itself"
    again = kept.results(results.parent.parent, seed=2, name="again")
    found = agreement_facts(again, tmp_path / "scratch")
    assert found["state"] == "compared"
    assert found["agrees"] is True
    rows = {row["claim"]: row for row in found["rows"]}
    assert rows["N-C01"]["estimate_a"] == pytest.approx(6, rel=0.05)
    assert rows["N-C01"]["ratio"] == pytest.approx(1, rel=0.05)
    assert json.loads(json.dumps(found["rows"], allow_nan=False)) == found["rows"]


def test_the_reference_of_the_repository():
    found = artifact_of(reference.reference_folder(), {"state": "itself"})
    record = reference.results_record()
    assert found["is_reference"]
    assert (found["testbed"], found["seed"]) == (record["testbed"], record["seed"])
    assert set(found["commits"]) <= set(record["commits"])  # which names those of the testbed's own measurements too
    assert {each["paper"]: each["counted"] for each in found["papers"]} == {
        name: each["runs"] for name, each in record["papers"].items()
    }
    assert all(each["counted"] + sum(each["left"].values()) == each["designed"] for each in found["papers"])
    assert manifest_faults(reference.reference_folder()) == []
