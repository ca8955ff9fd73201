"""Hosts of an inventory, reached by the system's OpenSSH: its configuration, agent, jump hosts and known hosts apply.

Host keys are always checked, and ssh never prompts. The commands of a host share the watcher's connection
(ControlMaster). A server allows few sessions per connection (MaxSessions, 10 by default), so further connections are
opened as needed.
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
from whitewire.testbed.site.inventory import ALL_LANES, Place, of_inventory, offered
from whitewire.testbed.site.opening import NotReady, end_here, opened
from whitewire.testbed.site.remote import RemoteTestbed
from whitewire.testbed.site.remote_host import OPEN_S, Layout, RemoteHost
from whitewire.testbed.site.shell import READY

CONNECT_S = 5
"""Longest time to connect, in seconds (ConnectTimeout)."""
SESSIONS = 8
"""Most sessions per connection: the default MaxSessions less some room for sessions that are just ending."""

OPTIONS = {
    "BatchMode": "yes",
    "StrictHostKeyChecking": "yes",
    "UpdateHostKeys": "no",
    "ConnectTimeout": str(CONNECT_S),
    "ServerAliveInterval": "5",
    "ServerAliveCountMax": "3",
    "LogLevel": "INFO",  # ERROR would hide why PAM refuses a login
    # Settings of a user's configuration that would disturb commands and their output.
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
"""Options that override the user's configuration (ssh_config(5)). SendEnv and SetEnv need no override, since commands
do not see such variables (shell.environment)."""
NEWER_OPTIONS = {
    "RemoteCommand": "none",  # since 7.6
    "SessionType": "default",
    "StdinNull": "no",
    "ForkAfterAuthentication": "no",
    "ChannelTimeout": "none",
}
"""Further such options, for an ssh that is new enough to know them. (IgnoreUnknown on the command line would replace
the user's own.)"""

_UNSAFE = set("\\'\"`$!\n\r\t")
"""Characters that are special to some shell even inside single or double quotes."""


@cache
def known_options() -> dict[str, str]:
    """The NEWER_OPTIONS that this machine's ssh knows."""
    return {name: value for name, value in NEWER_OPTIONS.items() if _knows(f"{name}={value}")}


def _knows(option: str) -> bool:
    try:
        done = subprocess.run(["ssh", "-G", "-F", "/dev/null", "-o", option, "host"], capture_output=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def command_line(target: str, command: str, config: str | None = None, control: str = "none",
                 master: bool = False) -> list[str]:  # fmt: skip
    """The ssh command line that runs a command (sh) on a target.

    `config`: a configuration file in place of the user's own; `control`: the socket of a shared connection, which
    this command opens (`master`) or uses.
    """
    options = OPTIONS | known_options() | {"ControlMaster": "yes" if master else "no", "ControlPath": control}
    argv = ["ssh", *(["-F", config] if config else []), "-T"]
    argv += [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    return [*argv, "--", target, for_any_login_shell(command)]


def for_any_login_shell(command: str) -> str:
    """A command line that makes sh run `command`, whether the user's login shell is sh, csh or fish.

    All of them read a single-quoted word alike if it has no quotes, line ends, exclamation marks and double
    backslashes. Such characters are written as octal escapes, which printf(1) decodes.
    """
    safe = "".join(f"\\0{ord(letter):03o}" if letter in _UNSAFE else letter for letter in command)
    return f"""exec /bin/sh -c 'eval "$(printf %b "{safe}")"'"""


class Connection:
    """A shared connection: its socket, the local process that keeps it open, and the processes that use it."""

    def __init__(self, path: Path, holder: subprocess.Popen[bytes] | None = None) -> None:
        self.path, self.holder = path, holder
        self.users: list[subprocess.Popen[bytes]] = []

    def free(self) -> bool:
        """Whether the connection is open and has fewer than SESSIONS sessions."""
        self.users = [popen for popen in self.users if popen.poll() is None]
        return (self.holder is None or self.holder.poll() is None) and len(self.users) < SESSIONS


class SshHost(RemoteHost):
    """A host reached by ssh."""

    folder_here: Path
    """Local folder of its connections' sockets, set once it is open."""

    def __init__(self, place: Place, layout: Layout, config: str | None) -> None:
        super().__init__(place, layout)
        self.ssh_config = config
        self.connections: list[Connection] = []
        self._lock = threading.Lock()

    def popen(self, command: str, **options: Any) -> subprocess.Popen[bytes]:
        with self._lock:
            connection = self._free()
            argv = command_line(self.target, command, self.ssh_config, str(connection.path) if connection else "none")
            popen = self._popen(argv, **options)
            if connection:
                connection.users.append(popen)
        return popen

    def _free(self) -> Connection | None:
        """A connection with room for another session; None before the first connection."""
        if not self.connections:
            return None
        return next((one for one in self.connections if one.free()), None) or self._another()

    def _socket(self) -> Path:
        return self.folder_here / f"{self.name}.{len(self.connections) + 1}"

    def _another(self) -> Connection:
        """Open a further connection, whose process on the host ends with this one."""
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
        self.connections = []  # drops that of a failed attempt
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
    """The configuration file of ssh that a testbed's description names; None: the user's own."""
    file = config.get("ssh_config")
    return os.path.expanduser(file) if file else None


class SshTestbed(RemoteTestbed):
    """The machines of one lane of `config` (kind ssh) that `roles` requires; see RemoteTestbed."""

    def __init__(self, config: Mapping, roles: Mapping[str, int], source: str = "testbed", lane: int = 1) -> None:
        layout, file = Layout.of(config), configuration(config)
        hosts = [SshHost(place, layout, file) for place in of_inventory(config, roles, source, lane)]
        super().__init__(config, hosts, layout, source)

    @classmethod
    def whole(cls, config: Mapping, source: str = "testbed") -> SshTestbed:
        """All machines of the inventory."""
        return cls(config, offered(config), source, ALL_LANES)
