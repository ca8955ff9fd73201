"""HDFS on a testbed's hosts: one NameNode, DataNodes with their drives, resident client JVMs."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from whitewire.cluster.hadoop import CURL, METRICS_PERIOD_S, CommandOutcome, Resident, whereabouts, write_configuration
from whitewire.cluster.service import Service
from whitewire.design import scaling
from whitewire.design.drive import Drive
from whitewire.testbed import drives
from whitewire.testbed.base import Host, Process, Testbed
from whitewire.testbed.drives import put_drives
from whitewire.testbed.each import on_each
from whitewire.testbed.installation import Installation
from whitewire.tools import namenode
from whitewire.tools.erasure_coding import BUILT_IN, Policy
from whitewire.tools.namenode import racks_of_report

NAMENODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
DATANODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"
FS_SHELL = "org.apache.hadoop.fs.FsShell"
DFS_ADMIN = "org.apache.hadoop.hdfs.tools.DFSAdmin"
FSCK = "org.apache.hadoop.hdfs.tools.DFSck"
GET_CONF = "org.apache.hadoop.hdfs.tools.GetConf"
EC_ADMIN = "org.apache.hadoop.hdfs.tools.ECAdmin"
NAMENODE_PORT = 9000
NAMENODE_WEB_PORT, DATANODE_WEB_PORT, DATA_PORT = 9870, 9864, 9866
DATA_SOCKET_BUFFERS = (
    "dfs.client.socket.send.buffer.size",
    "dfs.datanode.transfer.socket.send.buffer.size",
    "dfs.datanode.transfer.socket.recv.buffer.size",
)
LOCAL_FILES = {
    "fs.file.impl": "whitewire.LocalFiles$Checked",
    "fs.AbstractFileSystem.file.impl": "whitewire.LocalFiles$CheckedContext",
}
"""Classes for hosts' own files that start no process for each change of a mode (LocalFiles.java)."""


def hdfs_settings(testbed: Testbed, block_size: int, replication: int, packet_size: int) -> dict[str, object]:
    """hdfs-site values; sizes in bytes. What is not named here is Hadoop's default.

    Daemons listen on their host's address on the fabric in use, and nowhere else.
    """
    master = testbed.by_role("namenode")[0]
    return {
        "fs.defaultFS": f"hdfs://{master.endpoint}:{NAMENODE_PORT}",
        "hadoop.tmp.dir": f"{master.scratch}/hadoop",
        "dfs.datanode.hostname": "${whitewire.endpoint}",
        "dfs.datanode.address": f"${{whitewire.address}}:{DATA_PORT}",
        "dfs.datanode.ipc.address": "${whitewire.address}:9867",
        "dfs.datanode.http.address": f"${{whitewire.address}}:{DATANODE_WEB_PORT}",
        # A site's name service need not know the addresses of each of its fabrics.
        "dfs.namenode.datanode.registration.ip-hostname-check": False,
        "dfs.blocksize": block_size,
        "dfs.replication": replication,
        "dfs.client-write-packet-size": packet_size,
        "dfs.namenode.fs-limits.min-block-size": 4096,
        "dfs.namenode.name.dir": "file://${whitewire.name}",
        "dfs.datanode.data.dir": "${whitewire.drives}",
        "dfs.namenode.http-address": f"{master.endpoint}:{NAMENODE_WEB_PORT}",
        "dfs.namenode.safemode.extension": 0,
        "dfs.permissions.enabled": False,
        # Nothing but the workload should use links, drives and cores: no scans, no forked helper commands.
        "dfs.datanode.directoryscan.interval": -1,
        "dfs.block.scanner.volume.bytes.per.second": -1,
        **LOCAL_FILES,
        "fs.getspaceused.classname": "org.apache.hadoop.fs.DFCachingGetSpaceUsed",
        "hadoop.user.group.static.mapping.overrides": "root=root",
        "dfs.datanode.fsdatasetcache.max.threads.per.volume": 1,
        **dict.fromkeys(DATA_SOCKET_BUFFERS, scaling.HDFS_SOCKET_BUFFER),
        # On an emulated fabric the testbed sets sockets' receive buffers, which depend on the rate.
        **({"dfs.datanode.transfer.socket.recv.buffer.size": 0} if testbed.capabilities.shapes_links else {}),
        # The emulated hosts start together: look again soon for a NameNode that isn't there yet.
        "ipc.client.connect.retry.interval": 100,
        "ipc.client.connect.max.retries": 300,
        "dfs.heartbeat.interval": round(scaling.DATANODE_HEARTBEAT_S),
        # All DataNodes report at once, instead of six and the others a heartbeat later.
        "dfs.namenode.max.full.block.report.leases": 1000,
        # Lost replicas are copied as fast as links and drives allow, not as the NameNode paces it by default.
        "dfs.namenode.redundancy.interval.seconds": 1,
        "dfs.namenode.replication.work.multiplier.per.iteration": 20,
        "dfs.namenode.replication.max-streams": 20,
        "dfs.namenode.replication.max-streams-hard-limit": 40,
    }


def rack_settings(testbed: Testbed, folder: str, racks: int) -> dict[str, object]:
    """Settings by which NameNode and ResourceManager know the rack of each host; their table is written to `folder`."""
    place = testbed.racks(racks)
    names = [(name, host) for host in testbed.hosts if host.name in place for name in (host.name, host.address)]
    table = f"{folder}/racks"
    testbed.share(table, "".join(f"{name} /{place[host.name]}\n" for name, host in names).encode())
    return {
        "net.topology.node.switch.mapping.impl": "org.apache.hadoop.net.TableMapping",
        "net.topology.table.file.name": table,
    }


class HdfsClients(Service):
    """Client JVMs, first those on hosts of role `client`, and what workloads do through them."""

    clients: list[Resident]
    testbed: Testbed

    def shell(self, *arguments: str) -> CommandOutcome:
        """Run a file system command (hdfs dfs …) in the first client's JVM."""
        return self.clients[0].run(FS_SHELL, arguments)

    def racks(self) -> dict[str, list[str]]:
        """The DataNodes of each rack, as the NameNode reports them. Raises RuntimeError or Unreadable."""
        said = self.clients[0].run(DFS_ADMIN, ["-printTopology"]).check("dfsadmin -printTopology").output
        names = {host.address: host.name for host in self.testbed.hosts}
        return {rack: [names.get(at, at) for at in hosts] for rack, hosts in racks_of_report(said).items()}

    def volumes(self, host: Host) -> int:
        """Number of volumes that the DataNode of a host reports. Raises RuntimeError or Unreadable."""
        asked = ["-getVolumeReport", f"{host.address}:9867"]
        return namenode.volumes(self.clients[0].run(DFS_ADMIN, asked).check("dfsadmin -getVolumeReport").output)

    def remove(self, path: str) -> None:
        """Delete a path for good. Raises ProcessDied or RuntimeError."""
        self.shell("-rm", "-r", "-f", "-skipTrash", path).check(f"hdfs dfs -rm {path}")


class Hdfs(HdfsClients):
    """A running HDFS. `logs` is the folder for the daemons' logs; `image` a formatted name directory (tar).

    `putting`: number of DataNodes, the first ones, on whose hosts a client's JVM runs too.
    """

    def __init__(self, testbed: Testbed, installation: Installation, values: Mapping[str, object], drive: Drive,
                 logs: Path, image: Path | None = None, putting: int = 0) -> None:  # fmt: skip
        self.testbed, self.installation, self.values = testbed, installation, dict(values)
        self.drive, self.logs, self.image, self.putting = drive, logs, image, putting
        self.namenode_host = testbed.by_role("namenode")[0]
        self.daemons: dict[str, Process] = {}
        self.clients: list[Resident] = []
        self.policies: set[str] = set()
        """Erasure coding policies that are enabled."""

    # -- life ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Bring everything up and wait until every DataNode has registered and every client is ready.

        Raises ProcessDied with the end of the log of the daemon that died, TimeoutError likewise.
        """
        begin = time.monotonic()
        self.policies.clear()
        write_configuration(self.testbed, self.installation.configuration, self.values)
        datanodes = self.testbed.by_role("datanode")
        self._start_namenode()
        on_each(datanodes, self._empty_drives, at_once=4)
        # A DataNode whose NameNode listens but hasn't started asks again only after five seconds.
        self.daemons[self.namenode_host.name].wait_ready("NameNode RPC up at")
        on_each(datanodes, self._start_datanode, self._at_once())
        self.wait_registered(len(datanodes))
        self.hdfs_seconds = time.monotonic() - begin
        self._start_clients()
        for client in self.clients:
            client.wait_ready()
        self.start_seconds = time.monotonic() - begin

    def _at_once(self) -> int:
        """How many DataNodes start at the same time; the next one starts when one of them has registered.

        If hosts share this machine's processors, one more than it has processors. If all started at once, each would
        interpret its methods for longer while its compiler waits for a processor: eleven DataNodes took a tenth more
        processor time.
        """
        shared = self.testbed.capabilities.shares_processors
        return len(os.sched_getaffinity(0)) + 1 if shared else len(self.testbed.hosts)

    def _start_namenode(self) -> None:
        host = self.namenode_host
        properties = {"whitewire.name": f"{host.folder}/name", **whereabouts(host)}
        # Emptied each time: files of an earlier start would not fit the fresh image.
        host.run(["rm", "-rf", f"{host.folder}/name"]).check()
        host.run(["mkdir", "-p", f"{host.folder}/name"]).check()
        if self.image and self.image.exists():
            host.run(["tar", "-x", "-C", f"{host.folder}/name"], stdin=self.image.read_bytes()).check()
        else:
            argv = self.installation.argv(NAMENODE, 256, properties, ["-format", "-nonInteractive"])
            host.run(argv).check()
        argv = self.installation.argv(NAMENODE, 256, properties, kind="namenode")
        log, around = self.logs / f"{host.name}.log", self.installation.environment()
        self.daemons[host.name] = host.start(argv, log, around, name="NameNode")

    def _empty_drives(self, host: Host) -> None:
        host.clear_drives()
        # With the mode that a DataNode wants (dfs.datanode.data.dir.perm), or it starts a chmod for each.
        host.run(["mkdir", "-p", "-m", "700", *drives.folders(self.drive, host)]).check()
        if self.drive.limits:
            put_drives(self.drive, host)

    def _start_datanode(self, host: Host) -> None:
        folders = ",".join(f"file://{folder}" for folder in drives.folders(self.drive, host))
        properties = {"whitewire.drives": folders, **whereabouts(host)}
        argv = self.installation.argv(DATANODE, 160, properties, kind="datanode")
        self.daemons[host.name] = host.start(
            argv,
            self.logs / f"{host.name}.log",
            self.installation.environment(self.drive.environment(host.drive_root)),
            name=f"DataNode {host.name}",
        )
        self.wait_for(self.daemons[host.name], "successfully registered with NN")

    def _start_clients(self) -> None:
        clients = self.testbed.by_role("client")
        if self.drive.limits:
            for host in clients:
                put_drives(self.drive, host)  # files on a client's own drives wait for these too
        named = {host.name: host for host in clients}
        named |= {f"client-{host.name}": host for host in self.testbed.by_role("datanode")[: self.putting]}
        self.clients = [
            Resident(host, self.installation, self.logs / f"{name}.log",
                     self.drive.environment(host.drive_root, DATA_PORT))
            for name, host in named.items()
        ]  # fmt: skip

    def wait_registered(self, count: int) -> None:
        """Wait until `count` DataNodes have registered and reported every drive, and the NameNode takes writes."""
        namenode = self.daemons[self.namenode_host.name]
        self.wait_for(namenode, r"Adding new storage ID \S+ for DN", count * self.drive.count)

    def stop(self) -> None:
        for process in self.processes().values():
            process.kill()
        self.clients, self.daemons = [], {}

    # -- use ----------------------------------------------------------------------------------------------

    def blocks(self, path: str) -> str:
        """Output of fsck for a path's files, blocks and replicas, verbatim."""
        return self.clients[0].run(FSCK, [path, "-files", "-blocks", "-locations"]).output

    def packets(self) -> int:
        """Packets of writes that all DataNodes have received since they started. Raises RuntimeError or Unreadable."""
        time.sleep(METRICS_PERIOD_S + 0.1)
        around = self.installation.environment()

        def of(host: Host) -> int:
            bean = f"http://{host.endpoint}:{DATANODE_WEB_PORT}/jmx?qry=Hadoop:service=DataNode,name=DataNodeActivity-*"
            return namenode.packets(host.run([*CURL, "--fail", bean], around).stdout.decode())

        return sum(on_each(self.testbed.by_role("datanode"), of))

    def code(self, path: str, policy: Policy) -> None:
        """Make a folder and erasure-code files below it from now on. Raises RuntimeError or ProcessDied."""
        admin, name = self.clients[0], policy.name
        if name not in self.policies:
            if name not in BUILT_IN:
                file = f"{admin.host.scratch}/{name}.xml"
                admin.host.put(policy.file.encode(), file)
                admin.run(EC_ADMIN, ["-addPolicies", "-policyFile", file]).check(f"hdfs ec -addPolicies {name}")
            admin.run(EC_ADMIN, ["-enablePolicy", "-policy", name]).check(f"hdfs ec -enablePolicy {name}")
            self.policies.add(name)
        self.shell("-mkdir", "-p", path).check(f"hdfs dfs -mkdir {path}")
        admin.run(EC_ADMIN, ["-setPolicy", "-path", path, "-policy", name]).check(f"hdfs ec -setPolicy {name}")

    def log_position(self) -> int:
        return self.daemons[self.namenode_host.name].log.stat().st_size

    def log_since(self, position: int) -> str:
        """The NameNode's log from a position on: the audit lines say when each file was created and renamed."""
        return self.daemons[self.namenode_host.name].said(position)

    def operations(self, audit: str, folders: Sequence[str]) -> list[namenode.Operation]:
        """Every put below the folders in a stretch of the NameNode's log."""
        return [done for done in namenode.operations(audit) if done.path.rpartition("/")[0] in folders]

    def processes(self) -> dict[str, Process]:
        """Every process by the name of its host, a client's on a DataNode's by one of its own."""
        return self.daemons | {client.name: client.process for client in self.clients}

    @property
    def web_servers(self) -> dict[str, list[tuple[Host, str]]]:
        master, workers = self.namenode_host, self.testbed.by_role("datanode")
        return {
            "namenode": [(master, f"{master.endpoint}:{NAMENODE_WEB_PORT}")],
            "datanode": [(host, f"{host.endpoint}:{DATANODE_WEB_PORT}") for host in workers],
        }
