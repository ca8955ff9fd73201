"""What the end of a start says."""

import json

import pytest

from tests.support import blocks
from tests.support.blocks import BLOCK
from whitewire.report import ending, one_claim


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Results of two papers of a project of its own."""
    (tmp_path / "config").mkdir()
    config = {"papers": ["a", "b"], "testbed": "emulated", "effort": "quick", "budget": "30m"}
    monkeypatch.setattr(ending, "load_config", lambda: config)
    monkeypatch.setattr(ending, "root", lambda: tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in ("PAPERS", "TESTBED", "EFFORT", "BUDGET", "LANES", "OUTLIERS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "results" / "emulated"


OF_OPEN = "claim,route,verdict,minutes,chance,command,effort_needed"


def write_design(folder, *blocks):
    """The design of a paper with a run of each of these blocks."""
    rows = "".join(f"{number},{block},{block.partition('-')[0]},{number + 1},e,hdfs_put,1,1\n"
                   for number, block in enumerate(blocks))  # fmt: skip
    (folder / "design.csv").write_text(f"run_id,block,effort,order,experiment,workload,replicate,seed\n{rows}")


def paper(results, name, verdicts, left, report=True, runs=3, earlier=0):
    folder = results / name
    (folder / "analysis").mkdir(parents=True)
    rows = "\n".join(f"A-C{number},{route},{verdict},,,," for number, (route, verdict) in enumerate(verdicts, start=1))
    (folder / "analysis" / "verdicts.csv").write_text(f"{OF_OPEN}\n{rows}\n")
    block = folder / "raw" / "quick-1"
    for number in range(runs + earlier):
        (block / "runs" / str(number)).mkdir(parents=True)
        (block / "runs" / str(number) / "run.json").write_text("{}")
    write_design(folder, *["quick-1"] * runs)
    block.mkdir(parents=True, exist_ok=True)
    (block / "block.json").write_text(json.dumps(BLOCK | blocks.left(left)))
    if report:
        (results / "reports").mkdir(exist_ok=True)
        (results / "reports" / f"{name}.html").write_text("")


def test_what_is_decided_open_and_left_is_reported_with_what_to_do(results):
    left = {"1": "the budget ended", "2": "the budget ended", "3": "decided after 3 runs of each cell"}
    paper(results, "a", [("emulated", "reproduced"), ("emulated", "inconclusive"), ("arithmetic", "consistent")], left)
    failed = {"8": "its cluster failed: the services do not start: no answer; logs: logs"}
    paper(results, "b", [("emulated", "not reproduced")], {"9": "other programs used the processors", **failed})
    (results / "reports" / "index.html").write_text("")
    assert list(ending.lines()) == [
        "a: 3 runs; 1 of 2 claims that runs judge are decided, open: A-C2; results/emulated/reports/a.html",
        "b: 3 runs; 1 of 1 claims that runs judge are decided; results/emulated/reports/b.html",
        "the budget of 30m ended before 2 runs: BUDGET=2h make papers goes on",
        "a busy machine disturbed 1 runs: stop other programs, and AGAIN=busy make papers goes on",
        "1 runs were not made, because its cluster failed: the services do not start: no answer; logs: logs; "
        "make papers tries them again",
        "no effort is known to decide A-C2 of a: its report says why",
        "start page: results/emulated/reports/index.html",
    ]


def test_runs_of_an_earlier_design_do_not_count(results):
    paper(results, "a", [("emulated", "reproduced")], {}, earlier=4)
    assert next(ending.lines()).startswith("a: 3 runs; ")


def test_a_design_that_cannot_be_read_keeps_no_other_paper_back(results):
    paper(results, "a", [("emulated", "reproduced")], {})
    paper(results, "b", [("emulated", "reproduced")], {})
    (results / "a" / "design.csv").write_text("run_id\n")
    first, second, *_ = ending.lines()
    assert "design.csv: " in first and first.endswith("make it anew with `.venv/bin/whitewire design`")
    assert second.startswith("b: 3 runs; ")


def test_a_paper_that_failed_is_named_last(results):
    paper(results, "a", [("emulated", "reproduced")], {}, report=False)
    assert list(ending.lines()) == [
        "a: 3 runs; 1 of 1 claims that runs judge are decided; no report",
        "b: 0 runs; no verdicts yet",
        "not finished: a, b; what was measured is kept, and make papers goes on",
    ]


def test_verdicts_from_before_are_reported_as_such_when_a_stage_failed(results):
    paper(results, "a", [("emulated", "reproduced")], {})
    paper(results, "b", [("emulated", "reproduced")], {})
    for name in ("a", "b"):
        (results / name / "logs").mkdir()
        for file in ("tidy.log", "tidy.done", "analysis.log", "analysis.done", "paper.log", "paper.done"):
            (results / name / "logs" / file).write_text("")
    (results / "b" / "logs" / "analysis.done").unlink()
    line = "3 runs; 1 of 1 claims that runs judge are decided"
    assert list(ending.lines()) == [
        f"a: {line}; results/emulated/reports/a.html",
        f"b: {line}; these are earlier results, because analysis did not finish: see "
        "results/emulated/b/logs/analysis.log",
        "not finished: b; what was measured is kept, and make papers goes on",
    ]


@pytest.mark.parametrize(
    "content, said",
    [
        (b"", "line 1: found no column claim, expected one"),
        (b"claim,verdict\nC1,reproduced\n", "line 1: found no column route, expected one"),
        (b"claim,route,verdict\nA-C1,emulated\n", "line 2: found another number of cells, expected 3"),
        (b"claim,route,verdict\n\xff\n", "byte 20: found bytes that are not UTF-8, expected text"),
    ],
)
def test_verdicts_that_cannot_be_read_keep_no_other_paper_back(results, content, said):
    paper(results, "a", [("emulated", "reproduced")], {})
    paper(results, "b", [("emulated", "reproduced")], {})
    (results / "a" / "analysis" / "verdicts.csv").write_bytes(content)
    assert list(ending.lines()) == [
        f"a: 3 runs; verdicts cannot be read: results/emulated/a/analysis/verdicts.csv: {said}",
        "b: 3 runs; 1 of 1 claims that runs judge are decided; results/emulated/reports/b.html",
        "not finished: a; what was measured is kept, and make papers goes on",
    ]


def test_a_smoke_run_says_what_the_next_effort_may_decide(monkeypatch, results):
    monkeypatch.setattr(ending, "load_config", lambda: {"papers": ["emulex-2012"], "testbed": "emulated",
                                                        "effort": "smoke", "budget": "30m"})  # fmt: skip
    (results / "emulex-2012" / "analysis").mkdir(parents=True)
    command = "make papers PAPERS=emulex-2012 EFFORT=quick TESTBED=emulated"
    rows = [f"E-C08,emulated,inconclusive,3,0.9,{command}", f"E-C15,emulated,inconclusive,4,,{command}",
            f"E-C24,emulated,inconclusive,5,0.1,{command}", "E-C06,emulated,reproduced,,,",
            "E-C12,emulated,inconclusive,,,", "E-C01,arithmetic,inconclusive,,,"]  # fmt: skip
    table = "\n".join([OF_OPEN, *(f"{row},{'quick' if command in row else ''}" for row in rows), ""])
    (results / "emulex-2012" / "analysis" / "verdicts.csv").write_text(table)
    (line,) = [line for line in ending.lines() if " more minutes may decide " in line]
    assert line.endswith(f" may decide E-C08, E-C15 of emulex-2012: {command}") and int(line.split()[1]) > 5
    (hopeless,) = [line for line in ending.lines() if line.startswith("no effort is known")]
    assert hopeless == "no effort is known to decide E-C12 of emulex-2012: its report says why"


def test_a_command_names_what_this_start_was_asked_for(monkeypatch, results):
    monkeypatch.setenv("PAPERS", "a b")
    monkeypatch.setenv("EFFORT", "quick")
    paper(results, "a", [("emulated", "inconclusive")] * 8, {"1": "other programs used the processors"})
    lines = list(ending.lines())
    assert ", open: A-C1, A-C2, A-C3, A-C4, A-C5, A-C6 and 2 more; " in lines[0]
    command = "AGAIN=busy make papers PAPERS='a b' EFFORT=quick"
    assert f"a busy machine disturbed 1 runs: stop other programs, and {command} goes on" in lines


def test_runs_that_were_given_up_for_want_of_processors_can_be_made_again(results):
    paper(results, "a", [("emulated", "inconclusive")], {})
    block = results / "a" / "raw" / "quick-1"
    for name, code in {"r8.2": "failed", "r8.10": "woke_late", "r9.1": "unlike"}.items():
        (block / "invalid" / name).mkdir(parents=True)
        (block / "invalid" / name / "run.json").write_text(json.dumps({"why_codes": [code]}))
    (block / "block.json").write_text(json.dumps(BLOCK | {"given_up": ["r8", "r9"]}))
    assert "a busy machine disturbed 1 runs: stop other programs, and AGAIN=busy make papers goes on" in ending.lines()


def test_more_budget_says_the_minutes_of_the_claims(results):
    paper(results, "a", [("emulated", "inconclusive")] * 2, {})
    command = "BUDGET=2h make papers PAPERS=a EFFORT=quick"
    rows = f"A-C1,emulated,inconclusive,7,0.8,{command},quick\nA-C2,emulated,inconclusive,12,0.6,{command},quick\n"
    table = results / "a" / "analysis" / "verdicts.csv"
    table.write_text(f"{OF_OPEN}\n{rows}")
    assert f"about 12 more minutes may decide A-C1, A-C2 of a: {command}" in ending.lines()


HEAD = (
    "claim,route,verdict,reason,relation,asks,unit,estimand,claim_command,estimate,low,high,n,expected,expected_low,"
    "expected_high,minutes,chance"
)
RATIO = "throughput: put-grid 10gbe 3 6 / put-grid 1gbe 3 6"
MORE = "5.4,4.9,6.0,6,4.0,3.5,4.5,,"
OPEN = "5.4,3.9,7.5,3,4.0,3.5,4.5,4,0.8"
COMMAND = "BUDGET=2h make claim CLAIM=E-C02 EFFORT=quick"


def judged(folder, claim, verdict, numbers, reason="", command="", estimand=RATIO, relation="within", unit="1"):
    (folder / "emulex-2012" / "analysis").mkdir(parents=True, exist_ok=True)
    row = f'{claim},emulated,{verdict},"{reason}",{relation},size,{unit},{estimand},{command},{numbers}'
    (folder / "emulex-2012" / "analysis" / "verdicts.csv").write_text(f"{HEAD}\n{row}\n")


@pytest.fixture
def one(results, monkeypatch):
    """Results of a start for one claim, beside reference results of 6.244 times."""
    config = {"papers": ["emulex-2012"], "testbed": "emulated", "effort": "quick", "budget": "30m", "claim": "E-C02"}
    monkeypatch.setattr(ending, "load_config", lambda: config)
    judged(results.parent / "reference", "E-C02", "direction only", "6.244,4.9,7.95,3,4.0,3.5,4.5,,")
    monkeypatch.setattr(one_claim.reference, "reference_folder", lambda: results.parent / "reference")
    block = results / "emulex-2012" / "raw" / "quick-1"
    block.mkdir(parents=True)
    (block / "block.json").write_text(json.dumps(BLOCK))
    write_design(results / "emulex-2012", "quick-1")
    return results


def test_a_start_for_one_claim_ends_with_its_sentence(one):
    judged(one, "E-C02", "direction only", MORE)
    assert list(ending.lines()) == [
        "E-C02: claimed 4 times; reference 6.24; here 5.4 (4.9 to 6), 6 runs a cell: more than claimed"
    ]
    judged(one, "E-C02", "direction only", "2,1.8,2.2,6,4.0,3.5,4.5,,")
    assert next(ending.lines()).endswith("here 2 (1.8 to 2.2), 6 runs a cell: less than claimed")


def test_an_open_claim_says_why_and_what_may_decide_it(one):
    reason = "5.4 (3.9 to 7.5) overlaps the bound 4.5, so the data cannot decide: 3.5 to 4.5"
    judged(one, "E-C02", "inconclusive", OPEN, reason=reason, command=COMMAND)
    assert list(ending.lines()) == [
        "E-C02: claimed 4 times; reference 6.24; here 5.4 (3.9 to 7.5), 3 runs a cell: inconclusive",
        "why: 5.4 (3.9 to 7.5) overlaps the bound 4.5, so the data cannot decide: 3.5 to 4.5",
        f"about 4 more minutes may decide it: {COMMAND}",
    ]


def test_a_claim_without_a_verdict_says_how_to_go_on(one, monkeypatch):
    monkeypatch.setenv("EFFORT", "quick")
    again = "not finished; what was measured is kept, and make claim CLAIM=E-C02 EFFORT=quick goes on"
    assert list(ending.lines()) == [f"E-C02: {again}"]
    judged(one, "E-C02", "reproduced", MORE)
    (one / "emulex-2012" / "raw" / "quick-1" / "block.json").unlink()
    assert list(ending.lines()) == [f"E-C02: {again}"], "the verdict is from before"


def test_a_claim_with_a_block_that_did_not_finish_has_no_verdict_yet(one):
    judged(one, "E-C02", "reproduced", MORE)
    write_design(one / "emulex-2012", "quick-1", "quick-2")
    log = one / "emulex-2012" / "logs" / "measure" / "quick-2.log"
    log.parent.mkdir(parents=True)
    log.write_text("")
    (line,) = ending.lines()
    assert line.startswith("E-C02: not finished: see results/emulated/emulex-2012/logs/measure/quick-2.log; what was ")


@pytest.mark.parametrize("relation, unit, estimand, claimed", [
    ("within", "1", RATIO, "claimed 4 times; "),
    ("above", "1", RATIO, "claimed a ratio above 4; "),
    ("within", "1", "completion_time: sort 1gbe / sort 10gbe", "claimed 4 times; "),
    ("within", "MB/s", "throughput: put-grid 10gbe 3 6", "claimed 4 MB/s; "),
    ("within", "1", "throughput: put-grid 1gbe / 1 x 1gbe link", "claimed 4 of the links' rate; "),
    ("above", "1", "link_share: put-grid 1gbe / 1", "claimed above 4; "),
    ("increasing", "1", "throughput: step by step", "claimed to rise from step to step; "),
])  # fmt: skip
def test_what_is_claimed_is_reported_in_its_unit(one, relation, unit, estimand, claimed):
    judged(one, "E-C02", "reproduced", MORE, relation=relation, unit=unit, estimand=estimand)
    assert next(ending.lines()).startswith(f"E-C02: {claimed}reference 6.24; here 5.4 ")


def test_a_time_that_is_to_fall_is_so_many_times_the_time(one):
    numbers, estimand = "0.54,0.49,0.6,6,0.4,0.35,0.45,,", "completion_time: sort 10gbe / sort 1gbe"
    judged(one, "E-C02", "direction only", numbers, estimand=estimand)
    assert next(ending.lines()).startswith("E-C02: claimed 0.4 times the time; reference 6.24; here 0.54 ")


def test_a_paper_whose_other_block_is_to_be_measured_again_is_not_finished(results):
    """A later block that took the next k sets the runs of finished ones aside."""
    paper(results, "a", [("emulated", "reproduced")], {})
    write_design(results / "a", "quick-1", "quick-1", "quick-1", "quick-2")
    first, *others = ending.lines()
    assert first.endswith(" are decided; these are earlier results, because quick-2 did not finish")
    assert "not finished: a, b; what was measured is kept, and make papers goes on" in others


def test_a_claim_is_not_answered_from_another_effort_while_its_blocks_are_not_finished(one):
    """The start ended before it wrote the design of its effort."""
    judged(one, "E-C02", "reproduced", "4,3.8,4.2,6,4,3.5,4.5,,")
    assert "E-C02: claimed 4 times" in next(ending.lines())
    folder = one / "emulex-2012"
    (folder / "raw" / "quick-1").rename(folder / "raw" / "smoke-1")
    write_design(folder, "smoke-1")
    assert next(ending.lines()).startswith("E-C02: not finished; ")


def test_a_start_goes_on_as_it_was_asked_for_and_with_a_longer_budget_where_its_own_ended(monkeypatch, results):
    """With another budget finished blocks would be measured further; with the same one nothing would be."""
    config = {"papers": ["a", "b"], "testbed": "emulated", "effort": "quick", "budget": "4h"}
    monkeypatch.setattr(ending, "load_config", lambda: config)
    for name, value in {"BUDGET": "4h", "TESTBED": "lab", "OUTLIERS": "mark"}.items():
        monkeypatch.setenv(name, value)
    paper(results, "a", [("emulated", "inconclusive")], {"1": "the budget ended"})
    *_, short, unfinished, _ = ending.lines()
    assert short.endswith("before 1 runs: BUDGET=8h make papers TESTBED=lab OUTLIERS=mark goes on")
    assert unfinished.endswith(" is kept, and make papers TESTBED=lab BUDGET=4h OUTLIERS=mark goes on")


def test_a_paper_without_runs_is_finished_without_a_block(results):
    paper(results, "a", [("arithmetic", "consistent")], {}, runs=0)
    (results / "a" / "raw" / "quick-1" / "block.json").unlink()
    first, *_ = ending.lines()
    assert first == "a: 0 runs; 0 of 0 claims that runs judge are decided; results/emulated/reports/a.html"
    assert "not finished: b; what was measured is kept, and make papers goes on" in ending.lines()
