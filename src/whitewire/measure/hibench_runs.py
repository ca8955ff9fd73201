"""The workload `hibench`: a program of HiBench at a scale profile, made by HiBench or by Hadoop's own jars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from whitewire.cluster.hibench import HiBench, hadoop_of
from whitewire.cluster.stack import Stack
from whitewire.errors import RunFailed, UserError
from whitewire.measure import jobs
from whitewire.measure.execution import Result, Run
from whitewire.testbed.base import Testbed
from whitewire.tools import hibench
from whitewire.tools.hibench import Job
from whitewire.workloads import terasort


def bench_of(testbed: Testbed, settings: Mapping | None, runs: Sequence[Run], logs: Path) -> HiBench | None:
    """The testbed's HiBench (`settings`, its description's `hibench`), checked for all that the runs want of it.

    None where the testbed has none. UserError for what would stop a run; see also check.check_programs().
    """
    wanted = dict.fromkeys((run.parameters["program"], run.parameters["profile"]) for run in runs)
    if not wanted or not settings:
        return None
    bench = HiBench(testbed.by_role("client")[0], settings["home"], logs, settings.get("path", ()))
    bench.check(wanted, [host.endpoint for host in testbed.by_role("datanode")])
    return bench


def _scaled(run: Run) -> bool:
    return run.scale.k != 1 or run.scale.data_fraction != 1


def _sizes(run: Run) -> dict[str, object]:
    if not _scaled(run):
        return {}
    try:
        return hibench.sizes(run.parameters["program"], run.parameters["profile"], run.scale.file_bytes)
    except ValueError as error:
        raise UserError(f"experiment {run.row['experiment']}: {error}") from None


def run_hibench(stack: Stack, run: Run) -> Result:
    """One program. Raises RunFailed when a script or a job failed."""
    program, profile = run.parameters["program"], run.parameters["profile"]
    result = _native(stack, run) if stack.hibench is None else _by_hibench(stack, run)
    return Result(result.record | {"program": program, "profile": profile}, result.files)


def _native(stack: Stack, run: Run) -> Result:
    """The same program of Hadoop's jars."""
    program, profile = run.parameters["program"], run.parameters["profile"]
    workload = hibench.NATIVE[program]
    outputs = run.parameters.get("output_replication", _outputs(run))
    own: dict[str, Any] = {"maps": run.parameters.get("maps", 1), "output_replication": outputs}
    if program == "dfsioe":
        own["maps"] = hibench.files(profile)
    if program == "sleep":
        own["map_ms"] = hibench.sleep_ms(profile)
    inner = replace(run, row={**run.row, "workload": workload}, parameters={**run.parameters, **own})
    return jobs.WORKLOADS[workload](stack, inner)


def _outputs(run: Run) -> int:
    """Replicas of what the program writes: TeraSort's own default is one."""
    return 1 if run.parameters["program"] == "terasort" else run.parameters.get("replication", 1)


def _by_hibench(stack: Stack, run: Run) -> Result:
    bench, parameters, testbed = stack.hibench, run.parameters, stack.testbed
    program, outputs = parameters["program"], parameters.get("output_replication", _outputs(run))
    options = jobs.options_of(stack, run) | {"mapreduce.terasort.output.replication": outputs}
    if _scaled(run):
        options["mapreduce.terasort.partitions.sample"] = terasort.SAMPLED_ROWS
    masters, workers = ([host.endpoint for host in testbed.by_role(role)] for role in ("namenode", "datanode"))
    job = Job(program, parameters["profile"], parameters["maps"], parameters["reduces"], masters, workers, _sizes(run))
    bench.configure(hadoop_of(stack, bench, options), job)
    made = ("hibench", program, parameters["profile"], run.scale.file_bytes, run.scale.block_bytes,
            parameters.get("replication", 1))  # fmt: skip
    if made not in stack.made:
        jobs.at_ease(stack)
        bench.prepare(run.timeout, stack.check)
        # Its inputs have one place a program: the last one made is the one that is there.
        stack.made = {key for key in stack.made if key[:2] != made[:2]} | {made}
    reports: list[dict[str, Any]] = []

    def act(kept: dict[str, str]) -> list[dict[str, Any]]:
        done = []
        for reported in bench.measure(run.timeout, stack.check):
            reports.append(reported.record())
            kept[f"{reported.name}.txt"] = reported.output
            names = _names(reported.name, reported.jobs)
            done += [jobs.finished(stack, number, name, kept) for name, number in names.items()]
        if not done:
            raise RunFailed(f"hibench {program}: it submitted no job")
        return done

    result = jobs.record_of(stack, run, act, 0)
    user = run.scale.file_bytes * hibench.files(parameters["profile"]) if program == "dfsioe" else None
    record = result.record | {
        "user_bytes": user if user is not None else sum(report["bytes"] for report in reports),
        "output_replication": outputs,
        "reports": reports,
        "made_by": bench.made_by,
    }
    return Result(record, result.files | bench.files())


def _names(name: str, numbers: Sequence[str]) -> dict[str, str]:
    """Names of the jobs of one run: its own, and with a number from the second on."""
    return {name if place == 1 else f"{name}-{place}": number for place, number in enumerate(numbers, start=1)}


def floored(run: Run, by_hibench: bool) -> bool:
    """Whether the run's floor can be measured: `dfsioe` of HiBench has no file below 1 MiB, `sleep` is a floor."""
    program = run.parameters["program"]
    return program in hibench.SIZES or (program == "dfsioe" and not by_hibench)


WORKLOADS = {"hibench": run_hibench}
