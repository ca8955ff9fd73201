"""A copy of the repository's programs with results of its own, for tests of what takes the whole repository."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from whitewire.lock import INSIDE
from whitewire.paths import HOME

COPIED = ("scripts", "src", "envs", "config", "workflow", "profiles")


def repository(folder: Path) -> Path:
    for name in COPIED:
        shutil.copytree(HOME / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(HOME / "Makefile", folder)
    (folder / "tests").mkdir()
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in ("python", "python3"):
        (programs / name).write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        (programs / name).chmod(0o755)
    whitewire = programs / "whitewire"
    whitewire.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}/src" exec {sys.executable} -m whitewire "$@"\n')
    whitewire.chmod(0o755)
    return folder


def linked(folder: Path, *more: str, copied: Sequence[str] = ("config", "paper")) -> Path:
    """A folder with links to the repository's programs (and to `more`), and with its configuration to change."""
    for name in ("workflow", "profiles", "envs", "src", "scripts", *more):
        os.symlink(HOME / name, folder / name)
    for name in copied:
        shutil.copytree(HOME / name, folder / name)
    return folder


def environment(**more: str) -> dict[str, str]:
    """This process's environment, as if a user had started what gets it."""
    return {name: value for name, value in os.environ.items() if name != INSIDE} | more
