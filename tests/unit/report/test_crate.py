"""Results as one file: what is in it, and everything for which one is refused before anything is unpacked."""

import json
import stat
import zipfile
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import kept
from tests.support.kept import PAPER
from whitewire.cli import main
from whitewire.errors import UserError
from whitewire.records import manifest
from whitewire.report import crate, parcel, rebuild, reference

NEW = "results/more.csv"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """(project, files of its crate by path). What the library says of them is left out, so that none is needed."""
    folder = kept.project(tmp_path_factory.mktemp("whole"))
    results = kept.results(folder)
    (results / "reports" / "data" / PAPER).mkdir(parents=True)
    for name in ("index.html", f"{PAPER}.html", f"data/{PAPER}/x.csv", "another-2026.html"):
        (results / "reports" / name).write_text("made up")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        patched.setattr(crate, "described_as", lambda *_: {"@graph": []})
        path = crate.make(results, [PAPER], raw=True)
    assert path == folder / "results" / "crates" / "emulated.zip"
    with zipfile.ZipFile(path) as archive:
        return folder, {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def project(whole, monkeypatch):
    """The project, as the current folder."""
    monkeypatch.chdir(whole[0])
    for name in rebuild.OVERRIDES:
        monkeypatch.delenv(name, raising=False)
    return whole[0]


def packed(files, path: Path, listed: bool = True) -> Path:
    """A crate of these files; `listed`: with a manifest that agrees with them."""
    files = dict(files)
    if listed:
        files[manifest.NAME] = json.dumps(
            manifest.of({name: content for name, content in files.items() if name != manifest.NAME})
        ).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return path


def test_what_is_in_it(whole):
    folder, files = whole
    own = folder / "results" / "emulated" / PAPER
    for name in (f"{PAPER}/design.csv", f"{PAPER}/tidy/runs.csv", f"{PAPER}/analysis/similitude.csv",
                 f"{PAPER}/raw/quick-1/environment.json"):  # fmt: skip
        assert files[f"results/{name}"] == (own.parent / name).read_bytes()
    assert sum(name.endswith("/run.json") for name in files) == len(list(own.glob("raw/*/runs/*/run.json")))
    assert {crate.MAIN, "LICENSE", "CITATION.cff", "envs/requirements.txt", "config/config.yaml", crate.METADATA,
            f"config/papers/{PAPER}.yaml", "reports/index.html", f"reports/{PAPER}.html",
            f"reports/data/{PAPER}/x.csv", "workflow/rules/measure.smk"} <= {*files}  # fmt: skip
    assert "reports/another-2026.html" not in files
    listed = json.loads(files[manifest.NAME])["files"]
    assert {*listed} == {*files} - {manifest.NAME}
    assert all(manifest.entry(files[name]) == entry for name, entry in listed.items())


def test_raw_output_is_left_out_unless_it_is_asked_for(project, monkeypatch, tmp_path):
    monkeypatch.setattr(crate, "described_as", lambda *_: {})
    path = crate.make(project / "results" / "emulated", [PAPER], raw=False, target=tmp_path / "small.zip")
    with zipfile.ZipFile(path) as archive:
        raw = [name for name in archive.namelist() if "/raw/" in name]
    assert raw == [f"results/{PAPER}/raw/quick-1/block.json", f"results/{PAPER}/raw/quick-1/environment.json"]
    again = crate.make(project / "results" / "emulated", [PAPER], raw=False, target=tmp_path / "again.zip")
    assert again.read_bytes() == path.read_bytes()


def test_an_opened_crate_has_the_same_tables(project, whole, tmp_path):
    record, files = crate.read(packed(whole[1], tmp_path / "a.zip", listed=False))
    assert record["papers"][PAPER]["effort"] == "quick"
    results = parcel.opened(tmp_path / "opened", record, files.items())
    for path in (project / "results" / "emulated" / PAPER / "tidy").iterdir():
        assert (results / PAPER / "tidy" / path.name).read_bytes() == path.read_bytes()
    assert not list(results.rglob("run.json")) and not (tmp_path / "opened" / "reports").exists()


def refused(path: Path, capsys) -> str:
    """The one line by which a crate is refused; nothing is written."""
    before = {each: each.stat().st_mtime_ns for each in Path.cwd().rglob("*")}
    assert main(["report", "--crate", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1, err
    assert {each: each.stat().st_mtime_ns for each in Path.cwd().rglob("*")} == before
    return err.removeprefix("whitewire: error: ").strip()


LEAVING = ["../x", "/etc/passwd", "results/../../x", "a//b", "./a", "C:/x", "..\\x", "a\nb"]


@pytest.mark.parametrize("name", LEAVING)
def test_paths_that_leave_the_folder(project, whole, tmp_path, capsys, name):
    said = refused(packed(whole[1] | {name: b"x"}, tmp_path / "a.zip"), capsys)
    assert "found a path that leaves its folder or is none, expected one below it" in said


def test_links_encrypted_files_and_what_is_too_large(project, whole, tmp_path, capsys, monkeypatch):
    path = packed(whole[1], tmp_path / "a.zip")
    link = zipfile.ZipInfo(NEW)
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    assert "found a link or a device, expected a plain file" in refused(path, capsys)
    path = packed(whole[1], tmp_path / "a.zip")
    raw = bytearray(path.read_bytes())
    place = raw.index(b"PK\x01\x02")
    raw[place + 8] |= 1
    path.write_bytes(raw)
    assert "found an encrypted file, expected a plain one" in refused(path, capsys)
    path = packed(whole[1], tmp_path / "a.zip")
    for limit, said in (("MOST_FILE_BYTES", "bytes, expected at most 50"), ("MOST_BYTES", "bytes unpacked, expected"),
                        ("MOST_FILES", "files, expected at most 50")):  # fmt: skip
        with monkeypatch.context() as patched:
            patched.setattr(crate, limit, 50)
            assert said in refused(path, capsys)


def test_what_is_altered_or_cut_off(project, whole, tmp_path, capsys):
    path, files = tmp_path / "a.zip", whole[1]
    name = f"results/{PAPER}/tidy/runs.csv"
    other = files[name].replace(b"1", b"2", 1)
    assert f": {name}: found SHA-256 " in refused(packed(files | {name: other}, path, listed=False), capsys)
    said = refused(packed(files | {name: other + b"\n"}, path, listed=False), capsys)
    assert f": {name}: found {len(other) + 1} bytes, expected {len(other)} by manifest.json" in said
    assert f"{NEW}: found a file that manifest.json does not list" in refused(
        packed(files | {NEW: b""}, path, listed=False), capsys
    )
    lacking = {each: content for each, content in files.items() if each != name}
    said = refused(packed(lacking, path, listed=False), capsys)
    assert f": {name}: found no such file, expected the one that manifest.json lists" in said
    packed(files, path)
    path.write_bytes(path.read_bytes()[:-5000])
    assert "found no whole zip archive (File is not a zip file), expected a crate" in refused(path, capsys)
    path.write_bytes(b"")
    assert "found no whole zip archive" in refused(path, capsys)
    path.unlink()
    assert refused(path, capsys).startswith("CRATE: found ")


@pytest.mark.parametrize("name", [crate.METADATA, manifest.NAME, "results/results.json"])
def test_what_is_no_crate_of_ours(project, whole, tmp_path, capsys, name):
    files = {each: content for each, content in whole[1].items() if each != name}
    said = refused(packed(files, tmp_path / "a.zip", listed=name != manifest.NAME), capsys)
    assert f": {name}: found no such file, expected the crate of a Whitewire" in said


def told(files, change) -> dict:
    record = json.loads(files["results/results.json"])
    change(record)
    return files | {"results/results.json": json.dumps(record).encode()}


def test_later_formats_and_papers(project, whole, tmp_path, capsys):
    path, files = tmp_path / "a.zip", whole[1]
    later = told(files, lambda record: record.update(format=2, more={"x": 1}))
    assert "results.json: format: found 2, made by Whitewire" in refused(packed(later, path), capsys)
    unknown = told(files, lambda record: record["papers"].update({"other-2030": {"effort": "quick", "runs": 1}}))
    said = refused(packed(unknown, path), capsys)
    assert 'papers: found "other-2030", expected papers that are described here' in said
    up = told(files, lambda record: record.update(testbed="../x"))
    assert 'found the name "../x", expected letters' in refused(packed(up, path), capsys)
    name = f"results/{PAPER}/design.csv"
    clashing = files | {name: files[name].replace(b"ingest-10gbe", b"others-10gbe")}
    said = refused(packed(clashing, path), capsys)
    assert f'{PAPER}/design.csv: found run "others-10gbe' in said and "expected the runs that this version's" in said
    testbed = files | {"results/testbed.yaml": b"kind: emulated\n"}
    assert ": testbed.yaml: " in refused(packed(testbed, path), capsys)


def test_a_crate_and_the_reference_are_not_reported_at_once(project, tmp_path, capsys):
    assert main(["report", "--crate", "x.zip", "--testbed", reference.REFERENCE]) == 2
    assert "found both (x.zip, reference), expected one of them" in capsys.readouterr().err


MANY = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@MANY
@given(st.data())
def test_no_damage_is_read_in_silence(project, whole, tmp_path, data):
    """Whatever byte changes or lacks: it is refused in one line, or what is read is the same."""
    path = packed(whole[1], tmp_path / "a.zip")
    sound = crate.read(path)
    raw = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(raw) - 1))
    if data.draw(st.booleans()):
        raw[place] ^= data.draw(st.integers(1, 255))
    else:
        del raw[place : place + data.draw(st.integers(1, 2000))]
    path.write_bytes(raw)
    try:
        found = crate.read(path)
    except UserError as error:
        assert len(error.lines) == 1 and "\n" not in str(error)
    else:
        assert found == sound


@given(st.text(st.sampled_from("ab./\\:\0\n-"), min_size=1, max_size=12))
def test_a_path_that_is_taken_stays_below_its_folder(name):
    info = zipfile.ZipInfo(name)
    if crate._unsafe(info) == "":
        target = (Path("/opened") / info.filename).resolve()
        assert target.is_relative_to("/opened") and target != Path("/opened")


# -- what others read of it --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def described(whole, tmp_path_factory):
    """A crate as it is made, with raw output."""
    pytest.importorskip("rocrate")
    folder = whole[0]
    run = next((folder / "results").rglob("run.json"))
    run.write_text(json.dumps({"start": 1_790_000_000.0, "end": 1_790_000_100.0}))
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        return crate.make(folder / "results" / "emulated", [PAPER], True, tmp_path_factory.mktemp("crate") / "a.zip")


def test_it_says_what_each_file_is_and_what_made_them(described):
    with zipfile.ZipFile(described) as archive:
        assert archive.namelist()[0] == crate.METADATA
        graph = {each["@id"]: each for each in json.loads(archive.read(crate.METADATA))["@graph"]}
        names = {*archive.namelist()}
    files = {name for name, each in graph.items() if "File" in each["@type"] and name != crate.METADATA}
    folders = tuple(name for name, each in graph.items() if each["@type"] == "Dataset" and name != "./")
    assert files <= names and folders == (f"results/{PAPER}/raw/quick-1/",)
    assert {name for name in names - files - {crate.METADATA} if not name.startswith(folders)} == set()
    action = graph["#run"]
    assert action["instrument"] == {"@id": crate.MAIN} == graph["./"]["mainEntity"]
    assert action["endTime"] == "2026-09-21T14:15:00+00:00"
    assert {"@id": f"results/{PAPER}/analysis/verdicts.csv"} in action["result"]
    assert {"name": "java", "softwareVersion": "17.0.15"}.items() <= graph["#software-1"].items()
    assert kept.COMMIT in action["name"]


FETCHED = ("ro-crate-1.1_3.1: ", "ro-crate-1.1_3.2: ")
"""Checks that the context of terms can be fetched, and is one."""


def test_the_validator_finds_no_fault(described, tmp_path, monkeypatch):
    """roc-validator, with all that the profile of workflow runs and those below it require; the context of RO-Crate's
    terms is the one that rocrate brings, so that no network is needed."""
    services = pytest.importorskip("rocrate_validator.services")
    models = pytest.importorskip("rocrate_validator.models")
    loader = pytest.importorskip("rocrate_validator.utils.document_loader")
    ours, fetched = resources.files("rocrate") / "data" / "ro-crate.jsonld", loader._fetch_json_ld

    def local(source):
        if source != "https://w3id.org/ro/crate/1.1/context":
            return fetched(source)
        # rocrate brings that of 1.3, in which Bioschemas' terms have other addresses than in 1.1.
        return json.loads(ours.read_text().replace("https://bioschemas.org/terms/", "https://bioschemas.org/"))

    monkeypatch.setattr(loader, "_fetch_json_ld", local)
    with zipfile.ZipFile(described) as archive:
        archive.extractall(tmp_path / "crate")
    found = services.validate(
        services.ValidationSettings(
            rocrate_uri=str(tmp_path / "crate"), profile_identifier="workflow-run-crate",
            requirement_severity=models.Severity.REQUIRED,
        )
    )  # fmt: skip
    told = [f"{issue.check.identifier}: {issue.message}" for issue in found.get_issues()]
    assert [line for line in told if not line.startswith(FETCHED)] == []
