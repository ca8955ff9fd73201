"""What import-linter does not see: names of Snakemake's, imports for types, and the functions of documents."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "whitewire"
MODULES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_snakemake_appears_nowhere_in_the_package(path):
    names = {n.id for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Name)}
    assert "snakemake" not in names


@pytest.mark.parametrize("path", sorted((PACKAGE / "workloads").glob("*.py")), ids=lambda path: path.name)
def test_workloads_import_nothing_above_them_for_types_either(path):
    above = {f"whitewire.{package}" for package in ("measure", "cluster", "testbed", "design", "description")}
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            imported |= {f"{node.module}", *(f"{node.module}.{alias.name}" for alias in node.names)}
    assert not {name for name in imported if ".".join(name.split(".")[:2]) in above}


def test_functions_of_documents_have_a_name_each():
    """A document reads its functions into one environment: a second one of a name would replace the first."""
    defined = Counter(
        name
        for path in sorted((PACKAGE.parents[1] / "paper" / "R").rglob("*.R"))
        for name in re.findall(r"^([\w.]+) <- function", path.read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert len(defined) > 50
    assert [name for name, times in defined.items() if times > 1] == []
