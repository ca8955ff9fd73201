"""The Map/Reduce workloads on a stack that is up: one function a workload, each makes one run."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

from whitewire.cluster import hdfs, yarn
from whitewire.cluster.hadoop import Outcome
from whitewire.cluster.stack import Stack
from whitewire.design import scaling
from whitewire.errors import RunFailed
from whitewire.measure.execution import Result, Run, observed, source_files, watch
from whitewire.tools import history
from whitewire.tools import testdfsio as testdfsio_parser
from whitewire.workloads import copy, read_loop, sleep, sort, terasort, testdfsio, wordcount

OUTPUT = "/output"
"""Where a run's results go; emptied before each run."""
TINY_ROWS = 50
"""Rows a map task of a job that is run for its floor."""


def at_ease(stack: Stack) -> None:
    """For everything that is not measured: the fastest fabric, and drives that hold nothing up."""
    stack.testbed.fabric(stack.testbed.fastest())
    stack.ease(True)


def _mounted(run: Run) -> bool:
    return run.store["kind"] == "cephfs"


def options_of(stack: Stack, run: Run) -> dict[str, object]:
    """Settings of every job of a run: the job's file system, blocks, replicas, memory."""
    reduces = run.parameters.get("reduces", 1)
    own: dict[str, object] = {
        "dfs.blocksize": run.scale.block_bytes,
        "dfs.replication": run.parameters.get("replication", 1),
        "mapreduce.job.reduces": reduces,
        "mapreduce.reduce.memory.totalbytes": scaling.reduce_memory(run.scale.file_bytes, reduces),
        "fs.local.block.size": run.scale.block_bytes,
    }
    if run.scale.data_fraction < 1:  # as of puts: a fixed wait, which a short file must shorten likewise
        own |= scaling.retry_settings(run.scale.data_fraction)
    return own | {"fs.defaultFS": yarn.VIEW} | dict(run.settings)


def _path(stack: Stack, run: Run, path: str) -> str:
    """A path in the run's file system."""
    return f"{yarn.MOUNTED}{path}" if _mounted(run) else path


def _begin(stack: Stack, run: Run, folder: str = OUTPUT) -> None:
    """An empty folder for the run's files; on CephFS with the layout and the clients' caches of its store, scaled."""
    if _mounted(run):
        # First: the metadata server asks whoever has a file open or cached before it is removed.
        _remount(stack, run)
    _remove(stack, run, folder)
    if _mounted(run):
        for name in ("/input", folder):
            unit = scaling.stripe_unit(run.store["stripe_size_bytes"], run.scale.k)
            stack.mounted.layout(name.lstrip("/"), run.store["stripe_count"], unit)


def _remount(stack: Stack, run: Run) -> None:
    store, k, fraction = run.store, run.scale.k, run.scale.data_fraction
    stack.mounted.remount(
        max_dirty=scaling.client_cache(store["max_dirty_bytes"], k, fraction),
        readahead=scaling.client_cache(store["readahead_bytes"], k, fraction),
    )


def _remove(stack: Stack, run: Run, *paths: str) -> None:
    for path in paths:
        if _mounted(run):
            stack.mounted.remove(path.lstrip("/"))
        else:
            stack.hdfs.remove(path)


def _tool(stack: Stack, run: Run, tool: str, arguments: list[str], what: str) -> Outcome:
    """A tool of Hadoop in the client's JVM. Raises RunFailed when it does not end well, naming why."""
    client = stack.clients[0]
    client.begin(tool, arguments)
    try:
        watch(stack, client.done, run.timeout)
    except RunFailed as failure:
        raise RunFailed(f"{what}: {failure}") from None
    outcome = client.result(timeout=1)
    if outcome.status != 0:
        lines = [line for line in outcome.output.splitlines() if re.search(r"Exception|Error|FAILED|failed", line)]
        raise RunFailed(f"{what}: status {outcome.status}: {(lines or ['no message'])[-1].strip()[:200]}")
    return outcome


def _job(stack: Stack, run: Run, tool: str, arguments: list[str], what: str, kept: dict[str, str]) -> dict[str, Any]:
    """A tool that submits one job: what the history server says of it. Raises RunFailed for a job that failed."""
    outcome = _tool(stack, run, tool, arguments, what)
    kept[f"{what}.txt"] = outcome.output + "\n"
    ids = yarn.job_ids(outcome.output)
    if not ids:
        raise RunFailed(f"{what}: it submitted no job")
    return finished(stack, ids[-1], what, kept)


def finished(stack: Stack, number: str, what: str, kept: dict[str, str]) -> dict[str, Any]:
    """What the history server says of a job that has ended. Raises RunFailed for a job that failed."""
    answers = stack.yarn.history(number)
    kept[f"{what}-history.json"] = json.dumps(answers) + "\n"
    job = history.job(answers)
    failed = [task for task in job["tasks"] if task["state"] != "SUCCEEDED"]
    if job["state"] != "SUCCEEDED" or failed:
        raise RunFailed(f"{what}: job {job['state']}, {len(failed)} tasks failed; {job['diagnostics'][:150]}")
    return {"name": what, **job}


def record_of(stack: Stack, run: Run, act: Callable[[dict[str, str]], list[dict[str, Any]]], user_bytes: int) -> Result:
    """Do the jobs of a run between two readings of all counters."""
    kept: dict[str, str] = {}

    def jobs() -> dict[str, Any]:
        done = act(kept)
        return {"jobs": done, "start": min(job["submit"] for job in done), "end": max(job["end"] for job in done)}

    result = observed(stack, run, jobs, by_host=True)
    workers = [host.name for host in stack.testbed.by_role("datanode")][: run.workers]
    floors = stack.floors.get(floor_key(run), {})
    outputs = run.parameters.get("output_replication", run.parameters.get("replication", 1))
    record = result.record | {
        "user_bytes": user_bytes,
        "mounted": _mounted(run),
        "output_replication": 1 if _mounted(run) else outputs,
        "workers": workers,
        "busy_clients": [],
        "made_by": f"Hadoop {stack.hdfs.installation.version}",
        "cpu": run.cpu,
        "floors": {name: value for name, value in floors.items() if name != "wire"},
        "floor_wire": floors.get("wire", 0.0),
    }
    return Result(record, result.files | kept)


def _input(stack: Stack, run: Run, kind: str, make: Callable[[str], tuple[str, list[str]]]) -> str:
    """The path of an input that runs of the same size share, made on the fastest fabric where it is not there yet."""
    identity = f"{kind}-{run.scale.file_bytes}-{run.scale.block_bytes}-{run.parameters.get('replication', 1)}"
    path = _path(stack, run, f"/input/{identity}")
    key = (run.store["kind"], json.dumps(run.store, sort_keys=True) if _mounted(run) else "", path)
    if key not in stack.made:
        at_ease(stack)
        _remove(stack, run, f"/input/{identity}")
        tool, arguments = make(path)
        _tool(stack, run, tool, arguments, f"input of {kind}")
        stack.made.add(key)
    return path


def run_teragen(stack: Stack, run: Run) -> Result:
    """TeraGen alone. Raises RunFailed when the job failed."""
    _begin(stack, run)
    rows = run.scale.file_bytes // terasort.ROW_BYTES

    def act(kept: dict[str, str]) -> list[dict[str, Any]]:
        target = _path(stack, run, f"{OUTPUT}/rows")
        arguments = terasort.generate(rows, target, run.parameters["maps"], options_of(stack, run))
        return [_job(stack, run, terasort.GENERATE, arguments, "teragen", kept)]

    return record_of(stack, run, act, rows * terasort.ROW_BYTES)


def run_terasort(stack: Stack, run: Run) -> Result:
    """TeraSort, then TeraValidate of its output. Raises RunFailed when a job failed or a row is out of order."""
    _begin(stack, run)
    rows, options = run.scale.file_bytes // terasort.ROW_BYTES, options_of(stack, run)
    source = _input(stack, run, "rows", lambda path: (
        terasort.GENERATE, terasort.generate(rows, path, _generators(run), options)))  # fmt: skip
    target = _path(stack, run, f"{OUTPUT}/sorted")

    def act(kept: dict[str, str]) -> list[dict[str, Any]]:
        own = {"mapreduce.terasort.output.replication": run.parameters.get("output_replication", 1)}
        arguments = terasort.sort(source, target, run.parameters["reduces"], options | own)
        return [_job(stack, run, terasort.SORT, arguments, "terasort", kept)]

    result = record_of(stack, run, act, rows * terasort.ROW_BYTES)
    at_ease(stack)
    _validate(stack, run, target)
    return result


def _generators(run: Run) -> int:
    """Map tasks of TeraGen: one, so that every block is whole, or as many as divide the blocks evenly."""
    blocks = math.ceil(run.scale.file_bytes / run.scale.block_bytes)
    return next(count for count in range(min(blocks, 5), 0, -1) if blocks % count == 0)


def _validate(stack: Stack, run: Run, sorted_rows: str) -> None:
    """TeraValidate in the client's own JVM: it is a check and not measured."""
    report = _path(stack, run, f"{OUTPUT}/report")
    folder = f"{stack.testbed.by_role('client')[0].scratch}/local"
    options = options_of(stack, run) | {"mapreduce.framework.name": "local", "mapreduce.cluster.local.dir": folder}
    _tool(stack, run, terasort.VALIDATE, terasort.validate(sorted_rows, report, options), "teravalidate")
    shown = stack.clients[0].run(hdfs.FS_SHELL, ["-cat", f"{yarn.VIEW}{report.lstrip('/')}/part-r-00000"])
    found = [line for line in shown.output.splitlines() if line.split("\t")[0] in ("error", "checksum")]
    if not found or any(line.startswith("error") for line in found):
        raise RunFailed(f"teravalidate: {(found or ['no report'])[0][:200]}")


def run_testdfsio(stack: Stack, run: Run) -> Result:
    """TestDFSIO write, then read of the same files, with cold clients unless they keep their caches.

    Raises RunFailed when a job failed.
    """
    _begin(stack, run, testdfsio.FOLDER)
    files, size = run.parameters["maps"], run.scale.file_bytes
    options = options_of(stack, run) | {"test.build.data": _path(stack, run, testdfsio.FOLDER)}

    def one(operation: str, kept: dict[str, str]) -> dict[str, Any]:
        arguments = getattr(testdfsio, operation)(files, size, options)
        job = _job(stack, run, testdfsio.TOOL, arguments, operation, kept)
        said = testdfsio_parser.parse(kept[f"{operation}.txt"])
        result = _path(stack, run, f"{testdfsio.FOLDER}/io_{operation}/part-00000")
        shown = stack.clients[0].run(hdfs.FS_SHELL, ["-cat", f"{yarn.VIEW}{result.lstrip('/')}"])
        kept[f"{operation}-result.txt"] = shown.output + "\n"
        kept[f"{operation}-tasks.txt"] = stack.yarn.task_lines(job["id"], testdfsio_parser.TASK_LINE)
        return job | {
            "testdfsio": testdfsio_parser.task_values(shown.output),
            "spans": testdfsio_parser.task_spans(kept[f"{operation}-tasks.txt"]),
            "seconds": said.seconds,
        }

    def act(kept: dict[str, str]) -> list[dict[str, Any]]:
        write = one("write", kept)
        if _mounted(run) and not run.parameters.get("keep_caches"):
            stack.mounted.remount()
        return [write, one("read", kept)]

    result = record_of(stack, run, act, files * size)
    for job in result.record["jobs"]:
        if int(job["testdfsio"]["size"]) != files * size:
            raise RunFailed(f"{job['name']}: {job['testdfsio']['size']:.0f} bytes, expected {files * size}")
    return result


def run_sort(stack: Stack, run: Run) -> Result:
    """Sort of RandomWriter's data. Raises RunFailed when a job failed or records are missing."""
    return _two_steps(stack, run, "random", sort.write, sort.WRITE, lambda source, target, options: (
        sort.SORT, sort.sort(source, target, run.parameters["reduces"], options)))  # fmt: skip


def run_wordcount(stack: Stack, run: Run) -> Result:
    """WordCount of RandomTextWriter's text. Raises RunFailed when a job failed."""
    return _two_steps(stack, run, "text", wordcount.write, wordcount.WRITE, lambda source, target, options: (
        wordcount.COUNT, wordcount.count(source, target, options)))  # fmt: skip


def _two_steps(stack: Stack, run: Run, kind: str, write, tool: str, measured) -> Result:
    """An input of random length a file, one file a map task, then the job on it."""
    _begin(stack, run)
    # The writers end a file with the record that passes its size: room for one more keeps a file one block.
    block = math.ceil((run.scale.block_bytes * 1.1 + 65536) / 512) * 512
    options = options_of(stack, run) | {"dfs.blocksize": block, "fs.local.block.size": block}
    size, files = run.scale.file_bytes, math.ceil(run.scale.file_bytes / run.scale.block_bytes)
    source = _input(stack, run, kind, lambda path: (tool, write(path, size, files, options)))

    def act(kept: dict[str, str]) -> list[dict[str, Any]]:
        program, arguments = measured(source, _path(stack, run, f"{OUTPUT}/result"), options)
        return [_job(stack, run, program, arguments, run.row["workload"], kept)]

    return record_of(stack, run, act, size)


def run_sleep(stack: Stack, run: Run) -> Result:
    """SleepJob: tasks that only wait. Raises RunFailed when the job failed."""
    options = options_of(stack, run)

    def act(kept: dict[str, str]) -> list[dict[str, Any]]:
        parameters = run.parameters
        arguments = sleep.sleep(parameters["maps"], parameters["reduces"], parameters["map_ms"], settings=options)
        return [_job(stack, run, sleep.TOOL, arguments, "sleep", kept)]

    return record_of(stack, run, act, 0)


def run_copy(stack: Stack, run: Run) -> Result:
    """One file from the client's local drive into the store and out of it. Raises RunFailed when a copy failed."""
    _begin(stack, run)
    client = stack.testbed.by_role("client")[0]
    local = f"{client.drive(1)}/source"
    client.run(["mkdir", "-p", client.drive(1)]).check()
    client.run(["cp", source_files(stack.testbed, run.scale.file_bytes, 1)[0], local]).check()
    options = options_of(stack, run)
    target = _path(stack, run, f"{OUTPUT}/copy")
    if not _mounted(run):
        stack.hdfs.shell("-mkdir", "-p", OUTPUT)

    def act(kept: dict[str, str]) -> list[dict[str, Any]]:
        done = []
        for name, arguments in (
            ("copy_in", copy.copy_in(f"file://{local}", target, options)),
            ("copy_out", copy.copy_out(target, f"file://{local}.back", options)),
        ):
            if name == "copy_out" and _mounted(run):
                stack.mounted.remount()
            outcome = _tool(stack, run, hdfs.FS_SHELL, arguments, name)
            done.append({"name": name, "submit": outcome.begin, "end": outcome.end, "tasks": [], "counters": {}})
        return done

    result = record_of(stack, run, act, run.scale.file_bytes)
    same = client.run(["cmp", local, f"{local}.back"])
    client.run(["rm", "-f", f"{local}.back"]).check()
    if same.status != 0:
        raise RunFailed("copy: the file that came back is not the one that went in")
    return result


def run_read_loop(stack: Stack, run: Run) -> Result:
    """One file of HDFS read by TestDFSIO's loops, old and present. Raises RunFailed when a read failed."""
    _begin(stack, run)
    stack.hdfs.shell("-mkdir", "-p", OUTPUT)
    at_ease(stack)
    (local,) = source_files(stack.testbed, run.scale.file_bytes, 1)
    options = {"dfs.blocksize": run.scale.block_bytes, "dfs.replication": run.parameters.get("replication", 1)}
    _tool(stack, run, hdfs.FS_SHELL, copy.copy_in(f"file://{local}", f"{OUTPUT}/file", options), "read_loop input")
    buffer = scaling.read_buffer(run.scale.block_bytes / run.parameters["block_size_bytes"])

    def act(kept: dict[str, str]) -> list[dict[str, Any]]:
        done = []
        for loop in read_loop.LOOPS:
            outcome = _tool(stack, run, read_loop.TOOL, read_loop.read(f"{OUTPUT}/file", loop, buffer), loop)
            kept[f"{loop}.txt"] = outcome.output + "\n"
            found = dict(re.findall(r"(\w+)=([\d.]+)", outcome.output))
            values = {name: float(found[name]) for name in ("bytes_read", "bytes_credited", "seconds")}
            done.append(
                {"name": loop, "submit": outcome.begin, "end": outcome.end, "tasks": [], "counters": {}, **values}
            )
        return done

    return record_of(stack, run, act, run.scale.file_bytes)


WORKLOADS = {
    "teragen": run_teragen,
    "terasort": run_terasort,
    "testdfsio": run_testdfsio,
    "sort": run_sort,
    "wordcount": run_wordcount,
    "sleep": run_sleep,
    "copy": run_copy,
    "read_loop": run_read_loop,
}
FLOORED = ("teragen", "terasort", "testdfsio", "sort", "wordcount")


def floor_key(run: Run) -> tuple[Any, ...]:
    """What jobs must have in common to have the same floor: kind, file system, number of tasks, k, workers if not all.

    By k links are slowed down, which little more than calls cross in a floor.
    """
    blocks, parameters = math.ceil(run.scale.file_bytes / run.scale.block_bytes), run.parameters
    tasks = parameters.get("maps", 1), blocks, parameters.get("reduces", 1)
    workers = () if run.workers is None else (run.workers,)
    k = f"k={run.scale.k:g}"
    return parameters.get("program", run.row["workload"]), run.store["kind"], *tasks, k, *workers


def tiny(run: Run) -> Run:
    """The same run on almost no data and without a link worth the name: what is left is its floor."""
    blocks = math.ceil(run.scale.file_bytes / run.scale.block_bytes)
    block = terasort.ROW_BYTES * TINY_ROWS // 512 * 512 + 512
    return run.on_almost_nothing(block_bytes=block, file_bytes=block * blocks)
