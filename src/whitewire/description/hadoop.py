"""Checks of an experiment's Hadoop part: words of parameters, stores, names of settings."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from whitewire.description.paper import Paper, cells_of
from whitewire.estimands.base import Problem
from whitewire.factors.seen import PACKET_SIZE
from whitewire.paths import HOME
from whitewire.text import one_of
from whitewire.tools.erasure_coding import BUILT_IN, Policy
from whitewire.workloads import workload_of
from whitewire.workloads.base import Workload

DEFAULTS = HOME / ".cache" / "lib" / "defaults.jar"
"""Hadoop's own *-default.xml, which set-up puts there."""
OF_JOBS_ALL_THE_SAME = ("yarn.app.mapreduce.",)
OF_DAEMONS: dict[str, tuple[str, ...]] = {
    "dfs.namenode.": ("namenode",),
    "dfs.datanode.": ("datanode",),
    "dfs.blockreport.": ("datanode",),
    **dict.fromkeys(("dfs.block.", "dfs.heartbeat."), ("namenode", "datanode")),
    **dict.fromkeys(("yarn.resourcemanager.", "yarn.scheduler."), ("resourcemanager",)),
    **dict.fromkeys(("yarn.nodemanager.", "mapreduce.shuffle."), ("nodemanager",)),
    "mapreduce.jobhistory.": ("historyserver",),
    "ipc.server.": ("namenode", "datanode", "resourcemanager", "nodemanager", "historyserver"),
    **dict.fromkeys((
        "dfs.journalnode.", "dfs.ha.", "dfs.federation.", "dfs.provided.", "dfs.storage.policy.", "yarn.",
        "hadoop.http.", "httpfs.",
    ), ()),
}  # fmt: skip
"""Prefix of settings that only daemons read → the kinds of daemons here that do; () if there are none."""
OF_HDFS = frozenset({"namenode", "datanode"})
"""Kinds of daemons that every cluster has."""
BANDWIDTHS = frozenset({
    "dfs.block.scanner.volume.bytes.per.second",
    *(f"dfs.datanode.{of}.bandwidthPerSec" for of in (
        "balance", "data.read", "data.transfer", "data.write", "ec.reconstruct.read", "ec.reconstruct.write",
    )),
})  # fmt: skip
"""Settings in bytes per second, which are divided by k as rates of links and drives are. All others stay as given."""
OF_THE_TESTBED = re.compile(
    r"address|host|[.-](dirs?|paths?|ports?|uri)$|kerberos|keytab|principal|\.audit\.|fs-limits\.min-block-size"
    r"|env-whitelist|aux-services|^dfs\.heartbeat\.|nodemanagers\.heartbeat-interval"
)
"""Settings of daemons that the testbed owns: where they listen and write, what runs are made and measured by, and
heartbeats, whose values design/scaling.py has."""
_BESIDE = ("mapreduce.terasort.", "mapreduce.randomwriter.", "mapreduce.randomtextwriter.")
"""Prefixes of settings of Hadoop's examples, which its defaults do not list."""
_PLAIN = re.compile(r"[A-Za-z0-9 ._/:@%+,=-]*")
"""Allowed characters of a setting and its value. A client's JVM gets commands as lines of words between tabs, and a
shell starts tasks with the text of some settings (options of JVMs, variables)."""
PACKETS_IN_FLIGHT = "dfs.client.write.max-packets-in-flight", 80
"""Setting for the number of packets that a client sends without acknowledgement, and Hadoop's default."""
_LEAST = {PACKET_SIZE: 512, PACKETS_IN_FLIGHT[0]: 1}
"""Settings of clients that scales and similitude are computed from, with their least value: of a packet one checksum
chunk."""
SettingFault = tuple[object, str, Sequence[str]]
"""(what was found, what was expected, known names) of a setting."""
OF_PLACES = ("fs.defaultFS", "fs.default.name", "fs.viewfs.")
"""Prefixes of settings that locate files: a run's files are in a folder of their own, also in a site's HDFS."""


def problems_of_settings(paper: Paper, experiment: Mapping[str, Any]) -> Iterator[Problem]:
    """Faults of an experiment's settings; see Problem."""
    workload = workload_of(experiment["workload"])
    yield from _words(workload, experiment)
    yield from _stores(paper, workload, experiment)
    yield from _settings(workload, experiment)


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


def daemons_that_read(name: str) -> tuple[str, ...] | None:
    """Kinds of the daemons here that alone read a setting, () if none does; None for a setting of clients and jobs."""
    if name.startswith(OF_JOBS_ALL_THE_SAME):
        return None
    return next((kinds for prefix, kinds in OF_DAEMONS.items() if name.startswith(prefix)), None)


def _settings(workload: Workload, experiment: Mapping[str, Any]) -> Iterator[Problem]:
    for level, settings in experiment.get("settings", {}).items():
        for name, value in settings.items():
            kinds = daemons_that_read(name)
            if kinds is None:
                of_its_reader = _of_clients(workload, name, value)
            else:
                of_its_reader = _of_daemons(workload, name, value, kinds)
            if fault := of_its_reader or of_any(name, value):
                yield f".settings.{level}", *fault


def _of_clients(workload: Workload, name: str, value: object) -> SettingFault | None:
    if not workload.settings_of_clients:
        return name, f"a setting of daemons: {workload.name} measures no client", ()
    least = _LEAST.get(name)
    if least and (not isinstance(value, int) or isinstance(value, bool) or value < least):
        return {name: value}, f"a whole number, at least {least}", ()
    return None


def _of_daemons(workload: Workload, name: str, value: object, kinds: Collection[str]) -> SettingFault | None:
    if not kinds:
        return name, "a setting of clients, jobs or daemons that run here", ()
    if not (workload.on_yarn or OF_HDFS & set(kinds)):
        return name, f"a setting of HDFS's daemons: {workload.name} has no {' or '.join(kinds)}", ()
    if OF_THE_TESTBED.search(name):
        return name, "no setting that the testbed owns, such as addresses, folders and heartbeats", ()
    if name in BANDWIDTHS and (not isinstance(value, int | float) or isinstance(value, bool)):
        return {name: value}, "a number of bytes per second, which is divided by k", ()
    return None


def of_any(name: str, value: object) -> SettingFault | None:
    """The fault of a setting that nothing may set; None for another one."""
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
