"""What campaigns have in common: units that are whole or not made, a deadline, and what is left out."""

import json

import numpy as np
import pytest

from whitewire.measure import engine
from whitewire.measure.engine import LOST, TIME_UP, Attempts, Deadline, Left, Unit, Work, make_units, why_failed
from whitewire.records import manifest
from whitewire.records.manifest import manifest_faults
from whitewire.records.schema import load_json


def test_no_unit_begins_after_the_deadline(monkeypatch, tmp_path):
    now = [0.0]
    monkeypatch.setattr(engine.time, "monotonic", lambda: now[0])

    def make(number):
        now[0] += 10
        return [number]

    units = [Unit(lambda n=n: make(n), tmp_path / "deep" / f"{n}.json", size=n) for n in range(1, 5)]
    late = make_units(units, Deadline.after(25))
    assert list(late) == units[3:]
    assert [json.loads(path.read_text()) for path in sorted(tmp_path.glob("deep/*"))] == [[1], [2], [3]]
    assert make_units(late, Deadline()) == () and now[0] == 40


def test_why_a_test_failed_is_one_line_that_is_never_empty_nor_long():
    assert why_failed(OSError("no\n\troute")) == "no route" and why_failed(TimeoutError()) == "TimeoutError"
    assert len(why_failed(OSError("a" * 999))) == 300


def test_an_earlier_deadline_is_never_later():
    assert Deadline(5.0).within(1e9).ends == 5.0 and Deadline().within(10).left() <= 10


@pytest.mark.parametrize(("content", "made"), [(None, False), ("[1]", True), ("[1", False), ("[]", False)])
def test_a_unit_is_made_where_its_file_is_there_and_sound(tmp_path, content, made):
    path, said = tmp_path / "unit.json", []
    if content is not None:
        path.write_text(content)
    assert Unit(list, path, lambda path: load_json(path, list[int])).is_made(said.append) == made
    assert [line.endswith("measured again") for line in said] == [True] * (content == "[1")


def test_attempts_count_those_in_a_row():
    attempts = Attempts()
    attempts.failed("a", "b")
    attempts.succeeded("b")
    for _ in range(LOST - 1):
        attempts.failed("a", "b")
    assert attempts.exhausted("a") and not attempts.exhausted("b")


def test_what_is_left_out_is_kept_once_by_subject_reason_and_amount():
    work = Work("any", 10)
    for _ in range(2):
        work.leave_out("10gbe", TIME_UP, "3 pairs")
    work.leave_out("drives", "no model")
    assert work.left == [Left("10gbe", TIME_UP, "3 pairs"), Left("drives", "no model")]
    assert [str(each) for each in work.left] == ["10gbe: 3 pairs: the time was up", "drives: no model"]


def test_a_record_is_closed_with_a_manifest_of_all_of_it(tmp_path):
    (tmp_path / "part.json").write_text("1")
    manifest.close_record(tmp_path, "whole.json", {"a": 1}, [tmp_path / "part.json"])
    assert manifest_faults(tmp_path, ["part.json", "whole.json"]) == []
    manifest.open_record(tmp_path, "whole.json")
    assert [path.name for path in tmp_path.iterdir()] == ["part.json"]


def test_what_json_does_not_know_is_no_record(tmp_path):
    """As text a count of NumPy's, or the folder of a bug, would be read as what it is not."""
    with pytest.raises(TypeError, match="not JSON serializable"):
        manifest.close_record(tmp_path, "whole.json", {"n": np.int64(3)}, [])
    assert not (tmp_path / "whole.json").exists()
