"""Clients on DataNodes that no run could have are refused in one line, before anything runs."""

from __future__ import annotations

import pytest

from tests.support.papers import edited
from whitewire.analysis.analyse import model_runs
from whitewire.analysis.similitude import similitude_table
from whitewire.description.checks import load_paper
from whitewire.description.claim_checks import check_metric
from whitewire.description.paper import Paper
from whitewire.description.testbed import load_testbed
from whitewire.design import durations
from whitewire.design.rows import make_design
from whitewire.design.treatments import check_treatments
from whitewire.errors import UserError
from whitewire.workflow.outlook import outlook_lines
from whitewire.workloads import WORKLOADS

TESTBED = load_testbed("emulated")
BOTH = {"put_from": ["client", "datanode"]}
COPIES = {"kind": "hdfs", "replication": 3}


def load(tmp_path, factors, stores=None, **parameters):
    """Emulex's put of a whole file on eleven DataNodes, changed, as a paper of its own."""

    def change(raw):
        experiment = next(each for each in raw["experiments"] if each["id"] == "put-whole-file")
        experiment["factors"] = factors
        experiment["parameters"] |= parameters
        experiment |= {"stores": stores} if stores else {}
        for key in ("claims", "controls", "biases"):
            raw[key] = [one for one in raw.get(key, []) if "put-whole-file" not in str(one)]

    raw = load_paper(edited(tmp_path, change), TESTBED["fabrics"]).raw
    alone = [each for each in raw["experiments"] if each["id"] == "put-whole-file"]
    return Paper({**raw, "experiments": alone, "claims": [], "controls": []}, tmp_path)


@pytest.mark.parametrize(("factors", "own", "line"), [
    ({"put_from": ["client", "datanodes"]}, {},
     'factors.put_from: found "datanodes", expected one of client, datanode; did you mean "datanode"'),
    ({}, {"put_from": 3}, "parameters.put_from: found 3, expected one of client, datanode"),
    ({}, {"put_from": "datanode", "clients": 12},
     "parameters.clients: found 12, expected at most 11, the DataNodes of put-whole-file"),
    ({**BOTH, "clients": [1, 4]}, {}, "factors.clients: found 4, expected at most 3, the hosts in roles.client"),
])  # fmt: skip
def test_clients_on_hosts_that_there_are_not_are_refused(tmp_path, factors, own, line):
    with pytest.raises(UserError, match=line):
        load(tmp_path, factors, **own)


def test_datanodes_may_be_more_than_clients(tmp_path):
    assert load(tmp_path, {}, put_from="datanode", clients=11)


def test_erasure_coded_files_have_no_copy_that_could_stay(tmp_path):
    stores = {"copies": COPIES, "coded": {"kind": "hdfs", "erasure_coding": "RS-3-2-1024k"}}
    with pytest.raises(UserError, match="put_from: found \"datanode\", expected client beside erasure_coding of the "
                                        "store coded"):  # fmt: skip
        load(tmp_path, {**BOTH, "store": list(stores)}, stores)
    assert load(tmp_path, {**BOTH, "store": ["copies"]}, {"copies": COPIES})


@pytest.mark.parametrize("own", [{"mtu": 9000}, {"transport": "rdma"}, {"transport": "rsockets"}])
def test_data_that_cross_no_link_prove_neither_frames_nor_rdma(tmp_path, own):
    over_rdma = TESTBED | {"transports": {"rsockets": {"kind": "rdma", "preload": ["librspreload.so"]}}}
    ((name, level),) = own.items()
    line = (f'factors.put_from: found "datanode", expected client, or replication of at least 2, beside {name} '
            f"{level}, which data that cross no link cannot prove")  # fmt: skip
    for testbed in (over_rdma, *([] if level == "rsockets" else [TESTBED])):
        with pytest.raises(UserError, match=line):
            check_treatments(load(tmp_path, BOTH, replication=1, clients=1, **own), testbed)
    for levels, copies, others in ((BOTH, 2, own), ({}, 1, own), (BOTH, 1, {"mtu": 1500, "transport": "tcp"})):
        check_treatments(load(tmp_path, levels, replication=copies, clients=1, **others), over_rdma)


def test_no_other_workload_has_it():
    having = [name for name, workload in WORKLOADS.items() if "put_from" in workload.known() | workload.factors]
    assert having == ["hdfs_put"]


def test_rates_out_of_datanodes_are_no_metric_of_puts(tmp_path):
    paper = load(tmp_path, BOTH)
    check_metric(paper, "key", "put-whole-file", "throughput_peak", {"put_from": "client"})
    check_metric(paper, "key", "put-whole-file", "throughput", {"put_from": "datanode"})
    with pytest.raises(UserError, match='found "throughput_peak", expected a metric that runs of hdfs_put'):
        check_metric(paper, "key", "put-whole-file", "throughput_peak", {"put_from": "datanode"})


def test_plan_model_and_similitude_take_a_first_copy_as_local(tmp_path):
    paper = load(tmp_path, {**BOTH, "replication": [1, 3]}, clients=2)
    cells = model_runs(paper, TESTBED["fabrics"])[["put_from", "replication"]].drop_duplicates().to_numpy().tolist()
    assert cells == [["client", 1], ["client", 3], ["datanode", 3]]  # nothing limits the fourth
    rows = make_design(paper, TESTBED, "full", 1)
    assert all(durations.expected_seconds(paper, row, TESTBED) > 0 for row in rows)
    lines = list(outlook_lines(paper, rows, TESTBED))
    assert any("put_from datanode, replication 1: " in line and "; 0 MB/s on all links" in line for line in lines)
    local = load(tmp_path, {"replication": [1, 3]}, put_from="datanode", clients=2)
    quantities = [similitude_table(each, TESTBED, "full")["quantity"].to_list() for each in (paper, local)]
    busiest = [any(quantity.startswith("bytes into the busiest") for quantity in each) for each in quantities]
    assert busiest == [True, False]
