"""Reference results: what of a complete run is kept, and when it is not taken again."""

import json
import re
import shutil

import pytest
import yaml

from tests.support import kept
from tests.support.kept import COMMIT, PAPER
from whitewire.cli import main
from whitewire.errors import UserError
from whitewire.records.checked import table_faults
from whitewire.records.manifest import manifest_faults
from whitewire.report import bundle, rebuild, reference
from whitewire.report.bundle import BUNDLE_FILE, TESTBED_FILE, bundle_of
from whitewire.report.rebuild import opened_folder
from whitewire.report.reference import read_reference


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A project with results."""
    folder = kept.project(tmp_path_factory.mktemp("made"))
    kept.results(folder)
    return folder


@pytest.fixture
def project(made, tmp_path, monkeypatch):
    """A copy of it, as the current folder."""
    folder = tmp_path / "project"
    shutil.copytree(made, folder)
    monkeypatch.chdir(folder)
    for name in rebuild._OVERRIDES:
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def kept_project(project):
    """It, with the reference made."""
    assert main(["reference"]) == 0
    return project


def everything(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(capsys, *argv) -> str:
    """The one line of a command that was refused, which left everything as it was."""
    before = everything(reference.paths.root())
    assert main([*argv]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1, err
    assert everything(reference.paths.root()) == before, "something was written"
    return err.removeprefix("whitewire: error: ").strip()


def test_tables_and_records_are_kept_and_no_raw_output(project, capsys):
    assert main(["reference"]) == 0
    assert capsys.readouterr().out == "results/reference\n"
    names = {str(name) for name in everything(project / "results" / "reference")}
    own = project / "results" / "emulated" / PAPER
    tidy = {path.name for path in (own / "tidy").iterdir()}
    assert {f"{PAPER}/tidy/{name}" for name in tidy} | {
        "manifest.json", "results.json", "testbed.yaml", f"{PAPER}/design.csv", f"{PAPER}/manifest.json",
        f"{PAPER}/analysis/verdicts.csv", f"{PAPER}/analysis/estimates.csv", f"{PAPER}/raw/quick-1/block.json",
        f"{PAPER}/raw/quick-1/environment.json",
    } == names  # fmt: skip
    record = json.loads((project / "results" / "reference" / "results.json").read_text())
    runs = len((own / "design.csv").read_text().splitlines()) - 1
    assert record["papers"] == {PAPER: {"effort": "quick", "runs": runs}}
    assert (record["commits"], record["testbed"], record["seed"]) == ([COMMIT], "emulated", 7)


def test_what_is_known_of_the_testbed_is_kept_with_it(project, capsys):
    links = kept.links(project / "results" / "emulated")
    assert main(["reference"]) == 0
    capsys.readouterr()
    _, files = read_reference()
    for path in (links / "links.json", *(links / "tables").iterdir()):
        assert files[f"links/{path.relative_to(links).as_posix()}"] == path.read_bytes()
    (links / "tables" / "ways.csv").write_text("fabric\n")
    assert refused(capsys, "reference").startswith("results/emulated/links/tables/ways.csv: found 7 bytes, expected ")
    (links / "links.json").unlink()  # it was not finished
    assert main(["reference"]) == 0 and not (project / "results" / "reference" / "links").exists()


@pytest.mark.parametrize("folder", [f"{PAPER}/tidy", "links/tables"])
def test_a_table_of_another_folder_is_not_kept(project, capsys, folder):
    kept.links(project / "results" / "emulated")
    path = project / "results" / "emulated" / folder / "datapackage.json"
    (project / "secret").write_text("x")
    secret = {"path": f"{'../' * len(path.parts)}{project}/secret", "bytes": 1, "hash": "sha256:"}
    edit(path, lambda package: package["resources"].append(secret))
    said = refused(capsys, "reference")
    assert said.startswith(f"results/emulated/{folder}/datapackage.json: resources[")
    assert "expected the name of a file beside it" in said


def test_what_could_not_be_opened_is_not_kept(project, capsys):
    own = project / "results" / "emulated"
    record = kept.links(own) / "links.json"
    edit(record, lambda links: links["plan"].pop("depth", None) or links["plan"].update(k="forty"))
    said = refused(capsys, "reference")
    assert said.startswith('results/emulated/links/links.json: plan.k: found "forty", expected a number; remove ')
    shutil.rmtree(record.parent)
    edit(own / PAPER / "raw" / "quick-1" / "environment.json", lambda record: record.update(software="x"))
    assert 'environment.json: software: found "x", expected a mapping' in refused(capsys, "reference")


def test_links_of_another_description_are_left_out_and_code_that_measured_them_is_named(project, capsys):
    links = kept.links(project / "results" / "emulated")
    edit(links / "links.json", lambda record: record.update(commit="f" * 40, modified=True))
    assert main(["reference"]) == 0
    record = json.loads((project / "results" / "reference" / "results.json").read_text())
    assert (record["commits"], record["modified"]) == ([COMMIT, "f" * 40], True)
    capsys.readouterr()
    testbed = project / "config" / "testbeds" / "emulated.yaml"
    edit(testbed, lambda described: described["limits"].update(link_error=described["limits"]["link_error"] * 2))
    assert main(["reference"]) == 0
    assert capsys.readouterr().err == (
        "whitewire: results/emulated/links/links.json: found another description of the testbed than that of its YAML, "
        "so links/ is left out\n"
    )
    record = json.loads((project / "results" / "reference" / "results.json").read_text())
    assert (record["commits"], record["modified"]) == ([COMMIT], False)
    assert not (project / "results" / "reference" / "links").exists()


def test_large_tables_are_compressed_and_come_back_as_they_were(project, monkeypatch):
    monkeypatch.setattr(reference, "LARGE_BYTES", 100)
    assert main(["reference"]) == 0
    folder = project / "results" / "reference" / PAPER
    assert (folder / "tidy" / "runs.csv.gz").is_file() and not (folder / "tidy" / "runs.csv").exists()
    assert (folder / "tidy" / "series.csv.gz").is_file()  # which is compressed by itself
    again = everything(project / "results" / "reference")
    assert main(["reference"]) == 0
    assert everything(project / "results" / "reference") == again
    _, files = read_reference()
    own = project / "results" / "emulated"
    assert len(files) > 20
    for name, content in files.items():
        if name not in (BUNDLE_FILE, TESTBED_FILE):
            assert content == (own / name).read_bytes(), name


def test_an_opened_reference_is_a_project_with_the_same_tables(kept_project):
    record, files = read_reference()
    opened = opened_folder(reference.REFERENCE)
    results = bundle.unpack(opened, record, files.items())
    assert results == opened / "results" / "emulated"
    assert table_faults(results / PAPER / "tidy") == []
    for name in ("config/papers/made-up-2026.yaml", "paper/made-up-2026.qmd"):
        assert (opened / name).read_bytes() == (kept_project / name).read_bytes()
    testbeds = [(folder / "config" / "testbeds" / "emulated.yaml").read_text() for folder in (opened, kept_project)]
    assert yaml.safe_load(testbeds[0]) == yaml.safe_load(testbeds[1])
    assert "#" in testbeds[1] and "#" not in testbeds[0]
    config = yaml.safe_load((opened / "config" / "config.yaml").read_text())
    assert config == {"papers": [PAPER], "testbed": "emulated", "effort": "quick", "seed": 7}
    # What was opened can be kept again, and is the same.
    assert bundle_of(results, [PAPER]) == files


def test_a_result_that_is_not_complete_is_not_kept(project, capsys):
    own = project / "results" / "emulated" / PAPER
    (own / "raw" / "quick-1" / "block.json").unlink()
    assert refused(capsys, "reference").startswith(
        f"results/emulated/{PAPER}/raw/quick-1/block.json: found no finished block of this design"
    )
    (own / "analysis" / "verdicts.csv").write_text("paper,claim\n")
    assert f"results/emulated/{PAPER}/analysis/verdicts.csv: found " in refused(capsys, "reference")
    shutil.rmtree(own)
    assert refused(capsys, "reference").startswith(f"results/emulated/{PAPER}/design.csv: found no such file")


def test_what_is_too_large_is_not_kept(project, capsys, monkeypatch):
    monkeypatch.setattr(reference, "_MOST_BYTES", 1000)
    assert "bytes of tables, expected at most 1000" in refused(capsys, "reference")


def edit(path, change):
    data = yaml.safe_load(path.read_text()) if path.suffix == ".yaml" else json.loads(path.read_text())
    change(data)
    path.write_text(yaml.safe_dump(data) if path.suffix == ".yaml" else json.dumps(data))


def test_a_reference_that_cannot_be_taken_is_one_line_and_nothing_is_written(kept_project, capsys):
    folder = kept_project / "results" / "reference"
    sound = everything(folder)

    def fresh():
        shutil.rmtree(folder)
        for name, content in sound.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)

    design = folder / PAPER / "design.csv"
    design.write_text(design.read_text().replace("10gbe", "11gbe"))
    assert refused(capsys, "report").startswith(f"results/reference/{PAPER}/design.csv: found SHA-256 ")
    fresh()
    (folder / "more.csv").write_text("")
    assert refused(capsys, "report").startswith("results/reference/more.csv: found a file that manifest.json does not")
    fresh()
    edit(folder / "results.json", lambda record: record.update(format=bundle.FORMAT + 1))
    kept.rewritten(folder)
    assert refused(capsys, "report").startswith("results/reference: results.json: format: found 2, made by Whitewire ")
    fresh()
    edit(
        folder / "results.json", lambda record: record["papers"].update({"made-upp-2026": record["papers"].pop(PAPER)})
    )
    kept.rewritten(folder)
    said = refused(capsys, "report")
    assert said.startswith('results/reference: results.json: papers: found "made-upp-2026", expected papers that are')
    assert f'(it was measured by commit {COMMIT[:12]}); did you mean "{PAPER}"?' in said
    fresh()
    edit(folder / "results.json", lambda record: record.pop("commits"))
    kept.rewritten(folder)
    assert refused(capsys, "report") == "results/reference: results.json: commits: found no such key, expected one"
    fresh()
    (folder / "manifest.json").unlink()
    assert refused(capsys, "report").startswith("results/reference: found no reference results, expected some")


@pytest.mark.parametrize(
    "change",
    [
        lambda paper: paper["experiments"][0]["parameters"].update(puts_per_client=2),
        lambda paper: paper["experiments"][0]["factors"]["fabric"].remove("2gbe"),
        lambda paper: paper["replicates"]["quick"].update(other=3),
        lambda paper: paper["scale"].update(k=60),
    ],
    ids=["parameter", "level", "replicates", "scale"],
)
def test_a_reference_of_another_design_is_one_line(kept_project, capsys, change):
    edit(kept_project / "config" / "papers" / f"{PAPER}.yaml", change)
    said = refused(capsys, "report")
    assert said.startswith(f"results/reference: {PAPER}/design.csv: found ")
    assert f"expected the runs that this version's {PAPER} has at quick effort" in said


def test_another_claim_is_no_other_design(kept_project):
    edit(kept_project / "config" / "papers" / f"{PAPER}.yaml", lambda paper: paper["claims"].pop(1))
    record, _ = read_reference()
    assert list(record["papers"]) == [PAPER]


def test_papers_that_are_not_asked_for_may_be_measured_otherwise(kept_project):
    edit(kept_project / "config" / "papers" / f"{PAPER}.yaml", lambda paper: paper["scale"].update(k=60))
    with pytest.raises(UserError, match="expected the runs that this version's"):
        read_reference()
    record, files = read_reference(["another-2026"])
    assert list(record["papers"]) == [PAPER] and f"{PAPER}/design.csv" in files


# -- reported


@pytest.fixture
def stages(monkeypatch):
    """What the commands of the stages say, by page; those that say nothing leave their page."""
    said = {}

    def run(folder, argv):
        page = argv[2]
        if argv[0] == "render" and page not in said:
            (folder / "reports").mkdir(exist_ok=True)
            (folder / "reports" / f"{page}.html").write_text("made")
        if argv[0] == "analyse":
            own = folder / "results" / "emulated" / page / "analysis"
            (own / "verdicts.csv").write_text((own / "verdicts.csv").read_text().replace("reproduced", "inconclusive"))
        return said.get(page, [])

    monkeypatch.setattr(rebuild, "_said", run)
    return said


def uncounted(err: str) -> str:
    """What a command said but for how many pages are made."""
    found = re.findall(r"^report: (\d) of 3 pages, about \d+ s left\n", err, re.MULTILINE)
    assert found == ["1", "2", "3"]
    return re.sub(r"^report: .*\n", "", err, flags=re.MULTILINE)


def test_what_was_opened_before_stays_until_the_next_is_reported(kept_project, capsys, stages):
    links = kept.links(kept_project / "results" / "emulated")
    assert links.is_dir() and main(["reference"]) == 0 and main(["report"]) == 0
    out = capsys.readouterr().out
    assert out.endswith("results/opened/reference/reports/index.html\n") and "(inconclusive, not reproduced)" in out
    opened = kept_project / "results" / "opened"
    before = everything(opened)
    assert {path.name for path in before if path.parent.name == "reports"} == {
        "index.html", f"{PAPER}.html", "testbed.html"
    }  # fmt: skip
    for page in (PAPER, "testbed", "index"):
        stages[page] = [f"{page} has a fault"]
    assert main(["report"]) == 2
    expected_lines = "".join(f"whitewire: error: {page}.html is not made: {page} has a fault\n" for page in stages)
    out, err = capsys.readouterr()
    assert out == "" and uncounted(err) == expected_lines
    assert everything(opened) == before


@pytest.mark.parametrize("page", [PAPER, "testbed", "index"])
def test_a_page_that_fails_keeps_no_other_page_back(kept_project, capsys, stages, page):
    kept.links(kept_project / "results" / "emulated")
    assert main(["reference"]) == 0
    capsys.readouterr()
    stages[page] = ["the reason"]
    assert main(["report"]) == 2
    out, err = capsys.readouterr()
    assert uncounted(err) == f"whitewire: error: {page}.html is not made: the reason\n"
    assert out.endswith("results/opened/reference/reports/index.html\n") == (page != "index")
    reports = kept_project / "results" / "opened" / "reference" / "reports"
    assert {path.stem for path in reports.glob("*.html")} == {PAPER, "testbed", "index"} - {page}


def test_only_the_reference_is_reported_so(kept_project, capsys):
    said = refused(capsys, "report", "--testbed", "emulated")
    assert said.startswith("TESTBED: found 'emulated', expected reference")


def test_every_file_is_listed(kept_project):
    assert manifest_faults(kept_project / "results" / "reference") == []
