"""What the MapReduce history server says of a job, as one flat record.

Source: MapReduce History Server REST API's, Apache Hadoop documentation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from whitewire.tools import Unreadable

UNKNOWN_TIMES = (0, -1)
"""What Hadoop writes for a moment that has not come, or was not seen; of what succeeded every one has come."""
UNKNOWN_COUNT = -1
"""What a counter says of what the host cannot measure (memory and processor time without procfs)."""


class Task(TypedDict):
    """An attempt at a task. Times in seconds since 1970; those of shuffle and merge are of reduce tasks only.

    The host is "" for an attempt that never got one.
    """

    task: str
    type: str
    state: str
    host: str
    start: float
    end: float
    shuffle_end: NotRequired[float]
    merge_end: NotRequired[float]


class Job(TypedDict):
    """A job. Times in seconds since 1970; `maps` and `reduces` are numbers of tasks."""

    id: str
    state: str
    submit: float
    start: float
    end: float
    maps: int
    reduces: int
    diagnostics: str
    counters: dict[str, int]
    tasks: list[Task]


def job(answers: Mapping[str, Any]) -> Job:
    """Seconds since 1970 of submission, start and end; number of tasks; counters by name; one entry an attempt.

    `answers` holds `job`, `counters` and `attempts` (one answer a task) as the server gives them. Raises Unreadable.
    """
    try:
        if refusal := answers["job"].get("RemoteException"):
            raise Unreadable(f"history server: {' '.join(str(refusal['message']).split())[:200]}")
        found, counters = answers["job"]["job"], answers["counters"]["jobCounters"]
        return {
            "id": found["id"],
            "state": found["state"],
            "submit": _seconds(found, "submitTime"),
            "start": _seconds(found, "startTime"),
            "end": _seconds(found, "finishTime"),
            "maps": found["mapsTotal"],
            "reduces": found["reducesTotal"],
            "diagnostics": found.get("diagnostics", ""),
            "counters": {
                counter["name"]: counter["totalCounterValue"]
                for group in several(counters.get("counterGroup", []))
                for counter in several(group["counter"])
                if counter["totalCounterValue"] != UNKNOWN_COUNT
            },
            "tasks": [_task(attempt) for answer in answers["attempts"] for attempt in _attempts(answer)],
        }
    except KeyError as missing:
        raise Unreadable(f"history server: its answer lacks {missing}") from None
    except (TypeError, AttributeError, OverflowError):
        raise Unreadable("history server: found an answer of another form, expected that of a job") from None


def settings(answer: Mapping[str, Any], names: Collection[str]) -> dict[str, str]:
    """Settings of a job by name, as text, of a server's answer about its configuration; without those that it lacks.

    The server makes numbers and truth values of what looks like them. Raises Unreadable.
    """
    try:
        listed = several(answer["conf"]["property"])
        return {entry["name"]: text(entry["value"]) for entry in listed if entry["name"] in names}
    except (KeyError, TypeError):
        raise Unreadable("history server: found an answer of another form, expected a job's configuration") from None


def text(value: object) -> str:
    """A setting's value as Hadoop writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _attempts(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return several(answer["taskAttempts"]["taskAttempt"])


def several(found: Any) -> list[Any]:
    """A list that the server may give as its one element."""
    return found if isinstance(found, list) else [found]


def _seconds(found: Mapping[str, Any], name: str) -> float:
    """A time of a job or attempt. Raises Unreadable where one that succeeded has none."""
    if found[name] in UNKNOWN_TIMES and found["state"] == "SUCCEEDED":
        raise Unreadable(f"history server: {found['id']}: {name} {found[name]}, expected a time")
    return found[name] / 1000


def _task(attempt: Mapping[str, Any]) -> Task:
    record: Task = {
        "task": attempt["id"].removeprefix("attempt_"),
        "type": attempt["type"],
        "state": attempt["state"],
        "host": (attempt["nodeHttpAddress"] or "").split(":")[0],
        "start": _seconds(attempt, "startTime"),
        "end": _seconds(attempt, "finishTime"),
    }
    if attempt["type"] == "REDUCE":
        record["shuffle_end"] = _seconds(attempt, "shuffleFinishTime")
        record["merge_end"] = _seconds(attempt, "mergeFinishTime")
    return record
