"""HiBench on a host of a testbed: what it lacks there, its configuration, its runs and their reports.

The user's tree is read and run but not written to: configuration, report and a `hadoop` are in a folder of our own
(HIBENCH_CONF_FOLDER, hibench.report.dir, hibench.hadoop.executable).
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import NoReturn

from whitewire.cluster import container_jvms
from whitewire.cluster.existing import LOGGING, SITE_FILES, Existing, around
from whitewire.cluster.hadoop import whereabouts
from whitewire.cluster.hdfs import Hdfs
from whitewire.cluster.yarn import VIEW, Yarn
from whitewire.errors import RunFailed, UserError
from whitewire.testbed.base import Argv, Completed, Host, Testbed
from whitewire.testbed.emulated import software
from whitewire.text import quoted, suggestion
from whitewire.tools import Unreadable, hibench, testdfsio
from whitewire.tools import hibench_report as parser
from whitewire.tools.hibench import Hadoop, Job, NotPlain
from whitewire.tools.hibench_report import Program, Report, Row
from whitewire.workloads import sleep
from whitewire.workloads.hibench_copy import DESCRIPTION, TREE, Prepared, read

CLIENT_MIB = 384
"""Heap of a client's JVM, which HiBench starts for each command of Hadoop."""
ARGUMENT_FILES = {
    "yarn.app.mapreduce.am.command-opts": container_jvms.KINDS["am"],
    "mapreduce.map.java.opts": container_jvms.KINDS["task"],
    "mapreduce.reduce.java.opts": container_jvms.KINDS["task"],
}
"""Settings by which our own cluster gives JVM options to containers, with the file of options for each."""
SCRIPTS = ("load_config.py", "monitor.py")
"""HiBench's Python scripts that every run calls."""
LOOK = 'printf "%s\\n" "$PATH"; if java=$(command -v java); then readlink -f "$java"; fi'
"""Script that prints the PATH and the real path of Java, from which JAVA_HOME for other projects' programs is made."""
READS = "import ast, sys; ast.parse(open(sys.argv[1]).read())"
"""A program that fails unless the interpreter that runs it can read a script: Python 3 cannot read Python 2."""
KEPT, MOST_KEPT = (hibench.REPORT, "result_*.txt", "throughput_*.csv"), 1 << 20
"""Names of files in the report's folder that are kept, and the size in bytes below which they are."""


@dataclass(frozen=True)
class Reported:
    """One run of a program: its name (the part's, if the program has several), HiBench's row, its jobs, its output.

    `result`: what `dfsioe` itself reports; None for other programs.
    """

    name: str
    row: Row
    jobs: list[str]
    output: str
    result: testdfsio.Result | None = None

    def record(self) -> Report:
        """The row for run.json."""
        row = self.row
        return {
            "name": self.name, "type": row.type, "finished": row.finished, "bytes": row.bytes, "seconds": row.seconds,
            "rate": row.rate, "node_rate": row.node_rate, "result": dict(vars(self.result)) if self.result else None,
        }  # fmt: skip


class HiBench:
    """A HiBench tree that the user has built, at `home` on `host`.

    `path` holds folders to look for programs in before the host's own, `logs` is the local folder for output. All that
    is written on the host is in `folder`.
    """

    def __init__(self, host: Host, home: str, logs: Path, path: Sequence[str] = ()) -> None:
        self.host, self.home, self.logs = host, home.rstrip("/") or "/", logs
        self.folder, self.extra_path = f"{host.scratch}/hibench", list(path)
        self._job: Job | None = None

    # -- what is there ---------------------------------------------------------------------------------------

    @cached_property
    def environment(self) -> dict[str, str]:
        found = self.host.run(["sh", "-c", LOOK]).check().stdout.decode()
        path, _, java = found.rstrip("\n").partition("\n")
        return {
            "PATH": ":".join([*self.extra_path, path]),
            **({"JAVA_HOME": str(PurePosixPath(java).parents[1])} if java else {}),
            "HADOOP_HOME": self.folder,  # where Hive looks for `hadoop`; HiBench does not export it
            "HIBENCH_CONF_FOLDER": f"{self.folder}/conf",
            "PYTHONDONTWRITEBYTECODE": "1",  # or its scripts leave .pyc files in the tree
        }

    @cached_property
    def _found(self) -> tuple[dict[str, Program], set[str]]:
        root = f"{self.home}/bin/workloads"
        listed = self._run("find", "-L", root, "-mindepth", "4", "-maxdepth", "4", "-name", "*.sh").check().stdout
        paths = listed.decode(errors="replace").splitlines()
        return parser.programs(path.removeprefix(f"{self.home}/") for path in paths)

    @property
    def programs(self) -> dict[str, Program]:
        """HiBench's workloads for Hadoop, by name."""
        return self._found[0]

    @cached_property
    def version(self) -> str:
        return parser.version(self._text("pom.xml"), self._base)

    @property
    def made_by(self) -> str:
        return f"HiBench {self.version}"

    @cached_property
    def _base(self) -> str:
        """The tree's own hibench.conf, or the template that some releases have in its place."""
        return self._text("conf/hibench.conf") or self._text("conf/hibench.conf.template")

    def _run(self, *argv: str) -> Completed:
        return self.host.run(argv, env=self.environment)

    def _text(self, path: str) -> str:
        """Text of a file of the tree; empty if it is missing."""
        done = self._run("cat", f"{self.home}/{path}")
        return done.stdout.decode(errors="replace") if done.status == 0 else ""

    def _has(self, program: str) -> bool:
        return self._run("sh", "-c", 'command -v "$1"', "sh", program).status == 0

    # -- what is wrong ---------------------------------------------------------------------------------------

    def check(self, wanted: Iterable[tuple[str, str]], workers: Sequence[str]) -> None:
        """Raise UserError for the first thing that would stop the wanted (program, profile) or disturb their report."""
        fault = next(self.faults(wanted, workers), None)
        if fault:
            raise UserError(fault)

    def faults(self, wanted: Iterable[tuple[str, str]], workers: Sequence[str]) -> Iterator[str]:
        """Faults with their remedies, one line each. A fault that hides others ends the list."""
        where = f"hibench.home: {self.home} on {self.host.name}"
        if not hibench.PLAIN.fullmatch(self.home):
            yield f"{where}: found a blank or another sign that HiBench's scripts do not quote; move the tree"
            return
        if self._run("test", "-d", self.home).status != 0:
            yield f"{where}: no such folder; give a built HiBench tree, on emulated hosts outside /tmp and /run"
            return
        if self._run("test", "-d", f"{self.home}/bin/workloads").status != 0:
            yield f"{where}: found no bin/workloads; give the root of a tree of HiBench 6.0 or newer"
            return
        if self._run("grep", "-rqF", "${HIBENCH_CONF_FOLDER:-", f"{self.home}/bin/functions").status != 0:
            yield f"{where}: its bin/functions take no HIBENCH_CONF_FOLDER; use HiBench 6.0 or newer"
            return
        if not self._base:
            yield f"{where}: found no conf/hibench.conf; restore it from the release"
            return
        yield from self._missing_programs()
        yield from self._pythons()
        if not workers:
            yield "hibench: found no worker host, expected one or more (hibench.slaves.hostnames); add a datanode"
        for program, profile in dict.fromkeys(wanted):
            yield from self._faults_of(program, profile)

    def _missing_programs(self) -> Iterable[str]:
        """Faults of missing programs. Without bc HiBench runs but omits the report's row and ends with status 0."""
        for name, package in (("bash", "bash"), ("bc", "bc"), ("which", "debianutils"), ("timeout", "coreutils")):
            if not self._has(name):
                yield f"hibench: {name} is not on {self.host.name}, and HiBench's scripts call it; install {package}"

    def _pythons(self) -> Iterable[str]:
        for name in SCRIPTS:
            path = f"bin/functions/{name}"
            try:
                interpreter = parser.interpreter(self._text(path))
            except Unreadable:
                yield f"hibench.home: {self.home}/{path}: not there or no script; restore it from the release"
                continue
            remedy = "install the Python that the release was written for, and give its folder as hibench.path"
            if not self._has(interpreter):
                yield f"hibench: {path} calls {interpreter}, which is not on {self.host.name}; {remedy}"
            elif self._run(interpreter, "-c", READS, f"{self.home}/{path}").status != 0:
                shown = self._run(interpreter, "-c", "import sys; print(sys.version.split()[0])").stdout.decode()
                yield f"hibench: {path} is not for {interpreter} of {self.host.name}, Python {shown.strip()}; {remedy}"

    def _faults_of(self, name: str, profile: str) -> Iterable[str]:
        programs, others = self._found
        if name not in programs:
            if name in others:
                yield f"hibench: workload {name}: found for other frameworks only, expected one with a folder hadoop"
            else:
                names = ", ".join(sorted(programs))
                yield f"hibench: workload: found {quoted(name)}, expected one of {names}{suggestion(name, programs)}"
            return
        program = programs[name]
        known = parser.profiles(self._text(program.configuration))
        if known and profile not in known:
            line = f"hibench: profile of {name}: found {quoted(profile)}, expected one of {', '.join(known)}"
            yield line + suggestion(profile, known)
        if self._run("test", "-f", f"{self.home}/{program.prepare}").status != 0:
            yield f"hibench.home: {self.home}/{program.prepare}: not there; restore it from the release"

    def lacks(self, name: str) -> str:
        """Why the tree cannot run one of its programs, and the remedy; empty for one that it can run."""
        if name in hibench.NEEDS_NO_JARS:
            return ""
        if why := self._copy.lacks(name) if self._copy else "":
            return why
        asked = f"{name} of HiBench {self.version}"
        if "run_spark_job" in self._text(self.programs[name].prepare):
            return f"{asked}: makes its input with Spark, which has no part here; take HiBench 7.1.1, which needs none"
        missing = next((path for path in self._needs(name) if self._run("test", "-f", path).status != 0), None)
        remedy = "`make hibench`" if self._copy else f"mvn -Phadoopbench clean package (Java 8) in {self.home} makes it"
        return f"{asked}: needs {missing}, which is not there; {remedy}" if missing else ""

    @cached_property
    def _copy(self) -> Prepared | None:
        """The description of a tree that `make hibench` prepared, also if it was copied to another host; else None."""
        place = PurePosixPath(self.home)
        text = self._text(f"../{DESCRIPTION}") if place.name == TREE else ""
        return read(text, f"{place.parent}/{DESCRIPTION} on {self.host.name}") if text else None

    def _needs(self, name: str) -> Iterable[str]:
        """Files that a program needs besides Hadoop's jars."""
        yield self.tools
        values = parser.values(self._base) | parser.values(self._text(self.programs[name].configuration))
        if name in hibench.JARS:
            yield values.get(hibench.JARS[name], "").replace("${hibench.home}", self.home)
        if name in hibench.RELEASES:
            key, archive = hibench.RELEASES[name]
            release = values.get(f"{key}.apache") or values.get(key, "")
            yield f"{self.home}/{archive.format(release)}"

    @cached_property
    def tools(self) -> str:
        """The jar of HiBench's own programs, by its own configuration."""
        jar = parser.values(self._base).get("hibench.hibench.datatool.dir", "")
        return jar.replace("${hibench.home}", self.home) or f"{self.home}/autogen/target"

    # -- use -------------------------------------------------------------------------------------------------

    def configure(self, hadoop: Hadoop, job: Job) -> None:
        """Write hadoop.conf and hibench.conf for one program, and begin an empty report.

        The tree's own files come first, so that the user's settings there hold unless ours replace them. Files of other
        frameworks are left out. Raises UserError for a value that HiBench's scripts would split.
        """
        report = f"{self.folder}/report"
        own = self._text("conf/hadoop.conf")
        try:
            files = {
                "hadoop.conf": f"{own.rstrip()}\n\n# set by Whitewire\n{hibench.hadoop_conf(hadoop)}",
                "hibench.conf": hibench.hibench_conf(self._base, hadoop, job, report),
            }
        except NotPlain as error:
            raise UserError(f"hibench: {error}") from None
        self.host.run(["rm", "-rf", f"{self.folder}/conf", report]).check()
        self.host.run(["mkdir", "-p", report]).check()
        for name, text in files.items():
            self.host.put(text.encode(), f"{self.folder}/conf/{name}")
        self._job = job

    def prepare(self, seconds: float, check: Callable[[], None] = lambda: None) -> str:
        """Make the program's input; returns the script's output. Raises RunFailed."""
        return self._script(self._program.prepare, seconds, check)

    def measure(self, seconds: float, check: Callable[[], None] = lambda: None) -> list[Reported]:
        """Run the program, each of its runs after the other. Raises RunFailed, also where HiBench reports nothing.

        `check` is called repeatedly and may raise an error to end the run early; each run may take `seconds`.
        """
        found, before = [], len(self._rows())
        for script in self._program.runs:
            output = self._script(script, seconds, check)
            rows = self._rows()
            name = self._program.part(script)
            if len(rows) != before + 1:
                raise RunFailed(f"hibench {name}: {len(rows) - before} rows in its report, expected one: "
                                f"{parser.failure(output)[:200]}")  # fmt: skip
            jobs = parser.job_ids(output)
            if any(job.startswith("job_local") for job in jobs):
                raise RunFailed(f"hibench {name}: its jobs ran inside the client and not on YARN")
            found.append(Reported(name, rows[-1], jobs, output, self._result(name)))
            before = len(rows)
        return found

    @property
    def job(self) -> Job:
        """The job that was configured last. Raises RuntimeError before configure()."""
        if self._job is None:
            raise RuntimeError("hibench: nothing is configured yet")
        return self._job

    @property
    def _program(self) -> Program:
        return self.programs[self.job.program]

    def _script(self, path: str, seconds: float, check: Callable[[], None]) -> str:
        argv = hibench.script(f"{self.home}/{path}", seconds)
        name = f"hibench {path.removeprefix('bin/workloads/')}"
        process = self.host.start(argv, self.logs / "hibench.log", self.environment, name)
        try:
            while process.alive:
                check()
                time.sleep(0.05)
        except BaseException:
            process.stop()
            raise
        said, status = process.said(), process.popen.returncode
        if status == 124:
            raise RunFailed(f"{name}: no end after {seconds:.0f} s")
        if status != 0:
            raise RunFailed(f"{name}: status {status}: {parser.failure(said)[:300]}")
        if why := parser.unnoticed(said):
            raise RunFailed(f"{name}: {why[:300]}")
        return said

    def _rows(self) -> list[Row]:
        done = self.host.run(["cat", f"{self.folder}/report/{hibench.REPORT}"])
        return parser.parse(done.stdout.decode(errors="replace")) if done.status == 0 else []

    def _result(self, part: str) -> testdfsio.Result | None:
        """The result that `dfsioe` reports for a part; None for other programs, which have one part only."""
        if part == self.job.program:
            return None
        said = self.host.run(["cat", f"{self.folder}/report/{self.job.program}/hadoop/result_{part}.txt"])
        try:
            return testdfsio.parse(said.stdout.decode(errors="replace")) if said.status == 0 else None
        except Unreadable as error:
            raise RunFailed(f"hibench {part}: {error}") from None

    def files(self) -> dict[str, str]:
        """Files that it was given and has written, verbatim, by name: configuration, report, results of `dfsioe`."""
        names = [part for name in KEPT for part in ("-o", "-name", name)]
        listed = self.host.run(
            ["find", f"{self.folder}/report", "-type", "f", "-size", f"-{MOST_KEPT}c", "(", *names[1:], ")"]
        )
        paths = [f"{self.folder}/conf/hadoop.conf", f"{self.folder}/conf/hibench.conf"]
        paths += listed.check().stdout.decode().split()
        return {PurePosixPath(path).name: self.host.get(path).decode(errors="replace") for path in paths}


class ThisMachine(Host):
    """This machine as a host that is only inspected: emulated hosts have the same programs and files."""

    name, role, address, drive_root = "this machine", "client", "127.0.0.1", "/"
    scratch = "/tmp"

    def run(
        self,
        argv: Argv,
        env: Mapping[str, str] | None = None,
        stdin: bytes | None = None,
        timeout: float | None = None,
    ) -> Completed:
        done = subprocess.run(
            argv, input=stdin or b"", capture_output=True, timeout=timeout, env={**os.environ, **(env or {})}
        )
        return Completed(tuple(argv), done.returncode, done.stdout, done.stderr)

    def start(self, *_: object, **__: object) -> NoReturn:
        raise NotImplementedError

    put = get = drive = start


def hibench_of(testbed: Testbed, settings: Mapping, wanted: Iterable[tuple[str, str]], logs: Path) -> HiBench:
    """The testbed's HiBench (`settings`, its description's `hibench`), checked for the programs and profiles wanted.

    Raises UserError for what would stop a run.
    """
    bench = HiBench(testbed.by_role("client")[0], settings["home"], logs, settings.get("path", ()))
    bench.check(dict.fromkeys(wanted), [host.endpoint for host in testbed.by_role("datanode")])
    return bench


def on_this_machine(settings: Mapping) -> HiBench:
    """The HiBench of a testbed whose hosts are emulated here, to be checked before they are up."""
    return HiBench(ThisMachine(), settings["home"], Path(), settings.get("path", ()))


# --- the Hadoop it uses ---------------------------------------------------------------------------------


def hadoop_of(hdfs: Hdfs | Existing, yarn: Yarn | Existing | None, bench: HiBench,
              options: Mapping[str, object]) -> Hadoop:  # fmt: skip
    """Set up the cluster's own Hadoop for HiBench on the first client: `hadoop`, configuration, programs in a folder.

    Neither our installation nor a client of a site's cluster has a `hadoop`. `options` are settings of all jobs.
    """
    folder = bench.folder
    host, installation = hdfs.testbed.by_role("client")[0], hdfs.installation
    configuration = f"{folder}/hadoop"
    host.run(["rm", "-rf", configuration]).check()
    host.run(["mkdir", "-p", configuration]).check()
    host.run(["cp", "-R", "-L", f"{installation.configuration}/.", configuration]).check()
    values = {"fs.defaultFS": VIEW, **_of_tasks(hdfs, yarn, host, bench.tools), **options}
    for name in SITE_FILES:
        if host.run(["test", "-e", f"{configuration}/{name}"]).status == 0:
            host.run(["mv", f"{configuration}/{name}", f"{configuration}/stack-{name}"]).check()
            host.put(around(f"stack-{name}", values), f"{configuration}/{name}")
    # Logs go to standard error: HiBench reads sizes from standard output, and would take any number there for one.
    logging = LOGGING["log4j.properties"].replace("System.out", "System.err")
    host.put(logging.encode(), f"{configuration}/log4j.properties")
    found = {match[1].split("-")[0]: jar for jar in software.HADOOP.glob("*.jar")
             if (match := software.UNPACKED.match(jar.name))}  # fmt: skip
    jars = {"examples": f"{folder}/{found['examples'].name}", "sleep": f"{folder}/sleep.jar"}
    host.put(found["examples"].read_bytes(), jars["examples"])
    host.put(sleep_jar(found["client"]), jars["sleep"])
    # Without the unpacked programs: a job brings its own, as everywhere.
    bare = replace(installation, workloads="")
    java = bare.argv("", CLIENT_MIB, whereabouts(host))[:-3]
    java = [word for word in java if not word.startswith("-Dlog4j.configuration=")]
    executable = f"{folder}/bin/hadoop"
    host.put(hibench.launcher(java, bare.jars, configuration).encode(), executable)
    host.run(["chmod", "755", executable]).check()
    master, version = VIEW.rstrip("/"), bare.version
    return Hadoop(folder, executable, configuration, jars["examples"], jars["sleep"], master, bare.java, version)


def sleep_jar(tests: Path) -> bytes:
    """A jar that runs SleepJob of Hadoop's tests. (The jar `tests` offers several programs, some of which it lacks.)

    HiBench's first argument names the program; SleepJob ignores words that it does not know.
    """
    content = io.BytesIO()
    with zipfile.ZipFile(tests) as source, zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\nMain-Class: {sleep.TOOL}\n")
        for name in source.namelist():
            if re.match(re.escape(sleep.TOOL.replace(".", "/")) + r"[.$]", name):
                target.writestr(name, source.read(name))
    return content.getvalue()


def _of_tasks(hdfs: Hdfs | Existing, yarn: Yarn | Existing | None, host: Host, tools: str) -> dict[str, str]:
    """Settings by which the tasks of our own cluster find the programs of HiBench; none for a site's cluster.

    They go into mapred-site.xml, where HiBench looks for the tasks' options. Its programs are on the class path, like
    all others, and not in the job's own jar, so that tasks can run in JVMs that stay (container_jvms.py).
    """
    if not isinstance(yarn, Yarn):
        return {}
    installation, found = hdfs.installation, {}
    for key, name in ARGUMENT_FILES.items():
        lines = host.run(["cat", f"{installation.configuration}/{name}"]).check().stdout.decode().splitlines()
        lines[lines.index("-cp") + 1] += f":{tools}"
        path = f"{installation.configuration}/hibench/{name}"
        hdfs.testbed.share(path, "\n".join(lines).encode())
        found[key] = f"@{path}"
    # For tasks whose options HiBench drops: the class path in their environment.
    everything = [*installation.jars, installation.configuration, installation.workloads, tools]
    return found | {"mapreduce.application.classpath": ",".join(filter(None, everything))}
