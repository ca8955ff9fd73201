"""Small made-up result folders of two sites, as the analysis stage and the runner would have left them."""

import json
import math

import pandas as pd

from whitewire import statistics

CLAIM = {
    "statement": "Faster links load faster", "kind": "ratio", "route": "measured", "unit": "1", "n": 10,
    "relation": "within", "expected": 4.0, "expected_low": 3.5, "expected_high": 4.5, "verdict": "reproduced",
    "asked": "before", "control_failed": "",
}  # fmt: skip
HOSTS = [{"name": "nn", "role": "namenode", "address": "10.0.0.1"},
         {"name": "w1", "role": "datanode", "address": "10.0.0.2"},
         {"name": "w2", "role": "datanode", "address": "10.0.0.3"}]  # fmt: skip
ENVIRONMENT = {
    "machine": {"kernel": "6.1.0", "processors": 2, "load_average": 0.3},
    "tools": {"java": "17.0.15", "fio": "fio-3.33"},
    "hosts": HOSTS,
    "tcp": {"nn": {"tcp_rmem": "4096 131072"}, "w1": {"tcp_rmem": "4096 131072"}, "w2": {"tcp_rmem": "4096 131072"}},
    "offloads": "Features for eth0:\nrx-checksumming: on\ntcp-segmentation-offload: on\n",
}  # fmt: skip


def claim(name, estimate=None, low=None, high=None, **more):
    """One row of verdicts.csv; its error is that of a normal interval."""
    positive = low is not None and high is not None and low > 0
    error = math.log(high / low) / (2 * statistics.normal(0.95)) if positive else None
    return {"claim": name, "estimate": estimate, "low": low, "high": high, "error": error} | CLAIM | more


def cell(metric, median, low=None, high=None, fabric="10gbe", **more):
    """One row of estimates.csv."""
    return {
        "experiment": "put-grid", "fabric": fabric, "clients": 3, "metric": metric, "unit": "MB/s", "n": 10,
        "n_invalid": 0, "median": median, "low": low, "high": high, "status": "measured",
    } | more  # fmt: skip


def run(fabric="10gbe", clients=3, block="quick-1", replicate=1):
    """One row of design.csv."""
    return {
        "run_id": f"{fabric}-{clients}-{replicate}", "block": block, "effort": block.rpartition("-")[0], "order": 1,
        "experiment": "put-grid", "workload": "hdfs_put", "replicate": replicate, "fabric": fabric, "clients": clients,
        "seed": 7,
    }  # fmt: skip


DESIGN = (run(),)
SCALE = {"experiment": "put-grid", "testbed": "site", "kind": "ssh", "k": 1, "data_fraction": 1, "rung": 0}


def write(folder, paper="made-up-2026", claims=(), cells=(), environment=ENVIRONMENT, design=DESIGN, scale=(SCALE,)):
    """The results of one paper below a result folder; None for environment, () for design leaves the file out."""
    top = folder / paper
    for name in ("analysis", "tidy", "raw/quick-1"):
        (top / name).mkdir(parents=True, exist_ok=True)
    pd.DataFrame([{"paper": paper} | row for row in claims]).to_csv(top / "analysis" / "verdicts.csv", index=False)
    cells = list(cells) or [cell("throughput", 100.0, 90.0, 110.0)]
    pd.DataFrame(cells).to_csv(top / "analysis" / "estimates.csv", index=False)
    if environment is not None:
        (top / "raw" / "quick-1" / "environment.json").write_text(json.dumps(environment))
    if design:
        pd.DataFrame(design).to_csv(top / "design.csv", index=False)
    pd.DataFrame(scale).to_csv(top / "tidy" / "scale.csv", index=False)
    return folder
