"""The design: balanced, unique, recorded by its seed, and as long as it says."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.support.papers import TESTBED, edited, paper
from whitewire.description.checks import load_paper
from whitewire.description.project import paper_names, paper_path
from whitewire.description.testbed import load_testbed
from whitewire.design import durations
from whitewire.design.rows import (
    block_names,
    by_cell,
    cells_of_rows,
    claimed_cells,
    compared_cells,
    headline_cells,
    levels_of,
    make_design,
    parse_design,
    read_csv,
    write_csv,
)
from whitewire.design.scale import Scale, scale_of
from whitewire.errors import UserError
from whitewire.estimands import estimand_of
from whitewire.models import maxmin
from whitewire.paths import HOME
from whitewire.records.samples import Torn
from whitewire.text import canonical
from whitewire.workflow.job_needs import job_needs
from whitewire.workloads import workload_of

LOADED, REFERENCE = paper(), HOME / "results" / "reference"
EFFORTS = st.sampled_from(["smoke", "quick", "full"])
SEEDS = st.integers(0, 2**32 - 1)


def _cell(row):
    return (row["experiment"], *(row[f] for f in LOADED.factors))


@given(EFFORTS, SEEDS)
@settings(max_examples=25, deadline=None)
def test_run_ids_are_unique_and_keep_the_contract(effort, seed):
    rows = make_design(LOADED, TESTBED, effort, seed)
    ids = [row["run_id"] for row in rows]
    assert len(set(ids)) == len(ids)
    for row in rows:
        assert re.fullmatch(rf"{row['experiment']}[A-Za-z0-9._-]*-r{row['replicate']}-[0-9a-f]{{6}}", row["run_id"])


@given(EFFORTS, SEEDS)
@settings(max_examples=25, deadline=None)
def test_the_seed_changes_the_order_and_nothing_else(effort, seed):
    one, two = (make_design(LOADED, TESTBED, effort, s) for s in (seed, seed + 1))
    assert sorted(r["run_id"] for r in one) == sorted(r["run_id"] for r in two)
    assert one == make_design(LOADED, TESTBED, effort, seed)
    assert {r["run_id"]: r["block"] for r in one} == {r["run_id"]: r["block"] for r in two}


@given(st.sampled_from(["quick", "full"]), SEEDS)
@settings(max_examples=10, deadline=None)
def test_every_block_has_an_equal_share_of_each_cell(effort, seed):
    rows = make_design(LOADED, TESTBED, effort, seed)
    names = block_names(LOADED, effort)
    assert {r["block"] for r in rows} == set(names)
    shares = Counter((_cell(r), r["block"]) for r in rows)
    for cell in {_cell(r) for r in rows}:
        share = [shares[cell, name] for name in names]
        assert max(share) - min(share) <= 1
    claimed = LOADED.raw["replicates"][effort]["claimed"]
    total = Counter(_cell(r) for r in rows)
    grid = {c: n for c, n in total.items() if c[0] == "put-grid"}
    assert set(grid.values()) == {claimed, LOADED.raw["replicates"][effort]["other"]}
    sizes = Counter(r["block"] for r in rows).values()
    assert max(sizes) - min(sizes) <= 1


def test_what_is_known_of_runs_is_known_of_their_cells():
    rows = make_design(LOADED, TESTBED, "smoke", 1)
    one, other = rows[0], next(row for row in rows if _cell(row) != _cell(rows[0]))
    cells = cells_of_rows(LOADED, rows)
    alike = [run_id for run_id, cell in cells.items() if cell == cells[one["run_id"]]]
    assert [*cells] == [row["run_id"] for row in rows] and len({*cells.values()}) == len({*map(_cell, rows)})
    found = by_cell(cells, dict.fromkeys(alike, "no mount") | {other["run_id"]: "no port", "of another design": "-"})
    assert found == {cells[one["run_id"]]: "no mount", cells[other["run_id"]]: "no port"}


def test_order_counts_from_one_in_each_block_and_fabrics_are_mixed():
    rows = make_design(LOADED, TESTBED, "quick", 1)
    for name in block_names(LOADED, "quick"):
        block = [r for r in rows if r["block"] == name]
        assert [r["order"] for r in block] == list(range(1, len(block) + 1))
        fabrics = [r["fabric"] for r in block if r["experiment"] == "put-grid"]
        changes = sum(a != b for a, b in zip(fabrics, fabrics[1:], strict=False))
        assert changes > len(fabrics) / 4


@given(EFFORTS, SEEDS)
@settings(max_examples=10, deadline=None)
def test_a_block_is_made_of_rounds_that_begin_with_the_headline_and_what_no_claim_needs_is_last(effort, seed):
    """No cell has its next run before every cell that has as many runs has had this one."""
    rows = make_design(LOADED, TESTBED, effort, seed)
    headline, asked = headline_cells(LOADED), claimed_cells(LOADED) | compared_cells(LOADED)
    assert len(headline) == 2
    for name in block_names(LOADED, effort):
        seen: Counter = Counter()
        places = []
        for row in (row for row in rows if row["block"] == name):
            seen[_cell(row)] += 1
            cell = row["experiment"], canonical(levels_of(LOADED, row))
            places.append((cell not in asked, seen[_cell(row)], cell not in headline))
        assert places == sorted(places)


def test_claimed_cells_have_enough_runs_for_an_interval():
    rows = make_design(LOADED, TESTBED, "quick", 1)
    total = Counter(_cell(r) for r in rows)

    def runs(experiment, **levels):
        return total[(experiment, *(levels.get(factor, "") for factor in LOADED.factors))]

    assert runs("put-grid", fabric="1gbe", clients=3, puts_per_client=6) == 10
    assert runs("put-grid", fabric="1gbe", clients=2, puts_per_client=6) == 1
    assert runs("put-tuned", settings="tuned") == 10


def test_smoke_runs_the_listed_cells_only():
    rows = make_design(LOADED, TESTBED, "smoke", 1)
    listed = LOADED.experiments["put-grid"]["smoke_cells"]
    total = Counter((r["fabric"], r["clients"], r["puts_per_client"]) for r in rows)
    assert {r["experiment"] for r in rows} == {"put-grid"} and len(total) == len(listed)
    assert {cell: n for cell, n in total.items() if n > 1} == {("1gbe", 3, 6): 6, ("10gbe", 3, 6): 6}


@pytest.mark.parametrize("name", paper_names())
def test_the_headline_of_a_paper_is_a_claim_of_runs_and_gets_an_interval_at_smoke_effort(name):
    emulated = load_testbed("emulated")
    loaded = load_paper(paper_path(name), emulated["fabrics"])
    (claim,) = (claim for claim in loaded.claims if claim["id"] == loaded.raw["headline"])
    assert "emulated" in claim["routes"]
    made = Counter(
        (r["experiment"], canonical(levels_of(loaded, r))) for r in make_design(loaded, emulated, "smoke", 1)
    )
    on_yarn = {name for name, one in loaded.experiments.items() if workload_of(one["workload"]).on_yarn}
    assert all(made[cell] == (1 if cell[0] in on_yarn else 6) for cell in headline_cells(loaded))


def test_scale_is_whole_blocks_of_whole_sectors():
    scale = scale_of(LOADED, "put-grid", "quick", {"fabric": "1gbe", "clients": 1, "puts_per_client": 1})
    assert scale.k == 128
    assert scale.block_bytes == 67108864 // 128
    assert scale.file_bytes == 4 * scale.block_bytes
    assert scale.data_fraction == pytest.approx(4 * scale.block_bytes / (5e9 / 128))
    assert scale_of(LOADED, "put-whole-file", "quick", {}).data_fraction == 1
    longest = scale_of(LOADED, "data-fraction", "full", {"fabric": "1gbe", "file_blocks": 16})
    assert longest.file_bytes == 16 * scale.block_bytes
    assert -(-scale_of(LOADED, "put-whole-file", "quick", {}).file_bytes // scale.block_bytes) == 75
    assert scale_of(LOADED, "put-grid", "quick", {}, {"kind": "ssh"}) == Scale(1, 1.0, 67108864, 5000000000)


def test_packets_shrink_on_emulated_hosts_only_and_settings_of_them_alike():
    wanted = {"dfs.client-write-packet-size": 262144, "io.file.buffer.size": 131072}
    scale = scale_of(LOADED, "put-tuned", "quick", {})
    assert scale.packet_bytes == 16384
    assert scale.settings(wanted) == {"dfs.client-write-packet-size": 65536, "io.file.buffer.size": 131072}
    real = scale_of(LOADED, "put-tuned", "quick", {}, {"kind": "ssh"})
    assert (real.packet_bytes, real.settings(wanted)) == (65536, wanted)


def test_rates_of_daemons_are_divided_by_k_and_all_else_stays():
    write, move, handlers = "dfs.datanode.data.write.bandwidthPerSec", "dfs.datanode.balance.bandwidthPerSec", "a.count"
    wanted = {write: 12.8e6, move: 3, handlers: 10, "dfs.block.scanner.volume.bytes.per.second": -1}
    scaled = Scale(128, 1.0, 1, 1).settings(wanted)
    assert scaled == wanted | {write: 100_000, move: 1}
    assert isinstance(scaled[write], int)
    assert Scale(1, 1.0, 1, 1).settings(wanted) == wanted


def test_a_changed_parameter_changes_every_run_id_of_its_experiment(tmp_path):
    def change(data):
        data["experiments"][0]["parameters"]["replication"] = 2

    changed = load_paper(edited(tmp_path, change), TESTBED["fabrics"])
    one = {r["run_id"] for r in make_design(LOADED, TESTBED, "quick", 1)}
    two = {r["run_id"] for r in make_design(changed, TESTBED, "quick", 1)}
    assert any(i.startswith("put-grid") for i in one - two)
    assert all(i.startswith(("put-grid", "E-K")) for i in one - two)  # its controls change with it
    assert not any(i.startswith(("put-grid", "E-K")) for i in one & two)


def ids(testbed, loaded=LOADED, effort="quick"):
    """Run id → the fabrics that the run is made on."""
    found = {}
    for row in make_design(loaded, testbed, effort, 1):
        parameters = loaded.parameters(row["experiment"], levels_of(loaded, row))
        found[row["run_id"]] = {parameters.get(name) for name in ("fabric", "load_fabric")}
    return found


@given(st.text(min_size=1), st.integers(1, 10**6), EFFORTS)
@settings(max_examples=10, deadline=None)
def test_a_further_fabric_changes_no_run(name, rate, effort):
    further = TESTBED["fabrics"] | {f"further {name}": {"rate_mbit_per_s": rate}}
    assert ids(TESTBED | {"fabrics": further}, effort=effort) == ids(TESTBED, effort=effort)


@given(st.sampled_from(sorted(TESTBED["fabrics"])), st.integers(1, 10**6))
@settings(max_examples=10, deadline=None)
def test_another_rate_changes_the_runs_on_that_fabric_only(fabric, rate):
    assume(rate != TESTBED["fabrics"][fabric]["rate_mbit_per_s"])
    changed = ids(TESTBED | {"fabrics": TESTBED["fabrics"] | {fabric: {"rate_mbit_per_s": rate}}})
    before = ids(TESTBED)
    assert set(before) - set(changed) == {run for run, used in before.items() if fabric in used}


def test_a_control_is_a_run_on_the_network_that_it_really_has():
    before = ids(TESTBED)
    (control,) = {frozenset(used) for run, used in before.items() if run.startswith("E-K01-")}
    assert "1gbe" in control and "10gbe" not in control
    loads = {frozenset(used) for run, used in before.items() if run.startswith("rereplicate-1gbe-")}
    assert loads == {frozenset({"1gbe", "10gbe"})}


@pytest.mark.parametrize(
    ("key", "value", "affects"),
    [
        ("limits", {"attempts": 1}, False),
        ("probes", {"seconds": 9}, False),
        ("memory", {"minimum_gib": 64}, False),
        ("hosts", [{"ssh": "another", "role": "client"}], False),
        ("work", "/elsewhere", False),
        ("data_fraction", {"quick": 0.1, "smoke": 0.5}, False),
        ("data_fraction", {"quick": 0.5}, True),
        ("yarn", {"node_mib": 1024}, False),  # none of the paper's runs is a job
        ("mount", {"path": "/lustre"}, False),  # nor on a mounted file system
        ("data", ["/data1"], True),
        ("cluster", {"kind": "existing"}, True),
        ("hadoop", "/opt/hadoop", True),
        ("java", "/opt/java", True),
        ("image", {"path": "/shared/hadoop.sif"}, True),
        ("switch", {"port_buffer_kib": 1}, True),
        ("tcp", {"congestion_control": "reno"}, True),
        ("scale", 20, True),
        ("kind", "slurm", True),
    ],
)
def test_what_of_a_testbed_makes_other_runs(key, value, affects):
    site = {"kind": "ssh", "fabrics": TESTBED["fabrics"], "data_fraction": {"quick": 0.1}}
    before, after = set(ids(site)), set(ids(site | {key: value}))
    assert before
    assert after.isdisjoint(before) if affects else after == before


def test_jobs_hang_on_yarn_and_runs_on_a_mounted_file_system_on_the_mount():
    fabrics = load_testbed("emulated")["fabrics"]
    loaded = load_paper(paper_path("xyratex-lustre-2011"), fabrics)
    site = {"kind": "ssh", "fabrics": fabrics, "mount": {"path": "/lustre"}}
    rows = make_design(loaded, site, "quick", 1)
    mounted = {
        row["run_id"] for row in rows if loaded.store(row["experiment"], levels_of(loaded, row))["kind"] != "hdfs"
    }
    before = {row["run_id"] for row in rows}
    assert before - set(ids(site | {"mount": {"path": "/scratch"}}, loaded)) == mounted
    assert before.isdisjoint(ids(site | {"yarn": {"node_mib": 1024}}, loaded))


@pytest.mark.parametrize(
    "change",
    [
        lambda e: e.update(title="Another"),
        lambda e: e.update(cpu="report"),
        lambda e: e["factors"].update(fabric=[*e["factors"]["fabric"], "2gbe"]),
        lambda e: e["parameters"].update(fabric="5gbe"),  # each run has a level of it
        lambda e: e["hardware"]["sources"].update(count="another"),
        lambda e: e["roles"].update(oss=2),  # no run mounts what they serve
    ],
)
def test_what_of_an_experiment_affects_no_run(tmp_path, change):
    path = edited(tmp_path, lambda raw: change(raw["experiments"][0]))
    assert set(ids(TESTBED)) <= set(ids(TESTBED, load_paper(path, TESTBED["fabrics"])))


def test_a_testbed_without_a_fabric_leaves_its_levels_out():
    small = {"kind": "ssh", "fabrics": {"1gbe": {}, "10gbe": {}}}
    loaded = load_paper(LOADED.path, small["fabrics"])
    rows = make_design(loaded, small, "quick", 1)
    assert {r["fabric"] for r in rows if r["experiment"] == "response-curve"} == {"1gbe", "10gbe"}
    assert not {r["run_id"] for r in rows} & {r["run_id"] for r in make_design(LOADED, TESTBED, "quick", 1)}


@pytest.mark.parametrize("workload", ["terasort", "testdfsio", "sort"])
def test_a_curve_that_an_inverse_question_reads_has_six_link_rates_at_quick_effort(workload):
    testbed, curves = load_testbed("emulated"), []
    for name in paper_names():
        loaded = load_paper(paper_path(name), testbed["fabrics"])
        rows = make_design(loaded, testbed, "quick", 1)
        for inverse in [claim["inverse"] for claim in loaded.claims if "inverse" in claim]:
            where = {"experiment": inverse["experiment"]} | {k: str(v) for k, v in inverse.get("where", {}).items()}
            cells = [row for row in rows if all(str(row[key]) == value for key, value in where.items())]
            if cells and cells[0]["workload"] == workload:
                curves.append(len({row["fabric"] for row in cells}))
    assert curves
    assert max(curves) >= 6


def test_an_experiment_may_have_its_own_runs_of_claimed_and_other_cells(tmp_path):
    def its_own(raw):
        grid = next(e for e in raw["experiments"] if e["id"] == "put-grid")
        grid["replicates"] = {"smoke": 1, "quick": {"claimed": 3, "other": 1}, "full": 4}

    def cells(loaded, effort):
        rows = make_design(loaded, TESTBED, effort, 1)
        return Counter(_cell(row) for row in rows if row["experiment"] == "put-grid")

    own, usual = load_paper(edited(tmp_path, its_own), TESTBED["fabrics"]), cells(LOADED, "quick")
    claimed = {cell for cell, count in usual.items() if count == LOADED.raw["replicates"]["quick"]["claimed"]}
    assert 0 < len(claimed) < len(usual)
    assert cells(own, "quick") == {cell: 3 if cell in claimed else 1 for cell in usual}
    assert set(cells(own, "full").values()) == {4}
    bad = edited(tmp_path, lambda raw: raw["experiments"][0].update(replicates={"smoke": 1, "quick": "x", "full": 1}))
    with pytest.raises(UserError, match=r"replicates\.quick"):
        load_paper(bad, TESTBED["fabrics"])


def test_csv_keeps_every_row_and_levels_get_their_types_back(tmp_path):
    rows = make_design(LOADED, TESTBED, "full", 3)
    write_csv(rows, LOADED, tmp_path / "a" / "design.csv")
    back = read_csv(tmp_path / "a" / "design.csv")
    assert [r["run_id"] for r in back] == [r["run_id"] for r in rows]
    for read, row in zip(back, rows, strict=True):
        assert levels_of(LOADED, read) == {f: row[f] for f in LOADED.experiments[row["experiment"]]["factors"]}
    with pytest.raises(UserError, match="no such file"):
        read_csv(tmp_path / "none.csv")
    with pytest.raises(UserError, match="effort"):
        make_design(LOADED, TESTBED, "fast", 1)


def test_a_design_without_an_effort_is_refused(tmp_path):
    rows = make_design(LOADED, TESTBED, "quick", 3)
    assert {row["effort"] for row in rows} == {"quick"}
    write_csv(rows, LOADED, tmp_path / "design.csv")
    with pytest.raises(Torn, match="line 1: found no column effort, expected one"):
        parse_design((tmp_path / "design.csv").read_text().replace(",effort,", ",size,", 1))
    with pytest.raises(Torn, match="line 2: effort: found an empty cell"):
        parse_design((tmp_path / "design.csv").read_text().replace(",quick,", ",,", 1))


@pytest.mark.parametrize("path", sorted(REFERENCE.glob("*/design.csv")), ids=lambda path: path.parent.name)
def test_designs_of_the_stored_reference_have_their_effort(path):
    record = json.loads((REFERENCE / "results.json").read_text())["papers"][path.parent.name]
    assert {row["effort"] for row in read_csv(path)} <= {record["effort"]}


def test_a_slurm_job_has_the_nodes_of_its_largest_experiment_and_twice_the_time():
    site = {"kind": "slurm", "fabrics": TESTBED["fabrics"], "data_fraction": {"smoke": 0.01}}
    rows = make_design(LOADED, site, "smoke", 1)
    (need,) = {job_needs(LOADED, rows, site)[block] for block in {row["block"] for row in rows}}
    nodes, minutes = need
    assert nodes == 15  # a NameNode, 11 DataNodes, 3 clients
    seconds = sum(durations.expected_seconds(LOADED, row, site) for row in rows)
    assert minutes * 60 > 2 * seconds


def test_a_run_has_the_same_shape_on_every_network_and_store():
    shapes = {scale_of(LOADED, "put-grid", "quick", {"fabric": fabric}) for fabric in ("1gbe", "10gbe")}
    assert len(shapes | {scale_of(LOADED, "response-curve", "quick", {"fabric": "20gbe"})}) == 1
    loaded = load_paper(paper_path("xyratex-lustre-2011"), load_testbed("emulated")["fabrics"])
    assert len({scale_of(loaded, "testdfsio", "quick", {"store": store}) for store in ("hdfs-3x", "cephfs")}) == 1


def test_a_study_moves_one_choice_of_the_emulation():
    light = {"fabric": "1gbe", "clients": 1, "puts_per_client": 1}
    plain = scale_of(LOADED, "put-grid", "full", light)
    block = scale_of(LOADED, "block-size", "full", light | {"block_size_bytes": 134217728})
    packet = scale_of(LOADED, "packet-size", "full", light | {"packet_bytes": 32768})
    factor = scale_of(LOADED, "scale-factor", "full", light | {"k": 256})
    assert (block.block_bytes, block.packet_bytes, block.k) == (2 * plain.block_bytes, 16384, 128)
    assert (packet.block_bytes, packet.packet_bytes, packet.k) == (plain.block_bytes, 32768, 128)
    assert (factor.block_bytes, factor.packet_bytes, factor.k) == (plain.block_bytes // 2, 16384, 256)


def quick_run_of_xyratex(testbed, experiment, store, *fabrics):
    """The paper, and a run of the experiment on the store with its scale."""
    loaded = load_paper(paper_path("xyratex-lustre-2011"), testbed["fabrics"])
    rows = make_design(loaded, testbed, "quick", 1)
    row = next(
        row for row in rows if (row["experiment"], row["store"]) == (experiment, store) and row["fabric"] in fabrics
    )
    return loaded, row, scale_of(loaded, experiment, "quick", levels_of(loaded, row), testbed)


def test_a_shared_segment_takes_the_time_of_all_hosts_bytes():
    testbed = load_testbed("emulated")
    loaded, row, scale = quick_run_of_xyratex(testbed, "shared-segment", "hdfs-3x", "1gbe-shared")
    seconds = 8 * 2 * scale.file_bytes / (1e9 / 8 / scale.k)  # eight writers, two copies of each file, one medium
    assert durations.expected_seconds(loaded, row, testbed) == pytest.approx(
        workload_of("testdfsio").startup_s + durations.OVERHEAD_S + seconds
    )
    switched = testbed | {"fabrics": testbed["fabrics"] | {"1gbe-shared": {"rate_mbit_per_s": 1000}}}
    assert (
        durations.expected_seconds(loaded, row, switched)
        < durations.expected_seconds(loaded, row, testbed) - seconds / 2
    )


@pytest.mark.parametrize(("times", "own", "workers", "own_parameters", "share"), [
    (2, 1, 4, {}, 2 / 4),  # two copies cross, between all
    (2, 1, 4, {"task_workers": 1}, 1 + 1 / 4),  # one worker sends all, and passes on its share of what comes back
    (3, 1, 4, {"task_workers": 4}, 3 / 4),
    (1, 2, 4, {"task_workers": 1}, 1),  # one copy stays
    (0, 1, 4, {"task_workers": 1}, 0),  # and crosses no link
    (3, 1, 4, {"put_from": "datanode", "clients": 2}, 1 / 2 + 2 / 4),
    (3, 1, 4, {"put_from": "client", "clients": 2}, 3 / 4),
])  # fmt: skip
def test_workers_that_run_tasks_move_more_than_others(times, own, workers, own_parameters, share):
    assert durations.on_busiest(times, own, workers, own_parameters) == pytest.approx(share)


def test_the_model_has_as_many_datanodes_as_the_cell():
    """Not those of roles where the cell has a level of `nodes`."""
    light = {"fabric": "1gbe", "clients": 1, "puts_per_client": 1}
    cells = [durations.model_cell(LOADED, "put-grid", light | more, 1.0, 1e9) for more in ({}, {"nodes": 4})]
    assert [cell.datanodes for cell in cells] == [LOADED.experiments["put-grid"]["roles"]["datanode"], 4]


def test_the_drives_of_a_parallel_file_system_are_those_of_all_its_targets():
    testbed = load_testbed("emulated")
    loaded, row, scale = quick_run_of_xyratex(testbed, "testdfsio", "cephfs", "32g-qdr")
    moved = 2 * 8 * scale.file_bytes  # eight maps, written and read
    seconds = moved / (8 * 80e6 / scale.k)  # two servers with four drives of 80 MB/s each
    assert durations.expected_seconds(loaded, row, testbed) == pytest.approx(
        workload_of("testdfsio").startup_s + durations.OVERHEAD_S + seconds
    )


@pytest.mark.parametrize(("own", "waves"), [
    ({}, 1), ({"tasks_per_worker": 2}, 2), ({"tasks_per_worker": 1, "operation": "write"}, 3),
    ({"operation": "read"}, 0),
])  # fmt: skip
def test_bounded_writers_take_as_long_as_their_waves(own, waves):
    testbed = load_testbed("emulated")
    loaded, row, scale = quick_run_of_xyratex(testbed, "testdfsio", "hdfs-3x", "10g-ipoib")
    experiment = loaded.experiments["testdfsio"]
    experiment["parameters"] = experiment["parameters"] | own | {"maps": 24}  # three on each worker
    unbound = durations.expected_seconds(loaded, row, testbed)
    experiment["hardware"] = experiment["hardware"] | {"writer": {"rate_mb_per_s": 0.1}}
    expected = waves * scale.file_bytes * scale.k / 1e5 + workload_of("testdfsio").startup_s + durations.OVERHEAD_S
    assert durations.expected_seconds(loaded, row, testbed) == pytest.approx(expected if waves else unbound)


def test_a_plan_takes_no_longer_because_memory_is_small(monkeypatch, tmp_path):
    steps, real = [], maxmin.allocate
    monkeypatch.setattr(maxmin, "allocate", lambda *given: steps.append(0) or real(*given))

    def taken(size_bytes):
        path = edited(tmp_path, lambda data: data["experiments"][0]["hardware"]["memory"].update(size_bytes=size_bytes))
        loaded = load_paper(path, TESTBED["fabrics"])
        durations._seconds.cache_clear()
        steps.clear()
        for row in make_design(loaded, TESTBED, "smoke", 1):
            durations.expected_seconds(loaded, row, TESTBED)
        return len(steps)

    usual = taken(2**34)
    assert usual > 500
    assert all(taken(2**34 // part) < 2 * usual for part in (3, 10, 100, 10_000))


def test_an_effort_makes_the_cells_of_a_claim_often_enough_for_an_interval_or_not_all_of_them():
    emulated = load_testbed("emulated")
    loaded = load_paper(paper_path("xyratex-lustre-2011"), emulated["fabrics"])
    rows = make_design(loaded, emulated, "quick", 1)
    made = Counter((row["experiment"], canonical(levels_of(loaded, row))) for row in rows)
    for claim in loaded.claims:
        cells = [made[name, canonical(levels)] for name, levels in estimand_of(claim["test"]).cells()]
        assert not cells or min(cells) >= 3 or 0 in cells, claim["id"]
