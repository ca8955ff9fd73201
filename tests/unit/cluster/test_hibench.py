"""HiBench: its report, its configuration, and the driver on a tree of its layout with a `hadoop` that only talks."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitewire.cluster.built_hibench import BuiltHiBench
from whitewire.cluster.hibench import HiBench, sleep_jar
from whitewire.errors import RunFailed, UserError
from whitewire.testbed.base import Completed, Host, Process
from whitewire.testbed.installation import Installation
from whitewire.tools import Unreadable, hibench
from whitewire.tools import hibench_report as parser
from whitewire.tools.hibench import PROFILE_SIZES, Hadoop, HiBenchJob, NotPlain, dfsioe_files, profile_file_bytes
from whitewire.tools.hibench_report import hibench_release, job_ids_of_script, report_metrics, report_rows
from whitewire.workloads import sleep
from whitewire.workloads.hibench_copy import DESCRIPTION, PINNED_COMMIT, Prepared

TREE = Path(__file__).parents[2] / "data" / "hibench-tree"
FORMAT = hibench.REPORT_FORMATS.strip('"').replace("\\n", "\n")
TITLE = FORMAT % ("Type", "Date", "Time", "Input_data_size", "Duration(s)", "Throughput(bytes/s)", "Throughput/node")
WORKERS = ["datanode1", "datanode2", "datanode3"]


def printed(*columns: str) -> str:
    """A row as HiBench's gen_report makes it: bash's printf with words that are not quoted."""
    script = f"printf {hibench.REPORT_FORMATS} $*"
    return subprocess.run(["bash", "-c", script, "printf", *columns], capture_output=True, text=True, check=True).stdout


# --- the report ---------------------------------------------------------------------------------------


def test_rows_as_bash_prints_them():
    text = (
        printed("Type", "Date", "Time", "Input_data_size", "Duration(s)", "Throughput(bytes/s)", "Throughput/node")
        + printed("HadoopSort", "2026-11-21", "14:05:09", "3289154", "36.619", "89820", "29940")
        + printed("HadoopDfsioe-write", "2026-11-21", "14:07:30", "339398079", "112.121", "3027069", "1009023")
    )
    # The first fits its column, the second does not; a row ends with blanks up to the last column's width.
    assert text.splitlines()[1].startswith("HadoopSort   2026-11-21 14:05:09 3289154              36.619")
    assert text.splitlines()[2].startswith("HadoopDfsioe-write 2026-11-21 14:07:30 339398079            112.121")
    sort, write = report_rows(text)
    assert sort == parser.Row("HadoopSort", "2026-11-21 14:05:09", 3289154, 36.619, 89820, 29940)
    assert (write.type, write.bytes, write.seconds) == ("HadoopDfsioe-write", 339398079, 112.121)
    assert (write.rate, write.node_rate) == (3027069, 1009023)


@pytest.mark.skipif(shutil.which("bc") is None, reason="bc is not installed")
@pytest.mark.parametrize("milliseconds, seconds", [(456, 0.456), (1000, 1.0), (90, 0.09), (3_600_001, 3600.001)])
def test_numbers_as_bc_writes_them(milliseconds, seconds):
    def bc(expression):
        return subprocess.run(
            ["bc"], input=expression + "\n", capture_output=True, text=True, check=True
        ).stdout.strip()

    taken = bc(f"scale=3;({milliseconds})/1000")
    rate = bc(f"3200000/{taken}")
    (row,) = report_rows(printed("HadoopTerasort", "2026-11-21", "14:05:09", "3200000", taken, rate, bc(f"{rate}/3")))
    assert row.seconds == seconds
    assert row.rate == int(3_200_000 * 1000 // milliseconds)


def test_a_row_without_rates_because_nothing_took_time():
    (row,) = report_rows(printed("HadoopSleep", "2026-11-21", "14:05:09", "0", "0"))
    assert (row.seconds, row.rate, row.node_rate) == (0.0, None, None)


@pytest.mark.parametrize(
    "line",
    [
        "HadoopSort 2026-11-21 14:05:09",
        "HadoopSort 2026-11-21 14:05:09 3289154 36.619 89820",
        "HadoopSort 2026-11-21 14:05:09 three 36.619 89820 29940",
        "HadoopSort 2026-11-21 14:05:09 3289154 36,619 89820 29940",
        "HadoopSort 21.11.2026 14:05:09 3289154 36.619 89820 29940",
        "ERROR: number of words",
    ],
)
def test_what_is_no_row_is_named_with_its_line(line):
    with pytest.raises(Unreadable, match="line 2"):
        report_rows(f"{TITLE}{line}\n")


NAMES = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", min_size=1, max_size=40)
WHEN = st.datetimes().map(lambda t: (f"{t.year:04}-{t:%m-%d}", f"{t:%H:%M:%S}"))


@given(st.lists(st.tuples(NAMES, WHEN, st.integers(0, 10**16), st.integers(1, 10**9), st.integers(1, 4096))))
def test_any_rows_come_back(runs):
    lines, expected = [TITLE], []
    for name, (date, time), size, milliseconds, nodes in runs:
        seconds = (
            f"{milliseconds / 1000:.3f}".removeprefix("0") if milliseconds < 1000 else f"{milliseconds / 1000:.3f}"
        )
        rate = size * 1000 // milliseconds
        lines.append(FORMAT % (name, date, time, size, seconds, rate, rate // nodes))
        expected.append(parser.Row(name, f"{date} {time}", size, milliseconds / 1000, rate, rate // nodes))
    found = report_rows("".join(lines))
    assert [(row.type, row.finished, row.bytes) for row in found] == [(r.type, r.finished, r.bytes) for r in expected]
    assert [row.seconds for row in found] == pytest.approx([row.seconds for row in expected])
    assert [row.rate for row in found] == pytest.approx([row.rate for row in expected])


@given(st.text(max_size=200))
def test_anything_else_is_read_or_unreadable(text):
    try:
        rows = report_rows(text)
    except Unreadable:
        return
    assert all(row.bytes >= 0 for row in rows)


def test_metrics_of_one_row_and_of_two():
    one = {"name": "sort", "seconds": 40.0, "bytes": 80_000_000, "rate": 2_000_000, "node_rate": 400_000}
    assert report_metrics([one]) == {
        "report_time": 40.0, "report_bytes": 80_000_000, "report_throughput": 2.0,
        "report_node_throughput": 0.4, "report_nodes": 5.0,
    }  # fmt: skip
    result = {"throughput": 7.1e6, "rate_mean": 7.5e6}
    two = report_metrics([one | {"name": "read", "result": result}, one | {"name": "write", "rate": None}])
    assert two["read_report_throughput"] == 2.0 and two["read_throughput"] == 7.1
    assert "write_report_throughput" not in two and two["write_report_time"] == 40.0
    assert "write_throughput" not in two
    assert report_metrics([one | {"name": "append"}]) == report_metrics([one]), "a program of one part"


@pytest.mark.parametrize("names", [("append", "write"), ("append",)])
def test_a_part_without_metrics_is_unreadable(names):
    row = {"seconds": 40.0, "bytes": 80, "rate": 2, "node_rate": 1, "result": {"throughput": 7.1, "rate_mean": 7.5}}
    with pytest.raises(Unreadable, match="a row of 'append' in reports, not of write or read"):
        report_metrics([row | {"name": name} for name in names])


# --- output and tree ----------------------------------------------------------------------------------


def test_jobs_in_order_and_once():
    said = """2026-11-21 12:19:20 INFO mapreduce.JobSubmitter: Submitting tokens for job: job_1795264706080_0001
2026-11-21 12:19:21 INFO mapreduce.Job: Running job: job_1795264706080_0001
2026-11-21 12:19:28 INFO mapreduce.Job: Job job_1795264706080_0009 completed successfully
Starting Job = job_1795264706080_0002, Tracking URL = http://namenode:8088/proxy/application_1795264706080_0002/
"""
    assert job_ids_of_script(said) == ["job_1795264706080_0001", "job_1795264706080_0002"]
    assert job_ids_of_script("INFO mapreduce.Job: Running job: job_local1409_0001") == ["job_local1409_0001"]
    assert job_ids_of_script("Submit MapReduce Job: hadoop jar job_1_1.jar") == []


def test_the_line_that_explains_a_failure():
    said = 'Parsing conf: /x/hibench.conf\nTraceback (most recent call last):\n  File "x", line 3\n'
    said += "AssertionError: no hibench.slaves.hostnames\n.: filename argument required\n"
    said += "run.sh: INPUT_HDFS: unbound variable\n"
    assert parser.failure(said) == "AssertionError: no hibench.slaves.hostnames"
    assert (
        parser.failure("start bench\n\x1b[1;31mERROR\x1b[0m: Hadoop job failed\nlog tail\n")
        == "ERROR: Hadoop job failed"
    )
    java = "\torg.apache.hadoop.fs.PathIOException: x\nCaused by: java.io.IOException: no space left\n"
    assert parser.failure(java) == "org.apache.hadoop.fs.PathIOException: x"
    job = "INFO mapreduce.Job: Job job_1_0001 failed with state FAILED due to: Task failed task_1_0001_m_000002\n"
    job += "java.io.IOException: Job status not available\n"
    assert parser.failure(job) == "Job job_1_0001 failed with state FAILED due to: Task failed task_1_0001_m_000002"
    absent = "/usr/bin/env: 'python2': No such file or directory"
    assert parser.failure(f"rm: `/x': No such file or directory\n{absent}\nx: unbound variable\n") == absent
    assert parser.failure("one\ntwo\n\n") == "two"
    assert parser.failure("") == "no message"


HIVE_ON_JAVA_17 = TREE.parent / "hive-3.0.0-on-java-17.txt"
"""What Hive 3.0.0 says; the script that called it goes on."""


def test_failures_that_scripts_do_not_notice():
    assert parser.unnoticed(HIVE_ON_JAVA_17.read_text()).startswith("java.lang.ClassCastException: class jdk.internal")
    failed = "FAILED: SemanticException [Error 10001]: Line 1:14 Table not found 'uservisits'"
    assert parser.unnoticed(f"Hive Session ID = d4c96a16\n{failed}\n") == failed
    job = "Job job_local1728420300_0001 failed with state FAILED due to: NA"
    nutch = "FATAL indexer.Indexer: Indexer: java.io.IOException: Job failed!\nfinish HadoopNutchindexing bench\n"
    assert parser.unnoticed(f"2026-11-29 09:08:36,408 INFO mapreduce.Job: {job}\n{nutch}") == job
    assert parser.unnoticed("INFO mapreduce.Job: Job job_1_0001 completed successfully\nrm: `/x': No such file\n") == ""


def test_programs_of_a_tree():
    paths = [str(path.relative_to(TREE)) for path in TREE.rglob("*.sh")]
    found, others = parser.programs(paths)
    assert set(found) == {"dfsioe", "sleep", "sort", "terasort", "wordcount"} and others == {"repartition"}
    dfsioe = found["dfsioe"]
    assert [dfsioe.part(script) for script in dfsioe.runs] == ["read", "write"]
    assert dfsioe.prepare == "bin/workloads/micro/dfsioe/prepare/prepare.sh"
    assert found["sort"].part(found["sort"].runs[0]) == "sort"
    # Releases name them with a hyphen, and some have a run.sh that calls both.
    folder = "bin/workloads/micro/dfsioe/hadoop/"
    older, _ = parser.programs([folder + name for name in ("run.sh", "run-read.sh", "run-write.sh")])
    assert [older["dfsioe"].part(script) for script in older["dfsioe"].runs] == ["read", "write"]


def test_profiles_are_those_that_the_program_has_sizes_for():
    dfsioe = (TREE / "conf/workloads/micro/dfsioe.conf").read_text()
    assert parser.profiles(dfsioe) == ["tiny"]
    assert parser.profiles((TREE / "conf/workloads/micro/terasort.conf").read_text()) == ["tiny", "small"]
    assert parser.profiles("hibench.workload.input\t${hibench.hdfs.data.dir}/Sleep/Input\n") == []
    # Of `nutchindexing`, whose sizes have another name.
    nutch = "hibench.nutch.tiny.pages 25000\nhibench.nutch.small.pages 1000000\nhibench.nutch.base.hdfs /x\n"
    assert parser.profiles(f"{nutch}hibench.nutch.pages ${{hibench.nutch.${{hibench.scale.profile}}.pages}}\n") == [
        "tiny", "small",
    ]  # fmt: skip


def test_version():
    assert hibench_release((TREE / "pom.xml").read_text()) == "7.1.1-layout"
    jar = "hibench.common.jar\t${hibench.home}/common/target/hibench-common-8.0-SNAPSHOT-jar-with-dependencies.jar"
    assert hibench_release("<project/>", jar) == "8.0-SNAPSHOT"
    assert hibench_release("", "") == "unknown"


def test_interpreter():
    assert parser.interpreter("#!/usr/bin/env python2\nimport sys\n") == "python2"
    assert parser.interpreter("#!/usr/bin/python -u\n") == "/usr/bin/python"
    for source in ("", "import sys\n", "#!/usr/bin/env\n"):
        with pytest.raises(Unreadable):
            parser.interpreter(source)


# --- sizes and configuration --------------------------------------------------------------------------


def test_sizes_of_the_profiles():
    assert profile_file_bytes("terasort", "large") == 3_200_000_000  # 32 million rows of 100 bytes
    assert profile_file_bytes("wordcount", "large") == 3_200_000_000
    assert (dfsioe_files("small"), profile_file_bytes("dfsioe", "small")) == (32, 10 << 20)
    assert profile_file_bytes("sleep", "huge") == 0 and hibench.sleep_ms("huge") == 90
    for program in (*PROFILE_SIZES, "dfsioe"):
        found = [profile_file_bytes(program, profile) for profile in hibench.PROFILES]
        assert found == sorted(found), program


def test_sizes_of_our_own_are_a_profile():
    assert hibench.sizes("terasort", "large", 8_000_000) == {"hibench.terasort.whitewire.datasize": 80_000}
    assert hibench.sizes("sort", "large", 8_000_000) == {"hibench.sort.whitewire.datasize": 8_000_000}
    dfsioe = hibench.sizes("dfsioe", "tiny", 3 << 20)
    assert dfsioe["hibench.dfsioe.whitewire.write.file_size"] == 3
    assert dfsioe["hibench.dfsioe.whitewire.read.number_of_files"] == 16
    assert hibench.sizes("sleep", "small", 1)["hibench.sleep.whitewire.mapper.seconds"] == 30
    with pytest.raises(ValueError, match="multiple of 1 MiB"):
        hibench.sizes("dfsioe", "tiny", 1_000_000)
    with pytest.raises(ValueError, match="kmeans"):
        hibench.sizes("kmeans", "tiny", 1_000_000)


VALUES = st.from_regex(r"[A-Za-z0-9._/:@%+,=-]{1,20}", fullmatch=True)
KEYS = st.from_regex(r"hibench(\.[a-z]{1,8}){1,4}", fullmatch=True).filter(lambda key: not key.endswith(".hostnames"))


@given(st.dictionaries(KEYS, VALUES))
def test_configuration_is_read_back_as_written(values):
    assert parser.values(hibench._render(values)) == values


@given(VALUES, st.sampled_from(list(" \t\n\"'$`;&|<>()*?#\\~{}!")), VALUES)
def test_what_a_shell_would_read_is_refused(before, sign, after):
    with pytest.raises(NotPlain, match="hibench.hadoop.home"):
        hibench._render({"hibench.hadoop.home": before + sign + after})


def test_host_names_and_only_they_may_be_several():
    assert "a b c-1\n" in hibench._render({"hibench.slaves.hostnames": "a b c-1"})
    for names in ("", "a;reboot", "a  b", "$(b)"):
        with pytest.raises(NotPlain):
            hibench._render({"hibench.slaves.hostnames": names})


def test_our_lines_come_after_the_trees():
    hadoop = Hadoop("/h", "/h/bin/hadoop", "/h/conf", "/h/e.jar", "/h/t.jar", "viewfs://x/", "java")
    job = HiBenchJob("sort", "tiny", 3, 2, ["namenode"], WORKERS, {})
    base = (TREE / "conf/hibench.conf").read_text()
    found = parser.values(hibench.hibench_conf(base, hadoop, job, "/r"))
    assert found["hibench.slaves.hostnames"] == "datanode1 datanode2 datanode3"
    assert (found["hibench.masters.hostnames"], found["hibench.scale.profile"]) == ("namenode", "tiny")
    assert found["hibench.report.dir"] == "/r"
    assert found["hibench.hdfs.data.dir"] == "viewfs://x/whitewire/HiBench"
    assert found["hibench.hibench.datatool.dir"].startswith("${hibench.home}")  # the tree's, left alone
    assert parser.values(hibench.hadoop_conf(hadoop))["hibench.hdfs.master"] == "viewfs://x"


def test_sleep():
    assert sleep.sleep(8, 4, 90) == ["-m", "8", "-r", "4", "-mt", "90"]
    assert sleep.sleep(1, 1, 5, 6, {"a.b": 1}) == ["-Da.b=1", "-m", "1", "-r", "1", "-mt", "5", "-rt", "6"]


# --- hadoop -------------------------------------------------------------------------------------------


def program(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


SHOW = '#!/bin/sh\nfor word in "$@"; do printf "[%s]" "$word"; done\n'


@pytest.mark.parametrize(
    "given, expected",
    [
        (["x.jar", "teragen", "100", "/x y"], "[x.jar][teragen][100][/x y]"),
        ([], ""),
        # As the shell's variable takes it apart, with an option between, and with nothing before the closing quote.
        (
            ["x", '-Dmapreduce.map.java.opts="-Dtest.build.data=/x', "-Dq.r=s", '-Xmx1g"',
             '-Dmapreduce.reduce.java.opts="-Dy=z', '"', "-read"],
            "[x][-Dmapreduce.map.java.opts=-Dtest.build.data=/x -Dq.r=s -Xmx1g]"
            "[-Dmapreduce.reduce.java.opts=-Dy=z ][-read]",
        ),
        # Of releases that quote for the first shell only, nothing is left of the quotes.
        (
            # as the last state of its master has it, in a preparation: the folder follows a second time, for the client
            ["x", "-Dmapreduce.map.java.opts=", "-Dtest.build.data=/in", "@/a.args", "-Dmapreduce.reduce.java.opts=",
             "-Dtest.build.data=/in", "@/a.args", "-Dtest.build.data=/in", "-write"],
            "[x][-Dmapreduce.map.java.opts=-Dtest.build.data=/in @/a.args]"
            "[-Dmapreduce.reduce.java.opts=-Dtest.build.data=/in @/a.args][-Dtest.build.data=/in][-write]",
        ),
        (
            ["x", "-Dmapreduce.map.java.opts=-Dy=z", "@/a.args", "-Xmx1g", "-Dmapreduce.reduce.java.opts=-Dy=z",
             "-read"],
            "[x][-Dmapreduce.map.java.opts=-Dy=z @/a.args -Xmx1g][-Dmapreduce.reduce.java.opts=-Dy=z][-read]",
        ),
    ],
)  # fmt: skip
def test_words_whose_quotes_got_lost_are_put_together(tmp_path, given, expected):
    launcher = program(tmp_path / "hadoop", hibench.launcher([program(tmp_path / "java", SHOW)], [], "/conf"))
    said = subprocess.run([launcher, "jar", *given], capture_output=True, text=True, check=True).stdout
    assert said.partition("[org.apache.hadoop.util.RunJar]")[2] == expected


def test_launcher_for_jars_only(tmp_path):
    java = program(tmp_path / "a java", SHOW)
    launcher = program(tmp_path / "hadoop", hibench.launcher([java, "-Xmx1m"], ["/a.jar", "/b.jar"], "/conf"))
    run = {"capture_output": True, "text": True, "env": {**os.environ, "HADOOP_OPTS": "-Da=1 -Db=2"}}
    done = subprocess.run([launcher, "--config", "/own", "jar", "x.jar", "teragen"], **run)
    assert done.stdout == (
        "[-Xmx1m][-Dlog4j.configuration=file:/own/log4j.properties][-Da=1][-Db=2][-cp][/a.jar:/b.jar:/own]"
        "[org.apache.hadoop.util.RunJar][x.jar][teragen]"
    )
    assert (
        "[/a.jar:/b.jar:/conf][org.apache.hadoop.fs.FsShell][-ls]"
        in subprocess.run([launcher, "fs", "-ls"], **run).stdout
    )
    assert subprocess.run([launcher, "classpath"], **run).stdout == "/a.jar:/b.jar:/conf\n"
    run["env"] |= {"HADOOP_CLASSPATH": "/hive/*"}
    assert subprocess.run([launcher, "classpath"], **run).stdout == "/a.jar:/b.jar:/conf:/hive/*\n"
    run["env"] |= {"HADOOP_USER_CLASSPATH_FIRST": "true"}
    assert subprocess.run([launcher, "classpath"], **run).stdout == "/hive/*:/a.jar:/b.jar:/conf\n"
    wrong = subprocess.run([launcher, "job"], **run)
    assert wrong.returncode == 2 and "found job, expected one of classpath, jar" in wrong.stderr


def test_the_jar_that_sleeps(tmp_path):
    package = "org/apache/hadoop/mapreduce"
    names = [f"{package}/SleepJob.class", f"{package}/SleepJob$SleepMapper.class", f"{package}/SleepJobs.class", "x"]
    with zipfile.ZipFile(tmp_path / "tests.jar", "w") as tests:
        for name in names:
            tests.writestr(name, name)
        tests.writestr("META-INF/MANIFEST.MF", "Main-Class: org.apache.hadoop.test.MapredTestDriver\n")
    with zipfile.ZipFile(io.BytesIO(sleep_jar(tmp_path / "tests.jar"))) as jar:
        assert jar.namelist() == ["META-INF/MANIFEST.MF", *names[:2]]
        assert "Main-Class: org.apache.hadoop.mapreduce.SleepJob\n" in jar.read("META-INF/MANIFEST.MF").decode()


def test_release_of_a_class_path():
    assert Installation(["/x/hadoop-common-3.5.0.jar", "/x/hadoop-hdfs-3.5.0.jar"], "", None).version == "3.5.0"
    assert Installation([], "", None).version == "unknown"


# --- the driver ---------------------------------------------------------------------------------------


class Here(Host):
    """This machine as a host; `path` is its PATH."""

    name, role, address = "here", "client", "127.0.0.1"
    drive_root = "/nowhere"

    def __init__(self, scratch: Path, path: str = os.environ["PATH"]) -> None:
        self.scratch, self.path = str(scratch), path

    def _argv(self, argv, env):
        return ["env", f"PATH={self.path}", *(f"{name}={value}" for name, value in (env or {}).items()), *argv]

    def run(self, argv, env=None, stdin=None, timeout=None):
        done = subprocess.run(self._argv(argv, env), input=stdin or b"", capture_output=True, timeout=timeout)
        return Completed(tuple(argv), done.returncode, done.stdout, done.stderr)

    def start(self, argv, log, env=None, name="", stdin=subprocess.DEVNULL):
        log.parent.mkdir(parents=True, exist_ok=True)
        carried = ["sh", "-c", '"$@"; exit $?', "sh", *self._argv(argv, env)]
        with log.open("ab") as output:
            position = output.tell()
            popen = subprocess.Popen(carried, stdin=stdin, stdout=output, stderr=subprocess.STDOUT)
        return Process(name, popen, log, position)

    def put(self, content, path):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(content)

    def get(self, path):
        return Path(path).read_bytes()

    def drive(self, number):
        return "/nowhere"


TALKS = """#!/bin/bash
shift 2
case "$*" in
    "fs -du"*) echo "3200000  9600000  $4" ;;
    "jar "*sleep*) echo "INFO mapreduce.Job: Running job: job_local7_0001" ;;
    "jar "*broken*) echo "java.io.IOException: no space left"; exit 3 ;;
    "jar "*) echo "INFO mapreduce.JobSubmitter: Submitting tokens for job: job_17_000$#" ;;
esac
"""


@pytest.fixture
def tree(tmp_path) -> Path:
    return Path(shutil.copytree(TREE, tmp_path / "tree"))


def bench_on(tree: Path, tmp_path: Path, **kind) -> HiBench:
    return HiBench(BuiltHiBench(Here(tmp_path / "own", **kind), str(tree)), tmp_path / "logs")


def faults(tree: Path, tmp_path: Path, *wanted: tuple[str, str], workers=WORKERS, **kind) -> list[str]:
    return list(bench_on(tree, tmp_path, **kind).tree.faults(wanted or [("terasort", "tiny")], workers))


needs_bc = pytest.mark.skipif(shutil.which("bc") is None, reason="bc is not installed; HiBench's scripts need it")


@needs_bc
def test_a_whole_tree_has_no_fault(tree, tmp_path):
    assert faults(tree, tmp_path, ("terasort", "tiny"), ("sort", "small"), ("sleep", "tiny")) == []


@needs_bc
@pytest.mark.parametrize(
    "wanted, says",
    [
        (
            ("terasrt", "tiny"),
            'found "terasrt", expected one of dfsioe, sleep, sort, terasort, wordcount; did you mean "terasort"?',
        ),
        (("terasort", "smal"), 'profile of terasort: found "smal", expected one of tiny, small; did you mean "small"?'),
        (("repartition", "tiny"), "workload repartition: found for other frameworks only"),
    ],
)  # fmt: skip
def test_names(tree, tmp_path, wanted, says):
    (line,) = faults(tree, tmp_path, wanted)
    assert says in line
    with pytest.raises(UserError, match="hibench"):
        bench_on(tree, tmp_path).tree.check([wanted], WORKERS)


def test_a_program_without_its_jar_is_lacking_and_no_fault(tree, tmp_path):
    assert faults(tree, tmp_path, ("dfsioe", "tiny")) == []
    bench = bench_on(tree, tmp_path)
    assert bench.tree.lacks("terasort") == ""
    jar = tree / "autogen/target/datatool.jar"
    says = f"dfsioe of HiBench {bench.tree.version}: needs {jar}, which is not there; "
    assert bench.tree.lacks("dfsioe") == f"{says}mvn -Phadoopbench clean package (Java 8) in {tree} makes it"
    jar.parent.mkdir(parents=True)
    jar.touch()
    assert bench.tree.lacks("dfsioe") == ""


def added(tree: Path, category: str, name: str, prepare: str = "run_hadoop_job x\n", conf: str = "") -> None:
    """A further program of the tree."""
    folder = tree / "bin/workloads" / category / name
    for script in ("prepare/prepare.sh", "hadoop/run.sh"):
        program(folder / script, prepare)
    (own := tree / "conf/workloads" / category / f"{name}.conf").parent.mkdir(parents=True)
    own.write_text(conf)


@needs_bc
def test_a_program_with_a_part_that_has_no_metrics(tree, tmp_path):
    folder = tree / "bin/workloads/micro/dfsioe/hadoop"
    shutil.copy(folder / "run_write.sh", folder / "run_append.sh")
    (line,) = faults(tree, tmp_path, ("dfsioe", "tiny"))
    assert line == (
        'hibench: workload dfsioe: found a part "append" (run_append.sh), expected one run.sh, or write and read'
    )


def test_what_programs_of_other_projects_lack(tree, tmp_path):
    """As in master: `pagerank` has its jobs in Pegasus' jar, `bayes` makes its input with Spark."""
    pegasus = "hadoopbench/pegasus/target/pegasus-2.0-SNAPSHOT.jar"
    added(tree, "websearch", "pagerank", conf=f"hibench.pagerank.pegasus.dir\t\t${{hibench.home}}/{pegasus}\n")
    added(tree, "ml", "bayes", prepare="run_hadoop_job x\nrun_spark_job --jars ${DATATOOLS} y\n")
    program(tree / "autogen/target/datatool.jar", "")
    built = bench_on(tree, tmp_path).tree
    assert f"pagerank of HiBench {built.version}: needs {tree}/{pegasus}, which is not" in built.lacks("pagerank")
    program(tree / pegasus, "")
    assert built.lacks("pagerank") == ""
    assert "bayes of HiBench 7.1.1-layout: makes its input with Spark" in built.lacks("bayes")


def test_a_prepared_copy_has_the_micro_programs_only(tree, tmp_path):
    """Its jar is there and holds `dfsioe` alone."""
    added(tree, "websearch", "pagerank")
    program(tree / "autogen/target/datatool.jar", "")
    copy = Prepared(PINNED_COMMIT, "", "8.0-SNAPSHOT", "", "3.11.7", "", "", ["dfsioe"], {})
    (tree.parent / DESCRIPTION).write_text(json.dumps(asdict(copy)))
    bench = bench_on(tree, tmp_path)
    assert bench.tree.lacks("dfsioe") == ""
    assert "pagerank of HiBench 8.0-SNAPSHOT: `make hibench` makes micro programs only" in bench.tree.lacks("pagerank")


@pytest.mark.parametrize(
    "commit, remedy",
    [
        ("b5628352aa06420784931711b9a2279f6b386d45", "`make hibench` without HIBENCH= brings commit 53ac935f7a6f, "),
        (PINNED_COMMIT, "correct that and repeat `make hibench`"),
    ],
)
def test_a_prepared_copy_says_what_it_could_not_build_and_what_brings_it(tree, tmp_path, commit, remedy):
    """`make hibench` of 7.1.1 has said that it cannot build dfsioe: it is no remedy there, the pinned commit is."""
    why = "does not compile for this Hadoop: TestDFSIOEnh.java:955: error: cannot find symbol"
    copy = Prepared(commit, "", "7.1.1", "", "3.11.7", "", "", [], {"dfsioe": why})
    (tree.parent / DESCRIPTION).write_text(json.dumps(asdict(copy)))
    assert bench_on(tree, tmp_path).tree.lacks("dfsioe").startswith(f"dfsioe of HiBench 7.1.1: {why}; {remedy}")


def test_no_tree_and_half_a_tree(tree, tmp_path):
    (line,) = faults(tmp_path / "none", tmp_path)
    assert "no such folder" in line and "outside /tmp" in line
    shutil.rmtree(tree / "conf")
    (line,) = faults(tree, tmp_path)
    assert "no conf/hibench.conf" in line
    functions = tree / "bin/functions/workload_functions.sh"
    functions.write_text(functions.read_text().replace("HIBENCH_CONF_FOLDER:-", "OTHER:-"))
    (line,) = faults(tree, tmp_path)
    assert "HIBENCH_CONF_FOLDER" in line
    shutil.rmtree(tree / "bin/workloads")
    (line,) = faults(tree, tmp_path)
    assert "no bin/workloads" in line


def test_a_path_that_the_scripts_would_take_apart(tree, tmp_path):
    (line,) = faults(tree.rename(tmp_path / "Hi Bench"), tmp_path)
    assert "do not quote" in line


@needs_bc
def test_no_worker(tree, tmp_path):
    (line,) = faults(tree, tmp_path, workers=[])
    assert "hibench.slaves.hostnames" in line


def test_programs_that_are_missing(tree, tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("env", "sh", "cat", "find", "grep", "test", "bash", "timeout", "which"):
        (tools / name).symlink_to(shutil.which(name))
    (tools / "python3").symlink_to(os.path.realpath(sys.executable))
    (line,) = faults(tree, tmp_path, path=str(tools))
    assert "bc is not on here" in line and "install bc" in line


@needs_bc
def test_the_python_that_its_scripts_call(tree, tmp_path):
    script = tree / "bin/functions/load_config.py"
    script.write_text("#!/usr/bin/env python2.0\nprint 'x'\n")
    (line,) = faults(tree, tmp_path)
    assert "load_config.py calls python2.0, which is not on here" in line and "hibench.path" in line
    script.write_text("#!/usr/bin/env python3\nprint 'x'\n")
    (line,) = faults(tree, tmp_path)
    assert "is not for python3 of here, Python 3." in line
    # A folder given as hibench.path comes first.
    program(tmp_path / "two" / "python2.0", "#!/bin/sh\nexit 0\n")
    script.write_text("#!/usr/bin/env python2.0\nprint 'x'\n")
    built = BuiltHiBench(Here(tmp_path), str(tree), path=[str(tmp_path / "two")])
    assert list(built.faults([("terasort", "tiny")], WORKERS)) == []


def hadoop_that_talks(tmp_path: Path) -> Hadoop:
    executable = program(tmp_path / "bin" / "hadoop", TALKS)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "mapred-site.xml").write_text("<name>mapreduce.map.java.opts</name><value>-Xmx9m</value>")
    conf = str(tmp_path / "conf")
    return Hadoop(str(tmp_path), executable, conf, "examples.jar", "sleep.jar", "hdfs://x:9000", "java")


def state(folder: Path) -> dict[str, float]:
    return {str(path): path.stat().st_mtime for path in folder.rglob("*")}


@needs_bc
def test_a_run_from_configuration_to_report(tree, tmp_path):
    bench, before = bench_on(tree, tmp_path), state(tree)
    bench.configure(hadoop_that_talks(tmp_path), HiBenchJob("terasort", "tiny", 3, 2, ["namenode"], WORKERS,
                                                            hibench.sizes("terasort", "tiny", 3_200_000)))  # fmt: skip
    assert "teragen -D mapreduce.job.maps=3 32000 hdfs://x:9000/whitewire/HiBench/Terasort/Input" in bench.prepare(30)
    (reported,) = bench.measure(30)
    assert (reported.name, reported.row.type, reported.row.bytes) == ("terasort", "HadoopTerasort", 3_200_000)
    assert len(reported.jobs) == 1 and "mapreduce.job.reduces=2" in reported.output
    assert reported.record()["seconds"] == reported.row.seconds > 0
    kept = bench.files()
    assert set(kept) == {"hadoop.conf", "hibench.conf", "hibench.report"}
    assert kept["hibench.report"].startswith("Type ")
    assert bench.made_by == "HiBench 7.1.1-layout"
    assert state(tree) == before


@needs_bc
def test_programs_that_scripts_call_find_hadoop(tree, tmp_path):
    """Hive starts $HADOOP_HOME/bin/hadoop."""
    script = tree / "bin/workloads/micro/terasort/hadoop/run.sh"
    script.write_text(script.read_text().replace("run_hadoop_job", "env | grep ^HADOOP_HOME=; run_hadoop_job"))
    bench = bench_on(tree, tmp_path)
    bench.configure(hadoop_that_talks(tmp_path), HiBenchJob("terasort", "tiny", 3, 2, ["namenode"], WORKERS, {}))
    (reported,) = bench.measure(30)
    assert f"HADOOP_HOME={bench.folder}\n" in reported.output


@needs_bc
def test_two_runs_of_one_program(tree, tmp_path):
    bench = bench_on(tree, tmp_path)
    bench.configure(hadoop_that_talks(tmp_path), HiBenchJob("dfsioe", "tiny", 3, 2, ["namenode"], WORKERS, {}))
    bench.prepare(30)
    assert [(found.name, found.row.type) for found in bench.measure(30)] == [
        ("read", "HadoopDfsioe-read"), ("write", "HadoopDfsioe-write"),
    ]  # fmt: skip


@needs_bc
@pytest.mark.parametrize(
    "name, breaks, says",
    [
        ("sleep", None, "inside the client and not on YARN"),
        ("terasort", ("EXAMPLES_JAR terasort", "EXAMPLES_JAR broken"), "status 3: java.io.IOException: no space left"),
        ("terasort", ("gen_report", "true"), "0 rows in its report, expected one"),
        ("terasort", ("run_hadoop_job", f"cat {HIVE_ON_JAVA_17}; true"), "run.sh: java.lang.ClassCastException: class"),
        ("terasort", ("run_hadoop_job", "sleep 60; true"), "no end after 1 s"),
    ],
)  # fmt: skip
def test_failures_are_named(tree, tmp_path, name, breaks, says):
    script = tree / f"bin/workloads/micro/{name}/hadoop/run.sh"
    if breaks:
        script.write_text(script.read_text().replace(*breaks))
    bench = bench_on(tree, tmp_path)
    bench.configure(hadoop_that_talks(tmp_path), HiBenchJob(name, "tiny", 3, 2, ["namenode"], WORKERS, {}))
    with pytest.raises(RunFailed, match=f"hibench.*{says}"):
        bench.measure(1 if "no end" in says else 30)


def test_what_ends_a_run_early_ends_its_script(tree, tmp_path):
    (tree / "bin/workloads/micro/terasort/hadoop/run.sh").write_text("sleep 60\n")
    bench = bench_on(tree, tmp_path)
    bench.configure(hadoop_that_talks(tmp_path), HiBenchJob("terasort", "tiny", 3, 2, ["namenode"], WORKERS, {}))
    seen = []

    def died():
        seen.append(1)
        if len(seen) > 3:
            raise RunFailed("DataNode datanode2 ended")

    with pytest.raises(RunFailed, match="datanode2"):
        bench.measure(30, died)


def test_values_that_its_shell_would_run_are_refused(tree, tmp_path):
    with pytest.raises(UserError, match=r"hibench.slaves.hostnames: found 'a;reboot'"):
        bench_on(tree, tmp_path).configure(
            hadoop_that_talks(tmp_path), HiBenchJob("terasort", "tiny", 3, 2, ["namenode"], ["a;reboot"], {})
        )
