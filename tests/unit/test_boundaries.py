"""Boundaries that import-linter does not check: names of Snakemake's, and the functions of documents."""

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


def test_functions_of_documents_have_a_name_each():
    """A document reads its functions into one environment: a second one of a name would replace the first."""
    defined = Counter(
        name
        for path in sorted((PACKAGE.parents[1] / "paper" / "R").rglob("*.R"))
        for name in re.findall(r"^([\w.]+) <- function", path.read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert len(defined) > 50
    assert [name for name, times in defined.items() if times > 1] == []
