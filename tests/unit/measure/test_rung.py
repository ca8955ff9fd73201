"""Which k of a ladder is taken, and what is written down."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from whitewire.description.paper import Paper
from whitewire.measure import rung
from whitewire.records.journal import Journal


def run(size, seconds, cpu="limit", files=1, jobs=False):
    workload = SimpleNamespace(on_yarn=jobs, files=lambda parameters: files)
    return SimpleNamespace(scale=SimpleNamespace(file_bytes=size), expected_seconds=seconds, cpu=cpu,
                           workload=workload, parameters={})  # fmt: skip


def test_the_heaviest_moves_most_in_its_time_and_processors_may_not_limit_it():
    light, heavy, fast = run(1e6, 4.0), run(1e6, 4.0, files=18), run(1e6, 0.1, cpu="report", files=18)
    assert rung.heaviest([light, heavy, fast]) is heavy
    assert rung.heaviest([run(0, 4.0)]) is None
    assert rung.heaviest([]) is None


def paper(*k):
    return Paper.of({"scale": {"k": list(k) if len(k) > 1 else k[0]}, "experiments": []}, Path("paper.yaml"))


def trial(k):
    return SimpleNamespace(scale=SimpleNamespace(k=k), title="grid fabric=10gbe (replicate 1)")


def test_the_first_k_with_time_to_spare_is_kept_and_found_again(tmp_path):
    ladder = rung.Ladder(paper(64, 128, 256), tmp_path, climbs=True)
    assert ladder.open
    with pytest.raises(rung.TooHeavy, match=r"k = 64 is too small for this machine \(a process woke 0\.90 ms late"):
        ladder.judge(trial(64), 0.9, bound=1.0)
    ladder.climb("k = 64 is too small")
    assert ladder.open
    assert ladder.judge(trial(128), 0.6, bound=1.0).startswith("k = 128: a process woke 0.60 ms late")
    kept = json.loads((tmp_path / rung.FILE).read_text())
    assert kept["rung"] == 1
    assert [(tried["k"], tried["enough"]) for tried in kept["tried"]] == [(64, False), (128, True)]
    again = rung.Ladder(paper(64, 128, 256), tmp_path, climbs=True)
    assert not again.open
    assert again.paper.raw["scale"]["k"] == 128


def test_one_that_proves_too_small_later_gives_way_to_the_next(tmp_path):
    ladder = rung.Ladder(paper(64, 128), tmp_path, climbs=True)
    ladder.judge(trial(64), 0.1, bound=1.0)
    ladder.climb("18 of the last 20 attempts had too little")
    assert rung.recorded(tmp_path) == 1
    assert ladder.last


def test_the_last_k_is_taken_whatever_the_trial_says(tmp_path):
    ladder = rung.Ladder(paper(64, 128).on(1), tmp_path, climbs=True)
    ladder.climb("too small")
    assert ladder.judge(trial(128), 5.0, bound=1.0).startswith("even k = 128 is too small for this machine")
    assert rung.recorded(tmp_path) == 1


def test_smoke_takes_the_first_and_keeps_nothing(tmp_path):
    ladder = rung.Ladder(paper(64, 128), tmp_path, climbs=False)
    assert (ladder.open, ladder.paper.rung, rung.recorded(tmp_path)) == (False, 0, None)


def test_a_single_k_is_not_tried(tmp_path):
    assert not rung.Ladder(paper(64), tmp_path, climbs=True).open


@pytest.mark.parametrize("text", ["", "{", "[]", '{"rung": -1}', '{"rung": "1"}', '{"rung": 1.5}', "null"])
def test_a_record_that_says_nothing_is_none(tmp_path, text):
    (tmp_path / rung.FILE).write_text(text)
    assert rung.recorded(tmp_path) is None


def test_what_was_made_at_another_k_counts_no_more_and_stays_whole(tmp_path):
    journal = Journal(tmp_path)
    record = {"run_id": "a-r1", "valid": True, "why_invalid": "", "attempt": 1}
    journal.write("a-r1", record, {"samples.csv": "time\n1\n"}, valid=True)
    journal.set_aside("a-r1", "made at another k")
    assert not journal.has("a-r1")
    (kept,) = tmp_path.glob("invalid/a-r1.1")
    told = json.loads((kept / "run.json").read_text())
    assert (told["valid"], told["why_invalid"], told["attempt"]) == (False, "made at another k", 1)
    assert (kept / "samples.csv").read_text() == "time\n1\n"
    assert (kept / "manifest.json").is_file()
