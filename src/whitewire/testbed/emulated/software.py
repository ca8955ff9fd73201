"""Locations of the programs that an emulated testbed's hosts run, on this machine and as the hosts see them."""

from __future__ import annotations

import os
import re
from pathlib import Path

from whitewire.errors import UserError
from whitewire.paths import HOME
from whitewire.testbed.installation import Installation

CACHE = Path(os.environ.get("WHITEWIRE_SOFTWARE") or HOME / ".cache")
"""The folder that scripts/software filled: set-up's, or that of the environment or image that a rule runs in."""
HADOOP, LIBRARIES, ARCHIVES = CACHE / "hadoop", CACHE / "lib", CACHE / "archives"
ROOT = "/run/whitewire"
"""Root of the hosts' folders and of the bound read-only folders, in the sandbox's in-memory file system."""
ARCHIVE, NAMENODE_IMAGE = ARCHIVES / "hadoop.jsa", ARCHIVES / "namenode.tar"
UNPACKED = re.compile(r"hadoop-mapreduce-(examples-.*|client-jobclient-.*-tests)\.jar$")
"""Jars that set-up unpacks into lib/workloads; see Installation.workloads."""
DEFAULTS_JAR = LIBRARIES / "defaults.jar"
"""The jar that precedes Hadoop's on the class path; see install/defaults.py."""
DRIVE_LIBRARY = f"{ROOT}/lib/libdrive.so"


def binds() -> dict[str, Path]:
    """Name below ROOT → folder that every host sees there read-only. Raises UserError when set-up hasn't made one."""
    ARCHIVES.mkdir(parents=True, exist_ok=True)
    for path in (HADOOP, LIBRARIES / "libdrive.so", LIBRARIES / "whitewire.jar"):
        if not path.exists():
            raise UserError(f"{path}: not there, expected after set-up; run `make setup`")
    return {"hadoop": HADOOP, "lib": LIBRARIES, "archives": ARCHIVES}


def libraries() -> dict[str, Path]:
    """The one of those folders that the drive model needs; empty if set-up hasn't made it."""
    return {"lib": LIBRARIES} if (LIBRARIES / "libdrive.so").exists() else {}


def hadoop_jars() -> list[Path]:
    """Hadoop's jars on the class path, in order."""
    return [jar for jar in sorted(HADOOP.glob("*.jar")) if not UNPACKED.match(jar.name)]


def installation(use_archive: bool = True) -> Installation:
    """Hadoop as the hosts see it. Paths are the same on every machine, so that a class archive stays valid."""
    jars = [f"{ROOT}/hadoop/{jar.name}" for jar in hadoop_jars()]
    if DEFAULTS_JAR.exists():
        jars.insert(0, f"{ROOT}/lib/{DEFAULTS_JAR.name}")
    archive = f"{ROOT}/archives/{ARCHIVE.name}" if use_archive and ARCHIVE.exists() else None
    return Installation(
        [*jars, f"{ROOT}/lib/whitewire.jar"], f"{ROOT}/conf", archive, workloads=f"{ROOT}/lib/workloads"
    )
