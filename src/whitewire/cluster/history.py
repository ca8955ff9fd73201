"""Asks a MapReduce history server about finished jobs (its REST API, Apache Hadoop documentation)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from whitewire.cluster.hadoop import ASK
from whitewire.testbed.base import Completed, Host
from whitewire.tools.history import refusal, several

REST = "/ws/v1/history"
FIRST_ANSWER_S = 20
"""Longest time for the first answer of a server, which may load its classes for it."""


def fault_of_server(host: Host, server: str) -> str:
    """Why a server does not answer `host`, in one line; empty where it answers."""
    answer = ["--max-time", str(FIRST_ANSWER_S), "--write-out", "\n%{http_code} %{redirect_url}"]
    done = host.run([*ASK, *answer, f"{server}{REST}/info"])
    if done.status != 0:
        return _said(done)
    body, _, said = done.stdout.decode(errors="replace").rpartition("\n")
    code, _, target = said.partition(" ")
    return refusal(code, target, body)


def reported_job(host: Host, server: str, job: str, timeout: float, check: Callable[[], None],
                 env: Mapping[str, str] | None = None) -> dict[str, Any]:  # fmt: skip
    """A job as a server (`http://name:port`, asked from `host`) reports it: `job`, `counters`, `tasks`, `attempts`.

    `env`: environment of what asks, by which transport the server listens.
    A server learns of a job a moment after the job's end; until then `check` is called. Raises TimeoutError when the
    server doesn't answer in time.
    """
    deadline, said = time.monotonic() + timeout, ""
    while time.monotonic() < deadline:
        check()
        try:
            (found,) = _ask(host, server, job, [""], env)
            if found["job"]["state"] not in ("NEW", "INITED", "RUNNING"):
                counters, tasks = _ask(host, server, job, ["/counters", "/tasks"], env)
                ids = [task["id"] for task in several(tasks["tasks"]["task"])]
                attempts = _ask(host, server, job, [f"/tasks/{task}/attempts" for task in ids], env)
                return {"job": found, "counters": counters, "tasks": tasks, "attempts": attempts}
        except (ValueError, KeyError, TypeError) as error:
            said = " ".join(str(error).split())[:200]
        time.sleep(0.1)
    raise TimeoutError(f"history server: no answer about {job} in {timeout:.0f} s: {said}")


def reported_settings(host: Host, server: str, job: str, names: Collection[str],
                      env: Mapping[str, str] | None = None) -> dict[str, Any]:  # fmt: skip
    """The configuration of a finished job as a server reports it, reduced to the settings `names`.

    Raises ValueError when it does not answer.
    """
    (found,) = _ask(host, server, job, ["/conf"], env)
    kept = [entry for entry in several(found["conf"]["property"]) if entry["name"] in names]
    return {"conf": {"path": found["conf"]["path"], "property": kept}}


def _ask(host: Host, server: str, job: str, parts: Sequence[str], env: Mapping[str, str] | None) -> list[Any]:
    base = f"{server}{REST}/mapreduce/jobs/{job}"
    argv = [*ASK, "--fail", "--max-time", "5"]
    done = host.run([*argv, *(base + part for part in parts)], env)
    text, decoder, found = done.stdout.decode(errors="replace").strip(), json.JSONDecoder(), []
    while text:
        document, end = decoder.raw_decode(text)
        found.append(document)
        text = text[end:].lstrip()
    if len(found) != len(parts):
        raise ValueError(f"{len(found)} of {len(parts)} answers; {_said(done)}")
    return found


def _said(done: Completed) -> str:
    """Why curl failed: the first line of its errors, because advice may follow."""
    return done.stderr.decode(errors="replace").strip().partition("\n")[0] or "no message"
