"""`rereplicate`: HDFS replaces lost replicas of files, block by block, from DataNode to DataNode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from whitewire.errors import RunFailed
from whitewire.records import evidence
from whitewire.records.metrics import Found, Metric
from whitewire.records.result import Result
from whitewire.records.run import PlacedBlock, RunRecord
from whitewire.records.samples import HostCpu, Samples
from whitewire.workloads.bench import Bench
from whitewire.workloads.without_jobs import WithoutJobs


def raise_replication(path: str, replication: int) -> list[str]:
    """Arguments of `hdfs dfs` that ask for more replicas and return at once; the NameNode then has them copied."""
    return ["-setrep", "-R", str(replication), path]


class Rereplicate(WithoutJobs):
    name: ClassVar[str] = "rereplicate"
    needs: ClassVar[frozenset[str]] = WithoutJobs.needs | {"lost_replicas", "load_fabric"}
    factors: ClassVar[frozenset[str]] = (WithoutJobs.factors | {"lost_replicas"}) - {"packet_bytes"}
    """Without the factor of clients' packets, because only traffic between DataNodes is measured."""
    settings_of_clients: ClassVar[bool] = False
    startup_s: ClassVar[float] = 3.0
    declares: ClassVar[tuple[Metric, ...]] = (
        *WithoutJobs.declares, Metric.number("blocks_copied", "replicas that were made again"),
    )  # fmt: skip

    def written(self, parameters: Mapping[str, Any]) -> float:
        return parameters.get("lost_replicas", 0)

    def run(self, bench: Bench) -> Result:
        """Measure the time until every block of files that lack replicas has the full number.

        This is what HDFS does after losing replicas, without the minutes in which it waits for a lost node to return.
        """
        puts, parameters = bench.puts, bench.parameters
        replication, lost = parameters["replication"], parameters["lost_replicas"]
        puts.empty()
        bench.shaping.lift(parameters["load_fabric"])  # replicas get lost long after they were written
        puts.put(puts.source_files(), {"dfs.replication": replication - lost})
        placement, fsck = puts.placement()
        expected = parameters["clients"] * parameters["puts_per_client"] * bench.scale.file_bytes
        if sum(block["bytes"] for block in placement) != expected:
            raise RunFailed("the files to copy were not written whole")

        def act() -> RunRecord:
            outcome = puts.raise_replication(replication)
            if outcome.status != 0:
                raise RunFailed(f"hdfs dfs -setrep: status {outcome.status}: {outcome.why}")
            # Polled, because the NameNode's count of under-replicated blocks omits those that are being copied.
            puts.wait_for_placement(lambda placed: _all_have(placed, replication))
            return {"start": outcome.begin, "end": bench.client.now(), "busy_clients": []}

        result = bench.observer.observe(act)
        placement, after = puts.placement()
        copied: RunRecord = {
            "bytes_copied": expected * lost, "blocks_copied": len(placement) * lost, "placement": placement,
            "evidence": {**result.record["evidence"],
                         "files": {"before": evidence.of_fsck(fsck), "output": evidence.of_fsck(after)}},
        }  # fmt: skip
        return result.plus(copied, {"fsck-before.txt": fsck + "\n", "fsck.txt": after + "\n"})

    def metrics(self, record: RunRecord, samples: Samples, cpu: HostCpu) -> Found:
        """Metrics of a run, with the copied bytes as user bytes."""
        copied = self.of_clients(record, samples, record["bytes_copied"])
        return copied | {"blocks_copied": record["blocks_copied"]}

    def written_to(self, record: RunRecord, found: Found) -> Iterable[tuple[str, float, float]]:
        yield "DataNode links", found["datanode_wire_bytes"], found["user_bytes"]


def _all_have(placement: list[PlacedBlock], replication: int) -> bool:
    return bool(placement) and all(len(set(block["datanodes"])) >= replication for block in placement)
