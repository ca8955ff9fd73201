"""A block on a small cluster: the Emulex paper's experiments with fewer hosts, puts and cells."""

from __future__ import annotations

import copy
import sys
from pathlib import Path

from whitewire import config, design
from whitewire.paper import Paper, load_paper
from whitewire.runner import Block


def small_paper() -> Paper:
    fabrics = config.load_testbed("emulated")["fabrics"]
    paper = load_paper(config.paper_path("emulex-2012"), fabrics)
    raw = copy.deepcopy(paper.raw)
    wanted = ("put-grid", "rereplicate")
    raw["experiments"] = [experiment for experiment in raw["experiments"] if experiment["id"] in wanted]
    for experiment in raw["experiments"]:
        experiment["roles"] = {"namenode": 1, "datanode": 4, "client": 2}
        experiment["parameters"]["clients"] = 2
        if experiment["id"] == "put-grid":
            experiment["factors"] = {"fabric": ["1gbe", "10gbe"], "clients": [1, 2], "puts_per_client": [2]}
            experiment.pop("smoke_cells", None)
        else:
            experiment["factors"] = {"fabric": ["10gbe"]}
            experiment["parameters"]["puts_per_client"] = 2
        experiment["replicates"] = {"smoke": 1, "quick": 1, "full": 1}
        experiment["efforts"] = ["smoke"]
    raw["claims"] = []
    return Paper(raw, paper.path)


def small_block(folder: Path) -> Block:
    """Five runs; every bound that depends on how busy this machine is lies open."""
    testbed = config.load_testbed("emulated")
    limits = testbed["limits"] | {"cpu_idle_floor": 0.0, "link_error": 0.2, "drive_error": 0.3}
    testbed = testbed | {"limits": limits, "memory": testbed["memory"] | {"storage_gib": 2}}
    paper = small_paper()
    rows = [row for row in design.make_design(paper, testbed, "smoke", 7) if row["block"] == "smoke-1"]
    return Block(paper, testbed, "smoke-1", rows, folder)


if __name__ == "__main__":
    small_block(Path(sys.argv[1])).measure()
