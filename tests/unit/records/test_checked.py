"""Damaged results: each damage is one line with its file, or changes nothing; never another table in silence."""

import csv
import json
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.blocks import BLOCK
from tests.support.kept import rewritten
from whitewire import atomic, cli, workloads
from whitewire.errors import Faults, UserError
from whitewire.records import checked, manifest, schema
from whitewire.records.journal import Journal, read_runs
from whitewire.records.manifest import manifest_faults
from whitewire.records.run import OF_A_RUN, OF_ANY, OF_DONE, OF_JOBS, RunRecord
from whitewire.records.schema import load_json
from whitewire.tidy.tables import metric_rows

DATA = Path(__file__).parents[2] / "data"
RUNS = {
    folder.name: folder for folder in (DATA / "run", *(path for path in (DATA / "runs").iterdir() if path.is_dir()))
}


def record_of(name):
    return json.loads((RUNS[name] / "run.json").read_text())


def kept(folder, name, finish=True):
    """A block with one run that was really made, kept as the measure stage keeps it; its folder and the run's."""
    record = record_of(name)
    journal = Journal(folder / record["block"])
    files = {path.name: path.read_text() for path in RUNS[name].iterdir() if path.name != "run.json"}
    target = journal.write(record["run_id"], record, files, valid=True)
    (journal.folder / "environment.json").write_text('{"hosts": [{"name": "a", "role": "client", "address": "1"}]}')
    (journal.folder / "probes").mkdir()
    (journal.folder / "probes" / "probes.json").write_text("[]")
    (journal.folder / "probes" / "iperf3.json").write_text('{"verbatim": 1}')
    if finish:
        journal.finish(BLOCK | {"block": record["block"], "runs": [record["run_id"]]})
    return journal.folder, target


def keep_record(run, record):
    """Give a run another record, which its manifest lists."""
    (run / "run.json").write_text(json.dumps(record))
    rewritten(run)


def row_of(name):
    record = record_of(name)
    return {k: record[k] for k in ("run_id", "block", "experiment", "workload", "replicate")} | record["factors"]


def rows_of(folder, record):
    return list(metric_rows(folder, record, list(record["factors"])))


@pytest.fixture(scope="module")
def blocks(tmp_path_factory):
    """Of each real run: its block, its folder and what its metrics are."""
    made = {}
    for name in RUNS:
        block, run = kept(tmp_path_factory.mktemp(name), name)
        found = checked.read_block(block, [row_of(name)])
        assert found.faults == []
        made[name] = block, run, rows_of(*found.runs[0])
    return made


def same_or_reported(block, name, expected, path):
    """Whether the damage was reported; else all that is read is as before."""
    found = checked.read_block(block, [row_of(name)])
    if found.faults:
        assert all("\n" not in fault for fault in found.faults)
        assert any(path.name in fault or path.parent.name in fault for fault in found.faults), found.faults
        return True
    assert [rows_of(*each) for each in found.runs] == [expected]
    return False


FILES = ("run.json", "samples.csv", "host-cpu.csv", "manifest.json", "../../block.json", "../../manifest.json",
         "../../environment.json", "../../probes/probes.json", "../../probes/iperf3.json")  # fmt: skip
MANY = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@MANY
@given(
    st.data(), st.sampled_from(sorted(RUNS)), st.sampled_from(FILES), st.sampled_from(["cut", "flip", "add", "gone"])
)
def test_no_damage_of_any_file_is_read_in_silence(blocks, data, name, file, how):
    block, run, expected = blocks[name]
    path = (run / file).resolve()
    if not path.exists():
        return
    before = path.read_bytes()
    place = data.draw(st.integers(0, len(before) - 1))
    after = {
        "cut": before[:place],
        "flip": before[:place] + bytes([before[place] ^ data.draw(st.integers(1, 255))]) + before[place + 1 :],
        "add": before[:place] + data.draw(st.binary(min_size=1, max_size=9)) + before[place:],
    }
    try:
        path.unlink() if how == "gone" else path.write_bytes(after[how])
        reported = same_or_reported(block, name, expected, path)
        # Without block.json the block is not finished, which is reported otherwise.
        assert reported or how == "gone" or path.name == "manifest.json"
    finally:
        path.write_bytes(before)


@pytest.mark.parametrize("name", sorted(RUNS))
def test_a_record_without_a_key_is_reported(name, tmp_path):
    block, run = kept(tmp_path, name, finish=False)
    whole = record_of(name)
    expected = rows_of(run, whole)
    needed = {*OF_ANY, *OF_A_RUN, *OF_DONE, *(OF_JOBS if "jobs" in whole else ())}
    for key in whole:
        keep_record(run, {k: v for k, v in whole.items() if k != key})
        found = checked.read_block(block, [row_of(name)])
        if key in needed:
            (fault,) = found.faults
            assert f"run.json: {key}: found no such key" in fault and found.runs == []
        elif found.faults == []:
            try:
                rows = rows_of(*found.runs[0])
            except (LookupError, ValueError):
                continue  # tidy makes a line of it
            # A key of no metric, or of what was measured otherwise: `program` and `inexact` only say more.
            assert rows == expected or key in ("program", "floor", "reports"), key


WRONG = [None, [], {}, "text", -1.5, True, [1], {"a": None}]


def alike(wrong, right) -> bool:
    """Whether a value may stand for another: a number for a number, text for text, an empty list or mapping for one."""
    if isinstance(right, bool) or isinstance(wrong, bool) or wrong is None:
        return type(wrong) is type(right)
    if isinstance(right, int | float):
        return isinstance(wrong, int | float)
    return type(wrong) is type(right) and (isinstance(wrong, str) or not wrong)


ONCE = {(key, type(right)): name for name in sorted(RUNS) for key, right in record_of(name).items()}
"""Of each key with each type of value that it has, a run that has it."""


@pytest.mark.parametrize("name", sorted({*ONCE.values()}))
def test_a_value_of_another_type_is_reported(name, tmp_path):
    block, run = kept(tmp_path, name, finish=False)
    whole = record_of(name)
    expected = rows_of(run, whole)
    reported = 0
    mine = [(key, right) for key, right in whole.items() if ONCE[key, type(right)] == name]
    for key, right in mine:
        for wrong in WRONG:
            if alike(wrong, right):
                continue
            keep_record(run, whole | {key: wrong})
            found = checked.read_block(block, [row_of(name)])
            if found.faults:
                assert any(f"run.json: {key}" in fault for fault in found.faults), (key, wrong, found.faults)
                reported += 1
            else:
                assert rows_of(*found.runs[0]) == expected, (key, wrong)
    assert reported >= 2 * len(mine), "found no fault in most of what is wrong"


@pytest.mark.parametrize("value", ["false", "true", 1, 0, None, "", []])
def test_valid_is_a_boolean(tmp_path, value):
    block, run = kept(tmp_path, "run", finish=False)
    keep_record(run, record_of("run") | {"valid": value})
    (fault,) = checked.read_block(block).faults
    assert re.search(r"run\.json: valid: found .*, expected true or false", fault)


def test_a_folder_under_another_name_is_no_further_run(tmp_path):
    block, run = kept(tmp_path, "run", finish=False)
    shutil.copytree(run, run.with_name("put-grid-10gbe-1-8-r2-75fd57"))
    found = checked.read_block(block)
    assert len(found.runs) == 1
    (fault,) = found.faults
    assert "put-grid-10gbe-1-8-r2-75fd57/run.json: run_id: found" in fault
    shutil.copytree(run, block / "invalid" / f"{run.name}.1")
    assert any(
        "invalid" in fault and "attempt" in fault or "run_id" in fault for fault in checked.read_block(block).faults
    )


def test_another_run_s_record_is_not_joined_to_the_samples(tmp_path):
    block, run = kept(tmp_path, "run", finish=False)
    other = json.dumps(record_of("run") | {"start": 1.0, "end": 2.0})
    (run / "run.json").write_text(other)
    (fault,) = checked.read_block(block).faults
    assert "run.json: found" in fault and "by manifest.json" in fault


@pytest.mark.parametrize(
    "changed", [{"replicate": 2}, {"experiment": "rereplicate"}, {"workload": "sort"}, {"fabric": "1gbe"}]
)
def test_a_record_agrees_with_its_row_of_the_design(tmp_path, changed):
    block, _ = kept(tmp_path, "run")
    found = checked.read_block(block, [row_of("run") | changed])
    (key,) = changed
    assert found.runs == []
    (fault,) = found.faults
    assert f"{key}: found" in fault and "of its row of design.csv" in fault


def test_a_block_has_the_runs_of_the_design_and_no_more_folders_than_when_it_was_finished(tmp_path):
    block, run = kept(tmp_path, "run")
    (fault,) = checked.read_block(block, [row_of("run"), row_of("run") | {"run_id": "another"}]).faults
    assert "another in design.csv but not in block.json" in fault
    journal = Journal(block)
    journal.write(run.name, record_of("run") | {"valid": False, "attempt": 1}, {}, valid=False)
    assert any(f"invalid/{run.name}.1" in fault for fault in checked.read_block(block).faults)
    shutil.rmtree(block / "invalid" / f"{run.name}.1")
    shutil.rmtree(run)
    assert any("found no such" in fault for fault in checked.read_block(block).faults)
    journal.begin()  # to be measured again
    assert checked.read_block(block).faults == []


COPIES = {
    "probes": "probes-9", "probes/iperf3.json": "probes/more/again.json", "environment.json": "environment-9.json",
}  # fmt: skip


@pytest.mark.parametrize("measuring", [False, True])
@pytest.mark.parametrize("kept_as", COPIES.values())
def test_a_copy_beside_what_was_kept_does_not_count_twice(tmp_path, kept_as, measuring):
    block, run = kept(tmp_path, "run")
    (source,) = (name for name, copy in COPIES.items() if copy == kept_as)
    (block / kept_as).parent.mkdir(exist_ok=True)
    (shutil.copytree if (block / source).is_dir() else shutil.copy)(block / source, block / kept_as)
    (fault,) = checked.read_block(block, [row_of("run")], measuring).faults
    outermost = {"probes/more/again.json": "probes/more"}.get(kept_as, kept_as)
    what = "file" if kept_as == "environment-9.json" else "folder"
    assert f"/{block.name}/{outermost}: found a {what} that manifest.json of its block does not list" in fault


def test_a_later_start_adds_what_its_cluster_was_like_and_lists_it(tmp_path):
    block, run = kept(tmp_path, "run")
    journal = Journal(block)
    journal.begin()
    shutil.copytree(block / "probes", block / "probes-2")
    shutil.copy(block / "environment.json", block / "environment-2.json")
    assert checked.read_block(block, [row_of("run")], measuring=True).faults == []
    assert checked.read_block(block, [row_of("run")]).faults == []
    journal.finish(BLOCK | {"block": block.name, "runs": [run.name]})
    assert checked.read_block(block, [row_of("run")]).faults == []


def test_a_run_may_be_removed_to_be_made_again_but_nothing_else_may_change(tmp_path):
    block, run = kept(tmp_path, "run")
    shutil.rmtree(run)
    assert checked.read_block(block, [row_of("run")], measuring=True).faults == []
    (block / "environment.json").write_text('{"hosts": []}')
    (fault,) = checked.read_block(block, [row_of("run")], measuring=True).faults
    assert re.search(r"environment\.json: found \d+ bytes, expected \d+ by manifest\.json", fault)


def test_an_end_that_is_cut_off_is_made_again(tmp_path, monkeypatch):
    """A block that was finished is finished once more, and the process ends between its manifest and block.json."""
    block, run = kept(tmp_path, "run")
    write, record = atomic.write, BLOCK | {"block": block.name, "runs": [run.name], "seconds": 22.5}

    def ended(path, content):
        if path.name == "block.json":
            raise KeyboardInterrupt
        return write(path, content)

    monkeypatch.setattr(atomic, "write", ended)
    with pytest.raises(KeyboardInterrupt):
        Journal(block).finish(record)
    monkeypatch.undo()
    found = checked.read_block(block, [row_of("run")])
    assert (found.faults, found.finished) == ([], None)
    Journal(block).finish(record)
    found = checked.read_block(block, [row_of("run")])
    assert (found.faults, found.finished["seconds"]) == ([], 22.5)


def test_a_failed_attempt_has_its_row_alone(tmp_path):
    block, run = kept(tmp_path, "run", finish=False)
    failed = {name: record_of("run")[name] for name in (*OF_A_RUN, "block", "workload", "scale")}
    failed |= {"floor": "", "attempt": 1, "valid": False, "why_invalid": "DataNode ended", "why_codes": ["failed"]}
    target = Journal(block).write(run.name, failed, {}, valid=False)
    found = checked.read_block(block, [row_of("run")])
    assert (len(found.runs), found.faults) == (2, [])
    keep_record(target, failed | {"why_invalid": None})
    (fault,) = checked.read_block(block).faults
    assert "why_invalid: found null, expected text" in fault


def test_a_folder_without_a_manifest_is_reported(tmp_path):
    block, run = kept(tmp_path, "run", finish=False)
    (run / "manifest.json").unlink()
    found = checked.read_block(block)
    (fault,) = found.faults
    assert f"{run.name}/manifest.json: found no such file, expected one beside run.json" in fault
    assert found.runs == []
    block, _ = kept(tmp_path / "finished", "run")
    (block / "manifest.json").unlink()
    (fault,) = checked.read_block(block).faults
    assert f"{block.name}/manifest.json: found no such file, expected one beside block.json" in fault


@pytest.mark.parametrize(
    "text",
    ["", "[", "[]", "null", '{"a": 1, "a": 2}', '{"a": NaN}', "[" * 100_000, "1" * 5000, "\ufeff{}", '{"a": "\x00"'],
)
def test_what_is_no_record_is_one_line(tmp_path, text):
    path = tmp_path / "run.json"
    path.write_text(text)
    with pytest.raises(schema.Broken) as broken:
        load_json(path, RunRecord)
    assert "\n" not in str(broken.value) and "expected" in str(broken.value)


def test_what_is_no_file_is_one_line(tmp_path):
    import os

    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    os.mkfifo(tmp_path / "pipe")
    for name in ("loop", "bytes", "pipe", "none", "."):
        with pytest.raises(schema.Broken, match="expected"):
            load_json(tmp_path / name, RunRecord)


def test_a_manifest_leads_nowhere_else(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "secret").write_text("x")
    listed = {"files": {"../secret": manifest.entry(b"x")}}
    (tmp_path / "a" / "manifest.json").write_text(json.dumps(listed))
    ((path, why),) = manifest_faults(tmp_path / "a")
    assert "expected one below it" in why


def test_every_real_run_of_the_tests_is_read_by_its_workload():
    for name in RUNS:
        files = {path.name: path.read_text() for path in RUNS[name].iterdir()}
        assert workloads.run_metrics(record_of(name), files)


# -- whitewire check --------------------------------------------------------------------------------------


@pytest.fixture
def results(tmp_path):
    """results/<testbed> with one paper of one block."""
    block, run = kept(tmp_path / "emulated" / "made-up" / "raw", "run")
    row = {"effort": "smoke", "order": 1, "seed": 1} | row_of("run")
    with (tmp_path / "emulated" / "made-up" / "design.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, row, lineterminator="\n")
        writer.writeheader()
        writer.writerow(row)
    return tmp_path / "emulated"


def test_check_says_what_is_sound(results, capsys):
    assert cli.main(["check", str(results)]) == 0
    said = capsys.readouterr()
    assert re.search(r"made-up +smoke-1 +sound +1 +0 +0 +0", said.out) and said.err == ""


def test_check_reports_every_fault_and_ends_with_2(results, capsys):
    run = next(results.glob("*/raw/*/runs/*"))
    (run / "samples.csv").write_text((run / "samples.csv").read_text()[:1000])
    (run.parents[1] / "environment.json").write_text("{")
    assert cli.main(["check", str(results / "made-up")]) == 2
    said = capsys.readouterr()
    assert re.search(r"made-up +smoke-1 +unsound +0 +0 +0 +3", said.out)
    lines = said.err.splitlines()
    assert len(lines) == 3 and all(line.startswith("whitewire: error: ") for line in lines)
    assert "samples.csv: found 1000 bytes, expected 4684 by manifest.json" in said.err
    assert "Traceback" not in said.err


PROBE = {"probe": "link", "fabric": "1gbe", "source": "a", "destination": "b", "streams": 1, "metric": "goodput",
         "value": 1.0, "unit": "Mbit/s", "ok": True}  # fmt: skip


@pytest.mark.parametrize("finish", [False, True])
def test_a_key_that_no_table_has_a_column_for_is_reported_with_its_file(tmp_path, finish):
    block, run = kept(tmp_path, "run", finish=False)
    for more, expected in (({}, []), ({"strems": "2"}, [r"\[1\]\.strems"])):
        (block / "probes" / "probes.json").write_text(json.dumps([PROBE, PROBE | more]))
        if finish:
            Journal(block).finish(BLOCK | {"block": block.name, "runs": [run.name]})
        faults = checked.read_block(block, [row_of("run")]).faults
        assert len(faults) == len(expected)
        for fault, key in zip(faults, expected, strict=True):
            assert re.search(rf"probes/probes.json: {key}: found an unknown key, expected one of probe, ", fault)
            assert 'did you mean "streams"?' in fault


def test_check_of_no_results_is_one_line(tmp_path, capsys):
    assert cli.main(["check", str(tmp_path)]) == 2
    assert "found no results" in capsys.readouterr().err


def test_many_faults_are_shown_up_to_a_number():
    error = Faults([f"file {n}: broken" for n in range(30)])
    assert len(error.lines) == 21 and error.lines[-1] == "and 10 more"
    assert isinstance(error, UserError)
    assert read_runs(Path("nowhere"), ["a"]) == []


def test_a_program_of_hibenchs_that_hadoops_jars_made_agrees_with_its_row():
    row = {"experiment": "terasort", "workload": "hibench", "replicate": "1", "fabric": "1gbe"}
    record = {"experiment": "terasort", "workload": "terasort", "replicate": 1, "factors": {"fabric": "1gbe"}}
    assert "workload: found" in checked._unlike_row(record, row)
    assert checked._unlike_row(record | {"program": "terasort"}, row) == ""
