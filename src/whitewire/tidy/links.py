"""From the record of a testbed's links (records/links.py) to tables, with what is beyond its bound; a data package."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from whitewire import whole
from whitewire.records import links, outliers
from whitewire.records.links import HostsRecord, LinksRecord
from whitewire.tidy.tables import PACKAGE, TABLES, Cells, as_csv, package
from whitewire.tools import fio

FOLDER = "tables"
"""Below results/<testbed>/links."""
OF_LINKS: dict[str, tuple[str, ...]] = {
    "hosts.csv": ("host", "role", "target", "processor", "processors", "memory_gib", "kernel", "system", "clock_ms",
                  "congestion_control"),
    "fabrics.csv": ("fabric", "rate", "full_scale_rate", "shared", "depth", "at_once", "seconds", "streams"),
    "links.csv": ("fabric", "host", "interface", "address", "rate", "rate_in", "mtu", "queue", "offloads", "driver",
                  "version", "firmware"),
    "pairs.csv": ("fabric", "source", "destination", "streams", "metric", "value", "unit", "expected", "error",
                  "beside", "attempt", "why"),
    "drives.csv": (*(name for name in TABLES["drives.csv"] if name not in ("block", "problem")), "expected", "error",
                   "problem"),
    "rdma.csv": tuple(name for name in TABLES["rdma.csv"] if name != "block"),
    "outliers.csv": ("kind", "subject", "fabric", "hosts", "value", "expected", "unit", "cause", "stops", "part_of"),
    "left_out.csv": ("reason",),
}  # fmt: skip


def tables(folder: Path) -> None:
    """Read the record in results/<testbed>/links, write tables below it. Raises UserError, naming what is not whole."""
    record = links.read(folder)
    hosts = links.hosts(folder)
    rows: dict[str, Iterable[Cells]] = {
        "hosts.csv": _hosts(hosts),
        "fabrics.csv": _fabrics(record),
        "links.csv": _links(hosts),
        "pairs.csv": ({**row} for row in links.pair_rows(folder)),
        "drives.csv": _drives(folder),
        "rdma.csv": links.rdma_rows(folder),
        "outliers.csv": _outliers(folder),
        "left_out.csv": ({"reason": why} for why in record["left_out"]),
    }
    made = {name: as_csv(OF_LINKS[name], content, name) for name, content in rows.items()}
    target = folder / FOLDER
    target.mkdir(exist_ok=True)
    for name, content in made.items():
        whole.write(target / name, content)
    described = package(f"{record['plan']['testbed']}-links", OF_LINKS, (), made)
    whole.write(target / PACKAGE, json.dumps(described, indent=1) + "\n")


def _hosts(record: HostsRecord) -> Iterable[Cells]:
    machine = record["machine"]
    for host in record["hosts"]:
        facts = record["facts"].get(host["name"])
        told = machine if facts is None else _told(facts)
        ahead = record["clocks"].get(host["name"])
        yield {
            "host": host["name"], "role": host["role"], "target": host["target"],
            **{name: told.get(name, "") for name in ("processor", "processors", "memory_gib", "kernel", "system",
                                                     "congestion_control")},
            "clock_ms": "" if ahead is None else f"{ahead * 1e3:.3f}",
        }  # fmt: skip


def _told(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What a site's host says of itself (testbed/site/shell.ABOUT), as cells."""
    memory = re.search(r"(\d+) kB", facts.get("memory", ""))
    control = re.search(r"^ipv4/tcp_congestion_control (\S+)", facts.get("sysctls", ""), re.MULTILINE)
    return {
        "processor": facts.get("processor", "").partition(":")[2].strip(),
        "processors": facts.get("processors", ""),
        "memory_gib": f"{int(memory[1]) / 2**20:.1f}" if memory else "",
        "kernel": facts.get("kernel", ""),
        "system": facts.get("system", "").partition("=")[2].strip('"'),
        "congestion_control": control[1] if control else "",
    }


def _fabrics(record: LinksRecord) -> Iterable[Cells]:
    for each in record["plan"]["fabrics"]:
        streams = " ".join(map(str, each["streams"]))
        told = {key: value for key, value in each.items() if key != "name"}
        yield {**told, "fabric": each["name"], "streams": streams, "shared": _flag(each["shared"])}


def _links(record: HostsRecord) -> Iterable[Cells]:
    for fabric, hosts in record["links"].items():
        for host, link in hosts.items():
            of = record["facts"].get(host, {}).get("fabrics", {}).get(fabric, {})
            at = {name: of.get(name, "") for name in ("interface", "address")}
            yield {"fabric": fabric, "host": host, **at, **link}


def _drives(folder: Path) -> Iterable[Cells]:
    """Curves of a site's drives; of modelled ones a row an attempt, with what the model says."""
    yield from links.drive_rows(folder)
    for row in links.model_rows(folder):
        yield {
            "host": row["source"], "folder": row["destination"], "kind": "model", "mode": row.get("mode", ""),
            "operation": row.get("operation", ""), "block_bytes": fio.BLOCK, "queue_depth": 1, "metric": row["metric"],
            "value": row["value"], "unit": row["unit"], "expected": row.get("expected"), "error": row.get("error"),
        }  # fmt: skip


def _outliers(folder: Path) -> Iterable[Cells]:
    for each in outliers.of_folder(folder):
        yield {**asdict(each), "hosts": " ".join(each.hosts), "stops": _flag(each.stops)}


def _flag(value: bool) -> str:
    return "true" if value else "false"
