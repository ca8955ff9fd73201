"""The options of every chunk of every document: what knitr reads as YAML and, after !expr, as R."""

from __future__ import annotations

import subprocess
from itertools import groupby
from pathlib import Path

import pytest
import yaml

HOME = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*(HOME / "paper").rglob("*.qmd"), HOME / "docs/template/paper.qmd"])


class Options(yaml.SafeLoader):
    pass


class Expression(str):
    pass


Options.add_constructor("!expr", lambda loader, node: Expression(loader.construct_scalar(node)))


def chunks(document: Path) -> list[dict]:
    lines = document.read_text(encoding="utf-8").splitlines()
    runs = (list(run) for is_option, run in groupby(lines, lambda line: line.startswith("#| ")) if is_option)
    return [yaml.load("\n".join(line[3:] for line in run), Options) for run in runs]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_options_are_whole(document):
    for options in chunks(document):
        assert isinstance(options, dict), options
        for name, value in options.items():
            assert not isinstance(value, dict), (name, value)


def test_expressions_are_r():
    found = [value for path in DOCUMENTS for o in chunks(path) for value in o.values() if isinstance(value, Expression)]
    assert found
    program = "for (line in readLines(file('stdin'))) parse(text = line)"
    done = subprocess.run(["Rscript", "-e", program], input="\n".join(found), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
