"""The testbed's page says how far it can be trusted where that was asked, and how to ask where it was not."""

import json
import re

import pandas as pd
import pytest

from whitewire.analysis.trust import AGAIN, MET, OF_TRUST, OPEN
from whitewire.report.render import document, render

TABLES = {
    "ways": {"fabric": "1gbe", "source": "client1", "destination": "datanode1", "streams": 1, "goodput": 7.4,
             "expected": 7.47, "error": -0.01, "beyond": "false", "rtt_at_rest": 90, "rtt": 800, "alone": "false"},
    "fabrics": {"fabric": "1gbe", "rate": 7.8125, "full_scale_rate": 1000, "shared": "false", "depth": "ring",
                "at_once": 1, "seconds": 0.3, "streams": "1"},
    "hosts": {"host": "client1", "role": "client", "processor": "one", "processors": 2, "memory_gib": 16,
              "kernel": "6.1", "system": "Debian 12", "congestion_control": "cubic"},
    "links": {"fabric": "1gbe", "host": "client1", "rate": 7.8125, "rate_in": 7.8125, "mtu": 1500, "queue": 97656,
              "offloads": "on"},
    "fit": {"paper": "emulex-2012", "fit": "yes", "reason": "emulated"},
    "left_out": {"reason": "nothing else"},
}  # fmt: skip
"""A row of each table of links that the page reads."""
ANSWERS = [
    {"part": "links", "asked": "How exact are links?", "n": 144, "of": "tests", "value": -0.0004, "low": -0.001,
     "high": 0.0002, "unit": "1", "goal": "within 1.0%", "outcome": MET, "again": AGAIN.format("links")},
    {"part": "ratio", "asked": "What share of intervals holds the truth?", "n": 40, "of": "intervals", "value": 0.9,
     "low": 0.76, "high": 0.97, "unit": "1", "goal": "at least 95%", "outcome": OPEN, "again": AGAIN.format("ratio")},
]  # fmt: skip
LINKS = {"rate": 25, "pairs": 1, "meter": "iperf3", "n": 6, "error": -0.0004, "low": -0.001, "high": 0.0002,
         "largest": 0.002, "reach": "true", "within_bound": "true", "missing": 0}  # fmt: skip
COVERAGE = [{"expected": ratio, "n": 8, "covered": 8, "share": 1, "low": 0.63, "high": 1, "error": 0}
            for ratio in ("1.1", "all")]  # fmt: skip


@pytest.fixture
def results(tmp_path):
    """A testbed's results with next to no links."""
    links = tmp_path / "emulated" / "links"
    (links / "tables").mkdir(parents=True)
    for name, row in TABLES.items():
        pd.DataFrame([row]).to_csv(links / "tables" / f"{name}.csv", index=False)
    (links / "links.json").write_text(json.dumps({
        "plan": {"kind": "emulated", "emulated": True, "k": 128, "effort": "quick", "shape": "emulex-2012"},
        "begun": 1.7e9, "seconds": 100,
    }))  # fmt: skip
    return tmp_path / "emulated"


def page(results):
    made = render(document("testbed"), results, results / "reports", ("html",))
    return re.sub(r"\s+", " ", made[0].read_text())


def test_where_it_was_not_asked_the_page_says_how_to_ask(results):
    found = page(results)
    assert 'id="sec-trust"' in found and "make trust" in found and 'id="tbl-trust"' not in found


def test_each_question_has_a_row_with_its_interval_outcome_and_command_and_two_figures_are_drawn(results):
    tables = results / "trust" / "tables"
    tables.mkdir(parents=True)
    (results / "trust" / "trust.json").write_text(json.dumps({"bound": 0.01, "left_out": ["scales: for want of time"]}))
    for name, rows in {"summary": ANSWERS, "links": [LINKS], "coverage": COVERAGE}.items():
        pd.DataFrame(rows, columns=OF_TRUST[f"{name}.csv"]).to_csv(tables / f"{name}.csv", index=False)
    found = page(results)
    assert "1 met</strong>, 0 not met, 1 open" in found
    for each in ANSWERS:
        assert each["asked"] in found and each["again"] in found
    assert "90.0 % (76.0 % to 97.0 %)" in found.replace("\u00a0", " ")
    assert "scales: for want of time" in found
    assert 'id="fig-trust-links"' in found and 'id="fig-trust-coverage"' in found
