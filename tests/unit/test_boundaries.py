"""The package's parts know each other only where the architecture says so."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "whitewire"
MODULES = sorted(PACKAGE.rglob("*.py"))
LEAVES = ("parsers", "probes", "workloads")


def imports(path: Path) -> set[str]:
    """Full names of everything that a module imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = ["whitewire", *path.relative_to(PACKAGE).parent.parts]
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found |= {module} | {f"{module}.{alias.name}" for alias in node.names}
    return found


def inside(name: str, part: str) -> bool:
    return name == f"whitewire.{part}" or name.startswith(f"whitewire.{part}.")


def test_there_are_modules_to_check():
    assert len(MODULES) > 20
    for part in (*LEAVES, "testbed", "cluster"):
        assert list((PACKAGE / part).glob("*.py")), part


@pytest.mark.parametrize("part", LEAVES)
def test_leaves_import_neither_a_testbed_nor_each_other(part):
    forbidden = [name for name in (*LEAVES, "testbed", "cluster", "runner") if name != part]
    for path in (PACKAGE / part).glob("*.py"):
        crossed = {name for name in imports(path) for other in forbidden if inside(name, other)}
        assert not crossed, f"{path.name} imports {sorted(crossed)}"


@pytest.mark.parametrize("part", ["testbed", "cluster", "monitor", "models"])
def test_lower_layers_do_not_know_the_runner_or_later_stages(part):
    for path in (PACKAGE / part).glob("*.py"):
        later = ("runner", "tidy", "analysis", "claims", "render", "cli")
        crossed = {name for name in imports(path) for other in later if inside(name, other)}
        assert not crossed, f"{path.name} imports {sorted(crossed)}"


@pytest.mark.parametrize("stage", ["tidy", "analysis", "claims", "statistics", "render"])
def test_later_stages_measure_nothing(stage):
    crossed = {
        name
        for name in imports(PACKAGE / f"{stage}.py")
        for other in ("runner", "testbed", "cluster", "probes", "workloads")
        if inside(name, other)
    }
    assert not crossed, f"{stage}.py imports {sorted(crossed)}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_snakemake_appears_nowhere_in_the_package(path):
    assert not {name for name in imports(path) if name.split(".")[0] == "snakemake"}
    names = {n.id for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Name)}
    assert "snakemake" not in names


def test_functions_of_documents_have_a_name_each():
    """All of paper/R is read into one environment: a second function of a name would replace the first."""
    defined = Counter(
        name
        for path in sorted((PACKAGE.parents[1] / "paper" / "R").glob("*.R"))
        for name in re.findall(r"^([\w.]+) <- function", path.read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert len(defined) > 50
    assert [name for name, times in defined.items() if times > 1] == []
