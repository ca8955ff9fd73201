"""A HiBench tree on a host: its programs and version, and what it lacks there. Nothing is written to it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import PurePosixPath
from typing import NoReturn

from whitewire.errors import UserError
from whitewire.testbed.base import Argv, Completed, Host
from whitewire.text import quoted, suggestion
from whitewire.tools import Unreadable, hibench
from whitewire.tools import hibench_report as parser
from whitewire.tools.hibench import JAR_KEYS, PLAIN_VALUE
from whitewire.tools.hibench_report import Program, hibench_release
from whitewire.workloads.hibench_copy import DESCRIPTION, TREE, Prepared, parse_prepared

SCRIPTS = ("load_config.py", "monitor.py")
"""HiBench's Python scripts that every run calls."""
LOOK = 'printf "%s\\n" "$PATH"; if java=$(command -v java); then readlink -f "$java"; fi'
"""Script that prints the PATH and the real path of Java, from which JAVA_HOME for other projects' programs is made."""
READS = "import ast, sys; ast.parse(open(sys.argv[1]).read())"
"""A program that fails unless the interpreter that runs it can read a script: Python 3 cannot read Python 2."""


class BuiltHiBench:
    """A HiBench tree that the user has built, at `home` on `host`.

    `path` holds folders to look for programs in before the host's own. Runs write into `folder` on the host.
    """

    def __init__(self, host: Host, home: str, path: Sequence[str] = ()) -> None:
        self.host, self.home, self.folder = host, home.rstrip("/") or "/", f"{host.scratch}/hibench"
        self._extra_path = list(path)

    @cached_property
    def environment(self) -> dict[str, str]:
        found = self.host.run(["sh", "-c", LOOK]).check().stdout.decode()
        path, _, java = found.rstrip("\n").partition("\n")
        return {
            "PATH": ":".join([*self._extra_path, path]),
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
        return hibench_release(self.text("pom.xml"), self.base)

    @cached_property
    def base(self) -> str:
        """The tree's own hibench.conf, or the template that some releases have in its place."""
        return self.text("conf/hibench.conf") or self.text("conf/hibench.conf.template")

    def _run(self, *argv: str) -> Completed:
        return self.host.run(argv, env=self.environment)

    def text(self, path: str) -> str:
        """Text of a file of the tree; empty if it is missing."""
        done = self._run("cat", f"{self.home}/{path}")
        return done.stdout.decode(errors="replace") if done.status == 0 else ""

    def _has(self, program: str) -> bool:
        return self._run("sh", "-c", 'command -v "$1"', "sh", program).status == 0

    def check(self, wanted: Iterable[tuple[str, str]], workers: Sequence[str]) -> None:
        """Raise UserError for the first thing that would stop the wanted (program, profile) or disturb their report."""
        fault = next(self.faults(wanted, workers), None)
        if fault:
            raise UserError(fault)

    def faults(self, wanted: Iterable[tuple[str, str]], workers: Sequence[str]) -> Iterator[str]:
        """Faults with their remedies, one line each. A fault that hides others ends the list."""
        where = f"hibench.home: {self.home} on {self.host.name}"
        if not PLAIN_VALUE.fullmatch(self.home):
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
        if not self.base:
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
                interpreter = parser.interpreter(self.text(path))
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
        parts = [program.part(script) for script in program.runs]
        if len(parts) > 1 and (other := sorted({*parts} - {*parser.REPORT_PARTS})):
            yield (f"hibench: workload {name}: found a part {quoted(other[0])} (run_{other[0]}.sh), expected one "
                   f"run.sh, or {' and '.join(parser.REPORT_PARTS)}")  # fmt: skip
        known = parser.profiles(self.text(program.configuration))
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
        if "run_spark_job" in self.text(self.programs[name].prepare):
            return f"{asked}: makes its input with Spark, which has no part here; take HiBench 7.1.1, which needs none"
        missing = next((path for path in self._needs(name) if self._run("test", "-f", path).status != 0), None)
        remedy = "`make hibench`" if self._copy else f"mvn -Phadoopbench clean package (Java 8) in {self.home} makes it"
        return f"{asked}: needs {missing}, which is not there; {remedy}" if missing else ""

    @cached_property
    def _copy(self) -> Prepared | None:
        """The description of a tree that `make hibench` prepared, also if it was copied to another host; else None."""
        place = PurePosixPath(self.home)
        text = self.text(f"../{DESCRIPTION}") if place.name == TREE else ""
        return parse_prepared(text, f"{place.parent}/{DESCRIPTION} on {self.host.name}") if text else None

    def _needs(self, name: str) -> Iterable[str]:
        """Files that a program needs besides Hadoop's jars."""
        yield self.tools
        values = parser.values(self.base) | parser.values(self.text(self.programs[name].configuration))
        if name in JAR_KEYS:
            yield values.get(JAR_KEYS[name], "").replace("${hibench.home}", self.home)
        if name in hibench.RELEASES:
            key, archive = hibench.RELEASES[name]
            release = values.get(f"{key}.apache") or values.get(key, "")
            yield f"{self.home}/{archive.format(release)}"

    @cached_property
    def tools(self) -> str:
        """The jar of HiBench's own programs, by its own configuration."""
        jar = parser.values(self.base).get("hibench.hibench.datatool.dir", "")
        return jar.replace("${hibench.home}", self.home) or f"{self.home}/autogen/target"


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


def on_this_machine(settings: Mapping) -> BuiltHiBench:
    """The HiBench of a testbed whose hosts are emulated here, to be checked before they are up."""
    return BuiltHiBench(ThisMachine(), settings["home"], settings.get("path", ()))
