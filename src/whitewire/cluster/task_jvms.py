"""JVMs that stay on a worker when a map or reduce task ends, and run the next one that the worker is given.

Hadoop 1, which the papers ran, could do so (mapred.job.reuse.jvm.num.tasks); YARN starts a JVM for each task. On a
machine whose few processors stand for many hosts, these starts are most of a scaled job's time and of its scatter.
Hadoop stays as it is: a container finds, in the place of Java, a script that hands its task to a JVM that is free on
its host, or to a new one where none is (src/java/whitewire/TaskJvm.java).
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from whitewire.testbed.base import Host, Testbed

ARGUMENTS = "task.args"
"""Argument file by which a task's container is known; all others start Java itself."""
POOL = "/tmp/task-jvms"
MAIN, MASTER = "whitewire.TaskJvm", "org.apache.hadoop.mapreduce.v2.app.MRAppMaster"
PATIENCE = 60
"""Seconds until a new JVM must be there."""
FLAGS = ["--add-opens=java.base/java.util=ALL-UNNAMED", "--add-opens=java.base/java.io=ALL-UNNAMED"]
"""So that a task's environment and folder can be set."""

SCRIPT = """#!/bin/bash
# In the place of Java: a task goes to a JVM that has ended one before, where this host has one.
java={java} pool={pool} main={main}
task=
options=() said=()
for word in "$@"; do
    case $word in
    @*/{arguments}) task=yes options+=("$word") ;;
    -[!D]*) options+=("$word") ;;
    *) said+=("$word") ;;
    esac
done
if [ -z "$task" ]; then exec "$java" "$@"; fi
mkdir -p "$pool/free"
connected=
for found in "$pool"/free/*; do
    # The removal is what decides between two that want the same; one that has died meanwhile does not answer.
    if rm "$found" 2>"/dev/null" && exec 3<>"/dev/tcp/127.0.0.1/${{found##*/}}"; then
        connected=yes
        break
    fi
done
if [ -z "$connected" ]; then
    ready=$pool/$$.port
    mkfifo "$ready"
    exec 6<>"$ready"
    command=("$java" "${{options[@]}}" "$main" "$pool/free" "$ready")
    (cd / && exec setsid "${{command[@]}}") <"/dev/null" >"$pool/$$.log" 2>&1 6>&- &
    # One that does not come up makes the task fail.
    read -r -t {patience} port <&6
    exec 6>&-
    rm "$ready"
    exec 3<>"/dev/tcp/127.0.0.1/$port"
fi
exec 4>&1 5>&2
printf '%s\\0' "$$" "$PWD" "${{#said[@]}}" "${{said[@]}}" >&3
env -0 >&3
printf '\\0' >&3
read -r status <&3
exit "${{status:-1}}"
"""

STOP = """
for file in $(grep -lsF -e "$0" -e "$1" /proc/[0-9]*/cmdline); do
    process=${file#/proc/}
    [ "$process" = "$$/cmdline" ] || kill -KILL "${process%/cmdline}" || true
done
"""
"""Arguments: two main classes. Hosts of one sandbox see each other's processes."""


def install(testbed: Testbed, home: str, java: str) -> None:
    """Put bin/java below `home`, a folder that all hosts see; `java` is the real one."""
    words = {"java": java, "pool": POOL, "main": MAIN, "arguments": ARGUMENTS, "patience": str(PATIENCE)}
    script = SCRIPT.format(**{name: shlex.quote(word) for name, word in words.items()})
    testbed.share(f"{home}/bin/java", script.encode())
    testbed.hosts[0].run(["chmod", "755", f"{home}/bin/java"]).check()


def stop(hosts: Sequence[Host]) -> None:
    """End all JVMs of containers: a NodeManager that is killed leaves its own behind."""
    hosts[0].run(["sh", "-c", STOP, MAIN, MASTER])
    with ThreadPoolExecutor(max_workers=8) as pool:
        list(pool.map(lambda host: host.run(["rm", "-rf", POOL]), hosts))
