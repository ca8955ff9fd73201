"""What a workload's run works with: the running stack, the run, and parts that all workloads share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from whitewire.cluster.stack import Stack
from whitewire.design import scaling
from whitewire.design.scale import Scale
from whitewire.measure.client import StackClient
from whitewire.measure.conditions import StackShaping
from whitewire.measure.file_systems import FileSystem, HdfsFiles, file_system
from whitewire.measure.jobs import StackJobs
from whitewire.measure.observation import StackObserver
from whitewire.measure.puts import StackPuts
from whitewire.measure.run import Run
from whitewire.measure.suite import StackSuite
from whitewire.records.run import DesignRow


@dataclass(frozen=True)
class StackBench:
    """A run on a stack. It satisfies `workloads.bench.Bench`, which documents what workloads use of each part."""

    stack: Stack
    run: Run

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self.run.parameters

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.run.settings

    @property
    def scale(self) -> Scale:
        return self.run.scale

    @property
    def scaled(self) -> bool:
        return self.run.scaled

    @property
    def read_buffer(self) -> int:
        return scaling.read_buffer(self.scale.block_bytes / self.parameters["block_size_bytes"])

    @cached_property
    def client(self) -> StackClient:
        return StackClient(self.stack, self.run)

    @cached_property
    def files(self) -> FileSystem:
        return file_system(self.stack, self.run)

    @cached_property
    def puts(self) -> StackPuts:
        return StackPuts(self.stack, self.run, HdfsFiles(self.stack, self.run))

    @cached_property
    def jobs(self) -> StackJobs:
        return StackJobs(self.stack, self.run, self.client, self.files, self.shaping, self.observer)

    @cached_property
    def suite(self) -> StackSuite | None:
        hibench = self.stack.hibench
        return StackSuite(hibench, self.stack, self.run, self.shaping) if hibench else None

    @cached_property
    def shaping(self) -> StackShaping:
        return StackShaping(self.stack, self.run)

    @cached_property
    def observer(self) -> StackObserver:
        return StackObserver(self.stack, self.run, self.shaping, self.files)

    def with_workload(self, workload: str, parameters: Mapping[str, Any]) -> StackBench:
        row: DesignRow = {**self.run.row, "workload": workload}
        return replace(self, run=replace(self.run, row=row, parameters={**self.parameters, **parameters}))
