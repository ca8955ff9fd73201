"""The testbed's page says how far it can be trusted where that was asked, and how to ask where it was not."""

import re

import pytest

from tests.support import testbed_page
from whitewire.analysis.trust import _AGAIN, _OPEN, MET
from whitewire.report.render import document, render_document

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
"""A row of each table of links that the page needs."""
ANSWERS = [
    {"part": "links", "asked": "How exact are links?", "n": 144, "of": "tests", "value": -0.0004, "low": -0.001,
     "high": 0.0002, "unit": "1", "goal": "within 1.0%", "outcome": MET, "again": _AGAIN.format("links")},
    {"part": "ratio", "asked": "What share of intervals holds the truth?", "n": 40, "of": "intervals", "value": 0.9,
     "low": 0.76, "high": 0.97, "unit": "1", "goal": "at least 95%", "outcome": _OPEN, "again": _AGAIN.format("ratio")},
]  # fmt: skip
LINKS = {"rate": 25, "pairs": 1, "meter": "iperf3", "n": 6, "error": -0.0004, "low": -0.001, "high": 0.0002,
         "largest": 0.002, "reach": "true", "within_bound": "true", "missing": 0}  # fmt: skip
COVERAGE = [{"expected": ratio, "n": 8, "covered": 8, "share": 1, "low": 0.63, "high": 1, "error": 0}
            for ratio in ("1.1", "all")]  # fmt: skip


@pytest.fixture
def results(tmp_path):
    """A testbed's results with next to no links."""
    tables = {name: [row] for name, row in TABLES.items()}
    testbed_page.write(tmp_path / "emulated", "links", testbed_page.links_record(k=128, effort="quick"), tables)
    return tmp_path / "emulated"


def page(results):
    made = render_document(document("testbed"), results, results / "reports", ("html",))
    return re.sub(r"\s+", " ", made[0].read_text())


def test_where_it_was_not_asked_the_page_says_how_to_ask(results):
    found = page(results)
    assert 'id="sec-trust"' in found and "make trust" in found and 'id="tbl-trust"' not in found


def test_each_question_has_a_row_with_its_interval_outcome_and_command_and_two_figures_are_drawn(results):
    record = testbed_page.trust_record(left_out=["scales: for want of time"])
    testbed_page.write(results, "trust", record, {"summary": ANSWERS, "links": [LINKS], "coverage": COVERAGE})
    found = page(results)
    assert "1 met</strong>, 0 not met, 1 open" in found
    for each in ANSWERS:
        assert each["asked"] in found and each["again"] in found
    assert "90.0 % (76.0 % to 97.0 %)" in found.replace("\u00a0", " ")
    assert "scales: for want of time" in found
    assert 'id="fig-trust-links"' in found and 'id="fig-trust-coverage"' in found
