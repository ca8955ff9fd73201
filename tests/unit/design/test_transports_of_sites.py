"""What papers ask over RDMA is made where a testbed has such a transport, and says elsewhere what it needs."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pandas as pd
import pytest

from whitewire.analysis import judging
from whitewire.analysis.runs import on_testbed
from whitewire.description import checks, transports
from whitewire.description.project import paper_path
from whitewire.description.reading import load_yaml
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.description.transports import TRANSPORT_NEEDED
from whitewire.design.rows import make_design
from whitewire.design.treatments import check_treatments
from whitewire.errors import CannotMake, UserError
from whitewire.measure import groups, services
from whitewire.measure.block_plan import BlockPlan
from whitewire.paths import HOME
from whitewire.tools import Unreadable
from whitewire.tools.rdma_counters import Moved, PortCounters

EXAMPLE = load_yaml(HOME / "config" / "testbeds" / "ssh.example.yaml")
FABRICS = {"10gbe": {"rate_mbit_per_s": 10000}, "40gbe": {"rate_mbit_per_s": 40000}}
RSOCKETS = {"kind": "rdma", "preload": ["librspreload.so"], "java": ["-Dpoll=yes"]}
SITE = EXAMPLE | {"fabrics": FABRICS, "transports": {"rsockets": RSOCKETS}}
WITHOUT = EXAMPLE | {"fabrics": FABRICS}
NO_RUNS = pd.DataFrame(
    columns=["experiment", "metric", "valid", "value", "unit", "full_scale_value", "full_scale_unit"]
)
CLAIMS = {"chelsio-iwarp": ("C-C01", "C-C04"), "mellanox-mapr": ("M-C11",)}
EXPERIMENT = "terasort-transport"


def paper(name, testbed=SITE):
    return checks.load_paper(paper_path(name), fabric_names(testbed))


def rows_of(name, testbed, effort="quick"):
    return [row for row in make_design(paper(name), testbed, effort, 1) if row["experiment"] == EXPERIMENT]


@pytest.mark.parametrize("name", CLAIMS)
def test_both_ways_are_measured_where_there_are_two(name):
    assert {row["transport"] for row in rows_of(name, SITE)} == {"tcp", "rdma"}
    assert {row["transport"] for row in rows_of(name, SITE, "smoke")} == {"tcp", "rdma"}


@pytest.mark.parametrize("name", CLAIMS)
def test_tcp_alone_is_nothing_to_compare_and_is_not_measured(name):
    assert rows_of(name, WITHOUT) == []
    assert rows_of(name, load_testbed("emulated")) == []


@pytest.mark.parametrize("name", CLAIMS)
@pytest.mark.parametrize(("testbed", "status"), [(WITHOUT, "measured"), (load_testbed("emulated"), "emulated")])
def test_elsewhere_the_verdict_says_what_is_needed(name, testbed, status):
    loaded = paper(name, testbed)
    runs = on_testbed(loaded, testbed, "quick", NO_RUNS)
    for claim in (claim for claim in loaded.claims if claim["id"] in CLAIMS[name]):
        row = judging._row(loaded, claim, runs, status, (), None)
        assert row["verdict"] == "not testable here" and row["reason"] == TRANSPORT_NEEDED


@pytest.mark.parametrize("name", CLAIMS)
def test_with_a_transport_only_runs_are_missing(name):
    loaded = paper(name)
    runs = on_testbed(loaded, SITE, "quick", NO_RUNS)
    for claim in (claim for claim in loaded.claims if claim["id"] in CLAIMS[name]):
        row = judging._row(loaded, claim, runs, "measured", (), None)
        assert row["route"] == "measured" and row["verdict"] == "inconclusive"


METRICS = {"completion_time_net": 100.0, "completion_time": 120.0, "throughput_net": 500.0, "throughput": 400.0,
           "worker_cpu_seconds_per_gb": 20.0}  # fmt: skip


def runs_over(name, **faults):
    """A table of a paper's runs over transports, each of three replicates; `faults`: why runs are invalid, by level."""
    return pd.DataFrame([
        {**{key: row[key] for key in ("run_id", "block", "experiment", "replicate", "transport")}, "attempt": 1,
         "metric": metric, "value": value * (1 + row["replicate"] / 100), "unit": "s", "full_scale_value": "",
         "full_scale_unit": "", "valid": not faults.get(row["transport"]),
         "why_invalid": faults.get(row["transport"], "")}
        for row in rows_of(name, SITE) if row["replicate"] <= 3 and row["transport"] in ("tcp", *faults)
        for metric, value in METRICS.items()
    ])  # fmt: skip


@pytest.mark.parametrize("name", CLAIMS)
@pytest.mark.parametrize("faults", [{}, {"rdma": "transport: asked rdma, found the kernel's TCP"}])
def test_runs_of_one_side_alone_decide_nothing(name, faults):
    loaded = paper(name)
    runs = on_testbed(loaded, SITE, "quick", runs_over(name, **faults))
    for claim in (claim for claim in loaded.claims if claim["id"] in CLAIMS[name]):
        row = judging._row(loaded, claim, runs, "measured", (), None)
        assert row["verdict"] == "inconclusive" and row["estimate"] is None
        assert "rdma" in row["reason"]


def test_another_definition_is_another_run_and_tcp_stays_the_same():
    changed = SITE | {"transports": {"rsockets": RSOCKETS | {"java": ["-Dpoll=no"]}}}
    ids = [{row["transport"]: row["run_id"] for row in rows_of("chelsio-iwarp", one)} for one in (SITE, changed)]
    assert ids[0]["tcp"] == ids[1]["tcp"] and ids[0]["rdma"] != ids[1]["rdma"]


def test_services_are_started_for_each_transport():
    loaded = paper("chelsio-iwarp")
    plan = BlockPlan(loaded, SITE, "quick")
    runs = [plan.run(row) for row in rows_of("chelsio-iwarp", SITE)]
    clusters = groups.clusters(loaded, runs, SITE)
    assert [{run.levels["transport"] for run in own} for own in clusters.values()] in ([{"tcp"}, {"rdma"}],
                                                                                      [{"rdma"}, {"tcp"}])  # fmt: skip
    assert sorted(json.loads(key)[5] for key in clusters) == ["", "rsockets"]
    assert services.unavailable_runs(SITE, runs) == []
    theirs = SITE | {"cluster": {"kind": "existing", "configuration": "/etc/hadoop", "folder": "/b"}}
    ((lost, why),) = services.unavailable_runs(theirs, runs)
    assert lost == [run.row["run_id"] for run in runs if run.levels["transport"] == "rdma"]
    assert why == services.THEIR_DAEMONS


def overheads_of(testbed):
    """Names of the startup overheads of each transport's runs."""
    loaded = paper("chelsio-iwarp", testbed)
    plan = BlockPlan(loaded, testbed, "quick")
    clusters = groups.clusters(loaded, [plan.run(row) for row in rows_of("chelsio-iwarp", testbed)], testbed)
    return {
        own[0].levels["transport"]: set(plan.overheads(key, own, {}).names.values()) for key, own in clusters.items()
    }


def test_overheads_over_a_transport_are_its_own():
    changed = SITE | {"transports": {"rsockets": RSOCKETS | {"java": ["-Dpoll=no"]}}}
    own, others = overheads_of(SITE), overheads_of(changed)
    assert own["tcp"] == others["tcp"] and own["rdma"].isdisjoint(own["tcp"] | others["rdma"])


def test_services_do_not_start_over_rdma_where_a_host_has_no_port_on_the_network():
    good, nothing = PortCounters("mlx5_0/1", Moved(1), Moved(1), 0), Moved()
    blind, none = (PortCounters(name, nothing, nothing, 0) for name in ("siw0/1", ""))
    hosts = {"datanode1": good, "datanode2": blind, "client1": none}
    (tcp, rsockets) = transports.defined(SITE)
    testbed = SimpleNamespace(rdma_ports=lambda: hosts)
    services.check_ports(testbed, tcp)
    with pytest.raises(CannotMake, match="transport rsockets: .* on datanode2, client1$"):
        services.check_ports(testbed, rsockets)
    services.check_ports(SimpleNamespace(rdma_ports=lambda: {"datanode1": good}), rsockets)

    def unreadable():
        raise Unreadable("/proc/net/netstat: found no TCPOrigDataSent, expected Linux 3.14 or newer")

    with pytest.raises(CannotMake, match="transport rsockets: /proc/net/netstat: found no TCPOrigDataSent"):
        services.check_ports(SimpleNamespace(rdma_ports=unreadable), rsockets)


def test_a_level_that_no_testbed_has_is_refused():
    loaded = paper("chelsio-iwarp")
    wrong = loaded.raw["experiments"]
    number = next(place for place, each in enumerate(wrong) if each["id"] == EXPERIMENT)
    wrong[number]["factors"]["transport"] = ["tcp", "rdmaa"]
    with pytest.raises(UserError, match=r"factors\.transport: found \"rdmaa\""):
        check_treatments(loaded, SITE)
