"""Finds why a connection or a step failed in the output of ssh or a scheduler's command. Pure.

The line with the reason is rarely the last one: ssh then reports that the connection closed, srun that it ends the
step. Banners, warnings and the output of start files come before it.
"""

from __future__ import annotations

import re

LONGEST = 300
"""Most characters of a reason."""

CAUSES = {
    # the user's own files
    r"line \d+: Bad configuration option: ": "",
    r"^\S*[^:\s] line \d+: .*([Mm]issing|argument|garbage)": "",  # errors of bash have a colon after the file
    r"^Bad owner or permissions on ": "",
    r"^Load key ": "",
    r"^no such identity: ": "",
    r"agent refused operation": "",
    r"too long for Unix domain socket": "",
    # names, addresses and host keys
    r"^ssh: ": "",
    r"^No \S+ host key is known for ": "log in to it once by hand",
    r"^(\S+ host key|Host key) for .* has changed and you have requested ": "another host key than known_hosts has",
    r"^Host key verification failed": "of a jump host: log in to it once by hand",
    r"^Unable to negotiate with ": "",
    r"^ssh_dispatch_run_fatal: ": "",
    r"(^|: )(Connection|Operation) timed out( during banner exchange)?\.?$|^srun: .*timed out": "",
    # restrictions of a jump host
    r"^channel \d+: open failed: administratively prohibited": "a jump host does not forward (AllowTcpForwarding)",
    r"^channel \d+: open failed: ": "",
    # logins that are refused
    r"^(\S+: )?Permission denied \([\w,-]*\)\.?$": "",
    r"^Received disconnect from ": "",
    r"^Access denied(: user | by pam_)": "",
    r"^(WARNING: )?Your (password|account) has expired": "",
    r"[Uu]nprivileged users are not permitted|pam_nologin": "",
    # folders of the run
    r"^mkdir: .*/whitewire-.*: File exists$": "`work` and `data` are to be folders that are local to each host",
    # Slurm
    r"unrecognized option '--overlap'": "Slurm 20.11 or newer is needed",
    r"^(srun|slurmstepd\S*): (error|fatal): ": "",
    # other schedulers
    r"^error: executing task of job \d+ failed: .* didn't accept task$": "no slot of the job is free there",
    r"^error: executing task of job \d+ failed: ": "",
    r"^(oarsh|blaunch|flux-exec): ": "",
    # Apptainer
    r"^ERROR  : .*(create user namespace|info to setgroups)": "no user namespaces for users: docs/sites/containers.md",
    r"^(FATAL|ERROR): {3}|^ERROR  : ": "",
}
"""Patterns of lines that give a reason, and advice to append (may be empty); none matches the prose of a banner."""

_CLOSED = re.compile(
    r"^(kex|ssh)_exchange_identification: (\w+: )?(Connection (closed|reset)|Broken pipe)"
    r"|^Connection (to \S+ (port \d+ )?)?(closed|reset|timed out$)|^Disconnected from "
    r"|^(client_loop|Write failed|write)\b.*Broken pipe"
)
"""Lines that report only that a connection ended."""

NOISE = re.compile(
    r"^\W*$"  # decoration
    r"|^@ .* @$|^\*\* "  # frames; warnings about key exchange
    r"|^Warning: Permanently added |^Pseudo-terminal |^mux_client|^ControlSocket |^debug\d: "
    r"|^Permissions \d+ for .* are too open|^This private key will be ignored"
    r"|: terminating, \d+ bad configuration options|^stdio forwarding failed"
    r"|Inappropriate ioctl for device|^tput: |: warning: setlocale: "  # start files without a terminal
    r"|^Try .* for more information"
    r"|^ERROR  : Error while waiting event for user namespace mappings"
    r"|^srun: error: (Timed out waiting for job step|Application launch |\S+: tasks? [\d,-]+: )"
)
"""Lines that do not explain a failure."""


COLOUR = re.compile(r"\x1b\[[0-9;]*m")
"""Colour codes: Apptainer's starter puts them into its errors even without a terminal."""


def reason(said: bytes | str) -> str:
    """The cause, else the line on the closed connection and the last other line, which may give a reason."""
    return cause(said) or ": ".join(filter(None, (closing(said), "".join(_lines(said)[-1:]))))[:LONGEST]


def cause(said: bytes | str) -> str:
    """The lines that match CAUSES, with their advice; empty if none does."""
    causes = {line: advice for line in _lines(said) if (advice := _advice(line)) is not None}
    if len(causes) > 1:  # an unknown or changed key is named in another line
        causes = {line: advice for line, advice in causes.items() if not line.startswith("Host key verification")}
    lines = [f"{line.rstrip('.')}: {advice}" if advice else line for line, advice in causes.items()]
    return "; ".join(lines)[:LONGEST]


def _lines(said: bytes | str) -> list[str]:
    """The lines that may give a reason."""
    return [line for line in _all_lines(said) if not NOISE.search(line) and not _CLOSED.search(line)]


def _all_lines(said: bytes | str) -> list[str]:
    text = said if isinstance(said, str) else said.decode(errors="replace")
    return [line.strip() for line in COLOUR.sub("", text).splitlines()]


def _advice(line: str) -> str | None:
    """The advice for a line that matches CAUSES (may be empty); None for any other line."""
    return next((advice for pattern, advice in CAUSES.items() if re.search(pattern, line)), None)


def closing(said: bytes | str) -> str:
    """The first line that reports the end of the connection; empty if there is none."""
    return next(filter(_CLOSED.search, _all_lines(said)), "")
