"""Makes the files that all cluster starts share: bare defaults, archive of loaded classes, formatted NameNode image."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace

from whitewire import atomic
from whitewire.cluster import hdfs, yarn
from whitewire.cluster.hadoop import Resident, whereabouts
from whitewire.cluster.hdfs import hdfs_settings
from whitewire.cluster.yarn import yarn_settings
from whitewire.description.testbed import load_testbed
from whitewire.design.drive import Drive
from whitewire.install.defaults import write_defaults_jar
from whitewire.testbed.base import Testbed
from whitewire.testbed.emulated.sandbox import EmulatedTestbed
from whitewire.testbed.emulated.software import (
    ARCHIVE,
    ARCHIVES,
    CACHE,
    DEFAULTS_JAR,
    DRIVE_LIBRARY,
    NAMENODE_IMAGE,
    ROOT,
    binds,
    hadoop_jars,
    installation,
)
from whitewire.testbed.installation import Installation, class_list
from whitewire.workloads import terasort
from whitewire.workloads.terasort import validate_arguments
from whitewire.workloads.testdfsio import TESTDFSIO_TOOL, read_arguments, write_arguments

_ROLES = {"namenode": 1, "datanode": 3, "client": 1}
UNHURRIED = {
    "count": 1,
    "rate_mb_per_s": 1e4,
    "access_time_ms": 0,
    "writeback_chunk_bytes": 1 << 22,
    "cache_bytes": 0,
}


def prepare_cluster() -> None:
    """Run a small cluster, and write its class archive and NameNode image into the cache.

    The class archive (JDK, application class-data sharing) holds the classes that daemons, client and containers loaded
    there. A JVM then maps them instead of reading 190 jars.
    """
    shutil.rmtree(ARCHIVES, ignore_errors=True)
    write_defaults_jar(hadoop_jars(), DEFAULTS_JAR)
    folders = binds()
    bare = installation(use_archive=False)
    drive = Drive.scaled(UNHURRIED, 1, DRIVE_LIBRARY)
    logs = CACHE / "logs" / "prepare"  # not a temporary folder, which would remain after a kill
    shutil.rmtree(logs, ignore_errors=True)
    with EmulatedTestbed(load_testbed("emulated"), _ROLES, 1, folders) as testbed:
        testbed.fabric("10gbe")
        values = hdfs_settings(testbed, 1 << 20, 3, 65536) | yarn_settings(testbed, bare.configuration)
        listing = replace(bare, class_lists=True)
        with hdfs.Hdfs(testbed, listing, values, drive, logs) as cluster:
            jobs = yarn.Yarn(cluster)
            jobs.start()
            _exercise(cluster.clients[0])
            _exercise_jobs(cluster.clients[0], jobs)
            for daemon in (*jobs.processes().values(), *cluster.processes().values()):
                daemon.stop()
            classes = _classes(testbed)
        _dump(testbed, bare, classes)
        _format(testbed, bare)


def _exercise(client: Resident) -> None:
    """Run the same commands as a measurement, so that their classes get into the list."""
    host = client.host
    host.run(["dd", "if=/dev/zero", "of=/tmp/a", "bs=1M", "count=3", "status=none"]).check()
    host.run(["cp", "/tmp/a", "/tmp/b"]).check()
    for tool, *arguments in (
        (hdfs.FS_SHELL, "-mkdir", "-p", "/x"),
        (hdfs.FS_SHELL, "-put", "-t", "2", "/tmp/a", "/tmp/b", "/x"),
        (hdfs.FS_SHELL, "-get", "/x/a", "/tmp/c"),
        (hdfs.FSCK, "/x", "-files", "-blocks", "-locations"),
        (hdfs.FS_SHELL, "-rm", "-r", "-skipTrash", "/x"),
    ):
        client.run(tool, arguments).check(tool)


def _exercise_jobs(client: Resident, jobs: yarn.Yarn) -> None:
    """Run a small job of each kind, for the classes of ApplicationMaster, map and reduce task, and history server.

    Raises RuntimeError if one fails: without its classes every later job would start slowly without notice.
    """
    viewed = {"fs.defaultFS": yarn.VIEW}
    for tool, arguments in (
        (terasort.GENERATE, terasort.generate(1000, "/in", maps=1, settings=viewed)),
        (terasort.SORT, terasort.sort("/in", "/out", reduces=1, settings=viewed)),
        (terasort.VALIDATE, validate_arguments("/out", "/report", settings=viewed)),
        (TESTDFSIO_TOOL, write_arguments(1, 65536, settings=viewed)),
        (TESTDFSIO_TOOL, read_arguments(1, 65536, settings=viewed)),
    ):
        outcome = client.run(tool, arguments, timeout=120).check(tool)
        for job in yarn.job_ids(outcome.output):
            jobs.history(job)


LISTED = {
    "namenode": ("namenode", "resourcemanager", "historyserver"),
    "datanode": ("datanode", "nodemanager", "am", "task"),
    "client": ("client",),
}
"""Kinds of JVM that leave a list of loaded classes, by role of their hosts."""
WHOLE_LINE = re.compile(
    rb"[\w/$-]+( id: \d+( super: \d+)?( interfaces:[ \d]+)?( source: \S+)?)?"
    rb"|@lambda-proxy \S+ \S+ \S+.*"
    rb"|@lambda-form-invoker \[(LF_RESOLVE|SPECIES_RESOLVE)\] [\w.$]+( \w+ \S+)?"
)
"""Valid lines of a list. The threads of a JVM that ends may write broken last lines, which would make the dump fail."""


def _classes(testbed: Testbed) -> bytes:
    """The merged lists of classes of all JVMs. Raises RuntimeError if a kind of JVM has no list."""
    lists = []
    for role, kinds in LISTED.items():
        for kind in kinds:
            argv = ["sh", "-c", "cat $0", class_list(kind, "*")]  # some workers ran only some kinds of container
            found = [host.run(argv).stdout for host in testbed.by_role(role)]
            if not any(found):
                raise RuntimeError(f"no JVM of kind {kind} left a list of its classes")
            lists += found
    lines = (line for text in lists for line in text.splitlines())
    return b"\n".join(dict.fromkeys(line for line in lines if WHOLE_LINE.fullmatch(line))) + b"\n"


def _dump(testbed: Testbed, bare: Installation, classes: bytes) -> None:
    host = testbed.by_role("client")[0]
    host.put(classes, "/tmp/all.classes")
    # With this collector the archive contains heap objects too (the module graph), which other collectors can load.
    argv = [bare.java, "-Xshare:dump", "-XX:+UseG1GC", "-XX:SharedClassListFile=/tmp/all.classes"]
    argv += ["-XX:SharedArchiveFile=/tmp/hadoop.jsa", "-Xlog:cds=off", "-cp", ":".join(bare.jars)]
    host.run(argv).check()
    atomic.write(ARCHIVE, host.get("/tmp/hadoop.jsa"))


def _format(testbed: Testbed, bare: Installation) -> None:
    host = testbed.by_role("namenode")[0]
    folder = f"{ROOT}/hosts/fresh"
    properties = {"whitewire.name": folder, **whereabouts(host)}
    host.run(["mkdir", "-p", folder]).check()
    host.run(bare.argv(hdfs.NAMENODE, 256, properties, ["-format", "-nonInteractive"])).check()
    atomic.write(NAMENODE_IMAGE, host.run(["tar", "-c", "-C", folder, "."]).check().stdout)
