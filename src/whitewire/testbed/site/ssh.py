"""Hosts of an inventory, reached by the system's OpenSSH: its configuration, agent, jump hosts and known hosts apply.

A host's key is always checked and nothing is ever asked for. The commands of a host share the watcher's connection
(ControlMaster); since a server allows few sessions on one (MaxSessions, 10 by default), further ones are opened as
they are needed.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from whitewire.testbed.base import CommandFailed, piped
from whitewire.testbed.site.inventory import WHOLE, Place, of_inventory, offered
from whitewire.testbed.site.opening import NotReady, end_here, opened
from whitewire.testbed.site.remote import RemoteTestbed
from whitewire.testbed.site.remote_host import OPEN_S, Layout, RemoteHost
from whitewire.testbed.site.shell import READY

CONNECT_S = 5
"""Longest time to connect (ConnectTimeout)."""
SESSIONS = 8
"""Of one connection; MaxSessions less some room for what is ending."""

OPTIONS = {
    "BatchMode": "yes",
    "StrictHostKeyChecking": "yes",
    "UpdateHostKeys": "no",
    "ConnectTimeout": str(CONNECT_S),
    "ServerAliveInterval": "5",
    "ServerAliveCountMax": "3",
    "LogLevel": "INFO",  # with ERROR it keeps to itself why PAM refuses a login
    # What a user's configuration may say and would get between a command and its output.
    "ClearAllForwardings": "yes",
    "ExitOnForwardFailure": "no",
    "Tunnel": "no",
    "ForwardX11": "no",
    "ForwardAgent": "no",
    "PermitLocalCommand": "no",
    "RequestTTY": "no",
    "EscapeChar": "none",
    "VisualHostKey": "no",
    "ControlPersist": "no",
}
"""Over whatever the user's configuration says (ssh_config(5)). Variables that it sends are left to it: a command sees
none of them (shell.environment)."""
NEWER_OPTIONS = {
    "RemoteCommand": "none",  # since 7.6
    "SessionType": "default",
    "StdinNull": "no",
    "ForkAfterAuthentication": "no",
    "ChannelTimeout": "none",
}
"""Likewise, where this machine's ssh knows them; an older one cannot have them set. (IgnoreUnknown on the command line
would displace the user's own.)"""

UNSAFE = set("\\'\"`$!\n\r\t")
"""What some shell takes for more than itself, between single or double quotes."""


@cache
def known_options() -> dict[str, str]:
    """Those of NEWER_OPTIONS that this machine's ssh knows."""
    return {name: value for name, value in NEWER_OPTIONS.items() if _knows(f"{name}={value}")}


def _knows(option: str) -> bool:
    try:
        done = subprocess.run(["ssh", "-G", "-F", "/dev/null", "-o", option, "host"], capture_output=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def command_line(target: str, command: str, config: str | None = None, control: str = "none",
                 master: bool = False) -> list[str]:  # fmt: skip
    """ssh's arguments to run a command (sh) on a target.

    `config` is a configuration file in place of the user's own; `control` the socket of a shared connection, which
    this one offers (`master`) or uses.
    """
    options = OPTIONS | known_options() | {"ControlMaster": "yes" if master else "no", "ControlPath": control}
    argv = ["ssh", *(["-F", config] if config else []), "-T"]
    argv += [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    return [*argv, "--", target, for_any_login_shell(command)]


def for_any_login_shell(command: str) -> str:
    """A command line that makes sh run `command`, whether sh, csh or fish is the login shell that reads it first.

    They agree on a single-quoted word without quotes, line ends, exclamation marks and double backslashes; what may not
    stand in one is written as octal escapes, which printf(1) undoes.
    """
    safe = "".join(f"\\0{ord(letter):03o}" if letter in UNSAFE else letter for letter in command)
    return f"""exec /bin/sh -c 'eval "$(printf %b "{safe}")"'"""


class Connection:
    """A connection that commands share: its socket, the local process that holds it, and those that use it."""

    def __init__(self, path: Path, holder: subprocess.Popen[bytes] | None = None) -> None:
        self.path, self.holder = path, holder
        self.users: list[subprocess.Popen[bytes]] = []

    def free(self) -> bool:
        """Whether the server allows another session on it."""
        self.users = [popen for popen in self.users if popen.poll() is None]
        return (self.holder is None or self.holder.poll() is None) and len(self.users) < SESSIONS


class SshHost(RemoteHost):
    """A host reached by ssh."""

    folder_here: Path
    """Where the sockets of its connections are, once it is open."""

    def __init__(self, place: Place, layout: Layout, config: str | None) -> None:
        super().__init__(place, layout)
        self.ssh_config = config
        self.connections: list[Connection] = []
        self._lock = threading.Lock()

    def carry(self, command: str) -> list[str]:
        control = str(self.connections[0].path) if self.connections else "none"
        return command_line(self.target, command, self.ssh_config, control)

    def popen(self, command: str, **options: Any) -> subprocess.Popen[bytes]:
        with self._lock:
            connection = self._free()
            argv = command_line(self.target, command, self.ssh_config, str(connection.path) if connection else "none")
            popen = self._popen(argv, **options)
            if connection:
                connection.users.append(popen)
        return popen

    def _free(self) -> Connection | None:
        """A connection with room; None before the first one."""
        if not self.connections:
            return None
        return next((one for one in self.connections if one.free()), None) or self._another()

    def _socket(self) -> Path:
        return self.folder_here / f"{self.name}.{len(self.connections) + 1}"

    def _another(self) -> Connection:
        """One more connection; what holds it on the host ends when this process does."""
        path = self._socket()
        command = command_line(
            self.target, f"printf '\\n{READY}\\n'; exec cat", self.ssh_config, str(path), master=True
        )
        with tempfile.TemporaryFile() as errors:
            try:
                holder = opened(partial(self._popen, command), errors, OPEN_S)
            except NotReady as fault:
                full = f"no second connection, the first one has {SESSIONS} sessions"
                raise CommandFailed(f"{self}: {full}: {fault}") from None
        self.connections.append(Connection(path, holder))
        return self.connections[-1]

    def popen_watcher(self, command: str, **options: Any) -> subprocess.Popen[bytes]:
        self.connections = []  # none, or that of a try that failed
        path = self._socket()
        popen = self._popen(command_line(self.target, command, self.ssh_config, str(path), master=True), **options)
        self.connections.append(Connection(path))
        return popen

    def open(self, private: Path) -> None:
        self.folder_here = private
        try:
            super().open(private)
        except BaseException:
            self.connections = []
            raise

    def release(self) -> None:
        super().release()
        for connection in self.connections:
            if connection.holder is not None:
                with contextlib.suppress(OSError):
                    piped(connection.holder.stdin).close()

    def closed(self, timeout: float) -> bool:
        clean = super().closed(timeout)
        for connection in self.connections:
            if connection.holder is not None:
                end_here(connection.holder)
                piped(connection.holder.stdout).close()
        self.connections = []
        return clean


def configuration(config: Mapping[str, Any]) -> str | None:
    """The configuration file of ssh that a testbed's description names in place of the user's own."""
    file = config.get("ssh_config")
    return os.path.expanduser(file) if file else None


class SshTestbed(RemoteTestbed):
    """The machines of a lane of `config` (kind ssh) that `roles` asks for; see RemoteTestbed."""

    def __init__(self, config: Mapping, roles: Mapping[str, int], k: float, source: str = "testbed",
                 lane: int = 1) -> None:  # fmt: skip
        layout, file = Layout.of(config), configuration(config)
        hosts = [SshHost(place, layout, file) for place in of_inventory(config, roles, source, lane)]
        super().__init__(config, hosts, layout, k, source)

    @classmethod
    def whole(cls, config: Mapping, source: str = "testbed") -> SshTestbed:
        """All machines of the inventory."""
        return cls(config, offered(config), config.get("scale", 1), source, WHOLE)
