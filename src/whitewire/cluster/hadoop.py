"""What all Hadoop daemons and clients share: the JVM's command line and the configuration files."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from whitewire.errors import UserError
from whitewire.testbed.base import Host, Process, Testbed, last_line, piped
from whitewire.testbed.installation import Installation
from whitewire.text import quoted
from whitewire.tools.daemon import settings_of_daemon
from whitewire.tools.history import setting_text

LOG4J = """log4j.rootLogger=INFO,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.out
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
log4j.logger.org.apache.hadoop.hdfs.server.datanode.DataNode.clienttrace=WARN
log4j.logger.org.apache.hadoop.hdfs.server.datanode.fsdataset.impl.FsDatasetImpl=WARN
log4j.logger.org.apache.hadoop.util.NativeCodeLoader=ERROR
"""
"""Logging of daemons: Hadoop's default without traces of packets, without messages below warnings of a DataNode's
FsDatasetImpl (a line for each of a thousand locks per drive), and without the warning of no native library."""


CURL = ("curl", "--disable", "--silent", "--show-error", "--noproxy", "*", "--globoff")
"""Command that asks a daemon's web server directly, whatever the user's ~/.curlrc and proxies are."""
ASK = (*CURL, "--header", "Accept: application/json")

_METRICS = "*.period=1\n"
"""Configuration by which a daemon's /jmx is updated every second; Hadoop's default is every 10 seconds."""
METRICS_PERIOD_S = 1.0


def site_xml(values: Mapping[str, object]) -> bytes:
    """A Hadoop configuration file with these values (${…} in a value is a system property of the JVM)."""
    lines = [
        f"<property><name>{escape(name)}</name><value>{escape(setting_text(value))}</value></property>"
        for name, value in sorted(values.items())
    ]
    return ('<?xml version="1.0"?>\n<configuration>\n' + "\n".join(lines) + "\n</configuration>\n").encode()


def write_configuration(testbed: Testbed, folder: str, values: Mapping[str, object]) -> None:
    """Put the configuration on all hosts.

    One site.xml, included by the four files that Hadoop reads: a key of HDFS that is only in core-site.xml is
    overridden by the defaults in the jars.
    """
    include = (
        b'<?xml version="1.0"?>\n<configuration xmlns:xi="http://www.w3.org/2001/XInclude">\n'
        b'<xi:include href="site.xml"/>\n</configuration>\n'
    )
    files = {"site.xml": site_xml(values), "log4j.properties": LOG4J.encode()}
    files["hadoop-metrics2.properties"] = _METRICS.encode()
    files |= {f"{name}-site.xml": include for name in ("core", "hdfs", "mapred", "yarn")}
    # The published jars lack the web pages' folders, without which NameNode and DataNode do not start.
    files |= {f"webapps/{name}/.keep": b"" for name in ("hdfs", "datanode")}
    for name, content in files.items():
        testbed.share(f"{folder}/{name}", content)


def whereabouts(host: Host) -> dict[str, str]:
    """System properties of a daemon's JVM that its configuration refers to."""
    return {"whitewire.address": host.address, "whitewire.endpoint": host.endpoint}


def reported_by_daemon(host: Host, server: str, names: Sequence[str], env: Mapping[str, str]) -> dict[str, str]:
    """Settings of a running daemon whose web server is at `server` (name:port, asked from `host`). Raises Unreadable.

    `env`: environment of what asks, by which transport the daemon listens.
    """
    pages = [f"http://{server}/conf?name={name}" for name in names]
    said = host.run([*ASK, "--fail", "--max-time", "20", *pages], env).stdout
    return settings_of_daemon(said.decode(errors="replace"), names, server)


CLIENT_HEAP_MIB = 384
SEPARATOR = re.compile(r"[\t\n\r]")
"""Characters that separate words and commands sent to a client's JVM."""


CAUSE = re.compile(
    r'^(?:Caused by: |Exception in thread "[^"\n]*" )?(\S[^\n]*(?:\n at \[[^\n]*)?)\n\s+at \S+\(', re.MULTILINE
)
"""The head of a stack trace; an XML error has its position on a second line."""
IN_A_TRACE = re.compile(r"\s+(?:at |\.\.\. \d+ more)")
JOB_FAILED = re.compile(r"Job \S+ failed with state [^\n]+")


def hadoop_reason(said: bytes | str) -> str:
    """Why a program of Hadoop failed, at most 300 characters: its report of a failed job, else its last line.

    If it ends with a stack trace, the last cause. The usage that FsShell prints after some reasons is left out.
    """
    text = said if isinstance(said, str) else said.decode(errors="replace")
    text = text.partition("\nUsage: ")[0].rstrip()
    if failed := JOB_FAILED.search(text):
        return failed[0].strip()[:300]
    causes = CAUSE.findall(text) if IN_A_TRACE.match(text.rpartition("\n")[2]) else []
    return " ".join(causes[-1].split())[:300] if causes else last_line(text)


class Resident:
    """A JVM on a host that runs Hadoop's command-line tools one after another (src/java/whitewire/Resident.java)."""

    def __init__(self, host: Host, installation: Installation, log: Path,
                 environment: Mapping[str, str] | None = None) -> None:  # fmt: skip
        self.host, self.name = host, log.stem
        argv = installation.argv("whitewire.Resident", CLIENT_HEAP_MIB, whereabouts(host), kind="client")
        name, around = f"client JVM on {host.name}", installation.environment(environment)
        self.process: Process = host.start(argv, log, around, name, stdin=subprocess.PIPE)
        self.read_from = 0

    def wait_ready(self) -> None:
        self.process.wait_ready("@ready")

    def begin(self, tool: str, arguments: Sequence[str]) -> None:
        """Hand the JVM a command; it starts at once.

        Raises UserError for a word with a tab or a line end, which would begin a further word or command.
        """
        words = [tool, *arguments]
        if broken := next((word for word in words if SEPARATOR.search(word)), None):
            raise UserError(
                f"{self.process.name}: found {quoted(broken)}, expected a word without tabs and ends of lines"
            )
        self.process.check()
        self.read_from = self.process.log.stat().st_size
        commands = piped(self.process.popen.stdin)
        commands.write(("\t".join(words) + "\n").encode())
        commands.flush()

    def done(self) -> bool:
        return "\n@end " in self._said()

    def _said(self) -> str:
        return "\n" + self.process.said(self.read_from)

    def result(self, timeout: float) -> CommandOutcome:
        """Wait for the command to end. Raises ProcessDied when the JVM dies, TimeoutError after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while not self.done():
            self.process.check()
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.process.name}: no end after {timeout:.0f} s; {self.process.log_end(5)}")
            time.sleep(0.01)
        lines = self._said().splitlines()
        begin = next(line for line in lines if line.startswith("@begin "))
        end = next(line for line in lines if line.startswith("@end "))
        output = "\n".join(line for line in lines if line and not line.startswith("@"))
        _, finished, status = end.split()
        return CommandOutcome(float(begin.split()[1]), float(finished), int(status), output)

    def run(self, tool: str, arguments: Sequence[str], timeout: float = 60.0) -> CommandOutcome:
        self.begin(tool, arguments)
        return self.result(timeout)


@dataclass(frozen=True)
class CommandOutcome:
    """One command of a resident JVM: begin and end (seconds since 1970), exit status, what it printed."""

    begin: float
    end: float
    status: int
    output: str

    @property
    def why(self) -> str:
        """Why the command failed; see hadoop_reason()."""
        return hadoop_reason(self.output)

    def check(self, what: str) -> CommandOutcome:
        """Return self, or raise RuntimeError with `what` failed and why."""
        if self.status != 0:
            raise RuntimeError(f"{what}: status {self.status}: {self.why}")
        return self
