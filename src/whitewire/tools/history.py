"""A site's MapReduce history server: its address, and its answers about a job as one flat record.

Source: MapReduce History Server REST API's, Apache Hadoop documentation.
"""

from __future__ import annotations

import http
import json
from collections.abc import Callable, Collection, Mapping
from typing import Any, NotRequired, TypedDict

from whitewire.tools import Unreadable, in_one_line

UNKNOWN_TIMES = (0, -1)
"""Hadoop's values for times that are in the future or were not recorded; jobs that succeeded have all times."""
UNKNOWN_COUNT = -1
"""A counter's value if the host cannot measure it (memory and processor time without procfs)."""


class Task(TypedDict):
    """An attempt at a task. Times in seconds since 1970; only reduce tasks have those of shuffle and merge.

    The host is "" for an attempt that was never assigned one.
    """

    task: str
    type: str
    state: str
    host: str
    start: float
    end: float
    shuffle_end: NotRequired[float]
    merge_end: NotRequired[float]


class _Job(TypedDict):
    """A job. Times in seconds since 1970; `maps` and `reduces`: numbers of tasks."""

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


POLICY, RPC, YARN_POLICY = "mapreduce.jobhistory.http.policy", "mapreduce.jobhistory.address", "yarn.http.policy"
WEB = {"http": "mapreduce.jobhistory.webapp.address", "https": "mapreduce.jobhistory.webapp.https.address"}
"""The setting with the address of the server's web pages, by scheme, which POLICY selects."""
HTTPS = "HTTPS_ONLY"
HISTORY_DEFAULTS = {
    POLICY: "HTTP_ONLY", YARN_POLICY: "HTTP_ONLY", RPC: "0.0.0.0:10020",
    WEB["http"]: "0.0.0.0:19888", WEB["https"]: "0.0.0.0:19890",
}  # fmt: skip
"""Hadoop's defaults of these settings (mapred-default.xml, yarn-default.xml)."""
EVERY_ADDRESS = ("0.0.0.0", "::", "[::]", "")
"""Wildcard addresses: a server listens on them, but cannot be reached by them."""


def history_server(configured: Callable[[str], str]) -> tuple[str, str]:
    """(`name:port` of a site's server, the setting that contains it).

    `configured` returns a setting of the site. A wildcard address (0.0.0.0) gets the host of the server's other
    address. Raises Unreadable, which names the setting, for an invalid address.
    """
    key = WEB["https" if configured(POLICY).upper() == HTTPS else "http"]
    found = configured(key)
    host, port = _address(found, key)
    if host in EVERY_ADDRESS:
        other = configured(RPC)
        host, _ = _address(other, RPC)
        if host in EVERY_ADDRESS:
            raise Unreadable(f"{key}: found {found!r} and {RPC} {other!r}, expected the history server's host in one")
    return f"{host}:{port}", key


def schemes(configured: Callable[[str], str]) -> tuple[str, ...]:
    """URL schemes to try with a site's server. Hadoop 3.5 selects its port by POLICY, but TLS by YARN_POLICY."""
    secure = HTTPS in (configured(POLICY).upper(), configured(YARN_POLICY).upper())
    return ("https", "http") if secure else ("http",)


def _address(text: str, key: str) -> tuple[str, str]:
    host, _, port = text.strip().rpartition("://")[2].rstrip("/").rpartition(":")
    if not port.isdecimal() or "$" in host:
        raise Unreadable(f"{key}: found {text[:100]!r}, expected host:port, such as history.example.org:19888")
    return host, port


def fault_of_address(settings: Mapping[str, str]) -> str:
    """Why the settings of a mapred-site.xml lack the server's address; empty if they have it, or use variables."""
    found = {key: settings.get(key, default) for key, default in HISTORY_DEFAULTS.items()}
    if any("${" in value for value in found.values()):
        return ""
    try:
        history_server(found.__getitem__)
    except Unreadable as error:
        return str(error)
    return ""


def refusal(code: str, target: str, body: str) -> str:
    """Why an answer to /ws/v1/history/info is not a history server's; empty if it is. `target`: of a redirection."""
    words = http.HTTPStatus(int(code)).phrase if code in map(str, http.HTTPStatus) else ""
    if code.startswith("3"):
        return f"{code} {words}, to {target}"
    if code == "401":
        return f"{code} {words}: it asks for a login, which Whitewire has none of"
    if code != "200":
        return f"{code} {words}".strip()
    try:
        if "historyInfo" in json.loads(body):
            return ""
    except ValueError:
        pass
    return f"found {in_one_line(body)}, expected the answer of a MapReduce history server"


def job(answers: Mapping[str, Any]) -> _Job:
    """A job's record: times, numbers of tasks, counters by name, and one entry per attempt.

    `answers`: the server's `job`, `counters` and `attempts` (one answer per task). Raises Unreadable.
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
            "tasks": [
                _task(attempt)
                for answer in answers["attempts"]
                for attempt in several(answer["taskAttempts"]["taskAttempt"])
            ],
        }
    except KeyError as missing:
        raise Unreadable(f"history server: its answer lacks {missing}") from None
    except (TypeError, AttributeError, OverflowError):
        raise Unreadable("history server: found an answer of another form, expected that of a job") from None


def settings_of_answer(answer: Mapping[str, Any], names: Collection[str]) -> dict[str, str]:
    """The named settings of a job, as text, from the server's answer about its configuration; missing ones are omitted.

    The server converts values that look like numbers or booleans. Raises Unreadable.
    """
    try:
        listed = several(answer["conf"]["property"])
        return {entry["name"]: setting_text(entry["value"]) for entry in listed if entry["name"] in names}
    except (KeyError, TypeError):
        raise Unreadable("history server: found an answer of another form, expected a job's configuration") from None


def setting_text(value: object) -> str:
    """A setting's value as Hadoop writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def several(found: Any) -> list[Any]:
    """A list, which the server replaces by its element if it has only one."""
    return found if isinstance(found, list) else [found]


def _seconds(found: Mapping[str, Any], name: str) -> float:
    """A time of a job or attempt in seconds since 1970. Raises Unreadable if it succeeded but has no such time."""
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
