"""Drives and mounts under fio: what fio printed, which places are refused, and that no file stays."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitewire.errors import UserError
from whitewire.measure import drives as storage
from whitewire.measure.drives import DriveEffort, DrivePlace, measure_drives
from whitewire.testbed.base import Completed, Host, Process
from whitewire.tidy import tables
from whitewire.tools import Unreadable, fio
from whitewire.tools.fio import FIO_OPERATIONS, FioResult
from whitewire.units import KIB, MIB

DATA = Path(__file__).parents[2] / "data"
FILES = {
    "layout": "write",
    "write-1048576-4": "write",
    "randread-4096-16": "randread",
    "randwrite-65536-8-buffered": "randwrite",
    "note-before": "randread",
}
RAW = {name: (DATA / f"fio-{name}.json").read_bytes() for name in [*FILES, "no-space"]}
TINY = DriveEffort(8 * MIB, 0.05, 2, (4 * KIB, 64 * KIB), (1, 4))
REAL = DriveEffort(8 * MIB, 0.03, 2, (64 * KIB,), (1, 4))
"""For real starts of fio, each of which takes a third of a second."""

needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="needs fio")


# -- the parser


@pytest.mark.parametrize("name", FILES)
def test_values_are_those_of_the_report(name):
    raw, operation = RAW[name], FILES[name]
    did = json.loads(raw[raw.index(b"{") :])["jobs"][0][operation.removeprefix("rand")]
    result = fio.measurement(raw, operation)
    assert (result.bandwidth, result.iops) == (did["bw_bytes"] / 1e6, did["iops"])
    assert (result.ios, result.bytes) == (did["total_ios"], did["io_bytes"])
    assert result.latency == did["clat_ns"]["mean"] / 1e3
    assert list(result.percentiles) == list(fio.PERCENTILES)
    assert result.percentiles[99.9] == did["clat_ns"]["percentile"]["99.900000"] / 1e3
    assert sorted(result.percentiles.values()) == list(result.percentiles.values())
    # The job's own arithmetic: bytes are calls of one size, and Little's law bounds what was under way.
    assert result.bytes % result.ios == 0
    assert result.bandwidth == pytest.approx(result.iops * result.bytes / result.ios / 1e6, rel=0.01)


def test_calls_under_way_are_those_asked_for():
    result = fio.measurement(RAW["randread-4096-16"], "randread")
    assert 0.5 * 16 < result.iops * result.latency / 1e6 <= 16


def test_text_before_the_report_is_passed_over_even_with_braces():
    assert RAW["note-before"].startswith(b"note: both iodepth")
    assert fio.measurement(b'fio: {"odd"} { words {"jobs": 1}\n' + RAW["layout"], "write").bytes == 32 * MIB


def test_a_full_drive_is_an_error():
    assert RAW["no-space"].startswith(b"fio: pid=")
    with pytest.raises(Unreadable, match=r"error 28 \(No space left on device\)"):
        fio.measurement(RAW["no-space"], "write")


@pytest.mark.parametrize(
    "raw, says",
    [
        (b"", "not a whole report"),
        (b"fio: engine libnope not loadable\nfio: failed to load engine\n", "failed to load engine"),
        (b'{"jobs": []}', "0 jobs in the report, expected one"),
        (b'{"jobs": [{"error": 0}]}', "lacks 'write'"),
        (b'{"jobs": [{"error": 0, "total_err": 3}]}', "total_err 3"),
        (b'{"jobs": [{"error": 0}, {"error": 0}]}', "2 jobs in the report, expected one"),
    ],
)
def test_what_is_no_report_is_named(raw, says):
    with pytest.raises(Unreadable, match=says):
        fio.measurement(raw, "write")


def test_the_other_direction_was_not_done():
    with pytest.raises(Unreadable, match="bandwidth 0"):
        fio.measurement(RAW["layout"], "randread")


def test_a_report_of_fio_2_is_named():
    report = json.loads(RAW["layout"])
    report["jobs"][0]["write"]["clat"] = report["jobs"][0]["write"].pop("clat_ns")
    with pytest.raises(Unreadable, match="lacks 'clat_ns'"):
        fio.measurement(json.dumps(report).encode(), "write")


@given(st.sampled_from(sorted(FILES)), st.data())
def test_cut_off_anywhere_is_an_error(name, data):
    raw = RAW[name].rstrip()
    length = data.draw(st.integers(0, len(raw) - 1))
    with pytest.raises(Unreadable, match="fio"):
        fio.measurement(raw[:length], FILES[name])


def without_bins(raw):
    """A report of random reads with what is read of it, so that a change somewhere in it mostly counts."""
    read = json.loads(raw)["jobs"][0]["read"]
    latency = {key: value for key, value in read["clat_ns"].items() if key != "bins"}
    kept = {key: read[key] for key in ("bw_bytes", "iops", "total_ios", "io_bytes", "runtime")}
    return {"jobs": [{"error": 0, "read": kept | {"clat_ns": latency}}]}


WHOLE = without_bins(RAW["randread-4096-16"])


def at_random(node, draw):
    """The JSON `node` with one value somewhere in it replaced."""
    if isinstance(node, dict | list) and node and draw(st.integers(0, 5)) > 0:
        key = draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
        copy = node.copy()
        copy[key] = at_random(node[key], draw)
        return copy
    numbers = st.integers(-1, 10**20) | st.floats() | st.booleans() | st.none()
    return draw(numbers | st.text() | st.lists(numbers, max_size=2) | st.dictionaries(st.text(), numbers, max_size=2))


@given(st.data())
def test_a_report_of_another_form_gives_sound_numbers_or_an_error(data):
    changed = at_random(WHOLE, data.draw)
    try:
        result = fio.measurement(json.dumps(changed).encode(), "randread")
    except Unreadable as error:
        assert "\n" not in str(error)
        return
    values = [result.bandwidth, result.iops, result.ios, result.bytes, result.latency, *result.percentiles.values()]
    assert all(math.isfinite(value) and value > 0 for value in values)


@given(st.binary(max_size=300), st.sampled_from(FIO_OPERATIONS))
def test_any_bytes_are_an_error(raw, operation):
    with pytest.raises(Unreadable):
        fio.measurement(raw, operation)


@given(st.integers(1, 10**7))
def test_percentiles_need_calls_beyond_them(ios):
    latencies = dict.fromkeys(fio.PERCENTILES, 5.0)
    given_ = {name for name, _, _ in storage._rows_of(FioResult(1.0, 1.0, ios, 1, 1.0, latencies))}
    assert ("latency_p50" in given_) == (ios >= 20)
    assert ("latency_p99" in given_) == (ios >= 1000)
    assert ("latency_p99.9" in given_) == (ios >= 10000)
    assert {"bandwidth", "iops", "ios", "latency_mean"} <= given_


# -- which places may be measured


@given(st.lists(st.sampled_from(["dev", "shm", "sda", ".", "", "data"]), min_size=1, max_size=5))
def test_no_spelling_of_a_path_below_dev_is_let_through(parts):
    path = "/" + "/".join(parts)
    named = [part for part in parts if part not in (".", "")]
    if named[:1] == ["dev"]:
        with pytest.raises(UserError, match=r"^site.yaml: data\[0\]: found .*expected a data folder.*raw: true"):
            storage.path_of(path, False, "site.yaml: data[0]")
        assert storage.path_of(path, True, "").startswith("/dev")
    else:
        assert storage.path_of(path, False, "") == "/" + "/".join(named)


@pytest.mark.parametrize("path", ["data", "", "/data/../dev/sda", "./x"])
def test_paths_are_absolute_and_plain(path):
    with pytest.raises(UserError, match="expected an absolute path"):
        storage.path_of(path, False, "site.yaml: data[0]")


def test_places_of_a_site():
    host = SimpleNamespace(drive=lambda number: f"/data{number}/run-7")
    site = {"data": ["/data1/", "/data2"], "devices": [{"path": "/dev/nvme1n1", "raw": True}],
            "mount": {"path": "/mnt/lustre"}}  # fmt: skip
    assert [(p.folder, p.kind, p.raw, p.where, p.path) for p in storage.places_of([host], site, "s.yaml")] == [
        ("/data1", "drive", False, "s.yaml: data[0]", "/data1/run-7"),
        ("/data2", "drive", False, "s.yaml: data[1]", "/data2/run-7"),
        ("/dev/nvme1n1", "drive", True, "s.yaml: devices[0]", "/dev/nvme1n1"),
        ("/mnt/lustre", "mount", False, "s.yaml: mount.path", "/mnt/lustre"),
    ]
    with pytest.raises(UserError, match=r"s.yaml: data\[1\]: found '/dev/sdb'"):
        storage.places_of([host], {"data": ["/data1", "/dev/sdb"]}, "s.yaml")


# -- the driver, on hosts that are this machine


class Local(Host):
    """This machine as a host. `answer` may take a command over: it gets argv and returns Completed, or None."""

    role, address = "datanode", "127.0.0.1"

    def __init__(self, name, answer=None):
        self.name, self.answer, self.ran = name, answer or (lambda argv: None), []
        self.daemons = []

    def run(self, argv, env=None, stdin=None, timeout=None):
        argv = [str(word) for word in argv]
        self.ran.append(argv)
        taken = self.answer(argv)
        if taken is not None:
            return taken
        done = subprocess.run(argv, env={**os.environ, **(env or {})}, input=stdin or b"", capture_output=True,
                              timeout=timeout)  # fmt: skip
        return Completed(tuple(argv), done.returncode, done.stdout, done.stderr)

    def start(self, argv, log, env=None, name="", stdin=subprocess.DEVNULL):
        # Its output goes into a pipe that ends with this process, as that of a remote command does.
        carrier = ["sh", "-c", '"$@"; exit $?', "carrier", *argv]
        popen = subprocess.Popen(carrier, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.daemons.append(popen)
        return Process(name, popen, log)

    def put(self, content, path):
        raise NotImplementedError

    get = put
    drive_root = ""

    def drive(self, number):
        raise NotImplementedError


def said(stdout=b"", status=0, stderr=b""):
    return Completed((), status, stdout, stderr)


def fake_fio(argv):
    """fio as it once answered, whatever is asked of it; the file is made as fio would make it."""
    if argv[0] != "fio" or "--version" in argv:
        return None
    options = dict(word.removeprefix("--").split("=", 1) for word in argv if "=" in word)
    Path(options["filename"]).touch()
    return said(RAW["layout" if options["rw"].endswith("write") else "randread-4096-16"])


def job_of(argv):
    """(operation, block, depth) of a command line of fio."""
    options = dict(word.removeprefix("--").split("=", 1) for word in argv if "=" in word)
    return options["rw"], int(options["bs"]), int(options.get("iodepth") or options.get("numjobs", 1))


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setitem(storage.EFFORTS, "smoke", TINY)


@pytest.fixture
def place(tmp_path):
    def made(host, name="drive1", kind="drive", **more):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        return DrivePlace(host, str(folder), kind, where="site.yaml: data[0]", **more)

    return made


@needs_fio
@pytest.mark.parametrize("mode", fio.MODES)
def test_the_curve_of_a_real_folder(place, tmp_path, monkeypatch, mode):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(storage.EFFORTS, "smoke", REAL)

    def without_direct(argv):
        return said(status=1, stderr=b"fio: Invalid argument") if mode == "buffered" and "--direct=1" in argv else None

    host = Local("h1", without_direct)
    target = place(host, "a: b")
    measured = measure_drives([target], "smoke", tmp_path / "raw")
    assert [row["problem"] for row in measured["rows"] if row["problem"]] == []
    assert {row["mode"] for row in measured["rows"]} == {mode}
    assert all(set(row) == set(tables.LINKS_COLUMNS["drives.csv"]) for row in measured["rows"])
    points = {(row["operation"], row["block_bytes"], row["queue_depth"]) for row in measured["rows"]}
    assert points == {(o, b, d) for o in FIO_OPERATIONS for b in REAL.blocks for d in REAL.depths}
    for operation, block, depth in points:
        values = {
            row["metric"]: row["value"]
            for row in measured["rows"]
            if (row["operation"], row["block_bytes"], row["queue_depth"]) == (operation, block, depth)
        }
        assert values["bandwidth"] == pytest.approx(values["iops"] * block / 1e6, rel=0.02)
    assert list(Path(target.folder).iterdir()) == []
    assert {path.name for path in tmp_path.iterdir()} == {"a: b", "raw"}  # nothing where fio was started
    assert json.loads((tmp_path / "raw" / "drives.json").read_text())["rows"] == measured["rows"]
    assert len(list((tmp_path / "raw").glob("fio-h1-1-*.json"))) >= len(points) + 1
    assert all(daemon.poll() is not None for daemon in host.daemons)


@pytest.mark.parametrize(
    "fault",
    [
        said(RAW["no-space"], 1, b"fio: io_u error on file data: No space left on device\n"),
        said(b"", 127, b"sh: fio: not found\n"),
        said(RAW["layout"][:500]),
        subprocess.TimeoutExpired("fio", 60),
        OSError("connection lost"),
        storage.CommandFailed("connection lost"),
    ],
)
def test_a_place_that_fails_says_why_keeps_no_file_and_stops_no_other(place, tmp_path, fault):
    def fails(argv):
        if argv[0] == "fio" and "--version" not in argv and job_of(argv) == ("randread", 64 * KIB, 4):
            if isinstance(fault, Exception):
                raise fault
            return fault
        return fake_fio(argv)

    one, two = place(Local("h1", fails)), place(Local("h1", fake_fio), "drive2")
    measured = measure_drives([one, two], "smoke", tmp_path / "raw")
    bad = [row for row in measured["rows"] if row["folder"] == one.folder and row["metric"] == "failed"]
    assert len(bad) == 1
    assert bad[0]["problem"] and "\n" not in bad[0]["problem"] and bad[0]["value"] == ""
    assert not [row for row in measured["rows"] if row["folder"] == two.folder and row["metric"] == "failed"]
    assert len({(r["operation"], r["block_bytes"], r["queue_depth"]) for r in measured["rows"]
                if r["folder"] == two.folder}) == 16  # fmt: skip
    for target in (one, two):
        assert list(Path(target.folder).iterdir()) == []
    assert {entry["folder"]: bool(entry["problem"]) for entry in measured["places"]} == {one.folder: True,
                                                                                      two.folder: False}  # fmt: skip


NO_DIRECT = said(
    b"fio: pid=15, err=22/file:filesetup.c:805, func=open(/data1/data), error=Invalid argument\n", 1,
    b"fio: looks like your file system does not support direct=1/buffered=0\n"
    b"fio: destination does not support O_DIRECT\n",
)  # fmt: skip
NO_ENGINE = said(
    b"", 1,
    b"fio: engine libaio not loadable\nfio: failed to load engine\n"
    b"fio: file:ioengines.c:89, func=dlopen, error=libaio: cannot open shared object file: No such file or directory\n",
)  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (NO_DIRECT, ""),
        (NO_ENGINE, "layout-direct: fio has no engine libaio: install fio-engine-libaio"),  # axboe/fio#618
        (said(b"", 1, b"fio: io_u error on file data: Input/output error\n"), "Input/output error"),
        (said(b"", 1, b"fio: pid=112, err=11/file:engines/libaio.c:407, func=io_queue_init\n"), "io_queue_init"),
    ],
)
def test_memory_is_measured_only_where_the_file_system_refuses_to_pass_it(place, tmp_path, answer, problem):
    host = Local("h1", lambda argv: answer if "--direct=1" in argv else fake_fio(argv))
    (found,) = measure_drives([place(host)], "smoke", tmp_path / "raw")["places"]
    assert problem in found["problem"] and bool(found["problem"]) == bool(problem)
    assert found["mode"] == ("direct" if problem else "buffered")


def test_an_interrupt_leaves_no_file(place, tmp_path):
    def interrupted(argv):
        if argv[0] == "fio" and "--time_based" in argv:
            raise KeyboardInterrupt
        return fake_fio(argv)

    targets = [place(Local("h1", interrupted)), place(Local("h2", fake_fio), "drive2"),
               place(Local("h2", fake_fio), "shared", kind="mount")]  # fmt: skip
    with pytest.raises(KeyboardInterrupt):
        measure_drives(targets, "smoke", tmp_path / "raw", at_once=2)
    assert all(list(Path(target.folder).iterdir()) == [] for target in targets)
    assert not (tmp_path / "raw" / "drives.json").exists()


KILLED = """
import sys, time
sys.path[:0] = sys.argv[1:3]
from tests.unit.measure.test_drives import Local, TINY, fake_fio
from whitewire.measure import drives as storage
def slow(argv):
    if "--time_based" in argv:
        print("measuring", flush=True)
        time.sleep(60)
    return fake_fio(argv)
storage.EFFORTS["smoke"] = TINY
storage.measure_drives([storage.DrivePlace(Local("h1", slow), sys.argv[3])], "smoke", storage.Path(sys.argv[4]))
"""


@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_measurement_leaves_no_file(tmp_path, way):
    drive = tmp_path / "drive1"
    drive.mkdir()
    sources = [str(Path(storage.__file__).parents[2]), str(Path(__file__).parents[3])]
    argv = [sys.executable, "-c", KILLED, *sources, str(drive), str(tmp_path / "raw")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as running:
        assert running.stdout.readline() == b"measuring\n"
        assert list(drive.glob(f"{storage.PREFIX}*/data"))
        running.send_signal(way)
        running.wait(timeout=10)
    deadline = time.monotonic() + 8
    while list(drive.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert list(drive.iterdir()) == []


def test_what_a_crash_left_is_removed_and_nothing_else(place, tmp_path):
    target = place(Local("h1", fake_fio))
    old, new, foreign = (Path(target.folder) / name for name in (f"{storage.PREFIX}old", f"{storage.PREFIX}new", "dn"))
    for folder in (old, new, foreign):
        folder.mkdir()
    for folder in (old, foreign):
        os.utime(folder, (1, 1))
    measure_drives([target], "smoke", tmp_path / "raw")
    assert sorted(Path(target.folder).iterdir()) == sorted([new, foreign])


def test_files_go_into_the_runs_own_folder_where_there_is_one(tmp_path):
    own = tmp_path / "run-7"
    own.mkdir()
    seen = []

    def answer(argv):
        seen.extend(word for word in argv if word.startswith("--filename="))
        return fake_fio(argv)

    target = DrivePlace(Local("h1", answer), "/data1", inside=str(own))
    measured = measure_drives([target], "smoke", tmp_path / "raw")
    assert {row["folder"] for row in measured["rows"]} == {"/data1"}
    assert seen and all(word.startswith(f"--filename={own}/{storage.PREFIX}") for word in seen)
    assert list(own.iterdir()) == []


def test_the_keeper_has_no_environment_of_the_run(place, tmp_path):
    started = []

    class Watching(Local):
        def start(self, argv, log, env=None, name="", stdin=subprocess.DEVNULL):
            started.append(list(argv))
            return super().start(argv, log, env, name, stdin)

    measure_drives([place(Watching("h1", fake_fio))], "smoke", tmp_path / "raw")
    assert len(started) == 1
    assert started[0][:3] == ["env", "-i", "PATH=/usr/bin:/bin"]


def refused(target, effort="smoke", folder=Path("/nonexistent/raw")):
    """The line of a place that was refused before anything was written."""
    with pytest.raises(UserError) as error:
        measure_drives([target], effort, folder)
    wrote = [argv for argv in target.host.ran if argv[0] in ("mktemp", "rm", "find") or "--filename" in " ".join(argv)]
    assert wrote == []
    assert "\n" not in str(error.value)
    return str(error.value)


def answers(**by_program):
    """A host's answer by program; the first argument that fits is taken."""

    def answer(argv):
        found = by_program.get(argv[0])
        return found(argv) if callable(found) else found

    return answer


BLOCK_DEVICE, CHARACTER_DEVICE = said(b"61b0\n"), said(b"21b6\n")
VERSION = said(b"fio-3.33\n")


def lsblk(**device):
    return said(json.dumps({"blockdevices": [{"name": "sdb", "size": 10**9} | device]}).encode())


def test_a_block_device_under_another_name_is_refused(tmp_path):
    answer = answers(fio=VERSION, readlink=said(b"/srv/disk\n"), stat=BLOCK_DEVICE)
    line = refused(DrivePlace(Local("h1", answer), "/srv/disk", where="site.yaml: data[0]"), folder=tmp_path)
    assert line.startswith("site.yaml: data[0]: h1: /srv/disk: found a device, expected a data folder")
    assert "raw: true" in line


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs /dev/shm")
def test_a_link_to_below_dev_is_refused(tmp_path):
    (tmp_path / "data").symlink_to("/dev/shm")
    answer = answers(fio=VERSION)
    line = refused(DrivePlace(Local("h1", answer), str(tmp_path / "data")), folder=tmp_path / "raw")
    assert "found a device (/dev/shm), expected a data folder" in line


def test_a_file_a_missing_folder_and_one_without_fio_are_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    answer = answers(fio=VERSION)
    assert "found a file, expected a folder" in refused(DrivePlace(Local("h1", answer), str(tmp_path / "file")))
    assert "found nothing, expected a folder that is there" in refused(
        DrivePlace(Local("h1", answer), "/no/such/folder")
    )
    without = answers(fio=said(status=127, stderr=b"no such program"))
    assert "found no fio, expected the program fio" in refused(DrivePlace(Local("h1", without), str(tmp_path)))


def test_a_host_that_does_not_answer_is_named():
    def silent(argv):
        raise subprocess.TimeoutExpired(argv, 60)

    assert refused(DrivePlace(Local("h1", silent), "/data")) == (
        "drives: h1: /data: found a command did not end in 60 s, expected a host that answers"
    )


@pytest.mark.parametrize("effort", list(storage.EFFORTS))
def test_too_little_space_is_refused_before_anything_is_written(place, effort):
    size = storage.EFFORTS[effort].file_bytes

    def stat(argv):
        return said(f"{2 * size // 4096 - 1} 4096 xfs\n".encode()) if "-f" in argv else None

    line = refused(place(Local("h1", answers(fio=VERSION, stat=stat))), effort)
    assert "GiB free, expected" in line and f"{2 * size / 2**30:.2f} GiB or more" in line


@pytest.mark.parametrize(
    "held, says",
    [
        ({"mountpoint": "/data"}, "/data"),
        ({"fstype": "LVM2_member"}, "LVM2_member"),
        ({"children": [{"name": "sdb1"}]}, "partitions"),
    ],
)
def test_a_device_in_use_is_refused_even_with_raw(held, says):
    answer = answers(fio=VERSION, stat=BLOCK_DEVICE, readlink=said(b"/dev/sdb\n"), lsblk=lsblk(**held))
    assert f"found a device in use ({says})" in refused(DrivePlace(Local("h1", answer), "/dev/sdb", raw=True))


def test_raw_is_for_block_devices_only():
    for found in (CHARACTER_DEVICE, said(b"41ed\n")):
        answer = answers(fio=VERSION, stat=found, readlink=said(b"/dev/x\n"))
        assert "expected a block device" in refused(DrivePlace(Local("h1", answer), "/dev/x", raw=True))


def test_an_empty_device_is_measured_with_raw_within_its_size(tmp_path):
    asked = []

    def answer_fio(argv):
        if "--version" in argv:
            return VERSION
        asked.append(argv)
        return said(RAW["layout" if job_of(argv)[0].endswith("write") else "randread-4096-16"])

    answer = answers(fio=answer_fio, stat=BLOCK_DEVICE, readlink=said(b"/dev/sdb\n"), lsblk=lsblk(size=5 * MIB))
    target = DrivePlace(Local("h1", answer), "/dev/sdb", raw=True)
    measure_drives([target], "smoke", tmp_path)
    assert asked
    for argv in asked:
        assert "--filename=/dev/sdb" in argv and "--allow_mounted_write=0" in argv
    assert f"--size={5 * MIB}" in asked[0]
    assert not [argv for argv in target.host.ran if argv[0] in ("mktemp", "rm", "find")]


def test_a_slow_drive_gets_a_shorter_file_and_one_that_hardly_writes_fails(place, tmp_path):
    def slow(megabytes):
        def answer(argv):
            if argv[0] == "fio" and "--time_based" not in argv and "--version" not in argv:
                report = json.loads(RAW["layout"])
                did = report["jobs"][0]["write"]
                did["bw_bytes"] = int(did["bw_bytes"] * megabytes * MIB / did["io_bytes"])
                did["io_bytes"] = int(megabytes * MIB)
                return said(json.dumps(report).encode())
            return fake_fio(argv)

        return Local("h1", answer)

    target = place(slow(3.5))
    measure_drives([target], "smoke", tmp_path / "raw")
    points = [argv for argv in target.host.ran if "--time_based" in argv]
    assert points and all(f"--size={3 * MIB}" in argv for argv in points)
    measured = measure_drives([place(slow(1.5))], "smoke", tmp_path / "raw")
    assert "too few to measure on" in measured["rows"][0]["problem"]


def test_points_that_would_take_more_than_half_of_the_file_are_left_out(place, tmp_path, monkeypatch):
    monkeypatch.setitem(storage.EFFORTS, "smoke", DriveEffort(32 * MIB, 0.1, 1, (4 * KIB, MIB), (1, 16, 64)))
    measured = measure_drives([place(Local("h1", fake_fio))], "smoke", tmp_path / "raw")
    depths = {(row["block_bytes"], row["queue_depth"]) for row in measured["rows"]}
    assert depths == {(4 * KIB, 1), (4 * KIB, 16), (4 * KIB, 64), (MIB, 1), (MIB, 16)}


def test_drives_of_several_hosts_at_once_and_mounts_one_after_another(place, tmp_path):
    together, active, most = threading.Barrier(2, timeout=10), [], []

    def answer(argv):
        if argv[0] == "fio" and "--version" not in argv:
            mount = "shared" in " ".join(argv)
            if mount:
                active.append(1)
                time.sleep(0.005)
                most.append(len(active))
                active.pop()
            elif "--time_based" not in argv:
                together.wait()  # both hosts lay out at the same time, or this breaks
        return fake_fio(argv)

    hosts = [Local("h1", answer), Local("h2", answer)]
    targets = [place(hosts[0]), place(hosts[1], "drive2")]
    targets += [place(host, "shared", kind="mount") for host in hosts]
    measured = measure_drives(targets, "smoke", tmp_path / "raw", at_once=2)
    assert [row["problem"] for row in measured["rows"] if row["problem"]] == []
    assert set(most) == {1}
    assert {(row["host"], row["kind"]) for row in measured["rows"]} == {
        ("h1", "drive"), ("h2", "drive"), ("h1", "mount"), ("h2", "mount")}  # fmt: skip
