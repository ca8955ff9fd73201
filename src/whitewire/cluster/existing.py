"""A Hadoop cluster that a site runs already: workloads get a folder of their own on it, and touch nothing else."""

from __future__ import annotations

import subprocess
import sys
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from whitewire.cluster import history
from whitewire.cluster.hadoop import LOG4J, Resident, hadoop_reason, site_xml
from whitewire.cluster.hdfs import FS_SHELL, FSCK, GET_CONF, HdfsClients
from whitewire.cluster.history import fault_of_server, reported_settings
from whitewire.cluster.yarn import VIEW
from whitewire.design.drive import Drive
from whitewire.errors import UserError
from whitewire.testbed.base import CommandFailed, Host, Process, Testbed, last_line
from whitewire.testbed.installation import Installation
from whitewire.tools import Unreadable, namenode
from whitewire.tools import history as addresses
from whitewire.tools.history import HISTORY_DEFAULTS, history_server
from whitewire.tools.site_xml import final

LOG4J_2 = """appenders=console
appender.console.type=Console
appender.console.name=console
appender.console.target=SYSTEM_ERR
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%d{ISO8601} %p %c{2}: %m%n
rootLogger.level=info
rootLogger.appenderRefs=console
rootLogger.appenderRef.console.ref=console
logger.configuration.name=org.apache.hadoop.conf.Configuration
logger.configuration.level=error
"""
LOGGING = {
    "log4j.properties": f"{LOG4J}log4j.logger.org.apache.hadoop.conf.Configuration=ERROR\n",
    "log4j2.properties": LOG4J_2,
}
"""Logging of clients, whatever the site's settings: job ids are read from it. Warnings of settings that ours replace
are off, or each command's output would have them. The second file is for a site's Hadoop that has Log4j 2."""
SITE_FILES = ("core-site.xml", "hdfs-site.xml", "mapred-site.xml", "yarn-site.xml")
FOLDERS_OF_JOBS = ("yarn.app.mapreduce.am.staging-dir", "mapreduce.jobhistory.intermediate-done-dir")
"""Settings for the places of a job's files and history: the site's own, since its history server looks there."""


def around(original: str, values: Mapping[str, object]) -> bytes:
    """A configuration file with these values, which includes the file `original` beside it for all others.

    Ours come first and are final: Hadoop keeps the first final value, and sites often make fs.defaultFS final.
    """
    ours = site_xml(values).decode().replace("</property>", "<final>true</final></property>")
    root = '<configuration xmlns:xi="http://www.w3.org/2001/XInclude">'
    include = f'<xi:include href="{original}"/>\n</configuration>'
    return ours.replace("<configuration>", root).replace("</configuration>", include).encode()


def view_of(folder: str, places: Mapping[str, str]) -> dict[str, str]:
    """Settings with which clients and jobs see `folder` as their root, and the site's places for jobs below /site.

    A job takes its files from its own file system only, so those places too have names in the view.
    """
    table = "fs.viewfs.mounttable.whitewire"
    found = {"fs.defaultFS": VIEW, f"{table}.linkFallback": f"{folder}/"}
    for number, (key, place) in enumerate(places.items(), start=1):
        found |= {f"{table}.link./site/{number}": place, key: f"{VIEW}site/{number}"}
    return found


def whole(place: str, root: str) -> str:
    """A place with its file system, which is `root` for a bare path and for hdfs:///…, which names no NameNode."""
    path = place.removeprefix("hdfs://") if place.startswith("hdfs:///") else place
    return f"{root}{path}" if path.startswith("/") else path


class Existing(HdfsClients):
    """HDFS and YARN of a site, as clients see them. It has the parts of Hdfs and Yarn that workloads use.

    `configuration` is the folder with the site's *-site.xml on every client (HADOOP_CONF_DIR); `base` the HDFS folder
    below which this run makes its own and removes it again. All paths of a run lie in that one: its clients see it as
    the root of their file system. `jobs`: whether runs have jobs, and so need the site's history server.
    """

    def __init__(self, testbed: Testbed, installation: Installation, configuration: str, base: str,
                 logs: Path, jobs: bool = True) -> None:  # fmt: skip
        self.testbed, self.site, self.base, self.logs = testbed, configuration, base.rstrip("/"), logs
        self.jobs = jobs
        own = f"{testbed.by_role('client')[0].scratch}/conf"
        flags = (*installation.flags, f"-Dlog4j.configurationFile=file:{own}/log4j2.properties")
        self.installation = replace(installation, configuration=own, archive=None, flags=flags)
        self.values: Mapping[str, object] = {}
        self.drive = Drive.none()
        self.clients: list[Resident] = []
        self.folder = ""
        self.history_server = ""
        self.hdfs_seconds = 0.0

    # -- life ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Make the folder and the clients. Raises UserError when the site's HDFS does not answer or refuses."""
        begin = time.monotonic()
        hosts = self.testbed.by_role("client")
        self._log_as_ours(hosts[0])
        root = self._configured(hosts[0], "fs.defaultFS").rstrip("/")
        if not root.startswith("hdfs://"):
            raise UserError(f"{self.site}: fs.defaultFS: found {root!r}, expected hdfs://…")
        self.history_server = self._history_server(hosts[0]) if self.jobs else ""
        self.folder = f"{root}{self.base}/whitewire-{uuid.uuid4().hex[:12]}"
        if self.jobs:
            self._refuse_final(hosts[0])
        places = {key: self._configured(hosts[0], key) for key in FOLDERS_OF_JOBS}
        places = {key: whole(place, root) for key, place in places.items()}
        self.values = {"fs.defaultFS": root, "history server": self.history_server, "folder": self.folder, **places}
        view = view_of(self.folder, places)
        for host in hosts:
            self._configure(host, view)
            self._check_view(host)
        self.clients = [Resident(host, self.installation, self.logs / f"{host.name}.log") for host in hosts]
        for client in self.clients:
            client.wait_ready()
        made = self.shell("-mkdir", "-p", self.folder)
        if made.status != 0:
            self.folder = ""  # there is none to remove
            raise UserError(f"cluster: folder: {self.base} on {root}: {made.why}")
        self.hdfs_seconds = self.start_seconds = time.monotonic() - begin

    def _configured(self, host: Host, key: str, folder: str = "") -> str:
        """A setting's value in the files of a configuration folder (default: the site's)."""
        logging = {"log4j.configuration": f"file:{self.installation.configuration}/log4j.properties"}
        asked = replace(self.installation, configuration=folder or self.site)
        argv = asked.argv(GET_CONF, 128, logging, ["-confKey", key])
        done = host.run(argv, timeout=60)
        if done.status != 0 and key in HISTORY_DEFAULTS and b" is missing" in done.stderr:
            return HISTORY_DEFAULTS[key]
        if done.status != 0:
            raise UserError(f"{self.site} on {host.name}: {key}: {hadoop_reason(done.stderr)}")
        return done.stdout.decode().removesuffix("\n").rpartition("\n")[2].strip()

    def _refuse_final(self, host: Host) -> None:
        """Raise UserError if the site makes its file system final: a job's processes on its nodes can use no other."""
        name = "core-site.xml"
        said = host.run(["cat", f"{self.site}/{name}"]).stdout.decode(errors="replace")
        try:
            declared = final(said, name)
        except Unreadable as error:
            raise UserError(f"{self.site} on {host.name}: {error}") from None
        if declared & {"fs.defaultFS", "fs.default.name"}:
            raise UserError(
                f"{self.site}/{name} on {host.name}: fs.defaultFS: found <final>true</final>, expected none where jobs "
                "run: on the site's nodes they could not use the run's own folder; papers without jobs can be measured"
            )

    def _check_view(self, host: Host) -> None:
        """Raise UserError unless clients on a host see the run's folder as their root: they remove paths below it."""
        found = self._configured(host, "fs.defaultFS", self.installation.configuration)
        if found != VIEW:
            raise UserError(
                f"{self.site} on {host.name}: fs.defaultFS: found {found!r} for clients of runs, expected {VIEW!r}; "
                "is the site's core-site.xml there?"
            )

    def _history_server(self, host: Host) -> str:
        """Address of the site's history server. Raises UserError if it does not answer: jobs would run for nothing."""
        configured = partial(self._configured, host)
        try:
            address, key = history_server(configured)
        except Unreadable as error:
            raise UserError(f"{self.site} on {host.name}: {error}") from None
        why = {}
        for scheme in addresses.schemes(configured):
            server = f"{scheme}://{address}"
            why[server] = fault_of_server(host, server)
            if not why[server]:
                return server
        said = "; ".join(f"{server}: {each}" for server, each in why.items())
        raise UserError(f"{self.site} on {host.name}: {key}: no answer of the history server, which jobs need: {said}")

    def _log_as_ours(self, host: Host) -> None:
        own = self.installation.configuration
        # Removed first, because copies of the site's files may not be writable.
        host.run(["rm", "-f", *(f"{own}/{name}" for name in LOGGING)]).check()
        for name, text in LOGGING.items():
            host.put(text.encode(), f"{own}/{name}")

    def _configure(self, host: Host, view: Mapping[str, str]) -> None:
        """Copy the site's configuration to a host, with files of our own that include the site's, and with our logging.

        The site's other files may be unreadable (container-executor.cfg) or broken links. Raises UserError if one of
        SITE_FILES is.
        """
        own = self.installation.configuration
        host.run(["mkdir", "-p", own]).check()
        copied = host.run(["cp", "-R", "-L", f"{self.site}/.", own])
        self._log_as_ours(host)
        # In each of them, because a later file overrides an earlier one.
        for name in SITE_FILES:
            if host.run(["test", "-e", f"{self.site}/{name}"]).status == 0:
                if host.run(["mv", f"{own}/{name}", f"{own}/site-{name}"]).status != 0:
                    raise UserError(f"{self.site}/{name} on {host.name}: not copied: {last_line(copied.stderr)}")
                host.put(around(f"site-{name}", view), f"{own}/{name}")

    def stop(self) -> None:
        """End the clients and remove the folder."""
        for client in self.clients:
            client.process.kill()
        if self.clients and self.folder:
            self._remove_folder()
        self.clients, self.folder = [], ""

    def _remove_folder(self) -> None:
        """Remove the folder with a new JVM, since those of clients may have died; if it stays, print its name."""
        argv = self.installation.argv(FS_SHELL, 128, {}, ["-rm", "-r", "-f", "-skipTrash", self.folder])
        why = ""
        for host in self.testbed.by_role("client"):
            try:
                done = host.run(argv, timeout=60)
            except (CommandFailed, OSError) as lost:
                why = str(lost)
                continue
            except subprocess.TimeoutExpired:
                why = "no answer in 60 s"
                break
            if done.status == 0:
                return
            why = hadoop_reason(done.stderr)
            break
        print(f"cluster: {self.folder} stays: {why}; remove it with hdfs dfs -rm -r -skipTrash", file=sys.stderr)

    def processes(self) -> dict[str, Process]:
        """Every client by the name of its host; the daemons are the site's."""
        return {client.host.name: client.process for client in self.clients}

    # -- use ----------------------------------------------------------------------------------------------

    def remove(self, path: str) -> None:
        """Delete a path for good, by its full name, so that no setting can redirect it to the site's own root."""
        super().remove(f"{VIEW}{path.lstrip('/')}")

    def blocks(self, path: str) -> str:
        """Output of fsck for a path's files, blocks and replicas, verbatim."""
        return self.clients[0].run(FSCK, [f"{self.folder}{path}", "-files", "-blocks", "-locations"]).output

    def log_position(self) -> int:
        """Always 0, because the NameNode's log is the site's."""
        return 0

    def log_since(self, position: int) -> str:
        return ""

    def operations(self, audit: str, folders: Sequence[str]) -> list[namenode.Operation]:
        """Every put below the folders. HDFS stamps a file when it is made (access time) and when it is closed."""
        said = {folder: self.shell("-stat", "%X %Y %n", f"{folder}/*").output for folder in folders}
        return [put for folder, stamps in said.items() for put in namenode.stamped(stamps, folder)]

    def task_lines(self, job: str, text: str) -> str:
        """Always empty, because the logs of tasks are the site's."""
        return ""

    def history(self, job: str) -> dict:
        """A finished job as the site's history server reports it; see Yarn.history."""
        return history.reported_job(self.testbed.by_role("client")[0], self.history_server, job, 60, self.check)

    def settings(self, job: str, names: Collection[str]) -> dict:
        """A finished job's settings `names` as the site's history server reports them; see Yarn.settings."""
        return reported_settings(self.testbed.by_role("client")[0], self.history_server, job, names)
