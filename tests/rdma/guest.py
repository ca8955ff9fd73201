"""A small guest with two soft RoCE devices under qemu's emulation, and its two ends as hosts.

Built from Debian's packages without root, below .cache. It is for function, not for speed.
"""

from __future__ import annotations

import contextlib
import lzma
import os
import platform
import re
import shlex
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from whitewire.testbed.base import Completed, ProcessDied

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "rdma-guest"
INIT = Path(__file__).with_name("init")

PACKAGES = ("busybox-static", "perftest", "ibverbs-utils", "iproute2", "libgcc-s1")
PROGRAMS = ("ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_write_lat", "ib_read_lat", "ib_send_lat", "ibv_devinfo",
            "ip", "rdma")  # fmt: skip
MODULES = ("virtio_pci", "virtio_console", "veth", "rdma_rxe", "ib_uverbs", "rdma_ucm", "crc32_generic")
"""Of the guest's kernel, with what they depend on; crc32 is asked for by rxe at run time only."""
MODULE_FILES = ("drivers/infiniband/core/*", "drivers/infiniband/sw/*", "drivers/virtio/*", "drivers/char/*",
                "drivers/net/veth*", "fs/configfs/*", "net/ipv4/*", "net/ipv6/*", "crypto/*", "lib/*")  # fmt: skip
"""Where they are, below the kernel's folder of modules."""
SOCKETS = ("default-jre-headless", "iperf3", "librdmacm1")
"""Packages of what runs over sockets, for the tests of transports."""
LIBRARY = "usr/lib/x86_64-linux-gnu/rsocket/librspreload.so"
"""The library that puts sockets on RDMA, below the guest's root."""
RULES = "etc/rdma/rsocket/preload_config"
"""Which sockets it puts there: TCP's alone (docs/sites/transports.md)."""
JAVA, JARS, CLASSES = "/java", "/hadoop", "/classes"
"""In the guest: Java's folder, Hadoop's jars, and the tests' own classes."""
MEMORY_MIB = 1024
MORE_MIB = 4096
"""With Java and Hadoop, which lie in memory as all of the guest's files do."""
QEMU = ("qemu-system-x86", "qemu-system-data", "seabios")

BOOT_SECONDS = 180


class Unavailable(Exception):
    """Why there can be no guest here, in one line."""


def run(argv: Sequence[str | Path], **options) -> str:
    """Standard output of a command; Unavailable when it is missing or fails."""
    try:
        done = subprocess.run(list(map(str, argv)), capture_output=True, text=True, timeout=900, **options)
    except (FileNotFoundError, subprocess.TimeoutExpired) as fault:
        raise Unavailable(f"{Path(argv[0]).name}: {fault}") from None
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()
        raise Unavailable(f"{' '.join(map(str, argv[:3]))}: {said[-1]}")
    return done.stdout


# --- packages ---------------------------------------------------------------------------------------


def closure(packages: Sequence[str], installed: bool) -> list[str]:
    """The packages and all they need; `installed` leaves out what this system has."""
    status = [] if installed else ["-o", "Dir::State::status=/dev/null"]
    planned = run(["apt-get", "install", "--simulate", "--no-install-recommends", *status, *packages])
    return re.findall(r"^Inst (\S+)", planned, flags=re.MULTILINE)


def download(packages: Sequence[str], folder: Path) -> list[Path]:
    """Fetch Debian packages into a folder, as any user may."""
    folder.mkdir(parents=True, exist_ok=True)
    if packages:
        run(["apt-get", "download", "--quiet", *packages], cwd=folder)
    return sorted(folder.glob("*.deb"))


def unpack(archives: Sequence[Path], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for archive in archives:
        run(["dpkg-deb", "--extract", archive, folder])


def first(folder: Path, name: str) -> Path:
    """The file of that name somewhere below a folder."""
    for path in sorted(folder.rglob(name)):
        if path.is_file():
            return path
    raise Unavailable(f"the downloaded packages have no {name}")


# --- building ---------------------------------------------------------------------------------------


def build() -> Path:
    """The folder with `vmlinuz` and `initramfs`, made where it is not there yet. Raises Unavailable."""
    if platform.machine() != "x86_64":
        raise Unavailable(f"the guest is an x86_64, this is {platform.machine()}")
    made, needs = CACHE / "initramfs", max(INIT.stat().st_mtime, Path(__file__).stat().st_mtime)
    if made.exists() and made.stat().st_mtime > needs:
        return CACHE
    archives, tree, root = CACHE / "packages", CACHE / "tree", CACHE / "root"
    for folder in (tree, root):
        shutil.rmtree(folder, ignore_errors=True)
    unpack(download(closure(PACKAGES, installed=False), archives), tree)
    _kernel(root / "modules")
    _programs(tree, root)
    shutil.copy(INIT, root / "init")
    (root / "init").chmod(0o755)
    _archive(tree, root, made)
    for folder in (archives, tree, root, CACHE / "kernel"):
        shutil.rmtree(folder)
    return CACHE


def _kernel(modules: Path) -> None:
    """The kernel itself to CACHE/vmlinuz; the modules, numbered in the order of loading."""
    depends = run(["apt-cache", "depends", "linux-image-amd64"])
    found = re.search(r"linux-image-\d\S*", depends)
    if found is None:
        raise Unavailable("linux-image-amd64 names no kernel")
    (archive,) = download([found[0]], CACHE / "kernel")[-1:]
    unpacked = CACHE / "kernel" / "tree"
    shutil.rmtree(unpacked, ignore_errors=True)
    unpacked.mkdir()
    wanted = ["./boot/vmlinuz-*", "*/modules.builtin", *(f"*/kernel/{files}" for files in MODULE_FILES)]
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE) as whole:
        run(["tar", "--extract", "--directory", unpacked, "--wildcards", *wanted], stdin=whole.stdout)
    shutil.copy(first(unpacked, "vmlinuz-*"), CACHE / "vmlinuz")
    files = {path.name.partition(".ko")[0].replace("-", "_"): path for path in unpacked.rglob("*.ko*")}
    builtin = first(unpacked, "modules.builtin").read_text()
    inside = {Path(line).name.partition(".ko")[0].replace("-", "_") for line in builtin.splitlines()}
    modules.mkdir(parents=True)
    order: list[str] = []

    def add(name: str) -> None:
        if name in order or name in inside:
            return
        if name not in files:
            raise Unavailable(f"{archive.name} has no module {name}")
        content = files[name].read_bytes()
        if files[name].suffix == ".xz":
            content = lzma.decompress(content)
        needed = re.search(rb"\0depends=([^\0]*)\0", content)
        for other in needed[1].decode().split(",") if needed and needed[1] else []:
            add(other.replace("-", "_"))
        order.append(name)
        (modules / f"{len(order):02d}-{name}.ko").write_bytes(content)

    for name in MODULES:
        add(name)


def build_with_sockets(jars: Sequence[Path], sources: Sequence[Path]) -> Path:
    """As build(), in another folder, with Java, Hadoop's jars and classes compiled from sources of tests besides."""
    base, made = build(), CACHE / "sockets"
    needs = max(path.stat().st_mtime for path in (base / "initramfs", Path(__file__), *jars, *sources))
    if (made / "initramfs").exists() and (made / "initramfs").stat().st_mtime > needs:
        return made
    archives, tree, root = CACHE / "packages", CACHE / "tree", CACHE / "root"
    for folder in (tree, root, made):
        shutil.rmtree(folder, ignore_errors=True)
    made.mkdir()
    unpack(download(closure([*PACKAGES, *SOCKETS], installed=False), archives), tree)
    _sockets(tree, root, jars, sources)
    _archive(tree, root, made / "more")
    with (made / "part").open("wb") as whole:  # the kernel unpacks one archive after the other
        for path in (base / "initramfs", made / "more"):
            whole.write(path.read_bytes())
    (made / "more").unlink()
    (made / "vmlinuz").symlink_to(base / "vmlinuz")
    (made / "part").replace(made / "initramfs")
    for folder in (archives, tree, root):
        shutil.rmtree(folder)
    return made


def _sockets(tree: Path, root: Path, jars: Sequence[Path], sources: Sequence[Path]) -> None:
    javas = sorted(tree.glob("usr/lib/jvm/java-*-openjdk-*/bin/java"))
    if not javas:
        raise Unavailable("the downloaded packages have no Java")
    home = javas[-1].parents[1]
    shutil.copytree(home, root / JAVA.strip("/"), symlinks=True)
    for settings in tree.glob("etc/java-*-openjdk"):  # Java's own are links to these
        shutil.copytree(settings, root / settings.relative_to(tree), symlinks=True)
    library = (tree / LIBRARY).resolve()
    programs = [tree / "usr/bin/iperf3", library, home / "bin/java", *home.rglob("*.so")]
    _libraries(tree, root, programs, own=home)
    (root / "usr/bin").mkdir(parents=True, exist_ok=True)
    shutil.copy(programs[0], root / "usr/bin/iperf3")
    (root / "usr/bin/bash").write_text('#!/bin/sh\nexec /bin/sh "$@"\n')  # Hadoop asks df by it
    (root / "usr/bin/bash").chmod(0o755)
    (root / LIBRARY).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(library, root / LIBRARY)
    (root / RULES).parent.mkdir(parents=True)
    (root / RULES).write_text("* INET STREAM *\n")
    for folder in (JARS, CLASSES, "/etc"):
        (root / folder.strip("/")).mkdir(exist_ok=True)
    for jar in jars:
        shutil.copy(jar, root / JARS.strip("/"))
    run(["javac", "--release", "17", "-d", root / CLASSES.strip("/"), *sources])
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n10.0.0.2 guest\n")
    (root / "etc/passwd").write_text("root:x:0:0:root:/tmp:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\n")


def _libraries(tree: Path, root: Path, programs: Sequence[Path], own: Path) -> None:
    """What programs are linked with, but for what lies in a folder of their own."""
    loader = first(tree, "ld-linux-x86-64.so.2")
    path = ":".join(str(tree / part / "x86_64-linux-gnu") for part in ("lib", "usr/lib"))
    path = f"{path}:{own / 'lib'}:{own / 'lib/server'}"
    found: set[Path] = set()
    for program in programs:
        listed = run([loader, "--library-path", path, "--list", program])
        found |= {Path(each) for each in re.findall(r"=> (/\S+)", listed)}
    place = root / "lib/x86_64-linux-gnu"
    place.mkdir(parents=True, exist_ok=True)
    for library in found:
        if not library.is_relative_to(own):
            shutil.copy(library, place / library.name)


def _programs(tree: Path, root: Path) -> None:
    """busybox, the programs with the libraries that their loader names, and the user's part of rxe."""
    for folder in ("bin", "usr/bin", "lib64", "lib/x86_64-linux-gnu", "etc/libibverbs.d", "dev", "proc", "sys", "tmp"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    shutil.copy(first(tree, "busybox"), root / "bin" / "busybox")
    (root / "bin" / "sh").symlink_to("busybox")
    loader = first(tree, "ld-linux-x86-64.so.2")
    shutil.copy(loader, root / "lib64" / "ld-linux-x86-64.so.2")
    provider = first(tree, "librxe-rdmav*.so")
    path = ":".join(str(tree / part / "x86_64-linux-gnu") for part in ("lib", "usr/lib"))
    libraries = {first(tree, "libgcc_s.so.1")}
    for program in [*(first(tree, name) for name in PROGRAMS), provider]:
        if program != provider:
            shutil.copy(program, root / "usr/bin" / program.name)
        listed = run([loader, "--library-path", path, "--list", program])
        libraries |= {Path(found) for found in re.findall(r"=> (\S+)", listed)}
    for library in libraries:
        shutil.copy(library, root / "lib/x86_64-linux-gnu" / library.name)
    place = root / provider.relative_to(tree).parent
    place.mkdir(parents=True, exist_ok=True)
    shutil.copy(provider, place)
    shutil.copy(first(tree, "rxe.driver"), root / "etc/libibverbs.d")


def _archive(tree: Path, root: Path, target: Path) -> None:
    """The root folder as a compressed archive that the kernel unpacks, made by the guest's own busybox."""
    names = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
    packed = subprocess.run(
        [first(tree, "busybox"), "cpio", "-o", "-H", "newc"], input=names.encode(), cwd=root, capture_output=True
    )
    if packed.returncode != 0:
        raise Unavailable(f"busybox cpio: {packed.stderr.decode(errors='replace').strip()}")
    small = subprocess.run(["gzip", "--fast"], input=packed.stdout, capture_output=True, check=True).stdout
    target.with_suffix(".part").write_bytes(small)
    target.with_suffix(".part").replace(target)


def qemu() -> tuple[list[str], dict[str, str]]:
    """The beginning of qemu's command line and its environment: this system's, or one unpacked from packages."""
    if program := shutil.which("qemu-system-x86_64"):
        return [program], dict(os.environ)
    tree = CACHE / "qemu"
    if not (tree / "done").exists():
        shutil.rmtree(tree, ignore_errors=True)
        unpack(download(closure(QEMU, installed=True), CACHE / "qemu-packages"), tree)
        shutil.rmtree(CACHE / "qemu-packages")
        (tree / "done").touch()
    libraries = sorted({str(path.parent) for path in tree.rglob("*.so*")})
    firmware = [option for name in ("qemu", "seabios") for option in ("-L", str(tree / "usr/share" / name))]
    return [str(first(tree, "qemu-system-x86_64")), *firmware], os.environ | {"LD_LIBRARY_PATH": ":".join(libraries)}


# --- running ----------------------------------------------------------------------------------------


class Guest:
    """The running guest; `ask` sends one request over its serial port. It ends with the `with` block."""

    def __init__(self, folder: Path, memory_mib: int = MEMORY_MIB) -> None:
        self.folder, self.memory_mib = folder, memory_mib
        self.place = Path(tempfile.mkdtemp(prefix="rdma-"))  # a socket's path has to be short
        self.console = self.place / "console.txt"
        self.popen: subprocess.Popen | None = None
        self.channel: socket.socket | None = None
        self.turn = threading.Lock()  # hosts are asked side by side, over one port

    def __enter__(self) -> Guest:
        program, environment = qemu()
        argv = [
            "setpriv", "--pdeathsig", "KILL", "--", *program, "-nodefaults", "-no-user-config", "-no-reboot",
            "-display", "none", "-nic", "none", "-accel", "tcg", "-cpu", "qemu64", "-smp", "2",
            "-m", str(self.memory_mib),
            "-kernel", str(self.folder / "vmlinuz"), "-initrd", str(self.folder / "initramfs"),
            "-append", "console=ttyS0 panic=-1 quiet", "-serial", f"file:{self.console}",
            "-device", "virtio-serial-pci", "-device", "virtserialport,chardev=agent",
            "-chardev", f"socket,id=agent,path={self.place}/agent,server=on,wait=off",
        ]  # fmt: skip
        said = self.place / "qemu.txt"
        with said.open("wb") as output:
            self.popen = subprocess.Popen(
                argv, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
        try:
            self.channel = self._connect(said)
            self.channel.settimeout(BOOT_SECONDS)
            assert self.run(["true"]).status == 0, self.log()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _connect(self, said: Path) -> socket.socket:
        channel, deadline = socket.socket(socket.AF_UNIX), time.monotonic() + 20
        while True:
            try:
                channel.connect(f"{self.place}/agent")
                return channel
            except OSError:
                assert self.popen.poll() is None, f"qemu ended: {said.read_text(errors='replace')[-500:]}"
                assert time.monotonic() < deadline, "qemu opened no socket"
                time.sleep(0.05)

    def log(self) -> str:
        return self.console.read_text(errors="replace")[-3000:] if self.console.exists() else "no console"

    def ask(self, verb: str, words: Sequence[str], timeout: float = BOOT_SECONDS) -> Completed:
        with self.turn:
            self.channel.settimeout(timeout)
            self.channel.sendall(f"{verb} {shlex.join(words)}\n".encode())
            head = b""
            try:
                while not head.endswith(b"\n"):
                    head += self._read(1)
                status, out, err = map(int, head.split())
                return Completed(tuple(words), status, self._read(out), self._read(err))
            except TimeoutError:
                raise AssertionError(f"the guest does not answer; its console ends:\n{self.log()}") from None

    def run(self, argv: Sequence, timeout: float | None = None) -> Completed:
        """Run a command to its end, at most `timeout` seconds (120 by default)."""
        limit = int(timeout or 120) + 1
        begin = time.monotonic()
        done = self.ask("run", [str(limit), *map(str, argv)], limit + BOOT_SECONDS)
        if done.status == 137 and time.monotonic() - begin >= limit:
            raise subprocess.TimeoutExpired(list(argv), limit)
        return Completed(tuple(map(str, argv)), done.status, done.stdout, done.stderr)

    def put(self, text: str, path: str) -> None:
        """Write a file; a request is one line, so ends of lines go there as escapes."""
        escaped = text.replace("\\", "\\\\").replace("\n", "\\n")
        self.run(["sh", "-c", 'printf %b "$1" > "$2"', "sh", escaped, path]).check()

    def _read(self, count: int) -> bytes:
        content = b""
        while len(content) < count:
            part = self.channel.recv(count - len(content))
            assert part, f"the guest ended; its console:\n{self.log()}"
            content += part
        return content

    def __exit__(self, *exception) -> None:
        if self.channel is not None:
            self.channel.close()
        if self.popen is not None:
            self.popen.kill()
            self.popen.wait(timeout=20)
        shutil.rmtree(self.place, ignore_errors=True)


class GuestProcess:
    """A command that goes on in the guest while others run."""

    def __init__(self, guest: Guest, number: str, name: str, log: Path) -> None:
        self.guest, self.number, self.name, self.log = guest, number, name, log

    def check(self) -> None:
        if self.guest.run(["test", "-e", f"/tmp/status.{self.number}"]).status == 0:
            said = self.guest.run(["cat", f"/tmp/log.{self.number}"]).stdout.decode(errors="replace")
            raise ProcessDied(f"{self.name} ended; its log ends:\n{said[-500:]}")

    def stop(self) -> None:
        self.log.write_bytes(self.guest.ask("stop", [self.number]).stdout)


class GuestHost:
    """One end of the guest's link, as a host of a testbed: both ends are the same machine."""

    def __init__(self, guest: Guest, name: str, role: str, address: str) -> None:
        self.guest, self.name, self.role, self.address = guest, name, role, address

    def run(self, argv, env=None, stdin=None, timeout=None) -> Completed:
        return self.guest.run(argv, timeout)

    def start(self, argv, log, env=None, name="", stdin=None) -> GuestProcess:
        number = self.guest.ask("start", list(map(str, argv))).stdout.decode().strip()
        return GuestProcess(self.guest, number, name or f"{argv[0]} on {self.name}", log)


@contextlib.contextmanager
def booted():
    """The guest, built where needed. Raises Unavailable where there can be none."""
    folder = build()
    qemu()
    with Guest(folder) as guest:
        yield guest


@contextlib.contextmanager
def booted_with_sockets(jars: Sequence[Path], sources: Sequence[Path]):
    """The same with Java, Hadoop's jars and classes of tests."""
    folder = build_with_sockets(jars, sources)
    qemu()
    with Guest(folder, MORE_MIB) as guest:
        yield guest
