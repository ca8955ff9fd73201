"""JVMs that stay: a task finds one, is told nothing of the task before, and takes it along when it is killed."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest

from tests.integration.small import small_stack
from whitewire.cluster import task_jvms, yarn
from whitewire.cluster.stack import Stack
from whitewire.parsers import history
from whitewire.workloads import terasort

ROWS, TASKS = 3000, 3


@pytest.fixture(scope="module")
def stack(can_emulate, tmp_path_factory) -> Iterator[Stack]:
    with small_stack(tmp_path_factory.mktemp("task-jvms"), clients=1, slots=1) as stack:
        yield stack


def job(stack: Stack, tool: str, arguments: list[str]) -> str:
    outcome = stack.clients[0].run(tool, arguments, timeout=120).check(tool)
    return yarn.job_ids(outcome.output)[0]


def generate(stack: Stack, path: str) -> str:
    viewed = {"fs.defaultFS": yarn.VIEW}
    return job(stack, terasort.GENERATE, terasort.generate(ROWS, path, maps=TASKS, settings=viewed))


def sort(stack: Stack, source: str, target: str) -> str:
    viewed = {"fs.defaultFS": yarn.VIEW}
    return job(stack, terasort.SORT, terasort.sort(source, target, reduces=TASKS, settings=viewed))


def jvms(stack: Stack) -> set[int]:
    """Processes of all hosts that run tasks or wait for one, as the sandbox numbers them."""
    script = """
    for process in /proc/[0-9]*; do
        [ "$process" = "/proc/$$" ] || ! grep -qsF "$0" "$process/cmdline" || echo "${process#/proc/}"
    done
    """
    said = stack.testbed.by_role("datanode")[0].run(["sh", "-c", script, task_jvms.MAIN]).stdout
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
    task = [f"@{folder}/{task_jvms.ARGUMENTS}", "-Dlog4j.configuration=container-log4j.properties",
            "-Dyarn.app.container.log.dir=/tmp/killed", "-Dhadoop.root.logger=INFO,CLA", "-Dhadoop.root.logfile=syslog",
            "org.apache.hadoop.mapred.YarnChild", "127.0.0.1", "1", "attempt_1_0001_m_000000_0", "1"]  # fmt: skip
    java = f"{folder}/task-jvms/bin/java"
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
