"""The testbed's HiBench with the program and profile of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from whitewire.cluster.hibench import HiBench, ProgramRun, hadoop_of
from whitewire.cluster.stack import Stack
from whitewire.errors import UserError
from whitewire.factors import parameter
from whitewire.measure.conditions import StackShaping
from whitewire.measure.run import Run
from whitewire.tools import hibench
from whitewire.tools.hibench import HiBenchJob


@dataclass(frozen=True)
class StackSuite:
    """HiBench as a run uses it."""

    hibench: HiBench
    stack: Stack
    run: Run
    shaping: StackShaping

    @property
    def made_by(self) -> str:
        return self.hibench.made_by

    def configure(self, options: Mapping[str, object]) -> None:
        parameters, testbed = self.run.parameters, self.stack.testbed
        masters, workers = ([host.endpoint for host in testbed.by_role(role)] for role in ("namenode", "datanode"))
        hadoop = hadoop_of(self.stack.hdfs, self.stack.yarn, self.hibench, options)
        self.hibench.configure(hadoop, HiBenchJob(
            parameters["program"], parameters["profile"], parameters["maps"], parameters["reduces"],
            masters, workers, self._sizes(),
        ))  # fmt: skip

    def _sizes(self) -> dict[str, object]:
        """Sizes that replace the profile's in a scaled run. Raises UserError for a size that HiBench cannot make."""
        if not self.run.scaled:
            return {}
        parameters = self.run.parameters
        try:
            return hibench.sizes(parameters["program"], parameters["profile"], self.run.scale.file_bytes)
        except ValueError as error:
            raise UserError(f"experiment {self.run.row['experiment']}: {error}") from None

    def prepare(self) -> None:
        """Have HiBench make the program's input, unless this round has it already (why each round has its own:
        Jobs.input)."""
        program, profile, scale = self.run.parameters["program"], self.run.parameters["profile"], self.run.scale
        copies = parameter(self.run.parameters, "replication")
        # HiBench has one place per program for inputs, which holds the last one made.
        place = ("hibench", program)
        made = (profile, scale.file_bytes, scale.block_bytes, copies, self.run.row["replicate"])
        if self.stack.made.get(place) == made:
            return
        self.shaping.lift()
        self.hibench.prepare(self.run.timeout, self.stack.check)
        self.stack.made[place] = made

    def measure(self) -> list[ProgramRun]:
        return self.hibench.measure(self.run.timeout, self.stack.check)

    def files(self) -> dict[str, str]:
        return self.hibench.files()
