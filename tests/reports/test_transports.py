"""The part of a report about transports: with runs of two, of one, and on a testbed with TCP alone."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from tests.support import testbed_page
from tests.support.blocks import BLOCK
from tests.support.compared import ENVIRONMENT
from tests.support.nasty import text_of
from tests.unit.design.test_transports_of_sites import SITE, WITHOUT, paper
from whitewire.analysis.analyse import write_analysis
from whitewire.design.rows import make_design, write_csv
from whitewire.report import render
from whitewire.report.render import render_document
from whitewire.tidy import columns, tables

pytestmark = pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R")
PAPER, EXPERIMENT = "chelsio-iwarp", "terasort-transport"
RATE = {"tcp": 250.0, "rdma": 500.0}
"""MB/s of the job, net of the startup overhead, by transport."""
FELL_BACK = "transport: asked rdma, found the kernel's TCP sent up to 97% of the bytes (fell back to TCP) on datanode2"
BYTES = 50e9


def metrics(rate: float) -> dict[str, tuple[float, str]]:
    seconds = BYTES / rate / 1e6
    return {
        "completion_time_net": (seconds, "s"), "completion_time": (seconds + 20, "s"), "job_floor": (20.0, "s"),
        "throughput_net": (rate, "MB/s"), "throughput": (BYTES / (seconds + 20) / 1e6, "MB/s"),
        "worker_cpu_seconds_per_gb": (4000 / rate, "s/GB"), "compute_share": (0.1, "1"),
    }  # fmt: skip


def results(top: Path, testbed: Mapping, lost: Mapping[str, str], links: testbed_page.Rows) -> Path:
    """`results/lab` with the paper's runs over transports, judged; `lost`: why runs over a transport are invalid."""
    described, own, noise = paper(PAPER, testbed), top / "lab" / PAPER, np.random.default_rng(7)
    rows = make_design(described, testbed, "quick", 7)
    write_csv(rows, described, own / "design.csv")
    runs: list[dict[str, object]] = []
    for row in (row for row in rows if row["experiment"] == EXPERIMENT):
        cells: dict[str, object] = {**row}
        way = str(cells["transport"])
        base = {key: cells[key] for key in ("run_id", "block", "order", "experiment", "replicate", "transport")}
        base |= {"attempt": 1, "valid": "false" if way in lost else "true", "why_invalid": lost.get(way, "")}
        for metric, (value, unit) in metrics(RATE[way] * float(np.exp(noise.normal(0, 0.02)))).items():
            runs.append(base | {"metric": metric, "value": value, "unit": unit})
    filled = {"runs.csv": runs, "scale.csv": [{"experiment": EXPERIMENT, "testbed": "lab", "kind": "ssh", "k": 1,
                                               "data_fraction": 1, "rung": 0}]}  # fmt: skip
    names = {"runs.csv": columns.of_runs(described.factors), **tables.TABLES}
    tables.write_tables(own / "tidy", PAPER, names, {table: filled.get(table, []) for table in names})
    for block in {row["block"] for row in rows}:
        folder = own / "raw" / block
        folder.mkdir(parents=True)
        ids = [row["run_id"] for row in rows if row["block"] == block]
        (folder / "block.json").write_text(json.dumps(BLOCK | {"block": block, "runs": ids}))
        (folder / "environment.json").write_text(json.dumps(ENVIRONMENT))
    write_analysis(described, testbed, own, 7)
    testbed_page.write(top / "lab", "links", testbed_page.links_record(emulated=False, k=1), links)
    return top / "lab"


def over_iperf3(transport: str, kind: str, goodput: float, cpu: float) -> list[dict[str, object]]:
    base = {"fabric": "10gbe", "source": "namenode", "destination": "datanode1", "transport": transport, "kind": kind,
            "streams": 4, "why": ""}  # fmt: skip
    return [
        base | {"metric": metric, "value": value * (1 + attempt / 100), "unit": unit, "attempt": attempt}
        for attempt in (1, 2, 3)
        for metric, value, unit in (("goodput", goodput, "Mbit/s"), ("cpu_seconds_per_gb", cpu, "s/GB"))
    ]


PORTS = [{"fabric": "10gbe", "source": "namenode", "destination": "datanode1", "transport": "iWARP",
          "test": "ib_write_bw", "message_bytes": size, "iterations": 1000, "attempt": 1,
          "metric": "bandwidth_average", "value": value, "unit": "MB/s", "limit": 1250, "why": ""}
         for size, value in ((64, 90.0), (1 << 20, 1180.0))]  # fmt: skip
PAIRS = [*over_iperf3("tcp", "tcp", 9400, 0.9), *over_iperf3("rsockets", "rdma", 9200, 0.3)]
LINKS = {"rdma": PORTS, "transports": PAIRS}


def section(folder: Path) -> tuple[str, str]:
    """The report's section on transports: its HTML, and what a reader sees of it."""
    (page,) = render_document(render.document(PAPER), folder, folder / "reports", ("html",))
    found = page.read_text(encoding="utf-8").split('id="sec-transports"', 1)[1]
    own = re.split(r'id="sec-fig2"', found, maxsplit=1)[0]
    return own, text_of(f"<h2 {own}")


def test_runs_over_two_transports_are_in_one_figure_with_perftest_and_iperf3(tmp_path):
    page, text = section(results(tmp_path, SITE, {}, LINKS))
    assert "Runs count over tcp and rdma. Left out of the figure: CPU time of perftest, which polls." in text
    (figure,) = re.findall(r'<figure[^>]*id="fig-transports".*?</figure>|id="fig-transports".*?</svg>', page, re.DOTALL)
    words = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", figure))
    for said in ("perftest", "iWARP", "iperf3", "rsockets", "TeraSort", "time for a GB, s", "CPU time for a GB, s",
                 "RDMA"):  # fmt: skip
        assert said in words, said
    assert "0.847" in words  # of perftest: 1000 / 1180
    rows = (tmp_path / "lab" / "reports" / "data" / PAPER / "transports.csv").read_text().splitlines()
    assert rows[0] == "layer,way,kind,what,value,run_id" and sum(row.startswith("TeraSort,rdma") for row in rows) >= 6


@pytest.mark.slow  # the sentence: tests/testthat/test-transports.R
def test_a_transport_whose_runs_are_all_invalid_is_named_with_the_reason(tmp_path):
    folder = results(tmp_path, SITE, {"rdma": FELL_BACK}, LINKS)
    _, text = section(folder)
    assert "Runs count over tcp alone, so nothing is compared. None counts over rdma (rdma: transport: asked" in text
    assert "fell back to TCP" in text
    verdicts = (folder / PAPER / "analysis" / "verdicts.csv").read_text()
    assert re.search(r"^[^,]+,C-C01,.*inconclusive", verdicts, re.MULTILINE)


def test_a_testbed_with_tcp_alone_says_what_it_needs_and_draws_nothing(tmp_path):
    page, text = section(results(tmp_path, WITHOUT, {}, {}))
    assert "Not measured on this testbed. It needs hosts with RDMA adapters (InfiniBand, RoCE or iWARP)" in text
    assert "<svg" not in page and "fig-transports" not in page
