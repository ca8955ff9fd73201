"""Where things are: the repository, the folder in use, temporary files; and the environment that programs start in."""

from __future__ import annotations

import fnmatch
import os
import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path

from whitewire.errors import UserError

HOME = Path(__file__).resolve().parents[2]  # the repository: schemas, caches and programs live here
HIBENCH = Path(os.environ.get("WHITEWIRE_HIBENCH") or HOME / ".cache" / "hibench")
"""The prepared copy of HiBench (`make hibench`): its tree, and prepared.json, which describes it."""
GENERATED = HOME / "build" / "docs"
"""Pages of documentation that `make docs` writes."""
FAULTS = HOME / ".cache" / "faults"
"""Tracebacks of unexpected errors, one file each."""
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Folders of a machine's own programs. Ordinary users of Debian have only half of them on their PATH, without tc."""
FOREIGN = Path(__file__).with_name("foreign.txt")
"""List of environment variables that are meant for a user's other programs and would change what ours do."""
KILLED_WITH_THIS = ("setpriv", "--pdeathsig", "KILL", "--")
"""Prefix of a command that makes it end with the process that starts it, however that ends."""


def root() -> Path:
    """The folder whose `config/` and `results/` are used: the current one if it has a `config/config.yaml`, else the
    repository.

    Raises UserError if the current folder's `config/` has no `config.yaml` but papers or testbeds, or is a broken link:
    using the repository's instead would measure something else.
    """
    here = Path.cwd()
    config = here / "config"
    if os.path.lexists(config / "config.yaml"):
        return here
    if config.is_symlink() and not config.exists():
        raise UserError("config: found a symbolic link that leads nowhere, expected a folder with config.yaml")
    if here != HOME and any((config / name).is_dir() for name in ("papers", "testbeds")):
        raise UserError(
            "config/config.yaml: no such file, expected one beside this folder's own papers and testbeds; to use those "
            f"of {HOME}, start there"
        )
    return HOME


MAKE_PAPERS = "make papers"


def is_calibration() -> bool:
    """Whether the folder in use is that of scripts/calibrate, whose papers are sets of published measurements."""
    return root() == HOME / ".cache" / "calibration"


def start_command() -> str:
    """The command that makes the results of the folder in use."""
    made = "make calibrate" if is_calibration() else MAKE_PAPERS
    return f"{made}{asked_testbed()}"


def asked_testbed() -> str:
    """The argument TESTBED=… of a command, for the testbed that this start was asked for; empty for the usual one."""
    testbed = os.environ.get("TESTBED")
    return f" TESTBED={shlex.quote(testbed)}" if testbed else ""


def elsewhere() -> str:
    """A line that names the configuration in use if it is not the current folder's; else empty. Raises UserError."""
    return "" if root() == Path.cwd() else f"no config/config.yaml here: using {HOME}/config and {HOME}/results"


def ours(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment without the variables of FOREIGN; PYTHONPATH keeps its folders of this repository."""
    lines = FOREIGN.read_text(encoding="utf-8").splitlines()
    patterns = [line for line in lines if line and not line.startswith("#")]
    kept = {n: value for n, value in environ.items() if not any(fnmatch.fnmatchcase(n, p) for p in patterns)}
    folders = [each for each in environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    own = [each for each in folders if HOME in (Path(each).resolve(), *Path(each).resolve().parents)]
    return kept | ({"PYTHONPATH": os.pathsep.join(own)} if own else {})


def settle_environment() -> set[str]:
    """Let programs that this process starts find system programs, after those of the user's PATH, and write UTF-8.

    Removes variables that are meant for other programs (`ours`) and returns their names.

    The Makefile does the same for its commands. Java and R misread paths if the user's locale is not installed.
    """
    kept = ours(os.environ)
    foreign = {name for name in os.environ if kept.get(name) != os.environ[name]}
    for name in foreign:
        del os.environ[name]
    os.environ.update(kept)
    own = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    os.environ["PATH"] = os.pathsep.join(dict.fromkeys([*own, *SYSTEM_PATH.split(os.pathsep)]))
    os.environ["LC_ALL"] = "C.UTF-8"
    return foreign


def boot_id() -> str:
    """Id of this machine's last boot: process ids and the monotonic clock are comparable only within it."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def temporary() -> Path:
    """Parent of a command's temporary folders: `whitewire-tmp` if the command holds the lock (`lock.exclusive`)."""
    return Path(tempfile.gettempdir())


def shown(path: Path | str) -> str:
    """A path as the user would type it."""
    try:
        return str(Path(path).resolve().relative_to(Path.cwd()))
    except (ValueError, RuntimeError, OSError):  # elsewhere; a symbolic link that leads back to itself
        return str(path)
