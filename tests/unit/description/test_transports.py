"""Transports of a testbed's file: what they set up, which one a paper means, and faults of the file."""

from __future__ import annotations

import copy

import pytest
import yaml

from whitewire import paths
from whitewire.description import hadoop, transports
from whitewire.description.testbed import digest, read_testbed
from whitewire.description.transports import Transport, check_transports, find_transport, transport_levels, transport_of
from whitewire.errors import UserError

RSOCKETS = {
    "kind": "rdma",
    "preload": ["librspreload.so"],
    "environment": {"RS_SQ_SIZE": "512"},
    "java": [
        "-Djava.nio.channels.spi.SelectorProvider=sun.nio.ch.PollSelectorProvider",
        "-Djava.net.preferIPv4Stack=true",
    ],
    "settings": {"dfs.datanode.transferTo.allowed": False},
}
POLL = {"kind": "tcp", "java": RSOCKETS["java"]}


@pytest.fixture
def written(tmp_path):
    """Writes a shipped testbed with these transports and reads it."""

    def write(ways, kind="ssh.example"):
        raw = yaml.safe_load((paths.HOME / "config" / "testbeds" / f"{kind}.yaml").read_text())
        path = tmp_path / "mine.yaml"
        path.write_text(yaml.safe_dump(raw | {"transports": ways}))
        return read_testbed(path)

    return write


def test_tcp_is_always_there_and_a_level_is_a_name_or_a_kind(written):
    testbed = written({"poll": POLL, "rsockets": RSOCKETS, "smc": {"kind": "rdma", "preload": ["libsmc-preload.so"]}})
    assert [one.name for one in transports.defined(testbed)] == ["tcp", "poll", "rsockets", "smc"]
    named = {
        level: getattr(find_transport(testbed, level), "name", None) for level in ("tcp", "rdma", "smc", "poll", "x")
    }
    assert named == {"tcp": "tcp", "rdma": "rsockets", "smc": "smc", "poll": "poll", "x": None}
    assert transport_levels(testbed) == {"tcp", "rdma", "poll", "rsockets", "smc"}
    assert transport_of(testbed, {}) == Transport("tcp", "tcp")
    assert find_transport({}, "rdma") is None and transport_levels({}) == {"tcp"}


def test_a_transport_that_the_file_has_no_more_is_named():
    with pytest.raises(UserError, match='transports: found none for "rdma", expected the one that the runs were'):
        transport_of({}, {"transport": "rdma"})


def test_libraries_are_looked_for_in_the_folders_of_the_transports():
    ways = [Transport("a", "rdma", ["x.so", "y.so"], {"LD_LIBRARY_PATH": "/a:/b"}), Transport("b", "tcp", ["x.so"]),
            Transport("c", "tcp", [], {"LD_LIBRARY_PATH": "/c"})]  # fmt: skip
    assert transports.preloading(ways) == {"PRELOAD": "x.so y.so", "PRELOAD_PATH": "/a:/b:/c"}


def test_commands_get_the_library_and_further_variables():
    made = Transport("rsockets", **RSOCKETS)
    assert made.variables == {"LD_PRELOAD": "librspreload.so", "RS_SQ_SIZE": "512"}
    assert Transport("tcp", "tcp").variables == {}


def test_links_are_not_measured_again_for_a_transport(written):
    assert digest(written({"rsockets": RSOCKETS})) == digest(written({"poll": POLL}))


@pytest.mark.parametrize(
    ("ways", "kind", "said"),
    [
        ({"a": {"kind": "rmda"}}, "ssh.example", 'transports.a.kind: found "rmda", expected one of rdma, tcp'),
        ({"a": {"preload": ["x.so"]}}, "ssh.example", "transports.a.kind: found nothing"),
        ({"a": {"kind": "rdma", "preloads": ["x.so"]}}, "ssh.example", "transports.a.preloads: found an unknown key"),
        ({"a": {"kind": "rdma", "preload": ["x.so y.so"]}}, "ssh.example", "transports.a.preload[0]: found"),
        ({"a": {"kind": "rdma", "java": ["-Da=b c"]}}, "ssh.example", "transports.a.java[0]: found"),
        ({"a": {"kind": "rdma", "environment": {"A": 1}}}, "ssh.example", "transports.a.environment.A: found 1"),
        ({"tcp": {"kind": "tcp"}}, "ssh.example", "transports.tcp: found the name of a kind of transport"),
        ({"a": {"kind": "rdma"}}, "emulated", 'transports.a.kind: found "rdma", expected "tcp": hosts of kind'),
        ({"my way": {"kind": "tcp"}}, "ssh.example", 'transports: found "my way", expected a name of small letters'),
        ({"RDMA": {"kind": "tcp"}}, "ssh.example", 'transports: found "RDMA", expected a name of small letters'),
        ({"a": {"kind": "tcp", "preload": ["'x.so'"]}}, "ssh.example", "transports.a.preload[0]: found"),
        ({"a": {"kind": "tcp", "preload": ["/usr/lib/*.so"]}}, "ssh.example", "transports.a.preload[0]: found"),
        ({"a": {"kind": "tcp", "java": ["-Da='b'"]}}, "ssh.example", "transports.a.java[0]: found"),
        ({"a": {"kind": "tcp", "environment": {"A": 'x"y'}}}, "ssh.example", "transports.a.environment.A: found"),
        ({"a": {"kind": "tcp", "environment": {"A B": "1"}}}, "ssh.example",
         'transports.a.environment: found "A B", expected a variable\'s name'),
        ({"a": {"kind": "tcp", "environment": {"LD_PRELOAD": "x.so"}}}, "ssh.example",
         'transports.a.environment.LD_PRELOAD: found "x.so", expected none: libraries are under `preload`'),
        ({"a": {"kind": "tcp", "environment": {"WHITEWIRE_RUN": "1"}}}, "ssh.example",
         'transports.a.environment.WHITEWIRE_RUN: found "1", expected none: by it hosts know the processes of a run'),
        ({"a": {"kind": "tcp", "settings": {"fs.defaultFS": "hdfs://other"}}}, "ssh.example",
         'transports.a.settings: found "fs.defaultFS", expected no setting that says where files are'),
    ],
)  # fmt: skip
def test_faults_of_the_file_are_named(written, ways, kind, said):
    with pytest.raises(UserError, match="transports") as fault:
        written(ways, kind)
    assert said in str(fault.value)


def test_a_setting_that_hadoop_does_not_know_is_named_with_the_nearest_one(written, monkeypatch):
    monkeypatch.setattr(hadoop, "_names", lambda: ("dfs.datanode.transferTo.allowed",))
    written({"a": {"kind": "tcp", "settings": {"dfs.datanode.transferTo.allowed": False}}})
    with pytest.raises(UserError, match=r'did you mean "dfs\.datanode\.transferTo\.allowed"\?$') as fault:
        written({"a": {"kind": "tcp", "settings": {"dfs.datanode.transferTo.alowed": False}}})
    assert 'transports.a.settings: found "dfs.datanode.transferTo.alowed", expected a setting that' in str(fault.value)


def test_values_may_have_blanks_and_quotes_of_one_kind(written):
    made = written({"a": {"kind": "tcp", "preload": ["/usr/$LIB/x.so"], "environment": {"A": "it's 1, 2"}}})
    assert find_transport(made, "a").variables == {"A": "it's 1, 2", "LD_PRELOAD": "/usr/$LIB/x.so"}


def test_a_transport_that_nobody_has_is_refused_with_the_nearest_name():
    experiment = {"factors": {"transport": ["tcp", "rdma"]}, "parameters": {}}
    check_transports({}, experiment, "paper")
    wrong = copy.deepcopy(experiment)
    wrong["factors"]["transport"][1] = "rsocket"
    with pytest.raises(UserError) as fault:
        check_transports({"transports": {"rsockets": RSOCKETS}}, wrong, "paper: experiments[0] (a)")
    assert str(fault.value) == (
        'paper: experiments[0] (a).factors.transport: found "rsocket", expected a kind or a name of a transport of the '
        'testbed (rdma, rsockets, tcp); did you mean "rsockets"?'
    )
    with pytest.raises(UserError, match=r"parameters\.transport"):
        check_transports({}, {"factors": {}, "parameters": {"transport": "x"}}, "paper")
