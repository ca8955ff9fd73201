"""Documentation: make and `whitewire` take its commands as they stand, and its links hold. Snakemake's commands:
tests/containers.
"""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.documented import CODE, DOCUMENTS, HOME, distinct, not_on_the_path
from tests.support.repository import environment, repository
from whitewire.cli import parser
from whitewire.description.reading import load_yaml
from whitewire.report import generated

NAMES = set(re.findall(r"\$\((?:value )?([A-Z_]+)\)", (HOME / "Makefile").read_text()))


def made(arguments) -> subprocess.CompletedProcess:
    """What make would do with these arguments."""
    return subprocess.run(["make", "-n", *arguments], cwd=HOME, capture_output=True, text=True)


def test_commands_are_found():
    assert {("papers",), ("test",), ("papers", "PAPERS=emulex-2012", "EFFORT=smoke")} <= set(distinct("make"))
    assert ("papers", "TESTBED=mycluster", "ARGS=--profile profiles/slurm") in distinct("make")
    assert {("plan",), ("validate",), ("doctor", "--testbed", "mycluster")} <= set(distinct("whitewire"))
    assert {("--sdm", "apptainer"), ("--dry-run",)} <= set(distinct("snakemake"))


def test_commands_can_be_typed_as_they_stand():
    """Nothing of the set-up is on a user's PATH."""
    assert not_on_the_path() == []


@pytest.mark.parametrize("arguments", distinct("make"), ids=" ".join)
def test_make(arguments):
    done = made(arguments)
    assert done.returncode == 0, done.stderr
    for name in (word.split("=")[0] for word in arguments if "=" in word):
        assert name in NAMES, f"{name}: no variable of the Makefile"


def test_help_and_its_page_have_every_target_and_variable():
    said = subprocess.run(["make", "help"], cwd=HOME, capture_output=True, text=True, check=True).stdout
    page = (HOME / "docs" / "use" / "measure.md").read_text()
    inner = {"PATH", "PYTHONPATH", "CURDIR", "MAKE", "LONGEST", "TIMED", "OTHERS"}
    for text, where in ((said, "the help of the Makefile"), (page, "docs/use/measure.md")):
        lacking = [name for name in NAMES - inner if not re.search(rf"\b{name}=", text)]
        assert lacking == [], f"{where} does not name these variables"
    targets = re.findall(r"^([a-z-]+):.*## ", (HOME / "Makefile").read_text(), re.MULTILINE)
    assert len(targets) > 15 and [name for name in targets if not re.search(rf"`make {name}[ `]", page)] == ["help"]


def test_clean_leaves_what_it_says(tmp_path):
    home = repository(tmp_path / "wire")
    before = set(files(home))
    kept = ["results/a/links/links.json", "results/a/trust/trust.json", "results/a/trust/tables/x.csv",
            "results/a/p/raw/b/block.json", "results/a/p/design.csv", "results/crates/a.zip",
            "results/reference/p/tidy/runs.csv", "results/reference/links/tables/x.csv",
            "results/calibration/a/p/raw/b/block.json", ".snakemake/metadata/x"]  # fmt: skip
    gone = ["results/a/links/tables/x.csv", "results/a/p/tidy/runs.csv", "results/a/p/analysis/x.csv",
            "results/calibration/a/p/analysis/x.csv",
            "results/a/reports/index.html", "results/opened/r/x", "results/compare/x", "results/appendix/x",
            ".venv/x", ".cache/x", "whitewire-tmp/x", ".snakemake/log/x", "build/docs/keys.md"]  # fmt: skip
    for name in (*kept, *gone, "src/x.py", "tests/x.py"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).touch()
    done = subprocess.run(["make", "clean"], cwd=home, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    programs = {name for name in before if not name.startswith(".venv/")}
    assert set(files(home)) == {*programs, "src/x.py", "tests/x.py", "results/.lock", *kept}


def files(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("arguments", distinct("whitewire"), ids=" ".join)
def test_whitewire(arguments):
    """One word alone names a stage, whose options may be documented elsewhere."""
    if len(arguments) > 1:
        assert parser().parse_args(arguments).function
    else:
        with pytest.raises(SystemExit, match="^0$"):
            parser().parse_args([*arguments, "--help"])


def test_the_readme_names_the_scale_of_the_reference():
    (k,) = re.findall(r"divided by k = (\d+)", (HOME / "README.md").read_text())
    (block,) = (HOME / "results" / "reference" / "emulex-2012" / "raw").glob("*/block.json")
    candidates = load_yaml(HOME / "config" / "papers" / "emulex-2012.yaml")["scale"]["k"]
    assert int(k) == candidates[json.loads(block.read_text())["rung"]]


LINK = re.compile(r"\]\(([^)\s]+)\)")
OF_A_WORKFLOW = re.compile(r"\.\./\.\./actions/workflows/([\w-]+\.yml)(/badge\.svg)?")
"""Leads from GitHub's page of the repository to a workflow's runs."""
WRITTEN = {made.PAGE for made in generated.PAGES}
"""Pages that `make docs` writes."""
OF_PAGES = "../../deployments/github-pages"
"""Leads from there to what the environment of this name was given, by a workflow."""


def anchors(path) -> set[str]:
    """Anchors of a page's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head).strip().lower().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", [*DOCUMENTS, HOME / "CHANGELOG.md"], ids=lambda page: str(page.relative_to(HOME)))
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in LINK.findall(text):
        path, _, anchor = target.partition("#")
        if "://" in target:
            continue
        found = page.parent / path if path else page
        if workflow := OF_A_WORKFLOW.fullmatch(target):
            found = HOME / ".github" / "workflows" / workflow[1]
        if target == OF_PAGES:
            found = HOME / ".github" / "workflows" / "check.yml"
            assert "name: github-pages" in found.read_text()
        assert found.exists(), f"{target}: no such file"
        assert not anchor or anchor in anchors(found), f"{target}: no such heading"


@pytest.mark.parametrize("path", [*DOCUMENTS, *CODE], ids=lambda path: str(path.relative_to(HOME)))
def test_pages_that_are_named_are_there(path):
    named = re.findall(r"(?<![\w/-])(?:build/)?docs/[\w/-]+\.md\b", path.read_text(encoding="utf-8"))
    assert [name for name in named if HOME / name not in WRITTEN and not (HOME / name).exists()] == []


@pytest.mark.parametrize("page", sorted((HOME / "docs").glob("*/*.md")), ids=lambda page: page.stem)
def test_each_page_says_whom_it_is_for_and_is_in_the_index(page):
    first = next(line for line in page.read_text().splitlines()[1:] if line)
    assert re.fullmatch(r"\*For .+\.\*", first), f"below the title: found {first!r}, expected *For somebody.*"
    name = "decisions" if page.parent.name == "decisions" else str(page.relative_to(HOME / "docs"))
    assert f"({name})" in (HOME / "docs" / "README.md").read_text(), f"docs/README.md has no line with a link to {name}"
