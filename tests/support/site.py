"""A site to test remote testbeds on: emulated hosts with a second network, an ordinary user and real servers on them.

The servers are the distribution's own (sshd; munged, slurmctld and slurmd), run without root by that user. A site
needs no port of this machine and leaves nothing behind: it ends with the emulated hosts.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import pytest

from tests.support.limits import of_kind
from whitewire.paths import HOME, SYSTEM_PATH
from whitewire.testbed.base import piped
from whitewire.testbed.emulated import software
from whitewire.testbed.emulated.host import EmulatedHost
from whitewire.testbed.emulated.sandbox import EmulatedTestbed
from whitewire.testbed.emulated.software import ROOT
from whitewire.testbed.emulated.switch import shaped

USER, UID = "researcher", 1000
EXECUTOR = {"PYTHONPATH": f"{HOME / '.cache' / 'slurm-executor'}:{HOME / 'src'}"}
"""With it Snakemake finds its executor for Slurm, as set-up installs it, and jobs find the programs under test."""
SEEN_BY_NODES = pytest.mark.skipif(
    HOME.is_relative_to("/tmp"), reason="nodes have a /tmp of their own and do not see this clone"
)
WORK, DATA = "/tmp/work", ["/tmp/data1", "/tmp/data2"]
"""Folders below a host's own /tmp."""
SCALE = 20
"""What divides the rates of the site's links, unless a test says otherwise."""


def installed(name: str) -> str:
    """Where a server is, empty if it is nowhere; also for a user whose path lacks the folders of servers."""
    return shutil.which(name, path=SYSTEM_PATH) or ""


def description(bounds: dict, kind: str, **more) -> dict:
    """A testbed's description that fits the site: 1gbe is eth0, 10gbe is eth1, both at a part of their rate."""
    return {
        "kind": kind,
        "scale": SCALE,
        "fabrics": {
            "1gbe": {"rate_mbit_per_s": 1000, "interface": "eth0"},
            "10gbe": {"rate_mbit_per_s": 10000, "interface": "eth1"},
        },
        "work": WORK,
        "data": DATA,
        "limits": of_kind(bounds, kind),
        "memory": {"minimum_gib": 1},
        "disk": {"minimum_gib": 0.01},
        "probes": {"seconds": 0.3, "streams": [1]},
        **more,
    }


class Site:
    """What makes emulated hosts look like machines that belong to someone else."""

    def __init__(self, testbed: EmulatedTestbed) -> None:
        self.testbed = testbed
        self.folder = f"{ROOT}/site"
        self._second_network()
        testbed.fabric("1gbe")
        self._user()
        for host in testbed.hosts:
            # /sys of its own network instead of this machine's.
            self.as_root(host, "mount", "-t", "sysfs", "sysfs", "/sys")
            self.as_root(host, "mkdir", "-p", "/tmp/home", *DATA)

    def as_root(self, host: EmulatedHost, *argv: str) -> bytes:
        """Run a command as the host's administrator."""
        return host.run(argv).check().stdout

    def as_user(self, host: EmulatedHost, argv: Sequence[str]) -> list[str]:
        """The local command line that runs a command as the ordinary user of a host."""
        enter = ["nsenter", "--user", "--preserve-credentials", f"--target={self.holder}", "--wdns=/", "--"]
        return host.argv([*enter, *argv])

    def hide(self, host: EmulatedHost, path: str, content: bytes, mode: str = "644") -> None:
        """Lay a file over another one, on one host only."""
        self.write(f"{self.folder}/{host.name}/{Path(path).name}", content, mode)
        self.as_root(host, "mount", "--bind", f"{self.folder}/{host.name}/{Path(path).name}", path)

    def write(self, path: str, content: bytes, mode: str) -> None:
        """A file that all hosts see."""
        self.testbed.share(path, content)
        self.testbed.inside(["chmod", mode, path]).check()

    def _second_network(self) -> None:
        """eth1 of every host, on a switch of its own, shaped as 10gbe."""
        testbed = self.testbed
        self._network(1, "10.78.0")
        rate = testbed.config["fabrics"]["10gbe"]["rate_mbit_per_s"] / testbed.k
        buffer = testbed.switch.port_buffer(rate)
        for number, host in enumerate(testbed.hosts, start=1):
            host.run(["tc", "-batch", "-"], stdin=shaped("eth1", rate, buffer, "add")).check()
            port = shaped(f"port1x{number}", rate, buffer, "add")
            testbed.inside(["tc", "-batch", "-"], stdin=port).check()

    def _network(self, which: int, prefix: str) -> None:
        """An interface eth`which` of every host, on a switch of its own, not shaped; addresses `prefix`.1, .2, …"""
        testbed, lines = self.testbed, [f"link add switch{which} type bridge stp_state 0 mcast_snooping 0"]
        for number, host in enumerate(testbed.hosts, start=1):
            port = f"port{which}x{number}"
            lines += [
                f"link add {port} type veth peer name eth{which} netns {host.holder_inside}",
                f"link set {port} master switch{which}",
                f"link set {port} up",
            ]
        lines += [f"link set switch{which} up"]
        testbed.inside(["ip", "-batch", "-"], stdin="\n".join(lines).encode()).check()
        for number, host in enumerate(testbed.hosts, start=1):
            up = f"addr add {prefix}.{number}/24 dev eth{which}\nlink set eth{which} up"
            host.run(["ip", "-batch", "-"], stdin=up.encode()).check()

    def _user(self) -> None:
        """An ordinary user: a user namespace below the sandbox's, in which its administrator is number 1000."""
        unshare = ["unshare", "--user", f"--map-user={UID}", f"--map-group={UID}", "--"]
        self.carrier = subprocess.Popen(
            self.testbed.hosts[0].argv([*unshare, "sh", "-c", "echo $$; exec sleep infinity"]),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        )  # fmt: skip
        self.holder = int(piped(self.carrier.stdout).readline())
        passwd = f"root:x:0:0:root:/root:/bin/sh\n{USER}:*:{UID}:{UID}::/tmp/home:/bin/bash\n"
        for host in self.testbed.hosts:
            self.hide(host, "/etc/passwd", passwd.encode())
            self.hide(host, "/etc/group", f"root:x:0:\n{USER}:x:{UID}:\n".encode())

    def close(self) -> None:
        self.carrier.kill()
        self.carrier.wait()
        piped(self.carrier.stdout).close()


class SshSite(Site):
    """sshd on every host, in the mode in which inetd starts it: one for each connection, inside its host.

    ssh's configuration (`config`) has a ProxyCommand instead of a port for each host.
    """

    def __init__(self, testbed: EmulatedTestbed, folder: Path) -> None:
        super().__init__(testbed)
        self.local, self.config = folder, folder / "ssh_config"
        self.proxies = {host.name: shlex.join(self._sshd(host)) for host in testbed.hosts}
        self.public = {host.name: self._keys_of(host) for host in testbed.hosts}
        client = self._new_key(folder / "id")
        self.write(f"{self.folder}/authorized_keys", client, "600")
        self.write(f"{self.folder}/banner", b"Authorized use only.\nAccess is prohibited.\n", "644")
        # As many sites have them: on the first host the title of a window, on the others a complaint on standard error.
        title, complaint = b"printf '\\033]0;%s\\007' \"$HOSTNAME\"", b"printf 'no line end'; stty -ixon"
        for host in testbed.hosts:
            last = title if host is testbed.hosts[0] else complaint
            host.put(b"echo Welcome to the cluster; " + last + b"\n", "/tmp/home/.bashrc")
        self.write_known_hosts(self.public)
        self.write_config(self.proxies)

    @staticmethod
    def _new_key(path: Path) -> bytes:
        """Make a key pair; its public part."""
        argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)]
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)
        return path.with_suffix(".pub").read_bytes()

    def _keys_of(self, host: EmulatedHost) -> bytes:
        public = self._new_key(self.local / f"host-{host.name}")
        own = f"{self.folder}/{host.name}"
        self.write(f"{own}/key", (self.local / f"host-{host.name}").read_bytes(), "600")
        lines = [
            f"HostKey {own}/key", f"AuthorizedKeysFile {self.folder}/authorized_keys", "StrictModes no",
            "AuthenticationMethods publickey", "UsePAM no", "PidFile none", "PrintMotd no", "LogLevel VERBOSE",
            f"Banner {self.folder}/banner",
        ]  # fmt: skip
        self.write(f"{own}/sshd_config", "\n".join(lines).encode() + b"\n", "644")
        return public

    def _sshd(self, host: EmulatedHost) -> list[str]:
        own = f"{self.folder}/{host.name}"
        return self.as_user(host, [installed("sshd"), "-i", "-f", f"{own}/sshd_config", "-E", f"{own}/sshd.log"])

    def write_known_hosts(self, public: dict[str, bytes]) -> None:
        lines = [f"{name} {key.decode().strip()}" for name, key in public.items()]
        (self.local / "known_hosts").write_text("\n".join(lines) + "\n")

    def write_config(self, proxies: dict[str, str]) -> None:
        """An ssh_config whose hosts are reached by these commands."""
        common = [
            f"  User {USER}", f"  IdentityFile {self.local}/id", "  IdentitiesOnly yes", "  IdentityAgent none",
            f"  UserKnownHostsFile {self.local}/known_hosts", "  GlobalKnownHostsFile /dev/null",
        ]  # fmt: skip
        blocks = [["Host " + name, f"  ProxyCommand {command}"] for name, command in proxies.items()]
        self.config.write_text("\n".join(line for block in blocks for line in block) + "\nHost *\n" + "\n".join(common))

    def description(self, bounds: dict, **more) -> dict:
        """The testbed's description: an inventory of all hosts."""
        hosts = [{"ssh": host.name, "role": host.role} for host in self.testbed.hosts]
        return description(bounds, "ssh", ssh_config=str(self.config), hosts=hosts, **more)


MANAGEMENT = "10.79.0"
"""Slurm's own network: what steps say does not share a link with what is measured."""
SLURM = """
ClusterName=site
SlurmctldHost={controller}({address})
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation=/tmp/slurmctld
SlurmdSpoolDir=/tmp/slurmd
SlurmctldPidFile=/tmp/slurmctld.pid
SlurmdPidFile=/tmp/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
TaskProlog=/etc/slurm/prolog
SchedulerParameters=sched_interval=1
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=20
KillWait=5
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


PROLOG = b"""#!/bin/sh
echo "print --------------------- Slurm Task Prolog ------------------------"
echo "print Job ID: $SLURM_JOB_ID"
echo "print ready"
echo "export PROLOG=seen"
"""
"""What many sites have: a prolog whose words are in the output of each step."""


class ScheduledSite(Site):
    """A scheduler's servers on the hosts.

    `commands` is a folder with its commands, as they are on the first host, where a job's program runs.
    """

    environ: dict[str, str] = {}
    """What the scheduler's programs find in their environment."""

    def __init__(self, testbed: EmulatedTestbed, folder: Path) -> None:
        super().__init__(testbed)
        self.first = testbed.hosts[0]
        self.servers: list[subprocess.Popen[bytes]] = []
        self.commands, self.logs = folder / "bin", folder

    def _start(self, host: EmulatedHost, program: str, *arguments: str) -> None:
        with (self.logs / f"{Path(program).name}.{host.name}.log").open("wb") as log:
            self.servers.append(subprocess.Popen(
                self.as_user(host, [*self._given(), program, *arguments]),
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            ))  # fmt: skip

    def _given(self) -> list[str]:
        """What begins the command line of each of the scheduler's programs: their environment."""
        return ["env", *(f"{name}={value}" for name, value in self.environ.items())]

    def _make_commands(self, programs: Sequence[str]) -> None:
        self.commands.mkdir()
        for program in programs:
            command = shlex.join(self.as_user(self.first, [*self._given(), program]))
            path = self.commands / Path(program).name
            path.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
            path.chmod(0o755)

    def _until(self, done, what: str, seconds: float = 30.0) -> None:
        deadline = time.monotonic() + seconds
        while not done():
            if time.monotonic() > deadline:
                logs = "\n".join(f"{log.name}: {log.read_text()[-600:]}" for log in sorted(self.logs.glob("*.log")))
                raise TimeoutError(f"{what}: not within {seconds:.0f} s\n{logs}")
            time.sleep(0.1)

    def close(self) -> None:
        for server in reversed(self.servers):
            server.kill()
            server.wait()
        super().close()


class SlurmSite(ScheduledSite):
    """munged, slurmctld and a slurmd on every host; `job` is an allocation of all of them."""

    SERVERS = ("munged", "slurmctld", "slurmd", "srun")
    COMMANDS = ("srun", "scontrol", "squeue", "scancel", "salloc", "sbatch", "sinfo")

    def __init__(self, testbed: EmulatedTestbed, folder: Path) -> None:
        super().__init__(testbed, folder)
        self.crashed: list[EmulatedHost] = []
        self._network(2, MANAGEMENT)
        self._configure()
        self._start_munge()
        for host in testbed.hosts:
            self.as_root(host, "mkdir", "-p", "/tmp/slurmd", "/tmp/slurmctld")
        self._start(self.first, installed("slurmctld"), "-D")
        for host in testbed.hosts:
            self._start(host, installed("slurmd"), "-D")
        self._make_commands([installed(name) for name in self.COMMANDS])
        self.job = self._allocate()

    def _configure(self) -> None:
        nodes = "\n".join(
            f"NodeName={host.name} NodeAddr={MANAGEMENT}.{number} CPUs=2 RealMemory=1000 State=UNKNOWN"
            for number, host in enumerate(self.testbed.hosts, start=1)
        )
        text = SLURM.format(controller=self.first.name, address=f"{MANAGEMENT}.1", user=USER, nodes=nodes)
        self.write(f"{self.folder}/slurm/slurm.conf", text.encode(), "644")
        self.write(f"{self.folder}/slurm/cgroup.conf", b"CgroupPlugin=cgroup/v1\n", "644")
        self.write(f"{self.folder}/slurm/prolog", PROLOG, "755")
        for host in self.testbed.hosts:
            self.as_root(host, "mount", "--bind", f"{self.folder}/slurm", "/etc/slurm")

    def _start_munge(self) -> None:
        """One for all hosts: its socket is a file that they share."""
        self.write(f"{self.folder}/munge/key", bytes(range(256)) * 4, "400")
        self.testbed.inside(["mkdir", "-p", "/run/munge"]).check()
        own = f"{self.folder}/munge"
        self._start(
            self.first, installed("munged"), "--foreground", "--force", f"--key-file={own}/key",
            f"--log-file={own}/log", f"--pid-file={own}/pid", f"--seed-file={own}/seed", "--num-threads=2",
        )  # fmt: skip
        self._until(lambda: self.testbed.inside(["test", "-S", "/run/munge/munge.socket.2"]).status == 0, "munged")

    def crash(self, host: EmulatedHost) -> None:
        """All processes of a node end at once; its network stays."""
        own = Path(f"/proc/{host.holder}/ns/net").readlink()
        spared = {host.holder, self.holder}
        killed = True
        while killed:  # one may start another meanwhile
            killed = False
            for process in psutil.process_iter():
                with contextlib.suppress(psutil.Error, OSError):
                    if process.pid not in spared and Path(f"/proc/{process.pid}/ns/net").readlink() == own:
                        process.kill()
                        killed = True
        self.crashed.append(host)

    def revive(self) -> None:
        """Start Slurm again on the nodes that crashed, whose /tmp is then without runs, and wait until all are idle."""
        while self.crashed:
            host = self.crashed.pop()
            self.as_root(host, "sh", "-c", f"rm -rf {WORK}/whitewire-* /tmp/data*/whitewire-*")
            self._start(host, installed("slurmd"), "-D")
        nodes = len(self.testbed.hosts)
        self._until(lambda: self.slurm("sinfo", "--noheader", "--format=%D %t").stdout.split() == [str(nodes), "idle"],
                    "idle nodes", 60)  # fmt: skip

    def slurm(self, name: str, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([self.commands / name, *arguments], capture_output=True, text=True, timeout=60)

    def rejoin(self) -> None:
        """All nodes in a new job, which this process seems to be in."""
        self.job = os.environ["SLURM_JOB_ID"] = self._allocate()

    def _allocate(self) -> str:
        count = str(len(self.testbed.hosts))
        said = ""

        def granted() -> bool:
            nonlocal said
            done = self.slurm("salloc", "--no-shell", f"--nodes={count}", "--exclusive", "--immediate=5")
            said = done.stderr
            return done.returncode == 0

        self._until(granted, "salloc")
        return said.rsplit("job allocation", 1)[1].split()[0]


@contextlib.contextmanager
def open_ssh_site(config: dict, roles: dict, k: int, folder: Path) -> Iterator[SshSite]:
    """Hosts that are reached by ssh, or skip the test."""
    if not installed("sshd"):
        pytest.skip("no sshd: install openssh-server")
    with EmulatedTestbed(config, roles, k, software.binds()) as testbed:
        with contextlib.closing(SshSite(testbed, folder)) as site:
            yield site


@contextlib.contextmanager
def open_slurm_site(config: dict, roles: dict, k: int, folder: Path) -> Iterator[SlurmSite]:
    """Nodes of a Slurm cluster, all of them in one job, which this process is in as far as it can tell; or skip."""
    with open_nodes(config, roles, k, folder) as site, in_the_job(site):
        yield site


@contextlib.contextmanager
def in_the_job(site: SlurmSite) -> Iterator[None]:
    """This process has Slurm's commands and seems to be in the job of all nodes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{site.commands}:{os.environ['PATH']}")
        patch.setenv("SLURM_JOB_ID", site.job)
        yield


@contextlib.contextmanager
def open_nodes(config: dict, roles: dict, k: int, folder: Path) -> Iterator[SlurmSite]:
    """Nodes of a Slurm cluster, all of them in one job; or skip the test."""
    if missing := [name for name in SlurmSite.SERVERS if not installed(name)]:
        pytest.skip(f"no {', '.join(missing)}: install munge slurmctld slurmd slurm-client slurm-wlm-basic-plugins")
    with EmulatedTestbed(config, roles, k, software.binds()) as testbed:
        with contextlib.closing(SlurmSite(testbed, folder)) as site:
            yield site
