"""Transports of Hadoop's own traffic (`transports` of a testbed), and which of them a run uses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from whitewire.errors import UserError
from whitewire.text import quoted, suggestion

TCP, RDMA = "tcp", "rdma"
TRANSPORT_KINDS = (TCP, RDMA)
"""Kinds of transport: the kernel's TCP, or the RDMA port of the host."""
NAME, VARIABLE = re.compile(r"[a-z0-9][a-z0-9_-]*"), re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""Names of transports (small letters only: documents compare names whatever their case) and of variables."""
TAKEN = {
    "LD_PRELOAD": "libraries are under `preload`",
    "WHITEWIRE_RUN": "by it hosts know the processes of a run",
    "WHITEWIRE_DRIVES": "by it hosts find their drives",
    "WHITEWIRE_DATA_PORT": "by it they know writers",
    **dict.fromkeys(("PATH", "LC_ALL", "JAVA_HOME", "HADOOP_HOME"), "every command has its own"),
}
"""Variables that no transport may set, and why."""
TRANSPORT_NEEDED = (
    "it needs a transport of kind rdma; that takes hosts with RDMA adapters (InfiniBand, RoCE or iWARP) on the run's "
    "network, and under `transports` of the testbed's file the library that puts sockets on them "
    "(docs/sites/transports.md)"
)
"""Needs of a cell over RDMA that a testbed lacks."""


@dataclass(frozen=True)
class Transport:
    """A way, and what daemons, clients and tasks of a cluster are started with for it.

    `preload`: libraries that replace the C library's sockets; `environment`: further variables; `java`: options of each
    JVM; `settings`: of Hadoop, by name.
    """

    name: str
    kind: str
    preload: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    java: Sequence[str] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def variables(self) -> dict[str, str]:
        """The environment of every command of a cluster."""
        preloaded = {"LD_PRELOAD": ":".join(self.preload)} if self.preload else {}
        return {**self.environment, **preloaded}

    @property
    def record(self) -> dict[str, Any]:
        """All that it is, as JSON."""
        return asdict(self)


def defined(testbed: Mapping[str, Any]) -> list[Transport]:
    """Every transport of a testbed: the kernel's TCP, then those of its description."""
    return [Transport(TCP, TCP), *(Transport(name, **of) for name, of in testbed.get("transports", {}).items())]


def preloading(ways: Iterable[Transport]) -> dict[str, str]:
    """Variables of the script that looks for transports' libraries (shell.PRELOADED): names, and folders of others."""
    given = list(ways)
    folders = [folders for way in given if (folders := way.environment.get("LD_LIBRARY_PATH"))]
    libraries = dict.fromkeys(library for way in given for library in way.preload)
    return {"PRELOAD": " ".join(libraries), "PRELOAD_PATH": ":".join(folders)}


def find_transport(testbed: Mapping[str, Any], level: str) -> Transport | None:
    """The transport that a paper's level names: the one of that name, else the first of that kind; None without one."""
    found = defined(testbed)
    return next((one for one in found if one.name == level), next((one for one in found if one.kind == level), None))


def transport_levels(testbed: Mapping[str, Any]) -> set[str]:
    """All levels of the factor `transport` that a testbed can make: names and kinds."""
    return {word for one in defined(testbed) for word in (one.name, one.kind)}


def transport_of(testbed: Mapping[str, Any], parameters: Mapping[str, Any]) -> Transport:
    """The transport of a run with these parameters. Raises UserError for one that the testbed has no more."""
    level = parameters.get("transport", TCP)
    if (found := find_transport(testbed, level)) is None:
        raise UserError(f"transports: found none for {quoted(level)}, expected the one that the runs were designed for")
    return found


def check_transports(testbed: Mapping[str, Any], experiment: Mapping[str, Any], where: str) -> None:
    """UserError if an experiment names neither a kind of transport nor a transport of the testbed."""
    known = sorted({*TRANSPORT_KINDS, *transport_levels(testbed)})
    asked = [("factors", level) for level in experiment["factors"].get("transport", ())]
    asked += [("parameters", experiment["parameters"]["transport"])] if "transport" in experiment["parameters"] else []
    for key, level in asked:
        if level not in known:
            raise UserError(
                f"{where}.{key}.transport: found {quoted(level)}, expected a kind or a name of a transport of the "
                f"testbed ({', '.join(known)}){suggestion(level, known)}"
            )
