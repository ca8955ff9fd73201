"""Names of a site and of the machine that measured, found in its description, its records and its logs."""

from __future__ import annotations

import getpass
import ipaddress
import re
import socket
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from whitewire import paths

HOST, USER, DOMAIN, INTERFACE, FOLDER, SLURM = "host name", "user", "domain", "interface", "folder", "Slurm name"
NAME_KINDS = (HOST, USER, DOMAIN, INTERFACE, SLURM, FOLDER)
_Found = dict[str, set[str]]
"""Names by kind."""
_TARGET, PATH = "target", "path"
"""Kinds found in text besides NAME_KINDS: the target of an ssh command, and a path."""
_NAME = r"([A-Za-z][\w.-]*\w|[A-Za-z])"
PATTERNS = tuple((kind, re.compile(text)) for kind, text in (
    (_TARGET, r'"target": "([^"]+)"'),
    (_TARGET, r"\b[Pp]roxy[Jj]ump[ =]+([^\s,]+)"),
    (_TARGET, r"(?<![\w.-])([\w.-]+@[\w.-]+): Permission denied"),
    (INTERFACE, r'"interface": "([^"]+)"'),
    (PATH, r'"(?:prefix|image|home|configuration|folder|path)": "(/[^"]+)"'),
    (USER, r"/(?:home|Users)/" + _NAME),
    (USER, r"\b(?:ugi|UserId|GroupId|USER|LOGNAME|SLURM_JOB_USER|user|owner)=" + _NAME),
    (USER, r"\b(?:as:|user: )" + _NAME + r" \(auth:"),
    (HOST, r"(?<![\w/.-])" + _NAME + r"/(?=\d{1,3}(?:\.\d{1,3}){3}\b)"),  # as Java writes an address
    (HOST, r"\bhdfs://" + _NAME),
    (HOST, r"\bLinux " + _NAME + r" \d+\.\d+"),  # uname -a, as iperf3 has it
    (HOST, r'"(?:nodeHttpAddress|nodeAddress|host[nN]ame|HostName)"\s*:\s*"' + _NAME),
    (HOST, r"\bAllocNode:Sid=" + _NAME),
    (HOST, r"\b(?:HOSTNAME|SLURMD_NODENAME|SLURM_SUBMIT_HOST|BatchHost|NodeList)=" + _NAME + r"(?![\w\[])"),
    (HOST, r"\b(?:connect to host|resolve hostname|closed by|is known for) " + _NAME),
    (SLURM, r"\b(?:SLURM_JOB_(?:ACCOUNT|PARTITION|NAME|QOS|RESERVATION)|Account|Partition|JobName|QOS|Reservation)="
            r"([\w.@+-]+)"),
    (SLURM, r"--(?:account|partition|qos|reservation|job-name)[= ]([\w.@+-]+)"),
    (SLURM, r"(?m)^\s*(?:slurm_account|slurm_partition|slurm_qos|constraint|clusters):\s*[\"']?([\w.@+-]+)"),
))  # fmt: skip
"""Names in the text of records, logs and profiles, by kind."""
_COLUMNS = {"target": _TARGET, "interface": INTERFACE, "folder": PATH, "host": HOST, "datanode": HOST}
"""Columns of tables with names."""
OURS = re.compile(
    r"(?:namenode|datanode|client|mds|oss|mon|localhost|machine|whitewire)\d*|all clients|(?:intermediate )?drive \d+"
)
"""Hosts as Whitewire itself calls them, which say nothing of a site."""
_MADE = re.compile(r"(?:host|user|interface|folder|slurm)-\d+|site-\d+[.]example")
"""Names that stand for others already."""
ACCOUNTS = {"root", "hadoop", "hdfs", "yarn", "mapred", "nobody", "admin", "ubuntu", "debian", "unknown"}
PLAIN_INTERFACE = re.compile(r"(?:lo|eth\d+|en[ospP]\w{0,12}|ib\w{0,6}\d|bond\d+|br\d+|team\d+)(?:[.:]\d+)?")
"""Names that kernels give, but for enx and a hardware address."""
_FOLDERS = {"home", "users", "usr", "opt", "var", "tmp", "srv", "mnt", "media", "lustre", "gpfs", "nvme", "ssd", "hdd",
            "raid", "jvm", "lib", "local", "share", "work", "etc", "dev", "shm", "ssh"}  # fmt: skip


def of_description(testbed: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(kind, name) of all names in a testbed's description; for hosts also what ssh resolves them to."""
    for host in testbed.get("hosts", ()):
        yield _TARGET, host["ssh"]
        yield from _by_ssh(host["ssh"], testbed.get("ssh_config", ""))
        yield from ((INTERFACE, link["interface"]) for link in host.get("fabrics", {}).values() if "interface" in link)
    for fabric in testbed["fabrics"].values():
        if "interface" in fabric:
            yield INTERFACE, fabric["interface"]
    keys = ("ssh_config", "host_file", "work", "data", "java", "hadoop", "path", "cluster", "mount", "hibench",
            "transports")  # fmt: skip
    texts = (text for key in keys for text in _texts(testbed.get(key)))
    # A variable may hold several folders, an option of Java one after its name.
    yield from ((PATH, path) for text in texts for path in re.split("[:=]", text) if "/" in path)
    image = testbed.get("image", {})
    yield from ((PATH, image[key]) for key in ("path", "copy") if key in image)
    registry, _, folders = image.get("pull", "").partition("://")[2].partition("@")[0].partition("/")
    yield from ((HOST, registry.partition(":")[0]), (PATH, folders))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each)


def _by_ssh(target: str, config: str) -> Iterator[tuple[str, str]]:
    """The host's own name, user and jump hosts by ssh's configuration on this machine, where it has one."""
    options = ["-F", str(Path(config).expanduser())] if config else []
    try:
        done = subprocess.run(["ssh", "-G", *options, "--", target], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return
    for key, _, value in (line.partition(" ") for line in done.stdout.splitlines()):
        if key in ("hostname", "proxyjump") and value != "none":
            yield from ((_TARGET, each) for each in value.split(","))
        elif key == "user":
            yield USER, value


def of_machine() -> Iterator[tuple[str, str]]:
    """Names of this machine: its own, its user's, and the project's folder."""
    yield from ((HOST, name) for name in (socket.gethostname(), socket.getfqdn()))
    try:
        yield USER, getpass.getuser()
        yield PATH, str(Path.home())
    except (OSError, KeyError, RuntimeError):  # a user without a name or a home
        pass
    yield from ((PATH, str(path)) for path in (paths.HOME, paths.root()))
    for profile in paths.root().glob("profiles/*/config.yaml"):
        lines = profile.read_text(encoding="utf-8", errors="replace").splitlines()
        yield from of_text("\n".join(line for line in lines if not line.lstrip().startswith("#")))


def of_text(text: str) -> Iterator[tuple[str, str]]:
    """Names in a record or log."""
    return ((kind, name) for kind, pattern in PATTERNS for name in pattern.findall(text))


def of_rows(rows: Iterable[Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    """Names in the columns of a table."""
    return ((kind, row[column]) for row in rows for column, kind in _COLUMNS.items() if row.get(column))


def sorted_out(named: Iterable[tuple[str, str]]) -> _Found:
    """Names by kind, each once, without those that reveal nothing."""
    found: _Found = {kind: set() for kind in NAME_KINDS}
    for kind, name in {*named}:
        for own, part in _parts(kind, name):
            if part and not OURS.fullmatch(part) and not _MADE.fullmatch(part) and not _is_plain(own, part):
                found[own].add(part)
    for number, kind in enumerate(NAME_KINDS):
        found[kind] -= {name for earlier in NAME_KINDS[:number] for name in found[earlier]}
    return found


def _parts(kind: str, name: str) -> Iterator[tuple[str, str]]:
    """The names of which one is made."""
    if kind == _TARGET:
        user, _, host = name.removeprefix("ssh://").rpartition("@")
        yield USER, user
        yield from _parts(HOST, host.split(":")[0] if host.count(":") == 1 else host)
    elif kind == HOST:
        if not _is_address(name):
            short, _, domain = name.partition(".")
            yield HOST, short
            yield DOMAIN, domain if "." in domain else ""
    elif kind == PATH:
        steps = name.split("/")
        for before, step in zip(["", *steps], steps, strict=False):
            yield USER if before in ("home", "Users", "user") else FOLDER, step
    else:
        yield kind, name


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _is_plain(kind: str, name: str) -> bool:
    """Whether a name identifies no site, because every system has it."""
    if kind == INTERFACE:
        return PLAIN_INTERFACE.fullmatch(name) is not None
    if kind == FOLDER:
        return all(part in _FOLDERS or part in words() for part in re.findall(r"[a-z]+", name.lower()))
    return name in ACCOUNTS or not re.search(r"[^\W\d]", name)


def is_sure(kind: str, name: str) -> bool:
    """Whether a word is replaced everywhere as a name; otherwise only where it stands for a host, user or folder."""
    return kind != FOLDER and name.lower() not in words() and len(name) > 2


@cache
def words() -> frozenset[str]:
    """Words in Whitewire's own programs, schemas and documentation, which also occur in records, tables and pages."""
    found: set[str] = set()
    for folder, pattern in (("src", "*.py"), ("paper/R", "*.R"), ("workflow", "*"), ("docs", "*.md")):
        for path in sorted((paths.HOME / folder).rglob(pattern)):
            if path.is_file() and path.suffix != ".pyc":
                found.update(re.findall(r"[a-z]+", path.read_text(encoding="utf-8", errors="replace").lower()))
    return frozenset(found)


def numbered(found: _Found) -> dict[str, tuple[str, str]]:
    """Name → (kind, substitute), numbered in the order of names, so that sorted rows keep their order."""
    made = {HOST: "host-{:02}", USER: "user-{:02}", DOMAIN: "site-{:02}.example", INTERFACE: "interface-{:02}",
            SLURM: "slurm-{:02}", FOLDER: "folder-{:02}"}  # fmt: skip
    return {name: (kind, made[kind].format(number)) for kind in NAME_KINDS
            for number, name in enumerate(_in_order(found[kind]), start=1)}  # fmt: skip


def _in_order(names: Iterable[str]) -> Sequence[str]:
    return sorted(names, key=lambda name: [(int(part), "") if part.isdigit() else (-1, part)
                                           for part in re.findall(r"\d+|\D+", name)])  # fmt: skip
