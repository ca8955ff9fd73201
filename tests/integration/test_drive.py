"""The drive model, with fio in front of it: rate, sharing, access time, and that other files are left alone."""

import json
import time
from dataclasses import replace
from functools import partial

import pytest

from tests.conftest import comes_to
from whitewire.design.drive import Drive
from whitewire.testbed.drives import put_drives, read_back
from whitewire.testbed.emulated.software import LIBRARIES
from whitewire.tools import fio
from whitewire.tools.fio import fio_bandwidth

HARDWARE = {
    "count": 2,
    "rate_mb_per_s": 100,
    "access_time_ms": 10,
    "writeback_chunk_bytes": 4_000_000,
    "cache_bytes": 0,
}


@pytest.fixture
def drive():
    return Drive.scaled(HARDWARE, 10, str(LIBRARIES / "libdrive.so"))  # 10 MB/s, chunks of 0.4 MB


def measure(host, drive, folder, operation="write", mode="buffered", size=8_000_000, *more):
    host.run(["mkdir", "-p", folder]).check()
    put_drives(drive, host)
    argv = [*fio.sequential(folder, operation, mode, size), *more]
    return host.run(argv, env=drive.environment(host.drive_root) | {"LD_PRELOAD": "/run/whitewire/lib/libdrive.so"})


def test_scaling_divides_rates_and_sizes_and_keeps_times(drive):
    assert (drive.rate, drive.access_time, drive.chunk, drive.cache) == (1e7, 0.01, 4e5, 65536)


STREAMS = [(operation, mode) for operation in ("write", "read") for mode in ("buffered", "direct")]
"""Writes come first, because reads need a file."""


def bandwidth(host, drive, operation, mode, size):
    """MB/s of one sequential stream on the first drive."""
    return fio_bandwidth(measure(host, drive, host.drive(1), operation, mode, size).check().stdout, operation)


def test_one_sequential_stream_gets_the_rate(testbed, drive):
    host = testbed.by_role("datanode")[0]
    for operation, mode in STREAMS:
        comes_to(10.0, 0.05, partial(bandwidth, host, drive, operation, mode, 8_000_000))


READER = HARDWARE | {"read_rate_mb_per_s": 400}


def test_reads_and_writes_have_a_rate_each(testbed, drive):
    host, reader = testbed.by_role("datanode")[0], Drive.scaled(READER, 10, drive.library)
    for operation, mode in STREAMS:
        expected = 10.0 if operation == "write" else 40.0
        comes_to(expected, 0.06, partial(bandwidth, host, reader, operation, mode, 16_000_000))
    assert read_back(host)["read_rate"] == 4 * read_back(host)["rate"]


def test_reads_and_writes_share_a_drives_time(testbed, drive):
    host, reader = testbed.by_role("datanode")[0], Drive.scaled(READER | {"access_time_ms": 0}, 10, drive.library)
    measure(host, reader, host.drive(1), size=16_000_000)

    def rate() -> float:
        done = measure(host, reader, host.drive(1), "rw", "direct", 16_000_000)
        (job,) = json.loads(done.check().stdout)["jobs"]
        seconds = job["write"]["io_bytes"] / 10e6 + job["read"]["io_bytes"] / 40e6
        return job["job_runtime"] / 1000 / seconds

    comes_to(1.0, 0.1, rate)


def test_intermediate_data_wait_for_drives_of_their_own(testbed, drive):
    """One drive for YARN's folders on both drives for data: two streams share it, and what is data does not wait."""
    host = testbed.by_role("datanode")[0]
    both = replace(drive, intermediate=Drive.scaled(READER | {"count": 1, "rate_mb_per_s": 200}, 10, drive.library))
    comes_to(10.0, 0.06, lambda: fio_bandwidth(measure(host, both, host.drive(1)).check().stdout, "write"))
    assert read_back(host)["intermediate_moved"] == 0
    for operation, rate in (("write", 20.0), ("read", 40.0)):
        comes_to(
            rate, 0.06,
            lambda operation=operation: fio_bandwidth(
                measure(host, both, f"{host.drive(1)}/local", operation, size=16_000_000).check().stdout, operation
            ),
        )  # fmt: skip
    assert read_back(host)["intermediate_moved"] == pytest.approx(16_000_000, rel=0.01)
    begin = time.monotonic()
    argv = ["fio", "--rw=write", "--bs=65536", "--size=10000000", "--ioengine=psync", "--end_fsync=1", "--name=a",
            f"--directory={host.drive(1)}/local", "--name=b", f"--directory={host.drive(2)}/local"]  # fmt: skip
    host.run(["mkdir", "-p", f"{host.drive(2)}/local"]).check()
    host.run(argv, env=both.environment(host.drive_root)).check()
    assert time.monotonic() - begin > 0.95


def test_two_streams_on_one_drive_share_it_and_pay_for_moving(testbed, drive):
    host = testbed.by_role("datanode")[1]

    def rate() -> float:
        done = measure(host, drive, host.drive(1), "write", "buffered", 6_000_000, "--numjobs=2", "--group_reporting")
        return json.loads(done.check().stdout)["jobs"][0]["write"]["bw_bytes"] / 1e6

    # Each chunk of 0.4 MB takes 40 ms, and 10 ms to come to it.
    comes_to(10.0 * 40 / 50, 0.08, rate)


def test_two_drives_do_not_share(testbed, drive):
    host = testbed.by_role("datanode")[2]
    host.run(["mkdir", "-p", host.drive(1), host.drive(2)]).check()
    argv = ["fio", "--rw=write", "--bs=65536", "--size=6000000", "--ioengine=psync", "--end_fsync=1",
            "--output-format=json", "--group_reporting", "--name=a", f"--directory={host.drive(1)}",
            "--name=b", f"--directory={host.drive(2)}"]  # fmt: skip
    environment = drive.environment(host.drive_root) | {"LD_PRELOAD": "/run/whitewire/lib/libdrive.so"}
    put_drives(drive, host)

    def rate() -> float:
        return json.loads(host.run(argv, env=environment).check().stdout)["jobs"][0]["write"]["bw_bytes"] / 1e6

    comes_to(20.0, 0.08, rate)


def test_the_cache_holds_back_buffered_writes_and_fsync_waits_for_all(testbed):
    host = testbed.by_role("datanode")[3]
    cached = Drive.scaled(HARDWARE | {"cache_bytes": 50_000_000}, 10, "/run/whitewire/lib/libdrive.so")
    host.run(["mkdir", "-p", host.drive(1)]).check()
    environment = cached.environment(host.drive_root)
    put_drives(cached, host)

    def copy(*more):
        begin = time.monotonic()
        host.run(["dd", "if=/dev/zero", f"of={host.drive(1)}/x", "bs=1M", "count=4", *more], env=environment).check()
        return time.monotonic() - begin

    assert copy() < 0.2  # 4 MiB fit in the cache of 5 MB
    assert copy("conv=fsync") > 0.35  # and are on the drive only after 0.42 s a copy


def test_files_elsewhere_are_not_delayed(testbed, drive):
    host = testbed.by_role("datanode")[0]
    done = measure(host, drive, "/tmp/elsewhere")
    assert fio_bandwidth(done.check().stdout, "write") > 50


@pytest.mark.parametrize(
    ("folder", "waits"),
    [
        ("local/usercache/root/appcache/application_1_0001/output/attempt_1_0001_m_000000_0", True),
        ("local/usercache/root/appcache/application_1_0001", True),  # spills and merges
        ("local/usercache/root/appcache/application_1_0001/container_1_0001_01_000002", False),
        ("local/usercache/root/appcache/application_1_0001/filecache/10", False),
        ("local/nmPrivate/application_1_0001/container_1_0001_01_000002", False),
        ("data/current/container_1", True),
    ],
)
def test_of_a_containers_files_only_its_data_wait(testbed, drive, folder, waits):
    host = testbed.by_role("datanode")[0]
    begin = time.monotonic()
    measure(host, drive, f"{host.drive(2)}/{folder}", "write", "buffered", 10_000_000).check()
    assert (time.monotonic() - begin > 0.9) == waits


def test_a_killed_writer_does_not_block_the_drive(testbed, drive, tmp_path):
    host = testbed.by_role("datanode")[0]
    environment = drive.environment(host.drive_root) | {"LD_PRELOAD": "/run/whitewire/lib/libdrive.so"}
    host.run(["mkdir", "-p", host.drive(2)]).check()
    put_drives(drive, host)
    for _ in range(5):
        writer = host.start(
            ["dd", "if=/dev/zero", f"of={host.drive(2)}/x", "bs=64k", "count=10000"], tmp_path / "log", environment
        )
        time.sleep(0.15)
        writer.kill()
    comes_to(10.0, 0.06, lambda: fio_bandwidth(measure(host, drive, host.drive(2)).check().stdout, "write"))


WRITER = """
import os, sys
drive, log, sent = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY), os.open(sys.argv[2], os.O_CREAT | os.O_WRONLY), 0
while True:
    os.lseek(drive, 0, os.SEEK_SET)
    for _ in range(16):
        sent += os.write(drive, bytes(65536))
        os.pwrite(log, b"%16d" % sent, 0)
"""


def test_a_program_that_runs_meets_other_drives_from_the_moment_they_are_put(testbed, drive, tmp_path):
    host = testbed.by_role("datanode")[0]
    host.run(["mkdir", "-p", host.drive(1)]).check()
    environment = drive.environment(host.drive_root) | {"LD_PRELOAD": "/run/whitewire/lib/libdrive.so"}
    faster, none = Drive.scaled(HARDWARE, 5, drive.library), Drive.none(2)

    def sent() -> tuple[int, float]:
        return int(host.run(["cat", "/tmp/sent"]).check().stdout), time.monotonic()

    def rate(put) -> float:
        """MB/s of the writer once a change is made."""
        put()
        time.sleep(0.2)  # a call that waits already keeps its time
        before, begin = sent()
        time.sleep(1.0)
        after, end = sent()
        return (after - before) / (end - begin) / 1e6

    put_drives(drive, host)
    argv = ["/usr/bin/python3", "-c", WRITER, f"{host.drive(1)}/x", "/tmp/sent"]
    writer = host.start(argv, tmp_path / "log", environment)
    try:
        comes_to(10.0, 0.08, lambda: rate(lambda: put_drives(drive, host)))
        comes_to(20.0, 0.08, lambda: rate(lambda: put_drives(faster, host)))
        assert rate(lambda: put_drives(faster, host, at_ease=True)) > 40
        comes_to(10.0, 0.08, lambda: rate(lambda: put_drives(drive, host)))
        assert rate(lambda: put_drives(none, host)) > 40
    finally:
        writer.kill()


WRITERS = """
import os, socket, sys, threading, time
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
def take(connection):
    while connection.recv(1 << 20): pass
def put():
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
        threading.Thread(target=take, args=[server.accept()[0]]).start()
        for _ in range(16): os.write(connection.fileno(), bytes(65536))
threads = [threading.Thread(target=put) for _ in range(2)]
begin = time.monotonic()
for thread in threads: thread.start()
for thread in threads: thread.join()
print(2 ** 21 / (time.monotonic() - begin) / 1e6)
"""


@pytest.mark.parametrize(("port", "rate", "eased"), [("9866", 4.0, False), ("9867", None, False), ("9866", None, True)])
def test_each_connection_to_a_data_port_has_the_rate_of_a_writer(testbed, port, rate, eased):
    host = testbed.by_role("datanode")[0]
    bound = Drive.scaled(HARDWARE | {"writer_mb_per_s": 20}, 10, "/run/whitewire/lib/libdrive.so")
    environment = bound.environment(host.drive_root, 9866)

    def sent() -> float:
        """MB/s of two writers together."""
        put_drives(bound, host, eased)
        return float(host.run(["/usr/bin/python3", "-c", WRITERS, port], env=environment).check().stdout)

    if rate:
        comes_to(rate, 0.03, sent)
        state = read_back(host)
        assert state["sent"] == 2**21
        assert 0.99 * bound.writer < state["sent"] / state["sending"] <= bound.writer
    else:
        assert sent() > 20
        assert read_back(host)["sent"] == 0


def test_a_program_without_a_model_ends_at_once(testbed, drive):
    host = testbed.by_role("datanode")[1]
    host.clear_drives()
    host.run(["mkdir", "-p", host.drive(1)]).check()
    environment = drive.environment(host.drive_root) | {"LD_PRELOAD": "/run/whitewire/lib/libdrive.so"}
    done = host.run(["dd", "if=/dev/zero", f"of={host.drive(1)}/x", "bs=1k", "count=1"], env=environment)
    assert done.status == 70
    assert b"does not say what drives can do" in done.stderr
