"""Common parts of `sort` and `wordcount`: one job makes an input of random length, the measured one reads it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import ClassVar

from whitewire.records.result import Result
from whitewire.records.run import Job
from whitewire.tools import codecs
from whitewire.workloads.base import OF_SHUFFLE, Workload
from whitewire.workloads.bench import Bench

Writer = Callable[[str, int, int, Mapping[str, object]], list[str]]
_Measured = Callable[[str, str, Mapping[str, object]], tuple[str, list[str]]]


class OfWritten(Workload):
    """A workload whose input another job of Hadoop's examples writes."""

    shares_input: ClassVar[bool] = True
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"map_output_compression": codecs.WORDS}
    factors: ClassVar[frozenset[str]] = Workload.factors | OF_SHUFFLE

    def two_steps(self, bench: Bench, kind: str, tool: str, write: Writer, measured: _Measured) -> Result:
        """Make an input in files of random length, one per map task, then run the job on it."""
        bench.files.begin()
        # The writers end a file with the record that exceeds its size: room for one more keeps the file in one block.
        block = math.ceil((bench.scale.block_bytes * 1.1 + 65536) / 512) * 512
        options = bench.jobs.options() | {"dfs.blocksize": block, "fs.local.block.size": block}
        size = bench.scale.file_bytes
        files = math.ceil(size / bench.scale.block_bytes)
        source = bench.jobs.input(kind, lambda path: (tool, write(path, size, files, options)))

        def act(kept: dict[str, str]) -> list[Job]:
            program, arguments = measured(source, bench.files.output("result"), options)
            return [bench.jobs.submit(program, arguments, self.name, kept)]

        result = bench.jobs.record(act, size, input=source, output=bench.files.output("result"))
        return result.plus({"inexact": block / bench.scale.block_bytes - 1})
