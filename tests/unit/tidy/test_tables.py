"""The tidy tables of a run that was really made, and the data package that describes them."""

import csv
import gzip
import json
import re
import shutil
from pathlib import Path

import frictionless
import pytest

from tests.support import kept
from tests.support.blocks import BLOCK
from whitewire import cli, workloads
from whitewire.analysis.so_far import as_read
from whitewire.description import project, testbed
from whitewire.description.checks import load_paper
from whitewire.design.rows import columns, write_csv
from whitewire.errors import UserError
from whitewire.records.checked import read_block
from whitewire.records.journal import Journal
from whitewire.records.run import OF_DONE
from whitewire.tidy import tables
from whitewire.tidy.tables import _of_each, _treatments, _with_all_overheads, metric_rows, tidy_paper

RUN = Path(__file__).parents[2] / "data" / "run"
RECORD = json.loads((RUN / "run.json").read_text())
RECORD["scale"]["k"] = 128  # the first of the paper's candidates, 128 and 256


def keep(folder, **changes):
    """A run of a block."""
    shutil.copytree(RUN, folder)
    (folder / "run.json").write_text(json.dumps(RECORD | changes))
    kept.rewritten(folder)


@pytest.fixture
def results(tmp_path):
    """A results folder with one valid run, one invalid attempt at it, and one run that is not in the design."""
    folder = tmp_path / "emulated" / "emulex-2012"
    fabrics = testbed.load_testbed("emulated")["fabrics"]
    paper = load_paper(project.paper_path("emulex-2012"), fabrics)
    row = dict.fromkeys(columns(paper), "")
    row |= {name: RECORD[name] for name in ("run_id", "block", "order", "experiment", "workload", "replicate", "seed")}
    row |= RECORD["factors"] | {"effort": "smoke"}
    write_csv([row], paper, folder / "design.csv")
    block = folder / "raw" / RECORD["block"]
    keep(block / "runs" / RECORD["run_id"])
    keep(block / "runs" / "put-grid-of-an-earlier-design", run_id="put-grid-of-an-earlier-design")
    failed = block / "invalid" / f"{RECORD['run_id']}.1"
    failed.mkdir(parents=True)
    lost = {
        name: RECORD[name] for name in ("run_id", "block", "order", "experiment", "workload", "replicate", "factors")
    }
    (failed / "run.json").write_text(
        json.dumps(
            lost
            | {"floor": "", "attempt": 1, "valid": False, "why_invalid": "DataNode datanode2 ended"}
            | {"why_codes": ["failed"]}
        )
    )
    kept.rewritten(failed)
    return folder


def table(path):
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    return list(csv.DictReader(text.splitlines()))


def test_runs_are_long_with_full_scale_values(results):
    tidy_paper("emulex-2012", results)
    rows = table(results / "tidy" / "runs.csv")
    assert {row["run_id"] for row in rows} == {RECORD["run_id"]}
    valid = {row["metric"]: row for row in rows if row["valid"] == "true"}
    k, fraction = RECORD["scale"]["k"], RECORD["scale"]["data_fraction"]
    rate, time = valid["throughput"], valid["completion_time"]
    assert float(rate["full_scale_value"]) == pytest.approx(k * float(rate["value"]))
    assert float(time["full_scale_value"]) == pytest.approx(float(time["value"]) / fraction)
    assert valid["link_share"]["full_scale_value"] == ""
    assert (rate["fabric"], rate["clients"], rate["puts_per_client"]) == ("10gbe", "1", "8")
    (invalid,) = [row for row in rows if row["valid"] == "false"]
    assert (invalid["why_invalid"], invalid["why_code"]) == ("DataNode datanode2 ended", "failed")
    assert {row["why_code"] for row in valid.values()} == {""}


def test_series_operations_and_placement(results):
    tidy_paper("emulex-2012", results)
    operations = table(results / "tidy" / "operations.csv")
    assert len(operations) == 8
    assert min(float(row["start"]) for row in operations) == 0
    series = table(results / "tidy" / "series.csv.gz")
    assert {row["series"] for row in series} == {"egress", "cpu_idle"}
    moved = [row for row in series if row["host"] == "all clients" and float(row["value"]) > 0]
    # The area under the egress is what was written, and the framing of it.
    assert sum(float(row["value"]) * 0.1 for row in moved) == pytest.approx(8 * 3.355136, rel=0.1)
    placement = table(results / "tidy" / "placement.csv")
    assert len(placement) == 8 * 3


def test_the_same_raw_results_make_the_same_bytes(results):
    tidy_paper("emulex-2012", results)
    first = {path.name: path.read_bytes() for path in (results / "tidy").iterdir()}
    tidy_paper("emulex-2012", results)
    assert {path.name: path.read_bytes() for path in (results / "tidy").iterdir()} == first


def test_the_data_package_describes_every_table(results):
    tidy_paper("emulex-2012", results)
    report = frictionless.validate(str(results / "tidy" / "datapackage.json"))
    assert report.valid, report.flatten(["name", "rowNumber", "fieldName", "message"])
    described = {task.place for task in report.tasks}
    assert described == {path.name for path in (results / "tidy").iterdir()} - {"datapackage.json"}


def test_a_record_that_is_cut_off_is_named(results):
    record = next(results.glob("raw/*/runs/*/run.json"))
    record.write_text(record.read_text()[:100])
    kept.rewritten(record.parent)
    with pytest.raises(UserError, match=r"run\.json: line \d+: .*expected whole JSON"):
        tidy_paper("emulex-2012", results)


def tables_of(results):
    return {path.name: path.read_bytes() for path in (results / "tidy").iterdir()}


DAMAGES = {
    "no raw results": (lambda folder: shutil.rmtree(folder / "raw"), r"raw/smoke-1: found no such folder"),
    "a run's folder copied": (
        lambda folder: shutil.copytree(next(folder.glob("raw/*/runs/put-grid-1*")), folder / "raw/smoke-1/runs/again"),
        r"runs/again/run.json: run_id: found",
    ),
    "half a design": (lambda folder: cut(folder / "design.csv", 100), r"design.csv: found 100 bytes.*whitewire design"),
    "half a block.json": (
        lambda folder: (folder / "raw" / "smoke-1" / "block.json").write_text('{"runs":'), r"block.json: line 1",
    ),
    "no hosts": (lambda folder: (folder / "raw/smoke-1/environment.json").write_text("{}"), r"environment.json: hosts"),
    "half the samples": (
        lambda folder: halve(next(folder.glob("raw/*/runs/put-grid-1*")) / "samples.csv"),
        r"samples.csv: found \d+ bytes, expected \d+ by manifest.json",
    ),
    "samples of text": (
        lambda folder: of_text(next(folder.glob("raw/*/runs/put-grid-1*")) / "samples.csv"),
        r"samples.csv: line 1: found no column ticks",
    ),
}  # fmt: skip


def cut(path, size):
    path.write_bytes(path.read_bytes()[:size])


def of_text(path):
    path.write_text("time\n")
    kept.rewritten(path.parent)


def halve(path):
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[: len(lines) // 2]))


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_does_not_hold_is_reported_and_leaves_the_tables(results, damage, capsys):
    tidy_paper("emulex-2012", results)
    before = tables_of(results)
    act, line = DAMAGES[damage]
    act(results)
    assert cli.main(["tidy", "--paper", "emulex-2012", "--results", str(results)]) == 2
    said = [each for each in capsys.readouterr().err.splitlines() if each.startswith("whitewire: error")]
    assert len(said) == 1 and re.search(line, said[0]), said
    assert tables_of(results) == before


def test_a_run_that_an_earlier_design_had_in_another_block_counts_once(results):
    keep(results / "raw" / "smoke-2" / "runs" / RECORD["run_id"], block="smoke-2")
    second = RECORD | {"block": "smoke-2", "effort": "smoke", "run_id": "put-grid-another", "replicate": 2}
    with (results / "design.csv").open() as file:
        names = file.readline().strip().split(",")
    (results / "manifest.json").unlink()
    with (results / "design.csv").open("a") as file:
        csv.DictWriter(file, names, lineterminator="\n").writerow(
            {name: (second | second["factors"]).get(name, "") for name in names}
        )
    tidy_paper("emulex-2012", results)
    rows = table(results / "tidy" / "runs.csv")
    assert sum(row["metric"] == "throughput" for row in rows) == 1


def finish(block, **more):
    """Say that a block is finished."""
    Journal(block).finish(BLOCK | {"block": block.name, "runs": [RECORD["run_id"]]} | more)


def in_quick_effort(results):
    """The block renamed, since at smoke effort no k is chosen; returns its folder."""
    for path in [results / "design.csv", *results.glob("raw/*/*/*/run.json")]:
        path.write_text(path.read_text().replace("smoke-1", "quick-1"))
    (results / "manifest.json").unlink()
    kept.blocks_rewritten(results / "raw")
    return (results / "raw" / "smoke-1").rename(results / "raw" / "quick-1")


def at_k(block, k):
    """Give the block's valid runs another k."""
    for path in block.glob("runs/*/run.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"scale": RECORD["scale"] | {"k": k}}))
    kept.blocks_rewritten(block)


def test_the_k_of_runs_is_that_of_their_block_and_of_no_other(results, capsys):
    block = in_quick_effort(results)
    (results / "raw" / "scale.json").write_text('{"rung": 1}')
    argv = ["tidy", "--paper", "emulex-2012", "--results", str(results)]
    line = f"runs/{RECORD['run_id']}/run.json: scale.k: found 128, expected 256, that of scale candidate 1"
    assert cli.main(argv) == 2 and line in capsys.readouterr().err
    finish(block, rung=1)
    assert cli.main(argv) == 2 and line in capsys.readouterr().err
    finish(block, rung=0)
    assert cli.main(argv) == 0
    at_k(block, 256)
    assert cli.main(argv) == 2
    assert "scale.k: found 256, expected 128, that of scale candidate 0" in capsys.readouterr().err
    finish(block, rung=1)
    assert cli.main(argv) == 0
    assert {row["rung"] for row in table(results / "tidy" / "scale.csv")} == {"1"}
    assert {row["k"] for row in table(results / "tidy" / "scale.csv")} == {"256"}
    (block / "block.json").unlink()  # it goes on: what it has settled on
    assert cli.main(argv) == 0


@pytest.mark.parametrize("rung", [2, -1])
def test_a_block_at_a_candidate_that_the_paper_lacks_is_reported(results, capsys, rung):
    block = in_quick_effort(results)
    finish(block, rung=rung)
    assert cli.main(["tidy", "--paper", "emulex-2012", "--results", str(results)]) == 2
    assert f"quick-1/block.json: rung: found {rung}, expected one from 0 to 1: remove" in capsys.readouterr().err


def test_check_reports_two_k_in_one_experiment_and_a_broken_record_of_it(results, capsys):
    block = in_quick_effort(results)
    second = RECORD["run_id"].replace("-r1-", "-r2-")
    keep(block / "runs" / second, run_id=second, replicate=2, block="quick-1", scale=RECORD["scale"] | {"k": 256})
    header, row = (results / "design.csv").read_text().splitlines()
    again = row.replace(RECORD["run_id"], second).split(",")
    again[header.split(",").index("replicate")] = "2"
    (results / "design.csv").write_text("\n".join([header, row, ",".join(again), ""]))
    (results / "raw" / "scale.json").write_text('{"rung": true}')
    assert cli.main(["check", str(results)]) == 2
    said = capsys.readouterr()
    assert re.search(r"scale\.json +unsound", said.out) and re.search(r"quick-1 +unsound", said.out)
    assert "raw/scale.json: rung: found true, expected a whole number; write" in said.err
    assert f"{second}/run.json: scale.k: found 256, expected 128 as in other runs of put-grid" in said.err
    assert len(said.err.splitlines()) == 2


def test_an_interim_analysis_counts_the_runs_of_the_design_alone(results):
    block = results / "raw" / "smoke-1"
    made = load_paper(project.paper_path("emulex-2012"), testbed.load_testbed("emulated")["fabrics"])
    known = [tables.so_far(made, block, designed) for designed in (None, {RECORD["run_id"]}, set())]
    counted = [as_read(made, *each)[0] for each in known]
    valid = [set(table.loc[table["valid"] == "true", "run_id"]) for table in counted]
    assert valid == [{RECORD["run_id"], "put-grid-of-an-earlier-design"}, {RECORD["run_id"]}, set()]
    assert len(counted[0]) > len(counted[1]) > len(counted[2]) == 0


def test_an_interim_analysis_counts_no_run_of_another_k(results):
    block, description = results / "raw" / "smoke-1", testbed.load_testbed("emulated")
    made = load_paper(project.paper_path("emulex-2012"), description["fabrics"])

    def counted():
        return [row for row in tables.so_far(made, block, {RECORD["run_id"]}, description)[0] if row["valid"] == "true"]

    assert counted()
    path = block / "runs" / RECORD["run_id"] / "run.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"scale": record["scale"] | {"k": 77}}))
    assert not counted()


def test_a_table_that_was_cut_is_not_analysed(results, capsys):
    tidy_paper("emulex-2012", results)
    halve(results / "tidy" / "runs.csv")
    argv = ["analyse", "--paper", "emulex-2012", "--testbed", "emulated", "--results", str(results)]
    assert cli.main(argv) == 2
    assert re.search(r"tidy/runs.csv: found \d+ bytes, expected \d+ by datapackage.json", capsys.readouterr().err)
    assert not (results / "analysis").exists()
    (results / "tidy" / "datapackage.json").unlink()
    (results / "tidy" / "runs.csv").write_text('a,b\n1,"')
    assert cli.main(argv) == 2
    assert re.search(r"tidy/runs.csv: .*make it anew", capsys.readouterr().err)


def test_a_verdict_that_was_changed_by_hand_is_not_reported(tmp_path, monkeypatch, capsys):
    own = kept.results(kept.project(tmp_path)) / kept.PAPER
    monkeypatch.chdir(tmp_path)
    path = own / "analysis" / "verdicts.csv"
    path.write_text(path.read_text().replace("reproduced", "not reproduced", 1))
    for command in (["render", "--paper", kept.PAPER, "--results", str(own.parent)], ["check", str(own)]):
        capsys.readouterr()
        assert cli.main(command) == 2
        (line,) = (line for line in capsys.readouterr().err.splitlines() if "/raw/" not in line)  # made up, not whole
        assert re.search(r"error: \S+analysis/verdicts.csv: found \d+ bytes, expected \d+ by manifest.json", line)


def an_overhead(seconds, number, valid=True, wire=2000):
    links = {"a": {"ingress": 0}}
    also = {name: RECORD[name] for name in OF_DONE if name not in ("start", "end")}
    record = {
        "block": RECORD["block"], "floor": "sort hdfs 4", "workload": "sort", "number": number, "attempt": 1,
        "valid": valid, "why_invalid": "" if valid else "job FAILED", "why_codes": [] if valid else ["failed"],
    }  # fmt: skip
    if seconds is None:
        return record
    jobs = [{"name": "sort", "submit": 50.0 + number, "end": 50.0 + number + seconds, "tasks": [], "counters": {}}]
    also |= {"user_bytes": 0, "mounted": False, "output_replication": 1, "made_by": "Hadoop 3.5.0", "cpu": "limit"}
    return record | also | {"start": 50.0 + number, "end": 50.0 + number + seconds, "jobs": jobs, "workers": ["a"],
                     "links_before": links, "links_after": {"a": {"ingress": wire}}}  # fmt: skip


def keep_overheads(block, overheads):
    for record in overheads:
        folder = block / "floors" / f"{record['number']:03d}"
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(json.dumps(record))
        if "start" in record:
            (folder / "samples.csv").write_text(f"time,ticks,idle_ticks\n{record['start']},0,0\n{record['end']},9,9\n")
            (folder / "host-cpu.csv").write_text(f"time,a\n{record['start']},0\n{record['end']},1\n")
        kept.rewritten(folder)


def test_overheads_are_a_table_of_their_own(results):
    tidy_paper("emulex-2012", results)
    assert table(results / "tidy" / "floors.csv") == []
    keep_overheads(results / "raw" / RECORD["block"], [
        an_overhead(2.5, 1) | {"outside": 0.25}, an_overhead(None, 2, valid=False), an_overhead(3.0, 3)
    ])  # fmt: skip
    tidy_paper("emulex-2012", results)
    first, failed, third = table(results / "tidy" / "floors.csv")
    assert first == {
        "block": RECORD["block"], "floor": "sort hdfs 4", "workload": "sort", "job": "sort", "number": "1",
        "attempt": "1", "time": "0.000", "seconds": "2.5", "wire_bytes": "2000", "outside": "0.25",
        "valid": "true", "why_invalid": "",
    }  # fmt: skip
    assert (third["time"], third["seconds"], third["outside"]) == ("2.000", "3", "")
    assert (failed["seconds"], failed["valid"], failed["why_invalid"]) == ("", "false", "job FAILED")
    assert frictionless.validate(str(results / "tidy" / "datapackage.json")).valid


def test_runs_get_the_median_of_all_valid_overheads(tmp_path):
    keep_overheads(
        tmp_path / RECORD["block"],
        [
            an_overhead(2.0, 1),
            an_overhead(15.1, 2, wire=9000),
            an_overhead(2.2, 3, wire=2500),
            an_overhead(99.0, 4, valid=False),
        ],
    )
    own = {"block": RECORD["block"], "floors": {"sort": 2.0}, "floor_wire": 1.0}
    named, unknown, none = (own | {"floor": floor} for floor in ("sort hdfs 4", "sort hdfs 8", ""))
    given = [(tmp_path, record) for record in (named, unknown, none)]
    first, *others = [
        record for _, record in _with_all_overheads({RECORD["block"]: read_block(tmp_path / RECORD["block"])}, given)
    ]
    assert first["floors"] == {"sort": pytest.approx(2.2)}
    assert first["floor_wire"] == 2500
    assert others == [unknown, none]


def without(record, *keys):
    """The record, copied, without a key below others."""
    copy = json.loads(json.dumps(record))
    below = copy
    for key in keys[:-1]:
        below = below[key]
    del below[keys[-1]]
    return copy


UNSOUND = {
    "jobs: found no such key": without(an_overhead(2.0, 2), "jobs"),
    "jobs: found none, expected those of a valid overhead run": an_overhead(2.0, 2) | {"jobs": []},
    "links_after.a.ingress: found no such key": without(an_overhead(2.0, 2), "links_after", "a"),
    "links_before.a.ingress: found no such key": without(an_overhead(2.0, 2), "links_before", "a", "ingress"),
}


@pytest.mark.parametrize("why", UNSOUND)
def test_an_overhead_of_which_no_median_can_be_made_is_reported(tmp_path, why):
    block = tmp_path / RECORD["block"]
    keep_overheads(
        block, [an_overhead(2.0, 1), UNSOUND[why], without(an_overhead(None, 3, valid=False), "number") | {"number": 3}]
    )
    found = read_block(block)
    assert [record["number"] for record in found.overheads] == [1, 3]
    (fault,) = found.faults
    assert f"floors/002/run.json: {why}" in fault
    assert set(_with_all_overheads({block.name: found}, [])) == set()


def test_a_design_of_an_earlier_paper_is_reported(results, capsys):
    path = results / "design.csv"
    path.write_text(path.read_text().replace(",put-grid,", ",put-grill,"))
    (results / "manifest.json").unlink()
    assert cli.main(["tidy", "--paper", "emulex-2012", "--results", str(results)]) == 2
    (line,) = capsys.readouterr().err.splitlines()[-1:]
    assert re.search(r'experiment: found "put-grill", expected one of put-grid, .* make it anew', line)


RUNS = RUN.with_name("runs")
"""A real run of most workloads but puts, and in metrics.csv the rows that were made of them when they were measured."""
WORKLOADS = sorted(path.name for path in RUNS.iterdir() if path.is_dir())


@pytest.mark.parametrize("workload", WORKLOADS)
def test_metrics_of_a_run_stay_what_they_were_to_the_last_digit(workload):
    record = json.loads((RUNS / workload / "run.json").read_text())
    columns = ("metric", "value", "unit", "full_scale_value", "full_scale_unit")
    made = [{name: row[name] for name in columns} for row in metric_rows(RUNS / workload, record, [])]
    kept = [row for row in table(RUNS / "metrics.csv") if row.pop("workload") == workload]
    assert made == kept


@pytest.mark.parametrize(("workload", "key", "says"), [
    ("hibench", "reports", "Unreadable: a row of 'append' in reports"),
    ("testdfsio", "jobs", "ValueError: a job 'append', not of write or read"),
    ("copy", "jobs", "no 'copy_in'"),
])  # fmt: skip
def test_a_part_of_a_run_that_has_no_metrics_is_one_line(workload, key, says):
    record = json.loads((RUNS / workload / "run.json").read_text())
    first = record[key][0]
    other = record | {key: [first | {"name": "append"}, *(record[key][1:] or [first | {"name": "write"}])]}
    with pytest.raises(UserError, match=f"run.json: found {says}"):
        list(_of_each([(RUNS / workload, other)], lambda folder, record: metric_rows(folder, record, [])))


def test_every_workload_has_such_a_run():
    like_another = {"wordcount", "sleep", "randomwriter", "randomtextwriter"}
    assert {*WORKLOADS, RECORD["workload"]} == {"hibench", *workloads.WORKLOADS} - like_another


@pytest.mark.parametrize("workload", WORKLOADS)
def test_what_a_record_says_it_was_asked_makes_rows_or_is_one_line_whatever_it_is(workload):
    folder = RUNS / workload
    record = json.loads((folder / "run.json").read_text())
    lines = []
    for key in [*record["asked"], "k"]:
        for wrong in (None, [], {}, "text", -1):
            other = record | {"asked": record["asked"] | {key: wrong}}
            try:
                list(_of_each([(folder, other)], _treatments))
            except UserError as error:
                lines.append(str(error))
    assert all("run.json: found " in line and f"a run of {record['workload']}" in line for line in lines)
    assert lines or not record["asked"]
