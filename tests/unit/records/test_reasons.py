"""Reasons: what their sentences say, and which code a sentence from before there were codes has."""

import json
import re

import pytest

from whitewire.paths import HOME
from whitewire.records import reasons
from whitewire.records.journal import left_of
from whitewire.records.reasons import (
    _OTHER,
    BUDGET,
    DECIDED,
    ELSE,
    FAILED,
    INVALID,
    LACKING,
    NO_DEVICE,
    NO_TEST,
    NOT_MADE,
    OTHERS,
    Reason,
    recorded_reason,
)

LEFT = [
    (Reason(BUDGET), "the budget ended"),
    (Reason(OTHERS), "other programs used the processors"),
    (Reason(DECIDED, {"runs": 3}), "decided after 3 runs of each cell"),
    (Reason(FAILED, {"why": "the services do not start: no answer; logs: logs"}),
     "its cluster failed: the services do not start: no answer; logs: logs"),
    (Reason(ELSE, {"claim": "E-C02"}), "measuring ended with claim E-C02"),
]  # fmt: skip
LOST = [
    (Reason("woke_late", {"late": 2.5, "bound": 0.4, "outside": 0.6}),
     "processors: a process woke 2.5 ms late on average, bound 0.4 ms; other programs used 0.6 processors"),
    (Reason("others_computed", {"outside": 1.0, "bound": 0.5}),
     "processors: other programs used 1.0 of them, bound 0.5; what this experiment shows is how fast they compute"),
    (Reason("not_idle", {"idle": 0.1, "bound": 0.35}), "processors idle only 10% in one second, floor 35%"),
    (Reason("busy", {"share": 1.0, "bound": 0.1}),
     "processors short in 100% of the time beyond the startup overhead, bound 10%"),
    (Reason("caches", {"why": "client1: no fincore"}),
     "caches were to be empty and are not shown to be: client1: no fincore"),
    (Reason("clock", {"seconds": -0.4}), "the clock was set by -0.4 s during the run"),
    (Reason("slept", {"seconds": 30.2}), "the machine slept for 30 s during the run"),
    (Reason("host_clock", {"host": "client1", "seconds": 1.5}),
     "the clock of client1 was set by +1.50 s during the run; set clocks before or after, or slew them slowly"),
    (Reason("job_wire", {"excess": 0.5}),
     "workers' links carried +50% against what shuffle, reads and replicas must move"),
    (Reason("other_k", {"why": "k = 8 is too small"}), "made at another k: k = 8 is too small"),
]  # fmt: skip
OLD_OVERHEAD = "processors: other programs used 1.1 of 2, bound 1"


@pytest.mark.parametrize(("why", "said"), [*LEFT, *LOST])
def test_a_sentence_from_before_there_were_codes_has_the_code_that_it_would_have_today(why, said):
    assert str(why) == said
    old = recorded_reason(said, among=NOT_MADE if (why, said) in LEFT else INVALID)
    assert (old.code, str(old)) == (why.code, said)
    assert str(recorded_reason("in other words", why.code)) == "in other words", "the code decides, not the sentence"


@pytest.mark.parametrize(("said", "among", "code"), [
    ("no client for a cell", NOT_MADE, _OTHER), ("DataNode datanode2 ended", INVALID, _OTHER),
    ("processors: they were busy", INVALID, "short")])  # fmt: skip
def test_an_old_sentence_of_no_code_is_reported_as_it_is(said, among, code):
    found = recorded_reason(said, among=among)
    assert (found.code, str(found), found.kind.again) == (code, said, False)


def test_each_code_that_is_given_is_declared():
    sources = [path.read_text(encoding="utf-8") for path in (HOME / "src" / "whitewire").rglob("*.py")]
    given = {code for source in sources for code in re.findall(r'\bReason\(\s*"(\w+)"', source)}
    assert len(given) > 10 and given - {*NOT_MADE, *INVALID} == set(), "declare each in records/reasons.py"


def test_the_code_of_a_pair_without_a_test_of_rdma_is_one_of_a_host_without_a_device():
    assert str(Reason(NO_DEVICE, {"host": "client1"})) == "no RDMA device on client1"
    assert Reason(NO_DEVICE).kind is NO_TEST[NO_DEVICE] and not {*NO_TEST} & {*NOT_MADE, *INVALID}


def test_only_what_another_start_makes_is_made_again():
    assert {code for code, kind in NOT_MADE.items() if not kind.again} == {DECIDED, LACKING}


@pytest.mark.parametrize(("record", "lacked"), [
    ({"why_invalid": OLD_OVERHEAD}, True),
    ({"why_invalid": "the clock was set by +9.0 s during the run; processors: a process woke 2.5 ms late"}, False),
    ({"why_invalid": "in other words", "why_codes": ["clock", "woke_late"]}, True),
    ({"why_invalid": "processors of the client failed", "why_codes": ["failed"]}, False),
    ({"why_invalid": "", "why_codes": []}, False),
    ({"why_invalid": ""}, False),
])  # fmt: skip
def test_whether_an_attempt_lacked_processors_is_reported_by_its_codes(record, lacked):
    assert reasons.short(reasons.codes_of(record)) == lacked


def test_an_attempt_counts_where_nothing_speaks_against_it():
    assert reasons.validity([]) == {"valid": True, "why_invalid": "", "why_codes": []}
    found = [Reason("slept", {"seconds": 30.2}), Reason("disturbed", {"why": "client1 stood still"})]
    assert reasons.validity(found) == {
        "valid": False, "why_invalid": "the machine slept for 30 s during the run; client1 stood still",
        "why_codes": ["slept", "disturbed"]}  # fmt: skip


def test_the_reference_is_read_though_it_has_no_codes():
    found = [why for path in sorted((HOME / "results" / "reference").glob("*/raw/*/block.json"))
             for why in left_of(json.loads(path.read_text())).values()]  # fmt: skip
    assert found and all(why.code in (BUDGET, DECIDED) for why in found)
    assert all((why.code == DECIDED) == str(why).endswith(" runs of each cell") for why in found)


def test_a_block_that_has_codes_is_read_by_them():
    record = {"left": {"a": "in other words", "b": "the budget ended"}, "left_codes": {"a": OTHERS}}
    assert {run_id: why.code for run_id, why in left_of(record).items()} == {"a": OTHERS, "b": BUDGET}
