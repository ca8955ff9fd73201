"""Every fault of a document that would show after all runs only is one line beforehand: the template with one each."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

import pytest
import yaml

from whitewire.description.checks import load_paper
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.errors import UserError
from whitewire.paths import HOME
from whitewire.workflow import documents
from whitewire.workflow.documents import check_documents

TEMPLATE = HOME / "docs" / "template"
QMD = (TEMPLATE / "paper.qmd").read_text(encoding="utf-8")
PAPERS = sorted(path.stem for path in (HOME / "config" / "papers").glob("*.yaml"))

needs_r = pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R")


@cache
def template():
    return load_paper(TEMPLATE / "paper.yaml", fabric_names(load_testbed("emulated")))


def said(tmp_path: Path, old: str, new: str) -> str:
    """What is said of the template's document with `new` for the first `old`, without its name."""
    assert old in QMD
    path = tmp_path / "made-up-2026.qmd"
    path.write_text(QMD.replace(old, new, 1), encoding="utf-8")
    try:
        return check_documents([(template(), path)])
    except UserError as error:
        return str(error).split(f"{path.name}: ", 1)[1]


WRITTEN = {
    "a heading without its id": (
        " {#sec-fig1}", "",
        "heading of fig1: found nothing, expected {#sec-fig1} after a heading: every exhibit has a section"),
    "a heading with another id": (
        "{#sec-table1}", "{#sec-tabel1}",
        "heading of table1: found nothing, expected {#sec-table1} after a heading: every exhibit has a section; "
        'did you mean "sec-tabel1"?'),
    "a figure without fig-alt": (
        '#| fig-alt: "Throughput against link rate on a logarithmic axis."\n', "",
        'line 86: fig-curve: fig-alt: found nothing, expected a line `#| fig-alt: "…"`'),
    "a misspelt fig-alt": (
        '#| fig-alt: "Throughput against', '#| fig-atl: "Throughput against',
        'line 86: fig-curve: fig-alt: found nothing, expected a line `#| fig-alt: "…"`'),
    "a table without caption": (
        '#| tbl-cap: "Parameters', '#| caption: "Parameters',
        'line 101: tbl-drive-model: tbl-cap: found nothing, expected a line `#| tbl-cap: "…"`'),
    "a label twice": (
        "#| label: fig-curve", "#| label: fig-throughput",
        'line 86: label: found "fig-throughput", expected another one: it is that of line 35 too'),
    "a reference to nothing": (
        "(@tbl-drive-model)", "(@tbl-drive-modell)",
        'line 99: reference: found "@tbl-drive-modell", expected the id of a heading, figure or table; did you mean '
        '"@tbl-drive-model"?'),
    "a part that is not there": (
        "parts/closing.qmd", "parts/closings.qmd",
        'line 107: child: found "parts/closings.qmd", expected a file of paper/parts; did you mean '
        '"parts/closing.qmd"?'),
}  # fmt: skip

CODE = {
    "a metric of a figure": (
        'figure_bars("ingest", "throughput"', 'figure_bars("ingest", "througput"',
        'line 42: figure_bars(metrics): found "througput", expected a metric that runs of ingest have; did you mean '
        '"throughput"?'),
    "a metric of the data": (
        'c("throughput", "throughput_sum"', 'c("throughput", "throughput_sun"',
        'line 45: data_at(metric): found "throughput_sun", expected a metric that runs of ingest have; did you mean '
        '"throughput_sum"?'),
    "an experiment": (
        'figure_bars("ingest"', 'figure_bars("ingset"',
        'line 42: figure_bars(experiment): found "ingset", expected the id of an experiment; did you mean "ingest"?'),
    "a level": (
        'list(fabric = "10gbe")', 'list(fabric = "10gb")',
        'line 50: from_cell(where$fabric): found "10gb", expected a level of fabric in ingest; did you mean "10gbe"?'),
    "a level through a name": (
        'ends <- list(fabric = c("1gbe", "10gbe"))', 'ends <- list(fabric = c("1gbe", "10gb"))',
        'line 42: figure_bars(where$fabric): found "10gb", expected a level of fabric in ingest; did you mean '
        '"10gbe"?'),
    "a factor": (
        'list(fabric = "10gbe")', 'list(fabrik = "10gbe")',
        'line 50: from_cell(where): found "fabrik", expected a factor of ingest; did you mean "fabric"?'),
    "a factor of bars": (
        '"throughput", "fabric", "Four', '"throughput", "fabrics", "Four',
        'line 42: figure_bars(by): found "fabrics", expected a factor of ingest; did you mean "fabric"?'),
    "a network in a sentence": (
        '"1gbe", "10gbe")`', '"1gbe", "10gbr")`',
        'line 19: curve_sentence(to): found "10gbr", expected a level of fabric in ingest; did you mean "10gbe"?'),
    "a claim": (
        'reason_of("N-C01")', 'reason_of("N-C11")',
        'line 55: id: found "N-C11", expected the id of a claim; did you mean "N-C01"?'),
    "a claim that is no id": (
        'from_claim("N-C01"', 'from_claim("N-CO1"',
        'line 50: id: found "N-CO1", expected the id of a claim; did you mean "N-C01"?'),
    "a claim without an inverse question": (
        'inverse_sentence("N-C04")', 'inverse_sentence("N-C03")',
        'line 78: inverse_sentence(claim): found "N-C03", expected a claim with an inverse question; did you mean '
        '"N-C04"?'),
    "a value": (
        'published("N-V05")', 'published("N-V55")',
        'line 23: id: found "N-V55", expected the id of a value; did you mean "N-V05"?'),
    "a value that is no id": (
        'published("N-V05")', 'published("N_V05")',
        'line 23: published(id): found "N_V05", expected the id of a value; did you mean "N-V05"?'),
    "a value of another exhibit": (
        '"N-V02" = from_cell', '"N-V03" = from_cell',
        'line 50: beside_values(rebuilt): found "N-V03", expected the id of a value of fig1; did you mean "N-V02"?'),
    "an exhibit": (
        'beside_values("fig1"', 'beside_values("fig2"',
        'line 50: beside_values(exhibit): found "fig2", expected the id of an exhibit; did you mean "fig1"?'),
    "a key of the YAML": (
        "paper$testbed$nic", "paper$testbed$nics",
        'line 62: paper$testbed: found "nics", expected a key of the paper\'s YAML; did you mean "nic"?'),
    "a function": (
        'figure_bars("ingest"', 'figure_bar("ingest"',
        'line 42: function: found "figure_bar", expected a function of paper/R or of R; did you mean "figure_bars"?'),
    "an argument of a function": (
        "ends, published = printed)", "ends, publishd = printed)",
        "line 42: figure_bars: unused argument (publishd = printed)"),
    "code that R cannot read": (
        'drive_model_table("ingest")', 'drive_model_table("ingest"',
        "line 102: R cannot read this code: unexpected end of input"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_a_fault_in_the_text_is_one_line(name, tmp_path):
    old, new, line = WRITTEN[name]
    assert said(tmp_path, old, new) == line


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """What R says of a document for each fault, and the document's path; R is started once for all."""
    paths = {}
    for name, (old, new, _) in CODE.items():
        assert old in QMD
        paths[name] = tmp_path_factory.mktemp("one") / "made-up-2026.qmd"
        paths[name].write_text(QMD.replace(old, new, 1), encoding="utf-8")
    found = documents._asked(list(paths.values()), shutil.which("Rscript"))
    return {
        name: (path, {kind: [each for each in entries if each["file"] == str(path)] for kind, entries in found.items()})
        for name, path in paths.items()
    }


@needs_r
@pytest.mark.parametrize("name", CODE)
def test_a_fault_in_the_code_is_one_line(name, asked):
    path, found = asked[name]
    with pytest.raises(UserError) as caught:
        documents.raise_first(path, documents.in_code(template(), found))
    assert str(caught.value).split(f"{path.name}: ", 1)[1] == CODE[name][2]


@needs_r
def test_the_documents_of_all_papers_and_of_the_template_have_none():
    fabrics = fabric_names(load_testbed("emulated"))
    papers = [(load_paper(HOME / "config" / "papers" / f"{name}.yaml", fabrics), HOME / "paper" / f"{name}.qmd")
              for name in PAPERS]  # fmt: skip
    assert check_documents([*papers, (template(), TEMPLATE / "paper.qmd")]) == ""


@needs_r
def test_code_is_looked_at_where_it_is_inline_nested_and_in_functions(tmp_path):
    path = tmp_path / "made-up-2026.qmd"
    path.write_text(QMD + '\n`r if (TRUE) known(median_at("ingest", "throughput", list(fabric = "10gbe")))`\n')
    found = documents._asked([path], shutil.which("Rscript"))
    last = [call for call in found["calls"] if call["function"] == "median_at"][-1]
    assert last["line"] == len(QMD.splitlines()) + 2
    assert last["arguments"] == {"experiment": "ingest", "metric": "throughput", "where": {"fabric": "10gbe"}}


def test_without_r_it_says_what_was_not_looked_at(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    path = tmp_path / "made-up-2026.qmd"
    path.write_text(QMD)
    assert check_documents([(template(), path)]) == f"R is not installed: the code of {path} was not looked at"
    path.write_text(QMD.replace(" {#sec-fig1}", ""))
    with pytest.raises(UserError, match="heading of fig1"):
        check_documents([(template(), path)])


def test_where_r_cannot_the_reason_is_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    program = tmp_path / "Rscript"
    program.write_text("#!/bin/sh\necho 'there is no package called jsonlite' >&2\nexit 1\n")
    program.chmod(0o755)
    path = tmp_path / "made-up-2026.qmd"
    path.write_text(QMD)
    reason = check_documents([(template(), path)])
    assert reason == f"R said 'there is no package called jsonlite': the code of {path} was not looked at"


def test_levels_are_the_same_as_documents_take_them():
    assert documents._same("1GbE", "1gbe") and documents._same(1, 1.0) and documents._same("4", 4)
    assert not documents._same("1gbe", "10gbe") and not documents._same(yaml.safe_load("on"), "on")
