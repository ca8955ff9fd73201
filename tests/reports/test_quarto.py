"""Real Quarto, where there is one: the same report as without it, and the same faults."""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
from difflib import SequenceMatcher
from pathlib import Path

import pytest

from tests.support import kept
from whitewire.errors import UserError
from whitewire.paths import HOME
from whitewire.report import rebuild
from whitewire.report import render as module
from whitewire.report.compare import compare_results
from whitewire.report.render import render_document

WHY = module.quarto_lacks()
pytestmark = pytest.mark.skipif(bool(WHY), reason=f"Quarto: {WHY}")
FURTHER = sorted(
    path.stem for path in (HOME / "config" / "papers").glob("*.yaml")
    if not (HOME / "results" / "reference" / path.stem).exists()
)  # fmt: skip
"""Papers that the reference lacks."""
PAGES = [module.INDEX, module.TESTBED, *sorted(path.stem for path in (HOME / "config" / "papers").glob("*.yaml"))]
RENDERED = re.compile(r"Rendered with (Quarto [\d.]*\d|knitr, pandoc [\d.]*\d and typst [\d.]*\d)")


def without_quarto(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "quarto_lacks", lambda: "the test wants it so")


def words_of_page(path: Path) -> list[str]:
    """The words that a reader sees, in order."""
    text = re.sub(r"<(style|script|head)\b.*?</\1>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = html.unescape(re.sub(r"<[^>]+>", " ", text)).replace("\u00a0", " ")
    text = re.sub(r"\s+([.,;:)])", r"\1", re.sub(r"\s+", " ", text))
    return RENDERED.sub("", text).split()


def words_of_pdf(path: Path) -> list[str]:
    """Without the dots of the contents and the hyphens of broken words, which releases of typst set differently; they
    also break `C-C01` after its hyphen, which is then lost."""
    text = subprocess.run(["pdftotext", str(path), "-"], capture_output=True, text=True, check=True).stdout
    text = re.sub(r"\u00ad\s*", "", text.replace("\u00a0", " ").replace("\u2060", " "))
    text = re.sub(r"(?: ?\.){3,}", " ", text)
    text = re.sub(r"\b([A-Z]) (?=[A-Z]+\d)", r"\1-", RENDERED.sub("", re.sub(r"\s+", " ", text)))
    return text.split()


def tags(path: Path, pattern: str) -> list[str]:
    return re.findall(pattern, path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def both(tmp_path_factory) -> dict[str, Path]:
    """Folders of all reports by renderer: those of the reference, with Quarto by `whitewire report`, and those of the
    papers that it lacks, without a run."""
    top = tmp_path_factory.mktemp("both")
    shutil.copytree(HOME / "config", top / "config")
    shutil.copytree(HOME / "results" / "reference", top / "results" / "reference")
    environment = {name: value for name, value in os.environ.items() if name not in rebuild._OVERRIDES}
    command = [sys.executable, "-m", "whitewire", "report", "--testbed", "reference"]
    done = subprocess.run(command, cwd=top, env=environment, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr[-2000:]
    opened = top / "results" / "opened" / "reference"
    folders = {"quarto": opened / "reports", "pandoc": top / "pandoc", "results": opened / "results" / "emulated"}
    for name in FURTHER:
        results = kept.unmeasured(name, top / "unmeasured").parent
        render_document(module.document(name), results, folders["quarto"])
    with pytest.MonkeyPatch.context() as patch:
        without_quarto(patch)
        for name in PAGES:
            patch.chdir(HOME if name in FURTHER else opened)  # which describes its own papers alone
            results = top / "unmeasured" if name in FURTHER else folders["results"]
            formats = ("html",) if name == module.INDEX else module._FORMATS
            render_document(module.document(name), results, folders["pandoc"], formats)
    return folders


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_pages_say_the_same(both, page: str) -> None:
    quarto, pandoc = (words_of_page(both[name] / f"{page}.html") for name in ("quarto", "pandoc"))
    assert len(quarto) > 500
    assert quarto == pandoc


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if page != module.INDEX])
def test_the_pdfs_show_the_same(both, page: str) -> None:
    quarto, pandoc = (words_of_pdf(both[name] / f"{page}.pdf") for name in ("quarto", "pandoc"))
    assert len(quarto) > 500
    ratio = SequenceMatcher(None, quarto, pandoc, autojunk=False).ratio()
    assert ratio > 0.94  # letters of figures come in another order from another release of typst
    claims, of_quarto = ({word for word in words if re.fullmatch(r"[A-Z]-C\d+", word)} for words in (pandoc, quarto))
    assert of_quarto == claims
    assert claims or page == module.TESTBED


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if page != module.INDEX])
def test_each_figure_has_one_line_with_one_link_to_its_data(both, page: str) -> None:
    text = (both["quarto"] / f"{page}.html").read_text(encoding="utf-8")
    assert "Data of this figure" not in re.sub(r'<p class="provenance">.*?</p>', "", text)
    assert all(line.count("data-link") < 2 for line in re.findall(r'<p class="provenance">.*?</p>', text))


@pytest.mark.slow
@pytest.mark.parametrize(
    "pattern",
    [
        r"<h(\d)[ >]",
        r'href="(#(?:fig|tbl|sec)-[\w-]+)"',
        r'<svg role="img" aria-label="([^"]*)"',
        r'class="badge ([\w-]+)"',
    ],
    ids=["headings", "references", "images", "verdicts"],
)
def test_the_pages_have_the_same_parts(both, pattern: str) -> None:
    quarto, pandoc = (sorted(tags(both[name] / "emulex-2012.html", pattern)) for name in ("quarto", "pandoc"))
    assert len(pandoc) > 15
    assert quarto == pandoc


@pytest.mark.slow
def test_the_same_figures_are_drawn_one_by_one(both) -> None:
    quarto, pandoc = ({p.name for p in (both[name] / "figures").rglob("*.png")} for name in ("quarto", "pandoc"))
    assert quarto == pandoc and len(pandoc) > 20


@pytest.mark.slow
def test_the_report_says_which_quarto_made_it(both) -> None:
    version = subprocess.run(["quarto", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    assert f"Rendered with Quarto {version}" in (both["quarto"] / "emulex-2012.html").read_text()


def test_a_comparison_looks_as_without_quarto(project: Path, reports_dir: Path, tmp_path: Path, monkeypatch) -> None:
    shutil.copytree(project / "config", tmp_path / "config")
    (tmp_path / "results").mkdir()
    for name in ("a", "b"):
        shutil.copytree(reports_dir.parent, tmp_path / "results" / name)
    monkeypatch.chdir(tmp_path)
    quarto = words_of_page(compare_results(["a", "b"]))
    without_quarto(monkeypatch)
    assert quarto == words_of_page(compare_results(["a", "b"])) and len(quarto) > 200


def test_a_page_without_our_template_is_no_report(tmp_path: Path, monkeypatch) -> None:
    """Quarto renders what it takes for no document of a project without a word, and without the project's settings."""
    folder = tmp_path / "paper"
    shutil.copytree(module._PAPER, folder, ignore=shutil.ignore_patterns("*.qmd", "_site", ".quarto", "R"))
    text = (folder / "_quarto.yml").read_text().replace('"!parts/*.qmd"', '"!parts/*.qmd", "!left-out.qmd"')
    (folder / "_quarto.yml").write_text(text)
    (folder / "left-out.qmd").write_text("---\ntitle: Left out\n---\n\nText.\n")
    (folder / "other.qmd").write_text("---\ntitle: Other\n---\n\nText.\n")
    (tmp_path / "results").mkdir()
    with pytest.raises(UserError, match="left-out.qmd: Quarto .* did not read paper/_quarto.yml"):
        render_document(folder / "left-out.qmd", tmp_path / "results", tmp_path / "reports", ("html",))


def test_quarto_leaves_nothing_in_the_home(reports_dir: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
            patch.delenv(name, raising=False)
        render_document(module.document("index"), reports_dir.parent, tmp_path / "out", ("html",))
    assert not any(home.iterdir())


@pytest.fixture
def small(tmp_path: Path):
    """Renders a small document in a folder with the styles and filters of paper/."""
    folder = tmp_path / "paper"
    shutil.copytree(module._PAPER, folder, ignore=shutil.ignore_patterns("*.qmd", "_site", ".quarto", "R"))
    (tmp_path / "results").mkdir()

    def rendered(body: str) -> Path:
        qmd = folder / "small.qmd"
        qmd.write_text(f"---\ntitle: Small\n---\n\n{body}\n")
        return render_document(qmd, tmp_path / "results", tmp_path / "reports", ("html",))[0]

    return rendered


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("See @fig-missing.", "small.qmd: unresolved reference @fig-missing"),
        ("See [@tbl-missing].", "small.qmd: unresolved reference @tbl-missing"),
        ("![A picture.](none.png){#fig-none}", "small.qmd: missing image none.png"),
        ("As message [@nobody1999].", "nobody1999"),
        ("```{r}\n#| child: parts/none.qmd\n```", "small.qmd: lines 6-7: cannot open file 'parts/none.qmd'"),
        ('```{r}\nstop("the reason")\n```', "small.qmd: lines 6-7: the reason"),
        ("```{r}\nlibrary(nonesuch)\n```", "there is no package called"),
    ],
)
def test_a_fault_ends_the_rendering_with_one_line(small, body: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        small(body)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


LEFT_OUT = """```{r}
#| include: false
source("R/setup.R")
```

Before.

```{r}
#| label: tbl-none
#| tbl-cap: "A table left out."
#| eval: !expr nrow(data.frame()) > 0
md_table(data.frame(a = 1))
```

```{r}
#| label: fig-none
#| fig-cap: "A figure left out."
#| fig-alt: "Nothing."
#| eval: false
plot(1)
```

```{r}
#| label: tbl-text
#| tbl-cap: "A table without rows."
md_table(data.frame())
```

```{r}
#| label: tbl-marked
#| tbl-cap: "A table with a note below."
with_unusable(md_table(data.frame(a = "1")), data.frame(level = "one cell", untold = "too short"))
```
"""


@pytest.mark.parametrize("renderer", ["quarto", "pandoc"])
def test_what_is_left_out_has_no_caption_and_stops_no_pdf(tmp_path: Path, monkeypatch, renderer: str) -> None:
    """A piece of code that is not run leaves nothing: a caption alone is no table, and Quarto's PDF fails on it."""
    if renderer == "pandoc":
        without_quarto(monkeypatch)
    folder = tmp_path / "paper"
    shutil.copytree(module._PAPER, folder, ignore=shutil.ignore_patterns("*.qmd", "_site", ".quarto"))
    (tmp_path / "results").mkdir()
    (folder / "small.qmd").write_text(f"---\ntitle: Small\n---\n\n{LEFT_OUT}")
    page, pdf = render_document(folder / "small.qmd", tmp_path / "results", tmp_path / "reports", ("html", "pdf"))
    for words in (words_of_page(page), words_of_pdf(pdf)):
        text = " ".join(words)
        assert "left out" not in text
        assert "Table 1: A table without rows." in text and "Not measured at this effort." in text
        assert "Table 2: A table with a note below." in text and "one cell: too short." in text


def status(folder: Path) -> str:
    return subprocess.run(["git", "status", "--short"], cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_by_hand_in_the_folder_of_the_documents(both, tmp_path: Path) -> None:
    """`quarto render` in paper/, as its users do: parts are no documents, what has no results says so, each paper's own
    entry is in its list of references, and git sees nothing of it."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(HOME), str(clone)], check=True)
    (clone / "results").mkdir(exist_ok=True)
    shutil.copytree(both["results"], clone / "results" / "emulated")
    before = status(clone)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["quarto", "render"], cwd=clone / "paper", env={**os.environ, "PATH": path}, capture_output=True, text=True,
        timeout=1800,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert status(clone) == before
    site = clone / "paper" / "_site"
    made = {path.name for path in site.glob("*.*")}
    html_only = {"index", "compare"}
    assert made == {f"{path.stem}.html" for path in (clone / "paper").glob("*.qmd")} | {
        f"{path.stem}.pdf" for path in (clone / "paper").glob("*.qmd") if path.stem not in html_only
    }
    for page in PAGES:
        text = (site / f"{page}.html").read_text(encoding="utf-8")
        assert ("There are no results for this page in" in text) == (page in FURTHER), page
        if module.is_paper(page) and page not in FURTHER:
            assert f'id="ref-{page}"' in text, page
    assert "14 claims" in (site / "chelsio-iwarp.html").read_text(encoding="utf-8")
