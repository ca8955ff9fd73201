"""A Debian root in a folder, as mmdebstrap makes it, and commands in it: what Apptainer would do, where it is not."""

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parents[2]
AUTHORITIES = Path("/usr/local/share/ca-certificates")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# A root of a mount namespace, not a chroot: in a chroot the kernel refuses new user namespaces.
ENTER = """
set -e
cd "$1"; shift
mount --bind . .
cd "$PWD"
mount --rbind /dev dev
mount --rbind /sys sys
mount -t proc proc proc
while [ "$1" != -- ]; do mkdir -p "./$1"; mount --rbind "$1" "./$1"; shift; done
shift
mkdir -p .old
pivot_root . .old
umount --lazy /.old
rmdir /.old
cd "${WORK:-/}"
exec "$@"
"""


def requirements() -> str:
    """Why no root can be made here, with the remedy; empty where one can."""
    if shutil.which("mmdebstrap") is None:
        return "mmdebstrap is not installed: apt-get install mmdebstrap"
    if os.geteuid() != 0:
        return "a root needs root here: run these tests as root"
    return ""


class Root:
    """A root file system below a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def debian(cls, folder: Path, release: str) -> "Root":
        """A minimal Debian, which trusts the certificate authorities that this machine's administrator added."""
        if why := requirements():
            pytest.skip(why)
        made = subprocess.run(
            ["setpriv", "--pdeathsig", "TERM", "mmdebstrap", "--quiet", "--variant=minbase", release, str(folder)],
            capture_output=True,
            text=True,
        )
        if made.returncode != 0:
            pytest.skip(f"no Debian {release} could be fetched: {made.stderr.strip().splitlines()[-1]}")
        for certificate in AUTHORITIES.glob("*.crt"):
            (folder / AUTHORITIES.relative_to("/")).mkdir(parents=True, exist_ok=True)
            shutil.copy(certificate, folder / AUTHORITIES.relative_to("/"))
        # As Apptainer does for every container.
        shutil.copy("/etc/resolv.conf", folder / "etc" / "resolv.conf")
        shutil.copy("/etc/hosts", folder / "etc" / "hosts")
        return cls(folder)

    def put(self, source: Path, target: str) -> None:
        """Copy a file or a folder to the root, as %files does."""
        path = self.folder / target.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, path)

    def put_tree(self, source: Path, target: str, names: Iterable[str]) -> None:
        """Copy parts of a folder to the root."""
        for name in names:
            shutil.copytree(source / name, self.folder / target.lstrip("/") / name)

    def run(self, argv, shown=(), env=None, work="/", timeout=1800) -> subprocess.CompletedProcess:
        """Run a command with the folder as its root and nothing of this machine but the kernel, /dev and /sys.

        `shown` are folders of this machine that it sees at the same paths.
        """
        environment = {"PATH": PATH, "HOME": "/root", "PIP_CERT": "/etc/ssl/certs/ca-certificates.crt", **(env or {})}
        namespaces = ["--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child"]
        enter = ["setpriv", "--pdeathsig", "KILL", "unshare", *namespaces, "sh", "-c", ENTER, "in"]
        return subprocess.run(
            [*enter, str(self.folder), *map(str, shown), "--", *map(str, argv)],
            env={**environment, "WORK": str(work)}, capture_output=True, text=True, timeout=timeout,
        )  # fmt: skip
