"""JVMs that stay on a worker when a task or an ApplicationMaster ends, and run the next one on that worker.

Hadoop 1, which the papers ran, could reuse the JVMs of tasks (mapred.job.reuse.jvm.num.tasks), and its JobTracker was
one process for all jobs; YARN starts a JVM for each task and for each job's ApplicationMaster. On a machine whose few
processors stand for many hosts, these starts were most of a scaled job's time and of its scatter. Hadoop itself is not
changed: a container finds, in place of Java, a script that hands its command to a free JVM on its host, or to a new one
if none is free (src/java/whitewire/ContainerJvm.java).
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from whitewire.testbed.base import Host, Testbed
from whitewire.testbed.each import on_each

JVM_KINDS = {"task": "task.args", "am": "am.args"}
"""Kinds of JVMs that stay, for tasks and ApplicationMasters, and the argument file that identifies each. Files of one
name in two folders have separate JVMs, because their class paths differ."""
POOL = "/tmp/container-jvms"
_MAIN = "whitewire.ContainerJvm"
_PATIENCE = 60
"""Seconds within which a new JVM must be up."""
FLAGS = ["--add-opens=java.base/java.util=ALL-UNNAMED", "--add-opens=java.base/java.io=ALL-UNNAMED"]
"""Options of a JVM that let a task's environment and folder be set."""

SCRIPT = """#!/bin/bash
# In the place of Java: a container goes to a JVM that has ended one of its kind, where this host has one.
java={java} pool={pool} main={main}
file=
options=() said=()
for word in "$@"; do
    case $word in
    @*/{task} | @*/{am}) file=$word options+=("$word") ;;
    -[!D]*) options+=("$word") ;;
    *) said+=("$word") ;;
    esac
done
if [ -z "$file" ]; then exec "$java" "$@"; fi
pool=$pool/${{file//\\//-}}
# Each command that is not bash's own is one more process to start.
[ -d "$pool/free" ] || mkdir -p "$pool/free"
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
    # One that does not come up makes the container fail.
    read -r -t {patience} port <&6
    exec 6>&-
    rm "$ready"
    exec 3<>"/dev/tcp/127.0.0.1/$port"
fi
exec 4>&1 5>&2
printf '%s\\0' "$$" "$PWD" "${{#said[@]}}" "${{said[@]}}" >&3
mapfile -d "" environment <"/proc/$$/environ"
printf '%s\\0' "${{environment[@]}}" >&3
printf '\\0' >&3
read -r status <&3
exit "${{status:-1}}"
"""

_STOP = """
for file in $(grep -lsF -e "$0" /proc/[0-9]*/cmdline); do
    process=${file#/proc/}
    [ "$process" = "$$/cmdline" ] || kill -KILL "${process%/cmdline}" || true
done
"""
"""Script that ends all processes of a main class, its argument. Hosts of one sandbox see each other's processes."""


def install(testbed: Testbed, home: str, java: str) -> None:
    """Put bin/java below `home`, a folder that all hosts see; `java` is the real one."""
    words = {"java": java, "pool": POOL, "main": _MAIN, "patience": str(_PATIENCE), **JVM_KINDS}
    script = SCRIPT.format(**{name: shlex.quote(word) for name, word in words.items()})
    testbed.share(f"{home}/bin/java", script.encode())
    testbed.hosts[0].run(["chmod", "755", f"{home}/bin/java"]).check()


def stop(hosts: Sequence[Host]) -> None:
    """End all JVMs of containers: a NodeManager that is killed leaves its own behind."""
    hosts[0].run(["sh", "-c", _STOP, _MAIN])
    on_each(hosts, lambda host: host.run(["rm", "-rf", POOL]))
