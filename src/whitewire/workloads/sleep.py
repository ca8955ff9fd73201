"""`sleep`: SleepJob (Hadoop's tests), whose tasks only wait, so that it measures their start and end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from whitewire.records.result import Result
from whitewire.records.run import Job
from whitewire.workloads.base import Workload, generic_options
from whitewire.workloads.bench import Bench

SLEEP_TOOL = "org.apache.hadoop.mapreduce.SleepJob"


def sleep(
    maps: int, reduces: int, map_ms: int, reduce_ms: int | None = None, settings: Mapping[str, object] | None = None
) -> list[str]:
    """Arguments for `maps` and `reduces` tasks that wait `map_ms` and `reduce_ms` milliseconds (None: SleepJob's 100).

    Source: SleepJob.java, whose -mt and -rt are milliseconds.
    """
    tasks = ["-m", str(maps), "-r", str(reduces), "-mt", str(map_ms)]
    return [*generic_options(settings or {}), *tasks, *(["-rt", str(reduce_ms)] if reduce_ms is not None else [])]


class Sleep(Workload):
    name: ClassVar[str] = "sleep"
    needs: ClassVar[frozenset[str]] = frozenset({"maps", "reduces", "map_ms"})
    has_overhead: ClassVar[bool] = False
    startup_s: ClassVar[float] = 4
    in_papers: ClassVar[bool] = False

    def run(self, bench: Bench) -> Result:
        """Run tasks that only wait. Raises RunFailed when the job failed."""
        options, parameters = bench.jobs.options(), bench.parameters

        def act(kept: dict[str, str]) -> list[Job]:
            arguments = sleep(parameters["maps"], parameters["reduces"], parameters["map_ms"], settings=options)
            return [bench.jobs.submit(SLEEP_TOOL, arguments, "sleep", kept)]

        return bench.jobs.record(act, 0)
