"""Locations of Java and Hadoop on a testbed's hosts, and the command line of a JVM there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

PRELOAD = "LD_PRELOAD"
"""The environment variable that names the libraries which the loader loads before a program's own."""
JVM_FLAGS = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Duser.timezone=UTC",
             "-Djavax.net.ssl.trustStore=NONE"]  # fmt: skip
"""Flags for JVMs that start cheaply, since many share few cores here: the serial collector, the first compiler (C1)
only, and no certificate authorities to read, because nothing uses TLS."""

COMPILE_BRIEFLY = {"datanode": ["-XX:C1MaxInlineSize=10", "-XX:C1MaxInlineLevel=4"]}
"""Further flags by kind of JVM, for those with JVM_FLAGS: C1 inlines less. Eleven DataNodes on two processors are ready
in some 8 s, instead of 10 s with C1's usual inlining and compilation after a fifth of the calls; their blocks cost some
5 to 10 % more."""

YOUNG_SHARE = 12
"""Ratio of a heap to its young generation. Java's default of a third costs a JVM that lives for seconds a quarter of
its page faults and a tenth of its CPU time, because each of its pages is touched for the first time."""


@dataclass(frozen=True)
class Installation:
    """Paths on a testbed's hosts: Hadoop's jars and our own, the configuration, the class archive, Java."""

    jars: Sequence[str]
    configuration: str
    archive: str | None
    java: str = "java"
    workloads: str = ""
    """Folder with the unpacked classes of Hadoop's examples and tests. Each job would distribute them as jars."""
    java_home: str = ""
    """The folder in which containers find bin/java; empty: this machine's."""
    flags: Sequence[str] = tuple(JVM_FLAGS)
    heap_factor: float = 1.0
    """Factor on the heaps of daemons and clients, whose sizes suit many hosts on one machine."""
    options: Sequence[str] = ()
    """Options of every JVM: those of the transport in use."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment of daemons, clients and queries to daemons: that of the transport in use."""
    class_lists: bool = False
    """Whether JVMs of a named kind list the classes that they load, for a class archive; see class_list()."""

    @property
    def version(self) -> str:
        """The release of Hadoop on the class path; `unknown` without a hadoop-common jar."""
        names = (re.fullmatch(r"hadoop-common-(.+)\.jar", PurePosixPath(jar).name) for jar in self.jars)
        return next((match[1] for match in names if match), "unknown")

    def environment(self, own: Mapping[str, str] | None = None) -> dict[str, str]:
        """The transport's variables and a command's `own`; libraries of both are preloaded, the command's first."""
        found = {**self.variables, **(own or {})}
        if preloaded := [of[PRELOAD] for of in (own or {}, self.variables) if of.get(PRELOAD)]:
            found[PRELOAD] = ":".join(preloaded)
        return found

    def argv(self, main: str, heap_mib: int, properties: Mapping[str, str], arguments: Sequence[str] = (),
             kind: str = "") -> list[str]:  # fmt: skip
        """The command that runs a main class. Jars come first on the class path: a class archive fixes their order."""
        heap = round(heap_mib * self.heap_factor)
        argv = [self.java, f"-Xmx{heap}m", f"-Xmn{max(1, heap // YOUNG_SHARE)}m", *self.flags]
        if self.flags == tuple(JVM_FLAGS):
            argv += COMPILE_BRIEFLY.get(kind, [])
        if self.class_lists and kind:
            argv += ["-Xshare:off", f"-XX:DumpLoadedClassList={class_list(kind)}"]
        elif self.archive:
            argv += [
                f"-XX:SharedArchiveFile={self.archive}",
                "-Xshare:auto",
                # Map the archive at its preferred address: elsewhere, each JVM would copy and relocate all of it.
                "-XX:+UnlockDiagnosticVMOptions",
                "-XX:ArchiveRelocationMode=0",
                "-Xlog:cds=off",
                "-Xlog:cds+dynamic=off",
            ]
        argv += self.options
        argv += [f"-Dlog4j.configuration=file:{self.configuration}/log4j.properties"]
        argv += [f"-D{name}={value}" for name, value in properties.items()]
        path = [*self.jars, self.configuration, *([self.workloads] if self.workloads else [])]
        return [*argv, "-cp", ":".join(path), main, *arguments]


def class_list(kind: str, process: str = "%p") -> str:
    """Path of the list of classes that a JVM of this kind loads; one per process, so that none replaces another's."""
    return f"/tmp/{kind}.{process}.classes"
