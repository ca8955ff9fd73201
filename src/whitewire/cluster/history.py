"""Asks a MapReduce history server about finished jobs (its REST API, Apache Hadoop documentation)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

from whitewire.testbed.base import Host
from whitewire.tools.history import several


def of(host: Host, server: str, job: str, timeout: float, check: Callable[[], None]) -> dict[str, Any]:
    """What a server ("name:port", asked from `host`) says of a job: `job`, `counters`, `tasks`, `attempts`, verbatim.

    It learns of a job a moment after the job's end. `check` is called while it doesn't know; raises TimeoutError
    when it doesn't answer in time.
    """
    deadline, said = time.monotonic() + timeout, ""
    while time.monotonic() < deadline:
        check()
        try:
            (found,) = _ask(host, server, job, [""])
            if found["job"]["state"] not in ("NEW", "INITED", "RUNNING"):
                counters, tasks = _ask(host, server, job, ["/counters", "/tasks"])
                ids = [task["id"] for task in several(tasks["tasks"]["task"])]
                attempts = _ask(host, server, job, [f"/tasks/{task}/attempts" for task in ids])
                return {"job": found, "counters": counters, "tasks": tasks, "attempts": attempts}
        except (ValueError, KeyError, TypeError) as error:
            said = " ".join(str(error).split())[:200]
        time.sleep(0.1)
    raise TimeoutError(f"history server: no answer about {job} in {timeout:.0f} s: {said}")


def settings(host: Host, server: str, job: str, names: Collection[str]) -> dict[str, Any]:
    """What a server says of a finished job's configuration, less all settings but those of these names.

    Raises ValueError when it does not answer.
    """
    (found,) = _ask(host, server, job, ["/conf"])
    kept = [entry for entry in several(found["conf"]["property"]) if entry["name"] in names]
    return {"conf": {"path": found["conf"]["path"], "property": kept}}


def _ask(host: Host, server: str, job: str, parts: Sequence[str]) -> list[Any]:
    base = f"http://{server}/ws/v1/history/mapreduce/jobs/{job}"
    argv = ["curl", "--silent", "--fail", "--max-time", "5", "--header", "Accept: application/json"]
    done = host.run([*argv, *(base + part for part in parts)])
    text, decoder, found = done.stdout.decode(errors="replace").strip(), json.JSONDecoder(), []
    while text:
        document, end = decoder.raw_decode(text)
        found.append(document)
        text = text[end:].lstrip()
    if len(found) != len(parts):
        raise ValueError(f"{len(found)} of {len(parts)} answers")
    return found
