"""Parsers for HiBench's report, its source tree and the output of its scripts. Pure.

Source: gen_report in bin/functions/workload_functions.sh of HiBench 6.0 to 7.1.1: printf writes a row in the format
"%-12s %-10s %-8s %-20s %-20s %-20s %-20s" from type, date, time, bytes, seconds, bytes/s and bytes/s per node.
Types are mostly longer than their column; numbers come from bc, which writes .456 for 0.456.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TypedDict

from whitewire.tools import Unreadable

REPORT_PARTS = ("write", "read")
"""Parts of a program that has several (`dfsioe`), a row in the report each."""
_NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)")


@dataclass(frozen=True)
class Row:
    """One run in HiBench's report; `finished`: in the host's local time.

    `seconds`: duration of the command that submits the job, including the start of its JVM. `rate` and `node_rate`:
    whole bytes/s, rounded down by bc; None if its division failed.
    """

    type: str
    finished: str
    bytes: int
    seconds: float
    rate: int | None
    node_rate: int | None


class Report(TypedDict):
    """A row in run.json: with the name of the program or its part, and for `dfsioe` the part's own result."""

    name: str
    type: str
    finished: str
    bytes: int
    seconds: float
    rate: int | None
    node_rate: int | None
    result: dict[str, float] | None


def report_rows(text: str) -> list[Row]:
    """All rows of a report, in order. Raises Unreadable, naming an invalid line."""
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        columns = line.split()
        if not columns or columns[:2] == ["Type", "Date"]:
            continue
        found.append(_row(columns, number))
    return found


def _row(columns: Sequence[str], number: int) -> Row:
    # bc prints nothing for a division by zero; then both rates are missing.
    shape = len(columns) in (5, 7) and re.fullmatch(r"\d{4}-\d\d-\d\d", columns[1])
    if not shape or not re.fullmatch(r"\d\d:\d\d:\d\d", columns[2]) or not columns[3].isdecimal():
        raise Unreadable(f"hibench.report: line {number}: found {' '.join(columns)[:80]!r}, expected type, date, time, "
                         "bytes, seconds, bytes/s and bytes/s per node")  # fmt: skip
    if not all(_NUMBER.fullmatch(column) for column in columns[4:]):
        raise Unreadable(f"hibench.report: line {number}: found {' '.join(columns[4:])[:60]!r}, expected numbers")
    rates: list[int] | list[None] = [int(float(column)) for column in columns[5:]] or [None, None]
    return Row(columns[0], f"{columns[1]} {columns[2]}", int(columns[3]), float(columns[4]), *rates)


def report_metrics(reports: Sequence[Report]) -> dict[str, float]:
    """Metric → value for the rows of a run: `report_time`, `report_bytes`, `report_throughput`, the same per node
    `report_node_throughput`, and the number of nodes `report_nodes`, which is their ratio.

    If a run has several rows (of REPORT_PARTS), each metric begins with the row's name, and `<name>_throughput` is the
    program's own result: bytes over the sum of its tasks' times. Its reported time includes a second job, which
    analyses the first one's results. Raises Unreadable for a row of another part.
    """
    found: dict[str, float] = {}
    for report in reports:
        several = len(reports) > 1 or report.get("result")
        if several and report["name"] not in REPORT_PARTS:
            raise Unreadable(f"a row of {report['name']!r} in reports, not of {' or '.join(REPORT_PARTS)}")
        prefix = f"{report['name']}_" if len(reports) > 1 else ""
        found |= {f"{prefix}report_time": report["seconds"], f"{prefix}report_bytes": report["bytes"]}
        rate, node_rate = report["rate"], report["node_rate"]
        for each, name in ((rate, "report_throughput"), (node_rate, "report_node_throughput")):
            if each:
                found[f"{prefix}{name}"] = each / 1e6
        if rate and node_rate:
            found[f"{prefix}report_nodes"] = rate / node_rate
        if result := report.get("result"):
            found[f"{report['name']}_throughput"] = result["throughput"] / 1e6
            found[f"{report['name']}_rate_mean"] = result["rate_mean"] / 1e6
    return found


# --- output of its scripts ------------------------------------------------------------------------------

SUBMITTED = re.compile(r"(?:Submitting tokens for job:|Running job:|Starting Job =) (job_(?:local)?\d+_\d+)")
TELLING = (
    r"^\w*(?:Error|Exception): .+",  # of Python: the last line of a traceback
    r"ASSERT! .+",
    r"Job \S+ failed with state .+",
    r'(?<=Exception in thread "main" ).+',  # other threads' may be harmless warnings
    r"(?:Caused by: )?[\w.$]+(?:Exception|Error): .+",  # of Java
    r".*\bERROR\b.*",
    # Not from rm: all scripts begin by removing files that may not exist.
    r"^(?!rm: ).*(?:unbound variable|command not found|No such file or directory).*",
)
"""Patterns for the decisive line in a failed script's output, the most specific first."""


def job_ids_of_script(output: str) -> list[str]:
    """The jobs that a script's commands submitted, in order; `job_local…`: jobs that ran without YARN.

    Source: the output of Hadoop's JobSubmitter and Job, and of Hive's client.
    """
    return list(dict.fromkeys(SUBMITTED.findall(output)))


def failure(output: str) -> str:
    """The most informative line of a failed script's output (see TELLING), else the last one."""
    lines = [re.sub(r"\x1b\[[\d;]*m", "", line).strip() for line in output.splitlines()]
    for pattern in TELLING:
        found = [match for line in lines if (match := re.search(pattern, line))]
        if found:
            return found[0].group(0).strip()
    return next((line for line in reversed(lines) if line), "no message")


UNNOTICED = r'(?<=^Exception in thread "main" ).+|^FAILED: .+|Job \S+ failed with state .+'
"""Failures reported by Mahout and Hive, by Hive, and by Hadoop's client, which Nutch's indexing ignores."""


def unnoticed(output: str) -> str:
    """Why a program failed without its script noticing; empty if none did.

    Scripts that call Mahout, Hive or Nutch continue after their failures, and report the run like any other.
    """
    found = re.search(UNNOTICED, output, re.MULTILINE)
    return found[0].strip() if found else ""


# --- its tree -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Program:
    """A workload of HiBench for Hadoop: its scripts, as paths in the tree, and its configuration."""

    name: str
    category: str
    prepare: str
    runs: tuple[str, ...]

    @property
    def configuration(self) -> str:
        return f"conf/workloads/{self.category}/{self.name}.conf"

    def part(self, script: str) -> str:
        """The part of the program that a script runs: `read` for run_read.sh; the program's name for run.sh."""
        return re.sub(r"^run[_-]?|\.sh$", "", PurePosixPath(script).name) or self.name


def programs(paths: Iterable[str]) -> tuple[dict[str, Program], set[str]]:
    """(programs for Hadoop by name, names of those for other frameworks only), from the paths of a tree's scripts."""
    parts = [PurePosixPath(path).parts for path in paths]
    scripts = [path for path in parts if len(path) == 6 and path[:2] == ("bin", "workloads")]
    found, others = {}, set()
    for category, name in sorted({path[2:4] for path in scripts}):
        own = ["/".join(path) for path in scripts if path[2:5] == (category, name, "hadoop")]
        runs = sorted(path for path in own if re.fullmatch(r"run[_-]?.*\.sh", PurePosixPath(path).name))
        # In some releases `dfsioe` has a run.sh too, which calls the other two.
        runs = [path for path in runs if not path.endswith("/run.sh")] or runs
        if runs:
            prepare = f"bin/workloads/{category}/{name}/prepare/prepare.sh"
            found[name] = Program(name, category, prepare, tuple(runs))
        else:
            others.add(name)
    return found, others


def values(text: str) -> dict[str, str]:
    """Keys and values of a HiBench configuration file, read like its load_config.py, but references stay unresolved."""
    found = {}
    for line in map(str.strip, text.splitlines()):
        if line and not line.startswith("#"):
            key, _, value = re.sub(r"\s", " ", line).partition(" ")
            found[key] = value.strip()
    return found


def profiles(conf: str) -> list[str]:
    """The scale profiles that a workload's configuration defines; empty if it has no sizes of its own."""
    sizes = set(re.findall(r"\$\{(hibench\.\w+)\.\$\{hibench\.scale\.profile\}\.([\w.]+)\}", conf))
    keys = (re.fullmatch(r"(hibench\.\w+)\.(\w+)\.([\w.]+)", key) for key in values(conf))
    return list(dict.fromkeys(key[2] for key in keys if key and (key[1], key[3]) in sizes))


def hibench_release(pom: str, conf: str = "") -> str:
    """The release, from the tree's pom.xml, else from the names of the jars in hibench.conf; `unknown` otherwise."""
    found = re.search(r"<artifactId>hibench</artifactId>\s*(?:<packaging>\w+</packaging>\s*)?<version>([^<\s]+)<", pom)
    found = found or re.search(r"/hibench-common-(\d[\w.-]*?)-jar-with-dependencies\.jar", conf)
    return found[1] if found else "unknown"


def interpreter(source: str) -> str:
    """The program that a script's first line names, without `env`. Raises Unreadable when it names none."""
    words = source.splitlines()[0].removeprefix("#!").split() if source.startswith("#!") else []
    if words and PurePosixPath(words[0]).name == "env":
        words = words[1:]
    if not words:
        raise Unreadable("a script of HiBench without a first line that names its interpreter")
    return words[0]
