"""A site of Grid Engine to test on: the distribution's sge_qmaster and sge_execd on emulated hosts, without root.

Its cell is flat files (classic spooling), which need none of the programs that set up a database.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.site import USER, ScheduledSite
from whitewire.paths import SYSTEM_PATH
from whitewire.testbed.emulated import software
from whitewire.testbed.emulated.sandbox import EmulatedTestbed

PROGRAMS = f"/usr/lib/gridengine:{SYSTEM_PATH}"
SHARE = Path("/usr/share/gridengine")
PRELOADED = "libjemalloc.so.2"
"""Debian's programs need it from the start on: loaded later it has no room for its thread-local data."""
SLOTS = 16

BOOTSTRAP = """
admin_user {user}
default_domain none
ignore_fqdn true
spooling_method classic
spooling_lib libspoolc
spooling_params {common};{spool}
binary_path {programs}
qmaster_spool_dir {spool}
security_mode none
listener_threads 2
worker_threads 2
scheduler_threads 1
"""
CONFIGURATION = {
    "execd_spool_dir": "/tmp/sge", "min_uid": "0", "min_gid": "0", "load_report_time": "00:00:02",
    "max_unheard": "00:05:00", "reporting_params": "accounting=false reporting=false flush_time=00:00:01 joblog=false",
    **{f"{name}_{part}": "builtin" for name in ("qlogin", "rlogin", "rsh") for part in ("command", "daemon")},
}  # fmt: skip
SCHEDULER = {"schedule_interval": "0:0:1", "flush_submit_sec": "1", "flush_finish_sec": "1"}
ENVIRONMENT_OF_PARALLEL_JOBS = f"""
pe_name whole
slots 9999
user_lists NONE
xuser_lists NONE
start_proc_args NONE
stop_proc_args NONE
allocation_rule {SLOTS}
control_slaves TRUE
job_is_first_task FALSE
urgency_slots min
accounting_summary FALSE
qsort_args NONE
"""
QUEUE = f"""
qname all.q
hostlist {{hosts}}
seq_no 0
load_thresholds NONE
suspend_thresholds NONE
nsuspend 1
suspend_interval 00:05:00
priority 0
min_cpu_interval 00:05:00
processors UNDEFINED
qtype BATCH INTERACTIVE
ckpt_list NONE
pe_list whole
rerun FALSE
slots {SLOTS}
tmpdir /tmp
shell /bin/sh
prolog NONE
epilog NONE
shell_start_mode posix_compliant
starter_method NONE
suspend_method NONE
resume_method NONE
terminate_method NONE
notify 00:00:10
owner_list NONE
user_lists NONE
xuser_lists NONE
subordinate_list NONE
complex_values NONE
projects NONE
xprojects NONE
calendar NONE
initial_state default
""" + "".join(
    f"{bound}_{what} INFINITY\n"
    for what in ("rt", "cpu", "fsize", "data", "stack", "core", "rss", "vmem") for bound in "sh"
)  # fmt: skip


def program(name: str) -> str:
    """Where a program of Grid Engine is, empty if it is nowhere."""
    return shutil.which(name, path=PROGRAMS) or ""


class GridEngineSite(ScheduledSite):
    """sge_qmaster on the first host, sge_execd on every one; `job` has all hosts with all of their slots."""

    SERVERS = ("sge_qmaster", "sge_execd", "sge_shepherd")
    COMMANDS = ("qsub", "qrsh", "qdel", "qstat", "qhost", "qconf")

    def __init__(self, testbed: EmulatedTestbed, folder: Path) -> None:
        super().__init__(testbed, folder)
        self.root, self.shared = f"{self.folder}/sge", f"{self.folder}/shared"
        self.environ = {"SGE_ROOT": self.root, "SGE_CELL": "default", "SGE_QMASTER_PORT": "6444",
                        "SGE_EXECD_PORT": "6445", "SGE_ND": "1", "LD_PRELOAD": PRELOADED}  # fmt: skip
        self._write_cell()
        self._start(self.first, program("sge_qmaster"))
        self._make_commands([program(name) for name in self.COMMANDS])
        self._until(lambda: self.sge("qconf", "-sh").returncode == 0, "sge_qmaster")
        self._describe()
        for host in testbed.hosts:
            self._start(host, program("sge_execd"))
        self._until(self._are_up, "sge_execd", 60)
        self.job = self.submit("sleep 3600")

    def _write_cell(self) -> None:
        common, spool = f"{self.root}/default/common", f"{self.root}/default/spool"
        programs = str(Path(program("sge_shepherd")).parent)
        files = {
            f"{common}/bootstrap": BOOTSTRAP.format(user=USER, common=common, spool=spool, programs=programs),
            f"{common}/act_qmaster": f"{self.first.name}\n",
            f"{common}/configuration": changed((SHARE / "default-configuration").read_text(), CONFIGURATION),
            f"{spool}/managers": f"{USER}\n",
        }
        for name, text in files.items():
            self.write(name, text.encode(), "644")
        for name in ("centry", "usersets"):
            self.testbed.inside(["cp", "-r", str(SHARE / "util" / "resources" / name), f"{spool}/{name}"]).check()
        self.testbed.inside(["mkdir", "-p", f"{spool}/job_scripts", self.shared, f"{self.root}/utilbin"]).check()
        self.testbed.inside(["ln", "-s", programs, f"{self.root}/utilbin/lx-amd64"]).check()  # qrsh_starter
        self.testbed.inside(["chmod", "-R", "a+rwX", self.root, self.shared]).check()

    def _describe(self) -> None:
        """Hosts, the parallel environment and the queue."""
        names = [host.name for host in self.testbed.hosts]
        for option in ("-ah", "-as"):
            self.checked("qconf", option, ",".join(names))
        for option, text in (
            ("-Ap", ENVIRONMENT_OF_PARALLEL_JOBS),
            ("-Aq", QUEUE.format(hosts=" ".join(names))),
            ("-Msconf", changed(self.checked("qconf", "-ssconf"), SCHEDULER)),
        ):
            self.write(f"{self.root}/new", text.lstrip().encode(), "644")
            self.checked("qconf", option, f"{self.root}/new")

    def _are_up(self) -> bool:
        """Whether each host has a queue that is in no state of alarm."""
        queues = [line for line in self.sge("qstat", "-f").stdout.splitlines() if " BIP " in line]
        return len(queues) == len(self.testbed.hosts) and not any(re.search(r" [a-zA-Z]+ *$", line) for line in queues)

    def sge(self, name: str, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([self.commands / name, *arguments], capture_output=True, text=True, timeout=60)

    def checked(self, name: str, *arguments: str) -> str:
        done = self.sge(name, *arguments)
        assert done.returncode == 0, f"{name} {arguments}: {done.stdout}{done.stderr}"
        return done.stdout

    def submit(self, script: str, *options: str) -> str:
        """The number of a job that has all hosts; it runs, and its node file is `shared`/nodes."""
        text = f"#!/bin/sh\ncp $PE_HOSTFILE {self.shared}/nodes.new\nmv {self.shared}/nodes.new {self.shared}/nodes\n"
        self.testbed.inside(["rm", "-f", f"{self.shared}/nodes"]).check()
        self.write(f"{self.shared}/script", f"{text}{script}\n".encode(), "755")
        slots = str(SLOTS * len(self.testbed.hosts))
        said = self.checked("qsub", "-terse", "-cwd", "-V", "-o", f"{self.shared}/out", "-j", "y", "-pe", "whole",
                            slots, *options, f"{self.shared}/script")  # fmt: skip
        self._until(lambda: self.testbed.inside(["test", "-e", f"{self.shared}/nodes"]).status == 0, "the job", 60)
        return said.split()[-1]

    def nodes(self) -> bytes:
        return self.testbed.inside(["cat", f"{self.shared}/nodes"]).check().stdout


def changed(text: str, values: dict[str, str]) -> str:
    """A configuration, a name and its value in each line, with other values."""
    kept = [line for line in text.splitlines() if line.split()[:1] and line.split()[0] not in values]
    return "\n".join([*kept, *(f"{name} {value}" for name, value in values.items())]) + "\n"


@contextlib.contextmanager
def open_grid_site(config: dict, roles: dict, k: int, folder: Path) -> Iterator[GridEngineSite]:
    """Nodes of Grid Engine, all in one job, which this process is in as far as it can tell; or skip the test."""
    if missing := [name for name in (*GridEngineSite.SERVERS, *GridEngineSite.COMMANDS) if not program(name)]:
        pytest.skip(f"no {', '.join(missing)}: install gridengine-master gridengine-exec gridengine-client")
    with EmulatedTestbed(config, roles, k, software.binds()) as testbed:
        with contextlib.closing(GridEngineSite(testbed, folder)) as site:
            with pytest.MonkeyPatch.context() as patch:
                (folder / "nodes").write_bytes(site.nodes())
                patch.setenv("PATH", f"{site.commands}:{os.environ['PATH']}")
                patch.setenv("PE_HOSTFILE", str(folder / "nodes"))
                patch.setenv("JOB_ID", site.job)
                patch.setenv("SGE_TASK_ID", "undefined")
                yield site
