"""YARN beside a running HDFS: ResourceManager and history server on the NameNode's host, a NodeManager per worker."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from whitewire.cluster import container_jvms, history
from whitewire.cluster.container_jvms import JVM_KINDS
from whitewire.cluster.hadoop import site_xml, whereabouts
from whitewire.cluster.hdfs import DATA_PORT, NAMENODE_PORT, Hdfs
from whitewire.cluster.history import reported_settings
from whitewire.cluster.service import Service
from whitewire.design import scaling
from whitewire.testbed import drives
from whitewire.testbed.base import Host, Process, Testbed
from whitewire.testbed.each import on_each

RESOURCE_MANAGER = "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager"
NODE_MANAGER = "org.apache.hadoop.yarn.server.nodemanager.NodeManager"
ADMIN = "org.apache.hadoop.yarn.client.cli.RMAdminCLI"
HISTORY_SERVER = "org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer"
RESOURCE_MANAGER_WEB_PORT, NODE_MANAGER_WEB_PORT, HISTORY_PORT = 8088, 8042, 19888
VIEW, MOUNTED = "viewfs://whitewire/", "/mounted"
"""The default file system of jobs (fs.defaultFS), and its folder for a mounted file system."""
INHERITED = ("JAVA_HOME", "LC_ALL", "LD_PRELOAD", "WHITEWIRE_DRIVES", "WHITEWIRE_DATA_PORT", "WHITEWIRE_RUN")
"""Environment variables that containers inherit from their NodeManager: with them the drive model covers containers'
files and bounds their writers, a site's hosts recognise the run's processes, and numbers look the same in every JVM."""

CAPACITY = {
    "yarn.scheduler.capacity.root.queues": "default",
    "yarn.scheduler.capacity.root.default.capacity": 100,
    "yarn.scheduler.capacity.maximum-am-resource-percent": 1.0,
    # One container a heartbeat: tasks spread over the hosts instead of filling the first.
    "yarn.scheduler.capacity.per-node-heartbeat.multiple-assignments-enabled": False,
    "yarn.scheduler.capacity.node-locality-delay": 5,
    # It looks for containers to place at this interval (default: 5 ms), not at heartbeats.
    "yarn.scheduler.capacity.schedule-asynchronously.scheduling-interval-ms": 25,
    "yarn.scheduler.capacity.resource-calculator": "org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator",
}


REGISTERED = r"NodeManager from node (\S+?)\(cmPort: (\d+) httpPort: \d+\) registered"
"""The ResourceManager's log line for each NodeManager, with the host and port by which YARN names it."""
_STEP = 32
"""Unit in which YARN allocates memory, MiB."""
OF_THE_JOB = (".", "job.jar/job.jar", "job.jar/classes", "job.jar/lib/*")
"""Class path of a job's own files, relative to its containers' folder, as Hadoop itself has it."""


@dataclass(frozen=True)
class Memory:
    """MiB that a NodeManager offers, that an ApplicationMaster and each task ask for, and of a task's heap."""

    node_mib: int = 1152
    am_mib: int = 384
    task_mib: int = 256
    heap_mib: int = 144

    @classmethod
    def of(cls, testbed: Mapping[str, Any]) -> Memory:
        """The values of a testbed's description (`yarn`); the defaults suit many hosts on one machine."""
        return cls(**testbed.get("yarn", {}))

    @property
    def most_slots(self) -> int:
        """How many tasks at once a NodeManager has room for beside an ApplicationMaster."""
        return (self.node_mib - _STEP) // (-(-self.task_mib // _STEP) * _STEP)

    def with_slots(self, slots: int) -> Memory:
        """Room for `slots` tasks at once on a NodeManager, as Hadoop 1 had it, and for ApplicationMasters beside them.

        ApplicationMasters ask for the least that YARN allocates, in the room that is too small for a task: one stays
        for five seconds after its job has ended, so short jobs have several at once, and none may take a task's place.
        The memory of a NodeManager by the testbed's description remains the limit.
        """
        task = -(-self.task_mib // _STEP) * _STEP
        return replace(self, node_mib=min(self.node_mib, (slots + 1) * task - _STEP), am_mib=_STEP)


MASTERS = "mapreduce.job.am.strict-locality"
"""Setting for the rack and the host that run ApplicationMasters."""


def application_master_settings(testbed: Testbed, racks: int) -> dict[str, object]:
    """Setting that places ApplicationMasters on the first worker, for hosts in racks."""
    first = testbed.by_role("datanode")[0]
    return {MASTERS: f"/{testbed.racks(racks)[first.name]}/{first.endpoint}"}


def yarn_settings(testbed: Testbed, configuration: str, mount: str = "/tmp", slots: int | None = None,
                  variables: Collection[str] = ()) -> dict[str, object]:  # fmt: skip
    """yarn-site and mapred-site values. What is not named here is Hadoop's default.

    `slots` is how many tasks a NodeManager runs at once; without it, as many as its memory holds. `variables`:
    environment variables that containers inherit besides INHERITED.

    `mount` is where hosts have mounted a shared file system, if any. Job files go to the folder that all hosts see, if
    there is one, rather than over the links, because their size does not shrink with k (a job.xml is 200 kB whatever
    the data); else to HDFS, Hadoop's default.
    """
    master = testbed.by_role("namenode")[0]
    below, memory = f"hdfs://{master.endpoint}:{NAMENODE_PORT}", Memory.of(testbed.config)
    memory = memory.with_slots(slots) if slots else memory
    first = testbed.by_role("datanode")[0].endpoint
    # If hosts share processors, always on one worker, where the JVM of the last ApplicationMaster is.
    place_of_masters = {MASTERS: f"/default-rack/{first}"} if testbed.capabilities.shares_processors else {}
    return place_of_masters | {
        "yarn.resourcemanager.hostname": master.endpoint,
        "yarn.nodemanager.hostname": "${whitewire.endpoint}",
        "yarn.nodemanager.bind-host": "${whitewire.address}",
        "yarn.resourcemanager.connect.retry-interval.ms": 200,
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": round(scaling.NODEMANAGER_HEARTBEAT_S * 1000),
        "yarn.resourcemanager.am.max-attempts": 1,
        "yarn.nodemanager.aux-services": "mapreduce_shuffle",
        "yarn.nodemanager.resource.memory-mb": memory.node_mib,
        "yarn.nodemanager.resource.cpu-vcores": 8,
        "yarn.scheduler.minimum-allocation-mb": _STEP,
        "yarn.nodemanager.vmem-check-enabled": False,
        "yarn.nodemanager.pmem-check-enabled": False,
        "yarn.nodemanager.container-monitor.enabled": False,
        "yarn.nodemanager.disk-health-checker.enable": False,
        "yarn.nodemanager.local-dirs": "${whitewire.local}",
        "yarn.nodemanager.log-dirs": f"{master.scratch}/containers",
        "yarn.nodemanager.env-whitelist": ",".join([*INHERITED, *variables]),
        "yarn.nodemanager.sleep-delay-before-sigkill.ms": 50,
        # Listings of each container's folder, which take five more processes.
        "yarn.nodemanager.log-container-debug-info.enabled": False,
        # What a job needs is on every host's own class path; see _args().
        "yarn.application.classpath": configuration,
        "mapreduce.application.classpath": configuration,
        "mapreduce.framework.name": "yarn",
        "mapreduce.jobhistory.address": f"{master.endpoint}:10020",
        "mapreduce.jobhistory.webapp.address": f"{master.endpoint}:{HISTORY_PORT}",
        # A job's view of the file systems: HDFS, except for job files, histories and `mount`.
        "fs.viewfs.mounttable.whitewire.linkFallback": f"{below}/",
        "fs.viewfs.mounttable.whitewire.link./jobs": f"file://{testbed.shared}" if testbed.shared else f"{below}/jobs",
        f"fs.viewfs.mounttable.whitewire.link.{MOUNTED}": f"file://{mount}",
        # With the view's name: a plain path would be taken as one of HDFS.
        "mapreduce.jobhistory.done-dir": f"{VIEW}jobs/done",
        "mapreduce.jobhistory.intermediate-done-dir": f"{VIEW}jobs/ended",
        "mapreduce.jobhistory.move.interval-ms": 500,
        "yarn.app.mapreduce.am.staging-dir": f"{VIEW}jobs/staging",
        "yarn.app.mapreduce.am.resource.mb": memory.am_mib,
        "mapreduce.map.memory.mb": memory.task_mib,
        "mapreduce.reduce.memory.mb": memory.task_mib,
        "yarn.app.mapreduce.am.command-opts": f"@{configuration}/{JVM_KINDS['am']}",
        "mapreduce.map.java.opts": f"@{configuration}/{JVM_KINDS['task']}",
        "mapreduce.reduce.java.opts": f"@{configuration}/{JVM_KINDS['task']}",
        "mapreduce.task.io.sort.mb": scaling.SORT_BUFFER_MIB,
        # Jobs are short: poll often, so that waiting for the next poll adds no time.
        "yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms": 200,
        "mapreduce.client.progressmonitor.pollinterval": 100,
        "mapreduce.client.completion.pollinterval": 100,
        # A task that fails makes the run invalid instead of being done again unseen.
        "mapreduce.map.maxattempts": 1,
        "mapreduce.reduce.maxattempts": 1,
        "mapreduce.map.speculative": False,
        "mapreduce.reduce.speculative": False,
    }


class Yarn(Service):
    """A running YARN with its history server; `hdfs` is up already and its site.xml holds yarn_settings() too."""

    def __init__(self, hdfs: Hdfs) -> None:
        self.hdfs, self.testbed, self.installation = hdfs, hdfs.testbed, hdfs.installation
        self.drive, self.logs = hdfs.drive, hdfs.logs
        self.master = self.testbed.by_role("namenode")[0]
        self.workers = self.testbed.by_role("datanode")
        self.daemons: dict[str, Process] = {}
        self.reuses_jvms = self.testbed.capabilities.shares_processors and not self.installation.class_lists
        """Whether containers run in JVMs that stay (container_jvms.py): where hosts share this machine's processors."""
        self.java_home = self.installation.java_home or _java_home()

    # -- life ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start everything and wait until each NodeManager has registered; `start_seconds` is the time taken.

        The history server comes up during the warm-up; settle() waits for it.
        Raises ProcessDied with the end of the log of the daemon that died, TimeoutError likewise.
        """
        begin = time.monotonic()
        self._make_folders()
        for name, content in self._files().items():
            self.testbed.share(f"{self.installation.configuration}/{name}", content)
        if self.reuses_jvms:
            container_jvms.install(self.testbed, self.containers_home, f"{self.java_home}/bin/java")
        self._daemon(self.master, RESOURCE_MANAGER, "resourcemanager", 192, {})
        on_each(self.workers, self._start_worker, at_once=4)
        self.wait_for(self.daemons["resourcemanager"], REGISTERED, len(self.workers))
        self.start_seconds = time.monotonic() - begin
        self._daemon(self.master, HISTORY_SERVER, "historyserver", 192, {}, arguments=[f"-Dfs.defaultFS={VIEW}"])

    def settle(self) -> None:
        """Wait until the history server answers. Raises like start()."""
        self.wait_for(self.daemons["historyserver"], r"Started ServerConnector@|Web app jobhistory started")

    def _make_folders(self) -> None:
        """Make the folders for job files: in the folder that all hosts see, else in HDFS."""
        names = ("staging", "done", "ended")
        if self.testbed.shared:
            self.master.run(["mkdir", "-p", *(f"{self.testbed.shared}/{name}" for name in names)]).check()
            self.master.run(["chmod", "-R", "1777", self.testbed.shared]).check()
            return
        for arguments in (["-mkdir", "-p", *(f"/jobs/{name}" for name in names)], ["-chmod", "-R", "1777", "/jobs"]):
            self.hdfs.shell(*arguments).check(f"hdfs dfs {' '.join(arguments)}")

    def _files(self) -> dict[str, bytes]:
        found = {"capacity-scheduler.xml": site_xml(CAPACITY)}
        sizes = Memory.of(self.testbed.config)
        for kind, heap in (("am", sizes.am_mib // 2), ("task", sizes.heap_mib)):
            found[JVM_KINDS[kind]] = "\n".join(self._args(kind, heap)).encode()
        return found

    def _args(self, kind: str, heap: int) -> list[str]:
        """The JVM options of a container, for an argument file (java @file).

        The class path is in it, jars first, because a class archive fixes their order. The container's own folder, with
        the job's files and its unpacked jar, comes last (OF_THE_JOB).
        """
        java, *options, _ = self.installation.argv("", heap, {}, kind=kind)
        if self.reuses_jvms:
            options = [*container_jvms.FLAGS, *options]
        options = [option for option in options if not option.startswith("-Dlog4j.configuration")]
        options[-1] = ":".join([options[-1], *OF_THE_JOB])
        return [*options, "-Djava.net.preferIPv4Stack=true"]

    def _start_worker(self, host: Host) -> None:
        folders = [f"{folder}/local" for folder in drives.folders(self.drive, host)]
        host.run(["mkdir", "-p", *folders]).check()
        environment = self.drive.environment(host.drive_root, DATA_PORT)
        self._daemon(host, NODE_MANAGER, "nodemanager", 160, {"whitewire.local": ",".join(folders)}, environment)

    @property
    def containers_home(self) -> str:
        """Where containers find bin/java."""
        return f"{self.installation.configuration}/container-jvms" if self.reuses_jvms else self.java_home

    def _daemon(self, host: Host, main: str, kind: str, heap: int, properties: Mapping[str, str],
                environment: Mapping[str, str] | None = None, arguments: Sequence[str] = ()) -> None:  # fmt: skip
        name = kind if kind != "nodemanager" else f"nodemanager-{host.name}"
        argv = self.installation.argv(main, heap, {**properties, **whereabouts(host)}, arguments, kind)
        own = {"JAVA_HOME": self.containers_home, "HADOOP_HOME": host.scratch, **(environment or {})}
        self.daemons[name] = host.start(argv, self.logs / f"{name}.log", self.installation.environment(own), name)

    def stop(self) -> None:
        for daemon in self.daemons.values():
            daemon.kill()
        self.daemons = {}
        if self.reuses_jvms:
            container_jvms.stop(self.workers)

    def processes(self) -> dict[str, Process]:
        return dict(self.daemons)

    @property
    def web_servers(self) -> dict[str, list[tuple[Host, str]]]:
        master = self.master
        return {
            "resourcemanager": [(master, f"{master.endpoint}:{RESOURCE_MANAGER_WEB_PORT}")],
            "nodemanager": [(host, f"{host.endpoint}:{NODE_MANAGER_WEB_PORT}") for host in self.workers],
            "historyserver": [(master, f"{master.endpoint}:{HISTORY_PORT}")],
        }

    # -- use ----------------------------------------------------------------------------------------------

    def work_on(self, at_work: tuple[int, int] | None) -> None:
        """Let tasks run on the first workers only: (number of workers, tasks at once on each). None: on all again.

        The others stay in the cluster and offer nothing (yarn rmadmin -updateNodeResource). Raises RuntimeError.
        """
        ports = dict(re.findall(REGISTERED, self.daemons["resourcemanager"].said()))
        for number, host in enumerate(self.workers):
            offered = self.hdfs.values["yarn.nodemanager.resource.memory-mb"]
            if at_work:
                count, slots = at_work
                offered = Memory.of(self.testbed.config).with_slots(slots).node_mib if number < count else 0
            arguments = ["-updateNodeResource", f"{host.endpoint}:{ports[host.endpoint]}", str(offered), "8"]
            self.hdfs.clients[0].run(ADMIN, arguments).check(f"yarn rmadmin {' '.join(arguments)}")

    def history(self, job: str) -> dict[str, Any]:
        """A finished job as the history server reports it; see history.reported_job()."""
        around, server = self.installation.environment(), f"http://{self.master.endpoint}:{HISTORY_PORT}"
        return history.reported_job(self.master, server, job, 20, self.check, around)

    def settings(self, job: str, names: Collection[str]) -> dict[str, Any]:
        """A finished job's settings `names` as the history server reports them; see history.reported_settings()."""
        around, server = self.installation.environment(), f"http://{self.master.endpoint}:{HISTORY_PORT}"
        return reported_settings(self.master, server, job, names, around)

    def task_lines(self, job: str, text: str) -> str:
        """Lines with a text in the logs of a job's tasks, from all workers."""
        folder = f"{self.master.scratch}/containers/{job.replace('job', 'application', 1)}"
        argv = ["grep", "-rhF", "--include=syslog", text, folder]
        return b"".join(on_each(self.workers, lambda host: host.run(argv).stdout)).decode(errors="replace")


def _java_home() -> str:
    return str(Path(shutil.which("java") or "/usr/bin/java").resolve().parent.parent)


def job_ids(output: str) -> Sequence[str]:
    """Ids of the jobs that a tool submitted, by its output, in order."""
    return list(dict.fromkeys(re.findall(r"Submitting tokens for job: (job_\d+_\d+)", output)))
