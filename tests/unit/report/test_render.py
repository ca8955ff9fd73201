"""Rendering without Quarto: numbering, references, and faults that end it with one line.

The same with Quarto, where there is one: tests/reports/test_quarto.py.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from tests.support import compared, kept
from whitewire import paths
from whitewire.cli import main
from whitewire.errors import UserError
from whitewire.report import render as module
from whitewire.report.render import render_document

needs_r = pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R")

DOCUMENT = """\
---
title: "A small document"
---

# First {#sec-first}

See @fig-line, @tbl-numbers and @sec-second; the number alone is [-@fig-line].

## Inner {#sec-inner}

```{r}
#| label: fig-line
#| fig-cap: "A line."
#| fig-alt: "Points on a line."
plot(1:3)
```

```{r}
#| label: fig-other
#| fig-cap: "Another."
plot(3:1)
```

# Second {#sec-second}

```{r}
#| label: tbl-numbers
#| tbl-cap: "Some numbers."
knitr::kable(data.frame(a = 1:2, b = c(`r 1 + 1`, 4)), format = "pipe")
```

As @sec-inner says, @fig-other comes second, and two and two is `r 2 + 2`.
"""


@pytest.fixture
def write(tmp_path: Path):
    (tmp_path / "results").mkdir()

    def written(text: str, name: str = "small") -> Path:
        qmd = tmp_path / f"{name}.qmd"
        qmd.write_text(textwrap.dedent(text))
        return qmd

    return written


@pytest.fixture
def without_quarto(monkeypatch: pytest.MonkeyPatch) -> None:
    which = shutil.which
    monkeypatch.setattr(module.shutil, "which", lambda name: None if name == "quarto" else which(name))


def made(qmd: Path, *formats: str) -> list[Path]:
    return render_document(qmd, qmd.parent / "results", qmd.parent / "reports", formats or ("html",))


@needs_r
def test_figures_tables_and_sections_are_numbered(write, without_quarto) -> None:
    html, pdf = made(write(DOCUMENT.replace("`r 1 + 1`", "2")), "html", "pdf")
    text = html.read_text()
    plain = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", text)).replace("\u00a0", " ").replace("&nbsp;", " ")
    assert "See Figure 1, Table 1 and Section 2; the number alone is 1." in plain
    assert "As Section 1.1 says, Figure 2 comes second, and two and two is 4." in plain
    assert "Figure 1: A line." in plain
    assert "Figure 2: Another." in plain
    assert "Table 1: Some numbers." in plain
    assert re.search(r'<svg role="img" aria-label="Points on a line."', text)
    assert "data:image/svg+xml" not in text
    assert 'href="#fig-line"' in text
    assert 'id="fig-line"' in text
    assert pdf.read_bytes().startswith(b"%PDF")


@needs_r
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("See @fig-missing.", "unresolved reference @fig-missing"),
        ("See [@tbl-missing].", "unresolved reference @tbl-missing"),
        ("See [-@sec-missing].", "unresolved reference @sec-missing"),
        ("![A picture.](none.png){#fig-none}", "missing image none.png"),
        ("# A {#sec-a}\n\n# B {#sec-a}", "sec-a"),
        ("As told [@nobody1999].", "nobody1999"),
    ],
)
def test_a_fault_ends_the_rendering_with_one_line(write, without_quarto, fault: str, message: str) -> None:
    qmd = write(f"---\ntitle: Faulty\n---\n\n{fault}\n")
    with pytest.raises(UserError) as error:
        made(qmd)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert not (qmd.parent / "reports" / "small.html").exists()


@needs_r
def test_an_error_in_r_ends_the_rendering(write, without_quarto) -> None:
    with pytest.raises(UserError, match="the reason"):
        made(write('---\ntitle: Faulty\n---\n\n```{r}\nstop("the reason")\n```\n'))


def test_missing_inputs(write, tmp_path: Path) -> None:
    qmd = write("---\ntitle: x\n---\n")
    with pytest.raises(UserError, match="no such document"):
        render_document(tmp_path / "none.qmd", tmp_path, tmp_path)
    with pytest.raises(UserError, match="no results in"):
        render_document(qmd, tmp_path / "nowhere", tmp_path)
    with pytest.raises(UserError, match="no document for paper 'nowhere'"):
        module.document("nowhere")


@needs_r
def test_the_r_helpers(tmp_path: Path) -> None:
    done = subprocess.run(
        ["Rscript", "--vanilla", "-e", 'testthat::test_dir("tests/testthat", reporter = "stop")'],
        cwd=module.PROJECT,
        capture_output=True,
        text=True,
    )
    if "there is no package called" in done.stderr:
        pytest.skip("needs testthat")
    assert done.returncode == 0, done.stdout + done.stderr


@needs_r
def test_an_error_in_r_names_the_document_its_lines_and_the_missing_file(write, without_quarto) -> None:
    qmd = write("---\ntitle: Faulty\n---\n\n```{r}\n#| child: parts/none.qmd\n```\n")
    with pytest.raises(UserError) as error:
        made(qmd)
    assert re.fullmatch(
        r"small\.qmd: lines 6-7: cannot open file '\S*parts/none\.qmd': No such file or directory", str(error.value)
    )


R_SAID = """\

processing file: small.qmd
\r  |              |   0%\r  |.....         |  50%
Quitting from lines 6-9 [bad] (small.qmd)
Error in `f()`:
! no such claim
Backtrace:
 1. global f()
Execution halted
"""


def test_what_newer_r_packages_say_of_an_error() -> None:
    assert module._reason(R_SAID) == "lines 6-9: ! no such claim"
    assert module._reason(R_SAID.replace("`f()`:\n! ", "f() : ")) == "lines 6-9: no such claim"
    assert module._reason("a\n\nb\n") == "a b"
    assert module._reason("") == "it ended without a message"


def test_a_paper_without_results_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no verdicts on emulex-2012 in .*make papers PAPERS=emulex-2012"):
        render_document(module.document("emulex-2012"), tmp_path, tmp_path)


def test_why_quarto_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def program(name: str, status: int) -> None:
        (tmp_path / name).write_text(f"#!/bin/sh\nexit {status}\n")
        (tmp_path / name).chmod(0o755)

    monkeypatch.setenv("PATH", str(tmp_path))
    assert module.quarto_lacks() == "it is not installed"
    program("quarto", 0)
    assert module.quarto_lacks() == "it needs R; install r-base-core"
    program("Rscript", 1)
    assert module.quarto_lacks() == "it needs R's package rmarkdown; install r-cran-rmarkdown"
    program("Rscript", 0)
    assert module.quarto_lacks() == ""
    monkeypatch.setattr(module.paths, "HOME", Path("/home/researcher/.src/whitewire"))
    assert module.quarto_lacks().startswith("it ignores documents below hidden folders")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_what_an_ended_rendering_leaves(tmp_path: Path, number: signal.Signals) -> None:
    """Nothing after SIGTERM; after SIGKILL a folder where the next start of the workflow clears it."""
    going = tmp_path / "going"
    for name in ("Rscript", "quarto"):  # Rscript says that rmarkdown is there
        program = tmp_path / name
        program.write_text(
            '#!/bin/sh\ncase "$*" in --version | *requireNamespace*) exit 0 ;; esac\n'
            f"echo $$ > {going}.part\nmv {going}.part {going}\nexec sleep 60\n"
        )
        program.chmod(0o755)
    verdicts = tmp_path / "results" / "emulex-2012" / "analysis" / "verdicts.csv"
    verdicts.parent.mkdir(parents=True)
    row = dict.fromkeys(module._VERDICT_COLUMNS, "") | {
        "paper": "emulex-2012",
        "claim": "E-C01",
        "verdict": "inconclusive",
    }
    verdicts.write_text(f"{','.join(row)}\n{','.join(row.values())}\n")
    (tmp_path / "elsewhere").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "whitewire", "render", "--paper", "emulex-2012", "--results", str(tmp_path / "results")],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "TMPDIR": str(tmp_path / "elsewhere")},
    )
    deadline = time.monotonic() + 60
    while not going.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    renderer = psutil.Process(int(going.read_text()))
    during = set((tmp_path / "elsewhere").glob("render-*"))
    assert len(during) == 1
    process.send_signal(number)
    process.wait(timeout=20)
    left = {path for path in during if path.exists()}
    for path in left:
        shutil.rmtree(path)
    psutil.wait_procs([renderer], timeout=5)
    assert not renderer.is_running() or renderer.status() == psutil.STATUS_ZOMBIE
    assert left == (set() if number == signal.SIGTERM else during)
    assert not any((tmp_path / "elsewhere").iterdir())


HEAD = ",".join(module._VERDICT_COLUMNS)
ROW = "emulex-2012,,E-C01,Six times,reproduced" + "," * (len(module._VERDICT_COLUMNS) - 5)
BROKEN = {
    "nothing at all": ("", "line 1: found no column paper, expected one"),
    "half a head": (HEAD[:20] + "\n", "line 1: found no column "),
    "no claim": (HEAD + "\n", "found no row"),
    "half a row": (f"{HEAD}\n{ROW}\nemulex-2012,E-C02,Fi", "line 3: found no line end, expected a whole line"),
    "another verdict": (f"{HEAD}\n{ROW.replace('reproduced', 'true')}\n", 'line 2, verdict: found "true"'),
    "a claim twice": (f"{HEAD}\n{ROW}\n{ROW}\n", 'claim: found "E-C01" twice'),
    "a row too long": (f"{HEAD}\n{ROW}\n{ROW},,,\n", "line 3: found another number of cells, expected 11"),
    "an open quote": (f'{HEAD}\n{ROW}"x\n{ROW}\n', "found a table that cannot be read"),
    "bytes that are no text": (f"{HEAD}\n".encode() + b"\xff\xfe\x00", "found bytes that are not UTF-8, expected"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_verdicts_are_reported_and_nothing_starts(name, tmp_path, monkeypatch, capsys) -> None:
    text, said = BROKEN[name]
    verdicts = tmp_path / "emulated" / "emulex-2012" / "analysis" / "verdicts.csv"
    verdicts.parent.mkdir(parents=True)
    verdicts.write_bytes(text if isinstance(text, bytes) else text.encode())
    monkeypatch.setattr(module, "_run", lambda *_, **__: pytest.fail("something was started"))
    assert main(["render", "--paper", "emulex-2012", "--results", str(tmp_path / "emulated")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and f"{verdicts}: " in error and said in error
    assert "`make papers PAPERS=emulex-2012` makes it anew" in error
    assert not (tmp_path / "emulated" / "reports").exists()


@pytest.fixture
def two_papers(tmp_path, monkeypatch):
    """(results of two papers in a project of their own, what the start page got of damaged ones)."""
    results = kept.results(kept.project(tmp_path / "project"))
    compared.write(results, "another-2026", [compared.claim("C1", 4.0, 3.8, 4.2, reason="made up")])
    damaged: dict[str, list[str]] = {}

    def made(qmd, scratch, formats, environment, pulse):
        if "WHITEWIRE_REFERENCE" in environment:
            damaged.clear()
            damaged.update(json.loads((Path(environment["WHITEWIRE_REFERENCE"]) / "damaged.json").read_text()))
        for name in formats:
            (scratch / f"made.{name}").write_text("<main></main>")
        return {name: scratch / f"made.{name}" for name in formats}

    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setattr(module, "quarto_lacks", lambda: "it is not asked")
    monkeypatch.setattr(module, "_with_pandoc", made)
    return results, damaged


def test_the_start_page_leaves_out_papers_whose_tables_do_not_hold(two_papers, capsys) -> None:
    results, damaged = two_papers
    index = ["render", "--paper", "index", "--results", str(results)]
    assert main(index) == 0 and damaged == {}
    verdicts = results / kept.PAPER / "analysis" / "verdicts.csv"
    verdicts.write_text(verdicts.read_text().replace("reproduced", "not reproduced", 1))
    (results / "reports" / "index.html").unlink()
    capsys.readouterr()
    assert main(index) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and f"{kept.PAPER}/analysis/verdicts.csv: found " in error and module._ANEW in error
    assert list(damaged) == [kept.PAPER] and damaged[kept.PAPER][0] in error
    assert (results / "reports" / "index.html").is_file()


@pytest.mark.parametrize("name", ["nothing at all", "an open quote", "bytes that are no text"])
def test_the_start_page_leaves_out_papers_whose_verdicts_are_none(name, two_papers, capsys) -> None:
    results, damaged = two_papers
    text = BROKEN[name][0]
    verdicts = results / "another-2026" / "analysis" / "verdicts.csv"
    verdicts.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert main(["render", "--paper", "index", "--results", str(results)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "another-2026/analysis/verdicts.csv: " in error and "anew" in error
    assert list(damaged) == ["another-2026"]


def test_a_damaged_paper_is_no_reason_against_another_ones_report(two_papers, capsys, monkeypatch) -> None:
    results, damaged = two_papers
    (results / "another-2026" / "analysis" / "verdicts.csv").write_text("claim\n")
    monkeypatch.setattr(module, "papers_lacking", lambda results: ["a third one"])
    assert main(["render", "--paper", kept.PAPER, "--start-page", "--results", str(results)]) == 0
    error = capsys.readouterr().err
    assert "whitewire: results/emulated/another-2026/analysis/verdicts.csv: " in error and "error" not in error
    assert list(damaged) == ["another-2026"]
    assert (results / "reports" / f"{kept.PAPER}.html").is_file() and (results / "reports" / "index.html").is_file()


def test_the_configuration_is_that_of_the_current_folder(tmp_path, monkeypatch) -> None:
    for folder in ("config/papers", "results", "paper"):
        (tmp_path / folder).mkdir(parents=True)
    for name, path in (("config.yaml", "config.yaml"), ("papers/own-2026.yaml", "../docs/template/paper.yaml")):
        text = (paths.HOME / "config" / path).read_text(encoding="utf-8")
        (tmp_path / "config" / name).write_text(text.replace("made-up-2026", "own-2026"), encoding="utf-8")
    (tmp_path / "paper" / "own-2026.qmd").touch()
    monkeypatch.chdir(tmp_path)
    assert module.document("own-2026") == tmp_path / "paper" / "own-2026.qmd"
    assert module.document("index") == paths.HOME / "paper" / "index.qmd"
    assert list(module._papers_as_read(tmp_path / "config", "own-2026")) == ["own-2026.yaml"]
    with pytest.raises(UserError, match="no verdicts on own-2026"):
        render_document(module.document("own-2026"), tmp_path / "results", tmp_path / "reports")


def test_a_figure_is_drawn_whatever_its_label_holds(tmp_path):
    """A label comes from a paper's document; in Typst a quote would end the name, and what follows would be run."""
    drawing = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>'
    for label in ("plain", 'a"), read("figures.typ'):
        (tmp_path / f"fig-{label}-1.svg").write_text(drawing)
    folder = module._figures(tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == ['a"), read("figures.typ.png', "plain.png"]
