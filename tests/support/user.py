"""An ordinary user of Debian, for tests that begin where users begin: a clone, no root, and the PATH that Debian gives.

Where the tests run as root, the user is one of a passwd file that only the command sees, without any capability.
Elsewhere it is whoever runs the tests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

HOME = Path(__file__).resolve().parents[2]
NAME, UID = "researcher", 4242
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"
ENTER = """
mount --bind "$1" /etc/passwd
shift
exec "$@"
"""
KEPT = ("PIP_", "SSL_", "REQUESTS_CA", "CURL_CA", "MAVEN_", "http", "no_proxy", "HTTP", "NO_PROXY")
"""Variables by which a site says how its package registries are reached."""


def is_root() -> bool:
    return os.geteuid() == 0


def command(home: Path, argv: list[str]) -> list[str]:
    """The command line by which `argv` runs as the user, whose home is below `home`."""
    tied = ["setpriv", "--pdeathsig", "KILL"]
    if not is_root():
        return [*tied, *argv]
    passwd = home.parent / "passwd"
    passwd.write_text(f"root:x:0:0::/root:/bin/bash\n{NAME}:x:{UID}:{UID}::{home}:/bin/bash\n")
    user = [f"--reuid={UID}", f"--regid={UID}", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]
    return [*tied, "unshare", "--mount", "sh", "-euc", ENTER, "sh", str(passwd), *tied, *user, *argv]


def environment(home: Path, **more: str) -> dict[str, str]:
    """What a login shell would give the user, and how this site reaches its registries."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(KEPT)}
    return {**kept, "PATH": PATH, "HOME": str(home), "USER": NAME, "SHELL": "/bin/bash", **more}


def clone(target: Path) -> None:
    """A clone of this repository as it is in the working tree, owned by the user."""
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(HOME), str(target)], check=True)
    listed = ["git", "-C", str(HOME), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        (target / name).unlink(missing_ok=True)
        if (HOME / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(HOME / name, target / name)
    give(target)


def give(folder: Path) -> None:
    """Make the user the owner of a folder and all in it."""
    if is_root():
        subprocess.run(["chown", "--recursive", "--no-dereference", f"{UID}:{UID}", str(folder)], check=True)
