"""HiBench on a host of a testbed: its configuration, its runs and their reports.

The user's tree is read and run but not written to: configuration, report and a `hadoop` are in a folder of our own
(HIBENCH_CONF_FOLDER, hibench.report.dir, hibench.hadoop.executable).
"""

from __future__ import annotations

import io
import re
import time
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from whitewire.cluster.built_hibench import BuiltHiBench
from whitewire.cluster.container_jvms import JVM_KINDS
from whitewire.cluster.existing import LOGGING, SITE_FILES, Existing, around
from whitewire.cluster.hadoop import whereabouts
from whitewire.cluster.hdfs import Hdfs
from whitewire.cluster.yarn import VIEW, Yarn
from whitewire.errors import RunFailed, UserError
from whitewire.testbed.base import Host, Testbed
from whitewire.testbed.emulated import software
from whitewire.tools import Unreadable, hibench
from whitewire.tools import hibench_report as parser
from whitewire.tools.hibench import Hadoop, HiBenchJob, NotPlain, script_command
from whitewire.tools.hibench_report import Program, Report, Row, job_ids_of_script, report_rows
from whitewire.tools.testdfsio import DfsioResult, dfsio_result
from whitewire.workloads.sleep import SLEEP_TOOL

CLIENT_MIB = 384
"""Heap of a client's JVM, which HiBench starts for each command of Hadoop."""
ARGUMENT_FILES = {
    "yarn.app.mapreduce.am.command-opts": JVM_KINDS["am"],
    "mapreduce.map.java.opts": JVM_KINDS["task"],
    "mapreduce.reduce.java.opts": JVM_KINDS["task"],
}
"""Settings by which our own cluster gives JVM options to containers, with the file of options for each."""
_KEPT, MOST_KEPT = (hibench.REPORT, "result_*.txt", "throughput_*.csv"), 1 << 20
"""Patterns of files in the report's folder that are kept, and the largest size in bytes of such a file."""


@dataclass(frozen=True)
class ProgramRun:
    """One run of a program: its name (the part's, if the program has several), HiBench's row, its jobs, its output.

    `result`: what `dfsioe` itself reports; None for other programs.
    """

    name: str
    row: Row
    jobs: list[str]
    output: str
    result: DfsioResult | None = None

    def record(self) -> Report:
        """The row for run.json."""
        row = self.row
        return {
            "name": self.name, "type": row.type, "finished": row.finished, "bytes": row.bytes, "seconds": row.seconds,
            "rate": row.rate, "node_rate": row.node_rate, "result": dict(vars(self.result)) if self.result else None,
        }  # fmt: skip


class HiBench:
    """Runs of a HiBench tree. `logs` is the local folder for output; all that is written on the host is in `folder`."""

    job: HiBenchJob
    """The job that was configured last."""

    def __init__(self, tree: BuiltHiBench, logs: Path) -> None:
        self.tree, self.host, self.folder, self.logs = tree, tree.host, tree.folder, logs

    @property
    def made_by(self) -> str:
        return f"HiBench {self.tree.version}"

    def configure(self, hadoop: Hadoop, job: HiBenchJob) -> None:
        """Write hadoop.conf and hibench.conf for one program, and begin an empty report.

        The tree's own files come first, so that the user's settings there hold unless ours replace them. Files of other
        frameworks are left out. Raises UserError for a value that HiBench's scripts would split.
        """
        report = f"{self.folder}/report"
        own = self.tree.text("conf/hadoop.conf")
        try:
            files = {
                "hadoop.conf": f"{own.rstrip()}\n\n# set by Whitewire\n{hibench.hadoop_conf(hadoop)}",
                "hibench.conf": hibench.hibench_conf(self.tree.base, hadoop, job, report),
            }
        except NotPlain as error:
            raise UserError(f"hibench: {error}") from None
        self.host.run(["rm", "-rf", f"{self.folder}/conf", report]).check()
        self.host.run(["mkdir", "-p", report]).check()
        for name, text in files.items():
            self.host.put(text.encode(), f"{self.folder}/conf/{name}")
        self.job = job

    def prepare(self, seconds: float, check: Callable[[], None] = lambda: None) -> str:
        """Make the program's input; returns the script's output. Raises RunFailed."""
        return self._script(self._program.prepare, seconds, check)

    def measure(self, seconds: float, check: Callable[[], None] = lambda: None) -> list[ProgramRun]:
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
            jobs = job_ids_of_script(output)
            if any(job.startswith("job_local") for job in jobs):
                raise RunFailed(f"hibench {name}: its jobs ran inside the client and not on YARN")
            found.append(ProgramRun(name, rows[-1], jobs, output, self._result(name)))
            before = len(rows)
        return found

    @property
    def _program(self) -> Program:
        return self.tree.programs[self.job.program]

    def _script(self, path: str, seconds: float, check: Callable[[], None]) -> str:
        argv = script_command(f"{self.tree.home}/{path}", seconds)
        name = f"hibench {path.removeprefix('bin/workloads/')}"
        process = self.host.start(argv, self.logs / "hibench.log", self.tree.environment, name)
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
        return report_rows(done.stdout.decode(errors="replace")) if done.status == 0 else []

    def _result(self, part: str) -> DfsioResult | None:
        """The result that `dfsioe` reports for a part; None for other programs, which have one part only."""
        if part == self.job.program:
            return None
        said = self.host.run(["cat", f"{self.folder}/report/{self.job.program}/hadoop/result_{part}.txt"])
        try:
            return dfsio_result(said.stdout.decode(errors="replace")) if said.status == 0 else None
        except Unreadable as error:
            raise RunFailed(f"hibench {part}: {error}") from None

    def files(self) -> dict[str, str]:
        """Files that it was given and has written, verbatim, by name: configuration, report, results of `dfsioe`."""
        names = [part for name in _KEPT for part in ("-o", "-name", name)]
        listed = self.host.run(
            ["find", f"{self.folder}/report", "-type", "f", "-size", f"-{MOST_KEPT}c", "(", *names[1:], ")"]
        )
        paths = [f"{self.folder}/conf/hadoop.conf", f"{self.folder}/conf/hibench.conf"]
        paths += listed.check().stdout.decode().split()
        return {PurePosixPath(path).name: self.host.get(path).decode(errors="replace") for path in paths}


def hibench_of(testbed: Testbed, settings: Mapping, wanted: Iterable[tuple[str, str]], logs: Path) -> HiBench:
    """The testbed's HiBench (`settings`, its description's `hibench`), checked for the programs and profiles wanted.

    Raises UserError for what would stop a run.
    """
    tree = BuiltHiBench(testbed.by_role("client")[0], settings["home"], settings.get("path", ()))
    tree.check(dict.fromkeys(wanted), [host.endpoint for host in testbed.by_role("datanode")])
    return HiBench(tree, logs)


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
    values = {"fs.defaultFS": VIEW, **_of_tasks(hdfs, yarn, host, bench.tree.tools), **options}
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
    return Hadoop(folder, executable, configuration, jars["examples"], jars["sleep"], VIEW.rstrip("/"), bare.java)


def sleep_jar(tests: Path) -> bytes:
    """A jar that runs SleepJob of Hadoop's tests. (The jar `tests` offers several programs, some of which it lacks.)

    HiBench's first argument names the program; SleepJob ignores words that it does not know.
    """
    content = io.BytesIO()
    with zipfile.ZipFile(tests) as source, zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\nMain-Class: {SLEEP_TOOL}\n")
        for name in source.namelist():
            if re.match(re.escape(SLEEP_TOOL.replace(".", "/")) + r"[.$]", name):
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
