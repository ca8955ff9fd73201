"""Documentation: make and `whitewire` take its commands as they stand, and its links hold. Snakemake's commands:
tests/containers.
"""

import json
import re
import subprocess

import pytest

from tests.support.documented import CODE, DOCUMENTS, HOME, blocks, distinct
from whitewire.cli import parser
from whitewire.description.reading import load_yaml

NAMES = set(re.findall(r"\$\((?:value )?([A-Z_]+)\)", (HOME / "Makefile").read_text()))


def made(arguments) -> subprocess.CompletedProcess:
    """What make would do with these arguments."""
    return subprocess.run(["make", "-n", *arguments], cwd=HOME, capture_output=True, text=True)


def test_commands_are_found():
    assert {("papers",), ("test",), ("papers", "PAPERS=emulex-2012", "EFFORT=smoke")} <= set(distinct("make"))
    assert ("papers", "TESTBED=mycluster", "ARGS=--profile profiles/slurm") in distinct("make")
    assert {("plan",), ("validate",), ("doctor", "--testbed", "mycluster")} <= set(distinct("whitewire"))
    assert {("--sdm", "apptainer"), ("--dry-run",)} <= set(distinct("snakemake"))


def test_blocks():
    text = "`a` is\n\n    b --x \\\n        y  # z\n\n```sh\nc\n```\n\ndone\n"
    code, prose = blocks(text)
    assert [line.split() for line in code] == [["b", "--x", "y", "#", "z"], ["c"]]
    assert prose.split() == ["`a`", "is", "done"]


@pytest.mark.parametrize("arguments", distinct("make"), ids=" ".join)
def test_make(arguments):
    done = made(arguments)
    assert done.returncode == 0, done.stderr
    for name in (word.split("=")[0] for word in arguments if "=" in word):
        assert name in NAMES, f"{name}: no variable of the Makefile"


def test_make_tells_a_wrong_target():
    assert made(["reports"]).returncode != 0


@pytest.mark.parametrize("arguments", distinct("whitewire"), ids=" ".join)
def test_whitewire(arguments):
    """One word alone names a stage, whose options may be told elsewhere."""
    if len(arguments) > 1:
        assert parser().parse_args(arguments).function
    else:
        with pytest.raises(SystemExit, match="^0$"):
            parser().parse_args([*arguments, "--help"])


@pytest.mark.parametrize("arguments", [("doctor", "--testbde", "a"), ("measured", "--help")])
def test_whitewire_tells_a_wrong_command(arguments):
    with pytest.raises(SystemExit, match="^2$"):
        parser().parse_args(arguments)


def test_the_figures_of_the_readme_are_at_the_scale_of_the_reference():
    """`docs/images` are figures `response` and `both` of a run: make them anew when its k changes."""
    (k,) = re.findall(r"divided by k = (\d+)", (HOME / "README.md").read_text())
    (block,) = (HOME / "results" / "reference" / "emulex-2012" / "raw").glob("*/block.json")
    ladder = load_yaml(HOME / "config" / "papers" / "emulex-2012.yaml")["scale"]["k"]
    assert int(k) == ladder[json.loads(block.read_text())["rung"]]


LINK = re.compile(r"\]\(([^)\s]+)\)")


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
        assert found.exists(), f"{target}: no such file"
        assert not anchor or anchor in anchors(found), f"{target}: no such heading"


@pytest.mark.parametrize("path", [*DOCUMENTS, *CODE], ids=lambda path: str(path.relative_to(HOME)))
def test_pages_that_are_named_are_there(path):
    named = re.findall(r"\bdocs/[\w/-]+\.md\b", path.read_text(encoding="utf-8"))
    assert [name for name in named if not (HOME / name).exists()] == []
