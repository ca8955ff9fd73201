"""`randomwriter`, `randomtextwriter`: records of random length, written by map tasks (Hadoop's examples)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from whitewire.records.result import Result
from whitewire.records.run import Job
from whitewire.workloads.base import generic_options
from whitewire.workloads.bench import Bench
from whitewire.workloads.teragen import TeraGen


class RandomWriter(TeraGen):
    """Random bytes in sequence files. Each map task writes a file, as in TeraGen, until it has the bytes asked for."""

    name: ClassVar[str] = "randomwriter"
    tool: ClassVar[str] = "org.apache.hadoop.examples.RandomWriter"
    framing: ClassVar[float] = 0.01
    """Largest share by which lengths of keys, values and records add to their bytes: 0.002 on average."""
    last_record: ClassVar[int] = 32768
    """Most bytes of a file's head and last record: a task ends with the record that reaches its size."""

    def arguments(self, target: str, total: int, maps: int, settings: Mapping[str, object] | None = None,
                  form: Sequence[str] = ()) -> list[str]:  # fmt: skip
        """`total` bytes of keys and values by `maps` map tasks; `form`: options for another form of file."""
        each, own = max(1, total // maps), f"mapreduce.{self.name}"
        sizes: dict[str, object] = {f"{own}.totalbytes": each * maps, f"{own}.bytespermap": each}
        return [*generic_options(sizes | dict(settings or {})), *form, target]

    def run(self, bench: Bench) -> Result:
        """The writer alone. Raises RunFailed when the job failed."""
        bench.files.begin()
        size, maps, target = bench.scale.file_bytes, bench.parameters["maps"], bench.files.output("random")

        def act(kept: dict[str, str]) -> list[Job]:
            arguments = self.arguments(target, size, maps, bench.jobs.options())
            return [bench.jobs.submit(self.tool, arguments, self.name, kept)]

        result = bench.jobs.record(act, size, output=target)
        return result.plus({"inexact": self.framing + maps * self.last_record / size})


class RandomTextWriter(RandomWriter):
    """Sentences of random words instead of random bytes: shorter records."""

    name: ClassVar[str] = "randomtextwriter"
    tool: ClassVar[str] = "org.apache.hadoop.examples.RandomTextWriter"
    framing: ClassVar[float] = 0.03
    last_record: ClassVar[int] = 4096
