"""The first client of a run: commands of Hadoop in its JVM, and its local files."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whitewire.cluster import hdfs, yarn
from whitewire.cluster.hadoop import CommandOutcome, whereabouts
from whitewire.cluster.hdfs import GET_CONF
from whitewire.cluster.stack import Stack
from whitewire.errors import RunFailed
from whitewire.factors import on_datanodes, parameter
from whitewire.measure.run import Run
from whitewire.testbed.base import Host, Testbed
from whitewire.testbed.each import on_each
from whitewire.workloads.base import generic_options


@dataclass(frozen=True)
class StackClient:
    """The first client of a run."""

    stack: Stack
    run: Run

    @property
    def host(self) -> Host:
        return self.stack.testbed.by_role("client")[0]

    def now(self) -> float:
        return self.stack.testbed.now()

    def tool(self, tool: str, arguments: list[str], what: str) -> CommandOutcome:
        """Run a class of Hadoop in the JVM. Raises RunFailed, beginning with `what`, when it fails."""
        resident = self.stack.clients[0]
        resident.begin(tool, arguments)
        try:
            watch(self.stack, resident.done, self.run.timeout)
        except RunFailed as failure:
            raise RunFailed(f"{what}: {failure}") from None
        outcome = resident.result(timeout=1)
        if outcome.status != 0:
            raise RunFailed(f"{what}: status {outcome.status}: {outcome.why}")
        return outcome

    def shell(self, arguments: list[str], what: str) -> CommandOutcome:
        """Run a command of `hdfs dfs` in the JVM. Raises RunFailed like tool()."""
        return self.tool(hdfs.FS_SHELL, arguments, what)

    def cat(self, path: str) -> str:
        return self.stack.clients[0].run(hdfs.FS_SHELL, ["-cat", viewed(path)]).output

    def settings(self) -> dict[str, str]:
        """The run's settings as a client with the same options reports them (hdfs getconf)."""
        installation, options = self.stack.hdfs.installation, generic_options(self.run.settings)
        found = {}
        for name in self.run.settings:
            arguments = [*options, "-confKey", name]
            done = self.host.run(installation.argv(GET_CONF, 64, whereabouts(self.host), arguments)).check()
            found[name] = done.stdout.decode().strip().splitlines()[-1]
        return found

    def source_file(self, size: int) -> str:
        return source_files(self.stack.testbed.by_role("client"), size, 1)[0]

    def file_on_drive(self, size: int) -> str:
        path = f"{self.host.drive(1)}/source"
        self.host.run(["mkdir", "-p", self.host.drive(1)]).check()
        self.host.run(["cp", self.source_file(size), path]).check()
        return path

    def same(self, one: str, other: str) -> bool:
        compared = self.host.run(["cmp", one, other])
        self.host.run(["rm", "-f", other]).check()
        return compared.status == 0


def client_hosts(testbed: Testbed, parameters: Mapping[str, Any]) -> list[Host]:
    """Hosts of a run's clients: all hosts of clients, or the first DataNodes, as many as put."""
    hosts = testbed.by_role(parameter(parameters, "put_from"))
    return hosts[: parameters["clients"]] if on_datanodes(parameters) else hosts


def viewed(path: str) -> str:
    """A path in the run's file system, with the prefix that the shell needs because its default is HDFS."""
    return f"{yarn.VIEW}{path.lstrip('/')}"


def watch(stack: Stack, finished: Callable[[], bool], timeout: float) -> None:
    """Wait until `finished`. Raises ProcessDied, naming the daemon, when one ends, RunFailed after `timeout` s."""
    deadline = time.monotonic() + timeout
    while not finished():
        stack.check()
        if time.monotonic() > deadline:
            raise RunFailed(f"no end after {timeout:.0f} s")
        time.sleep(0.02)
    stack.check()


def source_files(hosts: Sequence[Host], size: int, count: int) -> list[str]:
    """Paths of `count` files of `size` random bytes on every host; made once, and in memory from then on.

    They are links to one file, because reading it is not measured.
    """
    folder = f"{hosts[0].scratch}/source/{size}"
    paths = [f"{folder}/put{number}" for number in range(1, count + 1)]

    def make(host: Host) -> None:
        if host.run(["test", "-e", paths[-1]]).status == 0:
            return
        host.run(["mkdir", "-p", folder]).check()
        if host.run(["test", "-e", paths[0]]).status != 0:
            host.run(["dd", "if=/dev/urandom", f"of={paths[0]}", "bs=1M", f"count={size}",
                      "iflag=fullblock,count_bytes", "status=none"]).check()  # fmt: skip
        for path in paths[1:]:
            host.run(["ln", "-f", paths[0], path]).check()

    on_each(hosts, make)
    return paths
