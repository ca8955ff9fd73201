"""Rendering without Quarto: numbering, references, and faults that end it with one line."""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from whitewire import config
from whitewire import render as module
from whitewire.errors import UserError
from whitewire.render import render

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
    return render(qmd, qmd.parent / "results", qmd.parent / "reports", formats or ("html",))


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
    assert 'alt="Points on a line."' in text
    assert "data:image/svg+xml" in text
    assert 'href="#fig-line"' in text
    assert 'id="fig-line"' in text
    assert pdf.read_bytes().startswith(b"%PDF")


@needs_r
@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("See @fig-missing.", "unresolved reference @fig-missing"),
        ("See [@tbl-missing].", "unresolved reference @tbl-missing"),
        ("See [-@sec-missing].", "unresolved reference @sec-missing"),
        ("![A picture.](none.png){#fig-none}", "missing image none.png"),
        ("# A {#sec-a}\n\n# B {#sec-a}", "sec-a"),
        ("As told [@nobody1999].", "nobody1999"),
    ],
)
def test_a_fault_ends_the_rendering_with_one_line(write, without_quarto, fault: str, told: str) -> None:
    qmd = write(f"---\ntitle: Faulty\n---\n\n{fault}\n")
    with pytest.raises(UserError) as error:
        made(qmd)
    assert told in str(error.value)
    assert "\n" not in str(error.value)
    assert not (qmd.parent / "reports" / "small.html").exists()


@needs_r
def test_an_error_in_r_ends_the_rendering(write, without_quarto) -> None:
    with pytest.raises(UserError, match="the reason"):
        made(write('---\ntitle: Faulty\n---\n\n```{r}\nstop("the reason")\n```\n'))


def test_unknown_format_and_missing_inputs(write, tmp_path: Path) -> None:
    qmd = write("---\ntitle: x\n---\n")
    with pytest.raises(UserError, match="unknown report format 'docx'"):
        made(qmd, "docx")
    with pytest.raises(UserError, match="no such document"):
        render(tmp_path / "none.qmd", tmp_path, tmp_path)
    with pytest.raises(UserError, match="no results in"):
        render(qmd, tmp_path / "nowhere", tmp_path)
    with pytest.raises(UserError, match="no document for paper 'nowhere'"):
        module.render_command(SimpleNamespace(paper="nowhere", results=tmp_path, output=tmp_path))


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


def pretend_quarto(folder: Path, monkeypatch: pytest.MonkeyPatch, log: str) -> None:
    """A program named quarto that writes a file and a log."""
    program = folder / "bin" / "quarto"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho made > small.html\necho '{log}' >&2\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")


def test_quarto_is_used_where_it_is_installed(write, tmp_path: Path, monkeypatch) -> None:
    pretend_quarto(tmp_path, monkeypatch, "Output created: small.html")
    (html,) = made(write("---\ntitle: x\n---\n"))
    assert html.read_text() == "made\n"


def test_an_unresolved_reference_in_the_log_of_quarto_is_an_error(write, tmp_path: Path, monkeypatch) -> None:
    pretend_quarto(tmp_path, monkeypatch, "[33mWARNING: Unable to resolve crossref @fig-x[39m")
    with pytest.raises(UserError, match="Unable to resolve crossref @fig-x"):
        made(write("---\ntitle: x\n---\n"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_what_an_ended_rendering_leaves(tmp_path: Path, number: signal.Signals) -> None:
    """Nothing after SIGTERM; after SIGKILL a folder where the next start of the workflow clears it."""
    going = tmp_path / "going"
    for name in ("Rscript", "quarto"):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho $$ > {going}.part\nmv {going}.part {going}\nexec sleep 60\n")
        program.chmod(0o755)
    (tmp_path / "results").mkdir()
    (tmp_path / "elsewhere").mkdir()
    before = set(config.temporary().iterdir())
    process = subprocess.Popen(
        [sys.executable, "-m", "whitewire", "render", "--paper", "emulex-2012", "--results", str(tmp_path / "results")],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "TMPDIR": str(tmp_path / "elsewhere")},
    )
    deadline = time.monotonic() + 60
    while not going.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    renderer = psutil.Process(int(going.read_text()))
    during = set(config.temporary().iterdir()) - before
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
