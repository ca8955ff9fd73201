"""Checks what this machine can do, by trying it, and gives a remedy for everything that is missing.

It has to run in a bare Python before set-up, so modules that need packages are imported inside functions.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from whitewire.description.capabilities import capabilities_of
from whitewire.errors import UserError
from whitewire.install.needs import DISK_GIB
from whitewire.install.quarto import quarto_lacks
from whitewire.paths import HOME, root
from whitewire.tools import Unreadable, link
from whitewire.tools.hibench import MICRO
from whitewire.tools.iperf3 import unfit_iperf3
from whitewire.units import GIB

R_PACKAGES = ("ggplot2", "ggrepel", "jsonlite", "knitr", "readr", "scales", "svglite", "yaml")
QDISCS = {
    "htb": "root handle 1: htb default 1",
    "tbf": "root tbf rate 10mbit burst 6kb limit 64kb",
    "bfifo": "root bfifo limit 65536",
    "netem": "root netem delay 1ms",
    "fq": "root fq",
}
_PROGRAMS = {  # those that the default run needs, with their Debian packages
    "ip": "iproute2",
    "tc": "iproute2",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "ethtool": "ethtool",
    "iperf3": "iperf3",
    "fio": "fio",
}
IPROUTE2 = "4.19"
"""The first release whose ip and tc print as JSON all the output that we read."""

SLURM_PROFILE = "profiles/slurm/config.yaml"
FIRST_QUESTION, FIRST_QUESTION_S = "slurm-init-seconds-before-status-checks", 40
"""The executor's setting for the seconds before it first asks for a job's status, and its default. If Slurm forgets
ended jobs in less than three times that, the executor does not rely on squeue."""
KEPT_S = 200
"""Seconds for which Slurm must remember an ended job, because the executor asks as rarely as every 180 s."""
_ACCOUNT, _STATUS = "slurm_account", "slurm-status-command"


@dataclass(frozen=True)
class Finding:
    """One capability: whether it exists (`ok`), whether the default run needs it (`needed`), and a remedy."""

    name: str
    ok: bool
    state: str
    remedy: str = ""
    needed: bool = False


def attempt(argv: Sequence[str], timeout: float = 20) -> tuple[int, str]:
    """Exit status and output of a command; status 127 if it does not exist, 124 after `timeout` seconds."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)
    except (FileNotFoundError, PermissionError) as error:
        return 127, str(error)
    except subprocess.TimeoutExpired:
        return 124, f"no answer in {timeout:.0f} s"
    return done.returncode, (done.stdout + done.stderr).strip()


def _last(text: str) -> str:
    return text.splitlines()[-1] if text else "no message"


# --- needed by the default run ----------------------------------------------------------------------


def user_namespaces() -> Finding:
    """User namespaces: tried by making one, with the other namespaces of the emulated testbed."""
    argv = ["unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "true"]
    status, said = attempt(argv)
    if status == 0:
        return Finding("user namespaces", True, "work", needed=True)
    remedy = "as root: sysctl -w kernel.unprivileged_userns_clone=1"
    if Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").exists():
        remedy = "as root: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
    limit = Path("/proc/sys/user/max_user_namespaces")
    if limit.exists() and limit.read_text().strip() == "0":
        remedy = "as root: sysctl -w user.max_user_namespaces=10000"
    if status == 127:
        remedy = "install util-linux"
    remedy += "; in a container: allow unshare and mount (seccomp, AppArmor)"
    return Finding("user namespaces", False, f"refused: {_last(said)}", remedy, needed=True)


def _programs() -> Finding:
    """The command-line tools of the testbed and its probes."""
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if not missing:
        lack, remedy = unfit_programs()
        return Finding("network tools", not lack, lack or ", ".join(_PROGRAMS), remedy, needed=True)
    packages = " ".join(sorted({_PROGRAMS[name] for name in missing}))
    return Finding("network tools", False, f"missing: {', '.join(missing)}", f"install {packages}", needed=True)


def unfit_programs() -> tuple[str, str]:
    """(fault of the installed programs, remedy); checks iperf3's release, and the output of ip and tc.

    ip and tc are asked about a link in a private network namespace, as by the testbed; older releases print text.
    """
    if why := unfit_iperf3(attempt(["iperf3", "--version"])[1]):
        return why, "install another release of iperf3, for example conda-forge's"
    script = """ip link add name wire0 type veth peer name wire1 || exit
        tc qdisc add dev wire0 root bfifo limit 65536 || exit
        echo made; ip -s -s -j link show; echo; tc -j qdisc show"""
    _, said = attempt(["unshare", "--user", "--map-root-user", "--net", "sh", "-c", script])
    if not said.startswith("made"):
        return "", ""  # namespaces or a discipline are missing, which other findings report
    links, _, disciplines = said.partition("\n\n")
    with suppress(Unreadable):
        if "wire0" in link.mtus(links) and "wire0" in link.carrier_changes(links) and link.queues(disciplines):
            return "", ""
    return f"no JSON as expected from {_last(attempt(['ip', '-V'])[1])}", f"install iproute2 {IPROUTE2} or newer"


def qdiscs() -> list[Finding]:
    """One finding per queueing discipline, tried on a veth in a private network namespace."""
    script = ["ip link add name wire0 type veth peer name wire1 || exit 3"]
    for name, words in QDISCS.items():
        script.append(
            f"tc qdisc add dev wire0 {words} 2>/dev/null && echo {name}; tc qdisc del dev wire0 root 2>/dev/null"
        )
    argv = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", "\n".join(script)]
    _, said = attempt(argv)
    works = set(said.split())
    found = []
    for name in QDISCS:
        needed = name in ("htb", "bfifo")
        use = "links are shaped with it" if needed else "not used by the default run"
        remedy = f"as root: modprobe sch_{name.replace('bfifo', 'fifo')}"
        ok = name in works
        state = use if ok else f"absent; {use}"
        found.append(Finding(f"qdisc {name}", ok, state, "" if ok else remedy, needed))
    return found


def packages() -> Finding:
    """The Python packages that the project depends on."""
    project = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    missing = []
    for name in project["dependencies"]:
        try:
            metadata.distribution(name)
        except metadata.PackageNotFoundError:
            missing.append(name)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    if missing:
        more = f" and {len(missing) - 1} more" if missing[1:] else ""
        return Finding("Python", False, f"{version}; packages missing: {missing[0]}{more}", "make setup", needed=True)
    return Finding("Python", True, f"{version}, with {len(project['dependencies'])} packages", needed=True)


def java() -> Finding:
    """Java 17 or newer with its compiler."""
    status, said = attempt(["java", "-XX:-UsePerfData", "-version"])
    remedy = "install openjdk-17-jdk-headless"
    if status != 0:
        return Finding("Java", False, "absent", remedy, needed=True)
    match = re.search(r'version "(\d+)(?:\.(\d+))?', said)
    major = int(match[1]) if match else 0
    if major < 17:
        return Finding("Java", False, f"version {major or 'unknown'}, 17 is needed", remedy, needed=True)
    if shutil.which("javac") is None:
        return Finding("Java", False, f"version {major} without javac", remedy, needed=True)
    return Finding("Java", True, f"version {major}, with javac", needed=True)


def hadoop() -> Finding:
    """The jars that the set-up fetched."""
    from whitewire.testbed.emulated.software import HADOOP

    jars = list(HADOOP.glob("hadoop-hdfs-[0-9]*.jar"))
    if not jars:
        return Finding("Hadoop jars", False, "absent", "run `make setup`", needed=True)
    return Finding("Hadoop jars", True, jars[0].stem.removeprefix("hadoop-hdfs-"), needed=True)


def memory(needed_gib: float) -> Finding:
    """Memory of the machine, or of its control group if that is less."""
    import psutil

    total = psutil.virtual_memory().total
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            total = min(total, int(Path(name).read_text()))
        except (OSError, ValueError):
            continue
    gib = total / GIB
    ok = gib >= 0.92 * needed_gib  # firmware and kernel keep some of the installed memory
    remedy = "" if ok else f"use a machine with {needed_gib:g} GiB, or lower memory.minimum_gib of the testbed"
    return Finding("memory", ok, f"{gib:.1f} GiB ({needed_gib:g} needed)", remedy, needed=True)


def disk() -> Finding:
    """Disk space for results."""
    free = shutil.disk_usage(root()).free / GIB
    ok = free >= DISK_GIB
    remedy = "" if ok else f"free {DISK_GIB - free:.1f} GiB on the file system of {root()}"
    return Finding("disk space", ok, f"{free:.1f} GiB free ({DISK_GIB:g} needed)", remedy, needed=True)


# --- needed by some runs or other testbeds ------------------------------------------------------------


def fuse() -> Finding:
    """FUSE: whether /dev/fuse can be opened."""
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        return Finding("FUSE", False, f"/dev/fuse: {error.strerror}", "as root: modprobe fuse; chmod 666 /dev/fuse")
    return Finding("FUSE", True, "/dev/fuse opens")


def shared_segment() -> Finding:
    """A network without a switch, tried on a veth in a private network namespace."""
    from whitewire.testbed.emulated.segment import segment_unavailable

    reason, _, remedy = segment_unavailable().partition("; ")
    return Finding("shared segment", not reason, reason or "works: a network without a switch", remedy)


def ceph() -> Finding:
    """All requirements of a CephFS in the sandbox, each tried."""
    from whitewire.cluster.cephfs import cephfs_unavailable

    reason, _, remedy = cephfs_unavailable().partition("; ")
    state = reason or "its daemons, FUSE and the drives' shapers work"
    return Finding("CephFS", not reason, f"{state}; a stand-in for Lustre" if reason else state, remedy)


def r_packages() -> Finding:
    """R with the packages that the documents use."""
    script = "cat(setdiff(commandArgs(TRUE), rownames(installed.packages())))"
    status, said = attempt(["Rscript", "--vanilla", "-e", script, *R_PACKAGES], timeout=60)
    if status != 0:
        return Finding("R", False, "absent", "install r-base-core", needed=True)
    missing = said.split()
    if missing:
        remedy = "install " + " ".join(f"r-cran-{name.lower()}" for name in missing)
        return Finding("R", False, f"packages missing: {', '.join(missing)}", remedy, needed=True)
    return Finding("R", True, f"with {', '.join(R_PACKAGES)}", needed=True)


def renderer() -> Finding:
    """The renderer of reports, and if it is not Quarto, why."""
    lack, _, remedy = quarto_lacks().partition("; ")
    if not lack:
        return Finding("renderer", True, f"Quarto {attempt(['quarto', '--version'])[1]}", needed=True)
    if find_spec("pypandoc") and find_spec("typst"):
        state = f"knitr, pandoc and typst; not Quarto: {lack}"
        return Finding("renderer", True, state, remedy, needed=True)
    return Finding("renderer", False, "neither Quarto nor pandoc and typst", "run `make setup`", needed=True)


def _program(label: str, names: Sequence[str], use: str, remedy: str, needed: bool = False) -> Finding:
    """A capability that any one of the programs `names` provides."""
    for name in names:
        if shutil.which(name):
            return Finding(label, True, f"{name}: {use}", needed=needed)
    return Finding(label, False, f"absent; {use}", remedy, needed)


def _hibench(testbed: Mapping[str, Any]) -> Finding:
    """The HiBench that runs would use, and what its micro programs lack."""
    from whitewire.cluster.built_hibench import on_this_machine
    from whitewire.workloads.hibench_copy import prepared

    if "hibench" not in testbed:
        return Finding("HiBench", False, "none; Hadoop's own jars run its micro programs", "make hibench")
    tree = on_this_machine(testbed["hibench"])
    faults = list(tree.faults([(name, "tiny") for name in MICRO], ["worker"]))
    faults = faults or [why for name in MICRO if (why := tree.lacks(name))]
    copy = prepared(Path(testbed["hibench"]["home"]).parent)
    state = f"{tree.version}, commit {copy.commit[:12] or 'unknown'}" if copy else tree.version
    lack, _, remedy = faults[0].partition("; ") if faults else ("", "", "")
    return Finding("HiBench", not faults, ": ".join([state, *filter(None, [lack])]), remedy)


def slurm() -> Finding:
    """Whether Slurm answers, and what Snakemake's profile for it lacks."""
    from whitewire.description.reading import load_yaml

    if shutil.which("sinfo") is None:
        return Finding("Slurm", False, "absent; not used by the default run", "install slurm-client on a cluster")
    status, said = attempt(["sinfo", "--version"], timeout=5)
    if status != 0:
        return Finding("Slurm", False, _last(said), "start slurmctld")
    config = attempt(["scontrol", "show", "config"])[1]
    state, *remedies = slurm_profile(config, shutil.which("sacct") is not None, load_yaml(HOME / SLURM_PROFILE))
    return Finding("Slurm", not any(remedies), f"{_last(said)}; {state}", "; ".join(filter(None, remedies)))


OF_KIND: dict[str, Callable[[], Finding]] = {"slurm": slurm}
"""Checks that concern only one kind of testbed, by that kind."""


def slurm_profile(said: str, sacct: bool, profile: Mapping[str, Any]) -> tuple[str, str, str]:
    """(source from which Snakemake's executor learns how jobs ended, remedy if it may never learn it, remedy for the
    account), from the output of `scontrol show config`. `sacct`: whether the program is installed.
    """
    found = dict(re.findall(r"^(MinJobAge|AccountingStorageType)\s*=\s*(.*?)\s*$", said, re.MULTILINE))
    match = re.match(r"(\d+)\s*(h?)", found.get("MinJobAge", ""))
    seconds = int(match[1]) * (3600 if match[2] else 1) if match else None
    accounting = not re.search(r"none|null|^$", found.get("AccountingStorageType", ""))
    account = (profile.get("default-resources") or {}).get(_ACCOUNT)
    wrong = f"take {_ACCOUNT} out of {SLURM_PROFILE}: without accounting the executor refuses every account"
    return *slurm_jobs(seconds, sacct and accounting, profile), wrong if account and not accounting else ""


def slurm_jobs(seconds: int | None, sacct: bool, profile: Mapping[str, Any]) -> tuple[str, str]:
    """(source from which the executor learns how jobs ended, remedy if it may wait for ever); `seconds`: MinJobAge.

    `sacct`: whether sacct answers. The executor always uses it if MinJobAge is below three times the delay of the first
    question.
    """
    squeue_s = 3 * profile.get(FIRST_QUESTION, FIRST_QUESTION_S)
    asks_sacct = profile.get(_STATUS) == "sacct" or seconds is None or seconds < squeue_s
    if sacct and asks_sacct:
        return "sacct reports how jobs end", ""
    needed = max(KEPT_S, squeue_s)
    if seconds is not None and seconds >= needed:
        asked_for = f"{_STATUS}: squeue in {SLURM_PROFILE}" if asks_sacct else ""
        return "squeue reports how jobs end", asked_for
    age = "unknown" if seconds is None else f"{seconds} s"
    state = f"MinJobAge is {age}, {needed} s are needed for squeue"
    if sacct:
        return state, f"{_STATUS}: sacct in {SLURM_PROFILE}"
    remedy = (
        f"for profiles/slurm, which else waits for ever when a job is cancelled: MinJobAge={needed} in slurm.conf, "
    )
    return f"{state}, and there is no accounting for sacct", remedy + "or one job for everything (docs/sites/slurm.md)"


def rdma() -> Finding:
    """RDMA devices, for claims that need the hardware."""
    folder = Path("/sys/class/infiniband")
    devices = sorted(p.name for p in folder.iterdir()) if folder.is_dir() else []
    remedy = "" if devices else "use a machine with an RDMA adapter, or load rdma_rxe for a functional test"
    return Finding("RDMA devices", bool(devices), ", ".join(devices) or "none; not used by the default run", remedy)


def transports(testbed: Mapping[str, Any]) -> Finding:
    """Whether the libraries of a testbed's transports can be preloaded: the loader ignores those that cannot, and every
    process goes on without them."""
    from whitewire.description.transports import defined, preloading
    from whitewire.testbed.site import shell

    asked = preloading(defined(testbed))
    argv = ["env", *(f"{name}={value}" for name, value in asked.items()), "sh", "-c", shell.PRELOADED]
    lacking, libraries = attempt(argv)[1].split(), asked["PRELOAD"].split()
    state = f"cannot be preloaded: {', '.join(lacking)}" if lacking else ", ".join(libraries) or "need no library"
    remedy = "install them, or name their paths under `transports` of the testbed's file" if lacking else ""
    return Finding("transports", not lacking, state, remedy, needed=True)


def congestion_controls(wanted: str) -> Finding:
    """Congestion controls that the testbed's hosts may use, each tried; reno, the fallback, is always allowed."""
    try:
        known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    except OSError:
        known = []
    script = 'for c in "$@"; do echo $c > /proc/sys/net/ipv4/tcp_congestion_control && echo $c; done 2>/dev/null'
    argv = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", script, "sh", *known]
    allowed = attempt(argv)[1].split()
    if wanted in allowed:
        return Finding("TCP congestion control", True, f"{wanted} (allowed: {', '.join(allowed)})")
    both = " ".join(dict.fromkeys(["reno", *allowed, wanted]))
    remedy = f"as root: modprobe tcp_{wanted}; sysctl -w net.ipv4.tcp_allowed_congestion_control='{both}'"
    state = f"{wanted} is not allowed, reno is used instead (allowed: {', '.join(allowed) or 'none'})"
    return Finding("TCP congestion control", False, state, remedy)


def _processors() -> Finding:
    """Processors: at least two, and idle, because runs on a busy machine are invalid."""
    count = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    remedy = []
    if count < 2:
        remedy.append("use a machine with 2 processors or more: runs will be invalid for lack of CPU")
    if load > 0.5 * count:
        remedy.append("stop other work: runs beside it may be invalid for lack of CPU")
    return Finding("processors", not remedy, f"{count}, load average {load:.2f}", "; ".join(remedy))


# --- together ---------------------------------------------------------------------------------------


def findings(testbed: Mapping[str, Any] | None) -> list[Finding]:
    """All capabilities that an emulated testbed can use, those of the default run first.

    `testbed`: None if Python packages are missing, without which no description can be read; then only the checks that
    need neither.
    """
    first = [
        user_namespaces(),
        _programs(),
        *qdiscs(),
        packages(),
        java(),
        _program("Maven", ["mvn"], "fetches Hadoop", "install maven", needed=True),
        _program("gcc", ["gcc"], "compiles the drive model", "install gcc libc6-dev", needed=True),
        disk(),
        _processors(),
        r_packages(),
        renderer(),
    ]
    further = [
        _program(
            "Chromium",
            ["chromium", "chromium-browser", "google-chrome"],
            "tests of reports",
            "install chromium",
        ),
        fuse(),
        _program("conda", ["micromamba", "mamba", "conda"], "set-up without Debian packages", "install Miniforge"),
        _program("Apptainer", ["apptainer", "singularity"], "containers of rules", "see docs/use/software.md"),
        rdma(),
    ]
    if testbed is None:
        return [*first, *further]
    return [
        *first,
        hadoop(),
        memory(testbed["memory"]["minimum_gib"]),
        congestion_controls(testbed["tcp"]["congestion_control"]),
        *([transports(testbed)] if "transports" in testbed else []),
        *further,
        shared_segment(),
        ceph(),
        _hibench(testbed),
        slurm(),
    ]


def examine_machine(testbed: Mapping[str, Any] | None) -> int:
    """Print the table for a testbed (or None, see findings()). Returns 0 if the default run is possible, else 1."""
    found = findings(testbed)
    rows = [("CAPABILITY", "", "STATE", "REMEDY")]
    for finding in found:
        mark = "yes" if finding.ok else "NO" if finding.needed else "no"
        rows.append((finding.name, mark, finding.state, finding.remedy))
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    state_width = min(62, max(len(row[2]) for row in rows))
    for name, mark, state, remedy in rows:
        line = f"{name:<{widths[0]}}  {mark:<{max(widths[1], 3)}}  {state:<{state_width}}  {remedy}"
        print(line.rstrip())
    lacking = [finding for finding in found if finding.needed and not finding.ok]
    print()
    if lacking:
        names = ", ".join(finding.name for finding in lacking)
        print(f"The default run is not possible here: {names}. First: {lacking[0].remedy}")
        return 1
    print("The default run is possible here. Next: make papers")
    return 0


def preflight(testbed: Mapping[str, Any], bare: bool = False) -> None:
    """Raise a UserError with the remedy, before anything starts, if the testbed cannot work here.

    `bare`: check only what measuring links and drives needs, without Java and Hadoop. A site's hosts are checked when
    they are opened (testbed/site/preflight.py).
    """
    if not capabilities_of(testbed).local:
        return
    checks: list[Callable[[], Finding]] = [
        _programs,
        user_namespaces,
        *(() if bare else (java, hadoop, lambda: transports(testbed))),
        lambda: memory(testbed["memory"]["minimum_gib"]),
        disk,
    ]
    for check in checks:
        finding = check()
        if not finding.ok:
            raise UserError(f"{finding.name}: {finding.state}; {finding.remedy}")
