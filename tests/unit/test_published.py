"""What hosted services read of this repository: workflows of continuous integration, the catalog's file, the citation.

The services themselves are not asked. Schemas are those that check-jsonschema brings, as their makers publish them.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from whitewire import __version__

HOME = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((HOME / ".github" / "workflows").glob("*.yml"))
GITLAB, CITATION = HOME / ".gitlab-ci.yml", HOME / "CITATION.cff"
ONLINE, CONDA = ("conda", "images", "quarto"), "condaforge/miniforge3:25.3.0-3"
"""What only a machine with more of the network shows, and where it is shown."""
PINNED = re.compile(r"^\s*(?:- )?uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
TARGETS = set(re.findall(r"^([a-z-]+):", (HOME / "Makefile").read_text(), re.MULTILINE))


def faults(schema: str, *paths: Path) -> str:
    """What is wrong with files by a schema that check-jsonschema has; empty: nothing."""
    argv = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        f"vendor.{schema}",
        "--traceback-mode",
        "short",
    ]
    done = subprocess.run([*argv, *map(str, paths)], capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 1), done
    return "" if done.returncode == 0 else done.stdout + done.stderr


def commands() -> list[str]:
    """Every line that a hosted machine would run."""
    found: list[str] = []
    for path in WORKFLOWS:
        for job in yaml.safe_load(path.read_text())["jobs"].values():
            found += [step["run"] for step in job["steps"] if "run" in step]
    for job in yaml.safe_load(GITLAB.read_text()).values():
        if isinstance(job, dict):
            found += [*job.get("before_script", ()), *job.get("script", ())]
    return [line for command in found for line in command.splitlines()]


def test_workflows_are_what_their_schemas_ask():
    assert WORKFLOWS
    assert faults("github-workflows", *WORKFLOWS) == ""
    assert faults("gitlab-ci", GITLAB) == ""


def test_the_citation_is_what_its_schema_asks():
    assert faults("citation-file-format", CITATION) == ""


def test_a_deployment_is_never_cut_off():
    text = yaml.safe_load(WORKFLOWS[0].read_text())["concurrency"]["cancel-in-progress"]
    assert text == "${{ github.event_name == 'pull_request' }}"


def test_the_version_is_the_same_everywhere():
    project = tomllib.loads((HOME / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load(CITATION.read_text())
    assert citation["version"] == project["version"] == __version__
    assert citation["license"] == project["license"]["text"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit_with_their_version(path):
    lines = [line for line in path.read_text().splitlines() if "uses:" in line]
    assert lines
    assert [line for line in lines if not PINNED.match(line)] == []
    versions = {line.partition("uses: ")[2] for line in lines}
    assert len({line.partition("@")[0] for line in versions}) == len(versions)  # one version of each


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_ask_for_no_more_than_they_need(path):
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    writers = {name for name, job in workflow["jobs"].items() if "write" in job.get("permissions", {}).values()}
    assert writers == {"pages"} & {*workflow["jobs"]}
    assert "pull_request_target" not in path.read_text()
    for name, job in workflow["jobs"].items():
        assert job["timeout-minutes"] <= 120
        if name == "pages":
            assert "pull_request" in job["if"]  # nobody's request is published
        else:
            assert job["container"]["image"] == (CONDA if name in ONLINE else "debian:12")


def test_jobs_run_what_is_there():
    found = {line.split()[0] for line in commands() if line.startswith(".ci/")}
    assert found == {".ci/prepare", ".ci/run", ".ci/smoke", ".ci/online"}
    for name in found:
        assert (HOME / name).stat().st_mode & 0o111
        for target in re.findall(r"^ *make ([a-z-]+)", (HOME / name).read_text(), re.MULTILINE):
            assert target in TARGETS
    assert yaml.safe_load(GITLAB.read_text())["default"]["image"] == "debian:12"


@pytest.mark.parametrize("name", ONLINE)
def test_what_needs_more_of_the_network_has_a_workflow_and_a_badge_of_its_own(name):
    gitlab, workflow = (yaml.safe_load(path.read_text())
                        for path in (GITLAB, HOME / ".github" / "workflows" / f"{name}.yml"))  # fmt: skip
    assert gitlab[name]["script"] == [f".ci/online {name}"] == [workflow["jobs"][name]["steps"][-1]["run"]]
    assert gitlab[gitlab[name]["extends"]]["image"] == CONDA
    assert f"\n{name})\n" in (HOME / ".ci" / "online").read_text()
    readme = (HOME / "README.md").read_text()
    of = f"../../actions/workflows/{name}.yml"
    assert f"[![{name}]({of}/badge.svg)]({of})" in readme


def test_the_catalog_finds_what_it_asks_of_a_standardised_workflow():
    usage = yaml.safe_load((HOME / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert {*usage} == {"mandatory-flags", "software-stack-deployment", "report"}
    assert usage["report"] is True
    said = usage["mandatory-flags"]["desc"]
    assert "snakedeploy alone is not supported" in said and "`make setup`" in said and ".venv/bin/snakemake" in said
    assert {*usage["mandatory-flags"]} == {"desc", "flags"}
    assert usage["software-stack-deployment"] == {
        "conda": True, "apptainer": True, "apptainer+conda": False, "report": True
    }  # fmt: skip
    assert (HOME / "workflow" / "Snakefile").is_file()
    assert list((HOME / "workflow" / "rules").glob("*.smk"))
    readme = (HOME / "README.md").read_text().lower()
    assert "snakemake" in readme and "workflow" in readme
    named = set(re.findall(r"^\| `(\w+)` \| ", (HOME / "config" / "README.md").read_text(), re.MULTILINE))
    schema = yaml.safe_load((HOME / "workflow" / "schemas" / "config.schema.yaml").read_text())
    assert named == {*schema["properties"]}


# -- pages -------------------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path):
    """A checkout with the script and reports of two testbeds, an opened reference, an appendix and documentation."""
    for name in ("scripts/pages", "scripts/environment", "src/whitewire/foreign.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(HOME / name, tmp_path / name)
    pages = {"emulated/reports/index.html": "a", "site-b/reports/index.html": "b", "half/reports/one.html": "c",
             "opened/reference/reports/index.html": "d", "opened/reference/reports/data/p/x.csv": "1",
             "appendix/reference/appendix.html": "e", "a <b>/reports/index.html": "f",
             "../build/docs/keys.html": "g", "../build/docs/keys.md": "h"}  # fmt: skip
    for name, text in pages.items():
        path = tmp_path / "results" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def gather(project, *folder):
    argv = [str(project / "scripts" / "pages"), *folder]
    return subprocess.run(argv, cwd=project, capture_output=True, text=True, timeout=30)


def test_pages_have_all_reports_and_a_start_page(project):
    assert gather(project, "public").returncode == 0
    made = project / "public"
    text = (made / "index.html").read_text()
    led = re.findall(r'href="([^"]+\.html)"', text)
    assert led == ["opened/reference/reports/index.html", "emulated/reports/index.html", "site-b/reports/index.html",
                   "appendix/reference/appendix.html", "docs/keys.html"]  # fmt: skip
    for name in led:
        assert (made / name).is_file()
    assert (made / "opened" / "reference" / "reports" / "data" / "p" / "x.csv").read_text() == "1"
    assert "<b>" not in text and "half" not in text
    assert not list(project.glob("*.part"))


def test_pages_overwrite_nothing_and_need_reports(project):
    (project / "public").mkdir()
    done = gather(project, "public")
    assert (done.returncode, done.stdout) == (2, "") and "is there already" in done.stderr
    assert gather(project).returncode == 2
    shutil.rmtree(project / "results")
    done = gather(project, "other")
    assert done.returncode == 2 and "found no reports" in done.stderr
    assert not (project / "other").exists() and not (project / "other.part").exists()
