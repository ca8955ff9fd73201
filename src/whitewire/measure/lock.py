"""One process at a time measures into a folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from whitewire.lock import held
from whitewire.paths import shown


@contextmanager
def hold_measurement(folder: Path, what: str) -> Iterator[None]:
    """Lock a folder, which is made if missing; `what` names what is measured into it.

    The lock ends with the process, however that ends. Raises UserError while another one holds it.
    """
    with held(folder / ".lock", ["whitewire", *sys.argv[1:]], f"{shown(folder)}: another process measures {what} now"):
        yield
