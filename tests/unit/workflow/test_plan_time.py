"""What a start says of its time, in which turn papers are measured, and how fast this machine is."""

import json
import os
import re
import shlex
import time

import pytest

from tests.support import blocks, kept
from tests.support.blocks import BLOCK
from whitewire.budget import BUDGET_VARIABLE, Budget
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.design.rows import make_design, write_csv
from whitewire.measure import services
from whitewire.measure.load import burning
from whitewire.workflow import ahead, missing, papers, plan, speed
from whitewire.workflow.missing import seconds_by_block, seconds_lacking
from whitewire.workflow.preamble import preamble


@pytest.fixture(scope="module")
def two():
    testbed = load_testbed("emulated")
    papers = {
        name: load_paper(project.paper_path(name), fabric_names(testbed)) for name in ("emulex-2012", "chelsio-iwarp")
    }
    designs = {name: make_design(paper, testbed, "quick", 1) for name, paper in papers.items()}
    return testbed, papers, designs


def planned(two, **more):
    testbed, papers, designs = two
    waiting = missing.waiting(papers, missing.by_block(designs, "nowhere"), testbed)
    own = {"described": papers, "in_turn": True, "waiting": waiting}
    return plan.Plan(list(papers), "nowhere", "quick", 1, designs, **own, **more)


def below(folder, monkeypatch):
    """Results are below this folder."""
    for module in (ahead, missing, papers, plan):
        monkeypatch.setattr(module, "root", lambda: folder)


def test_the_shortest_paper_is_measured_first(two):
    made = planned(two)
    assert list(made.waiting) == ["chelsio-iwarp/quick-1", "emulex-2012/quick-1"]
    assert made.turn("chelsio-iwarp", "quick-1") > made.turn("emulex-2012", "quick-1") > 0
    assert made.turn("hibench", "quick-1") == 0


@pytest.mark.parametrize("names, lanes", [("chelsio-iwarp", 1), ("chelsio-iwarp emulex-2012", 2)])
def test_as_many_blocks_are_measured_at_once_as_papers_where_lanes_share_processors(
    names, lanes, tmp_path, monkeypatch
):
    below(tmp_path, monkeypatch)
    for variable, value in {"PAPERS": names, "EFFORT": "full", "LANES": "2", "TESTBED": "emulated"}.items():
        monkeypatch.setenv(variable, value)
    made = plan.Plan.load()
    assert len(made.waiting) > lanes == made.lanes and made.in_turn


def test_reports_are_made_beside_several_lanes_and_never_beside_a_single_one(two):
    assert planned(two, lanes=1).threads(2) == 2
    assert planned(two, lanes=2).threads(2) == planned(two, lanes=8).threads(4) == 0


def test_of_the_others_the_paper_with_the_most_claims_for_its_time_comes_first(two):
    """The budget may end before the last one: HiBench's ten claims take longer than Emulex's 42."""
    testbed, papers, designs = two
    study = load_paper(project.paper_path("hibench"), fabric_names(testbed))
    rows = make_design(study, testbed, "quick", 1)
    waiting = missing.waiting(
        {"hibench": study, **papers}, missing.by_block({"hibench": rows, **designs}, "nowhere"), testbed
    )
    assert list(waiting) == ["chelsio-iwarp/quick-1", "emulex-2012/quick-1", "hibench/quick-1"]
    assert (
        len(papers["emulex-2012"].claims) / waiting["emulex-2012/quick-1"]
        > len(study.claims) / waiting["hibench/quick-1"]
    )


def test_only_what_is_made_before_a_first_interim_analysis_counts_for_a_share(two):
    testbed, papers, designs = two
    rows = designs["emulex-2012"]
    least = missing.least(papers["emulex-2012"], rows)
    first = papers["emulex-2012"].analyses("quick")[0]
    assert 0 < len(least) < len(rows)
    assert max(row["replicate"] for row in least) == first
    assert planned(two).waiting["emulex-2012/quick-1"] == pytest.approx(
        seconds_lacking(papers["emulex-2012"], least, testbed)
    )


def test_all_runs_of_a_block_count_for_what_it_may_use(two):
    testbed, papers, designs = two
    found = seconds_by_block(papers, missing.by_block(designs, "nowhere"), testbed)
    assert found == {f"{name}/quick-1": seconds_lacking(papers[name], designs[name], testbed) for name in papers}
    made = planned(two, whole=lambda: found)
    assert all(found[block] > seconds for block, seconds in made.waiting.items())
    preamble(made)
    assert Budget.read(os.environ[BUDGET_VARIABLE]).whole == found


def test_a_start_says_how_long_it_takes_and_when_it_ends(two):
    testbed, *_ = two
    said = ahead.outlook_of(planned(two, budget="5m"), testbed)
    assert said.startswith(
        "at most 355 runs to make: about 5 min of measuring on 1 lane (by the model alone, ±40%), which ends"
    )
    short = r", which ends after 5m \(BUDGET\), before the (?:\d+ h )?\d+ min that first interim analyses of all "
    assert re.search(short + "claims take: the last papers may have none; first report after about ", said)
    assert ", which ends after 5h (BUDGET); first report" in ahead.outlook_of(planned(two, budget="5h"), testbed)
    free = ahead.outlook_of(planned(two), testbed)
    assert "BUDGET" not in free and "first interim" not in free
    assert " min to " in free


def test_on_a_site_blocks_of_one_paper_are_side_by_side_and_one_block_has_one_lane(two, monkeypatch):
    testbed, papers, designs = two
    site = testbed | {"kind": "slurm", "lanes": 4}
    monkeypatch.setattr(ahead, "time_in_words", "{:.0f} s".format)

    def seconds(blocks, lanes):
        rows = [row | {"block": f"quick-{place % blocks}"} for place, row in enumerate(designs["chelsio-iwarp"])]
        own = {"described": {"chelsio-iwarp": papers["chelsio-iwarp"]}, "lanes": lanes, "in_all": (4, 4)}
        made = plan.Plan(["chelsio-iwarp"], "nowhere", "quick", 1, {"chelsio-iwarp": rows}, **own)
        found = re.search(r"about (\d+) s to (\d+) s of measuring on (\d) lanes? ", ahead.outlook_of(made, site))
        return [int(each) for each in found.groups()]

    alone, apart = seconds(1, 1), seconds(2, 2)
    assert (alone[2], apart[2]) == (1, 2)
    assert apart[1] < 0.8 * alone[1]


def test_a_start_for_one_claim_is_for_its_runs_alone(two, tmp_path, monkeypatch):
    testbed, papers, designs = two
    name = "emulex-2012"
    own = {"described": {name: papers[name]}, "budget": "30m"}
    made = plan.Plan([name], "nowhere", "quick", 1, {name: designs[name]}, claim="E-C02", **own)
    whole = plan.Plan([name], "nowhere", "quick", 1, {name: designs[name]}, **own)
    rows = made.lacking[name]
    assert 0 < len(rows) < len(designs[name]) / 2 and whole.lacking[name] == designs[name]
    assert made.digest(name) == whole.digest(name), "the design is the same"
    assert (made.allowed, whole.allowed) == ("30m for E-C02", "30m"), "Snakemake sees that there is more to do"
    said = ahead.outlook_of(made, testbed)
    assert said.startswith(f"at most {len(rows)} runs to make: ") and "; verdict after about " in said
    below(tmp_path, monkeypatch)
    folder = tmp_path / "results" / "nowhere" / name / "raw" / "quick-1"
    folder.mkdir(parents=True)
    left = {rows[0]["run_id"]: "the budget ended", rows[1]["run_id"]: "decided after 3 runs of each cell"}
    record = BLOCK | {"block": "quick-1", "runs": [row["run_id"] for row in designs[name]]} | blocks.left(left)
    record |= {"start_budget_seconds": 1800.0}
    (folder / "block.json").write_text(json.dumps(record))
    assert made.lacking[name] == rows[:1] and whole.lacking[name] == []


def test_a_job_of_a_start_goes_on_with_its_budget_and_another_start_does_not(monkeypatch):
    """The job reads all files again, on its node."""
    monkeypatch.setenv(BUDGET_VARIABLE, "of an earlier start")

    def budget_of(within, begins):
        text = preamble(plan.Plan(["a"], "lab", "smoke", 1, {}, budget=within, begins=begins))
        assert f"export {BUDGET_VARIABLE}={shlex.quote(os.environ[BUDGET_VARIABLE])}" in text
        return Budget.read(os.environ[BUDGET_VARIABLE])

    start = budget_of("30m", begins=True)
    assert start.seconds == 1800
    assert budget_of("30m", begins=False) == start
    assert budget_of("2h", begins=True).ends > start.ends + 5000


def test_the_same_design_takes_the_same_time_while_processors_are_busy(two):
    made = planned(two, lanes=2)

    def alike():
        """Whether both outlooks are the same; a machine whose speed lies between two steps may give two."""
        idle = ahead.outlook_of(made, two[0])
        assert re.search(r"about \d+ min to .* on 2 lanes \(by the model alone, ±40%\)", idle)
        with burning(4 * (os.cpu_count() or 1)):
            time.sleep(0.3)
            return ahead.outlook_of(made, two[0]) == idle

    assert any(alike() for _ in range(4))


@pytest.mark.parametrize("paces, low, high, source", [
    ([1.2], 0.96, 1.44, "from 1 finished block on this machine"),
    ([1.2, 0.9, 1.0], 0.9, 1.2, "from 3 finished blocks on this machine"),
    ([1.0, 1.1, 1.2, 1.3, 9.0], 1.1, 1.3, "from 5 finished blocks on this machine"),
])  # fmt: skip
def test_a_range_rests_on_the_blocks_that_the_machine_has_finished(tmp_path, paces, low, high, source):
    for number, pace in enumerate(paces):
        folder = tmp_path / "a" / "raw" / f"quick-{number}"
        folder.mkdir(parents=True)
        (folder / "block.json").write_text(json.dumps(BLOCK | {"pace": pace}))
    assert speed.pace(tmp_path) == (pytest.approx(low), pytest.approx(high), source)


def test_blocks_without_a_pace_say_nothing_of_a_machine(tmp_path):
    assert speed.pace(tmp_path)[2] == "by the model alone, ±40%"
    for number, pace in enumerate([0.5, 2.0, 0.7, "fast", -1, None]):
        folder = tmp_path / "a" / "raw" / f"quick-{number}"
        folder.mkdir(parents=True)
        (folder / "block.json").write_text(json.dumps(BLOCK | {"pace": pace}))
    (tmp_path / "a" / "raw" / "quick-0" / "block.json").write_text("{")
    assert speed.pace(tmp_path) == (0.7, 2.0, "from 2 finished blocks on this machine")


def test_a_finished_block_lacks_what_the_design_has_besides_and_what_time_was_short_for(two, tmp_path, monkeypatch):
    rows = two[2]["chelsio-iwarp"]
    first, second, third, *others = (row["run_id"] for row in rows)
    folder = tmp_path / "raw" / "quick-1"
    (folder / "runs" / first).mkdir(parents=True)
    (folder / "runs" / first / "run.json").write_text("{}")
    assert len(missing.lacking(tmp_path, rows)) == len(rows) - 1

    def lacking(changes, again=False):
        (folder / "block.json").write_text(json.dumps(BLOCK | changes))
        return [row["run_id"] for row in missing.lacking(tmp_path, rows, again)]

    assert lacking({"runs": [first, second]}) == [second, third, *others], "an earlier design had fewer runs"
    left = {second: "the budget ended", third: "decided after 3 runs of each cell"}
    changes = {"runs": [first, second, third, *others], "given_up": others} | blocks.left(left)
    assert lacking(changes) == []
    assert lacking(changes, again=True) == [second]
    failed = changes | blocks.left({second: "its cluster failed: the services do not start: no answer; logs: logs"})
    assert lacking(failed) == [second], "the next start tries the cluster again, whatever its budget"
    disturbed = changes | {"given_up": []}
    disturbed |= blocks.left({second: "other programs used the processors", third: "the budget ended"})
    assert lacking(disturbed) == []
    alone = changes | {"given_up": []}
    alone |= blocks.left({second: "measuring ended with claim C-C01", third: "the budget ended"})
    assert lacking(alone) == [second, third], "a start for all claims goes on with all that is left"
    monkeypatch.setenv("AGAIN", "busy")
    assert lacking(disturbed) == [second, third], "the block is measured again, with all that it left"
    assert lacking(changes) == [], "no other programs disturbed any of it"
    (folder / "block.json").write_text("{")
    assert len(missing.lacking(tmp_path, rows)) == len(rows) - 1


@pytest.mark.parametrize("left, said", [
    ("the budget ended", "all runs are made; the budget ended before 1 more: another BUDGET makes them"),
    ("other programs used the processors", "all runs are made; a busy machine disturbed 1 more: AGAIN=busy makes them"),
    ("decided after 3 runs of each cell", "all runs are made"),
])  # fmt: skip
def test_a_start_with_nothing_to_make_says_what_the_budget_ended_before(two, tmp_path, monkeypatch, left, said):
    testbed, _, designs = two
    below(tmp_path, monkeypatch)
    for name, rows in designs.items():
        folder = tmp_path / "results" / "nowhere" / name / "raw" / rows[0]["block"]
        folder.mkdir(parents=True)
        short = {rows[0]["run_id"]: left} if name == "emulex-2012" else {}
        record = BLOCK | {"block": rows[0]["block"], "runs": [row["run_id"] for row in rows]} | blocks.left(short)
        (folder / "block.json").write_text(json.dumps(record))
    assert ahead.outlook_of(planned(two), testbed) == said


def test_a_claim_whose_runs_are_made_says_which_clusters_of_other_runs_failed(two, tmp_path, monkeypatch):
    plan = planned(two, claim="E-C06")
    block = tmp_path / "emulex-2012" / "raw" / "quick-1"
    block.mkdir(parents=True)
    left = {"a": "its cluster failed: no answer from datanode3", "b": "its cluster failed: no answer from datanode3",
            "c": "the budget ended"}  # fmt: skip
    (block / "block.json").write_text(json.dumps(BLOCK | blocks.left(left)))
    assert list(ahead._not_made(plan, tmp_path)) == [
        "the budget ended before 1 more: another BUDGET makes them",
        "2 more were not made, because its cluster failed: no answer from datanode3; make papers tries them again",
    ]


def test_again_names_the_blocks_that_a_busy_machine_disturbed(two, tmp_path, monkeypatch, capsys):
    _, _, designs = two
    below(tmp_path, monkeypatch)
    monkeypatch.setenv("AGAIN", "busy")
    folders = {}
    for name, rows in designs.items():
        folders[name] = tmp_path / "results" / "nowhere" / name / "raw" / rows[0]["block"]
        folders[name].mkdir(parents=True)
        (folders[name] / "block.json").write_text(json.dumps(BLOCK))
    assert papers.again(planned(two)) == []
    assert "found no run of these papers that a busy machine disturbed" in capsys.readouterr().err
    left = {designs["emulex-2012"][0]["run_id"]: "other programs used the processors"}
    (folders["emulex-2012"] / "block.json").write_text(json.dumps(BLOCK | blocks.left(left)))
    assert papers.again(planned(two)) == ["results/nowhere/emulex-2012/raw/quick-1/block.json"]


@pytest.mark.parametrize("last, found", [
    ({}, []),
    ({"left": "the budget ended", "start_budget_seconds": 6000.0}, []),
    ({"left": "the budget ended", "start_budget_seconds": 1200.0}, ["block"]),
    ({"left": "the budget ended", "start_budget_seconds": None}, ["block"]),
    ({"left": "decided after 3 runs of each cell", "start_budget_seconds": 1200.0}, []),
    ({"left": "measuring ended with claim C-C01", "start_budget_seconds": 6000.0}, ["block"]),
    ({"left": "its cluster failed: no answer from datanode3", "start_budget_seconds": 6000.0}, ["block"]),
    ({"design": "smoke"}, ["design"]),
])  # fmt: skip
def test_results_say_themselves_what_a_start_is_to_make_again(two, tmp_path, monkeypatch, last, found):
    """Where Snakemake has no records: after `make clean`, or where results were copied without them."""
    testbed, papers, designs = two
    below(tmp_path, monkeypatch)
    name, rows = "chelsio-iwarp", designs["chelsio-iwarp"]
    paper, own = papers[name], tmp_path / "results" / "nowhere" / name
    there = make_design(paper, testbed, "smoke", 1) if last.get("design") == "smoke" else rows
    write_csv(there, paper, own / "design.csv")
    record = BLOCK | {"runs": [row["run_id"] for row in rows]}
    record |= blocks.left({rows[0]["run_id"]: last["left"]}) if "left" in last else {}
    record |= {key: last[key] for key in ("start_budget_seconds",) if key in last}
    (own / "raw" / "quick-1").mkdir(parents=True)
    (own / "raw" / "quick-1" / "block.json").write_text(json.dumps(record))
    files = {"design": "design.csv", "block": "raw/quick-1/block.json"}
    assert planned(two, budget="100m").outdated == [f"results/nowhere/{name}/{files[what]}" for what in found]


@pytest.mark.parametrize("seconds, again, waits", [(6000.0, False, False), (7200.0, False, True), (6000.0, True, True)])
def test_a_finished_block_waits_for_a_lane_only_where_the_start_measures_it(
    two, tmp_path, monkeypatch, seconds, again, waits
):
    """Others keep the second lane to themselves while they wait, and time of the budget with one."""
    _, _, designs = two
    below(tmp_path, monkeypatch)
    rows = designs["chelsio-iwarp"]
    folder = tmp_path / "results" / "nowhere" / "chelsio-iwarp" / "raw" / "quick-1"
    folder.mkdir(parents=True)
    record = {"runs": [row["run_id"] for row in rows]} | blocks.left({rows[0]["run_id"]: "the budget ended"})
    (folder / "block.json").write_text(json.dumps(BLOCK | record | {"start_budget_seconds": 6000.0}))
    found = missing.by_block(designs, "nowhere", again, seconds)
    assert ("chelsio-iwarp/quick-1" in found) == waits and "emulex-2012/quick-1" in found


def test_a_plan_knows_what_is_open_from_verdicts_of_its_own_effort_alone(tmp_path):
    own = kept.results(kept.project(tmp_path)) / kept.PAPER
    assert ahead._judged(own, "quick")
    assert ahead._judged(own, "full") is None
    (own / "tidy" / "runs.csv").unlink()
    assert ahead._judged(own, "quick") is None


@pytest.mark.parametrize("in_turn, count", [(True, 2), (False, 3)])
def test_blocks_of_a_paper_are_measured_side_by_side_where_lanes_have_hosts_of_their_own(in_turn, count):
    assert plan.most_at_once(["a/full-1", "a/full-2", "b/full-1"], in_turn) == count


def test_a_plan_knows_cells_that_this_machine_cannot_make(monkeypatch):
    monkeypatch.setattr(services, "segment_unavailable", lambda: "no bridge in the kernel")
    monkeypatch.setattr(services, "cephfs_unavailable", lambda: "no Ceph here")
    testbed = load_testbed("emulated")
    paper = load_paper(project.paper_path("xyratex-lustre-2011"), fabric_names(testbed))
    found = ahead._unavailable(paper, testbed, "quick", make_design(paper, testbed, "quick", 1))
    of_segment = [name for name, levels in found if '"fabric": "1gbe-shared"' in levels]
    assert of_segment and {*found.values()} == {"no bridge in the kernel", "CephFS: no Ceph here"}


def test_a_start_whose_papers_have_no_runs_on_the_testbed_says_so(two):
    testbed, papers, designs = two
    none = plan.Plan(list(papers), "nowhere", "quick", 1, dict.fromkeys(designs, []), described=papers, waiting={})
    assert ahead.outlook_of(none, testbed) == ahead.NO_RUNS
