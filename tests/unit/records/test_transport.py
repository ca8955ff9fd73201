"""The proof of a run's transport on counter values: as adapters give them, and as they are after a fallback to TCP."""

from __future__ import annotations

import copy
import json

import pytest

from whitewire.factors import FACTORS
from whitewire.records import schema, transport
from whitewire.records.run import RunRecord
from whitewire.records.schema import load_json
from whitewire.records.transport import fault_of_transport

GB = 10**9


def host(**changed):
    """An mlx5: the port's own counter, next to nothing on the interface, some segments of ssh."""
    seen = {"port": "mlx5_0/1", "interface_sent": 200_000, "interface_received": 200_000, "segments": 900, "mtu": 1500,
            "sent": GB, "received": GB}  # fmt: skip
    return {key: value for key, value in (seen | changed).items() if value is not None}


def packets(**changed):
    """A Chelsio T5 or soft RoCE: the interface counts RDMA too, the port counts packets only."""
    own = {"interface_sent": GB, "interface_received": GB, "sent": None, "received": None, "packets_sent": 700_000}
    return host(**own | changed)


def tcp(**changed):
    """TCP: all of it in segments and on the interface, nothing on the port."""
    return host(**{"interface_sent": GB, "interface_received": GB, "segments": GB // 1448, "sent": 0, "received": 0}
                | changed)  # fmt: skip


def of(one, other):
    return {"datanode1": one, "datanode2": other}


CASES = [  # asked, ports, what speaks against it (empty: nothing)
    ("rdma", of(host(), host()), ""),
    ("rdma", of(packets(), packets()), ""),
    ("rdma", of(host(interface_sent=GB + GB // 50, segments=900), host()), ""),  # an interface that counts RDMA too
    ("rdma", of(host(), host(sent=1_000_000, interface_sent=100_000)), ""),  # it hardly sends
    ("rdma", of(tcp(), tcp()),
     "the kernel's TCP sent up to 100% of the bytes (fell back to TCP) on datanode1 and 1 more"),
    ("rdma", of(host(), tcp()), "the kernel's TCP sent up to 100% of the bytes (fell back to TCP) on datanode2"),
    ("rdma", of(host(), host(interface_sent=GB // 10, segments=GB // 10 // 1448)),
     "the kernel's TCP sent up to 10% of the bytes (fell back to TCP) on datanode2"),
    ("rdma", of(packets(), packets(packets_sent=70_000)), "the RDMA port did not count 89% of the bytes on datanode2"),
    ("rdma", of(host(), host(port="", sent=None, received=None)),
     "no RDMA port that counts what it sends on datanode2"),
    ("rdma", of(host(sent=0, interface_sent=0), host(sent=0, interface_sent=0)), "no bytes on any link"),
    ("rdma", of(host(), host(sent=-7 * GB)), "the RDMA port's counters were set back during the run on datanode2"),
    ("rdma", of(packets(), packets(packets_sent=-1)),
     "the RDMA port's counters were set back during the run on datanode2"),
    ("tcp", of(tcp(), tcp()), ""),
    ("tcp", of(tcp(), tcp(interface_sent=GB // 40, segments=10)), ""),  # one that only acknowledges
    ("tcp", {}, ""),  # an emulated testbed, which has no ports
    ("tcp", of(host(), host()), "the kernel's TCP did not send 100% of the bytes"),
    ("tcp", of(packets(), packets()), "the kernel's TCP did not send 100% of the bytes"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "ports", "against"), CASES)
def test_what_speaks_against_a_transport(kind, ports, against):
    assert fault_of_transport(kind, ports) == against


def test_links_carry_what_either_counter_has_more_of():
    assert transport.sent(host()) == transport.received(host()) == GB
    assert transport.sent(packets()) == GB and transport.received(tcp()) == GB


RECORD = {"workload": "terasort", "factors": {"transport": "rdma"}, "asked": {"transport": "rdma"}, "evidence": {},
          "transport": {"name": "rsockets", "kind": "rdma"}, "fabric": {"burst": 0}}  # fmt: skip


@pytest.mark.parametrize(
    ("ports", "varies", "fault"),
    [
        (of(host(), host()), True, ""),
        (of(tcp(), tcp()), True, "transport: asked rdma, found the kernel's TCP sent up to 100% of the bytes"),
        (of(tcp(), tcp()), False, "transport: asked rdma, found the kernel's TCP sent up to 100% of the bytes"),
        (None, True, "transport: asked rdma, and nothing reports what it was"),
    ],
)
def test_a_run_that_fell_back_to_tcp_does_not_count(ports, varies, fault):
    record = copy.deepcopy(RECORD)
    record["evidence"] = {} if ports is None else {"ports": ports}
    record["factors"] = record["factors"] if varies else {}
    found = FACTORS["transport"].check(record).fault
    assert found.startswith(fault) and bool(found) == bool(fault)


def test_a_run_that_was_asked_no_transport_has_no_proof_of_one():
    assert FACTORS["transport"].check({**RECORD, "asked": {}, "factors": {}}) is None


def test_a_record_with_ports_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "run.json"
    fabric = {"name": "10gbe", "rate": 10000.0, "full_scale_rate": 10000.0, "shared": False, "burst": 0, "mtu": 0,
              "racks": 0, "uplink": 0.0, "unlike": {}}  # fmt: skip
    written = RECORD | {"fabric": fabric, "evidence": {"ports": of(host(), packets())}}
    path.write_text(json.dumps(written))
    assert load_json(path, RunRecord) == written
    written["evidence"]["ports"]["datanode1"]["segments"] = "many"
    path.write_text(json.dumps(written))
    with pytest.raises(schema.Broken, match="segments"):
        load_json(path, RunRecord)
