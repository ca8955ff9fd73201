"""The parts of remote testbeds that need no host: inventories, scripts, command lines, parsing and merging."""

import contextlib
import copy
import json
import os
import shlex
import shutil
import signal
import subprocess
import tarfile
import time
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whitewire import paths
from whitewire.cluster import yarn
from whitewire.description import transports
from whitewire.description.files import validate_by_schema
from whitewire.description.reading import load_yaml
from whitewire.errors import UserError
from whitewire.testbed.base import host_names, last_line
from whitewire.testbed.emulated.host import ENVIRONMENT
from whitewire.testbed.site import (
    deployment,
    inventory,
    preflight,
    remote_samples,
    shell,
    ssh,
)
from whitewire.testbed.site.inventory import resolve_interface
from whitewire.testbed.site.opening import await_ready, offset_of
from whitewire.testbed.site.preflight import HostReport
from whitewire.testbed.site.remote import _reading, link_of
from whitewire.testbed.site.remote_host import Layout
from whitewire.testbed.site.remote_samples import SampleRow
from whitewire.testbed.site.schedulers import slurm
from whitewire.testbed.site.shell import HOST_QUESTIONS, IMAGE_QUESTIONS, PORT_SCRIPT, READ_TRANSPORTS, SITE_QUESTIONS
from whitewire.tools.rdma_counters import Moved, port_counters

ROLES = {"namenode": 1, "datanode": 2, "client": 1}
TEXT = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=40)
SHELLS = [name for name in ("sh", "bash", "zsh", "ksh", "tcsh", "fish", "busybox") if shutil.which(name)]
SCRIPTS = (
    "WATCH",
    "END",
    "SAMPLE",
    "READINGS",
    "JARS_SCRIPT",
    "UNPACK",
    "RECEIVE",
    "BEST_SHELL",
    "PORT_SCRIPT",
    "PRELOADED",
)


@pytest.fixture
def described():
    """The shipped example of an inventory, changed in place by tests."""
    return copy.deepcopy(example("ssh"))


def example(kind):
    found = load_yaml(paths.HOME / "config/testbeds" / f"{kind}.example.yaml")
    validate_by_schema(found, "testbed", f"{kind}.example.yaml")
    return found


def sh(argv, **options):
    return subprocess.run(argv, capture_output=True, timeout=20, **options)


# -- schema --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.pop("work"), "work: found nothing, expected text"),
        (lambda d: d.update(work="scratch"), 'work: found "scratch", expected text like ^/[^\\s:,]*$'),
        (lambda d: d.update(data=[]), "data: found [], expected at least 1 items"),
        (lambda d: d.update(data=["/d", "/d"]), 'data: found ["/d", "/d"], expected every item only once'),
        (lambda d: d["hosts"][0].update(role="name"), 'hosts[0].role: found "name", expected one of namenode, '),
        (lambda d: d["hosts"][1].pop("ssh"), "hosts[1].ssh: found nothing, expected text"),
        (lambda d: d["hosts"][0].update(ssh="-oProxyCommand=x"), 'hosts[0].ssh: found "-oProxyCommand=x", expected '),
        (lambda d: d["hosts"][0].update(fabric={}), 'hosts[0].fabric: found an unknown key, expected one of fabrics'),
        (lambda d: d.update(switch={}), "switch: found an unknown key, expected one of "),
        (lambda d: d.update(kind="slurm"), "found an unknown key, expected one of "),
        (lambda d: d.update(kind="grid-engine"), 'did you mean "gridengine"'),
        (lambda d: d.pop("kind"), "kind: found nothing, expected one of emulated, ssh, slurm, pbs, gridengine, lsf, "),
    ],
)  # fmt: skip
def test_faults_of_a_description(described, change, said):
    change(described)
    with pytest.raises(UserError) as error:
        validate_by_schema(described, "testbed", "x.yaml")
    assert said in str(error.value)
    assert str(error.value).startswith("x.yaml: ")


# -- inventory -----------------------------------------------------------------------------------------------


def test_the_first_hosts_of_a_role_are_used(described):
    places = inventory.of_inventory(described, ROLES, "x.yaml")
    assert [(place.name, place.role) for place in places] == [
        ("namenode", "namenode"), ("datanode1", "datanode"), ("datanode2", "datanode"), ("client", "client"),
    ]  # fmt: skip
    targets = [host["ssh"] for host in described["hosts"] if host["role"] == "datanode"]
    assert [place.target for place in places if place.role == "datanode"] == targets[:2]
    assert places[0].links["1gbe"] == {"interface": described["fabrics"]["1gbe"]["interface"]}


def test_too_few_hosts_are_named_with_role_and_numbers(described):
    with pytest.raises(UserError, match=r"^x.yaml: hosts: found \d+ with role datanode, expected 99$"):
        inventory.of_inventory(described, {"datanode": 99}, "x.yaml")
    with pytest.raises(UserError, match=r"^x.yaml: hosts: found 0 with role mds, expected 1$"):
        inventory.of_inventory(described, {"mds": 1}, "x.yaml")


def test_what_a_host_says_of_a_fabric_goes_before_what_the_fabric_says(described):
    described["hosts"][0]["fabrics"] = {"1gbe": {"address": "10.9.9.9"}}
    assert inventory.of_inventory(described, ROLES, "x")[0].links["1gbe"] == {"address": "10.9.9.9"}


def test_a_host_that_is_on_no_fabric_and_hosts_that_are_the_same(described):
    del described["fabrics"]["10gbe"]["interface"]
    for host in described["hosts"]:
        host.pop("fabrics", None)
    with pytest.raises(
        UserError, match=r"x.yaml: hosts\[0\].fabrics.10gbe: found nothing, expected an interface or an"
    ):
        inventory.of_inventory(described, ROLES, "x.yaml")
    described["fabrics"]["10gbe"]["interface"] = "eth1"
    second = [number for number, host in enumerate(described["hosts"]) if host["role"] == "datanode"][1]
    for name in ("{}", "{}.example.org", "me@{}", "ssh://me@{}"):
        described["hosts"][second]["ssh"] = name.format(described["hosts"][0]["ssh"])
        with pytest.raises(UserError, match=rf"x.yaml: hosts\[{second}\].ssh: found \S+ of hosts\[0\] again"):
            inventory.of_inventory(described, ROLES, "x.yaml")


def test_one_address_twice(described):
    for host in described["hosts"][:2]:
        host["fabrics"] = {"10gbe": {"address": "10.0.0.7"}}
    with pytest.raises(UserError, match=r"hosts\[1\].fabrics.10gbe.address: found 10.0.0.7 of hosts\[0\] again"):
        inventory.of_inventory(described, {"namenode": 1, "datanode": 1}, "x.yaml")


def test_nodes_of_an_allocation_are_dealt_out_in_order():
    found = inventory.of_nodes(example("slurm"), ROLES, ["n1", "n2", "n3", "n4", "n5"], "x.yaml", "Slurm")
    assert [(place.name, place.target) for place in found] == [
        ("namenode", "n1"), ("datanode1", "n2"), ("datanode2", "n3"), ("client", "n4")]  # fmt: skip
    with pytest.raises(UserError, match=r"^PBS: found 3 nodes, expected 4 \(1 namenode, 2 datanode, 1 client\)"):
        inventory.of_nodes(example("slurm"), ROLES, ["n1", "n2", "n3"], "x.yaml", "PBS")


@given(st.dictionaries(st.sampled_from(["namenode", "datanode", "client", "mds"]), st.integers(1, 30), min_size=1))
def test_names_of_hosts_are_distinct_and_begin_with_their_role(roles):
    found = host_names(roles)
    assert len({name for name, _ in found}) == len(found) == sum(roles.values())
    assert all(name.startswith(role) for name, role in found)


ADDRESSES = [
    {"ifname": "lo", "flags": ["LOOPBACK", "UP", "LOWER_UP"], "mtu": 65536,
     "addr_info": [{"family": "inet", "local": "127.0.0.1"}]},
    {"ifname": "eno1", "flags": ["BROADCAST", "UP", "LOWER_UP"], "mtu": 1500,
     "addr_info": [{"family": "inet6", "local": "fe80::1"}, {"family": "inet", "local": "10.0.0.1"}]},
    {"ifname": "ens1", "flags": ["BROADCAST", "UP", "NO-CARRIER"], "mtu": 9000, "addr_info": []},
    {},
]  # fmt: skip


def place(**links):
    return inventory.Place("datanode1", "datanode", "node4", "hosts[3]", links)


def test_interfaces_and_how_a_host_is_on_a_fabric():
    found = inventory.interfaces(ADDRESSES)
    assert [(i.name, i.addresses, i.mtu, i.up) for i in found] == [
        ("lo", ("127.0.0.1",), 65536, True), ("eno1", ("10.0.0.1",), 1500, True), ("ens1", (), 9000, False),
    ]  # fmt: skip
    assert resolve_interface(place(f={"interface": "eno1"}), "f", found) == (found[1], "10.0.0.1")
    assert resolve_interface(place(f={"address": "10.0.0.1"}), "f", found) == (found[1], "10.0.0.1")
    with pytest.raises(ValueError, match="no interface eth7 for f, found lo, eno1, ens1"):
        resolve_interface(place(f={"interface": "eth7"}), "f", found)
    with pytest.raises(ValueError, match="interface ens1 for f has no IPv4 address"):
        resolve_interface(place(f={"interface": "ens1"}), "f", found)
    with pytest.raises(ValueError, match=r"no address 10.0.0.2 for f, found 127.0.0.1, 10.0.0.1"):
        resolve_interface(place(f={"address": "10.0.0.2"}), "f", found)


@pytest.mark.parametrize(
    "asked, name",
    [("ens1f0", "ens1f0"), ("enp65s0f0np0", "ens1f0"), ("storage", "ens1f0"), ("ens1f0@if7", "ens1f0"),
     ("ens1f0.100", "ens1f0.100"), ("ens1f0.100@ens1f0", "ens1f0.100"), ("bond0", "bond0")],
)  # fmt: skip
def test_an_interface_by_any_of_its_names(asked, name):
    """As `ip -json address show` has them: further names, the administrator's own, and what else is on a device."""
    up = {"flags": ["UP", "LOWER_UP"], "mtu": 1500}
    interfaces = [
        {}, {"ifname": "ens1f0", "altnames": ["enp65s0f0np0"], "ifalias": "storage", **up}, {"ifname": "bond0", **up},
        {"ifname": "ens1f0.100", "link": "ens1f0", **up},
    ]  # fmt: skip
    present = inventory.interfaces([
        one and one | {"addr_info": [{"family": "inet", "local": f"10.0.0.{n}"}]} for n, one in enumerate(interfaces)
    ])  # fmt: skip
    where = inventory.Place("client", "client", "node1", "hosts[0]", {"f": {"interface": asked}})
    assert resolve_interface(where, "f", present)[0].name == name
    missing = inventory.Place("client", "client", "node1", "hosts[0]", {"f": {"interface": "eth9"}})
    with pytest.raises(ValueError, match="no interface eth9 for f, found ens1f0/enp65s0f0np0/storage, bond0"):
        resolve_interface(missing, "f", present)


@pytest.mark.parametrize(
    "shaper, speed, rate",
    [
        ("class mq :1 root \nclass mq :2 root \n", "10000", 10000.0),
        ("class tbf 8004:1 parent 8004: \nclass mq :1 root \n", "10000", None),
        ("qdisc tbf 8004: root refcnt 2 rate 1Gbit burst 5Kb \nclass tbf 8004:1 parent 8004: \n", "10000", 1e3),
        ("qdisc htb 1: root\nclass htb 1:1 root rate 10Gbit ceil 10Gbit burst 1b \n", "1000", 1e3),
        ("qdisc fq_codel 0: root refcnt 2 limit 10240p \n", "4294967295", None),
        ("qdisc mq 0: root \n", "-1", None),
    ],
)
def test_a_links_rate_is_the_shapers_or_the_devices_or_none(shaper, speed, rate):
    assert link_of({"shaper": shaper, "speed": speed}, "eth1").get("rate") == rate


# -- command lines -------------------------------------------------------------------------------------------


def test_every_command_and_container_has_the_same_locale():
    words = shlex.split(shell.environment(["java", "-version"], {"JAVA_HOME": "/java"}, "/bin"))
    assert words[:2] == ["/usr/bin/env", "-i"] and "LC_ALL=C.UTF-8" in words
    assert ENVIRONMENT["LC_ALL"] == "C.UTF-8"
    assert "LC_ALL" in yarn.INHERITED


@pytest.mark.parametrize("name", SHELLS)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(word=TEXT, value=TEXT)
def test_words_reach_a_command_whole_through_any_login_shell(name, word, value):
    command = shell.environment(
        ["sh", "-c", 'printf "%s\\036%s" "$1" "$WORD"', "sh", word], {"WORD": value}, "/usr/bin:/bin"
    )
    login = [name, "sh", "-c"] if name == "busybox" else [name, "-c"]
    done = sh([*login, ssh.for_any_login_shell(command)])
    assert done.stdout.decode() == f"{word}\x1e{value}", done.stderr


@pytest.mark.parametrize("login", ["sh", "bash"])
def test_every_script_reaches_sh_as_it_is(login):
    for name in SCRIPTS:
        text = getattr(shell, name)
        done = sh([login, "-c", ssh.for_any_login_shell(f"printf %s {shlex.quote(text)}")])
        assert done.stdout.decode() == text


def test_scripts_are_sh():
    """No shell accepts them only because it is bash: dash, where sh is dash, reads them without running anything."""
    scripts = [getattr(shell, name) for name in SCRIPTS]
    scripts += [shell.STAT, shell.PUT, shell.CLOCK]
    scripts += [shell.asking(parts) for parts in (shell.ABOUT, shell.ABOUT_INTERFACE, HOST_QUESTIONS, shell.LINK)]
    scripts += [shell.asking(parts) for parts in (shell.VERSIONS, IMAGE_QUESTIONS, shell.PREFLIGHT, SITE_QUESTIONS)]
    for text in scripts:
        assert sh(["sh", "-n", "-c", text]).stderr == b""
    if shutil.which("shellcheck"):
        # SC3028: a variable that only bash has, which SAMPLE does without elsewhere.
        lint = ["shellcheck", "--shell=dash", "--severity=warning", "--exclude=SC3028", "-"]
        for text in scripts:
            done = sh(lint, input=text.encode())
            assert done.returncode == 0, done.stdout.decode()


def test_ssh_checks_keys_asks_nothing_and_uses_the_users_configuration():
    argv = ssh.command_line("me@node", "true")
    assert argv[0] == "ssh"
    assert "-F" not in argv
    assert argv[argv.index("--") + 1] == "me@node"
    options = dict(word.split("=", 1) for flag, word in zip(argv, argv[1:], strict=False) if flag == "-o")
    assert options["BatchMode"] == options["StrictHostKeyChecking"] == "yes"
    assert (options["ControlMaster"], options["ControlPath"]) == ("no", "none")
    shared = ssh.command_line("n", "true", "/c", "/s", master=True)
    assert shared[1:3] == ["-F", "/c"]
    assert {"ControlMaster=yes", "ControlPath=/s"} <= set(shared)


TROUBLE = """Host *
    HostName 127.0.0.1
    BatchMode no
    StrictHostKeyChecking no
    LogLevel DEBUG3
    RequestTTY force
    RemoteCommand top
    PermitLocalCommand yes
    LocalCommand echo local
    EscapeChar x
    VisualHostKey yes
    ControlMaster auto
    ControlPath /tmp/theirs
    ControlPersist yes
    ClearAllForwardings no
    ExitOnForwardFailure yes
    Tunnel yes
    ForwardX11 yes
    ForwardAgent yes
    IgnoreUnknown SessionType,StdinNull,ForkAfterAuthentication,OfAnotherSystem
    SessionType none
    StdinNull yes
    ForkAfterAuthentication yes
    OfAnotherSystem yes
"""


def test_what_a_users_configuration_says_of_sessions_does_not_count(tmp_path):
    """As ssh itself understands both; IgnoreUnknown of the user counts."""
    (tmp_path / "config").write_text(TROUBLE)
    argv = ssh.command_line("node", "true", str(tmp_path / "config"))
    done = sh([argv[0], "-G", *argv[1 : argv.index("--") + 2]])
    assert done.returncode == 0, done.stderr
    found = dict(line.split(" ", 1) for line in done.stdout.decode().splitlines())
    assert found["hostname"] == "127.0.0.1"
    wanted = ssh.OPTIONS | ssh.known_options() | {"ControlMaster": "no"}
    said = {name: {"true": "yes", "false": "no"}.get(word, word) for name, word in found.items()}
    # What is not set is not shown.
    got = {name: said.get(name.lower(), "none").upper() for name in wanted}
    assert got == {name: value.upper() for name, value in wanted.items()}
    assert "controlpath" not in found


def test_an_older_ssh_gets_no_option_that_it_does_not_know(tmp_path, monkeypatch):
    (tmp_path / "ssh").write_text(
        '#!/bin/sh\ncase "$*" in *RemoteCommand* | *SessionType* | *StdinNull* | *Fork* | *Channel*) exit 255 ;; esac\n'
    )
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    ssh.known_options.cache_clear()
    try:
        words = ssh.command_line("n", "true")
        assert not any(name in word for word in words for name in ("RemoteCommand", *ssh.NEWER_OPTIONS))
    finally:
        ssh.known_options.cache_clear()


def test_a_command_says_its_status_apart_from_what_it_says(tmp_path):
    def status_of(command):
        return shell.status(sh(["sh", "-c", shell.to_its_end(command, str(tmp_path))]).stderr)

    prolog = f"printf 'Job 7 on node01, no line end'; {shell.to_its_end('printf %s kept', str(tmp_path))}"
    assert shell.output(sh(["sh", "-c", prolog]).stdout) == b"kept"

    assert status_of("sh -c 'printf no >&2; exit 7'") == (7, b"no")
    assert status_of("true") == (0, b"")
    assert status_of("sh -c 'kill -9 $$'")[0] == 137
    assert status_of("sh -c 'printf \"\\n@@status 3\\n\" >&2'") == (0, b"\n@@status 3\n")
    assert shell.status(b"ssh: no route to host\n") == (None, b"ssh: no route to host\n")
    assert shell.status(b"@@begin\nhalf a word") == (None, b"@@begin\nhalf a word")
    nowhere = sh(["sh", "-c", shell.to_its_end("true", "/not/there")])
    assert shell.status(nowhere.stderr)[0] is None


@given(st.binary(max_size=60), st.integers(0, 255), st.sampled_from([b"", b"srun: error: words of its own\n"]))
def test_status_and_words_are_found_between_those_of_the_carrier(said, number, carrier):
    assert shell.status(carrier + b"@@begin\n" + said + b"\n@@status %d\n" % number + carrier) == (number, said)


def test_questions_are_answered_under_their_names():
    parts = {"one": "echo a; echo b", "none": "false", "noise": "echo hidden >&2", "cut": "printf 'no line end'"}
    parts["last"] = "echo c"
    said = sh(["sh", "-c", shell.asking(parts)]).stdout.decode()
    assert shell.answers("before" + said) == {
        "": "before", "one": "a\nb", "none": "", "noise": "", "cut": "no line end", "last": "c"}  # fmt: skip


@pytest.mark.parametrize(
    ("said", "line"), [(b"a\nb \n\n", "b"), (b"", "no message"), (b"x" * 400, "x" * 300), (b"\xff\n", "�")]
)
def test_last_line(said, line):
    assert last_line(said) == line


def test_folders_of_a_run_are_below_those_that_the_description_names():
    layout = Layout.of({"work": "/scratch/", "data": ["/d1", "/d2/"], "path": ["/opt/bin"]})
    assert layout.folder == f"/scratch/whitewire-{layout.run}"
    assert layout.drives == [f"/d1/whitewire-{layout.run}-drive1", f"/d2/whitewire-{layout.run}-drive2"]
    assert layout.path.startswith("/opt/bin:/usr/local/sbin:")
    assert layout.run != Layout.of({"work": "/scratch", "data": ["/d1"]}).run


# -- scripts, run here ---------------------------------------------------------------------------------------


class Watched:
    """A watcher of this machine, as a remote host's, in a folder of the test."""

    def __init__(self, folder: Path, patience: float, name: str) -> None:
        self.text = f"{shell.MARKER}={name}."
        self.folder, self.data = folder / "work" / "run", folder / "data" / "run"
        argv = shell.script(
            shell.WATCH, str(patience), self.text, str(self.folder), f"{self.folder}/drives", str(self.data)
        )
        self.popen = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.said = self.popen.stdout.readline() and self.popen.stdout.readline()

    def daemon(self):
        """A process with the marker, its child, and one of another run that names it, as Apptainer does."""
        program = "sleep 88.8 & sleep 88.8"
        own = {"PATH": os.environ["PATH"], shell.MARKER: self.text.partition("=")[2] + "1."}
        return [
            subprocess.Popen(["sh", "-c", program], env=own, start_new_session=True),
            subprocess.Popen(
                ["sleep", "88.8"],
                env={**own, shell.MARKER: "other.host.1.", "ENGINE_CONFIG1": f'{{"env":["{self.text}1."]}}'},
                start_new_session=True,
            ),
        ]


@pytest.fixture
def watched(tmp_path):
    (tmp_path / "data").mkdir()
    made = []

    def make(patience=30.0, name=""):
        name = name or f"test{os.getpid()}.host"
        made.append(Watched(tmp_path, patience, name))
        return made[-1]

    yield make
    for one in made:
        one.popen.stdin.close()
        one.popen.wait(timeout=10)
        one.popen.stdout.close()
        one.popen.stderr.close()


def gone(popen, seconds=5.0):
    try:
        return popen.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return None


@pytest.mark.parametrize("end", ["closed", "silent"])
def test_a_watcher_ends_the_run_and_nothing_else(watched, end):
    watcher = watched(patience=1.0 if end == "silent" else 30.0)
    assert watcher.said == b"@@ready\n"
    assert {path.name for path in watcher.folder.iterdir()} == {"tmp", "pids", "conf", "drives"}
    assert (watcher.folder / "drives/1").resolve() == watcher.data
    (watcher.data / "block").write_text("x")
    own, other = watcher.daemon()
    try:
        if end == "closed":
            watcher.popen.stdin.close()
        else:
            for _ in range(4):
                watcher.popen.stdin.write(b".")
                watcher.popen.stdin.flush()
                time.sleep(0.4)
            assert own.poll() is None  # heard of
        assert gone(own) == -signal.SIGKILL
        assert gone(watcher.popen) == 0
        assert not watcher.folder.exists()
        assert not watcher.data.exists()
        assert other.poll() is None
    finally:
        for popen in (own, other):
            if popen.poll() is None:
                os.killpg(popen.pid, signal.SIGKILL)
                popen.wait()


@pytest.mark.parametrize("name", ["USR1", "USR2", "ALRM", "XCPU", "QUIT", "TERM", "HUP", "INT"])
def test_a_watcher_cleans_up_after_a_signal_to_all_its_processes(watched, name):
    """As schedulers send one before the end of a job: `sbatch --signal=USR1@60`, `qsub -notify`."""
    watcher = watched()
    for process in [psutil.Process(watcher.popen.pid), *psutil.Process(watcher.popen.pid).children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):  # a child that its parent has ended since
            process.send_signal(signal.Signals[f"SIG{name}"])
    assert gone(watcher.popen, 0.5) in (None, 0)
    watcher.popen.stdin.close()
    assert gone(watcher.popen) == 0
    assert not watcher.folder.exists()
    assert not watcher.data.exists()


def test_a_second_watcher_does_not_take_the_folders_of_the_first(watched):
    first, second = watched(), watched(name="another.host")
    assert first.said == b"@@ready\n"
    assert second.said == b""
    assert second.popen.wait(timeout=5) == 1
    assert b"File exists" in second.popen.stderr.read()
    assert first.folder.is_dir()
    assert first.data.is_dir()


def test_a_watcher_that_cannot_make_a_data_folder_leaves_what_is_there(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "two/run").mkdir()
    (tmp_path / "two/run/of another").touch()
    folder = tmp_path / "work/run"
    argv = shell.script(
        shell.WATCH, "30", "X=y.", str(folder), f"{folder}/drives", f"{tmp_path}/one/run", f"{tmp_path}/two/run"
    )
    done = sh(argv, stdin=subprocess.DEVNULL)
    assert done.returncode == 1
    assert b"File exists" in done.stderr
    assert not folder.exists()
    assert not (tmp_path / "one/run").exists()
    assert (tmp_path / "two/run/of another").exists()


def test_unpacking_is_whole_or_not_at_all(tmp_path):
    source = tmp_path / "a.jar"
    source.write_bytes(b"content")
    content = deployment.archive({"hadoop/a.jar": source, "whitewire.jar": source})
    target, run = tmp_path / "work/software", tmp_path / "run"
    run.mkdir()
    unpack = shell.script(shell.UNPACK, str(target), "2", str(run))
    for length in (0, 100, 512, 600, 1024, 1100, 1536):  # within a file and between two
        assert sh(unpack, input=content[:length]).returncode != 0
        assert list((tmp_path / "work").iterdir()) == []
    for _ in range(2):  # a second time, as when two hosts share the folder
        assert sh(unpack, input=content).returncode == 0
        assert (target / "hadoop/a.jar").read_bytes() == b"content"
        assert [path.name for path in (tmp_path / "work").iterdir()] == ["software"]
        assert list(run.iterdir()) == []
    with (target / "whitewire.jar").open("rb") as in_use:  # by a measurement beside this one
        shutil.rmtree(target / "hadoop")
        (target / "whitewire.jar").write_bytes(b"cut")
        assert sh(unpack, input=content).returncode == 0
        assert {path.read_bytes() for path in target.rglob("*.jar")} == {b"content"}
        assert in_use.read() == b"cut" and list(run.iterdir()) == []
    with tarfile.open(fileobj=BytesIO(content)) as tar:
        assert {(member.name, member.mode) for member in tar} == {("hadoop/a.jar", 0o644), ("whitewire.jar", 0o644)}


def test_samples_and_readings_of_this_machine():
    started = f"""printf '\\033]0;node01\\007'; {shell.BEST_SHELL}"""  # after a start file that names a window
    popen = subprocess.Popen(["sh", "-c", started, "x", shell.SAMPLE, "y", "lo"], stdout=subprocess.PIPE)
    lines = [popen.stdout.readline().decode() for _ in range(5)]
    popen.kill()
    popen.wait()
    popen.stdout.close()
    rows = remote_samples._rows_of("".join(lines), 0.0)
    assert len(rows) == 3
    assert all(abs(row.time - time.time()) < 10 for row in rows)
    assert 0.08 < rows[1].time - rows[0].time < 2
    assert rows[0].idle_ticks < rows[0].ticks
    found = _reading(sh(shell.script(shell.READINGS, "lo")).stdout.decode())
    assert found.egress == found.ingress > 0  # what loops back is sent and received
    assert found.ticks >= rows[0].ticks
    assert found.retransmits >= 0
    assert found.carrier_changes == int(Path("/sys/class/net/lo/carrier_changes").read_text())


def test_samples_show_which_processes_stand_still(tmp_path):
    pids = tmp_path / "pids"
    pids.mkdir()
    sleepers = [subprocess.Popen(["sleep", "100"]) for _ in range(2)]
    for name, sleeper in zip(("one", "two"), sleepers, strict=True):
        (pids / name).write_text(f"{sleeper.pid}\n")
    (pids / "ended").write_text("999999999\n")
    sleepers[1].send_signal(signal.SIGSTOP)
    loop = subprocess.Popen(["sh", "-c", shell.SAMPLE, "y", "lo", str(pids)], stdout=subprocess.PIPE)
    said = b"".join(loop.stdout.readline() for _ in range(8)).decode()
    for popen in (loop, *sleepers):
        popen.kill()
        popen.wait()
    loop.stdout.close()
    assert remote_samples.still(said) == {"two"}
    assert len(remote_samples._rows_of(said, 0.0)) >= 3
    assert remote_samples.still("base 1 2\n1700000100.5 1 2 3 4\nstill tw") == set()


def test_samples_by_the_seconds_since_boot_have_the_time_of_day():
    """Where the shell does not know the time (dash)."""
    done = subprocess.Popen(
        ["dash" if shutil.which("dash") else "sh", "-c", shell.SAMPLE, "y", "lo"], stdout=subprocess.PIPE
    )
    said = b"".join(done.stdout.readline() for _ in range(3)).decode()
    done.kill()
    done.wait()
    done.stdout.close()
    assert abs(remote_samples._rows_of(said, 0.0)[-1].time - time.time()) < 10


# -- samples -------------------------------------------------------------------------------------------------


def rows(times, rate, phase=0.0, cpus=2):
    return [
        SampleRow(t, int(100 * cpus * t), int(50 * cpus * t), int(rate * (t + phase)), int(2 * rate * (t + phase)))
        for t in times
    ]


def test_rows_are_brought_to_the_reference_clock_and_a_cut_line_is_left_out():
    said = "srun: a word\nbase 1700000100.5 100.25\n100.25 10 5 1 2\n1700000100.75 20 6 3 4\n1700000100.8 2"
    found = remote_samples._rows_of(said, offset=0.5)
    assert found == [SampleRow(1700000100.0, 10, 5, 1, 2), SampleRow(1700000100.25, 20, 6, 3, 4)]
    for bad in ("", "sh: bash: not found\n", "base 1 2\n1 2 3\n"):
        with pytest.raises((ValueError, TypeError)):
            remote_samples._rows_of(bad, 0.0)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 3), st.floats(0.05, 0.4), st.integers(5, 40)), min_size=1, max_size=6),
    st.integers(1, 10**9),
)
def test_merged_samples_keep_what_is_linear_and_never_go_back(hosts, rate):
    given_rows = {
        f"h{n}": rows([start + i * step for i in range(count)], rate) for n, (start, step, count) in enumerate(hosts)
    }
    begin = max(r[0].time for r in given_rows.values())
    end = min(r[-1].time for r in given_rows.values())
    machines = {name: name for name in given_rows}
    if end < begin:
        with pytest.raises(ValueError, match="not sampled at the same time"):
            remote_samples.merged(given_rows, machines)
        return
    samples = remote_samples.merged(given_rows, machines)
    assert samples[0].time == pytest.approx(begin)
    assert end - 0.1 - 1e-6 <= samples[-1].time <= end + 1e-6
    for name in given_rows:
        assert all(abs(s.links[name]["egress"] - rate * s.time) <= 2 for s in samples)
        assert all(abs(s.links[name]["ingress"] - 2 * rate * s.time) <= 2 for s in samples)
    for a, b in zip(samples, samples[1:], strict=False):
        assert b.time - a.time == pytest.approx(0.1)
        assert b.ticks >= a.ticks
        assert b.idle_ticks >= a.idle_ticks
        assert all(b.links[n][way] >= a.links[n][way] for n in given_rows for way in ("egress", "ingress"))


def test_hosts_of_one_machine_count_its_ticks_once():
    times = [i / 10 for i in range(11)]
    found = {"a": rows(times, 10), "b": rows(times, 10), "c": rows(times, 10, cpus=4)}
    apart = remote_samples.merged(found, {"a": "m1", "b": "m2", "c": "m3"})
    together = remote_samples.merged(found, {"a": "m1", "b": "m1", "c": "m3"})
    assert apart[-1].ticks == 200 + 200 + 400
    assert together[-1].ticks == 200 + 400
    with pytest.raises(ValueError, match="no sample of b"):
        remote_samples.merged(found | {"b": []}, {"a": "m1", "b": "m1", "c": "m3"})


def test_busy_seconds_are_ticks_that_were_not_idle():
    times = [i / 10 for i in range(11)]
    found = remote_samples.busy_seconds({"a": rows(times, 1)}, [0.0, 1.0])
    assert [moment for moment, _ in found] == [0.0, 1.0]
    assert found[1][1]["a"] - found[0][1]["a"] == pytest.approx(1.0)


def test_readings_without_a_counter_are_refused():
    with pytest.raises(KeyError):
        _reading("tx_bytes 1\n")


# -- pre-flight ----------------------------------------------------------------------------------------------

NEEDS = preflight.Needs(
    memory_gib=8, free_gib=10, rates={"10gbe": 10000}, ports=preflight._PORTS, java_home="/usr/lib/jvm/java-17",
    whole=True,
)  # fmt: skip


def said(**changes):
    answers = {
        "java": 'openjdk version "17.0.9" 2023-10-17', "java_home": "/usr/lib/jvm/java-17",
        "memory": "MemTotal:       65536000 kB",
        "processors": "16", "usable": "16", "governors": "     16 performance", "addresses": json.dumps(ADDRESSES[:2]),
        "speeds": "eno1 10000\nlo -1", "shapers": "eno1 qdisc mq 0: root", "iperf3": "iperf 3.16 (cJSON 1.7.15)",
        "offloads": "eno1 tso gso gro\nlo", "missing": "", "programs": "",
        "listening": "0100007F:2328\n00000000:0016\n00000000000000000000000001000000:1F90\n"
                     "0000000000000000FFFF00000100007F:2710",
        "site": "", "folders": "99999999 yes no / /work\n99999999 yes yes sdb /data1",
    } | changes  # fmt: skip
    return "noise\n" + "\n".join(f"{shell.SECTION}{name}\n{text}" for name, text in answers.items())


def seen(skew=0.0, role="datanode", **changes):
    where = inventory.Place("datanode1", role, "node4", "hosts[3]", {"10gbe": {"interface": "eno1"}})
    return preflight._report(where, skew, said(**changes))


def test_a_fio_without_the_engine_that_measures_drives_is_named(tmp_path):
    """A package of its own, without which fio itself works."""
    for tool in shell.PROGRAMS:
        (tmp_path / tool).write_text("#!/bin/sh\necho 'IO engine libaio has no options'\n")
        (tmp_path / tool).chmod(0o755)
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert sh(["sh", "-c", shell.SOFTWARE["programs"]], env=path).stdout == b""
    (tmp_path / "fio").write_text(
        "#!/bin/sh\necho 'fio: engine libaio not loadable'; echo 'IO engine libaio not found'\n"
    )
    assert sh(["sh", "-c", shell.SOFTWARE["programs"]], env=path).stdout == b"fio-engine-libaio\n"


def test_a_good_host_has_no_problem():
    found = seen()
    assert (found.java, found.processors, round(found.memory_gib, 1)) == (17, 16, 62.5)
    assert found.speeds == {"eno1": 10000}
    assert found.offloads == {"eno1": "tso gso gro", "lo": ""}
    assert found.listening == {22}  # what only the host itself reaches is in nobody's way
    assert preflight.problems(found, NEEDS) == []


@pytest.mark.parametrize(
    ("report", "problem"),
    [
        (lambda: seen(skew=-0.7), "clock -0.7 s off this machine's (at most 0.5 s)"),
        (lambda: seen(java="sh: 1: java: not found"), "no Java"),
        (lambda: seen(java='java version "1.8.0_392"'), "Java 8, 17 is needed"),
        (lambda: seen(memory="MemTotal:       2097152 kB"), "2.0 GiB of memory, 8 needed"),
        (
            lambda: seen(memory="MemTotal:       65536000 kB\nmax\n2147483648\n9223372036854771712"),
            "2.0 of 62.5 GiB of memory may be used, 8 needed: ask for all (Slurm: --mem=0), or lower "
            "memory.minimum_gib",
        ),
        (
            lambda: seen(usable="10"),
            "10 of 16 processors may be used: ask for whole nodes (Slurm: --exclusive)",
        ),
        (lambda: seen(missing="iperf3\ntimeout"), "no iperf3, timeout"),
        (lambda: seen(missing="curl\nfio"), "no fio"),
        (lambda: seen(programs="fio-engine-libaio"), "no fio-engine-libaio"),
        (
            lambda: seen(iperf3="iperf 3.9 (cJSON 1.7.13)"),
            "iperf3 3.9: its clock starts 40 ms before the data; 3.10 to 3.14 or 3.16 or newer is needed",
        ),
        (lambda: seen(missing="curl\nfio", role="namenode"), "no curl"),
        (lambda: seen(java_home="/opt/jdk"), "Java in /opt/jdk, on other hosts in /usr/lib/jvm/java-17"),
        (lambda: seen(java_home=""), "Java in no folder, on other hosts in /usr/lib/jvm/java-17"),
        (lambda: seen(folders="99 yes no / /work\n99999999 yes yes sdb /d"), "0.0 GiB free in /work, 0.5 needed"),
        (lambda: seen(folders="99999999 no no / /work\n99999999 yes yes sdb /d"), "/work is not writable"),
        (lambda: seen(folders="99999999 yes yes / /work\n99999999 yes no sdb /d"), "/d is not there"),
        (lambda: seen(folders="99999999 yes yes / /work\n1048576 yes yes sdb /d"), "1.0 GiB free in /d, 10 needed"),
        (lambda: seen(speeds="eno1 1000"), "eno1 (10gbe) at 1000 Mbit/s, expected 10000"),
        (lambda: seen(addresses=json.dumps([ADDRESSES[0]])), "no interface eno1 for 10gbe, found lo"),
        (lambda: seen(addresses=json.dumps([ADDRESSES[1] | {"flags": ["UP"]}])), "eno1 (10gbe) is down"),
        (lambda: seen(listening="00000000:268A\n00000000:0016"), "something listens on port 9866"),
        (lambda: HostReport(place(), silent="Connection refused"), "Connection refused"),
    ],
)
def test_problems_are_named_with_what_is_found_and_needed(report, problem):
    assert preflight.problems(report(), NEEDS) == [problem]


@pytest.mark.parametrize(
    ("changes", "noted"),
    [
        ({}, []),
        ({"usable": ""}, []),  # a host without nproc
        ({"usable": "8"}, ["8 of 16 processors"]),  # --hint=nomultithread
        (
            {"usable": "14", "memory": "MemTotal: 65536000 kB\n34359738368"},
            ["14 of 16 processors, 32.0 of 62.5 GiB"],
        ),
    ],
)
def test_a_job_that_has_most_of_its_node_is_noted(changes, noted):
    assert not preflight.problems(seen(usable="1"), replace(NEEDS, whole=False)), "a list's host is what it is"
    found = seen(**changes)
    assert preflight.problems(found, NEEDS) == []
    assert preflight.notes([found]) == [f"not all of the machine may be used: {each} on datanode1" for each in noted]


@pytest.mark.parametrize("name", [name for name in ("sh", "dash", "bash") if shutil.which(name)])
@pytest.mark.parametrize(
    ("own", "limits", "gib"),
    [
        ("0::/slurm/job_7/step_0", {"slurm/job_7/memory.max": "1073741824", "slurm/memory.max": "max"}, 1),
        ("0::/\n4:cpu,memory:/job_7", {"memory/memory.limit_in_bytes": "9223372036854771712",
                                       "memory/job_7/memory.limit_in_bytes": "2147483648"}, 2),
        ("0::/", {}, None),
    ],
)  # fmt: skip
def test_a_host_reports_what_may_be_used_of_it(tmp_path, name, own, limits, gib):
    """Limits of the cgroup and its parents; the processors of its affinity, whatever OMP_NUM_THREADS is."""
    (tmp_path / "own").write_text(f"{own}\n")
    for file, limit in limits.items():
        (tmp_path / "cgroup" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "cgroup" / file).write_text(f"{limit}\n")
    asked = shell.asking({each: shell.MACHINE_QUESTIONS[each] for each in ("memory", "usable")})
    asked = asked.replace("/proc/self/cgroup", f"{tmp_path}/own").replace("/sys/fs/cgroup", f"{tmp_path}/cgroup")
    command = shell.environment([name, "-c", asked], {}, paths.SYSTEM_PATH)
    one = str(min(os.sched_getaffinity(0)))
    done = sh(["env", "OMP_NUM_THREADS=8", "taskset", "--cpu-list", one, "sh", "-c", command])
    answers = shell.answers(done.stdout.decode())
    installed, memory = preflight.memory_of(answers["memory"])
    assert installed > 2 and memory == (gib or installed)
    assert answers["usable"] == "1"


def test_a_machine_under_two_names_is_found_by_its_address():
    one, alias = seen(), replace(seen(), place=replace(seen().place, name="client", target="10.0.0.1"))
    elsewhere = [replace(one.present[1], addresses=("10.0.0.2",))]
    other = replace(one, place=replace(one.place, name="datanode2"), present=elsewhere)
    needs = replace(NEEDS, holders=preflight.holders([one, alias, other, HostReport(place(), silent="hangs")]))
    assert preflight.problems(one, needs) == [
        "10.0.0.1 (10gbe) is also the address of client: is a machine listed twice?"
    ]
    assert preflight.problems(other, needs) == []


OVER_RDMA = replace(NEEDS, rdma=True)
ABLE = {"ports": "mlx5_0/1 ACTIVE eno1 eno1.100\nmlx5_1/1 DOWN eno2", "locked": "unlimited", "preloaded": ""}
"""What a host answers that can do RDMA on eno1."""


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, ""),
        ({"locked": "4194304"}, ""),
        ({"locked": "64"}, "only 64 KiB of memory may be locked (ulimit -l), 1048576 needed: raise memlock in"),
        ({"preloaded": "librspreload.so"}, "librspreload.so cannot be preloaded: it is missing, or of another kind"),
        ({"rsockets": shell.RSOCKETS_FILE}, f"{shell.RSOCKETS_FILE} has no line `* INET STREAM *`: DataNodes hang"),
        ({"ports": ""}, "no RDMA port on eno1, found none"),
        ({"ports": "mlx5_1/1 ACTIVE eno2"}, "no RDMA port on eno1, found mlx5_1/1 ACTIVE on eno2"),
        ({"ports": "mlx5_0/1 DOWN eno1"}, "RDMA port mlx5_0/1 is DOWN"),
    ],
)
def test_what_a_host_lacks_for_a_transport_is_named(changes, problem):
    found = preflight.problems(seen(**ABLE | changes), OVER_RDMA)
    assert len(found) == bool(problem) and problem in "".join(found)


HERE = "0000:0000:0000:0000:0000:ffff:0a00:0001"
"""The GID of 10.0.0.1, as the kernel prints it."""
ROCE = f"mlx5_0/1\nmlx5_0/1 fe80:0000:0000:0000:0000:0000:0000:0001 IB/RoCE v1\nmlx5_0/1 {HERE} IB/RoCE v1"
BOTH = f"{ROCE}\nmlx5_0/1 {HERE} RoCE v2"


@pytest.mark.parametrize(
    ("gids", "mtu", "others", "problems"),
    [
        ("", 1500, [], []),  # InfiniBand, iWARP: no GID is of an address
        (BOTH, 1500, [(BOTH, 1500)], []),
        (ROCE, 1500, [(ROCE, 1500)], []),  # cards that know v1 alone
        (ROCE, 1500, [(BOTH, 1500)] * 2, ["GID RoCE v1 on 10gbe, on other hosts RoCE v2: RDMA needs the same"]),
        (BOTH, 9000, [(BOTH, 1500)] * 2, ["MTU 9000 on 10gbe, on other hosts 1500: RDMA needs the same"]),
        ("mlx5_0/1", 1500, [(BOTH, 1500)], ["no GID of 10.0.0.1 on RDMA port mlx5_0/1"]),
        (ROCE.replace("0a00:0001", "0a00:0002"), 1500, [], ["no GID of 10.0.0.1 on RDMA port mlx5_0/1"]),
    ],
)
def test_gids_and_mtus_that_do_not_fit_together_are_named(gids, mtu, others, problems):
    def host(gids, mtu):
        return seen(**ABLE | {"gids": gids, "addresses": json.dumps([ADDRESSES[1] | {"mtu": mtu}])})

    first, rest = host(gids, mtu), [host(*other) for other in others]
    needs = replace(OVER_RDMA, alike=preflight.usual([*rest, first]))
    assert preflight.problems(first, needs) == problems
    assert [preflight.problems(other, needs) for other in rest] == [[]] * len(rest)
    assert preflight.problems(first, replace(needs, rdma=False)) == []


@pytest.mark.parametrize(
    ("folders", "noted"),
    [
        ("sdb /data1\n99999999 yes yes sdc /data2", []),
        ("sdb /data1\n99999999 yes yes sdb /data2", ["data: folders on one drive are counted as several: /data1 and"]),
        ("/ /var/tmp", ["data: on the drive of the system, which others use too: /var/tmp on datanode1"]),
    ],
)
def test_data_folders_that_are_no_drive_of_their_own_are_noted(folders, noted):
    found = seen(folders=f"99999999 yes no / /work\n99999999 yes yes {folders}")
    assert preflight.problems(found, NEEDS) == []
    said = [note for note in preflight.notes([found]) if note.startswith("data: ")]
    assert [note.startswith(begin) for note, begin in zip(said, noted, strict=True)] == [True] * len(noted)


def test_a_folders_drive_is_that_below_its_partition(tmp_path):
    """`lsblk` as it is on a host with partitions, and for what is no block device."""
    (tmp_path / "df").write_text("#!/bin/sh\nprintf 'Filesystem\n%s\n' \"${2##*/}\"\n")
    of_partition, of_volume = "sda2 part\nsda disk\n", "vg lvm\nsda1 part\nsda disk\nsdb disk\n"
    lines = f"case $6 in sda2) printf '{of_partition}' ;; vg) printf '{of_volume}' ;; esac"
    (tmp_path / "lsblk").write_text(f"#!/bin/sh\n{lines}\n")
    for tool in ("df", "lsblk"):
        (tmp_path / tool).chmod(0o755)
    script = f'{shell._DRIVE}\nfor each; do drive "$each"; done'
    own = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    said = sh(["sh", "-c", script, "sh", "/mnt/sda2", "/mnt/vg", str(tmp_path)], env=own).stdout.decode().split()
    assert said == ["sda", "sda,sdb", str(tmp_path.stat().st_dev)]


def test_ports_count_only_where_a_transport_needs_them_and_are_noted(monkeypatch, capsys):
    assert preflight.problems(seen(), NEEDS) == []
    assert preflight.problems(seen(**ABLE | {"ports": "", "locked": "64"}), NEEDS) == []
    note = "RDMA ports: mlx5_0/1 ACTIVE on eno1 eno1.100, mlx5_1/1 DOWN on eno2 on datanode1"
    assert note in preflight.notes([seen(**ABLE)])
    monkeypatch.setattr(preflight, "look", lambda report, **_: report)
    monkeypatch.setattr(preflight, "send_image", lambda testbed: [""] * len(testbed.hosts))
    config = {"kind": "ssh", "fabrics": {"10gbe": {"rate_mbit_per_s": 10000}}, "memory": {"minimum_gib": 8}}
    config["transports"] = {"rsockets": {"kind": "rdma", "preload": ["librspreload.so"]}}
    without = seen(**ABLE | {"ports": ""})
    site = SimpleNamespace(config=config, source="site.yaml", image=None, hosts=[without])
    tcp, rsockets = transports.defined(config)
    for bare, transport in ((False, tcp), (True, None)):
        preflight.check_hosts(site, bare, transport)
    for transport in (rsockets, None):
        with pytest.raises(UserError, match="1 of 1 hosts cannot be used: .*: no RDMA port on eno1, found none"):
            preflight.check_hosts(site, False, transport)
    assert "no RDMA port on eno1" in capsys.readouterr().err


def test_a_library_that_is_not_there_is_found_by_the_loader_itself():
    asked = shell.script(shell.asking({"preloaded": shell.PRELOADED}))
    done = sh(["env", "PRELOAD=libnothing.so.9 libc.so.6", *asked])
    assert shell.answers(done.stdout.decode()) == {"": "", "preloaded": "libnothing.so.9"}


@pytest.mark.parametrize(
    ("library", "text", "found"),
    [
        ("librspreload.so", "* INET DGRAM *", True),
        ("librspreload.so", "* INET STREAM *", False),
        ("libvma.so", "", False),
    ],
)
def test_rsockets_needs_a_file_that_keeps_it_from_datagrams(tmp_path, library, text, found):
    file = tmp_path / "preload_config"
    file.write_text(f"{text}\n")
    asked = shell.RSOCKETS.replace(shell.RSOCKETS_FILE, str(file))
    done = subprocess.run(["sh", "-c", asked], capture_output=True, text=True, env={"PRELOAD": f"/usr/lib/{library}"})
    assert done.stdout == (f"{file}\n" if found else "")


def test_a_library_that_prints_a_banner_is_preloaded_all_the_same(tmp_path):
    """As libvma's does in every process."""
    (tmp_path / "talks.c").write_text("""
        #include <stdio.h>
        __attribute__((constructor)) static void begin(void) { fputs(" VMA INFO: VMA_VERSION: 9.8.20\\n", stderr); }
    """)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", tmp_path / "talks.so", tmp_path / "talks.c"], check=True)
    asked = shell.script(shell.asking({"preloaded": shell.PRELOADED}))
    done = sh(["env", f"PRELOAD={tmp_path}/talks.so libnothing.so.9", *asked])
    assert shell.answers(done.stdout.decode())["preloaded"] == "libnothing.so.9"
    for folder, refused in ((tmp_path, ""), ("", "talks.so")):
        done = sh(["env", "PRELOAD=talks.so", f"PRELOAD_PATH={folder}", *asked])
        assert shell.answers(done.stdout.decode())["preloaded"] == refused


def test_ports_are_found_by_the_interface_that_they_belong_to(tmp_path):
    """A RoCE card by its GIDs' interfaces, a card of two iWARP ports by its interfaces' numbers, soft RoCE by name."""
    for name, text in {
        "mlx5_0/ports/1/state": "4: ACTIVE", "mlx5_0/ports/1/gid_attrs/ndevs/0": "ens1",
        "mlx5_0/ports/1/counters/port_xmit_data": "250", "mlx5_0/ports/1/counters/port_rcv_data": "500",
        "cxgb4_0/ports/1/state": "4: ACTIVE", "cxgb4_0/ports/2/state": "1: DOWN",
        "cxgb4_0/device/net/ens2/dev_port": "0", "cxgb4_0/device/net/ens3/dev_port": "1",
        "cxgb4_0/hw_counters/ip4OutSegs": "7", "cxgb4_0/hw_counters/ip4InSegs": "8", "cxgb4_0/node_type": "4: RNIC",
        "cxgb4_0/ports/1/link_layer": "Ethernet", "cxgb4_0/ports/2/link_layer": "Ethernet",
        "rxe0/ports/1/state": "4: ACTIVE", "rxe0/parent": "ens1",
        "mlx5_0/node_type": "1: CA", "mlx5_0/ports/1/link_layer": "Ethernet",
        "mlx5_0/ports/1/gid_attrs/types/0": "IB/RoCE v1", "mlx5_0/ports/1/gids/0": HERE,
        "mlx5_0/ports/1/gid_attrs/types/1": "RoCE v2", "mlx5_0/ports/1/gids/1": HERE,
        "i40iw0/ports/1/state": "4: ACTIVE", "i40iw0/parent": "ens4",  # a port's counters are the device's too
        "i40iw0/ports/1/hw_counters/ip4OutOctets": "90", "i40iw0/hw_counters/ip4OutOctets": "90",
    }.items():  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    at_home = {name: text.replace("/sys/class/infiniband", str(tmp_path)) for name, text in READ_TRANSPORTS.items()}
    answers = shell.answers(sh(shell.script(shell.asking(at_home))).stdout.decode())
    assert sorted(answers["ports"].splitlines()) == [
        "cxgb4_0/1 ACTIVE ens2", "cxgb4_0/2 DOWN ens3", "i40iw0/1 ACTIVE ens4", "mlx5_0/1 ACTIVE ens1",
        "rxe0/1 ACTIVE ens1",
    ]  # fmt: skip
    assert answers["gids"].splitlines() == ["mlx5_0/1", f"mlx5_0/1 {HERE} IB/RoCE v1", f"mlx5_0/1 {HERE} RoCE v2"]
    assert answers["locked"] == "unlimited" or answers["locked"].isdecimal()
    script = PORT_SCRIPT.replace("/sys/class/infiniband", str(tmp_path))
    two = port_counters(sh(shell.script(script, "ens1")).stdout.decode())
    assert (two.name, two.sent.bytes, two.received.bytes) == ("mlx5_0/1 rxe0/1", 1000, 2000)
    one = port_counters(sh(shell.script(script, "ens3")).stdout.decode())
    assert (one.name, one.sent, one.received.packets) == ("cxgb4_0/2", Moved(None, 7), 8)
    once = port_counters(sh(shell.script(script, "ens4")).stdout.decode())
    assert (once.name, once.sent) == ("i40iw0/1", Moved(90))
    none = port_counters(sh(shell.script(script, "lo")).stdout.decode())
    assert (none.name, none.sent) == ("", Moved()) and none.segments > 0


def test_only_some_roles_need_curl_and_fio_and_hosts_agree_on_javas_folder():
    assert preflight.problems(seen(missing="curl\nfio", role="client"), NEEDS) == []
    assert preflight.most_common(["", "/b", "/a", "/a"]) == "/a"
    assert preflight.most_common(["", ""]) == ""


def test_what_reports_memory_is_needed_where_a_sites_file_system_is_used():
    assert preflight.problems(seen(missing="fincore"), NEEDS) == []
    needs = replace(NEEDS, only=preflight.Needs.of(example("ssh") | {"mount": {"path": "/lustre/me"}}).only)
    assert preflight.problems(seen(missing="fincore"), needs) == ["no fincore"]


def test_ports_are_those_of_the_role_and_of_our_own_cluster():
    busy = "00000000:268A"  # a DataNode's
    assert preflight.problems(seen(role="client", listening=busy), NEEDS) == []
    described = example("ssh") | {"cluster": {"kind": "existing", "configuration": "/etc/hadoop", "folder": "/b"}}
    needs = replace(NEEDS, only=preflight.Needs.of(described).only)
    assert preflight.problems(seen(missing="curl", role="client"), needs) == ["no curl"]
    assert preflight.Needs.of(described).ports == {"namenode": [], "datanode": [5201]}
    assert preflight.Needs.of(example("ssh") | {"scale": 20}).rates["10gbe"] == 500


RPC = "<property><name>mapreduce.jobhistory.address</name><value>h.example.org:10020</value></property>"
WEB = "<property><name>mapreduce.jobhistory.webapp.address</name><value>${h}:19888</value></property>"
INCLUDE = '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="all.xml"/>'


@pytest.mark.parametrize(
    ("site", "says"),
    [
        ("<configuration/>", "mapreduce.jobhistory.webapp.address: found '0.0.0.0:19888' and"),
        (
            "<configuration><property><name>a</name><value>b</value><property></configuration>",
            "mapred-site.xml: mismatched",
        ),
        (f"<configuration>{RPC}</configuration>", ""),
        (f"<configuration>{WEB}</configuration>", ""),  # only Hadoop knows the variable,
        (f"<configuration>{INCLUDE}</configuration>", ""),  # and what other files say
        ("", ""),
    ],
)
def test_a_site_that_does_not_name_its_history_server_is_reported_by_its_clients(site, says):
    """Reported and not refused: papers without jobs run all the same."""
    clients = [seen(role="client", site=site), seen(role="datanode", site=site)]
    assert [preflight.problems(each, NEEDS) for each in clients] == [[], []]
    found = [note for note in preflight.notes(clients) if note.startswith("cluster.configuration: ")]
    assert len(found) == (1 if says else 0)
    assert all(f"jobs need the history server: {says}" in note for note in found)


@pytest.mark.parametrize(
    "changes, note",
    [
        ({}, ""),
        ({"speeds": "eno1 4294967295"}, "eno1 reports no speed on datanode1"),
        ({"shapers": "eno1 qdisc mq 0: root\neno1 qdisc tbf 8: parent :1 rate 1Gbit burst 5Kb lat 50ms"},
         "tc: found 'qdisc tbf 8: parent :1 rate 1Gbit burst 5Kb lat 50ms', expected a rate of the whole device"),
        ({"shapers": ""}, "no tc (package iproute2 or iproute-tc), so a shaper would not be seen: datanode1"),
    ],
)  # fmt: skip
def test_a_link_whose_rate_nothing_reports_is_noted(changes, note):
    assert note in "".join(preflight.notes([seen(**changes)]))
    assert bool(preflight.notes([seen(**changes)])) == bool(note)


@pytest.mark.parametrize("cut", ["folders", "addresses"])
def test_a_host_that_does_not_answer_everything_is_not_taken_for_good(cut):
    text = said()[: said().index(f"{shell.SECTION}{cut}")]
    with pytest.raises(ValueError, match=f"no answer about .*{cut}"):
        preflight._report(place(), 0.0, text)
    with pytest.raises(ValueError, match="iproute2 4.14"):
        seen(addresses="2: eth0 inet")


def test_the_table_has_a_line_a_host_and_what_differs():
    other = inventory.Place("client", "client", "node9", "hosts[4]", {"10gbe": {"interface": "eno1"}})
    slow = preflight._report(other, 0.001, said(
        addresses=json.dumps([ADDRESSES[1] | {"mtu": 9000}]), governors="4 powersave\n12 performance"))  # fmt: skip
    silent = HostReport(place(f={}), silent="no answer in 10 s")
    lines = preflight.table([seen(), slow, silent], NEEDS).splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["datanode1", "client", "datanode1"]
    assert "10gbe=eno1:10000/1500" in lines[1]
    assert lines[3].endswith("no answer in 10 s")
    assert "note: CPU governor other than performance: powersave, performance on client" in lines
    assert "note: MTU on 10gbe differs: 1500 on datanode1; 9000 on client" in lines


@pytest.mark.parametrize(
    ("text", "version"),
    [('openjdk version "21" 2023-09-19', 21), ('java version "1.8.0_392"', 8), ("not found", 0),
     ('Picked up X\nopenjdk version "17.0.15" 2025', 17)],
)  # fmt: skip
def test_java_versions(text, version):
    assert preflight.java_version(text) == version


# -- software ------------------------------------------------------------------------------------------------


def test_the_class_path_of_a_distribution():
    listing = "\n".join([
        "/opt/tools/hadoop/share/hadoop", "./common/hadoop-common-3.3.6.jar", "./common/lib/guava-27.jar",
        "./hdfs/lib/guava-27.jar", "./hdfs/hadoop-hdfs-client-3.3.6.jar", "./hdfs/hadoop-hdfs-3.3.6-tests.jar",
        "./mapreduce/hadoop-mapreduce-examples-3.3.6.jar", "./tools/lib/aws-sdk.jar", "./yarn/timelineservice/x.jar",
    ])  # fmt: skip
    base = "/opt/tools/hadoop/share/hadoop"
    assert deployment.class_path(listing) == [
        f"{base}/common/hadoop-common-3.3.6.jar", f"{base}/common/lib/guava-27.jar",
        f"{base}/hdfs/hadoop-hdfs-client-3.3.6.jar"]  # fmt: skip
    assert deployment.class_path("") == []


def test_a_digest_changes_with_names_sizes_and_small_contents(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"abc")
    two.write_bytes(b"abd")
    digests = {deployment._digest(files) for files in ({"a": one}, {"b": one}, {"a": two}, {"a": one, "b": two})}
    assert len(digests) == 4
    assert deployment._digest({"a": one}) == deployment._digest({"a": one})


# -- Slurm ---------------------------------------------------------------------------------------------------

JOB = ("JobId=17 JobName=x UserId=me(1000) JobState=RUNNING Reason=None Dependency=(null) ReqNodeList=(null) "
       "ExcNodeList=(null) NodeList=node[01-03,07] BatchHost=node01 NumNodes=4 NumCPUs=64")  # fmt: skip


def test_state_and_nodes_of_a_job():
    assert slurm.job_of(JOB, "17") == ("RUNNING", "node[01-03,07]")
    with pytest.raises(UserError, match="job 17: found 'nothing', expected its nodes"):
        slurm.job_of("", "17")
    with pytest.raises(UserError, match="expected its nodes"):
        slurm.job_of(JOB.replace("=node[01-03,07]", "=(null)"), "17")


@pytest.mark.parametrize(
    "case, job, nodes",
    [
        ("array-of-leader", "100", "n16"),
        ("array-of-leader", "112", "n15"),
        ("heterogeneous", "200", "a[1-4]"),
        ("heterogeneous", "201", "b8"),
    ],
)
def test_of_several_jobs_in_one_answer_the_one_asked_for_counts(case, job, nodes):
    said = (Path(__file__).parents[2] / "data" / "cases" / "scontrol" / f"{case}.txt").read_text()
    assert slurm.job_of(said, job) == ("RUNNING", nodes)
    with pytest.raises(UserError, match="job 20: found .*, expected its nodes"):
        slurm.job_of(said, "20")


def test_a_jobs_name_and_comment_are_not_its_state_and_nodes():
    misleading = (
        JOB.replace("JobName=x", "JobName=x JobState=FAILED NodeList=a") + " Comment=NodeList=b JobState=FAILED"
    )
    assert slurm.job_of(misleading, "17") == slurm.job_of(JOB, "17")
    more = misleading.replace(" BatchHost", " SchedNodeList=node[01-09] BatchFeatures=x BatchHost")
    assert slurm.job_of(more, "17") == slurm.job_of(JOB, "17")
    waiting = JOB.replace("=node[01-03,07]", "=(null)")
    for said in (JOB + " Comment=x NodeList=b BatchHost=b", waiting + " Comment=x JobState=FAILED Reason=None"):
        with pytest.raises(UserError, match="job 17: found .*, expected its nodes and its state, once"):
            slurm.job_of(said, "17")


def test_steps_run_on_one_node_beside_others_with_all_that_the_job_has_there():
    argv = slurm.Slurm().command_line("node02", 1, "echo $$", {"SLURM_JOB_ID": "17"})
    assert argv[0] == "srun"
    assert {"--jobid=17", "--nodelist=node02", "--overlap", "--nodes=1", "--ntasks=1", "--mem=0"} <= set(argv)
    assert not [word for word in argv if word.startswith(("--exact", "--cpus-per-task"))]
    assert argv[-3:] == ["sh", "-c", "echo $$"]


def test_wishes_of_the_job_are_none_of_its_steps():
    environ = {"SLURM_JOB_ID": "17", "SLURM_MEM_PER_CPU": "100", "SLURM_CONF": "/c", "SRUN_DEBUG": "3", "HOME": "/h"}
    assert slurm.Slurm().environment(environ) == {"SLURM_CONF": "/c", "HOME": "/h"}


def test_outside_of_a_job_what_to_do_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="found no srun"):
        slurm.job_id({})
    (tmp_path / "srun").write_text("")
    (tmp_path / "srun").chmod(0o755)
    with pytest.raises(UserError, match=r"SLURM_JOB_ID: found nothing.*profiles/slurm.*salloc"):
        slurm.job_id({})
    assert slurm.job_id({"SLURM_JOB_ID": "17"}) == "17"


def test_of_the_answers_of_a_clock_the_soonest_counts():
    """The others waited for a processor, or in a queue, nobody knows whether on the way there or back."""
    slow = shell.CLOCK.replace("date", "sleep 0.4; date", shell.CLOCK_ASKS - 1)
    with subprocess.Popen(["sh", "-c", slow], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as popen:
        await_ready(popen, BytesIO(), 10)
        assert abs(offset_of(popen, time.monotonic() + 10)) < 0.15


def test_a_host_whose_clock_is_set_while_it_is_sampled_is_reported(monkeypatch):
    clocks = iter([{"namenode": 0.5, "client": 0.25}, {"namenode": 0.5, "client": -1.0}])
    testbed = SimpleNamespace(hosts=[], clocks=lambda: next(clocks), reference=SimpleNamespace(name="namenode"),
                              next_number=lambda: 1, on_all=lambda act: [])  # fmt: skip
    monkeypatch.setattr(remote_samples.RemoteSampler, "_merge", lambda *_: None)
    with remote_samples.RemoteSampler(testbed) as sampler:
        assert sampler.moved == {}
    assert sampler.moved == {"namenode": 0.0, "client": -1.25}


def test_nodes_of_another_job_keep_the_names_of_those_that_are_known():
    assert inventory.named(["n3", "n1"], {}) == ["datanode1", "datanode2"]
    known = {"n1": "datanode1", "n2": "datanode2"}
    assert inventory.named(["n2", "n7", "n1", "n8"], known) == ["datanode2", "datanode3", "datanode1", "datanode4"]
    assert inventory.named(["n7", "n2.example.org"], known) == ["datanode3", "datanode2"]
    assert inventory.named(["n1"], {"N1.example.org": "datanode4"}) == ["datanode4"]
