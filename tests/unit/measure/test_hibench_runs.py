"""The workload `hibench` in a paper, in the design and in the metrics."""

import copy
import shutil
from pathlib import Path

import pytest

from tests.support.papers import PAPER, TESTBED
from tests.unit.measure.test_jobs import CPU, LIMITS, of, samples, sorted_run
from whitewire import workloads
from whitewire.cluster.built_hibench import BuiltHiBench, on_this_machine
from whitewire.cluster.hibench import HiBench
from whitewire.description.checks import load_paper
from whitewire.description.experiment_checks import _check_names
from whitewire.description.files import validate_by_schema
from whitewire.description.paper import Paper
from whitewire.description.testbed import load_testbed
from whitewire.design import durations
from whitewire.design.rows import make_design
from whitewire.design.scale import scale_of
from whitewire.errors import UserError
from whitewire.measure import services
from whitewire.measure.block_plan import BlockPlan
from whitewire.measure.campaign import Campaign
from whitewire.progress import Progress
from whitewire.records.journal import Journal
from whitewire.workflow.checked_paper import check_programs

EXPERIMENT = {
    "id": "hib", "workload": "hibench", "roles": {"namenode": 1, "datanode": 3, "client": 1},
    "factors": {"fabric": ["10gbe"], "program": ["terasort", "sleep"]},
    "parameters": {"profile": "large", "maps": 3, "reduces": 2, "block_size_bytes": 134217728, "replication": 2},
    "scale": {"k": 400, "bytes": {"smoke": 4000000, "quick": 4000000, "full": 4000000}, "splits": 3},
    "replicates": {"smoke": 1, "quick": 1, "full": 1},
}  # fmt: skip


def paper_with(**change) -> Paper:
    loaded = load_paper(PAPER, TESTBED["fabrics"])
    raw = copy.deepcopy(loaded.raw)
    raw["experiments"], raw["claims"] = [copy.deepcopy(EXPERIMENT) | change], []
    found = Paper(raw, loaded.path)
    _check_names(found, "experiments[0]", raw["experiments"][0], list(TESTBED["fabrics"]))
    return found


def test_the_profile_is_the_full_scale_size():
    paper = paper_with()
    scale = scale_of(paper, "hib", "smoke", {"program": "terasort"})
    assert scale.file_bytes == 4_000_000
    assert scale.data_fraction == pytest.approx(4_000_000 * 400 / 3.2e9)
    assert scale_of(paper, "hib", "smoke", {"program": "sleep"}).file_bytes == 0


def test_a_profile_that_is_none_is_named_with_the_nearest():
    with pytest.raises(UserError, match=r'profile: found "huuge", expected one of tiny.*did you mean "huge"'):
        paper_with(parameters=EXPERIMENT["parameters"] | {"profile": "huuge"})
    with pytest.raises(UserError, match="program among them"):
        paper_with(factors={"fabric": ["10gbe"]})


def test_runs_of_hibench_are_not_those_of_hadoop():
    def ids(testbed):
        return {row["run_id"] for row in make_design(paper_with(), testbed, "smoke", 1)}

    assert len(ids(TESTBED)) == 2
    assert not ids(TESTBED) & ids(TESTBED | {"hibench": {"home": "/opt/HiBench"}})
    assert all(durations.expected_seconds(paper_with(), row, TESTBED) > 8 for row in
               make_design(paper_with(), TESTBED, "smoke", 1))  # fmt: skip


def test_testbeds_may_name_a_home():
    testbed = load_testbed("emulated") | {"hibench": {"home": "/opt/HiBench", "path": ["/opt/python2/bin"]}}
    validate_by_schema(testbed, "testbed", "x.yaml")
    with pytest.raises(UserError, match='hibench.hoem: .*did you mean "home"'):
        validate_by_schema(testbed | {"hibench": {"hoem": "/opt/HiBench"}}, "testbed", "x.yaml")
    with pytest.raises(UserError, match="hibench.home"):
        validate_by_schema(testbed | {"hibench": {"home": "/opt/Hi Bench"}}, "testbed", "x.yaml")


@pytest.mark.parametrize(
    ("change", "testbed", "said"),
    [
        ({"factors": {"fabric": ["10gbe"], "program": ["sort", "pagerank"]}}, {}, 'factors.program: found "pagerank"'),
        (
            {"factors": {"fabric": ["10gbe"]}, "parameters": EXPERIMENT["parameters"] | {"program": "terasrt"}},
            {},
            'parameters.program: found "terasrt", expected one of .* has no HiBench; did you mean "terasort"',
        ),
        (
            {"factors": {"fabric": ["10gbe"]}, "parameters": EXPERIMENT["parameters"] | {"program": "sort" * 900}},
            {},
            'parameters.program: found "sort[sort]{40,60}…, expected one of',
        ),
        (
            {"factors": {"fabric": ["10gbe"], "program": ["pagerank"]}},
            {"hibench": {"home": "/opt/HiBench"}},
            'factors.program: found "pagerank", expected one of .*, sleep on a testbed that scales sizes down',
        ),
    ],
)
def test_a_program_that_cannot_run_is_refused_before_hosts_are_up(change, testbed, said):
    testbed, paper = TESTBED | testbed, paper_with(**change)
    with pytest.raises(UserError, match=rf"\.yaml: experiments\[0\]\.{said}") as raised:
        check_programs(paper, make_design(paper, testbed, "smoke", 1), testbed)
    assert "\n" not in str(raised.value)


def test_programs_that_can_run_are_not_refused():
    home = {"hibench": {"home": "/opt/HiBench"}}
    for testbed in (TESTBED, TESTBED | home | {"kind": "ssh", "scale": 20}):
        check_programs(paper_with(), make_design(paper_with(), testbed, "smoke", 1), testbed)
    real = TESTBED | home | {"kind": "ssh"}
    paper = paper_with(factors={"fabric": ["10gbe"], "program": ["pagerank"]})
    rows = make_design(paper, real, "smoke", 1)
    assert rows
    check_programs(paper, rows, real)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, r"hibench.home: /opt/HiBench on this machine: no such folder"),
        ({"factors": {"fabric": ["10gbe"], "program": ["dfsioe"]}}, "bytes per file of dfsioe, expected a multiple"),
    ],
)
def test_what_a_tree_lacks_is_reported_before_hosts_are_up(change, said):
    testbed, paper = TESTBED | {"hibench": {"home": "/opt/HiBench"}}, paper_with(**change)
    with pytest.raises(UserError, match=said):
        check_programs(paper, make_design(paper, testbed, "smoke", 1), testbed)


@pytest.fixture
def half_built(tmp_path, monkeypatch):
    """A testbed whose HiBench is there but for the jar that dfsioe needs, and runs of dfsioe and sleep on it."""
    home = shutil.copytree(Path(__file__).parents[2] / "data" / "hibench-tree", tmp_path / "HiBench")
    monkeypatch.setattr(BuiltHiBench, "_missing_programs", lambda _: ())  # bc, which this machine may lack
    size = {"smoke": 1 << 20, "quick": 1 << 20, "full": 1 << 20}
    made = paper_with(
        factors={"fabric": ["10gbe"], "program": ["dfsioe", "sleep"]},
        parameters=EXPERIMENT["parameters"] | {"profile": "tiny"}, scale=EXPERIMENT["scale"] | {"bytes": size},
    )  # fmt: skip
    testbed = TESTBED | {"hibench": {"home": str(home)}}
    return made, testbed, make_design(made, testbed, "smoke", 1)


def test_a_program_that_a_tree_lacks_is_left_out_and_stops_no_other(half_built):
    paper, testbed, rows = half_built
    (line,) = check_programs(paper, rows, testbed)
    assert line.startswith("dfsioe of HiBench 7.1.1-layout: needs ") and "mvn -Phadoopbench" in line
    assert check_programs(paper, rows, TESTBED) == []


def test_its_runs_are_left_out_and_the_block_says_why(half_built, tmp_path, capsys):
    paper, testbed, rows = half_built
    plan_of = BlockPlan(paper, testbed, "smoke")
    runs = [plan_of.run(row) for row in rows]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(services, "hibench_of", lambda *_: HiBench(on_this_machine(testbed["hibench"]), tmp_path))
        suite, lacking = services.suite(None, testbed, runs, tmp_path)
    made = Campaign(plan_of, rows, Journal(tmp_path / "smoke-1"), Progress("smoke-1", []), attempts=2)
    made.leave_out(lacking)
    (lost,) = (run.row["run_id"] for run in runs if run.parameters["program"] == "dfsioe")
    assert suite is not None and [*made.unavailable] == [lost]
    assert made.unavailable[lost].startswith("dfsioe of HiBench 7.1.1-layout: needs ")
    assert "smoke-1: 1 runs left out: dfsioe of HiBench" in capsys.readouterr().err


def test_metrics_of_its_report_beside_those_of_its_job():
    report = {"name": "terasort", "seconds": 24.0, "bytes": 40_000_000, "rate": 1_666_666, "node_rate": 833_333}
    record = sorted_run() | {"workload": "hibench", "reports": [report]}
    found = of(record, samples(), CPU)
    assert found["report_time"] == 24.0 and found["shuffle_bytes"] == 40_000_000
    two = record | {"jobs": record["jobs"] * 2, "reports": [report | {"name": "read"}, report | {"name": "write"}]}
    assert "shuffle_bytes" not in of(two, samples(), CPU)


def test_a_job_without_data_has_nothing_per_byte_and_no_fault():
    record = sorted_run() | {"workload": "sleep", "user_bytes": 0}
    found = of(record, samples(), CPU)
    assert "cpu_seconds_per_gb" not in found and found["completion_time"] == 20.0
    assert workloads.run_faults(record, found, LIMITS) == []
