"""Description of software, machine and hosts, recorded with every block."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, TypedDict

from whitewire import __version__
from whitewire.errors import UserError
from whitewire.paths import HOME, shown
from whitewire.testbed.base import Host, Testbed
from whitewire.testbed.each import on_each

SYSCTLS = (
    "net/ipv4/tcp_congestion_control", "net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem", "net/ipv4/tcp_no_metrics_save",
    "net/core/rmem_max", "net/core/wmem_max",
)  # fmt: skip


LOCK, DEBIAN = HOME / "envs" / "requirements.txt", HOME / "envs" / "debian-packages.txt"
LABELS, REVISION = Path("/.singularity.d/labels.json"), "org.opencontainers.image.revision"
"""Where Apptainer keeps an image's labels, and the one that names the commit of its definition."""


class Commit(TypedDict):
    """The commit of this code, whether files differ from it, and the digest of the software around it."""

    commit: str
    modified: bool
    software: str


def check_image(found: str, source: str, earlier: Mapping[Path, Iterable[str]]) -> None:
    """Raise UserError if earlier measurements had a container image with another SHA-256 than `found`.

    `earlier`: folder → digests of what is kept in it, empty for measurements without an image; `source`: the testbed's
    file, for the message.
    """
    others = {folder: known for folder, digests in earlier.items() if (known := {*filter(None, digests)} - {found})}
    if others:
        expected = " or ".join(f"{digest[:12]}…" for digest in sorted(set().union(*others.values())))
        raise UserError(
            f"{source}: image: found SHA-256 {found[:12]}…, expected {expected}, which measured "
            f"{', '.join(map(shown, others))}; put that image back, or remove what it measured to measure that again"
        )


@cache
def said(*argv: str) -> str:
    """First line that a command prints, or why it prints none. Cached, like software()."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"not available ({error.__class__.__name__})"
    return (done.stdout or done.stderr).strip().split("\n", 1)[0]


def commit() -> Commit:
    """The commit of this code; `unknown` if git does not know it, as for an unpacked archive, in whatever folder."""
    unknown: Commit = {"commit": "unknown", "modified": True, "software": software()["sha256"]}
    git = ["git", "-C", str(HOME)]
    try:
        head = subprocess.run([*git, "rev-parse", "--show-toplevel", "HEAD"], capture_output=True, text=True)
        changed = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True)
        top, _, name = head.stdout.strip().rpartition("\n")
        if head.returncode != 0 or changed.returncode != 0 or not HOME.samefile(top):
            return unknown
    except OSError:
        return unknown
    return {**unknown, "commit": name, "modified": bool(changed.stdout.strip())}


# --- software: installed packages and their versions ----------------------------------------------


@cache
def software() -> dict[str, Any]:
    """Everything installed that a measurement may use, and `sha256`, the digest of it all.

    `deployment` says where it comes from; `conda`, `container` and `debian_packages` exist only if they apply. It is
    looked up once, because no process outlives a change of its software.
    """
    prefix = conda_prefix()
    image = os.environ.get("APPTAINER_CONTAINER") or os.environ.get("SINGULARITY_CONTAINER")
    found: dict[str, Any] = {
        "deployment": " in a ".join(
            name for name, used in (("conda environment", prefix), ("container", image)) if used
        ) or "this machine",
        "python_packages": python_packages(LOCK),
    }  # fmt: skip
    if prefix:
        found["conda"] = conda(prefix)
    if image:
        found["container"] = container(image)
    if packages := debian_packages(DEBIAN):
        found["debian_packages"] = packages
    return found | {"sha256": hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()}


def python_packages(lock: Path) -> list[str]:
    """Packages of a lock file that are installed, as `name==version`."""
    wanted = re.findall(r"^([a-z0-9][a-z0-9._-]*)==", lock.read_text() if lock.is_file() else "", re.MULTILINE)
    found = []
    for name in wanted:
        try:
            found.append(f"{name}=={metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return found


def conda_prefix() -> Path | None:
    """The conda environment that Python or Java comes from; one that is merely active does not count."""
    java = shutil.which("java")
    places = [Path(sys.prefix), *([Path(java).parent.parent] if java else [])]
    return next((place for place in places if (place / "conda-meta").is_dir()), None)


def conda(prefix: Path) -> dict[str, Any]:
    """An environment's folder (Snakemake's are named after a hash of their definition) and its packages."""
    packages = sorted(path.stem for path in (prefix / "conda-meta").glob("*.json"))
    return {
        "prefix": str(prefix),
        "packages_sha256": hashlib.sha256("\n".join(packages).encode()).hexdigest(),
        "packages": packages,
    }


def container(image: str) -> dict[str, Any]:
    """The image's file, its digest and the commit of its definition."""
    try:
        with open(image, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        digest = f"unknown ({error.strerror})"
    try:
        revision = json.loads(LABELS.read_text()).get(REVISION, "unknown")
    except (OSError, ValueError):
        revision = "unknown"
    return {"image": image, "image_sha256": digest, "definition_commit": revision}


def debian_packages(listing: Path) -> list[str]:
    """Packages of a list that are installed, as `name=version`; none without dpkg."""
    try:
        names = [line for line in listing.read_text().splitlines() if line and not line.startswith("#")]
        done = subprocess.run(
            ["dpkg-query", "--show", "--showformat", "${Package}=${Version}=${db:Status-Status}\n", *names],
            capture_output=True, text=True, timeout=20,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line.removesuffix("=installed") for line in done.stdout.splitlines() if line.endswith("=installed")]


# --- machine and hosts ------------------------------------------------------------------------------


def machine() -> dict[str, object]:
    """The measuring machine: processor, memory, kernel."""
    processors = [line.split(":", 1)[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    memory = next(int(line.split()[1]) for line in _lines("/proc/meminfo") if line.startswith("MemTotal"))
    return {
        "processor": processors[0] if processors else platform.machine(),
        "processors": os.cpu_count(),
        "memory_gib": round(memory / 1024**2, 1),
        "kernel": platform.release(),
        "system": next((line.split("=", 1)[1].strip('"') for line in _lines("/etc/os-release")
                        if line.startswith("PRETTY_NAME")), platform.system()),
        "load_average": os.getloadavg()[0],
    }  # fmt: skip


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def capture(testbed: Testbed, hadoop: str) -> dict[str, Any]:
    """The whole environment: software, machine, release of Hadoop, each host's TCP settings, one link's shaping."""
    client = testbed.by_role("client")[0]
    return {
        "whitewire": {"version": __version__, **commit()},
        "software": software(),
        "machine": machine(),
        "tools": {
            "java": said("java", "-XX:-UsePerfData", "-version"),
            "hadoop": hadoop,
            "iperf3": said("iperf3", "--version"),
            "fio": said("fio", "--version"),
            "iproute2": said("tc", "-V"),
            "ethtool": said("ethtool", "--version"),
            "util_linux": said("unshare", "--version"),
            "gcc": said("gcc", "--version"),
            "python": platform.python_version(),
        },
        "hosts": [{"name": h.name, "role": h.role, "address": h.address} for h in testbed.hosts],
        "tcp": dict(zip([host.name for host in testbed.hosts], on_each(testbed.hosts, _tcp), strict=True)),
        "link": client.run_outside(["tc", "-d", "qdisc", "show", "dev", client.interface]).stdout.decode(),
        "offloads": client.run_outside(["ethtool", "-k", client.interface]).stdout.decode(),
        "machines": testbed.describe(),
    }  # fmt: skip


def _tcp(host: Host) -> dict[str, str]:
    """A host's TCP settings by name; an empty value for a setting that it lacks."""
    names = [name for name in SYSCTLS if "ipv4" in name]
    each = 'for file; do cat "$file" || echo; done'
    lines = host.run(["sh", "-c", each, "sh", *(f"/proc/sys/{name}" for name in names)]).stdout.decode().split("\n")
    return {name.rsplit("/", 1)[1]: line.strip() for name, line in zip(names, lines, strict=False)}
