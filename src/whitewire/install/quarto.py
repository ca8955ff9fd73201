"""Checks whether Quarto can render here."""

from __future__ import annotations

import shutil
import subprocess

from whitewire import paths


def quarto_lacks() -> str:
    """Why Quarto cannot render here, with the remedy; empty if it can."""
    if shutil.which("quarto") is None:
        return "it is not installed"
    if any(part.startswith(".") for part in paths.HOME.parts):
        return f"it ignores documents below hidden folders, as in {paths.HOME}; move this folder"
    script = 'quit(status = !requireNamespace("rmarkdown", quietly = TRUE))'
    try:
        done = subprocess.run(["Rscript", "--vanilla", "-e", script], capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return "it needs R; install r-base-core"
    return "it needs R's package rmarkdown; install r-cran-rmarkdown" if done.returncode else ""
