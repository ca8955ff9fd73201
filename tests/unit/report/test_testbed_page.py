"""The testbed's page shows records and tables that came from elsewhere as text, and never those that are damaged."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import testbed_page
from tests.support.damage import DAMAGES
from tests.support.nasty import FENCE, NASTY, marked, plain, text_of
from whitewire.errors import UserError
from whitewire.records import links, trust
from whitewire.records.links import LINKS_RECORD
from whitewire.records.schema import fault_of_value
from whitewire.records.trust import TRUST_RECORD
from whitewire.report import render
from whitewire.report.render import render_document

HOSTS = ("one", "two", "three")


def text(name: str) -> str:
    return marked(name)


SHORT = "`r stop()` <script>alert(1)</script> *b* [l](javascript:x) | c"
"""What is drawn in figures too, where longer text leaves no room for them; without large letters, as networks are."""


def host(name: str) -> str:
    return f"{name} {SHORT}"


def rows() -> dict[str, list[dict[str, object]]]:
    """Tables of links whose every text is nasty."""
    fabric = f"on {SHORT}"
    way = {"fabric": fabric, "streams": 1, "goodput": 7.0, "expected": 7.5, "error": -0.07, "beyond": "true",
           "retransmit_share": 0.1, "rtt_at_rest": 90, "rtt": 800, "alone": "false", "why": text("why")}  # fmt: skip
    return {
        "hosts": [{"host": host(name), "role": text("role"), "target": text("target"), "processor": text("processor"),
                   "processors": text("processors"), "memory_gib": text("memory"), "kernel": text("kernel"),
                   "system": text("system"), "clock_ms": text("clock"), "congestion_control": text("control")}
                  for name in HOSTS],
        "fabrics": [{"fabric": fabric, "rate": 7.8, "full_scale_rate": 1000, "shared": "false", "depth": text("depth"),
                     "at_once": 1, "seconds": 0.3, "streams": text("streams")}],
        "links": [{"fabric": fabric, "host": host(name), "interface": text("interface"), "address": text("address"),
                   "rate": 7.8, "mtu": text("mtu"), "queue": text("queue"), "offloads": text("offloads"),
                   "driver": text("driver"), "version": text("version"), "firmware": text("firmware")}
                  for name in HOSTS],
        "ways": [{**way, "source": host(a), "destination": host(b)} for a in HOSTS for b in HOSTS if a != b],
        "outliers": [{"kind": text("kind"), "subject": text("subject"), "fabric": fabric, "hosts": host("one"),
                      "value": 1.0, "expected": 2.0, "unit": text("unit"), "cause": text("cause"), "stops": stops,
                      "part_of": part, "said": f"{text('said')} {FENCE}"}
                     for stops, part in (("true", ""), ("false", text("part")))],
        "left_out": [{"reason": text("reason")}, {"reason": FENCE}],
        "fit": [{"paper": text("paper"), "fit": text("fit"), "reason": text("because")}, {"paper": FENCE, "fit": "no"}],
        "probes": [{"probe": "fio", "source": host("one"), "destination": "drive 1", "streams": 1,
                    "operation": text("operation"), "mode": text("mode"), "metric": "bandwidth", "value": 1.5,
                    "unit": text("rate"), "expected": 1.5, "error": 0.01, "ok": "true"}],
        "drives": [{"host": host("one"), "folder": text("folder"), "kind": "drive", "mode": text("modes"),
                    "operation": operation, "block_bytes": size, "queue_depth": 1, "metric": metric, "value": 3.5,
                    "unit": "MB/s", "problem": text("problem")}
                   for operation in ("write", "read", "randwrite", "randread") for size in (4096, 1048576)
                   for metric in ("bandwidth", "iops", "latency_p99", "failed")],
        "transports": [{"fabric": fabric, "source": host("one"), "destination": host("two"), "transport": text("way"),
                        "kind": "rdma", "streams": 1, "metric": "goodput", "value": value, "unit": "Mbit/s",
                        "attempt": attempt, "why": why} for attempt, value, why in ((1, 5, ""), (2, "", text("lost")))],
        "rdma": [{"fabric": "10gbe", "source": host("one"), "destination": host("two"), "transport": text("transport"),
                  "test": "ib_write_bw", "message_bytes": 65536, "metric": "bandwidth_average", "value": 900,
                  "unit": "MB/s", "limit": 1000}, {"fabric": "10gbe", "why": text("without")}],
    }  # fmt: skip


def answers() -> dict[str, list[dict[str, object]]]:
    """Tables of trust, likewise."""
    ends = {"low": 0.9, "high": 1.1}
    return {
        "summary": [{"part": text("asks"), "asked": text("asked"), "n": 3, "of": text("of"), "value": 1.0, **ends,
                     "unit": "1", "goal": text("goal"), "outcome": text("outcome"), "again": text("again")}],
        "links": [{"rate": rate, "pairs": 1, "meter": text("meter"), "n": 3, "error": 0.001, **ends, "reach": "true",
                   "within_bound": "true"} for rate in (25, 50)],
        "coverage": [{"expected": text("expected"), "n": 3, "covered": 3, "share": 1.0, **ends, "error": 0.0}],
        "scales": [{"paper": "p", "cell": text("cell"), "metric": text("metric"), "k": 1, "k_other": 2, "n": 3,
                    "n_other": 3, "ratio": 1.0, **ends, "agrees": text("agrees")}],
        "load": [{"load": 1, "clients": 1, "made": 3, "n": 3, "n_calm": 3, "ratio": 1.0, **ends}],
        "lanes": [{"paper": "p", "kind": "floor", "cell": text("lane"), "lanes": 2, "made": 3, "n": 3, "n_alone": 3,
                   "ratio": 1.0, **ends}],
        "order": [{"source": text("source"), "n": 3, "cells": 1, "change": 0.01, **ends, "p_value": 0.5}],
    }  # fmt: skip


SHOWN = {
    "role", "target", "processor", "processors", "memory", "kernel", "clock", "depth", "streams", "interface",
    "mtu", "queue", "offloads", "driver", "version", "firmware", "kind", "subject", "unit", "cause", "part", "said",
    "reason", "paper", "fit", "because", "operation", "mode", "rate", "folder", "modes", "problem", "without",
    "shape", "effort", "asked", "of", "goal", "outcome", "again", "cell", "lane", "metric", "agrees", "source",
    "left", "way", "lost",
}  # fmt: skip
AS_CODE = {"paper", "folder", "shape", "again", "metric"}
"""Which have neither backticks nor bars there."""


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> SimpleNamespace:
    """The page of records and tables that are nasty throughout; the effort too, as no check lets it be."""
    results = tmp_path_factory.mktemp("nasty") / "emulated"
    record = testbed_page.links_record(shape=text("shape"), effort=text("effort"))
    testbed_page.write(results, "links", record, rows())
    testbed_page.write(results, "trust", testbed_page.trust_record(left_out=[text("left"), FENCE]), answers())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(render.links, "read_links_unchecked", lambda _: record)
        pages = render_document(render.document("testbed"), results, results / "reports", ("html", "pdf"))
    return SimpleNamespace(folder=results, html=pages[0].read_text(encoding="utf-8"), pdf=pages[1])


needs_r = pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R")


@needs_r
def test_markup_of_records_and_tables_is_text(made) -> None:
    shown = set()
    for name, found in re.findall(r"zz(\w+?)zz((?:(?!zz).)*)zzendzz", text_of(made.html), re.IGNORECASE):
        signs = "'|" if name.lower() in AS_CODE else ""
        one, other = ("".join(sign for sign in plain(each).casefold() if sign not in signs) for each in (found, NASTY))
        assert one == other, name
        shown.add(name.lower())
    assert shown >= SHOWN, SHOWN - shown
    for drawn in (f"on {SHORT}", host("one")):
        assert plain(drawn) in plain(text_of(made.html))


@needs_r
def test_the_page_has_no_element_of_theirs_and_runs_nothing(made) -> None:
    assert not re.search(r"<script[^>]*>\s*alert", made.html)
    assert not re.search(r"<img[^>]*onerror", made.html)
    assert not re.search(r"""href=["']?javascript:""", made.html)
    assert "root:x:" not in made.html and "A heading</h1>" not in made.html
    assert not list(made.folder.rglob("ran-r")) and not (render._PAPER / "ran-r").exists()


@needs_r
@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="needs pdftotext (poppler-utils)")
def test_markup_is_text_in_the_pdf_of_the_page(made) -> None:
    argv = ["pdftotext", "-raw", str(made.pdf), "-"]
    found = plain(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)
    for part in ("#sys.version", "<script>alert(1)</script>", "&copy;"):
        assert part in found, part


# --- what is damaged never reaches R --------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(["links", "trust"]), st.sampled_from(sorted(DAMAGES)))
def test_a_damaged_record_is_one_line_before_the_page(data, name, how) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        results = Path(scratch) / "emulated"
        testbed_page.write(results, "links", testbed_page.links_record(), {})
        testbed_page.write(results, "trust", testbed_page.trust_record(), {})
        path = results / name / f"{name}.json"
        path.write_bytes(DAMAGES[how](path.read_bytes(), data))
        form = links.LinksRecord if name == "links" else trust.TrustRecord
        try:
            render._check_links(results)
        except UserError as error:
            (line,) = error.lines
            assert f"{name}.json: " in line
        else:
            assert fault_of_value(json.loads(path.read_bytes()), form) == ""


@pytest.mark.parametrize(("effort", "said"), [
    ("quik", 'plan.effort: found "quik", expected one of smoke, quick, full; did you mean "quick"?'),
    (f"{NASTY}", "plan.effort: found "),
])  # fmt: skip
def test_an_effort_that_is_none_is_reported(tmp_path, effort, said) -> None:
    testbed_page.write(tmp_path, "links", testbed_page.links_record(effort=effort), {})
    with pytest.raises(UserError) as error:
        render._check_links(tmp_path)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_tables_of_trust_that_is_measured_again_stop_no_page(tmp_path) -> None:
    testbed_page.write(tmp_path, "links", testbed_page.links_record(), {})
    folder = testbed_page.write(tmp_path, "trust", testbed_page.trust_record(), {})
    (folder / TRUST_RECORD).unlink()
    render._check_links(tmp_path)
    (tmp_path / "links" / LINKS_RECORD).unlink()
    with pytest.raises(UserError, match=r"links.json: found no such file"):
        render._check_links(tmp_path)
