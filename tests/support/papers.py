"""The paper under test and a complete table of runs for it, made from known numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from tests.support import quick_yaml
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper, tests_of
from whitewire.design.rows import levels_of, make_design
from whitewire.estimands import estimand_of
from whitewire.workloads import unit_of

ROOT = Path(__file__).resolve().parents[2]
PAPER = ROOT / "config" / "papers" / "emulex-2012.yaml"
RATES = {"0.5gbe": 500, "1gbe": 1000, "2gbe": 2000, "5gbe": 5000, "10gbe": 10000, "20gbe": 20000}
TESTBED = {"kind": "emulated", "fabrics": {n: {"rate_mbit_per_s": r} for n, r in RATES.items()}}
K = 20


def paper() -> Paper:
    return load_paper(PAPER, TESTBED["fabrics"])


def edited(tmp_path: Path, change) -> Path:
    """A copy of the paper's file after `change(data)`."""
    data = quick_yaml.load(PAPER.read_text(encoding="utf-8"))
    change(data)
    path = tmp_path / "emulex-2012.yaml"
    path.write_text(quick_yaml.dump(data, sort_keys=False), encoding="utf-8")
    return path


def as_printed(gbit: float, clients: int, puts: int) -> float:
    """Throughput in MB/s, full scale, of a made-up cluster that behaves as the paper says."""
    if gbit <= 1:
        return {1: 108, 2: 170, 3: 216}[clients] * (1.0 if puts < 8 else 1.04 if clients == 3 else 1.0)
    return {1: 162 + (puts - 1) * 91, 2: 200 + 80 * puts, 3: 350 + 82 * puts}[clients]


def runs(loaded: Paper, effort: str = "quick", rate=as_printed, spread: float = 0.002, most: int = 6) -> pd.DataFrame:
    """tidy/runs.csv of a whole design; `spread` is the log-sd of a run, `most` the most of a cell."""
    rng = np.random.default_rng(7)
    rows = []
    for row in make_design(loaded, TESTBED, effort, 1):
        if row["replicate"] > most:
            continue
        levels, cells = levels_of(loaded, row), dict[str, object](row)
        parameters = loaded.parameters(row["experiment"], levels)
        gbit = RATES[parameters["fabric"]] / 1000
        clients, puts = parameters["clients"], parameters["puts_per_client"]
        noise = float(np.exp(rng.normal(0, spread)))
        megabytes = rate(gbit, clients, puts) * noise * (1.2 if levels.get("settings") == "tuned" else 1)
        seconds = 5000 * clients * puts / megabytes
        found = {
            "throughput": (megabytes / K, "MB/s", megabytes, "MB/s"),
            "throughput_sum": (megabytes / K * 1.1, "MB/s", megabytes * 1.1, "MB/s"),
            "throughput_peak": (megabytes / K, "MB/s", megabytes * 1.3, "MB/s"),
            "throughput_peak_100ms": (megabytes / K, "MB/s", megabytes * 1.2, "MB/s"),
            "throughput_peak_1s": (megabytes / K, "MB/s", megabytes * 1.16, "MB/s"),
            "completion_time": (seconds * 0.0268, "s", seconds, "s"),
            "link_share": (megabytes / clients / gbit / 125, "1", None, None),
            "client_cpu_cores": (0.2 * noise, "cores", None, None),
            "cpu_seconds_per_gb": ((20 if gbit < 10 else 18) * noise, "s/GB", None, None),
            "user_bytes": (1e6, "B", 1e6 * K / 0.0268, "B"),
            "datanode_wire_bytes": (3.1e6, "B", 3.1e6 * K / 0.0268, "B"),
            "datanodes_used": (11, "1", None, None),
            "replicas_distinct_min": (3, "1", None, None),
        }
        base = {c: cells[c] for c in ("run_id", "block", "order", "experiment", "replicate", *loaded.factors)}
        for metric, (value, unit, full, full_unit) in found.items():
            rows.append(
                base
                | {"metric": metric, "value": value, "unit": unit}
                | {
                    "full_scale_value": full,
                    "full_scale_unit": full_unit,
                    "valid": True,
                    "why_invalid": "",
                    "why_code": "",
                }
            )
    return pd.DataFrame(rows)


def same_of(loaded: Paper, design: pd.DataFrame) -> pd.DataFrame:
    """tidy/runs.csv of any paper's design: each metric that one of its claims or controls asks for, nearly 1."""
    asked = [test for claim in loaded.claims for test in tests_of(claim)]
    wanted = [estimand_of(test).metrics() for test in asked]
    wanted += [[control["metric"], *control.get("also", ())] for control in loaded.controls]
    metrics = sorted({metric for each in wanted for metric in each})
    rng = np.random.default_rng(3)
    units = pd.DataFrame({"metric": metrics, "unit": [unit_of(each) for each in metrics]})
    rows = design.merge(units, how="cross")
    rows["value"] = rows["full_scale_value"] = np.exp(rng.normal(0, 0.01, len(rows)))
    return rows.assign(full_scale_unit=rows["unit"], valid=True, why_invalid="", why_code="")
