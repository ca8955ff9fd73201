"""Protocols of what a workload's run works with; `whitewire.measure.bench.StackBench` implements them.

With them workloads need not import the measurement, the cluster or the testbed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from whitewire.records.result import Result
from whitewire.records.run import Job, PlacedBlock, RunRecord
from whitewire.tools.hibench_report import Report
from whitewire.tools.namenode import Operation


class Outcome(Protocol):
    """A command that has ended: begin and end (seconds since 1970), exit status, what it printed, why it failed."""

    @property
    def begin(self) -> float: ...

    @property
    def end(self) -> float: ...

    @property
    def status(self) -> int: ...

    @property
    def output(self) -> str: ...

    @property
    def why(self) -> str: ...


class ScaledSizes(Protocol):
    """Bytes of the scaled run's files and blocks."""

    @property
    def file_bytes(self) -> int: ...

    @property
    def block_bytes(self) -> int: ...


class Client(Protocol):
    """The first client: its JVM, which runs commands of Hadoop, and its local files."""

    def now(self) -> float:
        """Seconds since 1970 by the hosts' clocks."""

    def tool(self, tool: str, arguments: list[str], what: str) -> Outcome:
        """Run a class of Hadoop. Raises RunFailed, beginning with `what`, when it fails."""

    def shell(self, arguments: list[str], what: str) -> Outcome:
        """Run a command of `hdfs dfs`. Raises RunFailed like tool()."""

    def cat(self, path: str) -> str:
        """The text of a file in the run's file system; of a missing file, the shell's message."""

    def settings(self) -> dict[str, str]:
        """The run's settings as a client with the same options reports them."""

    def source_file(self, size: int) -> str:
        """The path of a file of `size` random bytes in the client's memory."""

    def file_on_drive(self, size: int) -> str:
        """The path of such a file on the client's first drive."""

    def same(self, one: str, other: str) -> bool:
        """Whether two local files have the same content; deletes the second."""


class Files(Protocol):
    """The run's file system: HDFS, or a mounted one."""

    def path(self, path: str) -> str:
        """A path in the run's file system as jobs name it."""

    def output(self, name: str) -> str:
        """A path for a result."""

    def begin(self, folder: str = ...) -> None:
        """Empty a folder (default: that of results) for the run's files."""

    def make_output(self) -> None:
        """Make the folder of results. Jobs make it themselves, other commands do not."""

    def drop_caches(self) -> None:
        """Empty the clients' caches of the file system, where it has any."""


class Puts(Protocol):
    """Clients that put files into HDFS."""

    def names(self) -> list[str]:
        """Names of the JVMs of the run's clients."""

    def source_files(self) -> list[str]:
        """The files that each client puts."""

    def empty(self) -> None:
        """Make an empty folder for each client."""

    def put(self, files: list[str], settings: Mapping[str, Any]) -> Sequence[Outcome]:
        """All clients put all files, started together; `settings` are those of the puts."""

    def packets(self) -> int | None:
        """Packets that DataNodes have received, of a run that sets the size of packets; else None."""

    def operations(self, audit: str) -> list[Operation]:
        """The completed puts in the NameNode's audit log."""

    def placement(self, settled: bool = ...) -> tuple[list[PlacedBlock], str]:
        """Which DataNodes hold each block, or block group, of the clients' files, and the output of fsck.

        `settled`: wait until DataNodes have reported their replicas.
        """

    def wait_for_placement(self, complete: Callable[[list[PlacedBlock]], bool]) -> None:
        """Wait until `complete` holds for the placement. Raises RunFailed after the run's timeout."""

    def raise_replication(self, replication: int) -> Outcome:
        """Ask for more replicas of all files; the NameNode then has them copied."""

    def stored(self, fsck: str) -> RunRecord:
        """How HDFS stores the files, as asked and by the output of fsck: `coding`, and parts of `asked`, `evidence`."""


class Jobs(Protocol):
    """MapReduce jobs."""

    def options(self) -> dict[str, object]:
        """Settings of each job of the run: file system, blocks, replicas, memory."""

    def in_one_jvm(self) -> dict[str, object]:
        """Settings of a job that runs inside the client's JVM."""

    def submit(self, tool: str, arguments: list[str], what: str, kept: dict[str, str]) -> Job:
        """Run a tool that submits one job. Adds its output to `kept`. Raises RunFailed when it fails."""

    def finished(self, number: str, what: str, kept: dict[str, str]) -> Job:
        """A job that has ended, as the history server reports it. Raises RunFailed for a job that failed."""

    def task_lines(self, number: str, text: str) -> str:
        """Lines of the logs of a job's tasks that hold a text."""

    def input(self, kind: str, make: Callable[[str], tuple[str, list[str]]]) -> str:
        """The path of an input that runs of one size share in a round; `make` gives the tool that makes it."""

    def record(self, act: Callable[[dict[str, str]], list[Job]], user_bytes: int, **files: str) -> Result:
        """Observe `act`, which runs the jobs; `files`: paths of its input and output."""


class Reported(Protocol):
    """One run of a program of a suite: its name, the jobs that it submitted, what it printed."""

    @property
    def name(self) -> str: ...

    @property
    def jobs(self) -> list[str]: ...

    @property
    def output(self) -> str: ...

    def record(self) -> Report:
        """Its row in the suite's report."""


class Suite(Protocol):
    """The testbed's HiBench, with the run's program and profile."""

    @property
    def made_by(self) -> str:
        """Name and version."""

    def configure(self, options: Mapping[str, object]) -> None:
        """Write its configuration; `options` are settings of all jobs."""

    def prepare(self) -> None:
        """Make the program's input unless that of the round exists."""

    def measure(self) -> Sequence[Reported]:
        """Run the program: each of its parts after the other."""

    def files(self) -> dict[str, str]:
        """Files that the suite was given and has written, by name."""


class Shaping(Protocol):
    """Links and drives as the run wants them."""

    def lift(self, fabric: str | None = ...) -> None:
        """Unthrottle links and drives for work that is not measured.

        With a `fabric`: links of this one, where a cluster can change it.
        """


class Observer(Protocol):
    """Reads counters before and after what is measured."""

    def observe(self, act: Callable[[], RunRecord]) -> Result:
        """Do `act` between two readings of all counters, with samples meanwhile; returns both records as one."""


class Bench(Protocol):
    """A run on a cluster that is up."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The run's parameters at full scale."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The run's settings of Hadoop."""

    @property
    def scale(self) -> ScaledSizes: ...

    @property
    def scaled(self) -> bool:
        """Whether the run is smaller than at full scale."""

    @property
    def read_buffer(self) -> int:
        """Bytes of a reader's buffer, scaled as blocks are."""

    @property
    def client(self) -> Client: ...

    @property
    def files(self) -> Files: ...

    @property
    def puts(self) -> Puts: ...

    @property
    def jobs(self) -> Jobs: ...

    @property
    def suite(self) -> Suite | None:
        """The testbed's HiBench; None if it has none, or the run wants none."""

    @property
    def shaping(self) -> Shaping: ...

    @property
    def observer(self) -> Observer: ...

    def with_workload(self, workload: str, parameters: Mapping[str, Any]) -> Bench:
        """The same run as one of another workload, with further parameters."""
