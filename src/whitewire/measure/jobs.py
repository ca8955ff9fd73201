"""MapReduce jobs of a run: their settings, what the history server reports of them, the inputs that they share."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from whitewire.cluster import yarn
from whitewire.cluster.existing import Existing
from whitewire.cluster.stack import Stack
from whitewire.cluster.yarn import Yarn
from whitewire.design import scaling
from whitewire.errors import RunFailed
from whitewire.factors import parameter
from whitewire.measure.client import StackClient
from whitewire.measure.conditions import StackShaping
from whitewire.measure.file_systems import FileSystem
from whitewire.measure.observation import StackObserver
from whitewire.measure.run import Run, overhead_key
from whitewire.records import jobs as tasks
from whitewire.records.evidence import merged_settings
from whitewire.records.result import Result
from whitewire.records.run import EvidenceRecord, Job, RunRecord
from whitewire.tools import codecs, history
from whitewire.tools.codecs import codec_settings
from whitewire.tools.history import settings_of_answer

Kept = dict[str, str]
"""Verbatim files of a run by name."""


@dataclass(frozen=True)
class StackJobs:
    """The jobs of a run."""

    stack: Stack
    run: Run
    client: StackClient
    files: FileSystem
    shaping: StackShaping
    observer: StackObserver

    @property
    def yarn(self) -> Yarn | Existing:
        """The cluster's YARN. Raises RunFailed if it has none."""
        if self.stack.yarn is None:
            raise RunFailed("the cluster has no YARN")
        return self.stack.yarn

    def options(self) -> dict[str, object]:
        scale, parameters = self.run.scale, self.run.parameters
        reduces = parameter(parameters, "reduces")
        own: dict[str, object] = {
            "dfs.blocksize": scale.block_bytes,
            "dfs.replication": parameter(parameters, "replication"),
            "mapreduce.job.reduces": reduces,
            "mapreduce.reduce.memory.totalbytes": scaling.reduce_memory(scale.file_bytes, reduces),
            "fs.local.block.size": scale.block_bytes,
        }
        if scale.data_fraction < 1:  # as for puts: a fixed wait, which must shrink with the file
            own |= scaling.retry_settings(scale.data_fraction)
        if "map_output_compression" in parameters:
            own |= codec_settings(parameters["map_output_compression"])
        return own | {"fs.defaultFS": yarn.VIEW} | dict(self.run.settings)

    def in_one_jvm(self) -> dict[str, object]:
        local = f"{self.client.host.scratch}/local"
        return {"mapreduce.framework.name": "local", "mapreduce.cluster.local.dir": local}

    def submit(self, tool: str, arguments: list[str], what: str, kept: Kept) -> Job:
        outcome = self.client.tool(tool, arguments, what)
        kept[f"{what}.txt"] = outcome.output + "\n"
        ids = yarn.job_ids(outcome.output)
        if not ids:
            raise RunFailed(f"{what}: it submitted no job")
        return self.finished(ids[-1], what, kept)

    def finished(self, number: str, what: str, kept: Kept) -> Job:
        answers = self.yarn.history(number)
        kept[f"{what}-history.json"] = json.dumps(answers) + "\n"
        job = history.job(answers)
        failed = [task for task in job["tasks"] if task["state"] != "SUCCEEDED"]
        if job["state"] != "SUCCEEDED" or failed:
            raise RunFailed(f"{what}: job {job['state']}, {len(failed)} tasks failed; {job['diagnostics'][:150]}")
        return {"name": what, **job}

    def task_lines(self, number: str, text: str) -> str:
        return self.yarn.task_lines(number, text)

    def input(self, kind: str, make: Callable[[str], tuple[str, list[str]]]) -> str:
        """The path of an input that runs of one size share in a round, made unthrottled where it does not exist yet.

        Each round has an input of its own: the placement of a file's blocks decides how much of a job crosses links,
        and runs that all read the same file would sample a single placement. Its writers' caches are emptied, or the
        run that makes it would read from them, and no other run of the round.
        """
        scale, copies = self.run.scale, parameter(self.run.parameters, "replication")
        place = f"{self.files.inputs}/{kind}-{scale.file_bytes}-{scale.block_bytes}-{copies}"
        path = self.files.path(place)
        key, replicate = (self.run.store["kind"], self.files.identity, path), self.run.row["replicate"]
        if self.stack.made.get(key) != replicate:
            self.shaping.lift()
            self.files.begin_input(place)
            tool, arguments = make(path)
            self.client.tool(tool, arguments, f"input of {kind}")
            self.files.drop_caches()
            self.stack.made[key] = replicate
        return path

    def record(self, act: Callable[[Kept], list[Job]], user_bytes: int, **files: str) -> Result:
        kept: Kept = {}

        def jobs() -> RunRecord:
            done = act(kept)
            return {"jobs": done, "start": min(job["submit"] for job in done), "end": max(job["end"] for job in done)}

        result = self.observer.observe(jobs, by_host=True)
        record = self._participants(user_bytes)
        seen = self._evidence(result.record["jobs"], kept)
        seen["files"] = {name: self.files.seen(path) for name, path in files.items()}
        if files:
            named = "output" if "output" in files else next(iter(files))
            asked, found = self.files.store(files[named], seen["files"][named])
            record["asked"] = {**result.record["asked"], "store": asked}
            seen["store"] = found
        record["evidence"] = {**result.record["evidence"], **seen}
        return result.plus(record, kept)

    def _participants(self, user_bytes: int) -> RunRecord:
        """The record's part on data, file system, workers and startup overheads."""
        run = self.run
        overheads = self.stack.overheads.get(overhead_key(run), {})
        return {
            "user_bytes": user_bytes,
            **self.files.record(run.workload.output_copies(run.parameters)),
            "workers": [host.name for host in self.stack.testbed.by_role("datanode")][: run.workers],
            "busy_clients": [],
            "made_by": f"Hadoop {self.stack.hdfs.installation.version}",
            "floors": {name: value for name, value in overheads.items() if name != "wire"},
            "floor_wire": overheads.get("wire", 0.0),
        }

    def _evidence(self, jobs: list[Job], kept: Kept) -> EvidenceRecord:
        """The run's settings as the history server reports them; for commands without jobs, as the client does."""
        compressed = "map_output_compression" in self.run.parameters
        names = {*self.run.settings, *((codecs.COMPRESS, codecs.CODEC) if compressed else ())}
        reported = []
        for job in jobs if names else []:
            if "id" in job:
                answer = self.yarn.settings(job["id"], names)
                kept[f"{job['name']}-settings.json"] = json.dumps(answer) + "\n"
                reported.append(settings_of_answer(answer, names))
        waves = {job["name"]: tasks.waves([t for t in job["tasks"] if t["type"] == "MAP"]) for job in jobs}
        found: EvidenceRecord = {"waves": waves}
        found |= {"settings": merged_settings(reported, self.run.settings) if reported else self.client.settings()}
        if compressed and reported:
            found["map_output_compression"] = " and ".join(sorted({codecs.word_of(each) for each in reported}))
        return found
