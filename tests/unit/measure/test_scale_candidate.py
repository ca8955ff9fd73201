"""Which scale candidate is taken, and what is recorded."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.blocks import BLOCK
from whitewire.description.paper import Paper
from whitewire.errors import Faults, UserError
from whitewire.measure import scale_candidate
from whitewire.measure.block import Block
from whitewire.measure.scale_candidate import ScaleCandidates, TooHeavy
from whitewire.records.journal import Journal
from whitewire.records.reasons import Reason
from whitewire.records.scale_candidate import SCALE_FILE

RUN = Path(__file__).parents[2] / "data" / "run"
REAL, SAMPLES = json.loads((RUN / "run.json").read_text()), (RUN / "samples.csv").read_text()


def run(size, seconds, cpu="limit", files=1, jobs=False):
    workload = SimpleNamespace(on_yarn=jobs, files=lambda parameters: files)
    return SimpleNamespace(scale=SimpleNamespace(file_bytes=size), expected_seconds=seconds, cpu=cpu,
                           workload=workload, parameters={})  # fmt: skip


def test_the_heaviest_moves_most_in_its_time_and_processors_may_not_limit_it():
    light, heavy, fast = run(1e6, 4.0), run(1e6, 4.0, files=18), run(1e6, 0.1, cpu="report", files=18)
    assert scale_candidate.heaviest([light, heavy, fast]) is heavy
    assert scale_candidate.heaviest([run(0, 4.0)]) is None
    assert scale_candidate.heaviest([]) is None


def paper(*k):
    return Paper.of({"scale": {"k": list(k) if len(k) > 1 else k[0]}, "experiments": []}, Path("paper.yaml"))


def trial(k):
    return SimpleNamespace(scale=SimpleNamespace(k=k), title="grid fabric=10gbe (replicate 1)")


def test_the_first_k_with_time_to_spare_is_kept_and_found_again(tmp_path):
    candidates = ScaleCandidates(paper(64, 128, 256), tmp_path, raises_k=True)
    assert candidates.open
    with pytest.raises(TooHeavy, match=r"k = 64 is too small for this machine \(mean wake-up latency 0\.90 ms"):
        candidates.judge(trial(64), 0.9, bound=1.0)
    candidates.raise_k("k = 64 is too small")
    assert candidates.open
    assert candidates.judge(trial(128), 0.6, bound=1.0).startswith("k = 128: mean wake-up latency 0.60 ms")
    kept = json.loads((tmp_path / SCALE_FILE).read_text())
    assert kept["rung"] == 1
    assert [(tried["k"], tried["enough"]) for tried in kept["tried"]] == [(64, False), (128, True)]
    again = ScaleCandidates(paper(64, 128, 256), tmp_path, raises_k=True)
    assert not again.open
    assert again.paper.raw["scale"]["k"] == 128


def test_one_that_proves_too_small_later_gives_way_to_the_next(tmp_path):
    candidates = ScaleCandidates(paper(64, 128), tmp_path, raises_k=True)
    candidates.judge(trial(64), 0.1, bound=1.0)
    candidates.raise_k("18 of the last 20 attempts had too little")
    assert scale_candidate.recorded(tmp_path) == 1
    assert candidates.last


def test_the_last_k_is_taken_whatever_the_trial_says(tmp_path):
    candidates = ScaleCandidates(paper(64, 128).on(1), tmp_path, raises_k=True)
    candidates.raise_k("too small")
    assert candidates.judge(trial(128), 5.0, bound=1.0).startswith("even k = 128 is too small for this machine")
    assert scale_candidate.recorded(tmp_path) == 1


def test_smoke_takes_the_first_and_keeps_nothing(tmp_path):
    candidates = ScaleCandidates(paper(64, 128), tmp_path, raises_k=False)
    assert (candidates.open, candidates.paper.candidate, scale_candidate.recorded(tmp_path)) == (False, 0, None)


def test_a_single_k_is_not_tried(tmp_path):
    assert not ScaleCandidates(paper(64), tmp_path, raises_k=True).open


BROKEN = {
    "": "it ends, expected whole JSON", "{": "it ends, expected whole JSON", "[]": r"found \[\], expected a mapping",
    "null": "found null, expected a mapping", "{}": "rung: found no such key",
    '{"rung": true}': "rung: found true, expected a whole number", '{"rung": "1"}': 'rung: found "1", expected a whole',
    '{"rung": 1.5}': "rung: found 1.5, expected a whole number", '{"rung": -1}': "rung: found -1, expected one from 0",
    '{"rung": 2}': "rung: found 2, expected one from 0 to 1", '{"rung": 99}': "rung: found 99, expected one from 0",
}  # fmt: skip


@pytest.mark.parametrize("text", BROKEN)
def test_a_record_that_is_broken_is_one_line_and_nothing_is_chosen_in_its_place(tmp_path, text):
    (tmp_path / SCALE_FILE).write_text(text)
    with pytest.raises(UserError, match=rf"scale\.json: .*{BROKEN[text]}.*; write .*\"rung\": 0") as error:
        ScaleCandidates(paper(64, 128), tmp_path, raises_k=True)
    assert len(error.value.lines) == 1
    assert (tmp_path / SCALE_FILE).read_text() == text
    assert ScaleCandidates(paper(64, 128), tmp_path, raises_k=False).paper.candidate == 0, (
        "at smoke effort it is of no matter"
    )


def test_without_a_record_the_k_is_that_of_what_was_made_and_still_to_be_tried(tmp_path):
    candidates = ScaleCandidates(paper(64, 128, 256), tmp_path, raises_k=True)
    candidates.go_on(lambda on: on.raw["scale"]["k"] == 128)
    assert (candidates.paper.candidate, candidates.open) == (1, True)
    candidates.go_on(lambda on: False)  # runs of several k: reported elsewhere
    assert candidates.paper.candidate == 1
    none = ScaleCandidates(paper(64, 128, 256), tmp_path, raises_k=True)
    none.go_on(lambda on: True)
    assert none.paper.candidate == 0
    candidates.judge(trial(128), 0.1, bound=1.0)
    settled = ScaleCandidates(paper(64, 128, 256), tmp_path, raises_k=True)
    settled.go_on(lambda on: on.candidate == 2)
    assert settled.paper.candidate == 1, "what is recorded is not guessed"


SITE = {"kind": "emulated", "limits": {"attempts": 2}}


def begun(folder, ks, name="quick-1"):
    """A block of a paper with k = 64 and 128 that has valid runs of these k; its folder below raw/."""
    rows = []
    for number, k in enumerate(ks, start=1):
        row = {"run_id": f"e-r{number}", "block": name, "order": number, "experiment": "e", "workload": "hdfs_put",
               "replicate": number, "seed": 1}  # fmt: skip
        kept = (
            REAL | {key: row[key] for key in row if key != "seed"} | {"factors": {}, "scale": REAL["scale"] | {"k": k}}
        )
        Journal(folder / name).write(row["run_id"], kept, {"samples.csv": SAMPLES}, valid=True)
        rows.append(row)
    raw = {"id": "a", "scale": {"k": [64, 128]}, "experiments": [{"id": "e", "workload": "hdfs_put", "factors": {}}]}
    return Block(Paper.of(raw | {"claims": [], "controls": []}, Path("a.yaml")), SITE, name, rows, folder / name)


def test_a_block_whose_record_is_lost_goes_on_with_the_k_of_its_runs(tmp_path):
    block = begun(tmp_path, [128, 128])
    block._resume()
    assert block.paper.raw["scale"]["k"] == 128
    first = begun(tmp_path / "other", [64, 64])
    first._resume()
    assert (first.paper.raw["scale"]["k"], first.candidates.open) == (64, True)


def test_runs_of_another_k_stay_out_of_a_block(tmp_path):
    for record in (None, '{"rung": 0}'):
        block = begun(tmp_path, [64, 128])
        if record:
            (tmp_path / SCALE_FILE).write_text(record)
            block = begun(tmp_path, [64, 128])
        with pytest.raises(Faults) as error:
            block._resume()
        run, remedy = error.value.lines
        assert run.endswith("quick-1/runs/e-r2/run.json: scale.k: found 128, expected 64, that of scale candidate 0")
        assert re.search(r"measured again; or write the index of the k to keep into .*scale\.json$", remedy)
    (tmp_path / SCALE_FILE).write_text('{"rung": 1}')
    with pytest.raises(Faults, match=r"e-r1/run\.json: scale\.k: found 64, expected 128, that of scale candidate 1"):
        begun(tmp_path, [64, 128])._resume()


def test_a_block_without_runs_keeps_to_the_k_of_those_that_are_finished(tmp_path):
    done = tmp_path / "quick-1"
    done.mkdir()
    (done / "block.json").write_text(json.dumps(BLOCK | {"rung": 1}))
    block = begun(tmp_path, [], "quick-2")
    block._resume()
    assert (block.paper.candidate, block.candidates.open) == (1, True)


def test_what_was_made_at_another_k_counts_no_more_and_stays_whole(tmp_path):
    journal = Journal(tmp_path)
    record = {"run_id": "a-r1", "valid": True, "why_invalid": "", "attempt": 1}
    journal.write("a-r1", record, {"samples.csv": "time\n1\n"}, valid=True)
    journal.set_aside("a-r1", Reason("other_k", {"why": "k = 8 is too small"}))
    assert not journal.has("a-r1")
    (kept,) = tmp_path.glob("invalid/a-r1.1")
    found = json.loads((kept / "run.json").read_text())
    assert (found["valid"], found["attempt"]) == (False, 1)
    assert found["why_invalid"] == "made at another k: k = 8 is too small"
    assert (kept / "samples.csv").read_text() == "time\n1\n"
    assert (kept / "manifest.json").is_file()


def test_what_was_made_at_another_k_counts_no_more_in_the_papers_other_blocks_either(tmp_path):
    finished = begun(tmp_path, [64, 64], "full-1")
    finished.journal.finish(BLOCK | {"block": "full-1", "runs": ["e-r1", "e-r2"], "rung": 0})
    kept = sorted((tmp_path / "full-1" / "runs").iterdir())
    block = begun(tmp_path, [64], "full-2")
    block.others = [*finished.rows, {"run_id": "e-r9", "block": "full-3"}]
    block._raise_k("k = 64 is too small")
    assert not any(path.exists() for path in kept), "they count no more"
    assert not (tmp_path / "full-1" / "block.json").exists(), "the block is measured again"
    assert not (tmp_path / "full-3").exists()
    again = begun(tmp_path, [128], "full-1")
    again._resume()
    assert again.paper.candidate == 1
