"""CephFS on a testbed's hosts: the stand-in for Lustre, a parallel file system with stripes over object targets.

A metadata server and a monitor run on the host of role `mds`, four object stores (OSTs; Ceph's OSDs with their data
in memory) on each host of role `oss`, and ceph-fuse mounts the file system on the clients. Each OST sits behind a
drive (ost_drives.py). What leaves or enters the host itself passes the host's link as the testbed's fabric shapes it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from whitewire.cluster.ost_drives import Ost, OstDrives
from whitewire.cluster.service import Service
from whitewire.description.paper import OSTS_PER_OSS
from whitewire.design.scaling import LEAST_STRIPE
from whitewire.errors import UserError
from whitewire.paths import HOME
from whitewire.testbed.base import CommandFailed, Host, Process, ProcessDied, Testbed, piped
from whitewire.testbed.each import on_each
from whitewire.testbed.emulated.software import ROOT

_FOLDER = f"{ROOT}/ceph"
MOUNT = f"{ROOT}/cephfs"
CONFIGURATION = f"{_FOLDER}/ceph.conf"
PLACEMENT = f"{_FOLDER}/libplacement.so"
PLACEMENT_SOURCE = HOME / "src" / "ceph" / "placement.c"
COMMANDS = Path(__file__).with_name("ceph_commands.py")
PYTHON = "/usr/bin/python3"
"""The system's own, for which Debian builds Ceph's `rados` module."""

_PROGRAMS = {"ceph-mon": "ceph-mon", "ceph-mds": "ceph-mds", "ceph-osd": "ceph-osd", "ceph-fuse": "ceph-fuse",
             "gcc": "gcc", "ip": "iproute2", "tc": "iproute2"}  # fmt: skip
PROOFS = 4
"""Checks at a start, at most, that stripes reach their OSTs."""
LARGEST_OBJECT = 2**30
"""Most bytes of an object: more than any scaled file has on one OST, so that an OST has one per file, as in Lustre."""
SHAPER_TRIAL = """
ip link add name wire0 type veth peer name wire1 && ip link add shaper type ifb && ip link set wire0 up &&
tc qdisc add dev shaper root handle 1: htb default 1 && tc qdisc add dev wire0 handle ffff: ingress &&
tc filter add dev wire0 parent ffff: protocol ip prio 2 u32 match u32 0 0 action mirred egress redirect dev shaper
"""

SET_LAYOUT = "import os, sys; os.makedirs(sys.argv[1], exist_ok=True); " \
    "os.setxattr(sys.argv[1], 'ceph.dir.layout', sys.argv[2].encode())"  # fmt: skip

GET_LAYOUT = "import os, sys; print(os.getxattr(sys.argv[1], 'ceph.dir.layout').decode())"

_QUIET = ("ms", "mon", "monc", "osd", "paxos", "auth", "objecter", "objectcacher", "client", "filer", "journaler",
          "mds", "mds_balancer", "mds_log", "mds_migrator", "rocksdb", "memdb", "throttle", "timer", "finisher",
          "optracker", "objclass", "heartbeatmap", "perfcounter", "bluestore", "crush", "context", "asok", "mgrc",
          "buffer", "filestore", "fuse", "rados", "leveldb")  # fmt: skip
"""Ceph's subsystems that gather no debug messages; their errors are still logged."""


def cephfs_unavailable() -> str:
    """Why CephFS cannot be had here, with the remedy, in one line; empty when it can."""
    missing = [program for program in _PROGRAMS if shutil.which(program) is None]
    if missing:
        packages = " ".join(dict.fromkeys(_PROGRAMS[program] for program in missing))
        return f"missing: {', '.join(missing)}; install {packages}"
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        return f"/dev/fuse: {error.strerror}; as root: modprobe fuse; chmod 666 /dev/fuse"
    if _fails([PYTHON, "-c", "import rados"]):
        return f"{PYTHON} has no module rados; install python3-rados"
    if _fails(["unshare", "--user", "--map-root-user", "--net", "sh", "-c", SHAPER_TRIAL]):
        return "the kernel cannot shape drives; as root: modprobe ifb act_mirred cls_u32 sch_ingress sch_htb"
    return ""


def _fails(argv: Sequence[str]) -> bool:
    try:
        return subprocess.run(argv, capture_output=True, stdin=subprocess.DEVNULL, timeout=20).returncode != 0
    except (OSError, subprocess.TimeoutExpired):
        return True


def layout_text(stripe_count: int, stripe_size: int, osts: int) -> str:
    """A layout in the notation of CephFS. Raises UserError for an impossible one."""
    if not 1 <= stripe_count <= osts:
        raise UserError(f"cephfs: stripe_count is {stripe_count}, expected 1 to {osts}, the number of OSTs")
    if stripe_size < LEAST_STRIPE or stripe_size % LEAST_STRIPE or stripe_size > LARGEST_OBJECT:
        raise UserError(f"cephfs: stripe_size is {stripe_size} bytes, expected a multiple of {LEAST_STRIPE}")
    size = LARGEST_OBJECT // stripe_size * stripe_size
    return f"stripe_unit={stripe_size} stripe_count={stripe_count} object_size={size} pool=ost"


@dataclass(frozen=True)
class MountOptions:
    """What a client may hold: bytes not yet written, bytes read ahead."""

    max_dirty: int
    readahead: int

    def argv(self) -> list[str]:
        """The mount's command-line options."""
        # Lustre sends what it has as soon as it fills one request, not when the client's memory is full.
        options = {
            "client_oc_max_dirty": self.max_dirty,
            "client_oc_target_dirty": min(self.max_dirty // 2, LEAST_STRIPE),
            "client_oc_size": max(64 * 2**20, 4 * (self.max_dirty + self.readahead)),
            "client_readahead_min": self.readahead,
            "client_readahead_max_bytes": self.readahead,
            "client_readahead_max_periods": 1024 if self.readahead else 0,
        }
        return [f"--{name}={value}" for name, value in options.items()]


def _options(process: Process) -> list[str]:
    """The options that a mount's process was started with, by the kernel."""
    main = process.main_process()
    return [] if main is None else [word for word in main.cmdline() if word.startswith("--client_")]


def _configuration(fsid: str, monitor: str, osts: Sequence[Ost], folders: Mapping[str, str]) -> bytes:
    """ceph.conf. `folders` maps each daemon (mon.a, mds.a, osd.0, …) to its data folder."""
    common: dict[str, object] = {
        "fsid": fsid,
        "mon host": f"[v2:{monitor}:3300/0]",
        "auth cluster required": "none",
        "auth service required": "none",
        "auth client required": "none",
        "ms bind msgr1": False,
        "ms async op threads": 1,
        "ms bind retry delay": 1,
        "admin socket": "",
        "log to file": False,
        "log to stderr": True,
        "err to stderr": True,
        "mon cluster log to file": False,
        # A cluster of one of everything, quick to form.
        "osd pool default size": 1,
        "osd pool default min size": 1,
        "osd pool default pg autoscale mode": "off",
        "osd crush chooseleaf type": 0,
        "osd crush update on start": False,
        "mon allow pool size one": True,
        "mon warn on pool no redundancy": False,
        "mon data avail crit": 0,
        "mon data avail warn": 0,
        "mon max pg per osd": 1000,
        "paxos propose interval": 0.02,
        "paxos min wait": 0.01,
        "mon tick interval": 1,
        "mds beacon interval": 1,
        "mds tick interval": 1,
        # A slow drive is not a dead one; daemons that end are noticed by their processes.
        "mds beacon grace": 3600,
        "osd heartbeat grace": 3600,
        "osd heartbeat interval": 60,
        "mon osd report timeout": 36000,
        "mds session timeout": 3600,
        "mds session autoclose": 36000,
        # Files get consecutive numbers over all clients, and with them their OSTs (src/ceph/placement.c).
        "mds client prealloc inos": 0,
        "osd objectstore": "memstore",
        "memstore device bytes": 2**34,
        "osd max object size": 2 * LARGEST_OBJECT,
        "osd op num shards": 1,
        "osd op num threads per shard": 1,
        "osd op queue": "wpq",
        "osd min pg log entries": 10,
        "osd max pg log entries": 100,
        "osd class load list": "",
        "osd scrub begin hour": 0,
        "osd scrub min interval": 1e8,
        "osd scrub max interval": 1e9,
        "osd deep scrub interval": 1e9,
        # The kernel's cache is dropped through FUSE: a user namespace may not remount.
        "client try dentry invalidate": True,
        "client die on failed dentry invalidate": False,
        "client die on failed remount": False,
    }
    lines = ["[global]"]
    lines += [f"{name} = {str(value).lower() if isinstance(value, bool) else value}" for name, value in common.items()]
    lines += [f"debug {subsystem} = 0/0" for subsystem in _QUIET]
    kinds = {"mon": "mon data", "mds": "mds data", "osd": "osd data"}
    for daemon, folder in folders.items():
        lines += [f"[{daemon}]", f"{kinds[daemon[:3]]} = {folder}"]
    for ost in osts:
        lines += [f"[osd.{ost.number}]", f"public addr = {ost.address}"]
    return ("\n".join(lines) + "\n").encode()


class CephFs(Service):
    """A running CephFS. `ost_rate`: reads and writes of one OST together, bytes/s, already divided by k."""

    kind = "cephfs"

    def __init__(self, testbed: Testbed, ost_rate: float, logs: Path, readahead: int = 8 * 2**20) -> None:
        self.testbed, self.logs, self.mount = testbed, logs, MOUNT
        self.options = MountOptions(32 * 2**20, readahead)
        self.mds_host, self.oss_hosts = testbed.by_role("mds")[0], testbed.by_role("oss")
        servers = [self.mds_host, *self.oss_hosts]
        self.clients = [host for host in testbed.hosts if host not in servers]
        self.osts = [
            Ost(server * OSTS_PER_OSS + place, host, f"10.78.{server + 1}.{place + 1}")
            for server, host in enumerate(self.oss_hosts)
            for place in range(OSTS_PER_OSS)
        ]
        if ost_rate <= 0 or not self.clients:
            raise UserError(f"cephfs: {len(self.clients)} clients at {ost_rate} bytes/s an OST, expected more than 0")
        self.drives = OstDrives(self.osts, self.clients, ost_rate)
        self.daemons: dict[str, Process] = {}
        self.mounts: dict[str, Process] = {}
        self.layouts: dict[str, str] = {}
        self.first_failure = ""
        """Why the first start failed, when a second one was needed."""

    # -- life ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start everything, mount it and check that stripes reach their OSTs; tries again once if that fails.

        Raises UserError when this machine cannot run CephFS, ProcessDied with the name and the log's end of the
        daemon that died, TimeoutError likewise.
        """
        lacking = cephfs_unavailable()
        if lacking:
            raise UserError(f"cephfs: {lacking}")
        for attempt in (1, 2):
            begin = time.monotonic()
            try:
                self._start()
                break
            except (ProcessDied, CommandFailed, TimeoutError) as error:
                self.stop()
                if attempt == 2:
                    raise
                self.first_failure = str(error)
            except BaseException:
                self.stop()
                raise
        self.start_seconds = time.monotonic() - begin

    def _start(self) -> None:
        metadata = Ost(len(self.osts), self.mds_host, self.mds_host.address)
        folders = {"mon.a": f"{self.mds_host.folder}/ceph/mon", "mds.a": f"{self.mds_host.folder}/ceph/mds"}
        folders |= {f"osd.{ost.number}": f"{ost.host.folder}/ceph/{ost.name}" for ost in [*self.osts, metadata]}
        self.testbed.share(PLACEMENT, compiled_placement())
        settings = _configuration(str(uuid.uuid4()), self.mds_host.address, [*self.osts, metadata], folders)
        self.testbed.share(CONFIGURATION, settings)
        identities = {ost.number: str(uuid.uuid4()) for ost in [*self.osts, metadata]}
        plan = {
            "configuration": CONFIGURATION,
            "roots": {"ost": {ost.number: identities[ost.number] for ost in self.osts},
                      "mdt": {metadata.number: identities[metadata.number]}},
            "metadata": "mdt",
            "data": "ost",
        }  # fmt: skip
        with ThreadPoolExecutor(max_workers=4) as pool:
            monitor = pool.submit(self._start_monitor, folders["mon.a"], plan)
            others = [pool.submit(self.drives.make, host, f"10.78.{server}.254")
                      for server, host in enumerate(self.oss_hosts, start=1)]  # fmt: skip
            others += [pool.submit(self._make_osd, ost, identities[ost.number], folders)
                       for ost in [*self.osts, metadata]]  # fmt: skip
            others += [pool.submit(self._make_client, host) for host in self.testbed.hosts]
            commands = monitor.result()
            for other in others:
                other.result()
        self.wait_for(commands, r"(?m)^created$")
        for ost in self.osts:
            self._start_osd(ost, ost.name, ["nsenter", f"--net=/run/netns/{ost.name}", "--"])
        self._start_osd(metadata, "mdt", [])
        self._start_daemon("mds", self.mds_host, ["ceph-mds", "-f", "-i", "a"], "metadata server")
        self.wait_for(commands, r"(?m)^ready$")
        commands.popen.wait(timeout=10)
        self._mount()
        self._prove()
        self.layout("", stripe_count=1, stripe_size=2**20)

    def _start_monitor(self, folder: str, plan: Mapping) -> Process:
        self.mds_host.run(["mkdir", "-p", folder, f"{self.mds_host.folder}/ceph/mds"]).check()
        self.mds_host.run(["ceph-mon", "-c", CONFIGURATION, "-i", "a", "--mkfs"]).check()
        self._start_daemon("mon", self.mds_host, ["ceph-mon", "-f", "-i", "a"], "monitor")
        commands = self.mds_host.start(
            [PYTHON, "-c", COMMANDS.read_text(encoding="utf-8")],
            self.logs / "ceph-commands.log", name="making of the file system", stdin=subprocess.PIPE,
        )  # fmt: skip
        with piped(commands.popen.stdin) as stdin:
            stdin.write(json.dumps(plan).encode())
        return commands

    def _make_osd(self, ost: Ost, identity: str, folders: Mapping[str, str]) -> None:
        number = str(ost.number)
        ost.host.run(["mkdir", "-p", folders[f"osd.{number}"]]).check()
        ost.host.run(["ceph-osd", "-c", CONFIGURATION, "-i", number, "--mkfs", "--no-mon-config",
                      f"--osd-uuid={identity}"]).check()  # fmt: skip

    def _make_client(self, host: Host) -> None:
        """Make a client's routes to the OSTs and its mount point."""
        routes = [f"route replace 10.78.{server + 1}.0/24 via {oss.address}"
                  for server, oss in enumerate(self.oss_hosts) if oss is not host]  # fmt: skip
        host.run(["ip", "-batch", "-"], stdin="\n".join(routes).encode()).check()
        host.run(["mkdir", "-p", MOUNT]).check()

    def _environment(self) -> dict[str, str]:
        return {"LD_PRELOAD": PLACEMENT, "WHITEWIRE_OSTS": str(len(self.osts))}

    def _start_daemon(self, key: str, host: Host, argv: Sequence[str], name: str, prefix: Sequence[str] = ()) -> None:
        full = [*prefix, argv[0], "-c", CONFIGURATION, *argv[1:]]
        self.daemons[key] = host.start(full, self.logs / f"{key}.log", self._environment(), f"CephFS {name}")

    def _start_osd(self, ost: Ost, key: str, prefix: Sequence[str]) -> None:
        self._start_daemon(
            key, ost.host, ["ceph-osd", "-f", "-i", str(ost.number)], f"{key} on {ost.host.name}", prefix
        )

    def _mount(self) -> None:
        for host in self.clients:
            argv = ["ceph-fuse", "-f", "-c", CONFIGURATION, "-n", f"client.{host.name}", *self.options.argv(), MOUNT]
            self.mounts[host.name] = host.start(
                argv, self.logs / f"mount-{host.name}.log", self._environment(), f"CephFS mount on {host.name}"
            )
        for mount in self.mounts.values():
            self.wait_for(mount, r"starting fuse")

    def _unmount(self, host: Host) -> None:
        process = self.mounts.pop(host.name, None)
        if process is not None:
            process.stop(timeout=20)
        host.run(["umount", "--lazy", MOUNT])

    def _prove(self) -> None:
        """Write one stripe to each OST and check that it arrived there.

        OSTs that have just started still exchange state over the same links, so an excess is checked again.
        """
        for _ in range(PROOFS):
            before, name = self.drives.moved(), f"{MOUNT}/.proof"
            self.layout(".proof", len(self.osts), LEAST_STRIPE)
            size = len(self.osts) * LEAST_STRIPE
            argv = ["dd", "if=/dev/zero", f"of={name}/file", f"bs={size}", "count=1", "conv=fsync"]
            self.clients[0].run(argv).check()
            got = {ost: after - before[ost] for ost, after in self.drives.moved().items()}
            self.clients[0].run(["rm", "-rf", name]).check()
            uneven = [ost for ost, moved in got.items() if not 0.9 * LEAST_STRIPE < moved < 1.9 * LEAST_STRIPE]
            if not uneven:
                return
        shares = ", ".join(f"{ost} got {got[ost]}" for ost in uneven)
        raise CommandFailed(f"cephfs: stripes of {LEAST_STRIPE} bytes are not spread evenly: {shares}")

    def stop(self) -> None:
        for process in self.processes().values():
            process.kill()
        self.daemons, self.mounts = {}, {}
        for host in self.clients:
            host.run(["umount", "--lazy", MOUNT])
        self.drives.remove()
        for host in [self.mds_host, *self.oss_hosts]:
            host.run(["rm", "-rf", f"{host.folder}/ceph"])

    def processes(self) -> dict[str, Process]:
        """Every process: mon, mds, mdt, ost1, …, and mount-<host>."""
        return self.daemons | {f"mount-{name}": process for name, process in self.mounts.items()}

    # -- use ----------------------------------------------------------------------------------------------

    def path(self, path: str) -> str:
        """A path below the mount, given relative to it or in full. Raises UserError for one elsewhere."""
        full = os.path.normpath(os.path.join(MOUNT, path))
        if full != MOUNT and not full.startswith(f"{MOUNT}/"):
            raise UserError(f"cephfs: {path} is not below {MOUNT}")
        return full

    def layout(self, path: str, stripe_count: int, stripe_size: int) -> str:
        """Set the stripes of files that will be made in a folder (made if missing); returns them as text."""
        words = layout_text(stripe_count, stripe_size, len(self.osts))
        self.clients[0].run([PYTHON, "-c", SET_LAYOUT, self.path(path), words]).check()
        self.layouts[self.path(path)] = words
        return words

    def asked(self, path: str) -> dict[str, object]:
        """The settings that were requested last: the layout of a folder, the options of the mounts."""
        return {"kind": "cephfs", "layout": self.layouts[self.path(path)], "options": self.options.argv()}

    def reported(self, path: str) -> dict[str, object]:
        """The layout that a folder reports, and the options of the mounts' processes (if these differ, odd ones)."""
        said = self.clients[0].run([PYTHON, "-c", GET_LAYOUT, self.path(path)]).check().stdout.decode().strip()
        found = {tuple(_options(process)) for process in self.mounts.values()}
        odd = [options for options in found if list(options) != self.options.argv()]
        return {"kind": "cephfs", "layout": said, "options": list((odd or [*found, ()])[0])}

    def remount(self, max_dirty: int | None = None, readahead: int | None = None) -> float:
        """Mount again, with empty caches and the settings given; returns the seconds taken."""
        begin = time.monotonic()
        changes = {"max_dirty": max_dirty, "readahead": readahead}
        self.options = replace(self.options, **{name: value for name, value in changes.items() if value is not None})
        on_each(self.clients, self._unmount, at_once=4)
        self._mount()
        return time.monotonic() - begin

    def remove(self, path: str) -> None:
        """Delete a path and all below it."""
        full = self.path(path)
        if full == MOUNT:
            raise UserError("cephfs: the root is not removed")
        self.clients[0].run(["rm", "-rf", full]).check()


def compiled_placement() -> bytes:
    """src/ceph/placement.c as a shared library."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "libplacement.so"
        argv = ["gcc", "-std=gnu11", "-O2", "-shared", "-fPIC", "-o", str(library), str(PLACEMENT_SOURCE), "-ldl"]
        done = subprocess.run(argv, capture_output=True, text=True)
        if done.returncode != 0:
            raise UserError(f"cephfs: {PLACEMENT_SOURCE} does not compile: {done.stderr.strip()[-300:]}")
        return library.read_bytes()
