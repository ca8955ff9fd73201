"""JVMs that stay: a container finds one, learns nothing of the one before, and takes it along when it is killed."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest

from tests.support import own_job
from tests.support.small import small_stack
from whitewire.cluster import container_jvms, yarn
from whitewire.cluster.container_jvms import JVM_KINDS
from whitewire.cluster.stack import Stack
from whitewire.tools import history
from whitewire.workloads import terasort

ROWS, TASKS = 3000, 3
VIEWED = {"fs.defaultFS": yarn.VIEW}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def stack(can_emulate, tmp_path_factory) -> Iterator[Stack]:
    with small_stack(tmp_path_factory.mktemp("container-jvms"), clients=1, slots=1) as stack:
        yield stack


def job(stack: Stack, tool: str, arguments: list[str]) -> str:
    outcome = stack.clients[0].run(tool, arguments, timeout=120).check(tool)
    return yarn.job_ids(outcome.output)[0]


def generate(stack: Stack, path: str) -> str:
    return job(stack, terasort.GENERATE, terasort.generate(ROWS, path, maps=TASKS, settings=VIEWED))


def sort(stack: Stack, source: str, target: str) -> str:
    return job(stack, terasort.SORT, terasort.sort(source, target, reduces=TASKS, settings=VIEWED))


def jvms(stack: Stack, kind: str = "task") -> set[int]:
    """Processes of all hosts that run containers of a kind or wait for one, as the sandbox numbers them."""
    script = """
    for process in /proc/[0-9]*; do
        line=$(tr '\\0' ' ' 2>/dev/null <"$process/cmdline")
        case $line in *"$0 "*) case $line in *"/$1 "*) echo "${process#/proc/}" ;; esac ;; esac
    done
    """
    words = [container_jvms._MAIN, JVM_KINDS[kind]]
    said = stack.testbed.by_role("datanode")[0].run(["sh", "-c", script, *words]).stdout
    return {int(number) for number in said.split()}


def counters(stack: Stack, number: str) -> dict[str, int]:
    return history.job(stack.yarn.history(number))["counters"]


def test_later_tasks_find_the_jvms_of_earlier_ones(stack):
    generate(stack, "/first")
    sort(stack, "/first", "/first-sorted")
    before = jvms(stack)
    sort(stack, "/first", "/second-sorted")
    # One a worker, as many as run at once; the jobs had fifteen tasks.
    assert jvms(stack) == before
    assert len(before) == len(stack.testbed.by_role("datanode"))


def test_later_masters_find_the_jvms_of_earlier_ones(stack):
    numbers = [generate(stack, f"/mastered-{number}") for number in range(12)]
    # Each stays for five seconds when its job has ended, and the next job, of some two seconds, does not wait for that.
    assert 1 <= len(jvms(stack, "am")) <= 6
    # Each has reported its own job.
    maps = [history.job(stack.yarn.history(number))["counters"]["TOTAL_LAUNCHED_MAPS"] for number in numbers]
    assert maps == [TASKS] * len(numbers)


def test_a_master_that_ends_leaves_the_next_job_alone(stack):
    # The last one ends five seconds after its job, while this one writes to the same folder.
    generate(stack, "/again")
    for _ in range(4):
        sort(stack, "/again", "/again-sorted")
        stack.hdfs.shell("-rm", "-r", "-skipTrash", "/again-sorted").check("rm")


def test_tasks_run_on_a_part_of_the_workers_and_then_on_all_again(stack):
    def hosts(path):
        tasks = history.job(stack.yarn.history(generate(stack, path)))["tasks"]
        return {task["host"] for task in tasks}

    workers = [host.name for host in stack.testbed.by_role("datanode")]
    assert hosts("/all") == set(workers)  # three tasks, a slot each
    stack.work_on((2, 2))
    assert hosts("/some") == set(workers[:2])
    stack.work_on((1, 3))
    assert hosts("/one") == set(workers[:1])
    stack.work_on(None)
    assert hosts("/all-again") == set(workers)


def test_a_task_counts_nothing_of_the_last_one(stack):
    generate(stack, "/counted")
    number = sort(stack, "/counted", "/counted-sorted")
    again = sort(stack, "/counted", "/counted-again")
    first, second = counters(stack, number), counters(stack, again)
    for name in ("MAP_INPUT_RECORDS", "REDUCE_OUTPUT_RECORDS"):
        assert first[name] == second[name] == ROWS
    # Statistics of file systems are a JVM's, not a task's.
    for name in ("HDFS_BYTES_READ", "HDFS_BYTES_WRITTEN", "FILE_BYTES_WRITTEN"):
        assert second[name] == pytest.approx(first[name], rel=0.02)
    assert second["HDFS_BYTES_WRITTEN"] == 100 * ROWS


def test_a_job_brings_its_own_classes(stack):
    generate(stack, "/brought")
    number = own_job.run(stack, "/brought", "/brought-copied")
    assert history.job(stack.yarn.history(number))["state"] == "SUCCEEDED"


def test_each_task_writes_its_own_log(stack):
    number = generate(stack, "/logged")
    done = stack.yarn.task_lines(number, "' done.").splitlines()
    assert len(done) == TASKS
    assert len({re.search(r"attempt_\w+", line)[0] for line in done}) == TASKS
    assert all(number.removeprefix("job_") in line for line in done)


def test_a_container_that_is_killed_takes_its_jvm_along(stack):
    generate(stack, "/before")
    before = jvms(stack)
    folder = stack.hdfs.installation.configuration
    # A task whose ApplicationMaster does not answer: it goes on asking until its container is ended.
    task = [f"@{folder}/{JVM_KINDS['task']}", "-Dlog4j.configuration=container-log4j.properties",
            "-Dyarn.app.container.log.dir=/tmp/killed", "-Dhadoop.root.logger=INFO,CLA", "-Dhadoop.root.logfile=syslog",
            "org.apache.hadoop.mapred.YarnChild", "127.0.0.1", "1", "attempt_1_0001_m_000000_0", "1"]  # fmt: skip
    java = f"{folder}/container-jvms/bin/java"
    assert stack.testbed.by_role("datanode")[0].run(["timeout", "2", java, *task]).status == 124
    deadline = time.monotonic() + 5
    while len(before & jvms(stack)) == len(before) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len(before & jvms(stack)) == len(before) - 1
    generate(stack, "/after")


def test_a_jvm_that_died_while_it_waited_is_passed_over(stack):
    generate(stack, "/alive")
    before = jvms(stack)
    host = stack.testbed.by_role("datanode")[0]
    assert host.run(["sh", "-c", 'kill -KILL "$@"', "sh", *map(str, before)]).status == 0
    generate(stack, "/dead")
    assert jvms(stack) and not jvms(stack) & before


def test_none_is_left_when_yarn_stops(stack):
    assert jvms(stack)
    stack.yarn.stop()
    assert not jvms(stack)
