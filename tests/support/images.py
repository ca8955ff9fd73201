"""Real images of this machine's own programs, made by its Apptainer: no registry and no network is needed."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from tests.support.site import Site

PACKAGES = (
    "bash", "coreutils", "curl", "dash", "debianutils", "diffutils", "ethtool", "findutils", "fio", "gawk", "grep",
    "hostname", "iperf3", "iproute2", "libc-bin", "mawk", "procps", "sed", "tar", "util-linux",
)  # fmt: skip
"""Whose commands are in an image."""
FILES = ("/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/services", "/etc/protocols", "/etc/hosts")


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def processes(site: Site) -> list[str]:
    """Processes that Apptainer has on any host of a site: state, number, parent's number, seconds, command."""
    argv = ["ps", "-eo", "comm=,stat=,pid=,ppid=,etimes=,args="]
    found = site.testbed.inside(argv).stdout.decode().splitlines()
    return [line for line in found if line.startswith(("squashfuse", "starter", "Apptainer", "apptainer"))]


def said(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout


def commands() -> set[Path]:
    """The files of PACKAGES, as far as they are installed, that are commands."""
    done = subprocess.run(["dpkg-query", "--listfiles", *PACKAGES], capture_output=True, text=True)
    found = {Path(line) for line in done.stdout.splitlines() if re.match(r"(/usr)?/s?bin/", line)}
    return {path for path in found if path.is_file()}


def libraries(programs: Iterable[Path]) -> set[Path]:
    """What the programs are linked with."""
    output = subprocess.run(["ldd", *map(str, programs)], capture_output=True, text=True).stdout
    return {Path(path) for path in re.findall(r"(?m)^\s+(?:\S+ => )?(/\S+) \(0x", output)}


def image(folder: Path, name: str = "hosts", java: bool = True) -> Path:
    """An image with these commands and, unless it is to lack it, this machine's Java. It's at `folder`/`name`.sif."""
    root, copied = folder / f"{name}-root", commands()
    for place in ("usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "etc", "tmp", "proc", "sys", "dev", "var/tmp"):
        (root / place).mkdir(parents=True)
    for link in ("bin", "sbin", "lib", "lib64"):
        (root / link).symlink_to(f"usr/{link}")
    linked = set(copied)
    if java:
        home = Path(said("readlink", "-f", shutil.which("java") or "").strip()).parents[1]
        shutil.copytree(home, root / home.relative_to("/"), ignore=shutil.ignore_patterns("jmods", "src.zip", "*.jsa"),
                        ignore_dangling_symlinks=True)  # fmt: skip
        (root / "usr/bin/java").symlink_to(home / "bin" / "java")
        linked |= {home / "bin" / "java", *home.glob("lib/**/*.so")}
    for path in copied | libraries(linked) | {Path(file) for file in FILES}:
        target = root / path.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file() and not target.exists():
            shutil.copy2(path, target)
    (root / "usr/bin/sh").unlink(missing_ok=True)
    (root / "usr/bin/sh").symlink_to("dash")
    (root / "usr/bin/awk").symlink_to("mawk")
    said("apptainer", "build", "--force", str(folder / f"{name}.sif"), str(root))
    shutil.rmtree(root)
    return folder / f"{name}.sif"


def of_other_machines(made: Path, architecture: int = 4) -> Path:
    """The same file system as that of a machine of another architecture (4: arm64), as `apptainer sif` counts them."""
    other, system = made.with_name("other.sif"), made.with_name("other.squashfs")
    number = re.search(r"(?m)^\s*(\d+)\s.*FS \(Squashfs/\*System", said("apptainer", "sif", "list", str(made)))
    assert number, "no file system in the image"
    dumped = subprocess.run(["apptainer", "sif", "dump", number[1], str(made)], check=True, capture_output=True)
    system.write_bytes(dumped.stdout)
    said("apptainer", "sif", "new", str(other))
    said("apptainer", "sif", "add", "--datatype", "4", "--partfs", "1", "--parttype", "2", "--partarch",
         str(architecture), "--groupid", "1", str(other), str(system))  # fmt: skip
    system.unlink()
    return other
