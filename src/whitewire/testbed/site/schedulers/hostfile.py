"""A plain host file as for `mpirun`: a name on each line, perhaps with slots (`node01:4`, `node01 slots=4`).

Hosts are reached by ssh. The path may contain a variable, such as $COBALT_NODEFILE, for schedulers without a module.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from whitewire.errors import UserError
from whitewire.testbed.site.listing import host_file
from whitewire.testbed.site.schedulers.scheduler import BySsh, node_file
from whitewire.tools import Unreadable


class Hostfile(BySsh):
    name = "host file"
    variable = ""
    signals = ()

    def nodes(self, config: Mapping[str, Any], environ: Mapping[str, str]) -> list[str]:
        path = expanded(config["host_file"], environ)
        try:
            return [each.ssh for each in host_file.hosts(node_file(self.name, "host_file", path))]
        except Unreadable as error:
            raise UserError(f"{path}: {error}") from None


def expanded(path: str, environ: Mapping[str, str]) -> str:
    """A path with `~` and its variables expanded; unset variables are empty."""
    return os.path.expanduser(re.sub(r"\$\{?(\w+)\}?", lambda found: environ.get(found[1], ""), path))
