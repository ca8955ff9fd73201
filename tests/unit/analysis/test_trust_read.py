"""What `trust` measured is read as papers' blocks are: what is damaged, missing or copied is reported."""

import json
import re
import shutil
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import kept, trusted
from tests.support.damage import DAMAGES, json_of
from whitewire import cli
from whitewire.analysis import trust
from whitewire.analysis.trust import write_trust_tables
from whitewire.design import synthetic
from whitewire.errors import Faults, UserError
from whitewire.records import manifest
from whitewire.records import trust as records
from whitewire.records.checked import TESTBED_TABLES
from whitewire.records.manifest import MANIFEST_FILE, manifest_of_folder
from whitewire.records.trust import (
    LOADS_FILE,
    PART_RECORD,
    TRUST_FOLDER,
    TRUST_RECORD,
    files_of_trust,
    read_trust_unchecked,
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """`results/<testbed>` with a whole record and its tables."""
    results = tmp_path_factory.mktemp("trusted") / "emulated"
    trusted.made(results)
    tables(results)
    return results


@pytest.fixture
def results(whole, tmp_path):
    """A copy of it."""
    target = tmp_path / "emulated"
    shutil.copytree(whole, target)
    return target


def tables(results):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trust.project, "paper_path", lambda _: trusted.described(results))
        write_trust_tables(results / TRUST_FOLDER, results)


def contents(results):
    return {path.name: path.read_bytes() for path in (results / TRUST_FOLDER / TESTBED_TABLES).iterdir()}


def faults(results):
    """The lines in which tables are refused; those that are there stay."""
    before = contents(results)
    with pytest.raises(UserError) as error:
        tables(results)
    assert contents(results) == before
    lines = error.value.faults if isinstance(error.value, Faults) else list(error.value.lines)
    assert lines and all("\n" not in line for line in lines)
    return lines


def runs_of(folder):
    return sorted(path for path in (folder / "runs").iterdir())


def test_a_whole_record_has_the_right_answers(whole):
    folder = whole / TRUST_FOLDER / TESTBED_TABLES

    def of(name):
        return pd.read_csv(folder / f"{name}.csv")

    (ratio,) = of("ratio").to_dict("records")
    assert ratio["estimate"] == pytest.approx(trusted.RATIO, rel=0.01) and ratio["covered"]
    (load,) = of("load").to_dict("records")
    assert load["ratio"] == pytest.approx(1 - trusted.SLOWED, abs=0.01)
    assert (load["made"], load["n"], load["n_calm"]) == (trusted.REPETITIONS,) * 3
    (lanes,) = of("lanes").to_dict("records")
    assert lanes["ratio"] == pytest.approx(1 / (1 - trusted.SLOWED * trusted.BESIDE), abs=0.01)
    assert (lanes["kind"], lanes["lanes"], lanes["n"], lanes["n_alone"]) == (
        "hdfs_put",
        2,
        synthetic.RUNS,
        synthetic.RUNS,
    )
    assert of("links")["error"].tolist() == pytest.approx([-0.005] * 2 * len(trusted.RATES))
    assert of("scales")["ratio"].tolist() == pytest.approx([1.0, 1.0], abs=0.01)
    assert of("same")["alarm"].tolist() == [False, False]
    (order,) = of("order").to_dict("records")
    assert (order["source"], order["n"]) == ("known", 12) and abs(order["change"]) < 0.01


FILES = ("trust.json", "manifest.json", "links/part.json", "links/round-01.json", "ratio/part.json", "ratio/known.yaml",
         "ratio/quick-1/block.json", "ratio/quick-1/manifest.json", "load/loads.json", "load/known.yaml",
         "scales/two-k/rung0-0/quick-1/block.json", "lanes/two-k/2-0/quick-1/block.json",
         "order/part.json")  # fmt: skip
OF_A_RUN = ("run.json", "samples.csv", "manifest.json")


@settings(max_examples=40, deadline=None)
@given(st.data(), st.sampled_from([*FILES, *OF_A_RUN]), st.sampled_from(sorted(DAMAGES)))
def test_no_damage_of_any_file_is_read_in_silence(whole, data, name, how):
    with tempfile.TemporaryDirectory() as scratch:
        results = Path(scratch) / "emulated"
        shutil.copytree(whole, results)
        folder = results / TRUST_FOLDER
        path = runs_of(folder / "ratio" / synthetic.BLOCK)[0] / name if name in OF_A_RUN else folder / name
        before = path.read_bytes()
        path.write_bytes(DAMAGES[how](before, data))
        if json_of(path.read_bytes()) != json_of(before):
            assert any(path.name in line or path.parent.name in line for line in faults(results))


@pytest.mark.parametrize("name", [*FILES, *OF_A_RUN])
def test_no_file_may_be_missing(results, name):
    folder = results / TRUST_FOLDER
    path = runs_of(folder / "load" / synthetic.BLOCK)[0] / name if name in OF_A_RUN else folder / name
    path.unlink()
    assert any(path.name in line for line in faults(results))


@pytest.mark.parametrize("name", ["links", "ratio", "ratio/quick-1", "ratio/quick-1/runs", "load", "scales",
                                  "scales/two-k/rung1-0", "lanes/two-k/1-0", "same", "order"])  # fmt: skip
def test_a_part_whose_raw_results_are_gone_leaves_the_tables_as_they_were(results, name):
    shutil.rmtree(results / TRUST_FOLDER / name)
    assert any(f"trust/{name}" in line and "found no such" in line for line in faults(results))


@pytest.mark.parametrize(("one", "copy"), [
    ("ratio/quick-1/runs/{}", "ratio/quick-1/runs/another"), ("ratio/quick-1/runs/{}", "ratio/quick-1/invalid/{}.1"),
    ("ratio/quick-1", "ratio/quick-2"), ("scales/two-k/rung0-0", "scales/two-k/rung0-0.old"),
    ("scales/two-k/rung0-0", "scales/two-k/rung0-1"), ("links/round-01.json", "links/round-03.json"),
])  # fmt: skip
def test_what_is_copied_never_counts_twice(results, one, copy):
    folder = results / TRUST_FOLDER
    run = runs_of(folder / "ratio" / synthetic.BLOCK)[0].name
    source, target = folder / one.format(run), folder / copy.format(run)
    (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    assert any(copy.format(run) in line for line in faults(results))


def rewritten(folder):
    """Write all manifests anew."""
    kept.blocks_rewritten(folder)
    names = [each["part"] for each in read_trust_unchecked(folder)["parts"]]
    listed = manifest_of_folder(folder, [*files_of_trust(folder, names), folder / TRUST_RECORD])
    (folder / MANIFEST_FILE).write_text(json.dumps(listed))


@pytest.mark.parametrize(("change", "said"), [
    (lambda record: record | {"valid": "false"}, 'valid: found "false", expected true or false'),
    (lambda record: record | {"experiment": "other"}, 'experiment: found "other", expected "K-K'),
    (lambda record: {k: v for k, v in record.items() if k != "run_id"}, "run_id: found no such key"),
    (lambda record: {k: v for k, v in record.items() if k != "attempt"}, "attempt: found no such key"),
    (lambda record: record | {"end": 1e999}, "end: found Infinity, expected a finite number"),
])  # fmt: skip
def test_a_run_is_checked_by_its_form_and_its_row(results, change, said):
    folder = results / TRUST_FOLDER
    path = runs_of(folder / "ratio" / synthetic.BLOCK)[0] / "run.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    rewritten(folder)
    assert any("run.json: " in line and said in line for line in faults(results))


def test_half_a_record_of_a_run_is_one_line(results):
    folder = results / TRUST_FOLDER
    path = runs_of(folder / "load" / synthetic.BLOCK)[0] / "run.json"
    path.write_text(path.read_text()[:100])
    rewritten(folder)
    (line,) = [each for each in faults(results) if "run.json" in each]
    assert "expected whole JSON" in line


ROW = trusted.link_row(25.0, 1, "iperf3")


@pytest.mark.parametrize(("rows", "said"), [
    ([], "round-01.json: found no row, expected one for each test"),
    ([ROW | {"goodput": 1e999}], "[0].goodput: found Infinity, expected a finite number"),
    ([ROW | {"goodput": None}], "[0].goodput: found nothing, expected a number where"),
    ([{}], "[0].rate: found no such key"),
])  # fmt: skip
def test_a_round_that_is_none_is_one_line(results, rows, said):
    folder = results / TRUST_FOLDER
    (folder / "links" / "round-01.json").write_text(json.dumps(rows))
    rewritten(folder)
    assert any(said in line for line in faults(results))


def test_loads_of_other_runs_are_one_line(results):
    folder = results / TRUST_FOLDER
    path = folder / "load" / LOADS_FILE
    loads = json.loads(path.read_text())
    gone = sorted(loads)[0]
    path.write_text(json.dumps({name: load for name, load in loads.items() if name != gone}))
    listed = json.loads((folder / MANIFEST_FILE).read_text())
    listed["files"]["load/loads.json"] = manifest.entry(path.read_bytes())
    (folder / MANIFEST_FILE).write_text(json.dumps(listed))
    assert faults(results) == [f"{path}: {gone}: found no such run, expected the runs of known under load"]


def test_blocks_of_another_description_of_their_paper_are_reported_with_what_to_do(results, monkeypatch):
    path = trusted.described(results)
    path.write_text(path.read_text().replace("replication: 2", "replication: 1"))
    monkeypatch.setattr(trusted, "described", lambda _: path)
    lines = faults(results)
    said = (
        r"trust/(scales|lanes)/two-k/.* expected the same runs; remove .*/\1 and trust.json, and `make trust` measures"
    )
    assert {match[1] for line in lines if (match := re.search(said, line))} == {"scales", "lanes"}
    assert all(re.search(said, line) for line in lines)


def test_only_whole_groups_are_judged_where_time_ended_before(tmp_path):
    results = tmp_path / "emulated"
    folder = trusted.made(results)
    shutil.rmtree(folder / "ratio" / synthetic.BLOCK)
    paper = trusted.paper(folder / "ratio", groups=2)
    rows = synthetic.all_rows(paper, trusted.testbed())
    second = [row["run_id"] for row in rows if row["replicate"] > synthetic.RUNS]
    trusted.block(folder / "ratio" / synthetic.BLOCK, paper, rows, left=second[1:])
    record = read_trust_unchecked(folder)
    for part in record["parts"]:
        if part["part"] == "ratio":
            part |= {"units": 1, "planned": 2}
            (folder / "ratio" / PART_RECORD).write_text(json.dumps(part))
    (folder / TRUST_RECORD).write_text(json.dumps(record))
    listed = manifest_of_folder(folder, [*files_of_trust(folder, records.PARTS), folder / TRUST_RECORD])
    (folder / MANIFEST_FILE).write_text(json.dumps(listed))
    tables(results)
    ratio = pd.read_csv(folder / TESTBED_TABLES / "ratio.csv")
    assert ratio[["group", "n"]].values.tolist() == [[1, synthetic.RUNS]]
    assert pd.read_csv(folder / TESTBED_TABLES / "same.csv")["group"].unique().tolist() == [1]


# --- the papers' own tables and runs -------------------------------------------------------------------------


@pytest.fixture
def with_paper(results):
    """The same with a paper's judged controls, table of runs and raw runs."""
    own = results / "emulex-2012"
    (own / "analysis").mkdir(parents=True)
    (own / "tidy").mkdir()
    pd.DataFrame([{"control": "E-K01", "kind": "A/A", "cell": "c", "really": "fabric 1gbe", "metric": "throughput",
                   "n": 3, "n_against": 3, "estimate": 1.0, "low": 0.9, "high": float("inf")}]
                 ).to_csv(own / "analysis" / "controls.csv", index=False)  # fmt: skip
    shutil.copytree(results / TRUST_FOLDER / "load" / synthetic.BLOCK, own / "raw" / synthetic.BLOCK)
    rows = [{"run_id": path.name, "attempt": 1, "block": synthetic.BLOCK, "experiment": "known", "metric": trust.TIMED,
             "value": 2.5, "valid": "true"} for path in runs_of(own / "raw" / synthetic.BLOCK)]  # fmt: skip
    rows.append(rows[0] | {"metric": "cpu_late", "value": float("inf"), "valid": "false"})  # it never woke
    pd.DataFrame(rows).to_csv(own / "tidy" / "runs.csv", index=False)
    tables(results)
    return results


def test_papers_runs_and_controls_are_beside_the_others(with_paper):
    folder = with_paper / TRUST_FOLDER / TESTBED_TABLES
    same = pd.read_csv(folder / "same.csv").iloc[-1]
    assert (same["source"], same["n"], same["alarm"]) == ("emulex-2012, as judged", 3, False)
    assert set(pd.read_csv(folder / "order.csv")["source"]) == {"emulex-2012", "known", "all"}


@pytest.mark.parametrize(("name", "text", "said"), [
    ("analysis/controls.csv", "", "line 1: found no column control, expected one"),
    ("analysis/controls.csv", "control,kind,cell,really,metric,n,n_against,estimate,low\n", "found no column high"),
    ("analysis/controls.csv", "control,kind,cell,really,metric,n,n_against,estimate,low,high\na,A/A,c,r,m,3,3,x,1,2\n",
     'line 2, estimate: found "x", expected a number'),
    ("tidy/runs.csv", "", "line 1: found no column run_id, expected one"),
    ("tidy/runs.csv", "run_id,attempt,metric,value,valid\n", "line 1: found no column block, expected one"),
    ("tidy/runs.csv", "run_id,attempt,block,metric,value,valid\na,1,quick-1,completion_time,1e999,true\n",
     "line 2, value: found"),
])  # fmt: skip
def test_a_papers_table_that_is_none_is_one_line(with_paper, name, text, said):
    (with_paper / "emulex-2012" / name).write_text(text)
    (line,) = faults(with_paper)
    assert line.startswith(f"{with_paper / 'emulex-2012' / name}: ") and said in line and "anew with `" in line


def test_a_papers_table_that_is_not_as_it_was_written_is_one_line(with_paper):
    own = with_paper / "emulex-2012" / "analysis"
    (own / MANIFEST_FILE).write_text(json.dumps(manifest_of_folder(own, [own / "controls.csv"])))
    tables(with_paper)
    (own / "controls.csv").write_text((own / "controls.csv").read_text().replace("0.9", "0.8"))
    (line,) = faults(with_paper)
    assert "controls.csv: found SHA-256" in line


@pytest.mark.parametrize("key", ["run_id", "attempt"])
def test_a_papers_run_without_a_key_is_reported_with_file_and_key(with_paper, key):
    path = runs_of(with_paper / "emulex-2012" / "raw" / synthetic.BLOCK)[0] / "run.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps({name: value for name, value in record.items() if name != key}))
    kept.blocks_rewritten(with_paper / "emulex-2012" / "raw")
    assert f"{path}: {key}: found no such key, expected one" in faults(with_paper)[0]


# --- whitewire check ------------------------------------------------------------------------------------------


def checked(capsys, results):
    status = cli.main(["check", str(results)])
    said = capsys.readouterr()
    return status, [line.split() for line in said.out.splitlines()], said.err


def test_check_has_a_row_for_the_record_and_for_each_block(results, capsys):
    status, rows, _ = checked(capsys, results)
    assert status == 0
    assert ["trust", "record", "sound", "0"] in rows
    assert ["trust", "ratio/quick-1", "sound", "12", "0", "0", "0"] in rows
    assert [row[1] for row in rows if row[0] == "trust"] == [
        "record", "lanes/two-k/1-0/quick-1", "lanes/two-k/2-0/quick-1", "load/quick-1", "ratio/quick-1",
        "scales/two-k/rung0-0/quick-1", "scales/two-k/rung1-0/quick-1",
    ]  # fmt: skip


def test_check_reports_a_damaged_round_a_damaged_run_and_a_missing_block(results, capsys):
    folder = results / TRUST_FOLDER
    run = runs_of(folder / "load" / synthetic.BLOCK)[0] / "samples.csv"
    run.write_text(run.read_text()[:-9])
    (folder / "links" / "round-02.json").write_text("[]")
    shutil.rmtree(folder / "scales" / "two-k" / "rung1-0")
    status, rows, said = checked(capsys, results)
    assert status == 2 and ["trust", "load/quick-1", "unsound"] in [row[:3] for row in rows]
    for name in ("samples.csv", "round-02.json", "rung1-0/quick-1/block.json"):
        assert name in said


def test_check_of_results_that_travelled_asks_for_no_raw_results(results, capsys):
    folder = results / TRUST_FOLDER
    for path in folder.iterdir():
        if path.name not in (TRUST_RECORD, TESTBED_TABLES):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert checked(capsys, results)[0] == 2
    (results / "results.json").write_text("{}")
    status, rows, _ = checked(capsys, results)
    assert status == 0 and [row for row in rows if row[0] == "trust"] == [["trust", "record", "sound", "0"]]
    (folder / TRUST_RECORD).write_text("{")
    status, _, said = checked(capsys, results)
    assert status == 2 and "trust.json: line 1" in said
