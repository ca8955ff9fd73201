"""Reasons: what their sentences say, and what follows from their codes."""

import re

import pytest

from whitewire.paths import HOME
from whitewire.records import reasons
from whitewire.records.journal import left_of
from whitewire.records.reasons import (
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


@pytest.mark.parametrize(("why", "said"), [*LEFT, *LOST])
def test_a_reason_has_the_sentence_of_its_code_or_that_of_its_record(why, said):
    assert str(why) == said
    assert str(Reason(why.code, said="in other words")) == "in other words"


def test_each_code_that_is_given_is_declared():
    sources = [path.read_text(encoding="utf-8") for path in (HOME / "src" / "whitewire").rglob("*.py")]
    given = {code for source in sources for code in re.findall(r'\bReason\(\s*"(\w+)"', source)}
    assert len(given) > 10 and given - {*NOT_MADE, *INVALID} == set(), "declare each in records/reasons.py"


def test_the_code_of_a_pair_without_a_test_of_rdma_is_one_of_a_host_without_a_device():
    assert str(Reason(NO_DEVICE, {"host": "client1"})) == "no RDMA device on client1"
    assert Reason(NO_DEVICE).kind is NO_TEST[NO_DEVICE] and not {*NO_TEST} & {*NOT_MADE, *INVALID}


def test_only_what_another_start_makes_is_made_again():
    assert {code for code, kind in NOT_MADE.items() if not kind.again} == {DECIDED, LACKING}


@pytest.mark.parametrize(("codes", "lacked"), [(["clock", "woke_late"], True), (["failed"], False), ([], False)])
def test_whether_an_attempt_lacked_processors_is_reported_by_its_codes(codes, lacked):
    assert reasons.short(codes) == lacked


def test_an_attempt_counts_where_nothing_speaks_against_it():
    assert reasons.validity([]) == {"valid": True, "why_invalid": "", "why_codes": []}
    found = [Reason("slept", {"seconds": 30.2}), Reason("disturbed", {"why": "client1 stood still"})]
    assert reasons.validity(found) == {
        "valid": False, "why_invalid": "the machine slept for 30 s during the run; client1 stood still",
        "why_codes": ["slept", "disturbed"]}  # fmt: skip


def test_what_a_block_left_is_read_by_its_codes():
    record = {"left": {"a": "in other words", "b": "the budget ended"}, "left_codes": {"a": OTHERS, "b": "of later"}}
    found = left_of(record)
    assert {run_id: (why.code, str(why)) for run_id, why in found.items()} == {
        "a": (OTHERS, "in other words"), "b": ("of later", "the budget ended")}  # fmt: skip
    assert not found["b"].kind.again
