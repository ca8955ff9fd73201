"""One process at a time measures into a folder."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from whitewire.errors import UserError
from whitewire.paths import shown


@contextmanager
def alone(folder: Path, what: str) -> Iterator[None]:
    """Hold a folder, which is made where it is not there; `what` is measured into it, in words.

    The lock goes with the process, however it ends. Raises UserError while another one holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"{shown(folder)}: another process measures {what} now") from None
        yield
