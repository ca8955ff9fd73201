"""Starts of Snakemake: how one begins, and what it does before its first rule."""

from __future__ import annotations

import atexit
import contextlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from whitewire import lock
from whitewire.paths import KILLED_WITH_THIS, root


def run_workflow(options: Sequence[str], again: Sequence[str] = ()) -> int:
    """Run Snakemake with these options and let it make the files `again` anew; returns its exit status."""
    program = str(Path(sys.executable).parent / "snakemake")
    sys.stdout.flush()  # so that lines of this process come first
    forced = ["--forcerun", *again, "--rerun-incomplete"] if again else []
    status = subprocess.run([*KILLED_WITH_THIS, program, *forced, *options]).returncode
    return status if status >= 0 else 128 - status  # as a shell has it


def begin() -> None:
    """Be the only process that writes here until this one ends; Snakemake calls it before its first rule.

    Raises UserError, which names the other process.
    """
    ended = contextlib.ExitStack()
    ended.enter_context(lock.exclusive(root(), ["snakemake", *sys.argv[1:]]))
    atexit.register(ended.close)
