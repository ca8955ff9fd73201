"""Results as one file: what is in it, and everything for which one is refused before anything is unpacked."""

import csv
import gzip
import io
import json
import math
import os
import re
import resource
import stat
import subprocess
import sys
import zipfile
from datetime import datetime
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import kept
from tests.support.blocks import BLOCK
from tests.support.kept import PAPER
from whitewire.cli import main
from whitewire.errors import UserError
from whitewire.records import manifest
from whitewire.records.checked import PACKAGE, described_tables
from whitewire.records.manifest import MANIFEST_FILE, manifest_of
from whitewire.records.schema import Broken
from whitewire.report import bundle, crate, rebuild, reference
from whitewire.report.artifact import artifact_of
from whitewire.report.bundle import bundle_name
from whitewire.report.crate import read_crate

NEW = "results/more.csv"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """(project, files of its crate by path). What the library says of them is left out, so that none is needed."""
    folder = kept.project(tmp_path_factory.mktemp("whole"))
    results = kept.results(folder)
    pairs = kept.links(results) / "pairs" / "10gbe"
    pairs.mkdir(parents=True)
    (pairs / "1.json").write_text("[]")
    for name in ("index.html", f"{PAPER}.html", f"data/{PAPER}/x.csv", "another-2026.html", "testbed.pdf",
                 "data/testbed/x.csv"):  # fmt: skip
        (results / "reports" / name).parent.mkdir(parents=True, exist_ok=True)
        (results / "reports" / name).write_text("made up")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        patched.setattr(crate, "described_as", lambda *_: {"@graph": []})
        path = crate.make_crate(results, [PAPER], raw=True)
    assert path == folder / "results" / "crates" / "emulated.zip"
    with zipfile.ZipFile(path) as archive:
        return folder, {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def project(whole, monkeypatch):
    """The project, as the current folder."""
    monkeypatch.chdir(whole[0])
    for name in rebuild._OVERRIDES:
        monkeypatch.delenv(name, raising=False)
    return whole[0]


def packed(files, path: Path, listed: bool = True, method: int = zipfile.ZIP_STORED) -> Path:
    """A crate of these files; `listed`: with a manifest that agrees with them."""
    files = dict(files)
    if listed:
        files[MANIFEST_FILE] = json.dumps(
            manifest_of({name: content for name, content in files.items() if name != MANIFEST_FILE})
        ).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, method, compresslevel=1)
    return path


def test_what_is_in_it(whole):
    folder, files = whole
    own = folder / "results" / "emulated" / PAPER
    for name in (f"{PAPER}/design.csv", f"{PAPER}/tidy/runs.csv", f"{PAPER}/analysis/similitude.csv",
                 f"{PAPER}/raw/quick-1/environment.json", "links/links.json", "links/tables/ways.csv"):  # fmt: skip
        assert files[f"results/{name}"] == (own.parent / name).read_bytes()
    assert sum(name.endswith("/run.json") for name in files) == len(list(own.glob("raw/*/runs/*/run.json")))
    assert {crate._MAIN, "LICENSE", "CITATION.cff", "envs/requirements.txt", "config/config.yaml", crate.METADATA,
            f"config/papers/{PAPER}.yaml", "reports/index.html", f"reports/{PAPER}.html",
            f"reports/data/{PAPER}/x.csv", "reports/testbed.pdf", "reports/data/testbed/x.csv",
            "workflow/rules/measure.smk"} <= {*files}  # fmt: skip
    assert "reports/another-2026.html" not in files
    listed = json.loads(files[MANIFEST_FILE])["files"]
    assert {*listed} == {*files} - {MANIFEST_FILE}
    assert all(manifest.entry(files[name]) == entry for name, entry in listed.items())


def test_raw_output_is_left_out_unless_it_is_asked_for(project, monkeypatch, tmp_path):
    monkeypatch.setattr(crate, "described_as", lambda *_: {})
    path = crate.make_crate(project / "results" / "emulated", [PAPER], raw=False, target=tmp_path / "small.zip")
    with zipfile.ZipFile(path) as archive:
        raw = [name for name in archive.namelist() if "/raw/" in name]
    assert raw == [f"results/{PAPER}/raw/quick-1/block.json", f"results/{PAPER}/raw/quick-1/environment.json"]
    again = crate.make_crate(project / "results" / "emulated", [PAPER], raw=False, target=tmp_path / "again.zip")
    assert again.read_bytes() == path.read_bytes()


def test_raw_output_is_that_of_the_testbed_too(whole):
    folder, files = whole
    links = folder / "results" / "emulated" / "links"
    for path in (each for each in links.rglob("*") if each.is_file()):
        assert files[f"results/links/{path.relative_to(links).as_posix()}"] == path.read_bytes()
    assert "results/links/pairs/10gbe/1.json" in files


def test_a_crate_is_there_whole_or_as_it_was(project, monkeypatch, tmp_path):
    monkeypatch.setattr(crate, "described_as", lambda *_: {})
    target = tmp_path / "a.zip"
    crate.make_crate(project / "results" / "emulated", [PAPER], raw=False, target=target)
    before = target.read_bytes()
    monkeypatch.setattr(crate.masking, "entry_of_file", lambda content: {"bytes": 1, "sha256": ""})
    with pytest.raises(UserError, match="changed while it was read"):
        crate.make_crate(project / "results" / "emulated", [PAPER], raw=False, target=target)
    assert target.read_bytes() == before and list(tmp_path.iterdir()) == [target]


def test_what_would_not_be_opened_is_not_packed(project, monkeypatch, tmp_path):
    monkeypatch.setattr(crate, "described_as", lambda *_: {})
    for limit, said in (("MOST_FILE_BYTES", "bytes, expected at most 50"), ("_MOST_BYTES", "bytes unpacked, expected"),
                        ("MOST_FILES", "files, expected at most 50"),
                        ("MOST_KEPT_BYTES", "of tables and records, expected at most 50")):  # fmt: skip
        with monkeypatch.context() as patched, pytest.raises(UserError, match=said):
            patched.setattr(crate, limit, 50)
            crate.make_crate(project / "results" / "emulated", [PAPER], raw=True, target=tmp_path / "a.zip")
    strange = project / "results" / "emulated" / PAPER / "raw" / "quick-1" / "a:b"
    strange.touch()
    try:
        with pytest.raises(UserError, match=r'raw/quick-1/a:b": found a path that leaves its folder or is none'):
            crate.make_crate(project / "results" / "emulated", [PAPER], raw=True, target=tmp_path / "a.zip")
    finally:
        strange.unlink()
    assert not list(tmp_path.iterdir())


def test_half_a_record_of_a_run_is_one_line(project):
    path = next((project / "results" / "emulated").rglob("run.json"))
    before = path.read_text()
    try:
        path.write_text('{"start": 1')
        with pytest.raises(UserError, match=r"run\.json: line 1: it ends, expected whole JSON .*; remove its folder"):
            crate.times(project / "results" / "emulated", [PAPER])
        path.write_text('{"start": "soon"}')
        with pytest.raises(UserError, match='start: found "soon", expected a number'):
            crate.times(project / "results" / "emulated", [PAPER])
    finally:
        path.write_text(before)


def test_pages_that_are_missing_or_old_are_named(project):
    results = project / "results" / "emulated"
    assert crate.pages_lacking(results, [PAPER]) == [
        "results/emulated/reports/testbed.html: found no such page, so the crate is without it; `make testbed` makes it"
    ]
    page, table = results / "reports" / f"{PAPER}.html", results / PAPER / "analysis" / "verdicts.csv"
    moments = page.stat().st_atime, page.stat().st_mtime
    os.utime(page, (0, table.stat().st_mtime - 1))
    try:
        assert crate.pages_lacking(results, [PAPER])[0] == (
            f"results/emulated/reports/{PAPER}.html: found a page that is older than its tables, expected a newer one; "
            "`make papers` makes it"
        )
    finally:
        os.utime(page, moments)


@pytest.mark.parametrize(
    "name, opened", [("sent.zip", "sent"), ("reference.zip", "crate"), ("a b.zip", "crate"), ("..zip", "crate")]
)
def test_a_crate_is_opened_in_a_folder_of_its_name(name, opened):
    assert bundle_name(Path(name)) == opened


@pytest.mark.parametrize("asked, raw", [("", False), ("0", False), ("no", False), ("1", True), ("yes", True)])
def test_raw_output_is_asked_for_by_a_word_that_says_so(tmp_path, asked, raw):
    lines = (kept.HOME / "Makefile").read_text().partition("\ncrate:")[2].splitlines()
    program = tmp_path / "whitewire"
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "RAW": asked}
    command = lines[1].strip().removeprefix("@").replace("$$", "$")
    done = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True)
    assert done.stdout == ("crate --raw\n" if raw else "crate\n"), done


def test_an_opened_crate_has_the_same_tables(project, whole, tmp_path):
    record, files = read_crate(packed(whole[1], tmp_path / "a.zip", listed=False))
    assert record["papers"][PAPER]["effort"] == "quick"
    results = bundle.unpack(tmp_path / "opened", record, files.items())
    for folder in (f"{PAPER}/tidy", "links/tables"):
        for path in (project / "results" / "emulated" / folder).iterdir():
            assert (results / folder / path.name).read_bytes() == path.read_bytes()
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
    for limit, said in (("MOST_FILE_BYTES", "bytes, expected at most 50"), ("_MOST_BYTES", "bytes unpacked, expected"),
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


@pytest.mark.parametrize("name", [crate.METADATA, MANIFEST_FILE, "results/results.json"])
def test_what_is_no_crate_of_ours(project, whole, tmp_path, capsys, name):
    files = {each: content for each, content in whole[1].items() if each != name}
    said = refused(packed(files, tmp_path / "a.zip", listed=name != MANIFEST_FILE), capsys)
    assert f": {name}: found no such file, expected the crate of a Whitewire" in said


def with_record(files, change) -> dict:
    record = json.loads(files["results/results.json"])
    change(record)
    return files | {"results/results.json": json.dumps(record).encode()}


def test_later_formats_and_papers(project, whole, tmp_path, capsys):
    path, files = tmp_path / "a.zip", whole[1]
    later = with_record(files, lambda record: record.update(format=2, more={"x": 1}))
    assert "results.json: format: found 2, made by Whitewire" in refused(packed(later, path), capsys)
    unknown = with_record(files, lambda record: record["papers"].update({"other-2030": {"effort": "quick", "runs": 1}}))
    said = refused(packed(unknown, path), capsys)
    assert 'papers: found "other-2030", expected papers that are described here' in said
    up = with_record(files, lambda record: record.update(testbed="../x"))
    assert 'found the name "../x", expected letters' in refused(packed(up, path), capsys)
    names = [f"results/{PAPER}/{name}" for name in ("design.csv", "raw/quick-1/block.json")]
    clashing = files | {name: files[name].replace(b"ingest-10gbe", b"others-10gbe") for name in names}
    said = refused(packed(clashing, path), capsys)
    assert f'{PAPER}/design.csv: found run "others-10gbe' in said and "expected the runs that this version's" in said
    testbed = files | {"results/testbed.yaml": b"kind: emulated\n"}
    assert ": testbed.yaml: " in refused(packed(testbed, path), capsys)
    links = files | {"results/links/links.json": b'{"plan": {}}'}
    assert "links/links.json: hosts: found no such key, expected one" in refused(packed(links, path), capsys)


def with_table(files, folder: str, name: str, content: bytes) -> dict:
    """With another table, of which the datapackage beside it knows."""
    package = json.loads(files[f"{folder}/{PACKAGE}"])
    (own,) = (each for each in package["resources"] if each["path"] == name)
    entry = manifest.entry(content)
    own |= {"bytes": entry["bytes"], "hash": f"sha256:{entry['sha256']}"}
    return files | {f"{folder}/{PACKAGE}": json.dumps(package).encode(), f"{folder}/{name}": content}


TIDY, LINKS = f"results/{PAPER}/tidy", "results/links/tables"


@pytest.mark.parametrize("folder", [TIDY, LINKS])
@pytest.mark.parametrize("path", ["../../../.ssh/id_rsa", "/etc/passwd", "..", ".", "", "a/b.csv", ".hidden", "a\nb"])
def test_a_table_of_another_folder_is_neither_opened_nor_packed_on(project, whole, tmp_path, capsys, folder, path):
    files = whole[1]
    package = json.loads(files[f"{folder}/{PACKAGE}"])
    package["resources"][1]["path"] = path
    changed = files | {f"{folder}/{PACKAGE}": json.dumps(package).encode()}
    said = refused(packed(changed, tmp_path / "a.zip"), capsys)
    assert f"{PACKAGE}: resources[1].path: found {json.dumps(path)}, expected the name of a file beside it" in said


@pytest.mark.parametrize("folder, table", [(TIDY, "floors.csv"), (LINKS, "ways.csv")])
def test_tables_are_those_of_their_datapackage(project, whole, tmp_path, capsys, folder, table):
    path, files, short = tmp_path / "a.zip", whole[1], folder.removeprefix("results/")
    without = {name: content for name, content in files.items() if name != f"{folder}/{table}"}
    said = refused(packed(without, path), capsys)
    assert f": {short}/{table}: found no such file, expected the one that {PACKAGE} lists" in said
    longer = files | {f"{folder}/{table}": files[f"{folder}/{table}"] + b"\n"}
    assert f": {short}/{table}: found {len(longer[f'{folder}/{table}'])} bytes, expected " in refused(
        packed(longer, path), capsys
    )
    more = files | {f"{folder}/more.csv": b"a\n"}
    assert f"{short}/more.csv: found a file that {PACKAGE} does not list" in refused(packed(more, path), capsys)
    lacking = {name: content for name, content in files.items() if name != f"{folder}/{PACKAGE}"}
    assert f": {short}/{PACKAGE}: found no such file, expected one" in refused(packed(lacking, path), capsys)
    package = json.loads(files[f"{folder}/{PACKAGE}"])
    for each in package["resources"]:
        each.pop("hash")
    undigested = files | {f"{folder}/{PACKAGE}": json.dumps(package).encode()}
    assert f"{PACKAGE}: resources[0].hash: found no such key, expected one" in refused(packed(undigested, path), capsys)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_is_packed_otherwise(project, whole, tmp_path, capsys, method):
    path = packed(whole[1], tmp_path / "a.zip")
    with zipfile.ZipFile(path, "a", method) as archive:
        archive.writestr("more", b"x" * 100)
    assert f"found a file that is packed by method {method}, expected one that is stored or" in refused(path, capsys)


BAD_RECORDS = {
    "no seed of config.yaml's": ({"seed": -1}, "results.json: seed: found -1, expected 0 to 9007199254740991"),
    "a seed beyond all": ({"seed": 1 << 60}, "results.json: seed: found 1152921504606846976, expected 0 to"),
    "a seed without an end": ({"seed": 1 << 70}, "seed: found 1180591620717411303424, expected a whole number"),
    "another effort": ({"papers": {PAPER: {"effort": "hard", "runs": 1}}},
                       f'papers.{PAPER}.effort: found "hard", expected one of smoke, quick, full'),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_RECORDS)
def test_records_of_results_that_no_configuration_could_have(project, whole, tmp_path, capsys, name):
    change, said = BAD_RECORDS[name]
    assert said in refused(
        packed(with_record(whole[1], lambda record: record.update(change)), tmp_path / "a.zip"), capsys
    )


BAD_FILES = {
    "verdicts that are no text": ("analysis/verdicts.csv", b"claim,verdict\n\xff\n", "byte 14: found bytes that"),
    "verdicts without claims": ("analysis/verdicts.csv", b"id,verdict\na,b\n", "line 1: found no column claim"),
    "no verdicts": ("analysis/verdicts.csv", b"", "line 1: found no column claim, expected one"),
    "estimates without numbers": ("analysis/estimates.csv", b"experiment,metric,unit,n\n", "found no column median"),
    "half a block": ("raw/quick-1/block.json", b'{"block": ', "line 1: it ends, expected whole JSON"),
    "a block without an end": ("raw/quick-1/block.json", json.dumps(BLOCK | {"seconds": math.inf}).encode(),
                               "seconds: found Infinity, expected a finite number"),
    "a block of no runs": ("raw/quick-1/block.json", b'{"block": "quick-1"}', "found no such key, expected one"),
    "hosts of nothing": ("raw/quick-1/environment.json", b'{"hosts": null}', "hosts: found null, expected a list"),
    "software of text": ("raw/quick-1/environment.json", b'{"hosts": [], "software": "x"}',
                         'software: found "x", expected a mapping'),
    "packages of numbers": ("raw/quick-1/environment.json", b'{"hosts": [], "software": {"python_packages": [1]}}',
                            "software.python_packages[0]: found 1, expected text"),
    "brackets": ("raw/quick-1/environment.json", b"[" * 100_000, "found no JSON that can be read"),
    "another order": ("design.csv", None, "line 2: order: found 'first', expected a whole number"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_FILES)
def test_files_that_nothing_here_can_read(project, whole, tmp_path, capsys, name):
    file, content, said = BAD_FILES[name]
    own = f"results/{PAPER}/{file}"
    if content is None:
        content = re.sub(rb",1,", b",first,", whole[1][own], count=1)
    found = refused(packed(whole[1] | {own: content}, tmp_path / "a.zip"), capsys)
    assert f": {PAPER}/{file}: " in found and said in found


FLOORS = b"block,floor,workload,job,number,attempt,time,seconds,wire_bytes,outside,valid,why_invalid\n"
BAD_TABLES = {
    "no rung": ("scale.csv", b"experiment,testbed,kind,k,data_fraction,rung\nx,here,emulated,30,0.1,\n",
                "line 2: rung: found an empty cell, expected a value"),
    "a rung of words": ("scale.csv", b"experiment,testbed,kind,k,data_fraction,rung\nx,here,emulated,30,0.1,low\n",
                        'line 2: rung: found "low", expected a whole number'),
    "no cell": ("left.csv", b"run_id,experiment,reason\na,b,c\n", "line 1: found no column cell, expected one"),
    "no reason": ("unavailable.csv", b"run_id,experiment,cell\na,b,c\n", "line 1: found no column reason"),
    "seconds of words": ("floors.csv", FLOORS + b"b,f,w,j,1,1,0,soon,,,true,\n",
                         'line 2: seconds: found "soon", expected a number'),
    "neither true nor false": ("floors.csv", FLOORS + b"b,f,w,j,1,1,0,2,,,perhaps,\n",
                               'line 2: valid: found "perhaps", expected true or false'),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_TABLES)
def test_tables_that_cannot_be_judged(project, whole, tmp_path, capsys, name):
    table, content, said = BAD_TABLES[name]
    found = refused(packed(with_table(whole[1], TIDY, table, content), tmp_path / "a.zip"), capsys)
    assert f": {PAPER}/tidy/{table}: {said}" in found


HOSTILE = "\x1b[31m\u202ex"
NOT_FREE = {
    "an id": (TIDY, "operations.csv", {"run_id": HOSTILE}, "a name of at most"),
    "an id without an end": (TIDY, "placement.csv", {"run_id": "x" * 201}, "a name of at most"),
    "a host": (TIDY, "phases.csv", {"host": "<script>"}, "a name of at most"),
    "a kind of task": (TIDY, "phases.csv", {"type": "MAP\n"}, "a name of at most"),
    "a series": (TIDY, "series.csv.gz", {"series": HOSTILE}, "a name of at most"),
    "a unit": (TIDY, "treatments.csv", {"unit": "`rm -rf`"}, "a unit of at most 20"),
    "a level": (TIDY, "treatments.csv", {"level": HOSTILE}, "a line without control characters"),
    "a level of a factor": (TIDY, "runs.csv", {"fabric": HOSTILE, "run_id": "r", "block": "b", "experiment": "e",
                                              "valid": "true"}, "a line without control characters"),
    "a moment": (TIDY, "operations.csv", {"start": "Sys.time()"}, "a number"),
    "bytes": (TIDY, "operations.csv", {"bytes": "1e999"}, "a whole number"),
    "a share": (LINKS, "ways.csv", {"error": "NA"}, "a number"),
    "whether it stops": (LINKS, "outliers.csv", {"stops": "TRUE "}, "true or false"),
    "an address": (LINKS, "links.csv", {"address": HOSTILE}, "a line without control characters"),
    "a folder": (LINKS, "drives.csv", {"folder": "/data\x9b"}, "a line without control characters"),
    "another number of cells": (LINKS, "fit.csv", {"paper": "x", None: ["y"]}, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_FREE)
def test_columns_that_are_no_free_text_are_named_before_r_reads_them(project, whole, tmp_path, capsys, name):
    folder, table, cells, expected = NOT_FREE[name]
    package = json.loads(whole[1][f"{folder}/{PACKAGE}"])
    (own,) = (each for each in package["resources"] if each["path"] == table)
    columns = [each["name"] for each in own["schema"]["fields"]]
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerows([columns, [cells.get(column, "") for column in columns] + cells.get(None, [])])
    content = output.getvalue().encode()
    content = gzip.compress(content) if table.endswith(".gz") else content
    found = refused(packed(with_table(whole[1], folder, table, content), tmp_path / "a.zip"), capsys)
    column = next(iter(cells))
    said = f"line 2: {column}: found " if expected else f"line 2: found {len(columns) + 1} cells, expected"
    assert f"/{table}: {said}" in found and expected in found and found.isprintable()


def test_a_name_of_a_file_or_key_changes_no_terminal(project, whole, tmp_path, capsys):
    path, files = tmp_path / "a.zip", whole[1]
    said = refused(packed(files | {f"results/{HOSTILE}": b""}, path), capsys)
    assert "\\u001b[31m" in said and "\\u202e" in said and said.isprintable()
    made = with_record(files, lambda record: record.update(format=2, whitewire=HOSTILE))
    assert r"made by Whitewire \x1b[31m\u202ex, expected at most 1" in refused(packed(made, path), capsys)
    by = with_record(
        files, lambda record: record.update(commits=["\x1b]0;x\x07"], papers={"no": {"effort": "", "runs": 0}})
    )
    assert r"measured by commit \x1b]0;x\x07)" in refused(packed(by, path), capsys)
    key = with_record(files, lambda record: record["papers"].update({PAPER: {"effort": 1, "runs\x9b": 0}}))
    assert refused(packed(key, path), capsys).isprintable()


def test_blocks_are_those_of_the_design(project, whole, tmp_path, capsys):
    path, files, name = tmp_path / "a.zip", whole[1], f"results/{PAPER}/raw/quick-1/block.json"
    record = json.loads(files[name])
    other = files | {name: json.dumps(record | {"runs": record["runs"][1:]}).encode()}
    assert f"{PAPER}/raw/quick-1/block.json: runs: found other runs than in design.csv" in refused(
        packed(other, path), capsys
    )
    lacking = {each: content for each, content in files.items() if each != name}
    assert "raw/quick-1/block.json: found no such file, expected one" in refused(packed(lacking, path), capsys)
    design = f"results/{PAPER}/design.csv"
    moved = {each.replace("quick-1", "quick-9"): content for each, content in files.items()}
    moved[design] = files[design].replace(b"quick-1", b"quick-9")
    moved[name.replace("quick-1", "quick-9")] = json.dumps(record | {"block": "quick-9"}).encode()
    assert 'design.csv: block: found "quick-9", expected quick-1' in refused(packed(moved, path), capsys)


def test_what_reports_are_made_of_is_bounded_and_the_rest_is_not_kept(project, whole, tmp_path, capsys, monkeypatch):
    path = packed(whole[1], tmp_path / "a.zip")
    held = []
    monkeypatch.setattr(crate, "_read", lambda *argv, own=crate._read: held.append(argv[1:]) or own(*argv))
    monkeypatch.setattr(crate, "_CHUNK", 7)
    _, files = read_crate(path)
    assert all(files[name.removeprefix("results/")] == whole[1][name] for name, kept_here in held if kept_here)
    assert {name for name, kept_here in held if not kept_here} >= {crate.METADATA, "LICENSE", "reports/index.html"}
    assert not any("run.json" in name for name, kept_here in held if kept_here)
    monkeypatch.setattr(crate, "MOST_KEPT_BYTES", 5000)
    assert "bytes of tables and records, expected at most 5000" in refused(path, capsys)


def test_a_crate_and_the_reference_are_not_reported_at_once(project, tmp_path, capsys):
    assert main(["report", "--crate", "x.zip", "--testbed", reference.REFERENCE]) == 2
    assert "found both (x.zip, reference), expected one of them" in capsys.readouterr().err


MANY = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@MANY
@given(st.data())
def test_no_damage_is_read_in_silence(project, whole, tmp_path, data):
    """Whatever byte changes or lacks: it is refused in one line, or what is read is the same."""
    path = packed(whole[1], tmp_path / "a.zip")
    sound = read_crate(path)
    raw = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(raw) - 1))
    if data.draw(st.booleans()):
        raw[place] ^= data.draw(st.integers(1, 255))
    else:
        del raw[place : place + data.draw(st.integers(1, 2000))]
    path.write_bytes(raw)
    try:
        found = read_crate(path)
    except UserError as error:
        assert len(error.lines) == 1 and "\n" not in str(error)
    else:
        assert found == sound


@settings(MANY, max_examples=40)
@given(st.data())
def test_whatever_a_file_says_is_refused_in_one_line_or_can_be_reported(project, whole, tmp_path_factory, data):
    """Of a crate that agrees with itself: what its manifest and datapackages list is what it has."""
    folder = tmp_path_factory.mktemp("any")
    own = [name for name in whole[1] if name.startswith("results/") and crate._is_of(name[8:], {PAPER: {}})]
    name = data.draw(st.sampled_from([each for each in own if not each.endswith(PACKAGE)]))
    content = bytearray(whole[1][name])
    place = data.draw(st.integers(0, len(content)))
    values = st.sampled_from([b"", b"1e999", b"-1", b"null", b"[]", b"{}", b'"', b",", b"\n", b"x", b"9" * 30, b"true"])
    content[place : place + data.draw(st.integers(0, 12))] = data.draw(values | st.binary(max_size=4))
    place, _, table = name.rpartition("/")
    listed = place in (TIDY, LINKS)
    changed = with_table(whole[1], place, table, bytes(content)) if listed else whole[1] | {name: bytes(content)}
    try:
        record, files = read_crate(packed(changed, folder / "a.zip"))
    except UserError as error:
        assert len(error.lines) == 1 and "\n" not in str(error)
        return
    results = bundle.unpack(folder / "opened", record, files.items())
    assert json.dumps(artifact_of(results, {"state": "none"}), allow_nan=False)
    assert bundle.judged_otherwise(results, files) == []


@given(st.text(st.sampled_from("ab./\\:\0\n-"), min_size=1, max_size=12))
def test_a_path_that_is_taken_stays_below_its_folder(name):
    info = zipfile.ZipInfo(name)
    if crate._unsafe(info) == "":
        target = (Path("/opened") / info.filename).resolve()
        assert target.is_relative_to("/opened") and target != Path("/opened")


@given(st.text(st.sampled_from("ab./\\:\0\n-_"), max_size=12))
def test_a_table_that_is_taken_is_beside_its_datapackage(path):
    try:
        (found,) = described_tables(json.dumps({"resources": [{"path": path, "bytes": 1, "hash": "sha256:"}]}))
    except Broken as broken:
        assert "expected the name of a file beside it" in str(broken)
    else:
        target = Path("/tables") / found["path"]
        assert target.resolve() == target and target.parent == Path("/tables")


# -- what others read of it --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def described(whole, tmp_path_factory):
    """A crate as it is made, with raw output."""
    folder = whole[0]
    run = next((folder / "results").rglob("run.json"))
    run.write_text(json.dumps({"start": 1_790_000_000.0, "end": 1_790_000_100.0}))
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        return crate.make_crate(
            folder / "results" / "emulated", [PAPER], True, tmp_path_factory.mktemp("crate") / "a.zip"
        )


def test_it_says_what_each_file_is_and_what_made_them(described):
    with zipfile.ZipFile(described) as archive:
        assert archive.namelist()[0] == crate.METADATA
        graph = {each["@id"]: each for each in json.loads(archive.read(crate.METADATA))["@graph"]}
        names = {*archive.namelist()}
    files = {name for name, each in graph.items() if "File" in each["@type"] and name != crate.METADATA}
    folders = tuple(name for name, each in graph.items() if each["@type"] == "Dataset" and name != "./")
    assert files <= names and {*folders} == {f"results/{PAPER}/raw/quick-1/", "results/links/pairs/"}
    assert {name for name in names - files - {crate.METADATA} if not name.startswith(folders)} == set()
    action = graph["#run"]
    assert action["instrument"] == {"@id": crate._MAIN} == graph["./"]["mainEntity"]
    assert action["endTime"] == "2026-09-21T14:15:00+00:00"
    assert {"@id": f"results/{PAPER}/analysis/verdicts.csv"} in action["result"]
    assert {"name": "java", "softwareVersion": "17.0.15"}.items() <= graph["#software-1"].items()
    assert kept.COMMIT in action["name"]


def test_the_same_results_make_the_same_bytes_whenever(described, project, tmp_path, monkeypatch):
    """With all metadata, and without the raw output that has moments: as of an opened crate."""
    record, files = read_crate(described)
    results = bundle.unpack(tmp_path / "opened", record, files.items())
    begun = json.loads((results / "links" / "links.json").read_text())
    made = []
    for day in (1, 2):
        monkeypatch.setattr("rocrate.model.root_dataset.iso_now", lambda day=day: f"2026-01-0{day}T00:00:00+00:00")
        made.append(crate.make_crate(results, [PAPER], False, tmp_path / f"{day}.zip").read_bytes())
    assert made[0] == made[1]
    with zipfile.ZipFile(tmp_path / "1.zip") as archive:
        graph = {each["@id"]: each for each in json.loads(archive.read(crate.METADATA))["@graph"]}
    assert datetime.fromisoformat(graph["./"]["datePublished"]).timestamp() == int(begun["begun"] + begun["seconds"])


def test_a_crate_without_any_moment_has_the_date_of_its_code(monkeypatch):
    record = {"commits": ["0123456789abcdef", "fedcba9876543210"]}
    monkeypatch.setattr(crate.commits, "commit_time", {"0123456789abcdef": 5, "fedcba9876543210": 7}.get)
    assert crate.published({}, record, None) == 7
    monkeypatch.setattr(crate.commits, "commit_time", lambda commit: None)
    assert crate.published({}, record, None) == 0


FETCHED = ("ro-crate-1.1_3.1: ", "ro-crate-1.1_3.2: ")
"""Checks that the context of terms can be fetched, and is one."""


def test_the_validator_finds_no_fault(described, tmp_path, monkeypatch):
    """roc-validator, with all that the profile of workflow runs and those below it require; the context of RO-Crate's
    terms is the one that rocrate brings, so that no network is needed."""
    from rocrate_validator import models, services
    from rocrate_validator.utils import document_loader as loader

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
    issues = [f"{issue.check.identifier}: {issue.message}" for issue in found.get_issues()]
    assert [line for line in issues if not line.startswith(FETCHED)] == []


def test_without_names_it_has_all_papers_that_were_judged(project, monkeypatch, capsys):
    """Those of config.yaml may be others, of which nothing was measured."""
    monkeypatch.delenv("PAPERS", raising=False)
    results = project / "results" / "emulated"
    assert crate.papers_judged(results) == [PAPER] and capsys.readouterr().err == ""
    asked = []
    monkeypatch.setattr(crate, "make_crate", lambda at, papers, *_: asked.append(papers) or results / "x.zip")
    assert main(["crate", str(results)]) == 0
    monkeypatch.setattr(crate, "papers_judged", pytest.fail)
    monkeypatch.setenv("PAPERS", PAPER)
    assert main(["crate", str(results)]) == 0
    assert asked == [[PAPER], [PAPER]]


def test_a_paper_that_an_interrupted_start_only_designed_is_left_out_and_named(tmp_path, capsys):
    for name in ("emulex-2012", "hibench"):
        (tmp_path / name / "analysis").mkdir(parents=True)
        (tmp_path / name / "design.csv").touch()
    assert crate.papers_judged(tmp_path) == ["emulex-2012", "hibench"], "a crate of nothing says what it lacks"
    (tmp_path / "hibench" / "analysis" / "verdicts.csv").touch()
    assert crate.papers_judged(tmp_path) == ["hibench"]
    said = "whitewire: left out, since they have no verdicts yet: emulex-2012; `make papers` goes on\n"
    assert capsys.readouterr().err == said


# -- more than the memory holds ----------------------------------------------------------------------------

MEMORY = 3 << 30
"""Bytes that the command may address; Python with all libraries takes a third of it."""
LARGE = {
    "results of 70 MB": ("results/results.json", lambda: b"[" + b" " * (70 << 20), "bytes, expected at most 67108864"),
    "a manifest of 70 MB": (MANIFEST_FILE, lambda: b"{" + b" " * (70 << 20), "bytes, expected at most 67108864"),
    "a manifest of lists": (MANIFEST_FILE, lambda: b'{"files": [' + b"[],[]," * (1 << 20),
                            "commas and brackets, expected at"),
    "a manifest of faults": (MANIFEST_FILE,
                             lambda: b'{"files": {' + b",".join(b'"%d":1' % n for n in range(900_000)) + b"}}",
                             "expected a mapping"),
    "an environment of lists": (f"results/{PAPER}/raw/quick-1/environment.json", lambda: b"[" + b"[]," * (2 << 20),
                                "environment.json: found 4194305 commas and brackets, expected at most 1000000"),
    "a description of aliases": (
        "results/testbed.yaml",
        lambda: b"a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
        + b"".join(b"a%d: &a%d [%s]\n" % (n, n, b",".join([b"*a%d" % (n - 1)] * 9)) for n in range(1, 12)),
        "testbed.yaml: line 5, column 42: not valid YAML: found more than 60000 values, aliases among them"),
    "a description of levels": ("results/testbed.yaml", lambda: b"a: " + b"[" * 500_000, "found more than 30 levels"),
    "a description of 2 MB": ("results/testbed.yaml", lambda: b"#" * (2 << 20), "testbed.yaml: found more than 10"),
    "a table of lines": (f"results/{PAPER}/tidy/runs.csv", lambda: b"run_id\n" + b"a\n" * (10 << 20), "runs.csv: "),
    "a table of commas": (f"results/{PAPER}/tidy/floors.csv", lambda: b"," * (10 << 20) + b"\n",
                          "floors.csv: found 10485761 commas and line ends"),
    "verdicts of lines": (f"results/{PAPER}/analysis/verdicts.csv", lambda: b"a\n" * (10 << 20),
                          "verdicts.csv: found "),
    "a table of columns": (f"results/{PAPER}/tidy/phases.csv", lambda: (b"a," * 500_000 + b"a\n") * 20, "phases.csv: "),
    "an archive of zeros": (f"results/{PAPER}/tidy/series.csv.gz",
                            lambda: gzip.compress(b"0,0,0,0,0,0\n" * (50 << 20), 1, mtime=0),  # of 600 MB
                            "series.csv.gz: found more than 536870912 bytes, expected fewer"),
    "an archive in one line": (f"results/{PAPER}/tidy/series.csv.gz",
                               lambda: gzip.compress(b"0" * (4 << 20), 1, mtime=0),
                               "series.csv.gz: found a line of more than 1048576 bytes"),
    "an archive that is cut off": (f"results/{PAPER}/tidy/series.csv.gz",
                                   lambda: gzip.compress(b"0,0\n" * 1000)[:-9],
                                   "series.csv.gz: found no whole archive"),
}  # fmt: skip
"""File, a function that makes its content, and what is said."""


@pytest.mark.parametrize("name", LARGE)
def test_what_is_small_when_packed_fills_no_memory(project, whole, tmp_path, name):
    file, make, said = LARGE[name]
    folder, _, table = file.rpartition("/")
    content = make()
    files = with_table(whole[1], folder, table, content) if folder == TIDY else whole[1] | {file: content}
    path = packed(files, tmp_path / "a.zip", listed=file != MANIFEST_FILE, method=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 6_000_000
    done = subprocess.run(
        [sys.executable, "-m", "whitewire", "report", "--crate", str(path)], capture_output=True, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr[:2000]
    assert said in done.stderr and len(done.stderr) < 500
