"""What the testbed was when it measured: recorded with every block."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

from whitewire import __version__
from whitewire.config import HOME
from whitewire.testbed.base import Testbed

SYSCTLS = (
    "net/ipv4/tcp_congestion_control", "net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem", "net/ipv4/tcp_no_metrics_save",
    "net/core/rmem_max", "net/core/wmem_max",
)  # fmt: skip


def said(*argv: str) -> str:
    """First line that a command prints, or why it doesn't."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"not available ({error.__class__.__name__})"
    return (done.stdout or done.stderr).strip().split("\n", 1)[0]


def commit() -> dict[str, object]:
    """The commit of this code and whether files differ from it."""
    try:
        done = subprocess.run(["git", "-C", str(HOME), "status", "--porcelain"], capture_output=True, text=True)
    except OSError:
        return {"commit": "unknown", "modified": True}
    return {
        "commit": said("git", "-C", str(HOME), "rev-parse", "HEAD"),
        "modified": bool(done.stdout.strip()),
    }


def machine() -> dict[str, object]:
    """The measuring machine: processor, memory, kernel."""
    processors = [line.split(":", 1)[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    memory = next(int(line.split()[1]) for line in _lines("/proc/meminfo") if line.startswith("MemTotal"))
    return {
        "processor": processors[0] if processors else platform.machine(),
        "processors": os.cpu_count(),
        "memory_gib": round(memory / 1024**2, 1),
        "kernel": platform.release(),
        "system": next((line.split("=", 1)[1].strip('"') for line in _lines("/etc/os-release")
                        if line.startswith("PRETTY_NAME")), platform.system()),
        "load_average": os.getloadavg()[0],
    }  # fmt: skip


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def capture(testbed: Testbed, hadoop_jars: list[str]) -> dict[str, object]:
    """All of it, with each host's TCP settings and one link's shaping as they are set."""
    hosts = {
        host.name: {name.rsplit("/", 1)[1]: _value(host, name) for name in SYSCTLS if "ipv4" in name}
        for host in testbed.hosts
    }
    return {
        "whitewire": {"version": __version__, **commit()},
        "machine": machine(),
        "tools": {
            "java": said("java", "-version"),
            "hadoop": next((jar.split("-")[-1].removesuffix(".jar") for jar in hadoop_jars
                            if jar.startswith("hadoop-hdfs-client-")), "unknown"),
            "iperf3": said("iperf3", "--version"),
            "fio": said("fio", "--version"),
            "iproute2": said("tc", "-V"),
            "python": platform.python_version(),
        },
        "hosts": [{"name": h.name, "role": h.role, "address": h.address} for h in testbed.hosts],
        "tcp": hosts,
        "link": testbed.by_role("client")[0].run(["tc", "-d", "qdisc", "show", "dev", "eth0"]).stdout.decode(),
        "offloads": testbed.by_role("client")[0].run(["ethtool", "-k", "eth0"]).stdout.decode(),
    }  # fmt: skip


def _value(host, name: str) -> str:
    return host.run(["cat", f"/proc/sys/{name}"]).stdout.decode().strip()
