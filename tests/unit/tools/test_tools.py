"""The parsers, on output that the tools really printed, whole and cut off."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitewire.records import samples
from whitewire.tools import Unreadable, fio, iperf3, namenode
from whitewire.tools.fio import fio_bandwidth
from whitewire.tools.iperf3 import iperf3_client, iperf3_result, unfit_iperf3
from whitewire.tools.namenode import fsck_blocks

DATA = Path(__file__).parents[2] / "data"
CASES = DATA / "cases"
FOUR = (DATA / "iperf3-4-streams.json").read_bytes()
AUDIT = (DATA / "namenode-audit-8-puts.txt").read_text()
FSCK = (DATA / "fsck-8-files.txt").read_text()


def test_iperf3_four_streams():
    report = json.loads(FOUR)
    result = iperf3_result(FOUR)
    assert result.goodput == report["end"]["sum_received"]["bits_per_second"] / 1e6
    assert 47 < result.goodput < 48.5  # a link of 50 Mbit/s
    assert result.retransmits == 0
    assert result.rtt > 100
    assert result.sent == report["end"]["sum_sent"]["bytes"]
    assert result.cpu == pytest.approx((0.0108927, 0.0047928), rel=1e-4)


def test_iperf3_another_machine_and_version_of_the_report():
    result = iperf3_result((DATA / "iperf3-1-stream.json").read_bytes())
    assert result.goodput > 0
    assert result.retransmit_share == 1448 / 55_050_240  # one segment was sent again
    assert result.cpu == pytest.approx((0.974, 0.578), abs=1e-3)


def test_iperf3_of_one_segment_reports_the_round_trip_alone():
    raw = (DATA / "iperf3-1-stream.json").read_bytes()
    assert iperf3.round_trip(raw) == json.loads(raw)["end"]["streams"][0]["sender"]["mean_rtt"]
    with pytest.raises(Unreadable, match="iperf3: the server is busy"):
        iperf3.round_trip(b'{"error": "the server is busy"}')
    with pytest.raises(Unreadable, match="found no mean_rtt of a stream"):
        iperf3.round_trip(b'{"end": {"streams": [{"sender": {}}]}}')


def test_a_segment_of_iperf3_is_one_of_the_samples():
    """Tools stand below records, and import nothing of them."""
    assert iperf3._SEGMENT == samples.SEGMENT


@pytest.mark.parametrize("unknown", [None, *iperf3._UNKNOWN["retransmits"]])
def test_iperf3_without_retransmits_knows_of_none(unknown):
    report = json.loads(FOUR)
    report["end"]["sum_sent"]["retransmits"] = unknown
    if unknown is None:
        del report["end"]["sum_sent"]["retransmits"]
    result = iperf3_result(json.dumps(report).encode())
    assert math.isnan(result.retransmits) and math.isnan(result.retransmit_share)


def test_iperf3_leaves_out_round_trips_and_processors_that_it_does_not_know():
    report = json.loads(FOUR)
    for stream, rtt in zip(report["end"]["streams"], [0, -1, 2**32 - 1, 250], strict=True):
        stream["sender"]["mean_rtt"] = rtt
    report["end"]["cpu_utilization_percent"]["remote_total"] = -1
    result = iperf3_result(json.dumps(report).encode())
    assert (result.rtt, result.cpu) == (250, ())


@pytest.mark.parametrize("release", ["3.10.1", "3.14", "3.16", "3.18", "3.20", "3.21+"])
def test_iperf3_of_every_fit_release_by_our_command_line(release):
    """Over a link of 95 Mbit/s to the receiver's end, on a busy machine: at most 91.7 Mbit/s."""
    raw = (CASES / "iperf3" / f"release-{release}.json").read_bytes()
    result, end = iperf3_result(raw), json.loads(raw)["end"]
    assert result.goodput == end["sum_received"]["bits_per_second"] / 1e6
    assert result.received == pytest.approx(end["sum_received"]["bytes"])
    assert 80 < result.goodput < 92 and result.rtt > 0
    assert result.seconds < 0.45


@pytest.mark.parametrize(
    "name, says",
    [
        ("release-3.9", r"iperf3 3\.9: its clock starts 40 ms before the data; 3\.10 to 3\.14 or 3\.16 or newer"),
        ("release-3.15", r"iperf3 3\.15: its server keeps streams waiting"),
        ("bytes-alone-3.21", r"iperf3: found --bytes alone with iperf 3\.21\+, which ends in a pause"),
    ],
)
def test_iperf3_that_says_too_little_is_refused_by_its_release(name, says):
    with pytest.raises(Unreadable, match=says):
        iperf3_result((CASES / "iperf3" / f"{name}.json").read_bytes())


@pytest.mark.parametrize(
    "said, fit",
    [("iperf 3.9 (cJSON 1.7.13)\nLinux node01", False), ("iperf 3.0.11", False), ("iperf 3.10.1", True),
     ("iperf 3.12 (cJSON 1.7.15)", True), ("iperf 3.15", False), ("iperf 3.16", True), ("iperf 3.21+", True),
     ("iperf 3.100", True), ("", True)],
)  # fmt: skip
def test_which_releases_of_iperf3_are_fit(said, fit):
    assert (unfit_iperf3(said) == "") == fit


def test_iperf3_sends_in_blocks_of_whole_segments_that_are_a_small_share_of_a_stream():
    """Receivers of some releases count whole blocks only; a segment that is partly full costs a slow link goodput."""
    for streams, size, block in [(1, 10**6, 5792), (4, 10**6, 1448), (4, 3_562_500, 1448), (1, 10**7, 18824),
                                 (1, 10**10, 131072)]:  # fmt: skip
        argv = iperf3_client("10.0.0.1", streams, size)
        assert argv[argv.index("--length") + 1] == str(block)


@given(st.integers(min_value=0, max_value=len(FOUR.rstrip()) - 1))
def test_iperf3_cut_off_anywhere_is_an_error(length):
    with pytest.raises(Unreadable, match="iperf3"):
        iperf3_result(FOUR[:length])


@pytest.mark.parametrize(
    "raw, says",
    [
        (b'{"error": "unable to connect to server: Connection refused"}', "Connection refused"),
        (b"{}", "lacks 'end'"),
        (
            b'{"end": {"sum_received": {"bits_per_second": 0, "seconds": 1}, "sum_sent": {}, "streams": []}}',
            "goodput 0",
        ),
    ],
)
def test_iperf3_errors_are_named(raw, says):
    with pytest.raises(Unreadable, match=says):
        iperf3_result(raw)


ONE_STREAM = (CASES / "iperf3" / "warning-before.json").read_bytes()


@pytest.mark.parametrize(
    "raw", [ONE_STREAM, ONE_STREAM + ONE_STREAM, ONE_STREAM.rstrip() + ONE_STREAM[ONE_STREAM.index(b"{") :]]
)
def test_iperf3_with_a_warning_or_its_report_twice(raw):
    expected = iperf3.LinkResult(goodput=1000, retransmits=0, rtt=76, seconds=1, sent=125_000_000)
    assert iperf3_result(raw) == expected


@pytest.mark.parametrize("name, says", [("bidir", r"both directions \(--bidir\)"), ("null", "found 'null'"),
                                        ("empty", "found 'nothing'")])  # fmt: skip
def test_iperf3_that_is_no_one_way_test_is_an_error(name, says):
    with pytest.raises(Unreadable, match=says):
        iperf3_result((CASES / "iperf3" / f"{name}.json").read_bytes())


def test_iperf3_reports_that_differ_are_an_error():
    with pytest.raises(Unreadable, match="2 reports that differ"):
        iperf3_result(ONE_STREAM + ONE_STREAM.replace(b"bytes", b"octets"))


@pytest.mark.parametrize("name, operation", [("fio-write-direct", "write"), ("fio-read-buffered", "read")])
def test_fio(name, operation):
    raw = (DATA / f"{name}.json").read_bytes()
    expected = json.loads(raw[raw.index(b"{") :])["jobs"][0][operation]["bw_bytes"] / 1e6
    assert fio_bandwidth(raw, operation) == expected
    assert 5.2 < expected < 5.7  # a drive of 5.5 MB/s
    assert fio_bandwidth(b"fio: a warning before the report\n" + raw, operation) == expected


def test_fio_of_another_release_or_another_number_of_jobs():
    old = (CASES / "fio" / "fio-3.1.json").read_bytes()
    assert fio_bandwidth(old, "read") == pytest.approx(11155 * 1024 / 1e6)
    assert fio.measurement(old, "read").bandwidth == fio_bandwidth(old, "read")
    with pytest.raises(Unreadable, match="found fio-2.16, expected fio 3 or newer"):
        fio_bandwidth(old.replace(b"fio-3.1", b"fio-2.16"), "read")
    with pytest.raises(Unreadable, match="2 jobs in the report, expected one"):
        fio_bandwidth((CASES / "fio" / "two-jobs.json").read_bytes(), "read")
    with pytest.raises(Unreadable, match="2 reports that differ"):
        fio_bandwidth(old + old.replace(b"11155", b"11156"), "read")


def test_operations_of_eight_puts():
    found = namenode.operations(AUDIT)
    assert sorted(operation.path for operation in found) == [f"/data/client1/put{n}" for n in range(1, 9)]
    assert all(0.3 < operation.end - operation.start < 5 for operation in found)
    assert max(o.start for o in found) - min(o.start for o in found) < 0.5  # started together


def test_an_unfinished_put_is_no_operation():
    without = "\n".join(
        line for line in AUDIT.splitlines() if not ("cmd=rename" in line and "src=/data/client1/put3._COPYING_" in line)
    )
    assert len(namenode.operations(without)) == 7


def test_blocks_of_eight_files():
    found = fsck_blocks(FSCK)
    assert len(found) == 8
    assert {block.length for block in found} == {3355136}
    assert all(len(set(block.addresses)) == 3 for block in found)


def test_blocks_of_hadoop_2():
    found = fsck_blocks((CASES / "fsck-hadoop-2" / "fsck.txt").read_text())
    assert [(block.path, block.index, block.length) for block in found] == [
        ("/data/client1/put1", 0, 711),
        ("/data/client1/put1", 1, 711),
    ]
    assert [block.addresses for block in found] == [("10.0.0.3", "10.0.0.4", "10.0.0.7"), ("10.0.0.3", "10.0.0.4")]


def test_a_file_that_lacks_replicas_has_its_blocks():
    wanting = (
        "1 block(s):  Under replicated BP-1-10.77.0.2-1:blk_1_2. Target Replicas is 3 but found 1 live replica(s)."
    )
    assert fsck_blocks(FSCK.replace("1 block(s):  OK", wanting)) == fsck_blocks(FSCK)


SORTED = (DATA / "fsck-sorted.txt").read_text()
"""Of TeraSort's output on five DataNodes: _partition.lst asks for ten replicas."""


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        (FSCK, False),
        (SORTED, False),
        (SORTED.replace("but found 5 live", "but found 4 live"), True),
        (SORTED.replace("Target Replicas is 10 but found 5 live", "Target Replicas is 3 but found 2"), True),
        (SORTED.replace(" Number of data-nodes:\t5\n", ""), True),  # nobody says how many there are
    ],
)
def test_replicas_for_which_there_is_no_datanode_are_not_waited_for(text, lacks):
    assert namenode.lacks_replicas(text) is lacks


def test_an_erasure_coded_file_is_refused_with_its_policy():
    with pytest.raises(Unreadable, match="/data/client2/put1: found erasure coding with RS-3-2-1024k, expected repl"):
        fsck_blocks((CASES / "fsck-erasure-coded" / "fsck.txt").read_text())


@pytest.mark.parametrize("old, new, says", [
    ("1 block(s):", "1 block(s), OPENFORWRITE:", "put1: found ', OPENFORWRITE', expected a closed file"),
    ("1 block(s):", "2 block(s):", "put1: found 1 blocks with 3355136 bytes, expected 2 with 3355136"),
    (" Live_repl=3 ", " MISSING! ", "put1: found block .*, expected its length and places"),
    ("replicated: replication=3", "striped: width=3", "put1: found 'striped: width=3,', expected 'replicated"),
    ("The filesystem under", "fsck encountered internal errors!", "internal errors.* at its end"),
])  # fmt: skip
def test_fsck_that_says_no_whole_blocks_is_an_error(old, new, says):
    with pytest.raises(Unreadable, match=says):
        fsck_blocks(FSCK.replace(old, new, 1))


def test_puts_by_the_time_stamps_of_their_files():
    said = "1795232224031 1795232225531 put1\n26/11/21 WARN: something 17\n1795232224032 1795232226032 put2\n"
    assert namenode.stamped(said, "/data/client1") == [
        namenode.Operation("/data/client1/put1", 1795232224.031, 1795232225.531),
        namenode.Operation("/data/client1/put2", 1795232224.032, 1795232226.032),
    ]


@pytest.mark.parametrize(
    "changed, says",
    [({"bw_bytes": 4_000_000_000}, "bandwidth 4000000000 B/s, expected"), ({"io_bytes": 1024}, "1024 bytes in"),
     ({"runtime": 0}, "runtime 0"), ({"io_bytes": 2**64 - 1}, "io_bytes 18446744073709551615"),
     ({"bw_bytes": 2**64 - 1}, "bandwidth 18446744073709551615")],
)  # fmt: skip
def test_fio_whose_bandwidth_is_not_bytes_over_time_is_refused(changed, says):
    """fio 2.19 counted io_bytes in KiB (axboe/fio#378), others ran on after their time."""
    report = json.loads((DATA / "fio-write-direct.json").read_bytes())
    report["jobs"][0]["write"] |= changed
    with pytest.raises(Unreadable, match=f"fio: .*{says}"):
        fio_bandwidth(json.dumps(report).encode(), "write")
