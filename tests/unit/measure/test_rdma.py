"""perftest: its output as it really was printed, whole and broken; finding ports; the driver on hosts that replay."""

import csv
import json
import re
import subprocess
from ipaddress import IPv6Address
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitewire.measure import rdma
from whitewire.measure.rdma import nothing_measured, write_rdma_rows
from whitewire.records.links import RDMA_COLUMNS
from whitewire.testbed.base import Completed, ProcessDied
from whitewire.tools import Unreadable, perftest
from whitewire.tools.ibv_devinfo import DevicePort, Gid, device_ports
from whitewire.tools.perftest import MESSAGE_SIZES, perftest_command

DATA = Path(__file__).parents[2] / "data" / "perftest"
MIB = 2**20 / 1e6
WRITE_BW = (DATA / "write_bw.client.txt").read_bytes()
WRITE_LAT = (DATA / "write_lat.client.txt").read_bytes()
DEVINFO = (DATA / "ibv_devinfo_v.txt").read_bytes()


def read(name: str) -> bytes:
    return (DATA / f"{name}.txt").read_bytes()


def parse(raw: bytes, test: str):
    return perftest.bandwidth(raw, test) if test in perftest.BANDWIDTH else perftest.latency(raw, test)


# --- bandwidth and latency as printed ---------------------------------------------------------------


def test_every_test_has_its_title():
    assert set(perftest.TITLES) == set(perftest.TESTS)


@pytest.mark.parametrize(
    "name, test, size, count, peak, average, rate",
    [  # as printed: in 2^20 bytes a second, whatever the header calls them
        ("write_bw.client", "ib_write_bw", 65536, 1000, 87.17, 70.62, 1130),
        ("write_bw.server", "ib_write_bw", 65536, 1000, 87.17, 70.62, 1130),
        ("read_bw.client", "ib_read_bw", 65536, 500, 9.27, 5.90, 94),
        ("send_bw.client", "ib_send_bw", 65536, 500, 78.35, 20.11, 322),
        ("new_write_bw.client", "ib_write_bw", 65536, 500, 97.64, 82.59, 1321),
    ],
)
def test_bandwidth(name, test, size, count, peak, average, rate):
    (row,) = perftest.bandwidth(read(name), test)
    assert (row.message_bytes, row.iterations) == (size, count)
    assert row.peak == pytest.approx(peak * MIB)
    assert row.average == pytest.approx(average * MIB)
    assert row.message_rate == pytest.approx(rate)
    assert row.average == pytest.approx(row.message_rate * size / 1e6, rel=0.01)


@pytest.mark.parametrize(
    "name, test, values",
    [
        ("write_lat.client", "ib_write_lat", (8, 1000, 14.96, 7388.59, 15.39, 54.30, 370.44, 2498.58, 7388.59)),
        ("read_lat.client", "ib_read_lat", (2, 500, 27.93, 13729.49, 28.43, 76.11, 635.98, 1113.28, 13729.49)),
        ("send_lat.client", "ib_send_lat", (2, 500, 17.08, 31030.71, 17.98, 932.02, 2705.77, 12437.13, 31030.71)),
        ("send_lat_R.client", "ib_send_lat", (2, 500, 11.77, 6123.53, 12.24, 285.88, 704.04, 3737.70, 6123.53)),
        ("new_send_lat.client", "ib_send_lat", (2, 500, 14.56, 2734.23, 15.09, 30.50, 99.45, 900.49, 2734.23)),
        ("new_write_lat.client", "ib_write_lat", (2, 500, 14.40, 4067.76, 14.80, 43.24, 217.88, 1540.99, 4067.76)),
        ("write_lat_unsorted.client", "ib_write_lat", (2, 50, 18.27, 276.82, 18.53, 20.72, 9.47, 276.82, 276.82)),
    ],
)
def test_latency(name, test, values):
    assert perftest.latency(read(name), test) == [perftest.Latency(*values)]


@pytest.mark.parametrize(
    "name, test, says",
    [
        ("send_lat_R.server", "ib_send_lat", "minimum inf"),
        ("write_bw_all.client", "ib_write_bw", "524288 100 0.00 0.00"),
        ("write_bw_sizes.client", "ib_write_bw", "cut off"),
        ("write_lat_dur.client", "ib_write_lat", "tps average.* expected those of a test by iterations"),
        ("write_bw_dur_gbits.client", "ib_write_bw", "peak 0.00"),
        ("write_bw_bidir_qp4.client", "ib_write_bw", "no line 'RDMA_Write BW Test'"),
        ("err_size_mismatch.client", "ib_write_bw", "ended before its table"),
        ("send_lat_R_bound_n1500.client", "ib_send_lat", "no line 'Send Latency Test'"),
        ("write_lat.client", "ib_send_lat", "no line 'Send Latency Test'"),
        ("ibv_devinfo_v", "ib_write_bw", "no line"),
    ],
)
def test_what_is_no_measurement_is_an_error(name, test, says):
    with pytest.raises(Unreadable, match=f"perftest: {test}: .*{says}"):
        parse(read(name), test)


def test_all_sizes_of_one_run():
    raw = read("write_bw_sizes.client").rstrip() + b"\n" + b"-" * 87 + b"\n"  # as it would have ended
    rows = perftest.bandwidth(raw, "ib_write_bw")
    assert [row.message_bytes for row in rows] == [2**power for power in range(1, 20)]
    assert rows[15].average == pytest.approx(48.35 * MIB)


@pytest.mark.parametrize(
    "name, test", [("write_bw.client", "ib_write_bw"), ("new_write_bw.client", "ib_write_bw"),
                   ("write_lat.client", "ib_write_lat"), ("new_send_lat.client", "ib_send_lat")],
)  # fmt: skip
def test_cut_off_anywhere_is_an_error(name, test):
    raw = read(name).rstrip()
    assert parse(raw, test)
    for length in range(len(raw)):
        with pytest.raises(Unreadable):
            parse(raw[:length], test)


@pytest.mark.parametrize("bad", ["inf", "-nan", "nan", "0.00", "0.000000", "-1.00", "n/a"])
@pytest.mark.parametrize("cell", ["87.17", "70.62", "0.001130"])
def test_a_cell_that_is_no_measurement_disturbs_a_bandwidth(cell, bad):
    with pytest.raises(Unreadable, match="ib_write_bw: row '65536 1000"):
        perftest.bandwidth(WRITE_BW.replace(f" {cell} ".encode(), f" {bad} ".encode()).replace(
            f" {cell}\n".encode(), f" {bad}\n".encode()), "ib_write_bw")  # fmt: skip


def test_a_header_in_another_unit_is_noticed():
    header = b"BW peak[MB/sec]    BW average[MB/sec]"
    assert header in WRITE_BW
    gbit = WRITE_BW.replace(header, b"BW peak[Gb/sec]    BW average[Gb/sec]")
    with pytest.raises(Unreadable, match="another unit"):
        perftest.bandwidth(gbit, "ib_write_bw")
    with pytest.raises(Unreadable, match="in KB/sec"):
        perftest.bandwidth(WRITE_BW.replace(header, b"BW peak[KB/sec]    BW average[KB/sec]"), "ib_write_bw")
    with pytest.raises(Unreadable, match="different units"):
        perftest.bandwidth(WRITE_BW.replace(b"peak[MB/sec]", b"peak[MiB/sec]"), "ib_write_bw")


# --- properties -------------------------------------------------------------------------------------

SIZES = st.integers(1, 2**23)
COUNTS = st.integers(5, 100_000)
UNITS = st.sampled_from([("MB", 2**20), ("MiB", 2**20), ("Gb", 1e9 / 8)])


def bandwidth_text(unit: str, rows: list[tuple]) -> bytes:
    """As REPORT_FMT of perftest_parameters.h prints it."""
    head, _, tail = WRITE_BW.partition(b" #bytes")
    header = f" #bytes     #iterations    BW peak[{unit}/sec]    BW average[{unit}/sec]   MsgRate[Mpps]\n"
    body = "".join(
        f" {n:<7d}    {i:<10d}       {p:<7.2f}            {a:<7.2f}\t\t   {r:<7.6f}\n" for n, i, p, a, r in rows
    )
    return head + header.encode() + body.encode() + tail.splitlines(keepends=True)[-1]


def latency_text(rows: list[tuple]) -> bytes:
    head, _, tail = WRITE_LAT.partition(b" #bytes")
    header, _, end = tail.splitlines(keepends=True)
    body = "".join(
        f" {n:<7d} {i:d}          {a:<7.2f}        {b:<7.2f}      {c:<7.2f}  \t       {d:<7.2f}     \t"
        f"{e:<7.2f}\t\t{f:<7.2f} \t\t{g:<7.2f}\n"
        for n, i, a, b, c, d, e, f, g in rows
    )
    return head + b" #bytes" + header + body.encode() + end


@given(SIZES, COUNTS, UNITS, st.floats(1e-3, 60_000), st.floats(1, 2))
def test_any_bandwidth_is_read_back(size, count, unit, megabytes, above):
    name, factor = unit
    average = megabytes * 1e6 / factor
    rate = megabytes / size  # million messages a second
    raw = bandwidth_text(name, [(size, count, average * above, average, rate)])
    if f"{average:.2f}" == "0.00" or f"{rate:.6f}" == "0.000000":
        with pytest.raises(Unreadable):
            perftest.bandwidth(raw, "ib_write_bw")
        return
    (row,) = perftest.bandwidth(raw, "ib_write_bw")
    assert (row.message_bytes, row.iterations) == (size, count)
    assert row.average == pytest.approx(megabytes, abs=0.0051 * factor / 1e6)
    assert row.peak == pytest.approx(megabytes * above, abs=0.0051 * factor / 1e6)
    assert row.message_rate == pytest.approx(rate * 1e6, abs=0.51)


@given(SIZES, st.floats(5, 60_000), st.sampled_from([8 / 1000, 1000 / 8, 2**20 / 1e6, 1024]))
def test_any_bandwidth_in_another_unit_is_an_error(size, megabytes, wrong):
    rate = megabytes / size
    raw = bandwidth_text("MB", [(size, 1000, megabytes / MIB * wrong, megabytes / MIB * wrong, rate)])
    if rate >= 2e-5:  # below, six decimals are too few
        with pytest.raises(Unreadable, match="another unit"):
            perftest.bandwidth(raw, "ib_write_bw")


@given(SIZES, COUNTS, st.lists(st.floats(0.01, 1e6), min_size=5, max_size=5), st.floats(0, 1e5))
def test_any_latency_is_read_back(size, count, values, deviation):
    least, typical, p99, p99_9, most = sorted(values)
    mean = (least + most) / 2
    (row,) = perftest.latency(latency_text([(size, count, least, most, typical, mean, deviation, p99, p99_9)]),
                              "ib_write_lat")  # fmt: skip
    expected = perftest.Latency(size, count, *(float(f"{value:.2f}") for value in
                                (least, most, typical, mean, deviation, p99, p99_9)))  # fmt: skip
    assert row == expected


@given(st.permutations([1.0, 2.0, 3.0, 4.0, 5.0]))
def test_columns_in_another_order_are_an_error(values):
    least, typical, p99, p99_9, most = values
    raw = latency_text([(8, 1000, least, most, typical, 3.0, 1.0, p99, p99_9)])
    if values == sorted(values):
        assert perftest.latency(raw, "ib_write_lat")
    else:
        with pytest.raises(Unreadable, match="do not rise"):
            perftest.latency(raw, "ib_write_lat")


@given(st.binary(max_size=400), st.sampled_from(perftest.TESTS))
def test_anything_else_is_an_error_in_one_line(raw, test):
    with pytest.raises(Unreadable) as error:
        parse(raw, test)
    assert "\n" not in str(error.value)


@given(st.integers(0, len(WRITE_BW) - 1), st.binary(min_size=1, max_size=3))
def test_damaged_output_is_read_right_or_not_at_all(place, damage):
    """Whatever is damaged, a row that is read still agrees with its own message rate."""
    raw = WRITE_BW[:place] + damage + WRITE_BW[place + len(damage) :]
    try:
        rows = perftest.bandwidth(raw, "ib_write_bw")
    except Unreadable:
        return
    for row in rows:
        half = 0.5 + 0.0051 * 2**20 / row.message_bytes  # rounding of both
        assert row.message_rate == pytest.approx(row.average * 1e6 / row.message_bytes, rel=0.01, abs=2 * half)


# --- ports ------------------------------------------------------------------------------------------


def test_ports_of_two_devices():
    rxe0, rxe1 = device_ports(read("ibv_devinfo"))
    assert [rxe0.name, rxe1.name] == ["rxe0/1", "rxe1/1"]
    assert (rxe0.transport, rxe0.link_layer, rxe0.state) == ("InfiniBand", "Ethernet", "PORT_ACTIVE")
    assert rxe0.rate is None  # without -v neither width nor speed is reported


def test_a_port_s_addresses_and_rate():
    (port,) = device_ports(DEVINFO)
    assert port.gids == [
        Gid(0, IPv6Address("fe80::88f6:fbff:feb0:6611"), "RoCE v2"),
        Gid(1, IPv6Address("::ffff:10.0.0.1"), "RoCE v2"),
    ]
    assert port.rate == 1250  # MB/s of 10 Gbit/s


@pytest.mark.parametrize(
    "link_layer, width, speed, gbit",
    [
        ("InfiniBand", 2, 2, 16), ("InfiniBand", 2, 4, 32), ("InfiniBand", 2, 8, 40), ("InfiniBand", 2, 16, 54.5454),
        ("InfiniBand", 2, 32, 100), ("InfiniBand", 2, 64, 200), ("InfiniBand", 2, 128, 400), ("InfiniBand", 1, 1, 2),
        ("Ethernet", 1, 4, 10), ("Ethernet", 2, 4, 40), ("Ethernet", 1, 32, 25), ("Ethernet", 16, 64, 100),
        ("Ethernet", 2, 32, 100),
    ],
)  # fmt: skip
def test_data_rates(link_layer, width, speed, gbit):
    port = DevicePort("mlx5_0", "InfiniBand", 1, "PORT_ACTIVE", link_layer, width, speed)
    assert port.rate == pytest.approx(gbit * 125, rel=1e-5)


def test_a_rate_that_nobody_knows_is_none():
    assert DevicePort("mlx5_0", "InfiniBand", 1, link_layer="InfiniBand", width=2, speed=512).rate is None


@pytest.mark.parametrize(
    "raw, says",
    [
        (b"", "no port in 0 bytes"),
        (b"No IB devices found\n", "no port"),
        (DEVINFO[: DEVINFO.index(b"\t\t\tlink_layer")], "lacks its transport, state or link layer"),
        (DEVINFO.replace(b"::ffff:10.0.0.1", b"10.0.0.1.5"), "GID.* is no address"),
        (DEVINFO[: DEVINFO.index(b"\t\t\tGID[  1]")], "cut off: device rxe0 is not whole"),
        (DEVINFO.replace(b"phys_port_cnt:\t\t\t1", b"phys_port_cnt:\t\t\t2"), "cut off: device rxe0 is not whole"),
        (DEVINFO + DEVINFO, "device rxe0 is listed twice"),
    ],
)
def test_devinfo_that_is_not_whole_is_an_error(raw, says):
    with pytest.raises(Unreadable, match=says):
        device_ports(raw)


ROCE = [
    DevicePort("mlx5_0", "InfiniBand", 1, "PORT_ACTIVE", "Ethernet", 2, 32, [
        Gid(0, IPv6Address("fe80::1"), "RoCE v1"), Gid(1, IPv6Address("fe80::1"), "RoCE v2"),
        Gid(2, IPv6Address("::ffff:192.168.1.7"), "RoCE v1"), Gid(3, IPv6Address("::ffff:192.168.1.7"), "RoCE v2"),
        Gid(4, IPv6Address("fd00::7"), "RoCE v2"),
    ]),
    DevicePort("mlx5_1", "InfiniBand", 1, "PORT_ACTIVE", "Ethernet", 2, 32, [
        Gid(3, IPv6Address("::ffff:192.168.2.7"), ""),
    ]),
]  # fmt: skip
INFINIBAND = [
    DevicePort(
        "mlx4_0", "InfiniBand", 1, "PORT_ACTIVE", "InfiniBand", 2, 4, [Gid(0, IPv6Address("fe80::2:c903:0:a1"), "")]
    ),
    DevicePort(
        "mlx4_0", "InfiniBand", 2, "PORT_ACTIVE", "InfiniBand", 2, 4, [Gid(0, IPv6Address("fe80::2:c903:0:a2"), "")]
    ),
]
IWARP = [
    DevicePort(
        "cxgb4_0", "iWARP", 1, "PORT_ACTIVE", "Ethernet", 1, 4, [Gid(0, IPv6Address("7:4347:4200::"), "RoCE v1")]
    ),
    DevicePort(
        "cxgb4_0", "iWARP", 2, "PORT_ACTIVE", "Ethernet", 1, 4, [Gid(0, IPv6Address("7:4347:4208::"), "RoCE v1")]
    ),
]
IPOIB = "80:00:02:09:fe:80:00:00:00:00:00:00:00:02:c9:03:00:00:00:a2"


@pytest.mark.parametrize(
    "ports, address, link_address, name, gid_index, rdma_cm",
    [
        (ROCE, "192.168.1.7", "02:00:00:00:00:01", "mlx5_0/1", 3, False),  # v2 before v1
        (ROCE, "192.168.2.7", "", "mlx5_1/1", 3, False),
        (ROCE, "fd00::7", "", "mlx5_0/1", 4, False),
        (INFINIBAND, "192.168.1.7", IPOIB, "mlx4_0/2", None, False),
        (IWARP, "192.168.1.7", "00:07:43:47:42:08", "cxgb4_0/2", None, True),
        ([*ROCE, *INFINIBAND, *IWARP], "192.168.9.9", IPOIB, "mlx4_0/2", None, False),
    ],
)
def test_the_port_with_the_fabric_s_address(ports, address, link_address, name, gid_index, rdma_cm):
    port, *how = rdma.choose(ports, address, link_address)
    assert (port.name, *how) == (name, gid_index, rdma_cm)


@pytest.mark.parametrize("ports", [ROCE, INFINIBAND, IWARP, []])
def test_no_port_has_a_foreign_address(ports):
    assert rdma.choose(ports, "10.9.9.9", "02:00:00:00:00:01") is None
    assert rdma.choose(ports, "10.9.9.9", "") is None


# --- command lines ----------------------------------------------------------------------------------


@given(st.sampled_from(perftest.TESTS), st.sampled_from(MESSAGE_SIZES), st.none() | st.integers(0, 9), st.booleans())
def test_an_end_gets_the_options_of_its_port(test, size, gid_index, rdma_cm):
    how = {"device": "mlx5_0", "port": 2, "gid_index": gid_index, "rdma_cm": rdma_cm}
    count = perftest.iterations(test, size)
    waits = perftest_command(test, size, count, 18600, **how)
    assert waits[0] == test
    assert {f"--size={size}", f"--iters={count}", "--ib-dev=mlx5_0", "--ib-port=2", "--port=18600"} < set(waits)
    assert ("--rdma_cm" in waits) == rdma_cm
    assert any(word.startswith("--gid-index") for word in waits) == (gid_index is not None)


@given(st.sampled_from(perftest.TESTS), st.integers(1, 2**23))
def test_iterations_are_enough_and_not_too_many(test, size):
    count = perftest.iterations(test, size)
    assert 200 <= count <= 10_000
    assert count * size <= 2**31 or count in (200, 1000)


# --- the driver -------------------------------------------------------------------------------------

LISTENING = "   0: 00000000:{port:04X} 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0"
ANSWER = {
    "ib_write_bw": read("write_bw.client"), "ib_read_bw": read("read_bw.client"), "ib_send_bw": read("send_bw.client"),
    "ib_write_lat": read("write_lat.client"), "ib_read_lat": read("read_lat.client"),
    "ib_send_lat": read("send_lat.client"),
}  # fmt: skip
SIZE = {test: int(raw.rsplit(b"\n", 3)[-3].split()[0]) for test, raw in ANSWER.items()}
"""The one message size of each sample."""


class Replayed:
    """A server that is there, or that died."""

    def __init__(self, dies: bool) -> None:
        self.dies, self.stopped, self.name = dies, 0, "server"

    def check(self) -> None:
        if self.dies:
            raise ProcessDied("server ended with status 1; its log ends:\nFailed to modify QP")

    def stop(self) -> None:
        self.stopped += 1


class ReplayHost:
    """Answers with what the tools really printed; `answers` replaces that for words of a command, in turn."""

    def __init__(self, name: str, role: str, address: str, answers: dict | None = None) -> None:
        self.name, self.role, self.address = name, role, address
        self.answers = {word: list(queue) for word, queue in (answers or {}).items()}
        self.servers: list[Replayed] = []
        self.port, self.ran = 0, []

    def run(self, argv, env=None, stdin=None, timeout=None) -> Completed:
        self.ran.append(list(argv))
        for word in argv:
            queue = self.answers.get(word)
            if queue:
                answer = queue.pop(0) if len(queue) > 1 else queue[0]
                if isinstance(answer, BaseException):
                    raise answer
                status, out, err = answer
                return Completed(tuple(argv), status, out, err)
        interfaces = [{"ifname": "eth0", "address": "02:00:00:00:00:01", "addr_info": [{"local": self.address}]}]
        if argv[1:] == ["--version"]:
            return Completed(tuple(argv), 1, read("perftest_version"), b"")
        ordinary = {
            "ls": b"rxe0\n",
            "ibv_devinfo": DEVINFO.replace(b"10.0.0.1", self.address.encode()),
            "ip": json.dumps(interfaces).encode(),
            "cat": LISTENING.format(port=self.port).encode(),
            **ANSWER,
        }
        return Completed(tuple(argv), 0, ordinary[argv[0]], b"")

    def start(self, argv, log, env=None, name=""):
        self.port = int(next(word for word in argv if word.startswith("--port=")).partition("=")[2])
        self.servers.append(Replayed("dying" in self.answers))
        self.ran.append(list(argv))
        return self.servers[-1]


def to_client(*answers) -> dict:
    """Answers to the client's command only, which alone names the server's address, in turn."""
    return {"10.0.0.2": list(answers)}


def measured(tmp_path, client=None, datanode=None, tests=("ib_write_bw",), sizes=None, ends=None):
    hosts = ends or (ReplayHost("client1", "client", "10.0.0.1", client),
                     ReplayHost("datanode1", "datanode", "10.0.0.2", datanode))  # fmt: skip
    rows = rdma.between(*hosts, "10gbe", tmp_path, tests=tests, sizes=sizes or [SIZE[tests[0]]])
    assert all(server.stopped == 1 for server in hosts[1].servers)
    return hosts, rows


def test_rows_of_a_bandwidth(tmp_path):
    (client, datanode), rows = measured(tmp_path)
    base = {
        "fabric": "10gbe", "source": "client1", "destination": "datanode1", "source_port": "rxe0/1",
        "destination_port": "rxe0/1", "transport": "RoCE", "test": "ib_write_bw", "message_bytes": 65536,
        "iterations": 5000, "attempt": 1, "limit": "1250", "why": "",
    }  # fmt: skip
    assert [row["metric"] for row in rows] == ["bandwidth_average", "bandwidth_peak", "message_rate"]
    assert all(base.items() <= row.items() and set(row) == set(RDMA_COLUMNS) for row in rows)
    assert [float(row["value"]) for row in rows] == pytest.approx([70.62 * MIB, 87.17 * MIB, 1130], rel=1e-6)
    assert [row["unit"] for row in rows] == ["MB/s", "MB/s", "1/s"]
    assert datanode.ran[-2][0] == "ib_write_bw"
    assert client.ran[-1] == [*datanode.ran[-2], "10.0.0.2"]
    assert (tmp_path / "perftest" / "10gbe-client1-datanode1-ib_write_bw-65536-1.txt").read_bytes() == WRITE_BW


def test_rows_of_a_latency(tmp_path):
    _, rows = measured(tmp_path, tests=["ib_send_lat"])
    values = {row["metric"]: (float(row["value"]), row["unit"]) for row in rows}
    assert values == {
        "latency_min": (17.08, "us"), "latency_typical": (17.98, "us"), "latency_average": (932.02, "us"),
        "latency_p99": (12437.13, "us"), "latency_p99_9": (31030.71, "us"),
    }  # fmt: skip


def test_a_row_that_is_no_measurement_is_measured_again_on_another_port(tmp_path):
    bad = WRITE_BW.replace(b"70.62", b"0.00 ").replace(b"0.001130", b"0.000000")
    uncalibrated = (0, bad, b"Correlation coefficient r^2: 0.38 < 0.9")
    answers = to_client(uncalibrated, (0, b"", b""), (0, WRITE_BW, b""))
    (client, datanode), rows = measured(tmp_path, client=answers)
    assert [(row["metric"], row["attempt"]) for row in rows] == [
        ("bandwidth_average", 3), ("bandwidth_peak", 3), ("message_rate", 3)
    ]  # fmt: skip
    assert len(datanode.servers) == 3
    ports = [word for argv in client.ran for word in argv if word.startswith("--port=")]
    assert len(ports) == len(set(ports)) == 3
    assert b"r^2" in (tmp_path / "perftest" / "10gbe-client1-datanode1-ib_write_bw-65536-1.err").read_bytes()


def test_attempts_are_bounded_and_the_reason_is_reported(tmp_path):
    nothing = to_client((0, WRITE_BW.replace(b"70.62", b"  inf"), b""))
    (_, datanode), rows = measured(tmp_path, client=nothing)
    (row,) = rows
    assert len(datanode.servers) == row["attempt"] == rdma._ATTEMPTS
    assert row["metric"] == row["value"] == ""
    assert "average inf" in row["why"] and "\n" not in row["why"]
    assert (row["test"], row["message_bytes"]) == ("ib_write_bw", 65536)
    assert "average inf" in nothing_measured(rows)


def test_the_row_of_another_size_is_no_answer(tmp_path):
    _, rows = measured(tmp_path, sizes=[64])
    assert [row["why"] for row in rows] == ["perftest: ib_write_bw: a table of 65536 bytes, expected one row of 64"]


@pytest.mark.parametrize(
    "answer, says",
    [
        ((1, b"", read("err_size_mismatch.client")), "exit status 1"),
        ((127, b"", b"sh: ib_write_bw: not found"), "exit status 127"),
        (OSError("connection lost"), "connection lost"),
    ],
)
def test_a_client_that_fails_is_a_row(tmp_path, answer, says):
    _, rows = measured(tmp_path, client=to_client(answer))
    assert says in rows[0]["why"]


def test_a_test_that_hangs_is_not_tried_again(tmp_path):
    hung = subprocess.TimeoutExpired(["ib_write_bw"], 60)
    (_, datanode), rows = measured(tmp_path, client=to_client(hung))
    assert len(datanode.servers) == 1
    assert "did not end" in rows[0]["why"]


def test_a_pair_without_results_is_given_up(tmp_path):
    hung = to_client(subprocess.TimeoutExpired(["ib_write_bw"], 60))
    (_, datanode), rows = measured(tmp_path, client=hung, tests=perftest.TESTS, sizes=MESSAGE_SIZES)
    assert len(datanode.servers) == rdma.LOST
    assert rows[-1]["why"] == "given up after 3 tests in a row without a result" and rows[-1]["test"] == ""


def test_a_server_that_dies_is_a_row(tmp_path):
    answers = {"dying": [None], "/proc/net/tcp": [(1, b"", b"")]}
    (_, datanode), rows = measured(tmp_path, datanode=answers)
    assert "Failed to modify QP" in rows[0]["why"]
    assert len(datanode.servers) == rdma._ATTEMPTS


@pytest.mark.parametrize(
    "answers, says",
    [
        ({"/sys/class/infiniband": [(2, b"", b"ls: cannot access")]}, "no RDMA device on datanode1"),
        ({"/sys/class/infiniband": [(0, b"", b"")]}, "no RDMA device on datanode1"),
        ({"ibv_devinfo": [(255, b"", b"Failed to get IB devices list: Function not implemented")]},
         "ibv_devinfo on datanode1: Failed to get IB devices list"),
        ({"ibv_devinfo": [(127, b"", b"setpriv: failed to execute ibv_devinfo: No such file or directory")]},
         "ibv_devinfo on datanode1: setpriv: failed to execute"),
        ({"ibv_devinfo": [(0, b"hca_id:\tmlx5_0\n", b"")]}, "datanode1: ibv_devinfo: no port"),
        ({"ibv_devinfo": [(0, DEVINFO, b"")]}, "no RDMA port of datanode1 has the address 10.0.0.2, only found rxe0/1"),
        ({"ibv_devinfo": [(0, DEVINFO.replace(b"10.0.0.1", b"10.0.0.2").replace(b"PORT_ACTIVE (4)", b"PORT_DOWN (1)"),
                           b"")]}, "RDMA port rxe0/1 of datanode1 is in state PORT_DOWN"),
        ({"--version": [(127, b"", b"env: 'ib_write_bw': No such file or directory")]}, "no perftest on datanode1"),
        ({"ip": [(0, b"[{", b"")]}, "datanode1: ip -json address: not whole JSON"),
        ({"ip": [(1, b"", b"")]}, "datanode1: ip -json address show: exit status 1"),
        ({"ls": [FileNotFoundError(2, "No such file", "ls")]}, "datanode1: .*No such file"),
        ({"ls": [subprocess.TimeoutExpired(["ls"], 30)]}, "datanode1: .*timed out"),
    ],
)  # fmt: skip
def test_no_rdma_is_a_reason_and_no_exception(tmp_path, answers, says):
    (_, datanode), rows = measured(tmp_path, datanode=answers)
    (row,) = rows
    assert set(row) == set(RDMA_COLUMNS) and row["metric"] == row["test"] == ""
    assert re.search(says, row["why"]), row["why"]
    assert (row["why_code"] == "no_rdma_device") == says.startswith("no RDMA device")
    assert nothing_measured(rows) == row["why"] and "\n" not in row["why"]
    assert datanode.servers == []


def test_iwarp_connects_by_rdma_cm(tmp_path, monkeypatch):
    monkeypatch.setattr(rdma, "SETTLE", 0.0)
    iwarp = DEVINFO.replace(b"InfiniBand (0)", b"iWARP (1)").replace(b"::ffff:10.0.0.1", b"0200:0:1::")
    answers = {"ibv_devinfo": [(0, iwarp, b"")], "/proc/net/tcp": [(0, b"", b"")]}
    (client, datanode), rows = measured(tmp_path, client=dict(answers), datanode=dict(answers))
    assert rows[0]["metric"] == "bandwidth_average" and rows[0]["transport"] == "iWARP"
    assert "--rdma_cm" in client.ran[-1] and "--rdma_cm" in datanode.ran[-1]
    assert not any(word.startswith("--gid-index") for word in client.ran[-1])


def test_the_slower_port_is_the_limit(tmp_path):
    fast = DEVINFO.replace(b"10.0 Gbps (8)", b"25.0 Gbps (32)")
    _, rows = measured(tmp_path, client={"ibv_devinfo": [(0, fast, b"")]})
    assert {row["limit"] for row in rows} == {"1250"}
    unknown = DEVINFO.replace(b"10.0.0.1", b"10.0.0.2").replace(b"10.0 Gbps (8)", b"invalid speed (0)")
    _, rows = measured(tmp_path, datanode={"ibv_devinfo": [(0, unknown, b"")]})
    assert {row["limit"] for row in rows} == {""}


def test_every_test_and_size_is_measured(tmp_path):
    tests = ["ib_write_bw", "ib_read_bw", "ib_send_bw"]
    _, rows = measured(tmp_path, tests=tests, sizes=[65536])
    assert {row["test"] for row in rows} == set(tests)
    assert len(list(product(tests, range(3)))) == len(rows)


def test_sockets():
    table = read_table = (
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        "   0: 0100007F:4853 00000000:0000 01 00000000:00000000 00:00000000 00000000     0        0 1\n"
        "   1: 00000000:4854 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2\n"
        "   0: 00000000000000000000000000000000:4855 00000000000000000000000000000000:0000 0A 00000000:00000000 00:0\n"
    )
    assert not rdma.listens(table, 0x4853)  # connected, not listening
    assert rdma.listens(table, 0x4854) and rdma.listens(read_table, 0x4855)
    assert not rdma.listens(table, 0x4856) and not rdma.listens("", 0x4854)


def test_the_table_is_written_as_it_is(tmp_path):
    _, rows = measured(tmp_path)
    path = tmp_path / "rdma" / "rdma.csv"
    write_rdma_rows(path, rows)
    with path.open(newline="") as table:
        read_back = list(csv.DictReader(table))
    assert read_back == [{name: str(value) for name, value in row.items()} for row in rows]
    assert tuple(read_back[0]) == RDMA_COLUMNS
