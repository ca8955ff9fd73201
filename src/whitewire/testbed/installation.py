"""Where a testbed's hosts find Java and Hadoop, and the command line of a JVM there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

JVM_FLAGS = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Duser.timezone=UTC",
             "-Djavax.net.ssl.trustStore=NONE"]  # fmt: skip
"""Cheap to start: the serial collector, the first compiler only, and no certificate authorities to read where nothing
speaks TLS. Many JVMs share few cores here."""

COMPILE_BRIEFLY = {"datanode": ["-XX:C1MaxInlineSize=10", "-XX:C1MaxInlineLevel=4"]}
"""Of JVMs that these flags keep to the first compiler: less of what a method calls is compiled into it. Eleven
DataNodes on two processors are ready in some eight seconds, instead of ten with all of it, compiled after a fifth of
the calls; their blocks cost some five to ten percent more."""

YOUNG_SHARE = 12
"""A heap over its young generation. Java's own third costs a JVM that lives for seconds a quarter of its page faults
and a tenth of its CPU time, since it touches all of it for the first time."""


@dataclass(frozen=True)
class Installation:
    """Where a testbed's hosts find Hadoop: folders of jars, our own jar, the class archive, the configuration."""

    jars: Sequence[str]
    configuration: str
    archive: str | None
    java: str = "java"
    workloads: str = ""
    """Folder of unpacked classes: Hadoop's own examples and tests. From jars, each job would send them about."""
    java_home: str = ""
    """Where containers find bin/java; empty: where this machine has it."""
    flags: Sequence[str] = tuple(JVM_FLAGS)
    heap_factor: float = 1.0
    """What multiplies the heaps of daemons and clients, which are meant for many hosts on one machine."""
    options: Sequence[str] = ()
    """Of every JVM: those of the transport in use."""
    class_lists: bool = False
    """Whether JVMs whose kind is named list the classes they load, for a class archive; see class_list()."""

    @property
    def version(self) -> str:
        """The release of Hadoop that the class path holds."""
        names = (re.fullmatch(r"hadoop-common-(.+)\.jar", PurePosixPath(jar).name) for jar in self.jars)
        return next((match[1] for match in names if match), "unknown")

    def argv(self, main: str, heap_mib: int, properties: Mapping[str, str], arguments: Sequence[str] = (),
             kind: str = "") -> list[str]:  # fmt: skip
        """The command that runs a main class. The jars come first: a class archive fixes their order."""
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
                # Where the archive asks to be: elsewhere, each JVM would copy and correct all of it.
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
    """Where a JVM of this kind lists the classes it loads: one list a process, or a second would replace the first."""
    return f"/tmp/{kind}.{process}.classes"
