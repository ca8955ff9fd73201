"""Checks of what an experiment asks of Hadoop: words of parameters, stores, names of settings."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from whitewire.description.paper import Paper, cells_of
from whitewire.estimands.base import Problem
from whitewire.paths import HOME
from whitewire.text import one_of
from whitewire.tools.erasure_coding import BUILT_IN, Policy
from whitewire.workloads import workload_of
from whitewire.workloads.base import Workload

DEFAULTS = HOME / ".cache" / "lib" / "defaults.jar"
"""Hadoop's own *-default.xml, which set-up puts there."""
OF_DAEMONS = (
    "dfs.namenode.", "dfs.datanode.", "dfs.journalnode.", "dfs.ha.", "dfs.federation.", "dfs.provided.",
    "dfs.storage.policy.", "yarn.", "mapreduce.jobhistory.", "mapreduce.shuffle.", "hadoop.http.",
    "ipc.server.", "httpfs.",
)  # fmt: skip
"""Prefixes of settings that only daemons read, which runs do not restart."""
OF_JOBS_ALL_THE_SAME = ("yarn.app.mapreduce.",)
_BESIDE = ("mapreduce.terasort.", "mapreduce.randomwriter.", "mapreduce.randomtextwriter.")
"""Prefixes of settings of Hadoop's examples, which its defaults do not list."""
_PLAIN = re.compile(r"[A-Za-z0-9 ._/:@%+,=-]*")
"""What a setting and its value may hold: a client's JVM is handed its commands as lines of words between tabs, and a
shell starts a job's tasks with the text of some settings (options of JVMs, variables), as HiBench's starts its jobs."""
OF_PLACES = ("fs.defaultFS", "fs.default.name", "fs.viewfs.")
"""Prefixes of settings that locate files: a run's files are in a folder of their own, also in a site's HDFS."""


def problems_of_settings(paper: Paper, experiment: Mapping[str, Any]) -> Iterator[Problem]:
    """Faults of an experiment's settings; see Problem."""
    workload = workload_of(experiment["workload"])
    yield from _words(workload, experiment)
    yield from _stores(paper, workload, experiment)
    yield from _settings(experiment)


def _words(workload: Workload, experiment: Mapping[str, Any]) -> Iterator[Problem]:
    for name, words in workload.choices.items():
        for where, levels in (("factors", experiment["factors"].get(name, ())),
                              ("parameters", [experiment["parameters"].get(name, words[0])])):  # fmt: skip
            for level in levels:
                if level not in words:
                    yield f".{where}.{name}", level, one_of(words), words


def _stores(paper: Paper, workload: Workload, experiment: Mapping[str, Any]) -> Iterator[Problem]:
    for name, store in experiment.get("stores", {}).items():
        key = f".stores.{name}"
        if not workload.on_yarn and store["kind"] != "hdfs":
            yield f"{key}.kind", store["kind"], f"hdfs: {workload.name} has clients of HDFS alone", ("hdfs",)
        if "erasure_coding" not in store:
            continue
        if store["kind"] != "hdfs":
            yield f"{key}.erasure_coding", store["erasure_coding"], f"nothing beside kind {store['kind']}", ()
        if "replication" in store:
            yield f"{key}.replication", store["replication"], "nothing beside erasure_coding, which takes its place", ()
        if Policy.of(store["erasure_coding"]) is None:
            expected = "a policy of HDFS, <RS or XOR>-<data>-<parity>-<KiB of a cell, to 4096>k"
            yield f"{key}.erasure_coding", store["erasure_coding"], expected, BUILT_IN
    for levels in cells_of(experiment):
        policy = Policy.of(paper.store(experiment["id"], levels).get("erasure_coding", ""))
        there = paper.roles(experiment["id"], levels).get("datanode", 0)
        if policy and there < policy.datanodes:
            expected = f"at least {policy.datanodes}, one for each block of a group of {policy.name}"
            yield ".roles.datanode", there, expected, ()


def _settings(experiment: Mapping[str, Any]) -> Iterator[Problem]:
    for level, settings in experiment.get("settings", {}).items():
        for name, value in settings.items():
            key, fault = f".settings.{level}", of_any(name, value)
            if name.startswith(OF_DAEMONS) and not name.startswith(OF_JOBS_ALL_THE_SAME):
                fault = name, "a setting of clients or jobs: daemons, which alone read this, do not get it", ()
            if fault:
                yield key, *fault


def of_any(name: str, value: object) -> tuple[object, str, Sequence[str]] | None:
    """(what was found, what was expected, known names) of a setting that nothing may set; None for another one."""
    known = _names()
    if not _PLAIN.fullmatch(f"{name}{value}"):
        return {name: value}, "letters, digits, blanks and . _ / : @ % + , = - only: shells read it", ()
    if name.startswith(OF_PLACES):
        return name, "no setting that says where files are: runs have a folder of their own", ()
    if known and name not in known and not name.startswith(_BESIDE):
        return name, "a setting that Hadoop's own defaults list", known
    return None


@cache
def _names(jar: Path = DEFAULTS) -> tuple[str, ...]:
    """Names of all settings in Hadoop's *-default.xml; none where Hadoop is not installed."""
    if not jar.is_file():
        return ()
    found: list[str] = []
    with zipfile.ZipFile(jar) as archive:
        for entry in archive.namelist():
            if entry.endswith("-default.xml"):
                found += [name.text or "" for name in ElementTree.fromstring(archive.read(entry)).iter("name")]
    return tuple(found)
