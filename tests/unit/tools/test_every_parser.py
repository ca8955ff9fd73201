"""Every parser on what its tool printed, damaged: the right value or the project's own error, never anything else."""

import copy
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.unit.measure.test_jobs import ANSWERS, LOGGED, RESULT, SAID
from tests.unit.testbed.test_remote import JOB
from tests.unit.tools.test_rdma_counters import DRIVERS, NETSTAT
from whitewire.errors import UserError
from whitewire.testbed.site.schedulers import slurm
from whitewire.tools import (
    Unreadable,
    codecs,
    documents,
    erasure_coding,
    fio,
    hibench_report,
    history,
    iperf3,
    link,
    namenode,
    perftest,
    testdfsio,
)
from whitewire.tools.daemon import settings_of_daemon
from whitewire.tools.fio import fio_bandwidth
from whitewire.tools.hibench_report import report_rows
from whitewire.tools.history import HISTORY_DEFAULTS, history_server, settings_of_answer
from whitewire.tools.ibv_devinfo import device_ports
from whitewire.tools.iperf3 import iperf3_result
from whitewire.tools.link import parse_offloads
from whitewire.tools.namenode import fsck_blocks, racks_of_report
from whitewire.tools.nnbench import nnbench_result
from whitewire.tools.rdma_counters import port_counters
from whitewire.tools.site_xml import parse_site_xml
from whitewire.tools.tcp import lost_segments, tcp_counters
from whitewire.tools.testdfsio import dfsio_result

DATA = Path(__file__).parents[2] / "data"
REFUSALS = (Unreadable, UserError)
REPORT = """Type         Date       Time     Input_data_size      Duration(s)          Throughput(bytes/s)  Throughput
HadoopSort   2026-11-21 12:19:23 328489               33.125               9916                 4958
HadoopSort   2026-11-21 12:21:23 3284890              43.25                75951                37975
"""
CONF = '{"property":{"key":"dfs.heartbeat.interval","value":"1","isFinal":false,"resource":"site.xml"}}'


@dataclass(frozen=True)
class Output:
    """What a tool printed, and its parser. `counted`: the parser gives a list whose length its caller knows."""

    name: str
    text: str
    parse: Callable[[str], Any]
    counted: bool = False


def output(name: str, parse: Callable, counted: bool = False) -> Output:
    return Output(name, (DATA / name).read_text(), parse, counted)


def of_bytes(parse: Callable, *arguments: str) -> Callable[[str], Any]:
    return lambda text: parse(text.encode(), *arguments)


def measured(operation: str) -> Callable[[str], Any]:
    return of_bytes(fio.measurement, operation)


def of_stat(text: str) -> Any:
    return namenode.stamped(text, "/data/client1")


def of_site(text: str) -> Any:
    """Where a site's history server is by its mapred-site.xml."""
    settings = HISTORY_DEFAULTS | (parse_site_xml(text, "mapred-site.xml") or {})
    return history_server(settings.__getitem__)


def of_history(text: str) -> Any:
    """As the history server's client reads it: what is not JSON never reaches the parser."""
    answers = documents(text)
    if len(answers) != 1:
        raise Unreadable("not one answer")
    return history.job(answers[0])


def of_settings(text: str) -> Any:
    """As of_history(): what a job's settings say of its map tasks' output."""
    answers = documents(text)
    if len(answers) != 1:
        raise Unreadable("not one answer")
    return codecs.word_of(settings_of_answer(answers[0], {codecs.COMPRESS, codecs.CODEC}))


def of_policy(text: str) -> Any:
    policy = erasure_coding.Policy.of(text.strip())
    if policy is None:
        raise Unreadable("no policy")
    return policy


OUTPUTS = [
    output("iperf3-1-stream.json", of_bytes(iperf3_result)),
    output("iperf3-4-streams.json", of_bytes(iperf3_result)),
    output("iperf3-1-stream.json", of_bytes(iperf3.round_trip)),
    output("fio-write-direct.json", of_bytes(fio_bandwidth, "write")),
    output("fio-read-buffered.json", of_bytes(fio_bandwidth, "read")),
    output("fio-layout.json", measured("write")),
    output("fio-note-before.json", measured("randread")),
    output("fio-randread-4096-16.json", measured("randread")),
    output("fio-randwrite-65536-8-buffered.json", measured("randwrite")),
    output("fio-write-1048576-4.json", measured("write")),
    output("fsck-8-files.txt", fsck_blocks),
    output("cases/fsck-hadoop-2/fsck.txt", fsck_blocks),
    output("fsck-xor.txt", partial(fsck_blocks, coded=True)),
    output("datanode-jmx.json", namenode.packets),
    output("job-settings.json", of_settings),
    Output("daemon's conf", CONF, partial(settings_of_daemon, names=["dfs.heartbeat.interval"], server="host:9870")),
    output("nnbench/create_write.txt", nnbench_result),
    output("nnbench/delete-of-no-files.txt", nnbench_result),
    Output("policy", "RS-3-2-1024k", of_policy),
    output("namenode-audit-8-puts.txt", namenode.operations, counted=True),
    output("perftest/write_bw.client.txt", of_bytes(perftest.bandwidth, "ib_write_bw")),
    output("perftest/new_write_bw.client.txt", of_bytes(perftest.bandwidth, "ib_write_bw")),
    output("perftest/write_lat.client.txt", of_bytes(perftest.latency, "ib_write_lat")),
    output("perftest/new_send_lat.client.txt", of_bytes(perftest.latency, "ib_send_lat")),
    output("perftest/ibv_devinfo.txt", of_bytes(device_ports), counted=True),
    output("perftest/ibv_devinfo_v.txt", of_bytes(device_ports)),
    output("tcp-of-a-datanode.txt", lambda text: lost_segments(tcp_counters(text))),
    Output("rdma_counters", f"{DRIVERS['mlx5'][0]}\n{NETSTAT}", port_counters),
    output("cases/testdfsio/exponent-small.txt", dfsio_result),
    output("cases/testdfsio/total-throughput-2.8.0.txt", dfsio_result),
    output("topology-2-racks.txt", racks_of_report, counted=True),
    output("volume-report.txt", namenode.volumes),
    output("link/tc-class.txt", link.rates, counted=True),
    output("link/tc-class-2-links.txt", partial(link.rates_in_turn, devices=["port1", "port2"])),
    output("link/tc-qdisc.json", link.queues),
    output("link/ip-link.json", link.mtus),
    output("link/ip-s-s-link.json", link.carrier_changes),
    output("link/ethtool-k.txt", parse_offloads),
    Output("testdfsio", SAID, dfsio_result),
    Output("testdfsio result", RESULT, testdfsio.task_values),
    Output("testdfsio tasks", LOGGED, testdfsio.task_spans, counted=True),
    Output("stat", "1795232224031 1795232225531 put1\n1795232224032 1795232226032 put2\n", of_stat, counted=True),
    Output("hibench.report", REPORT, report_rows, counted=True),
    output("cases/history-server-address/mapred-site.xml", of_site),
    Output("history", json.dumps(ANSWERS, indent=1), of_history),
    Output("job", JOB + "\n", partial(slurm.job_of, job="17")),
    output("cases/scontrol/array-of-leader.txt", partial(slurm.job_of, job="112")),
    output("cases/scontrol/heterogeneous.txt", partial(slurm.job_of, job="200")),
]


def cut_off(text: str):
    lines = text.splitlines(keepends=True)
    yield from ("".join(lines[:number]) for number in range(len(lines)))


def among_others(text: str):
    lines = text.splitlines(keepends=True)
    for foreign in ("WARN: something 17\n", "17 something\n", "log4j:WARN No appenders (x).\n", "{\n", "\n"):
        for number in range(len(lines) + 1):
            yield "".join([*lines[:number], foreign, *lines[number:]])


def twice(text: str):
    yield text + text
    yield text.rstrip() + "\n" + text
    yield text + text[: len(text) // 2]


NUMBERS = re.compile(r"(?<![\w.:-])[0-9]+(?:\.[0-9]+)?(?![\w:-]|\.[0-9])")


def other_locale(text: str):
    def comma(match: re.Match) -> str:
        return match[0].replace(".", ",")

    def grouped(match: re.Match, mark: str) -> str:
        whole, dot, rest = match[0].partition(".")
        return re.sub(r"(?<=[0-9])(?=([0-9]{3})+$)", mark, whole) + dot + rest

    for change in (comma, *(partial(grouped, mark=mark) for mark in (",", " ", "'", "\u202f"))):
        yield NUMBERS.sub(change, text)
        for match in NUMBERS.finditer(text):
            yield text[: match.start()] + change(match) + text[match.end() :]


def nothing(text: str):
    yield from ("", "\n", "null", "[]", "{}", '"x"', "17", "\0\ufffd", "Permission denied\n", "{" * 5000)


def right(one: Output, value: Any, whole: Any, damage: Callable) -> bool:
    if one.counted and damage is not among_others:
        return all(each in whole for each in value)
    return repr(value) == repr(whole)


def test_no_parser_is_left_out():
    used = Path(__file__).read_text()
    for path in Path(hibench_report.__file__).parent.glob("[a-z]*.py"):
        assert re.search(rf"\b{path.stem}(\.| import )", used), path.stem


@pytest.mark.parametrize("damage", [cut_off, among_others, twice, other_locale, nothing])
@pytest.mark.parametrize("one", OUTPUTS, ids=lambda one: one.name)
def test_damaged_output_gives_the_right_value_or_the_projects_error(one, damage):
    whole = one.parse(one.text)
    for text in damage(one.text):
        try:
            value = one.parse(text)
        except REFUSALS as refusal:
            assert "\n" not in str(refusal) and len(str(refusal)) < 600
        else:
            assert right(one, value, whole, damage), text


def places(document: Any, path: tuple = ()):
    yield path
    if isinstance(document, dict | list):
        for key, value in document.items() if isinstance(document, dict) else enumerate(document):
            yield from places(value, (*path, key))


def with_value(document: Any, path: tuple, value: Any) -> Any:
    if not path:
        return value
    changed = copy.copy(document)
    changed[path[0]] = with_value(document[path[0]], path[1:], value)
    return changed


JSON_OUTPUTS = [
    ("iperf3", iperf3_result, json.loads((DATA / "iperf3-1-stream.json").read_bytes())),
    ("fio", partial(fio.measurement, operation="write"), json.loads((DATA / "fio-write-direct.json").read_bytes())),
    ("tc", lambda raw: link.queues(raw.decode()), json.loads((DATA / "link/tc-qdisc.json").read_bytes())),
    ("ip", lambda raw: link.mtus(raw.decode()), json.loads((DATA / "link/ip-link.json").read_bytes())),
    ("history", lambda raw: history.job(json.loads(raw)), ANSWERS),
]


@pytest.mark.parametrize("parse, document", [row[1:] for row in JSON_OUTPUTS], ids=[row[0] for row in JSON_OUTPUTS])
@pytest.mark.parametrize(
    "value", [None, "1,5", [], {}, [None], float("nan"), -1, 10**400], ids=lambda value: repr(value)[:9]
)
def test_a_value_of_another_kind_never_gives_another_kind_of_exception(parse, document, value):
    for path in places(document):
        try:
            parse(json.dumps(with_value(document, path, value)).encode())
        except Unreadable as refusal:
            assert "\n" not in str(refusal)
