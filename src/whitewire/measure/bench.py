"""What a workload's run has to work with: the stack that is up, the run, and what all workloads do alike."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from whitewire.cluster import hdfs, yarn
from whitewire.cluster.cephfs import CephFs
from whitewire.cluster.existing import Existing
from whitewire.cluster.hadoop import Outcome, whereabouts
from whitewire.cluster.hdfs import GET_CONF, Hdfs
from whitewire.cluster.posix import Posix
from whitewire.cluster.stack import Stack
from whitewire.cluster.yarn import Yarn
from whitewire.description.paper import OFF, ON
from whitewire.design import scaling
from whitewire.design.scale import PACKET, Scale
from whitewire.errors import RunFailed
from whitewire.factors.seen import PACKET_SIZE
from whitewire.measure import cross_traffic
from whitewire.measure.clocks import Clocks
from whitewire.measure.run import Run, floor_key
from whitewire.records import evidence
from whitewire.records import jobs as tasks
from whitewire.records.result import Result
from whitewire.records.run import DesignRow, Evidence, FilesSeen, Job, Links, PlacedBlock, RunRecord
from whitewire.records.samples import ETHERNET, HEADERS
from whitewire.testbed.base import Fabric, Host, Testbed
from whitewire.testbed.each import on_each
from whitewire.testbed.samples import cpu_seconds, host_cpu_to_csv, to_csv, waited_to_csv
from whitewire.tools import codecs, history, namenode
from whitewire.tools.erasure_coding import Policy
from whitewire.workloads import hdfs_put
from whitewire.workloads.base import DATA, OUTPUT, generic_options

SETTLE_S = 1.0
"""Seconds in which DataNodes tell of replicas that they have."""


def source_files(testbed: Testbed, size: int, count: int) -> list[str]:
    """`count` files of `size` random bytes on every client, as paths; made once and warm in memory from then on.

    They are names of one file: what a client reads is not what is measured.
    """
    clients = testbed.by_role("client")
    folder = f"{clients[0].scratch}/source/{size}"
    paths = [f"{folder}/put{number}" for number in range(1, count + 1)]

    def make(host: Host) -> None:
        if host.run(["test", "-e", paths[-1]]).status == 0:
            return
        host.run(["mkdir", "-p", folder]).check()
        if host.run(["test", "-e", paths[0]]).status != 0:
            host.run(["dd", "if=/dev/urandom", f"of={paths[0]}", "bs=1M", f"count={size}",
                      "iflag=fullblock,count_bytes", "status=none"]).check()  # fmt: skip
        for path in paths[1:]:
            host.run(["ln", "-f", paths[0], path]).check()

    on_each(clients, make)
    return paths


def watch(stack: Stack, finished: Callable[[], bool], timeout: float) -> None:
    """Wait until `finished`; a daemon that ends meanwhile ends the run with its name."""
    deadline = time.monotonic() + timeout
    while not finished():
        stack.check()
        if time.monotonic() > deadline:
            raise RunFailed(f"no end after {timeout:.0f} s")
        time.sleep(0.02)
    stack.check()


def put_together(stack: Stack, clients: int, files: list[str], options: Mapping[str, Any], timeout: float
                 ) -> list[Outcome]:  # fmt: skip
    """The first `clients` clients put all files at one signal; returns the outcomes of their commands."""
    residents = stack.clients[:clients]
    for number, client in enumerate(residents, start=1):
        client.begin(hdfs.FS_SHELL, hdfs_put.put(files, f"{DATA}/client{number}", options))
    watch(stack, lambda: all(client.done() for client in residents), timeout)
    return [client.result(timeout=1) for client in residents]


def empty(stack: Stack, clients: int) -> None:
    """A folder for each client, with nothing in it."""
    stack.hdfs.remove(DATA)
    if stack.hdfs.shell("-mkdir", "-p", *folders(clients)).status != 0:
        raise RunFailed("the folders of the run could not be made in HDFS")


def folders(clients: int) -> list[str]:
    """The clients' folders in HDFS."""
    return [f"{DATA}/client{number}" for number in range(1, clients + 1)]


def warm_up(stack: Stack, files: int = 60, size: int = 131072) -> None:
    """Every client puts many one-block files: a JVM compiles what it has done some hundred times."""
    paths = source_files(stack.testbed, size, files)
    empty(stack, len(stack.clients))
    put_together(stack, len(stack.clients), paths, {"dfs.blocksize": size}, timeout=120)


@dataclass(frozen=True)
class Bench:
    """A run on a stack."""

    stack: Stack
    run: Run

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self.run.parameters

    @property
    def scale(self) -> Scale:
        return self.run.scale

    @property
    def scaled(self) -> bool:
        """Whether the run is smaller than at full scale."""
        return self.scale.k != 1 or self.scale.data_fraction != 1

    @property
    def client(self) -> Host:
        return self.stack.testbed.by_role("client")[0]

    @property
    def mounted(self) -> bool:
        """Whether the run's file system is a mounted one."""
        return self.run.store["kind"] == "cephfs"

    @property
    def store(self) -> CephFs | Posix:
        """The mounted file system, of a run that has one."""
        if self.stack.mounted is None:
            raise RunFailed("the cluster has no mounted file system")
        return self.stack.mounted

    @property
    def coding(self) -> Policy | None:
        """The erasure coding of the run's files in HDFS, in cells that are scaled as blocks are; None: replicas."""
        name = self.run.store.get("erasure_coding")
        policy = Policy.of(name) if name else None
        return policy and policy.of_block(
            self.scale.block_bytes, self.scale.block_bytes / self.parameters["block_size_bytes"]
        )

    @property
    def yarn(self) -> Yarn | Existing:
        """What runs the jobs, of a run that has some."""
        if self.stack.yarn is None:
            raise RunFailed("the cluster has no YARN")
        return self.stack.yarn

    def of(self, workload: str, parameters: Mapping[str, Any]) -> Bench:
        """The same run as one of another workload, with further parameters."""
        row: DesignRow = {**self.run.row, "workload": workload}
        return replace(self, run=replace(self.run, row=row, parameters={**self.parameters, **parameters}))

    # --- what any run does ---

    def watch(self, finished: Callable[[], bool]) -> None:
        """Wait until `finished`; a daemon that ends meanwhile ends the run with its name."""
        watch(self.stack, finished, self.run.timeout)

    def at_ease(self) -> None:
        """For everything that is not measured: the fastest fabric, and drives that hold nothing up."""
        self.stack.testbed.fabric(self.stack.testbed.fastest())
        self.stack.ease(True)

    def source_files(self, size: int, count: int) -> list[str]:
        """`count` files of `size` random bytes on every client."""
        return source_files(self.stack.testbed, size, count)

    def observed(self, act: Callable[[], RunRecord], by_host: bool = False) -> Result:
        """Do `act` between two readings of all counters, sampled; the record holds what they say."""
        run, testbed, stack = self.run, self.stack.testbed, self.stack
        stack.ease(False, fresh=True)
        fabric = testbed.fabric(run.parameters["fabric"], _port_buffer(run), run.parameters.get("mtu"), self._slow())
        testbed.offloads(run.levels.get("offloads", "on") == "on")
        position = stack.hdfs.log_position()
        again, drops, carriers = testbed.tcp_retransmits(), testbed.queue_drops(), testbed.carrier_changes()
        _stopped(stack)  # before the run is no matter
        beside = run.parameters.get("cross_traffic", 0)
        with cross_traffic.flowing(testbed, fabric, beside, stack.logs):
            used, segments = cpu_seconds(stack.processes()), testbed.segments()
            clocks = Clocks.now()
            before = testbed.counters()
            with testbed.sampler(by_host) as sampler:
                done = act()
            seconds, after = time.monotonic() - clocks.steady, testbed.counters()
            clock = clocks.since(hosts=sampler.moved)
            used_after, sent = cpu_seconds(stack.processes()), testbed.segments()
        log = stack.hdfs.log_since(position)
        row = run.row
        record: RunRecord = {
            "run_id": row["run_id"],
            "block": row["block"],
            "order": row["order"],
            "experiment": row["experiment"],
            "workload": row["workload"],
            "replicate": row["replicate"],
            "seed": row["seed"],
            "factors": dict(run.levels),
            "asked": self._asked(),
            "evidence": {
                "links": testbed.links(),
                **_segment(_of_the_run(testbed, before), after, segments, sent),
                **self._racks(fabric),
                **_beside(testbed, fabric, before, after, seconds),
                **self._drive(),
                **self._caches(),
            },
            "fabric": {"name": fabric.name, "rate": fabric.rate, "full_scale_rate": fabric.full_scale_rate,
                       "shared": fabric.shared, "burst": fabric.burst, "mtu": fabric.mtu, "racks": fabric.racks,
                       "uplink": fabric.uplink, "unlike": dict(fabric.unlike)},
            "scale": run.scale.record,
            "cpu": run.cpu,
            "clock": clock,
            "clients": run.parameters.get("clients", 0),
            "replication": run.parameters.get("replication", 0),
            "client_hosts": [host.name for host in testbed.by_role("client")],
            "datanode_hosts": [host.name for host in testbed.by_role("datanode")],
            "links_before": _of_the_run(testbed, before),
            "links_after": _of_the_run(testbed, after),
            "cpu_seconds": {name: used_after[name] - used[name] for name in used},
            "tcp_retransmits": sum(testbed.tcp_retransmits().values()) - sum(again.values()),
            "queue_drops": testbed.queue_drops() - drops,
            "disturbed": disturbances(_stopped(stack), carriers, testbed.carrier_changes(), sampler.gap),
            **done,
        }  # fmt: skip
        audit = "\n".join(line for line in log.splitlines() if "FSNamesystem.audit" in line)
        files = {"samples.csv": to_csv(sampler.samples), "namenode-audit.txt": audit + "\n"}
        if sampler.waited:
            files["waited.csv"] = waited_to_csv(sampler.waited)
        if by_host:
            files["host-cpu.csv"] = host_cpu_to_csv(sampler.host_cpu)
        return Result(record, files)

    # --- what was asked, and what was so ---

    def _asked(self) -> dict[str, Any]:
        """Levels and parameters as the run really has them; of settings and of the store what was set, not the name."""
        own: dict[str, Any] = {**self.run.levels, **self.run.parameters}
        if "drive" in own:
            own["drive"] = self.run.drive.record
        if self.run.drive.cached:
            own.setdefault("page_cache", ON)
        own.pop("store", None)  # see record()
        if "output_replication" in self.run.workload.known():
            own.setdefault("output_replication", self.run.workload.output_copies(self.parameters))
        if "settings" in own:
            own["settings"] = {name: history.text(value) for name, value in self.run.settings.items()}
        return own

    def _drive(self) -> Evidence:
        """The model that the first worker's drives have; nothing where there is none."""
        if not self.run.drive.limits:
            return {}
        worker, slow = self.stack.testbed.by_role("datanode")[0], self.stack.slow_worker
        found: Evidence = {"drive": self.run.drive.told(worker)}
        if self.run.drive.cached or "page_cache" in self.parameters:
            found["page_cache"] = self._page_cache()
        if "drive" in self.parameters:
            found["volumes"] = self.stack.hdfs.volumes(worker)
        if "slow_drives" in self.parameters:
            found["slow_drives"] = self.run.drive.told(slow)["rate"] / found["drive"]["rate"]
        return found

    def _caches(self) -> Evidence:
        """Whether hosts' memory held files of a site's own file system when the run wanted it empty."""
        store = self.stack.mounted if self.mounted else None
        cold = not self.parameters.get("keep_caches") and self.parameters.get("operation") != "write"
        return {"warm": store.warm} if isinstance(store, Posix) and cold else {}

    def _page_cache(self) -> str:
        """Whether the run's bytes went by way of memory in front of all workers' drives: ON, OFF, or what was so."""
        states = on_each(self.stack.testbed.by_role("datanode"), self.run.drive.told)
        there = [state.get("limit", 0) > 0 for state in states]
        if not any(there):
            return OFF
        if not all(there):
            return f"on {sum(there)} of {len(there)} workers"
        return ON if any(state["asked"] > 0 for state in states) else "on, and nothing came by"

    def _slow(self) -> dict[str, float]:
        """The worker whose link is slower than the others', with the share of the rate that it has."""
        share = self.parameters.get("slow_host", 1)
        return {self.stack.slow_worker.name: share} if share != 1 else {}

    def _racks(self, fabric: Fabric) -> Evidence:
        """Racks as HDFS prints them, and their uplinks; nothing on a network without racks."""
        if not fabric.racks:
            return {}
        return {"uplinks": self.stack.testbed.uplinks(), "racks": self.stack.hdfs.racks()}

    def _store(self, path: str, files: FilesSeen) -> tuple[dict[str, object], dict[str, object]]:
        """What was set of the file system of a path with these files, and what it reports."""
        if not self.mounted:
            return self.store_of(files)
        folder = path.removeprefix(yarn.MOUNTED).lstrip("/").split("/")[0]
        return self.store.asked(folder), self.store.told(folder)

    def coded(self) -> RunRecord:
        """What a run's record tells of its erasure coding; nothing of replicas."""
        return {"coding": self.coding.name} if self.coding else {}

    def store_of(self, files: FilesSeen) -> tuple[dict[str, object], dict[str, object]]:
        """What was set of HDFS for the run's files, and what fsck says of them."""
        asked = {"erasure_coding": self.coding.name} if self.coding else {}
        found = {"erasure_coding": name} if (name := evidence.coding(files)) else {}
        return {"kind": "hdfs", **asked}, {"kind": "hdfs" if files["files"] else "no files in HDFS", **found}

    def files_seen(self, path: str) -> FilesSeen:
        """A folder of the run's file system as the file system reports it."""
        if self.mounted:
            return evidence.of_count(self.shell(["-count", self.viewed(path)], "what was written").output)
        return evidence.of_fsck(self.settled(path), bool(self.coding))

    def settled(self, path: str) -> str:
        """What fsck says of a folder once each DataNode has told the NameNode of its replicas, for which it waits.

        A file is whole when one replica of each block, or the data of each block group, is told of.
        """
        deadline = time.monotonic() + SETTLE_S
        while "Under replicated" in (text := self.stack.hdfs.blocks(path)) and time.monotonic() < deadline:
            time.sleep(0.05)
        return text

    def _of_jobs(self, jobs: list[Job], kept: dict[str, str]) -> Evidence:
        """Settings that the run asked for, as the history server reports them; of commands without jobs, the client."""
        compressed = "map_output_compression" in self.parameters
        names = {*self.run.settings, *((codecs.COMPRESS, codecs.CODEC) if compressed else ())}
        told = []
        for job in jobs if names else []:
            if "id" in job:
                answer = self.yarn.settings(job["id"], names)
                kept[f"{job['name']}-settings.json"] = json.dumps(answer) + "\n"
                told.append(history.settings(answer, names))
        waves = {job["name"]: tasks.waves([t for t in job["tasks"] if t["type"] == "MAP"]) for job in jobs}
        found: Evidence = {"waves": waves}
        found |= {"settings": _together(told, self.run.settings) if told else self.client_settings()}
        if compressed and told:
            found["map_output_compression"] = " and ".join(sorted({codecs.word_of(each) for each in told}))
        return found

    def client_settings(self) -> dict[str, str]:
        """Settings that the run asked for, as a client with the same options reports them (hdfs getconf)."""
        installation, options = self.stack.hdfs.installation, generic_options(self.run.settings)
        found = {}
        for name in self.run.settings:
            arguments = [*options, "-confKey", name]
            done = self.client.run(installation.argv(GET_CONF, 64, whereabouts(self.client), arguments)).check()
            found[name] = done.stdout.decode().strip().splitlines()[-1]
        return found

    def packets(self) -> int | None:
        """Packets that DataNodes have received, where the run says how large they are; else None."""
        asked = "packet_bytes" in self.run.levels or PACKET_SIZE in self.run.settings
        return self.stack.hdfs.packets() if asked and isinstance(self.stack.hdfs, Hdfs) else None

    # --- clients that put files ---

    data = DATA

    def folders(self, clients: int) -> list[str]:
        """The clients' folders in HDFS."""
        return folders(clients)

    def empty(self, clients: int) -> None:
        """A folder for each client, with nothing in it."""
        empty(self.stack, clients)
        self._code(DATA)

    def files_to_put(self) -> list[str]:
        """The files that each client puts."""
        return self.source_files(self.scale.file_bytes, self.parameters["puts_per_client"])

    def put_all(self, files: list[str], settings: Mapping[str, Any]) -> list[Outcome]:
        """The puts of a run, with its block size, its packets and the settings of its own."""
        options = {"dfs.blocksize": self.scale.block_bytes} | scaling.retry_settings(self.scale.data_fraction)
        if self.scale.packet_bytes != PACKET:
            options[PACKET_SIZE] = self.scale.packet_bytes
        options |= {"dfs.replication": self.parameters.get("replication", 3)} | dict(settings)
        return put_together(self.stack, self.parameters["clients"], files, options, self.run.timeout)

    def placement(self, settled: bool = False) -> tuple[list[PlacedBlock], str]:
        """Which DataNodes hold each block, or block group, of the clients' files, and what fsck said."""
        names = {host.address: host.name for host in self.stack.testbed.hosts}
        text = self.settled(DATA) if settled else self.stack.hdfs.blocks(DATA)
        found: list[PlacedBlock] = [
            {"file": block.path, "block_index": block.index, "bytes": block.length,
             "datanodes": [names.get(address, address) for address in block.addresses]}
            for block in namenode.blocks(text, bool(self.coding))
        ]  # fmt: skip
        return found, text

    # --- jobs ---

    def options(self) -> dict[str, object]:
        """Settings of every job of a run: the job's file system, blocks, replicas, memory."""
        reduces = self.parameters.get("reduces", 1)
        own: dict[str, object] = {
            "dfs.blocksize": self.scale.block_bytes,
            "dfs.replication": self.parameters.get("replication", 1),
            "mapreduce.job.reduces": reduces,
            "mapreduce.reduce.memory.totalbytes": scaling.reduce_memory(self.scale.file_bytes, reduces),
            "fs.local.block.size": self.scale.block_bytes,
        }
        if self.scale.data_fraction < 1:  # as of puts: a fixed wait, which a short file must shorten likewise
            own |= scaling.retry_settings(self.scale.data_fraction)
        if "map_output_compression" in self.parameters:
            own |= codecs.settings(self.parameters["map_output_compression"])
        return own | {"fs.defaultFS": yarn.VIEW} | dict(self.run.settings)

    def in_one_jvm(self) -> dict[str, object]:
        """Settings of a job that runs in the client's own JVM."""
        return {"mapreduce.framework.name": "local", "mapreduce.cluster.local.dir": f"{self.client.scratch}/local"}

    def read_buffer(self) -> int:
        """Bytes of a reader's buffer: scaled as blocks are."""
        return scaling.read_buffer(self.scale.block_bytes / self.parameters["block_size_bytes"])

    def path(self, path: str) -> str:
        """A path in the run's file system."""
        return f"{yarn.MOUNTED}{path}" if self.mounted else path

    def viewed(self, path: str) -> str:
        """A path in the run's file system as a command of the shell finds it, whose own file system is HDFS."""
        return f"{yarn.VIEW}{path.lstrip('/')}"

    def output(self, name: str) -> str:
        """A path for a result."""
        return self.path(f"{OUTPUT}/{name}")

    def make_output(self) -> None:
        """Make the folder of results, which jobs make themselves and other commands do not."""
        if not self.mounted:
            self.stack.hdfs.shell("-mkdir", "-p", OUTPUT)

    def begin(self, folder: str = OUTPUT) -> None:
        """An empty folder for the run's files; on CephFS with its store's layout and clients' caches, scaled."""
        if self.mounted:
            # First: the metadata server asks whoever has a file open or cached before it is removed.
            self._remount()
        self._remove(folder)
        self._code(folder)
        if self.mounted:
            for name in ("/input", folder):
                unit = scaling.stripe_unit(self.run.store["stripe_size_bytes"], self.scale.k)
                self.store.layout(name.lstrip("/"), self.run.store["stripe_count"], unit)

    def _remount(self) -> None:
        store, k, fraction = self.run.store, self.scale.k, self.scale.data_fraction
        self.store.remount(
            max_dirty=scaling.client_cache(store["max_dirty_bytes"], k, fraction),
            readahead=scaling.client_cache(store["readahead_bytes"], k, fraction),
        )

    def _code(self, folder: str) -> None:
        """Have files below a folder coded where the run's are; without, they are kept as replicas."""
        if self.coding:
            if not isinstance(self.stack.hdfs, Hdfs):
                raise RunFailed("erasure coding: only an HDFS of our own can be told to code files")
            self.stack.hdfs.code(folder, self.coding)

    def _remove(self, path: str) -> None:
        if self.mounted:
            self.store.remove(path.lstrip("/"))
        else:
            self.stack.hdfs.remove(path)

    def tool(self, tool: str, arguments: list[str], what: str) -> Outcome:
        """A tool of Hadoop in the client's JVM. Raises RunFailed when it does not end well, naming why."""
        client = self.stack.clients[0]
        client.begin(tool, arguments)
        try:
            self.watch(client.done)
        except RunFailed as failure:
            raise RunFailed(f"{what}: {failure}") from None
        outcome = client.result(timeout=1)
        if outcome.status != 0:
            raise RunFailed(f"{what}: status {outcome.status}: {outcome.why}")
        return outcome

    def shell(self, arguments: list[str], what: str) -> Outcome:
        """A command of `hdfs dfs` in the client's JVM. Raises RunFailed like tool()."""
        return self.tool(hdfs.FS_SHELL, arguments, what)

    def cat(self, path: str) -> str:
        """The text of a file in the run's file system; of one that is not there, what the shell says."""
        return self.stack.clients[0].run(hdfs.FS_SHELL, ["-cat", self.viewed(path)]).output

    def timed(self, name: str, outcome: Outcome) -> Job:
        """A command as a job's record, without tasks."""
        return {"name": name, "submit": outcome.begin, "end": outcome.end, "tasks": [], "counters": {}}

    def job(self, tool: str, arguments: list[str], what: str, kept: dict[str, str]) -> Job:
        """A tool that submits one job: what the history server says of it. Raises RunFailed for a job that failed."""
        outcome = self.tool(tool, arguments, what)
        kept[f"{what}.txt"] = outcome.output + "\n"
        ids = yarn.job_ids(outcome.output)
        if not ids:
            raise RunFailed(f"{what}: it submitted no job")
        return self.finished(ids[-1], what, kept)

    def finished(self, number: str, what: str, kept: dict[str, str]) -> Job:
        """What the history server says of a job that has ended. Raises RunFailed for a job that failed."""
        answers = self.yarn.history(number)
        kept[f"{what}-history.json"] = json.dumps(answers) + "\n"
        job = history.job(answers)
        failed = [task for task in job["tasks"] if task["state"] != "SUCCEEDED"]
        if job["state"] != "SUCCEEDED" or failed:
            raise RunFailed(f"{what}: job {job['state']}, {len(failed)} tasks failed; {job['diagnostics'][:150]}")
        return {"name": what, **job}

    def record(self, act: Callable[[dict[str, str]], list[Job]], user_bytes: int, **files: str) -> Result:
        """Do the jobs of a run between two readings of all counters; `files`: its input, output."""
        kept: dict[str, str] = {}

        def jobs() -> RunRecord:
            done = act(kept)
            return {"jobs": done, "start": min(job["submit"] for job in done), "end": max(job["end"] for job in done)}

        result = self.observed(jobs, by_host=True)
        workers = [host.name for host in self.stack.testbed.by_role("datanode")][: self.run.workers]
        floors = self.stack.floors.get(floor_key(self.run), {})
        outputs = self.run.workload.output_copies(self.parameters)
        record: RunRecord = {
            "user_bytes": user_bytes,
            "mounted": self.mounted,
            "output_replication": 1 if self.mounted else outputs,
            **self.coded(),
            "workers": workers,
            "busy_clients": [],
            "made_by": f"Hadoop {self.stack.hdfs.installation.version}",
            "floors": {name: value for name, value in floors.items() if name != "wire"},
            "floor_wire": floors.get("wire", 0.0),
        }
        seen = self._of_jobs(result.record["jobs"], kept)
        seen["files"] = {name: self.files_seen(path) for name, path in files.items()}
        if files:
            named = "output" if "output" in files else next(iter(files))
            asked, told = self._store(files[named], seen["files"][named])
            record["asked"] = {**result.record["asked"], "store": asked}
            seen["store"] = told
        record["evidence"] = {**result.record["evidence"], **seen}
        return result.plus(record, kept)

    def input(self, kind: str, make: Callable[[str], tuple[str, list[str]]]) -> str:
        """The path of an input that runs of the same size share, made at ease where it is not there yet.

        Each round has its own: where a file's blocks are decides how much of a job crosses the links, and runs that all
        read the same ones would tell of one placement, however many they are.
        """
        copies = self.parameters.get("replication", 1)
        folder = f"/input-{self.coding.name}" if self.coding else "/input"
        place = f"{folder}/{kind}-{self.scale.file_bytes}-{self.scale.block_bytes}-{copies}"
        path = self.path(place)
        store = json.dumps(self.run.store, sort_keys=True) if self.mounted else ""
        key, replicate = (self.run.store["kind"], store, path), self.run.row["replicate"]
        if self.stack.made.get(key) != replicate:
            self.at_ease()
            self._remove(place)
            self._code(folder)
            tool, arguments = make(path)
            self.tool(tool, arguments, f"input of {kind}")
            self.stack.made[key] = replicate
        return path


LONGEST_GAP_S = 3.0
"""Between two samples, of which there are ten per second: longer than a busy machine makes one wait."""


def _stopped(stack: Stack) -> list[str]:
    """Daemons and clients that a signal stopped since this was asked last."""
    return [name for name, process in stack.processes().items() if process.stood_still()]


def disturbances(stopped: Sequence[str], before: Mapping[str, int], after: Mapping[str, int], gap: float) -> list[str]:
    """What befell a run, each in words; `before` and `after` say how often each host's link had changed, `gap` (s) is
    the longest time between two samples. Whether the run came to its end all the same does not matter: it measured
    the pause."""
    found = [f"{name} stood still, stopped by a signal" for name in stopped]
    for name, changes in before.items():
        if after.get(name, changes) != changes:
            found.append(f"the link of {name} went down or came up {after[name] - changes} times")
    if gap > LONGEST_GAP_S:
        found.append(f"no sample was taken for {gap:.1f} s")
    return found


def _of_the_run(testbed: Testbed, counted: Links) -> Links:
    """Counters of the hosts that a run is made on: not of those whose traffic only crosses its own."""
    beside = {host.name for host in testbed.by_role(cross_traffic.ROLE)}
    return {name: of for name, of in counted.items() if name not in beside}


def _segment(before: Links, after: Links, segments: Mapping[str, tuple[int, int]],
             sent: Mapping[str, tuple[int, int]]) -> Evidence:  # fmt: skip
    """Bytes that segments with data held at least, on average, at the host where they held most.

    At least, since several segments that leave as one packet count with one header. So it cannot come out larger than
    the largest segment that was sent.
    """
    means = []
    for name in segments:
        number, with_data = (now - was for now, was in zip(sent[name], segments[name], strict=True))
        if with_data and name in before:
            means.append((after[name]["egress"] - before[name]["egress"] - (ETHERNET + HEADERS) * number) / with_data)
    return {"segment": max(means)} if means else {}


def _beside(testbed: Testbed, fabric: Fabric, before: Links, after: Links, seconds: float) -> Evidence:
    """What crossed the racks' uplinks beside the run; nothing where there is no host for it."""
    if not testbed.by_role(cross_traffic.ROLE) or not fabric.racks:
        return {}
    was, now = (cross_traffic.moved(testbed, counted) for counted in (before, after))
    return {"cross_traffic": cross_traffic.share(was, now, seconds, fabric.uplink)}


def _together(told: list[dict[str, str]], names: Iterable[str]) -> dict[str, str]:
    """Settings of several jobs: what all of them say, or all that they say."""
    values = {name: sorted({each[name] for each in told if name in each}) for name in names}
    return {name: " and ".join(found) for name, found in values.items() if found}


def _port_buffer(run: Run) -> int | None:
    kib = run.levels.get("switch_buffer_kib")
    return int(kib * 1024) if kib else None
