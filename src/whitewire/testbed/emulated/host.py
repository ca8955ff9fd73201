"""A host of the emulated testbed: namespaces that a process of the sandbox holds."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from whitewire.paths import KILLED_WITH_THIS, SYSTEM_PATH
from whitewire.testbed.base import Argv, CommandFailed, Completed, Host, Process, piped, read_line

ALL_NAMESPACES = ("--user", "--preserve-credentials", "--net", "--mount", "--pid", "--uts", "--ipc")
ENVIRONMENT = {"PATH": f"{os.environ.get('PATH', SYSTEM_PATH)}:{SYSTEM_PATH}", "LC_ALL": "C.UTF-8"}
"""The environment of every host's commands: they find the same programs as this process, such as conda's."""

_HOST = """
set -e
hostname "$1"
mkdir -p "$2/tmp" "$2/drives"
chmod 1777 "$2/tmp"
mount --bind "$2/tmp" /tmp
mount --bind "$3" /etc/hosts
ip link set lo up
echo ready
exec sleep infinity
"""
"""Arguments: the host's name, its folder, the hosts file."""


def run_inside(
    command: Sequence[str], argv: Argv, stdin: bytes | None = None, timeout: float | None = None
) -> Completed:
    """Run the local command that carries `argv` into the sandbox, to its end."""
    done = subprocess.run(command, env=ENVIRONMENT, input=stdin or b"", capture_output=True, timeout=timeout)
    return Completed(tuple(map(str, argv)), done.returncode, done.stdout, done.stderr)


class EmulatedHost(Host):
    """A host of the sandbox, entered by `nsenter` through the process that holds its namespaces."""

    def __init__(self, name: str, role: str, address: str, folder: str) -> None:
        self.name, self.role, self.address, self.folder = name, role, address, folder
        self.mac = "02:00:" + ":".join(f"{int(part):02x}" for part in address.split("."))
        self.port = ""
        """Name of its switch port, which the testbed makes."""
        self.carrier: subprocess.Popen[bytes] | None = None
        """The command that keeps its namespaces alive. `holder` is the process inside: its PID here, and in the
        sandbox."""
        self.holder = 0
        self.holder_inside = 0

    def open(self, sandbox: int, hosts_file: str) -> None:
        """Start the process that holds the host's namespaces, inside the sandbox with this PID."""
        self.carrier = subprocess.Popen(
            ["nsenter", "--target", str(sandbox), *ALL_NAMESPACES, "--wdns=/", "--", *KILLED_WITH_THIS,
             "unshare", "--net", "--uts", "--mount", "--", "sh", "-c", _HOST, "host", self.name, self.folder,
             hosts_file],
            env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    def await_open(self, deadline: float) -> None:
        """Wait, until the (monotonic) deadline, for the host to be up. Raises CommandFailed."""
        carrier = self.carrier
        if carrier is None or read_line(piped(carrier.stdout), deadline).strip() != b"ready":
            raise CommandFailed(f"testbed emulated: host {self.name} did not come up")
        children = Path(f"/proc/{carrier.pid}/task/{carrier.pid}/children").read_text().split()
        self.holder = int(children[0])
        status = Path(f"/proc/{self.holder}/status").read_text()
        self.holder_inside = int(next(line for line in status.splitlines() if line.startswith("NSpid")).split()[-1])

    def argv(self, argv: Argv, env: Mapping[str, str] | None = None) -> list[str]:
        """The command line that runs `argv` on this host and ends with the process that started it.

        `env` is set on the host, not for `nsenter`, because files that it names (LD_PRELOAD) exist only there.
        """
        enter = ["nsenter", "--target", str(self.holder), *ALL_NAMESPACES, "--wdns=/tmp", "--"]
        inside = ["env", *(f"{name}={value}" for name, value in env.items())] if env else []
        return [*enter, *KILLED_WITH_THIS, *inside, *map(str, argv)]

    def run(
        self,
        argv: Argv,
        env: Mapping[str, str] | None = None,
        stdin: bytes | None = None,
        timeout: float | None = None,
    ) -> Completed:
        return run_inside(self.argv(argv, env), argv, stdin, timeout)

    def network(self, argv: Argv) -> Completed:
        """Run a command in the host's network namespace only, which is faster to enter than all of them."""
        enter = ["nsenter", "--target", str(self.holder), "--user", "--preserve-credentials", "--net", "--"]
        return run_inside([*enter, *argv], argv)

    def start(self, argv: Argv, log: Path, env: Mapping[str, str] | None = None, name: str = "",
              stdin: int = subprocess.DEVNULL) -> Process:  # fmt: skip
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            position = output.tell()
            popen = subprocess.Popen(
                self.argv(argv, env), env=ENVIRONMENT, stdin=stdin, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        return Process(name or f"{argv[0]} on {self.name}", popen, log, position)

    def put(self, content: bytes, path: str) -> None:
        self.run(["mkdir", "-p", str(Path(path).parent)]).check()
        self.run(["dd", f"of={path}", "status=none"], stdin=content).check()

    def get(self, path: str) -> bytes:
        return self.run(["cat", path]).check().stdout

    @property
    def drive_root(self) -> str:
        return f"{self.folder}/drives"

    def drive(self, number: int) -> str:
        return f"{self.drive_root}/{number}"
