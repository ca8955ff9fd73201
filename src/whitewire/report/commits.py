"""Dates and ancestry of commits that results name; empty without git, or where it lacks them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from whitewire.paths import HOME

COMMIT_ID = re.compile(r"[0-9a-f]{7,64}")
"""A commit's digest in full or in part; a record may come from anywhere."""


def commit_time(commit: str) -> int | None:
    """Time of a commit, in seconds since 1970."""
    output = _git(HOME, "show", "--no-patch", "--format=%ct", commit) if COMMIT_ID.fullmatch(commit) else ""
    return int(output) if output.isdecimal() else None


def holding(folder: Path) -> str:
    """The commit that last changed a folder, where it has the folder's files as they are; else empty."""
    if not folder.is_dir() or _git(folder, "status", "--porcelain", "--", "."):
        return ""
    return _git(folder, "log", "-1", "--format=%H", "--", ".")


def precedes(one: str, other: str) -> bool:
    """Whether a commit is another one, or its ancestor."""
    if not (COMMIT_ID.fullmatch(one) and COMMIT_ID.fullmatch(other)):
        return False
    return _git(HOME, "merge-base", one, other).startswith(one)


def _git(folder: Path, *argv: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(folder), *argv], capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
