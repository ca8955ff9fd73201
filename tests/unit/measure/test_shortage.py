"""When a block is stopped because its machine is too slow or too busy."""

import pytest

from whitewire.measure.shortage import _LAST, LEAST_RUNS, TOO_MANY, Shortage

BUSY = "processors idle only 3% in one second, floor 35%; 7.0% of all packets dropped in queues, bound 5.0%"
JOB = "processors short in 90% of the time beyond the startup overhead, bound 50%"


def after(whys, runs=_LAST):
    shortage = Shortage()
    for number, why in enumerate(whys):
        shortage.note(f"run-{number % runs}", why)
    return str(shortage)


@pytest.mark.parametrize("why", [BUSY, JOB])
def test_nearly_all_of_the_last_attempts_were_short(why):
    valid = [""] * (_LAST - TOO_MANY)
    said = f"{TOO_MANY} of the last {_LAST} attempts had too little of the processors ({why})"
    assert after([why] * TOO_MANY + valid) == said
    assert after([""] * 50 + [why] * TOO_MANY + valid) == said
    assert after([why] * (TOO_MANY - 1) + valid + [""]) == ""


def test_a_block_that_has_only_begun_goes_on():
    assert after([BUSY] * (TOO_MANY - 1)) == ""
    assert after([BUSY] * TOO_MANY).startswith(f"{TOO_MANY} of the last {TOO_MANY} attempts")


def test_a_few_runs_that_the_machine_cannot_make_keep_no_others_back():
    assert after([BUSY] * 100, runs=LEAST_RUNS - 1) == ""
    assert after([BUSY] * 100, runs=LEAST_RUNS) != ""
