"""A real CephFS on emulated hosts: rates of stripes, shared drives, caches, a store that is killed, what is left."""

import itertools
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from tests.conftest import comes_to, descendants, reaches, still_alive
from whitewire.cluster import cephfs
from whitewire.cluster.cephfs import MOUNT, CephFs, cephfs_unavailable
from whitewire.cluster.posix import Posix
from whitewire.design.scaling import LEAST_STRIPE
from whitewire.errors import UserError
from whitewire.testbed.base import FRAME_SHARE, ProcessDied
from whitewire.testbed.emulated.sandbox import EmulatedTestbed

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(bool(cephfs_unavailable()), reason=f"CephFS: {cephfs_unavailable()}"),
]

ROLES = {"mds": 1, "oss": 2, "client": 3}
RATE = 1e6  # of an OST
KIB, MIB = 2**10, 2**20


@pytest.fixture(scope="module")
def hosts(can_emulate, emulated_config):
    with EmulatedTestbed(emulated_config, ROLES, 20, {}) as testbed:
        yield testbed


@pytest.fixture(scope="module")
def store(hosts, tmp_path_factory):
    hosts.fabric("10gbe")
    with CephFs(hosts, RATE, tmp_path_factory.mktemp("logs"), readahead=32 * MIB) as running:
        give_up_at = time.monotonic() + 30
        while max(moved_in(running, lambda: time.sleep(0.5))) > 64 * KIB and time.monotonic() < give_up_at:
            pass  # OSTs that have just started still exchange state
        yield running


def moved_in(store, action):
    """Bytes that each OST's drive moves during an action."""
    before = store.drives.moved()
    action()
    return [after - earlier for after, earlier in zip(store.drives.moved().values(), before.values(), strict=True)]


def write(store, host, name, size, *more):
    """Seconds that `dd` takes to write a file."""
    begin = time.monotonic()
    host.run(["dd", "if=/dev/zero", f"of={MOUNT}/{name}", "bs=64k", f"count={int(size) // 65536}", *more]).check()
    return time.monotonic() - begin


def read(store, host, name):
    begin = time.monotonic()
    host.run(["dd", f"if={MOUNT}/{name}", "of=/dev/null", "bs=1M"]).check()
    return time.monotonic() - begin


def at_once(*calls):
    """Seconds until all of them are done."""
    begin = time.monotonic()
    with ThreadPoolExecutor(len(calls)) as pool:
        for done in [pool.submit(call) for call in calls]:
            done.result()
    return time.monotonic() - begin


def test_it_is_up_in_time(store):
    assert store.start_seconds < 15
    assert store.first_failure == ""
    assert store.dead() == []
    assert set(store.processes()) == {
        "mon", "mds", "mdt", *(f"ost{n}" for n in range(1, 9)), *(f"mount-client{n}" for n in (1, 2, 3))}  # fmt: skip


@pytest.mark.parametrize("count", [4, *(pytest.param(count, marks=pytest.mark.slow) for count in (1, 2, 8))])
def test_a_file_gets_the_rate_of_its_stripes(store, count):
    store.layout(f"stripes{count}", count, MIB if count < 8 else 4 * LEAST_STRIPE)
    size, path = 3 * MIB * count, f"stripes{count}/file"  # whole rounds of stripes

    def write_rate():
        return size / write(store, store.clients[0], path, size, "conv=fsync")

    first = []
    moved = moved_in(store, lambda: first.append(write_rate()))
    rates = itertools.chain(first, iter(write_rate, None))
    comes_to(RATE * count, 0.1, lambda: next(rates))
    readers = iter(store.clients[1:])  # who have none of it in a cache
    comes_to(RATE * count, 0.1, lambda: size / read(store, next(readers), path), attempts=2)
    full = [bytes_ for bytes_ in moved if bytes_ > 0.5 * size / count]
    assert len(full) == count
    assert max(full) < 1.3 * min(full)


def test_files_of_one_stripe_spread_over_the_osts(store):
    store.layout("many", 1, MIB)
    names = " ".join(f"{MOUNT}/many/{number}" for number in range(16))
    script = f"for f in {names}; do head -c 131072 /dev/zero > $f; done; sync; sleep 1"
    moved = moved_in(store, lambda: store.clients[0].run(["sh", "-c", script]).check())
    # Two on each, give or take one: how many numbers folders took in between shifts the turn.
    assert all(131072 < count < 3.5 * 131072 for count in moved), moved


def test_reading_and_writing_share_a_drive(store):
    store.layout("shared", 8, 4 * LEAST_STRIPE)
    size = 12 * MIB
    turns = iter([store.clients[1:], store.clients[:0:-1]])

    def rate():
        reader, writer = next(turns)  # who has not read the file before
        write(store, store.clients[0], "shared/old", size, "conv=fsync")
        reading = partial(read, store, reader, "shared/old")
        return 2 * size / at_once(reading, partial(write, store, writer, "shared/new", size, "conv=fsync"))

    comes_to(8 * RATE, 0.1, rate, attempts=2)


def test_a_small_read_waits_for_little_of_what_others_write(store):
    store.layout("busy", 8, 4 * LEAST_STRIPE)
    writers, reader = store.clients[:2], store.clients[2]
    script = f"for n in 0 1 2; do echo small > {MOUNT}/busy/small$n; done; sync {MOUNT}/busy/small*"
    writers[0].run(["sh", "-c", script]).check()
    store.drives.set_rate(RATE / 8)
    try:
        with ThreadPoolExecutor(2) as pool:
            writing = [pool.submit(write, store, host, f"busy/{host.name}", 4 * MIB, "conv=fsync") for host in writers]
            time.sleep(2)
            seconds = [read(store, reader, f"busy/small{number}") for number in range(3)]
            assert not any(job.done() for job in writing)
            for job in writing:
                job.result()
    finally:
        store.drives.set_rate(RATE)
    assert sorted(seconds)[1] < 2, seconds  # where drives know no turns, several seconds


def test_its_drives_take_another_rate_while_it_runs(store):
    store.layout("rates", 8, 4 * LEAST_STRIPE)
    size = 16 * MIB

    def rate():
        return size / write(store, store.clients[0], "rates/file", size, "conv=fsync")

    try:
        store.drives.set_rate(RATE / 2)
        comes_to(4 * RATE, 0.1, rate)
    finally:
        store.drives.set_rate(RATE)
    comes_to(8 * RATE, 0.1, rate)


def test_the_links_of_the_hosts_limit_their_osts(store, hosts):
    link = hosts.fabric("0.5gbe").rate * 1e6 / 8 * FRAME_SHARE  # 3 MB/s before 4 OSTs of 1 MB/s
    store.layout("linked", 8, 4 * LEAST_STRIPE)
    size = 8 * MIB  # seconds of writing, beside which opening a file is little
    files = [(client, f"linked/{client.name}") for client in store.clients]
    writes = [partial(write, store, *file, size, "conv=fsync") for file in files]
    reaches(0.85 * 2 * link, 1.02 * 2 * link, lambda: 3 * size / at_once(*writes))
    hosts.fabric("10gbe")


def test_a_segment_that_all_share_limits_all_servers_together(store, hosts):
    link = hosts.fabric("1gbe-shared").rate * 1e6 / 8 * FRAME_SHARE  # 6 MB/s before 8 OSTs of 1 MB/s
    store.layout("segment", 8, 4 * LEAST_STRIPE)
    size = 6 * MIB
    names = [f"segment/{client.name}" for client in store.clients]
    writes = [partial(write, store, *file, size, "conv=fsync") for file in zip(store.clients, names, strict=True)]
    turns = iter([[*store.clients[1:], *store.clients[:1]], [*store.clients[2:], *store.clients[:2]]])

    def rate_of_reading():  # nobody reads what it wrote or has read before, so nothing comes from a cache
        return 3 * size / at_once(*(partial(read, store, *pair) for pair in zip(next(turns), names, strict=True)))

    reaches(0.8 * link, 1.02 * link, lambda: 3 * size / at_once(*writes))
    reaches(0.8 * link, 1.02 * link, rate_of_reading, attempts=2)
    hosts.fabric("10gbe")


def test_remount_sets_what_a_client_may_hold(store):
    store.layout("cached", 1, MIB)
    seconds = store.remount(max_dirty=64 * MIB)
    assert seconds < 5
    assert write(store, store.clients[0], "cached/a", 4 * MIB) < 1  # all of it fits
    assert store.remount(max_dirty=4 * LEAST_STRIPE) < 10
    assert 4 * MIB / write(store, store.clients[0], "cached/b", 4 * MIB) == pytest.approx(RATE, rel=0.15)
    again = [read(store, store.clients[0], "cached/b") for _ in range(2)]
    store.remount()
    cold = read(store, store.clients[0], "cached/b")
    assert again[1] < 1 < cold
    assert 4 * MIB / cold == pytest.approx(RATE, rel=0.15)
    store.remount(max_dirty=32 * MIB)


def test_paths_and_layouts_that_cannot_be(store):
    for path in ("../hosts", "/etc"):
        with pytest.raises(UserError, match="is not below"):
            store.remove(path)
    with pytest.raises(UserError, match="stripe_count is 9"):
        store.layout("x", 9, MIB)
    store.layout("gone", 2, MIB)
    store.remove("gone")
    assert store.clients[2].run(["test", "-e", f"{MOUNT}/gone"]).status != 0


def test_a_killed_store_is_named_and_a_new_start_works(store):
    store.daemons["ost3"].kill()
    with pytest.raises(ProcessDied, match="CephFS ost3 on oss1 ended with status"):
        store.check()
    assert store.dead() == ["CephFS ost3 on oss1"]
    store.stop()
    for host in store.testbed.hosts:
        assert f" {MOUNT} " not in host.get("/proc/self/mountinfo").decode()
        assert not [name for name in host.run(["ls", "/sys/class/net"]).stdout.decode().split() if "ost" in name]
        assert host.run(["test", "-e", f"{host.folder}/ceph"]).status != 0
    store.start()
    assert store.dead() == []
    store.clients[2].run(["sh", "-c", f"echo x > {MOUNT}/x"]).check()
    assert store.clients[0].get(f"{MOUNT}/x") == b"x\n"


def test_a_killed_mount_is_named(store):
    store.mounts["client3"].kill()
    assert store.dead() == ["CephFS mount on client3"]
    store.remount()
    assert store.dead() == []


def test_a_daemon_that_fails_at_the_start_is_named(store, hosts, tmp_path, monkeypatch):
    store.stop()
    real = cephfs._configuration
    monkeypatch.setattr(
        cephfs, "_configuration", lambda *given: real(*given).replace(b"addr = 10.78.2.2", b"addr = 10.78.2.99")
    )
    broken = CephFs(hosts, RATE, tmp_path)
    with pytest.raises(ProcessDied, match="(?s)CephFS ost6 on oss2 ended with status.*10.78.2.99"):
        broken.start()
    assert "CephFS ost6 on oss2 ended" in broken.first_failure
    assert broken.processes() == {}
    assert not hosts.host("oss2").run(["ip", "netns"]).stdout


@pytest.mark.parametrize("ending", ["kill", pytest.param("leave", marks=pytest.mark.slow)])
def test_nothing_is_left(can_emulate, tmp_path, ending):
    program = f"""
import time
from pathlib import Path
from whitewire.cluster import cephfs
from whitewire.cluster.cephfs import CephFs
from whitewire.description.testbed import load_testbed
from whitewire.testbed.emulated.sandbox import EmulatedTestbed
with EmulatedTestbed(load_testbed("emulated"), {ROLES!r}, 20, {{}}) as testbed:
    with CephFs(testbed, 4e6, Path({str(tmp_path)!r})):
        print("up", flush=True)
        if {ending == "kill"}:
            time.sleep(1000)
        input()
"""
    owner = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert owner.stdout.readline() == b"up\n"
    inside = descendants(owner.pid)
    assert len(inside) > 14
    if ending == "kill":
        owner.kill()
    owner.communicate(b"\n", timeout=30)
    assert not still_alive(inside)
    mounts = Path("/proc/self/mounts").read_text()
    assert "ceph" not in mounts and "whitewire" not in mounts
    assert not [name for name in os.listdir("/sys/class/net") if name.startswith(("ost", "drives", "shaper"))]


# -- a site's own file system -------------------------------------------------------------------------------------


def test_posix_on_a_folder_that_all_hosts_share(hosts):
    hosts.share("/run/whitewire/site/theirs", b"x")
    with Posix(hosts, "/run/whitewire/site") as site:
        assert site.kind == "tmpfs"
        assert site.layout("data", 4, MIB) == ""
        hosts.hosts[0].put(b"y", f"{site.mount}/data/file")
        assert hosts.hosts[-1].get(f"{site.mount}/data/file") == b"y"
    assert hosts.hosts[0].run(["ls", "/run/whitewire/site"]).stdout == b"theirs\n"
