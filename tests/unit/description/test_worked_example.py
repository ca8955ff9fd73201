"""The worked example's files are valid as they stand in the documentation."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from whitewire.description.files import validate_by_schema
from whitewire.description.testbed import load_testbed
from whitewire.workflow.checked_paper import checked_paper

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "use" / "worked-example.md").read_text(encoding="utf-8")


def test_its_paper_is_valid(tmp_path):
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "osu-testdfsio.yaml"
    path.write_text(text)
    paper = checked_paper(path, load_testbed("emulated"))
    assert {claim["id"] for claim in paper.claims} == set(re.findall(r"^\| (O-C\d+) ", PAGE, re.MULTILINE))


def test_its_answers_are_valid():
    (text,) = re.findall(r"<<'END'\n(.*?)    END\n", PAGE, re.DOTALL)
    given = yaml.safe_load(text.replace("\n    ", "\n").removeprefix("    "))
    given["source"]["accessed"] = str(given["source"]["accessed"])
    validate_by_schema(given, "new-paper", "osu.yaml")
