"""The table of similitude: exact values of known experiments, and that nothing is unlike at k = 1."""

from __future__ import annotations

import copy
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whitewire.analysis import similitude
from whitewire.analysis.similitude import similitude_table
from whitewire.description import testbed
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper
from whitewire.design import scaling
from whitewire.report import similitude_page

HOME = Path(__file__).resolve().parents[3]
TESTBED = testbed.load_testbed("emulated")
PAPERS = ["chelsio-iwarp", "emulex-2012", "hibench", "mellanox-mapr", "qubole-2015", "xyratex-lustre-2011"]
SET_ON_PURPOSE = {
    "burst_time", "page_cache", "hdfs_window_time", "datanode_heartbeat_file", "nodemanager_heartbeat_file",
    "sort_buffer_split", "reduce_memory_input", "merges", "sampled_input", "ost_access",
}  # fmt: skip
"""What differs from full scale at any k."""


def load(name: str) -> Paper:
    return load_paper(HOME / "config" / "papers" / f"{name}.yaml", TESTBED["fabrics"])


def texts(names: set[str]) -> set[str]:
    return {similitude.QUANTITIES[name].text for name in names}


def rows(table: pd.DataFrame, experiment: str, quantity: str) -> pd.DataFrame:
    text = similitude.QUANTITIES[quantity].text
    return table[(table["experiment"] == experiment) & (table["quantity"] == text)]


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    return {name: similitude_table(load(name), TESTBED, "quick") for name in PAPERS}


@pytest.mark.parametrize("name", PAPERS)
def test_each_experiment_of_the_effort_has_rows_and_a_reason_for_what_is_unlike(tables, name):
    table, paper = tables[name], load(name)
    # Transports that are compared need RDMA, which this testbed has not.
    here = [spec for spec in paper.raw["experiments"] if "transport" not in spec["factors"]]
    at_quick = [e["id"] for e in here if "quick" in e.get("efforts", ["quick"])]
    assert list(dict.fromkeys(table["experiment"])) == [e for e in at_quick if "control" not in paper.experiments[e]]
    assert list(table.columns) == similitude.SIMILITUDE_COLUMNS
    assert not table.duplicated(["experiment", "fabric", "levels", "quantity"]).any()
    assert (table["bias"] != "").equals(~table["alike"])
    assert set(table["follows"]) - {""} <= set(table["quantity"])


def test_blocks_and_drives_of_the_grid_of_puts(tables):
    cache = rows(tables["emulex-2012"], "put-grid", "block_cache")
    assert set(cache["full_scale"]) == {4.0}  # 64 MiB before 16 MiB
    drives = rows(tables["emulex-2012"], "put-grid", "drives")
    assert list(drives["fabric"]) == ["1gbe", "10gbe"] and drives["alike"].all()
    assert drives["full_scale"].iloc[0] == pytest.approx(1000 / 8 / (6 * 110), rel=1e-5)
    # A fifth of 16 GiB of each of 11 nodes, of which a run writes as much as its data fraction.
    taken = rows(tables["emulex-2012"], "put-grid", "limit_written")
    assert taken["full_scale"].iloc[0] == pytest.approx(0.2 * 2**34 / (24 * 5e9 * 3 / 11), rel=1e-5)
    assert taken["alike"].all()
    assert rows(tables["emulex-2012"], "put-grid", "limit_block")["quotient"].iloc[0] < 0.1
    assert rows(tables["emulex-2012"], "put-grid", "page_cache").empty
    assert not rows(tables["qubole-2015"], "testdfsio-link", "page_cache").empty
    # 24 puts of 5 GB in three copies on 66 drives.
    written = rows(tables["emulex-2012"], "put-grid", "cache_written")
    assert written["full_scale"].iloc[0] == pytest.approx(2**24 / (24 * 5e9 * 3 / 66), rel=1e-5)


def test_a_drive_takes_more_of_what_a_few_workers_write():
    def cache(**own):
        raw = copy.deepcopy(dict(load("xyratex-lustre-2011").raw))
        made = next(each for each in raw["experiments"] if each["id"] == "testdfsio")
        made["factors"] = {"fabric": ["32g-qdr"]}
        made["parameters"] |= {"replication": 3, **own}
        del made["only"], made["stores"]
        made["hardware"]["drive"]["cache_bytes"] = 2**24
        return rows(similitude_table(Paper(raw, Path()), TESTBED, "quick"), "testdfsio", "cache_written")["full_scale"]

    # Eight workers: of three copies one is on two of them alone.
    assert cache(task_workers=2).iloc[0] == pytest.approx(cache().iloc[0] * (3 / 8) / (1 / 2 + 2 / 8), rel=1e-4)


def test_what_does_not_shrink_is_k_times_as_long(tables):
    buffer = rows(tables["emulex-2012"], "put-grid", "hdfs_buffer_time")
    assert list(buffer["quotient"]) == pytest.approx([128, 128], rel=1e-4)
    processors = rows(tables["qubole-2015"], "testdfsio-link", "cpu")
    assert list(processors["quotient"]) == [0.001]
    assert not processors["alike"].any() and processors["bias"].iloc[0] == similitude.QUANTITIES["cpu"].smaller


def test_a_reduce_task_of_a_scaled_sort_merges_at_once(tables):
    # 746 outputs of maps of 67 MB, each too large for a quarter of 0.7 of 200 MB; four of a scaled run.
    merges = rows(tables["chelsio-iwarp"], "terasort-curve", "merges").iloc[0]
    assert (merges["full_scale"], merges["emulated"]) == (3, 1)
    assert rows(tables["xyratex-lustre-2011"], "sort", "merges")["alike"].all()


def test_a_cache_where_the_paper_has_none_has_no_quotient(tables):
    cache = rows(tables["qubole-2015"], "testdfsio-link", "block_cache").iloc[0]
    assert math.isinf(cache["full_scale"]) and not cache["alike"] and pd.isna(cache["quotient"])
    assert cache["bias"] == similitude.QUANTITIES["block_cache"].smaller


def test_stripes_of_cephfs_have_a_least_size_and_hdfs_has_none(tables):
    table = tables["xyratex-lustre-2011"]
    stripe = rows(table, "tunables", "stripe_time")
    assert set(stripe["quotient"].round(2)) == {
        10.0,
        2.5,
        1.25,
    }  # 65,536 bytes for 6,554 and 26,215, 131,072 for 104,858
    assert rows(table, "sort", "packet_time")["fabric"].tolist() == ["0.25gbe", "32g-qdr"]
    assert rows(table, "tunables", "packet_time").empty


def test_studies_are_named_where_a_paper_has_them(tables):
    assert rows(tables["emulex-2012"], "put-grid", "port_time")["bias"].str.endswith(
        "Studied by switch-buffer at full effort.").all()  # fmt: skip
    assert not rows(tables["qubole-2015"], "testdfsio-link", "port_time")["bias"].str.contains("Studied").any()


def test_a_workload_without_data_has_processors_only():
    raw = copy.deepcopy(dict(load("chelsio-iwarp").raw))
    raw["experiments"][0] |= {"workload": "sleep"}
    raw["experiments"][0]["parameters"]["size_bytes"] = 0
    raw["experiments"][0]["parameters"]["file_size_bytes"] = 0
    table = similitude_table(Paper(raw, Path()), TESTBED, "quick")
    assert set(table[table["experiment"] == "terasort-curve"]["quantity"]) == texts({"cpu"})


def test_controls_are_left_out():
    paper = load("emulex-2012")
    experiments = set(similitude_table(paper, TESTBED, "quick")["experiment"])
    assert "put-grid" in experiments
    assert not experiments & {control["id"] for control in paper.controls}


def test_a_site_has_rows_only_where_it_is_slowed_down():
    site = {"kind": "ssh", "fabrics": TESTBED["fabrics"]}
    assert similitude_table(load("emulex-2012"), site, "quick").empty
    slowed = similitude_table(load("emulex-2012"), site | {"scale": 20}, "quick")
    drives = rows(slowed, "put-grid", "own_drives").iloc[0]
    assert (drives["full_scale"], drives["emulated"], drives["alike"]) == (1, 20, False)
    assert rows(slowed, "put-grid", "port_time").empty  # its switch is its own


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(PAPERS), st.integers(1, 40), st.sampled_from([67108864, 134217728]),
    st.sampled_from(["1gbe", "10gbe", "400gbe"]),
)  # fmt: skip
def test_at_k_1_everything_is_alike_but_what_a_run_sets_on_purpose(name, blocks, block, fabric):
    raw = copy.deepcopy(dict(load(name).raw))
    raw["scale"] = {
        "k": 1,
        "block_granule_bytes": 512,
        "file_blocks": dict.fromkeys(("smoke", "quick", "full"), blocks),
    }
    size = blocks * block
    for experiment in raw["experiments"]:
        experiment["parameters"] |= {"block_size_bytes": block}
        if "size_bytes" in experiment["parameters"] or experiment["workload"] == "hibench":
            experiment["parameters"]["size_bytes"] = size  # of a program of HiBench in place of its profile's
            experiment["scale"] = {"k": 1, "bytes": dict.fromkeys(("smoke", "quick", "full"), size), "splits": blocks}
        else:
            experiment["parameters"]["file_size_bytes"] = size
        # What these vary would make another file of it.
        experiment["factors"].pop("size_bytes", None)
        experiment["factors"] |= {"fabric": [fabric]} if "fabric" in experiment["factors"] else {}
        experiment["factors"] |= {"splits": [blocks]} if "splits" in experiment["factors"] else {}
        experiment.pop("only", None)
        experiment.pop("packet_bytes", None)
        experiment.pop("file_blocks", None)
        # Of a drive without a cache the model holds a packet.
        if drive := experiment.get("hardware", {}).get("drive"):
            drive["cache_bytes"] = max(65536, drive["cache_bytes"])
    table = similitude_table(Paper(raw, Path()), TESTBED, "quick")
    assert len(table) > 10
    unlike = set(table[~table["alike"]]["quantity"])
    assert unlike <= texts(SET_ON_PURPOSE)


@given(st.floats(0.1, 1e6), st.floats(1, 2000))
def test_buffers_never_hold_more_than_the_port_at_full_scale(rate, k):
    switch, tcp = TESTBED["switch"], TESTBED["tcp"]
    port = scaling.port_buffer(switch, rate)
    assert scaling.LEAST_BUFFER <= port <= scaling.station_queue(switch)
    assert scaling.FIRST_RECEIVE_BUFFER <= scaling.receive_buffer(switch, tcp, rate, k) <= tcp["receive_buffer_bytes"]
    assert scaling.SEND_BUFFER <= scaling.send_buffer(tcp, k) <= tcp["send_buffer_bytes"]


def test_numbers_for_the_eye():
    shown = [similitude_page._shown(v, "s") for v in (0, 2.5, 0.0021, 5.24e-6)]
    assert shown == ["0 s", "2.5 s", "2.1 ms", "5.24 µs"]
    assert [similitude_page._shown(v, "1") for v in (math.nan, math.inf, 1024.2)] == [
        "the host's own",
        "none there",
        "1024",
    ]
    assert [similitude_page.digits(v) for v in (0.00026844, 1000, 10.666)] == ["0.000268", "1000", "10.7"]


@given(st.floats(0.0005, 1.0))
def test_a_client_with_shorter_pauses_gives_up_no_sooner(data_fraction):
    wait = scaling.retry_settings(data_fraction)
    pause, times = wait[scaling.COMPLETE_RETRY], wait[scaling.COMPLETE_TIMES]
    assert pause * (2**times - 1) >= 400 * (2**5 - 1)  # Hadoop's own: 12.4 s
    assert scaling.retry_settings(1.0) == {scaling.COMPLETE_RETRY: 400, scaling.COMPLETE_TIMES: 5}


@pytest.mark.parametrize(("blocks", "copies", "choices", "workers"), [(48, 2, 5, 6), (192, 2, 5, 6), (96, 3, 11, 11)])
def test_the_busiest_link_is_that_of_random_placement(blocks, copies, choices, workers):
    draw = np.random.default_rng(1)
    others = [[other for other in range(workers) if choices == workers or other != own] for own in range(workers)]
    found = []
    for _ in range(200):
        taken = [draw.choice(others[block % workers], copies, replace=False) for block in range(blocks)]
        counts = np.bincount(np.concatenate(taken), minlength=workers)
        found.append(counts.max() / counts.mean())
    expected = similitude.busiest_over_mean(blocks, copies, choices, workers)
    assert expected == pytest.approx(np.mean(found), abs=0.03)
    assert expected > similitude.busiest_over_mean(100 * blocks, copies, choices, workers) > 1


@pytest.mark.parametrize(("copies", "choices", "workers"), [(0, 5, 6), (5, 5, 6), (1, 0, 1)])
def test_no_link_is_busiest_where_nothing_is_left_to_chance(copies, choices, workers):
    assert similitude.busiest_over_mean(48, copies, choices, workers) == 1
