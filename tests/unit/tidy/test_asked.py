"""The ledger of what was asked: a claim that is changed after its first run counts as asked after it."""

import json
import tempfile
from collections import Counter
from dataclasses import replace
from itertools import count
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.papers import paper
from whitewire.analysis.asked import AGAIN, ASKED_AFTER, BEFORE, NOTHING, Noted, by_themselves, of_claims
from whitewire.description import asked as claims_asked
from whitewire.estimands import estimand_of
from whitewire.records import asked
from whitewire.records.asked import ASKED_FILE, asked_of_block
from whitewire.records.checked import CheckedBlock
from whitewire.records.journal import Journal
from whitewire.records.manifest import manifest_faults
from whitewire.rule import RULE_VERSION
from whitewire.tidy import columns, form, tables

LOADED = paper()
CLAIM = "E-C06"
TEST = next(claim["test"] for claim in LOADED.claims if claim["id"] == CLAIM)
NOTED, FIRST_RUN = 1_000_000.0, 1_000_100.0


def with_test(**changes):
    claims = [c | {"test": c["test"] | changes} if c["id"] == CLAIM else c for c in LOADED.claims]
    return replace(LOADED, raw={**LOADED.raw, "claims": claims})


def verdict_of(tmp_path, now=LOADED, block="quick-1"):
    """What the analysis says of the claim, from a block with one run of its numerator."""
    run = {"experiment": "put-grid", "factors": TEST["numerator"]["where"], "valid": True, "start": FIRST_RUN}
    rows = list(tables._asked(now, tmp_path, {block: CheckedBlock(runs=[(tmp_path, run)])}))
    table = pd.DataFrame(rows, columns=tables.TABLES["asked.csv"]).replace("", None)
    return of_claims(now, table)


def noted(tmp_path, of, at=NOTED, block="quick-1"):
    (tmp_path / block).mkdir(exist_ok=True)
    asked.note(tmp_path / block, at, RULE_VERSION, claims_asked.digests(of, "quick"))


def test_a_claim_that_stays_as_it_was_is_asked_before(tmp_path):
    noted(tmp_path, LOADED)
    assert verdict_of(tmp_path)[CLAIM] == BEFORE


@pytest.mark.parametrize("change", [{"relative": 0.3}, {"expected": 4}, {"no_effect": 1.1}])
def test_a_tolerance_changed_after_the_first_run_is_seen(tmp_path, change):
    noted(tmp_path, LOADED)
    changed = with_test(**change)
    assert verdict_of(tmp_path, changed)[CLAIM] == ASKED_AFTER
    noted(tmp_path, changed, at=FIRST_RUN + 100)  # a further start
    found = verdict_of(tmp_path, changed)
    assert found[CLAIM] == ASKED_AFTER and found["E-C08"] == BEFORE
    assert verdict_of(tmp_path)[CLAIM] == BEFORE, "taken back"


def test_words_change_nothing_and_values_do():
    digest = claims_asked.digests(LOADED, "quick")[CLAIM]
    assert claims_asked.digests(with_test(also=["link_share"]), "quick")[CLAIM] == digest
    values = [v | {"value": v["value"] * 2} for v in LOADED.raw["values"]]
    assert claims_asked.digests(replace(LOADED, raw={**LOADED.raw, "values": values}), "quick")[CLAIM] != digest
    others = replace(LOADED, raw={**LOADED.raw, "looks": {"quick": [3, 10]}})
    assert claims_asked.digests(others, "quick")[CLAIM] != digest


def test_another_rule_asks_anew(monkeypatch):
    digest = claims_asked.digests(LOADED, "quick")[CLAIM]
    monkeypatch.setattr(claims_asked, "RULE_VERSION", "2027-01-01")
    assert claims_asked.digests(LOADED, "quick")[CLAIM] != digest


def test_results_without_a_ledger_are_asked_after(tmp_path):
    (tmp_path / "quick-1").mkdir()
    assert set(verdict_of(tmp_path).values()) == {ASKED_AFTER}
    assert set(of_claims(LOADED, None).values()) == {ASKED_AFTER}


def test_the_same_question_is_noted_once(tmp_path):
    noted(tmp_path, LOADED)
    noted(tmp_path, LOADED, at=NOTED + 5)
    (entry,) = json.loads((tmp_path / "quick-1" / ASKED_FILE).read_text())["asked"]
    assert entry["at"] == "1970-01-12T13:46:40.000+00:00" and entry["rule"] == RULE_VERSION


def test_what_counts_is_the_question_that_stood_when_the_first_run_began(tmp_path):
    wider = with_test(relative=0.3)
    for at, of in enumerate((LOADED, wider)):
        noted(tmp_path, of, at=NOTED + at)
    assert (verdict_of(tmp_path)[CLAIM], verdict_of(tmp_path, wider)[CLAIM]) == (ASKED_AFTER, BEFORE)
    noted(tmp_path, LOADED, at=NOTED + 2)
    assert verdict_of(tmp_path)[CLAIM] == BEFORE


def test_a_control_that_is_taken_away_is_another_question():
    fewer = replace(LOADED, raw={**LOADED.raw, "controls": LOADED.raw["controls"][1:]})
    assert claims_asked.digests(fewer, "quick")[CLAIM] != claims_asked.digests(LOADED, "quick")[CLAIM]


def test_a_block_without_a_run_of_the_claim_does_not_count_beside_one_with(tmp_path):
    noted(tmp_path, LOADED)
    rows = [("quick-1", CLAIM, claims_asked.digests(LOADED, "quick")[CLAIM], "2026-01-01", "2026-01-02"),
            ("quick-2", CLAIM, "", "", None)]  # fmt: skip
    assert of_claims(LOADED, pd.DataFrame(rows, columns=tables.TABLES["asked.csv"]))[CLAIM] == BEFORE


def test_a_claim_is_asked_before_where_its_block_ended_without_a_run(tmp_path):
    noted(tmp_path, LOADED)
    rows = list(tables._asked(LOADED, tmp_path, {"quick-1": CheckedBlock(runs=[])}))
    table = pd.DataFrame(rows, columns=tables.TABLES["asked.csv"]).replace("", None)
    assert of_claims(LOADED, table)[CLAIM] == BEFORE


def test_a_claim_that_was_measured_by_itself_stays_known(tmp_path):
    noted(tmp_path, LOADED)
    digests = claims_asked.digests(LOADED, "quick")
    for start in range(2):
        asked.note(tmp_path / "quick-1", NOTED + start, RULE_VERSION, digests, alone=CLAIM)
    asked.note(tmp_path / "quick-1", NOTED + 2, RULE_VERSION, digests)
    assert len(asked_of_block(tmp_path / "quick-1")) == 3, "the same again is no further entry"
    rows = list(tables._asked(LOADED, tmp_path, {"quick-1": CheckedBlock(runs=[])}))
    assert {row["claim"] for row in rows if row[columns.BY_ITSELF] == "true"} == {CLAIM}
    assert len(rows) == len(LOADED.claims), "it asks the same as before"
    content = tables.as_csv((*tables.TABLES["asked.csv"], columns.BY_ITSELF), rows, "asked.csv")
    assert by_themselves(pd.DataFrame(form.rows(content, "asked.csv"))) == [CLAIM]
    assert by_themselves(None) == by_themselves(pd.DataFrame(columns=tables.TABLES["asked.csv"])) == []


CELLS = list(estimand_of(TEST).needed())
STARTS = st.lists(st.tuples(st.lists(st.integers(0, len(CELLS) - 1), max_size=4), st.booleans()), max_size=8)
"""The cells of the runs that each start makes in a block, and whether it ends or is killed."""


def run_of(cell, at):
    experiment, factors = CELLS[cell]
    return {"experiment": experiment, "factors": factors, "valid": True, "start": at}


def judged_with(folder, blocks):
    """The claim's column `judged` in tidy/asked.csv; None without that column, or without a number."""
    read = {name: CheckedBlock(runs=[(folder, run) for run in runs]) for name, runs in blocks.items()}
    (found,) = {row.get(columns.JUDGED) for row in tables._asked(LOADED, folder, read) if row["claim"] == CLAIM} or {
        None
    }
    return None if found == "" else found


@given(STARTS, st.integers(1, 3))
@settings(max_examples=40)
def test_how_many_runs_there_were_when_a_claim_was_judged_before_its_last_run(starts, blocks):
    """A claim is judged where a start has made all blocks, one after the other."""
    names = [f"quick-{number}" for number in range(1, blocks + 1)]
    runs, made = {name: [] for name in names}, Counter()
    clock, digests = count(1_000_000), claims_asked.digests(LOADED, "quick")
    judged = earlier = None
    with tempfile.TemporaryDirectory() as top:
        for own, ends in starts:
            for name in names:
                (folder := Path(top, name)).mkdir(exist_ok=True)
                asked.note(folder, next(clock), RULE_VERSION, digests)
                for cell in own:
                    runs[name].append(run_of(cell, next(clock)))
                    made[cell] += 1
                    earlier = judged
                if not ends:
                    break
                asked.end(folder, next(clock))
            else:
                judged = Counter(made)
        found = judged_with(Path(top), runs)
    expected = None if earlier is None else min(earlier[cell] for cell in made)
    if blocks == 1:
        assert found == expected
    else:  # a block that is made again may end while none of the others has begun again
        assert (found is None) == (expected is None) and (found is None or found >= expected)


def test_a_start_that_goes_on_judges_nothing_twice_but_where_it_is_killed(tmp_path):
    digests, folder = claims_asked.digests(LOADED, "quick"), tmp_path / "quick-1"
    noted(tmp_path, LOADED)
    asked.end(folder, NOTED + 10)
    asked.note(folder, NOTED + 20, RULE_VERSION, digests, continues=True)
    runs = [run_of(cell, NOTED + at) for cell in range(len(CELLS)) for at in (1, 21)]
    assert judged_with(tmp_path, {"quick-1": runs}) == 1, "it is killed"
    asked.end(folder, NOTED + 30)
    assert len(asked_of_block(folder)) == 1 and judged_with(tmp_path, {"quick-1": runs}) is None
    asked.note(folder, NOTED + 50, RULE_VERSION, digests)
    assert len(asked_of_block(folder)) == 2, "another start"
    assert judged_with(tmp_path, {"quick-1": [*runs, run_of(0, NOTED + 51)]}) == 2


def test_the_block_that_a_start_finishes_has_its_end_and_one_that_makes_nothing_moves_none(tmp_path):
    journal = Journal(tmp_path / "quick-1")

    def finished():
        journal.finish({"block": "quick-1"})
        return asked_of_block(journal.folder)

    journal.begin()
    noted(tmp_path, LOADED)
    assert "ended" not in asked_of_block(journal.folder)[0], "it is killed before the block is finished"
    noted(tmp_path, LOADED, at=NOTED + 10)
    (entry,) = finished()
    assert entry["ended"] > entry["at"] and finished() == [entry]
    assert manifest_faults(journal.folder) == []


def test_a_clock_that_is_set_back_makes_no_other_start_of_one_that_goes_on(tmp_path):
    noted(tmp_path, LOADED)
    asked.end(tmp_path / "quick-1", NOTED + 10)
    asked.note(tmp_path / "quick-1", NOTED - 3600, RULE_VERSION, claims_asked.digests(LOADED, "quick"), continues=True)
    assert len(asked_of_block(tmp_path / "quick-1")) == 1


def test_an_invalid_attempt_after_a_judgement_judges_nothing_again(tmp_path):
    noted(tmp_path, LOADED)
    runs = [run_of(cell, NOTED + 1) for cell in range(len(CELLS))]
    asked.end(tmp_path / "quick-1", NOTED + 2)
    assert judged_with(tmp_path, {"quick-1": [*runs, run_of(0, NOTED + 3) | {"valid": False}]}) is None
    assert judged_with(tmp_path, {"quick-1": [*runs, run_of(0, NOTED + 3)]}) == 1


@pytest.mark.parametrize(
    ("since", "judged", "n", "decided_after", "word"),
    [
        (BEFORE, 4, 6, None, AGAIN),
        (BEFORE, 4, 6, 6, AGAIN),
        (BEFORE, 4, 10, 10, AGAIN),
        (BEFORE, 4, 6, 3, BEFORE),  # an interim analysis had decided it
        (BEFORE, 3, 6, 3, BEFORE),
        (BEFORE, 2, 6, 6, BEFORE),  # too few runs to judge by
        (BEFORE, 4, 4, None, BEFORE),  # another cell alone got runs
        (BEFORE, None, 6, 6, BEFORE),
        (BEFORE, 4, None, None, BEFORE),  # no estimate
        (ASKED_AFTER, 4, 6, 6, ASKED_AFTER),
    ],
)
def test_a_claim_is_judged_again_where_an_analysis_had_spent_its_level(since, judged, n, decided_after, word):
    since_when = Noted({CLAIM: since}, {CLAIM: judged} if judged else {})
    assert since_when.word(CLAIM, {"n": n, "decided_after": decided_after}) == word
    assert NOTHING.word(CLAIM, {"n": n, "decided_after": decided_after}) == ASKED_AFTER


def test_the_column_of_earlier_judgements_comes_back_from_the_table(tmp_path):
    noted(tmp_path, LOADED)
    digest = claims_asked.digests(LOADED, "quick")[CLAIM]
    row = {"block": "quick-1", "asked_since": "a", "first_run": "b"}
    rows = [
        row | {"claim": CLAIM, "digest": digest, "judged": 4},
        row | {"claim": "E-C08", "digest": "d", "judged": ""},
    ]
    content = tables.as_csv((*tables.TABLES["asked.csv"], columns.JUDGED), rows, "asked.csv")
    found = pd.DataFrame(form.rows(content, "asked.csv")).replace("", None)
    assert Noted.of(LOADED, found) == Noted(of_claims(LOADED, found), {CLAIM: 4}, [])
    assert Noted.of(LOADED, found).since[CLAIM] == BEFORE
    assert Noted.of(LOADED, None).judged == {}
