"""HiBench's programs: their scripts' command lines, their configuration as text, the sizes of the scale profiles.

Source: HiBench 6.0 to 7.1.1 (github.com/Intel-bigdata/HiBench): bin/functions/load_config.py, which reads all files
`*.conf` of the folder HIBENCH_CONF_FOLDER in the order of their names and then the workload's own, so that later lines
replace earlier ones; conf/workloads/micro/*.conf for the sizes.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from whitewire.units import MIB

PROFILES = ("tiny", "small", "large", "huge", "gigantic", "bigdata")
_ROW_BYTES = 100
"""Bytes of a row of `terasort`, whose sizes are numbers of rows."""
PROFILE_SIZES: dict[str, tuple[int, ...]] = {
    "sort": (32_000, 3_200_000, 320_000_000, 3_200_000_000, 32_000_000_000, 300_000_000_000),
    "terasort": (32_000, 3_200_000, 32_000_000, 320_000_000, 3_200_000_000, 6_000_000_000),
    "wordcount": (32_000, 320_000_000, 3_200_000_000, 32_000_000_000, 320_000_000_000, 1_600_000_000_000),
}
"""Values of hibench.<program>.<profile>.datasize, in the order of PROFILES: bytes, for `terasort` rows."""
DFSIOE = ((16, 1), (32, 10), (64, 10), (256, 100), (512, 400), (2048, 1000))
"""(number of files, MiB per file) in the order of PROFILES, the same for reading and writing."""
SLEEP = ((3, 3), (30, 30), (90, 45), (90, 45), (90, 45), (10, 10))
"""Configured `seconds` of (map, reduce) tasks in the order of PROFILES. SleepJob reads the values as milliseconds, and
ignores those of reduce tasks, whose option (-mr) it does not know."""
MICRO = (*PROFILE_SIZES, "dfsioe", "sleep")
"""The micro workloads that Hadoop's own jars contain too."""
NEEDS_NO_JARS = ("sort", "terasort", "wordcount", "sleep")
"""Programs that HiBench runs from Hadoop's jars only; all others need jars from HiBench's build."""
_MAHOUT = ("hibench.mahout.release", "hadoopbench/mahout/target/{}.tar.gz")
_HIVE = ("hibench.hive.release", "hadoopbench/sql/target/{}.tar.gz")
RELEASES = {
    "bayes": _MAHOUT, "kmeans": _MAHOUT, "aggregation": _HIVE, "join": _HIVE, "scan": _HIVE,
    "nutchindexing": ("hibench.nutch.release", "hadoopbench/nutchindexing/target/apache-{}-bin.tar.gz"),
}  # fmt: skip
"""Programs that unpack another project's release: the key in hibench.conf with its name, and its archive's path."""
JAR_KEYS = {"pagerank": "hibench.pagerank.pegasus.dir"}
"""Programs whose jobs are in a separate jar: the key of its path in the program's configuration."""
SCALED = "whitewire"
"""Name of the profile with scaled sizes; HiBench accepts any profile that its configuration defines."""
DATA_FOLDER = "whitewire/HiBench"
"""Folder of its files below the file system's root, separate from those of the user's own HiBench."""
REPORT = "hibench.report"
REPORT_FORMATS = '"%-12s %-10s %-8s %-20s %-20s %-20s %-20s\\n"'
"""HiBench's own format; its shell interprets \\n and the quotes."""
PLAIN_VALUE = re.compile(r"[A-Za-z0-9._/:@%+,=-]*")
"""Values that HiBench's shell, which quotes nothing, leaves unchanged."""
_NAMES = re.compile(r"[A-Za-z0-9.-]+(?: [A-Za-z0-9.-]+)*")
"""Host names separated by spaces, the only values that HiBench quotes."""


@dataclass(frozen=True)
class Hadoop:
    """The Hadoop that HiBench uses, as the host that runs HiBench sees it.

    `examples` and `sleep`: the jars of Hadoop's examples and of its SleepJob. `master`: the file system's address,
    which must be identical to fs.defaultFS, or HiBench's `dfsioe` fails.
    """

    home: str
    executable: str
    configuration: str
    examples: str
    sleep: str
    master: str
    java: str


@dataclass(frozen=True)
class HiBenchJob:
    """One run: a program and its profile, numbers of tasks, hosts; `sizes` replaces the profile's sizes."""

    program: str
    profile: str
    maps: int
    reduces: int
    masters: Sequence[str]
    workers: Sequence[str]
    sizes: Mapping[str, object]


class NotPlain(ValueError):
    """A value that HiBench's scripts would split or execute; the message names key and value."""


# --- sizes --------------------------------------------------------------------------------------------


def profile_file_bytes(program: str, profile: str) -> int:
    """Bytes of the input of one of MICRO at full scale; for `dfsioe` of one file, for `sleep` 0."""
    number = PROFILES.index(profile)
    if program == "sleep":
        return 0
    if program == "dfsioe":
        return DFSIOE[number][1] * MIB
    return PROFILE_SIZES[program][number] * (_ROW_BYTES if program == "terasort" else 1)


def dfsioe_files(profile: str) -> int:
    """Number of files of `dfsioe`."""
    return DFSIOE[PROFILES.index(profile)][0]


def sleep_ms(profile: str) -> int:
    """Milliseconds that each map task of `sleep` actually waits."""
    return SLEEP[PROFILES.index(profile)][0]


def sizes(program: str, profile: str, size: int) -> dict[str, object]:
    """The keys of the profile SCALED: `size` bytes (for `dfsioe` per file), all else as in `profile`.

    Raises ValueError for sizes that HiBench cannot express: `dfsioe` writes whole MiB, and some programs have no single
    size.
    """
    key = f"hibench.{program}.{SCALED}"
    if program == "sleep":
        seconds = SLEEP[PROFILES.index(profile)]
        return {f"{key}.mapper.seconds": seconds[0], f"{key}.reducer.seconds": seconds[1]}
    if program == "dfsioe":
        if size < MIB or size % MIB:
            raise ValueError(f"{size} bytes per file of dfsioe, expected a multiple of 1 MiB (1048576)")
        values: dict[str, object] = {}
        for operation in ("read", "write"):
            values[f"{key}.{operation}.number_of_files"] = dfsioe_files(profile)
            values[f"{key}.{operation}.file_size"] = size // MIB
        return values
    if program not in PROFILE_SIZES:
        raise ValueError(f"{program} has no size that a scale factor could divide, expected one of {', '.join(MICRO)}")
    return {f"{key}.datasize": size // _ROW_BYTES if program == "terasort" else size}


# --- configuration ------------------------------------------------------------------------------------


def _render(values: Mapping[str, object]) -> str:
    """Lines of a HiBench configuration file. Raises NotPlain for values that its unquoting scripts would break."""
    for key, value in values.items():
        if not (_NAMES if key.endswith(".hostnames") else PLAIN_VALUE).fullmatch(str(value)):
            raise NotPlain(f"{key}: found {str(value)!r}, expected no blank, quote or other sign that a shell reads")
    return "".join(f"{key}\t{value}\n" for key, value in values.items())


def hadoop_conf(hadoop: Hadoop) -> str:
    """The text of hadoop.conf, with all values, so that HiBench does not search for any."""
    return _render(
        {
            "hibench.hadoop.home": hadoop.home,
            "hibench.hadoop.executable": hadoop.executable,
            "hibench.hadoop.configure.dir": hadoop.configuration,
            "hibench.hdfs.master": hadoop.master.rstrip("/"),
            "hibench.hadoop.release": "apache",
            "hibench.hadoop.examples.jar": hadoop.examples,
            "hibench.hadoop.examples.test.jar": hadoop.sleep,
            "hibench.sleep.job.jar": hadoop.sleep,
            "java.bin": hadoop.java,
        }
    )


def hibench_conf(base: str, hadoop: Hadoop, job: HiBenchJob, report: str) -> str:
    """The text of hibench.conf: the tree's own (`base`), then this run's settings; `report`: folder of the report."""
    own = {
        "hibench.scale.profile": SCALED if job.sizes else job.profile,
        "hibench.default.map.parallelism": job.maps,
        "hibench.default.shuffle.parallelism": job.reduces,
        # Without them, HiBench asks YARN and gives up after five seconds.
        "hibench.masters.hostnames": " ".join(job.masters),
        "hibench.slaves.hostnames": " ".join(job.workers),
        "hibench.hdfs.data.dir": f"{hadoop.master.rstrip('/')}/{DATA_FOLDER}",
        "hibench.report.dir": report,
        "hibench.report.name": REPORT,
        **job.sizes,
    }
    return f"{base.rstrip()}\n\n# set by Whitewire\n{_render(own)}hibench.report.formats\t{REPORT_FORMATS}\n"


# --- command lines ------------------------------------------------------------------------------------


def script_command(path: str, seconds: float) -> list[str]:
    """The command that runs one of HiBench's scripts and ends it, with its children, after `seconds`."""
    return ["timeout", "--kill-after=10", str(max(1, round(seconds))), "bash", path]


JOIN = """\
# HiBench loses the quotes around -Da="-Xmx1g -Db=c" (or " -Db=c -Xmx1g ") where it has no terminal: put such words
# together again. What follows is the task's folder, once, and options of the JVM.
words=() open=
for word in "$@"; do
    quotes=${word//[^\\"]/} last=${words[*]: -1}
    if [ -n "$open" ]; then
        words[-1]+=" $word"
    elif [[ $last == -D*.java.opts=* && $word =~ ^(-X|@|-server|-Djava[.]) ]]; then
        words[-1]+=" $word"
    elif [[ $last == -D*.java.opts= && $word == -Dtest.build.data=* ]]; then
        words[-1]+="$word"
    else
        words+=("$word")
    fi
    if ((${#quotes} % 2)); then if [ -n "$open" ]; then open=; else open=1; fi; fi
done
set -- "${words[@]//\\"/}"
"""


MAINS = {"classpath": "", "jar": "org.apache.hadoop.util.RunJar", "fs": "org.apache.hadoop.fs.FsShell",
         "dfs": "org.apache.hadoop.fs.FsShell", "version": "org.apache.hadoop.util.VersionInfo"}  # fmt: skip


def launcher(java: Sequence[str], jars: Sequence[str], configuration: str) -> str:
    """A `hadoop` script for an installation of jars only: hadoop [--config FOLDER] COMMAND ARGUMENTS, COMMAND in MAINS.

    `java`: the JVM with its options. HADOOP_OPTS is split at blanks, as in Hadoop's own script, and HADOOP_CLASSPATH
    comes before (HADOOP_USER_CLASSPATH_FIRST) or after `jars`.
    """
    cases = "".join(f"    {name}) main={main} ;;\n" for name, main in MAINS.items())
    return (
        f"#!/usr/bin/env bash\n{JOIN}"
        f"configuration={shlex.quote(configuration)}\n"
        'if [ "${1-}" = --config ]; then configuration=$2; shift 2; fi\n'
        f"case ${{1-}} in\n{cases}"
        f"""    *) echo "hadoop: found ${{1-nothing}}, expected one of {", ".join(MAINS)}" >&2; exit 2 ;;\n"""
        "esac\nshift\n"
        f"path={shlex.quote(':'.join(jars))}:$configuration\n"
        'if [ -n "${HADOOP_CLASSPATH-}" ]; then\n'
        '    if [ "${HADOOP_USER_CLASSPATH_FIRST-}" = true ]; then path=$HADOOP_CLASSPATH:$path; '
        "else path=$path:$HADOOP_CLASSPATH; fi\nfi\n"
        """if [ -z "$main" ]; then printf '%s\\n' "$path"; exit; fi\n"""
        f'exec {shlex.join(java)} "-Dlog4j.configuration=file:$configuration/log4j.properties" ${{HADOOP_OPTS-}} '
        '-cp "$path" "$main" "$@"\n'
    )
