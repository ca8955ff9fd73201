"""What every scheduler's module says: the hosts of a job, how commands start on them, how the job ends."""

import math
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.support.site import description
from whitewire.description.capabilities import CAPABILITIES
from whitewire.description.files import schema
from whitewire.description.testbed import load_testbed, read_testbed
from whitewire.errors import UserError
from whitewire.paths import HOME
from whitewire.testbed.kinds import TESTBEDS
from whitewire.testbed.site.inventory import Place, machines, same_machine
from whitewire.testbed.site.job import JobTestbed, nodes_of, within_its_job
from whitewire.testbed.site.reason import reason
from whitewire.testbed.site.remote_host import Layout
from whitewire.testbed.site.schedulers import SCHEDULERS, gridengine, hostfile, lsf, pbs
from whitewire.testbed.site.schedulers.scheduler import first_words, seconds_of_clock
from whitewire.testbed.site.ssh import SshHost

DATA = Path(__file__).parents[2] / "data" / "nodes"
VARIABLES = {"pbs": "PBS_NODEFILE", "gridengine": "PE_HOSTFILE", "lsf": "LSB_DJOB_HOSTFILE", "oar": "OAR_NODEFILE"}
BY_COMMAND = ("slurm", "gridengine", "lsf", "flux", "oar")
JOBS = [kind for kind, can in CAPABILITIES.items() if can.runs_in_job]


def test_every_kind_of_testbed_has_capabilities_and_is_opened():
    whole = schema("testbed")
    assert [*TESTBEDS] == [*CAPABILITIES] == whole["properties"]["kind"]["enum"]
    assert [*SCHEDULERS] == [*JOBS, "hostfile"] == whole["$defs"]["job"]["properties"]["kind"]["enum"]


@pytest.mark.parametrize("kind", SCHEDULERS)
def test_the_page_has_each_scheduler_and_how_its_job_ends(kind):
    page = (HOME / "docs" / "sites" / "schedulers.md").read_text()
    (row,) = [line for line in page.splitlines() if line.startswith(f"| `{kind}`")]
    assert all(number.name in row for number in SCHEDULERS[kind].signals[:1])


# -- hosts of a job ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "file", "nodes"),
    [
        ("pbs", "pbs-pro.txt", ["node01.example.org", "node02.example.org", "node03.example.org"]),
        ("pbs", "torque.txt", ["node07", "node06"]),
        ("gridengine", "gridengine.txt", ["compute-12", "compute-13"]),
        ("gridengine", "gridengine-binding.txt", ["node01.example.org", "node02.example.org"]),
        ("lsf", "lsf.txt", ["hostA", "hostB", "hostC"]),
        ("oar", "oar.txt", ["node-23.cluster.example.org", "node-4.cluster.example.org"]),
    ],
)
def test_node_files_list_each_machine_once_in_the_schedulers_order(kind, file, nodes, monkeypatch):
    monkeypatch.setenv(VARIABLES[kind], str(DATA / file))
    assert nodes_of({"kind": kind}) == nodes


@pytest.mark.parametrize(
    ("file", "nodes"),
    [
        ("openmpi.txt", ["node01", "node13", "node15", "node16", "node17"]),
        ("mpich.txt", ["node01", "node02", "10.1.0.17"]),
    ],
)
def test_a_file_of_hosts_is_one_that_mpirun_takes(file, nodes, monkeypatch):
    monkeypatch.setenv("COBALT_NODEFILE", str(DATA / file))
    assert nodes_of({"kind": "hostfile", "host_file": str(DATA / file)}) == nodes
    assert nodes_of({"kind": "hostfile", "host_file": "${COBALT_NODEFILE}"}) == nodes


MIXED = {"gridengine": "{0} 6 all.q@{0} UNDEFINED", "hostfile": "alice@{0} slots=6"}
"""A line of a node file, where it is more than a name."""


@pytest.mark.parametrize("kind", [*VARIABLES, "hostfile"])
def test_a_machine_with_its_domain_on_some_lines_counts_once(kind, monkeypatch, tmp_path):
    names = ["node02.example.org", "node01", "node02", "NODE01.example.org", "node01"]
    text = "".join(f"{MIXED.get(kind, '{0}').format(name)}\n" for name in names)
    (tmp_path / "nodes").write_text(text + ("node01\n" if kind == "hostfile" else ""))
    if kind in VARIABLES:
        monkeypatch.setenv(VARIABLES[kind], str(tmp_path / "nodes"))
    found = nodes_of({"kind": kind, "host_file": str(tmp_path / "nodes")})
    assert [name.rpartition("@")[2] for name in found] == names[:2]


def test_slots_of_several_queues_of_a_host_add_up():
    assert gridengine.slots_of((DATA / "gridengine.txt").read_text(), "f") == {"compute-12": 20, "compute-13": 16}


HOSTS = st.lists(st.from_regex(r"[a-z]{1,3}[0-9]{1,2}", fullmatch=True), min_size=1, max_size=6, unique=True)
SHAPES = st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=6, max_size=6)


@given(HOSTS, SHAPES, st.randoms())
def test_repeats_domains_and_comments_change_no_list(hosts, shapes, random):
    """Each host on several lines, some with the domain: as often as it has slots, in any order after its first line."""
    more = [name for host, (count, long) in zip(hosts, shapes, strict=False)
            for name in [host] * count + [f"{host.upper()}.Example.org"] * long]  # fmt: skip
    random.shuffle(more)
    text = "\n".join([*hosts, "", "# slots", *(f"{name} slots=2  # {name}" for name in more)])
    assert machines(first_words(text, "f"), "PBS") == hosts


@given(HOSTS, SHAPES)
def test_lines_of_grid_engine_are_read_whole(hosts, shapes):
    lines = [(host, count) for host, (times, _) in zip(hosts, shapes, strict=False) for count in range(1, times + 1)]
    text = "".join(f"{host} {count} all.q@{host} UNDEFINED\n" for host, count in lines)
    found = gridengine.slots_of(text, "f")
    assert list(found) == hosts and sum(found.values()) == sum(count for _, count in lines)


@given(st.text(max_size=60))
def test_any_text_is_a_list_of_names_or_one_line(text):
    for read in (first_words, gridengine.slots_of):
        try:
            found = read(text, "f")
        except UserError as error:
            assert str(error).startswith("f: line ") and "\n" not in str(error)
        else:
            assert all(name and not name.startswith("-") and not name.split()[1:] for name in found)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("node01", "node01", True),
        ("node01", "NODE01.example.org", True),
        ("node01.example.org", "node01.rack1.example.org", False),
        ("node01.rack1", "node01.rack1.example.org", True),
        ("node01", "node011", False),
        ("10.1.0.1", "10.1.0.17", False),
        ("10.1.0", "10.1.0.17", False),
        ("alice@node01", "node01.example.org", True),
        ("ssh://alice@node01", "bob@NODE01", True),
        ("ssh://alice@vm.example.org:30010", "ssh://alice@vm.example.org:30011", False),
    ],
)
def test_names_of_one_machine(one, other, same):
    assert same_machine(one, other) == same_machine(other, one) == same


@pytest.mark.parametrize("names", [["n1", "n1.a.org", "n1.b.org"], ["n1.a.org", "n1.b.org", "n2", "n1"]])
def test_a_short_name_of_two_machines_is_refused(names):
    with pytest.raises(
        UserError, match=r"^PBS: found n1 beside n1.a.org and n1.b.org, expected names that distinguish hosts"
    ):
        machines(names, "PBS")


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("pbs", "node01\n-oProxyCommand=x\n", "FILE: line 2: found '-oProxyCommand=x', expected the name of a host"),
        ("oar", "node01\n\nnode02;id\n", "FILE: line 3: found 'node02;id', expected the name of a host"),
        ("gridengine", "node01\n", "FILE: line 1: found 'node01', expected a host, its slots, a queue and processors"),
        ("gridengine", "node01 many q x\n", "FILE: line 1: found 'node01 many q x', expected a host, its slots, "),
        ("gridengine", "node01 1 q x\n", "FILE: node01: found 1 slots, expected at least 10: each command that runs"),
    ],
)
def test_a_wrong_node_file_is_reported_with_its_line(kind, text, said, monkeypatch, tmp_path):
    (tmp_path / "nodes").write_text(text)
    monkeypatch.setenv(VARIABLES[kind], str(tmp_path / "nodes"))
    with pytest.raises(UserError) as error:
        nodes_of({"kind": kind})
    assert str(error.value).startswith(said.replace("FILE", str(tmp_path / "nodes")))


@pytest.mark.parametrize("kind", JOBS)
def test_outside_of_a_job_what_is_missing_is_said(kind, monkeypatch, tmp_path):
    for name in (*VARIABLES.values(), "SLURM_JOB_ID", "FLUX_URI"):
        monkeypatch.delenv(name, raising=False)
    tool(tmp_path, "srun", "exit 1", monkeypatch)
    with pytest.raises(UserError, match=r"^[\w ]+: [A-Z_]+: found nothing, expected .*; see docs/sites/\w+.md$"):
        nodes_of({"kind": kind})
    if kind in VARIABLES:
        monkeypatch.setenv(VARIABLES[kind], str(tmp_path / "gone"))
        with pytest.raises(UserError, match=rf"{VARIABLES[kind]}: {tmp_path}/gone: No such file or directory, exp"):
            nodes_of({"kind": kind})


def test_hosts_of_flux_are_those_of_its_instance(monkeypatch, tmp_path):
    said = (DATA / "flux-hostlist.txt").read_text().strip()
    tool(tmp_path, "flux", f'[ "$*" = "hostlist --expand instance" ] && echo {said}', monkeypatch)
    monkeypatch.setenv("FLUX_URI", "local:///run/flux/local")
    assert nodes_of({"kind": "flux"}) == ["host1", "host2", "host4"]
    tool(tmp_path, "flux", "echo 'flux: no broker' >&2; exit 1", monkeypatch)
    with pytest.raises(UserError, match="^Flux: flux hostlist --expand instance: flux: no broker$"):
        nodes_of({"kind": "flux"})


def test_which_kind_has_a_file_of_hosts(tmp_path):
    def read(kind, **more):
        limits = load_testbed("emulated")["limits"]
        (tmp_path / "site.yaml").write_text(yaml.safe_dump(description(limits, kind, **more)))
        return read_testbed(tmp_path / "site.yaml")["kind"]

    assert [read(kind) for kind in JOBS] == JOBS
    assert read("hostfile", host_file="~/hosts") == "hostfile"
    with pytest.raises(UserError, match=r"site.yaml: host_file: found nothing, expected the path of a file of hosts$"):
        read("hostfile")
    with pytest.raises(UserError, match=r'host_file: found "x", expected none: oar lists the hosts itself$'):
        read("oar", host_file="x")


# -- commands on a host --------------------------------------------------------------------------------------

TOOLS = {
    "slurm": ("srun", 'while [ "$1" != sh ]; do shift; done; exec "$@"'),
    "gridengine": ("qrsh", '[ "$1 $2" = "-inherit node02" ] && shift 2 && exec sh -c "$*"'),
    "lsf": ("blaunch", '[ "$1" = node02 ] && shift && exec sh -c "$*"'),
    "flux": ("flux", '[ "$1 $2" = "exec --rank=1" ] && shift 3 && cd / && exec "$@"'),
    "oar": ("oarsh", '[ "$1 $2" = "-T node02" ] && shift 2 && exec sh -c "$*"'),
}
"""What each scheduler's command does with its words, by its documentation: some join them, and a shell on the node
reads them."""


def tool(folder: Path, name: str, text: str, monkeypatch) -> None:
    """A command of this name on the path."""
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")


def host_of(kind: str, folder: Path, nodes: list[str], config: dict | None = None):
    (folder / "data").mkdir(exist_ok=True)
    layout = Layout.of({"work": str(folder / "work"), "data": [str(folder / "data")]})
    place = Place("datanode1", "datanode", "node02", "node02", {})
    return SCHEDULERS[kind].host(place, layout, config or {}, nodes)


@pytest.mark.parametrize("kind", BY_COMMAND)
def test_a_host_lives_through_its_schedulers_command(kind, monkeypatch, tmp_path):
    tool(tmp_path, *TOOLS[kind], monkeypatch)
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    host = host_of(kind, tmp_path, ["node01", "node02"])
    host.open(tmp_path)
    try:
        words = ["a  b", "it's", '"$HOME"', "\\n!", "", "*"]
        assert host.run(["printf", "%s|", *words]).check().stdout.decode() == "".join(f"{word}|" for word in words)
        assert host.run(["cat"], stdin=b"\0bytes\n").check().stdout == b"\0bytes\n"
        assert host.run(["sh", "-c", "exit 7"]).status == 7
        daemon = host.start(["sh", "-c", "echo up; exec sleep 60"], tmp_path / "daemon.log")
        daemon.wait_ready("up", timeout=10)
        daemon.stop()
        assert not daemon.alive
    finally:
        host.release()
        assert host.closed(15)
    assert [*(tmp_path / "work").iterdir(), *(tmp_path / "data").iterdir()] == []


def test_ranks_of_flux_count_every_line():
    """An instance with several brokers on a host: the first one starts its commands."""
    host = host_of("flux", Path("/tmp"), ["node01", "node01", "node02", "node02"])
    assert host.carry("true") == ["flux", "exec", "--rank=2", "--dir=/", "sh", "-c", "true"]


@pytest.mark.parametrize("kind", ["pbs", "hostfile"])
def test_where_there_is_no_command_ssh_is_used_with_its_configuration(kind, tmp_path):
    host = host_of(kind, tmp_path, ["node01", "node02"], {"ssh_config": "~/lab"})
    assert isinstance(host, SshHost) and host.ssh_config == os.path.expanduser("~/lab")


def test_the_nodes_of_a_job_play_the_roles(monkeypatch):
    monkeypatch.setenv("PBS_NODEFILE", str(DATA / "pbs-pro.txt"))
    config = description(load_testbed("emulated")["limits"], "pbs")
    made = JobTestbed(config, {"namenode": 1, "datanode": 2})
    assert [(host.name, host.target) for host in made.hosts] == [
        ("namenode", "node01.example.org"), ("datanode1", "node02.example.org"), ("datanode2", "node03.example.org")
    ]  # fmt: skip
    assert [host.name for host in JobTestbed.whole(config).hosts] == ["datanode1", "datanode2", "datanode3"]
    with pytest.raises(UserError, match=r"^PBS: found 3 nodes, expected 4 \(1 namenode, 3 datanode\)$"):
        JobTestbed(config, {"namenode": 1, "datanode": 3})


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ('error: executing task of job 2951 failed: execution daemon on host "node03" didn\'t accept task',
         "no slot of the job is free there"),
        ('error: executing task of job 2951 failed: missing "SGE_TASK_ID" in environment', 'missing "SGE_TASK_ID"'),
        ("oarsh: Cannot connect. Please set either a job id or a job key in your\noarsh: environment using the",
         "oarsh: Cannot connect"),
    ],
)  # fmt: skip
def test_why_a_schedulers_command_failed_is_reported(said, why):
    """As open-mpi's users and OAR's own program have them."""
    assert why in reason(f"Welcome\n{said}\n")


# -- limits and end of a job ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("59", 59), ("12:34", 754), ("01:00:00", 3600), ("1-02:03:04", 93784), ("3599.5", 3599), ("UNLIMITED", math.inf),
     ("INVALID", math.inf), ("", math.inf), ("infinity", math.inf), ("-5", math.inf)],
)  # fmt: skip
def test_clocks(text, seconds):
    assert seconds_of_clock(f"{text}\n") == seconds


def test_time_that_is_left(monkeypatch, tmp_path):
    said = (DATA / "qstat-f.txt").read_text()
    assert pbs._left_of(said) == 47 * 60 + 53
    assert pbs._left_of(said.replace("    resources_used.walltime = 00:12:07\n", "")) == 3600
    assert pbs._left_of(said.replace("    Resource_List.walltime = 01:00:00\n", "")) == math.inf
    said = (DATA / "bjobs-wl.txt").read_text()
    assert lsf._left_of(said) == 57 * 60
    assert lsf._left_of(said.replace("0:57 L", "-")) == math.inf
    tool(tmp_path, "srun", "", monkeypatch)
    asked = '[ "$*" = "--noheader --jobs=7 --format=%A %L" ]'
    tool(tmp_path, "squeue", f"{asked} && printf '8 20:00\\n7 1-00:00:10\\n9 INVALID\\n'", monkeypatch)
    assert SCHEDULERS["slurm"].seconds_left({**os.environ, "SLURM_JOB_ID": "7"}) == 86410
    tool(tmp_path, "flux", '[ "$*" = "job timeleft" ] && echo 3599', monkeypatch)
    assert SCHEDULERS["flux"].seconds_left(os.environ) == 3599
    environ = {"OAR_NODEFILE": str(tmp_path / "nodes"), "OAR_JOB_WALLTIME_SECONDS": "7200"}
    (tmp_path / "nodes").write_text("node01\n")
    os.utime(tmp_path / "nodes", (time.time() - 200, time.time() - 200))
    assert SCHEDULERS["oar"].seconds_left(environ) == pytest.approx(7000, abs=5)
    assert SCHEDULERS["oar"].seconds_left({}) == SCHEDULERS["gridengine"].seconds_left({}) == math.inf


PROGRAM = """
import os, signal, sys, time
from whitewire.testbed.site.job import within_its_job
with within_its_job({{"kind": {kind!r}}}):
    try:
        print("up", flush=True)
        {does}
        time.sleep(60)
    finally:
        os.kill(os.getpid(), signal.{name})  # another one while we clean up
        print("cleaned up", flush=True)
"""


def program(kind: str, name: str, does: str, environ: dict) -> subprocess.CompletedProcess:
    text = PROGRAM.format(kind=kind, name=name, does=does)
    return subprocess.run([sys.executable, "-c", text], env=os.environ | environ, capture_output=True, text=True,
                          timeout=60)  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, each.name) for kind, scheduler in SCHEDULERS.items() for each in scheduler.signals]
)
def test_a_signal_of_the_scheduler_ends_a_measurement_in_order(kind, name):
    done = program(kind, name, f"os.kill(os.getpid(), signal.{name})", {})
    assert done.returncode == 128 + signal.Signals[name]
    assert done.stdout.split("\n") == ["up", "cleaned up", ""]
    kept = "finished runs are kept; start it again in another job"
    assert done.stderr == f"whitewire: the job ends ({name}): {kept}\n"


def test_a_measurement_ends_before_its_jobs_time_is_up(tmp_path):
    (tmp_path / "nodes").write_text("node01\n")
    environ = {"OAR_NODEFILE": str(tmp_path / "nodes"), "OAR_JOB_WALLTIME_SECONDS": "31"}
    done = program("oar", "SIGTERM", "pass", environ)
    assert done.returncode == 128 + signal.SIGALRM and "the job ends (SIGALRM)" in done.stderr


def test_a_measurement_ends_although_nobody_reads_its_last_words():
    """The scheduler's signal ends what reads its log, too; a line that cannot be printed is no failure of a run."""
    text = PROGRAM.format(kind="slurm", name="SIGTERM", does="os.kill(os.getpid(), signal.SIGTERM)")
    unread, stderr = os.pipe()
    os.close(unread)
    done = subprocess.run([sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=stderr, timeout=60)
    os.close(stderr)
    assert (done.returncode, done.stdout) == (128 + signal.SIGTERM, b"up\ncleaned up\n")


@pytest.mark.parametrize("stage", ["links", "measure"])
def test_the_log_has_the_last_words_where_a_signal_reaches_all_processes(stage, tmp_path):
    rules = (HOME / "workflow" / "rules" / f"{stage}.smk").read_text()
    (kept,) = set(re.findall(r'^ +"( 2> .*)"$', rules, re.MULTILINE))
    program = (
        "import time\nfrom whitewire.testbed.site.job import within_its_job\n"
        "with within_its_job({'kind': 'slurm'}): print('up', flush=True); time.sleep(60)"
    )
    command = f"exec {shlex.join([sys.executable, '-c', program])}{kept}".replace("{log:q}", str(tmp_path / "log"))
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(["bash", "-c", command], start_new_session=True, text=True, **pipes) as popen:
        assert popen.stdout.readline() == "up\n"
        os.killpg(popen.pid, signal.SIGTERM)
        said = popen.communicate(timeout=60)[1]
    assert popen.returncode == 128 + signal.SIGTERM
    assert said == (tmp_path / "log").read_text() and "the job ends (SIGTERM)" in said


def test_commands_that_go_on_hold_the_end_up_for_a_bounded_time():
    """A worker thread waits for such a command, and its pool for the thread."""
    does = "with ThreadPoolExecutor() as pool: pool.submit(time.sleep, 50); os.kill(os.getpid(), signal.SIGTERM)"
    text = PROGRAM.format(kind="slurm", name="SIGTERM", does=does)
    bounded = f"from concurrent.futures import ThreadPoolExecutor\nfrom whitewire.testbed.site import job\n{text}"
    argv = [sys.executable, "-c", bounded.replace("with within", "job.CLEAN_UP_S = 1\nwith within")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=40)
    assert (done.returncode, done.stdout) == (1, "up\n")
    assert "stopping commands on hosts took longer than 1 s: the hosts end them by themselves, within " in done.stderr


def test_elsewhere_signals_are_what_they_were():
    before = signal.getsignal(signal.SIGUSR2)
    for kind in ("emulated", "ssh"):
        with within_its_job({"kind": kind}):
            assert signal.getsignal(signal.SIGUSR2) is before
    with within_its_job({"kind": "gridengine"}):
        assert signal.getsignal(signal.SIGUSR2) is not before
    assert signal.getsignal(signal.SIGUSR2) is before


def test_variables_of_a_path_that_are_not_set_leave_nothing():
    assert hostfile.expanded("$NODES", {}) == ""
    assert hostfile.expanded("${A}/x-$B", {"A": "/a", "B": "1"}) == "/a/x-1"
