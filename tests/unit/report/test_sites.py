"""Sites of a comparison: folders, crates, folders of crates with labels, and results that are those of one site."""

import shutil

import pandas as pd
import pytest

from tests.support import kept
from tests.support.compared import claim, write
from tests.support.kept import PAPER
from whitewire.errors import UserError
from whitewire.report import crate
from whitewire.report.sites import NOT_SAID, open_sites

GALLERY = """\
crates:
- {file: a.zip, label: maintainer}
- {file: b.zip, label: vendor, note: "Six hosts, 25GbE"}
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A project with results of its own and the crates of three sites; a.zip is of its own results."""
    folder = kept.project(tmp_path_factory.mktemp("sites"))
    gallery = folder / "results" / "gallery"
    gallery.mkdir(parents=True)
    testbeds = folder / "config" / "testbeds"
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        patched.setattr(crate, "described_as", lambda *_: {"@graph": []})
        for seed, (name, file) in enumerate({"emulated": "a", "there": "b", "elsewhere": "c"}.items(), start=1):
            if name != "emulated":
                shutil.copy(testbeds / "emulated.yaml", testbeds / f"{name}.yaml")
            results = kept.results(folder, seed=seed, name=name)
            crate.make_crate(results, [PAPER], raw=False, target=gallery / f"{file}.zip")
            if name != "emulated":
                shutil.rmtree(results)
    return folder


@pytest.fixture
def project(whole, monkeypatch):
    monkeypatch.chdir(whole)
    yield whole
    (whole / "results" / "gallery" / "gallery.yaml").unlink(missing_ok=True)


def refused(*given) -> str:
    with pytest.raises(UserError) as error:
        open_sites(given)
    assert len(error.value.lines) == 1
    return str(error.value)


def test_a_folder_of_crates_is_several_sites_with_their_labels(project):
    (project / "results" / "gallery" / "gallery.yaml").write_text(GALLERY)
    found = open_sites(["gallery"])
    assert [site.name for site in found] == ["a.zip", "b.zip", "c.zip"]
    assert [(site.label, site.note) for site in found] == [
        ("maintainer", ""), ("vendor", "Six hosts, 25GbE"), (NOT_SAID, "")]  # fmt: skip
    alone, other = open_sites(["results/gallery/b.zip", "emulated"])
    assert (alone.label, other.label) == ("vendor", NOT_SAID)


def test_results_are_the_same_in_a_folder_and_in_its_crate(project):
    folder, packed = open_sites(["emulated", "results/gallery/a.zip"])  # two are set side by side, whatever they are
    assert folder.place == project / "results" / "emulated" and packed.place.name == "a.zip"
    mine, theirs = folder.papers[PAPER], packed.papers[PAPER]
    for table in ("verdicts", "estimates", "design", "scale"):
        pd.testing.assert_frame_equal(getattr(mine, table), getattr(theirs, table))
    assert len(theirs.environments) == 1


def test_the_same_runs_are_no_two_sites(project):
    line = refused("emulated", "gallery")
    assert line.startswith("emulated and a.zip: found the same runs in both (such as ")
    assert line.endswith(f" of {PAPER}), expected results of different sites; leave one of them out")
    names = [site.name for site in open_sites(["emulated", "results/gallery/b.zip", "results/gallery/c.zip"])]
    assert names == ["emulated", "b.zip", "c.zip"]


def test_the_same_runs_with_other_startup_overheads_are_no_two_sites(tmp_path, monkeypatch):
    monkeypatch.chdir(kept.project(tmp_path))
    made = []
    for name, own, overhead in (("x", 100, 5), ("y", 100, 6), ("z", 101, 5), ("w", None, None)):
        made.append(str(write(tmp_path / name, claims=[claim("C1", 4.0)])))
        values = {"completion_time": own, "job_floor": overhead, "completion_time_net": (own or 0) - (overhead or 0)}
        rows = [{"run_id": "a-1", "metric": metric, "value": value} for metric, value in values.items()]
        if own:
            pd.DataFrame(rows).assign(valid="true").to_csv(tmp_path / name / PAPER / "tidy" / "runs.csv", index=False)
    x, y, z, w = made
    assert refused(x, y, z).startswith(f"x and y: found the same runs in both (such as a of {PAPER})")
    assert [site.unchecked for site in open_sites([x, z, w])] == [(), (), (PAPER,)]


def test_runs_that_are_equal_in_what_all_sites_report_may_differ_in_more(tmp_path, monkeypatch):
    """The tables of an earlier version have fewer metrics."""
    monkeypatch.chdir(kept.project(tmp_path))
    measured = {"x": {"user_bytes": 5, "maps": 2, "completion_time": 100},
                "y": {"user_bytes": 5, "maps": 2, "completion_time": 101},
                "z": {"user_bytes": 6, "maps": 2}}  # fmt: skip

    def given():
        for name, values in measured.items():
            folder = write(tmp_path / name, claims=[claim("C1", 4.0)])
            rows = [{"run_id": "a-1", "metric": metric, "value": value} for metric, value in values.items()]
            pd.DataFrame(rows).assign(valid="true").to_csv(folder / PAPER / "tidy" / "runs.csv", index=False)
            yield str(folder)

    assert [site.name for site in open_sites([*given()])] == ["x", "y", "z"]
    measured["y"]["completion_time"] = 100
    assert refused(*given()).startswith(f"x and y: found the same runs in both (such as a of {PAPER})")


@pytest.mark.parametrize(
    "text, says",
    [
        ("crates: [{file: d.zip}]", 'crates[0].file: found "d.zip", expected one of a.zip, b.zip, c.zip; did you mean'),
        ("crates: [{file: a.zip}, {file: a.zip}]", 'crates[1].file: found "a.zip" a second time, expected each crate'),
        ("crates: [{file: a.zip, label: vendro}]",
         'crates[0].label: found "vendro", expected one of maintainer, community, vendor; did you mean "vendor"?'),
        ("crates: [{label: vendor}]", "crates[0].file: found nothing, expected text"),
        ("crates: [{file: a.zip, lable: vendor}]", "crates[0].lable: found an unknown key, expected one of file, "),
        ("crate: []", 'crate: found an unknown key, expected crates; did you mean "crates"?'),
        ("[", "not valid YAML"),
    ],
)  # fmt: skip
def test_a_fault_of_the_labels_is_one_line(project, text, says):
    (project / "results" / "gallery" / "gallery.yaml").write_text(f"{text}\n")
    for given in (["gallery"], ["results/gallery/a.zip", "emulated"]):
        line = refused(*given)
        assert line.startswith("results/gallery/gallery.yaml: ") and says in line


def test_what_is_no_site_is_one_line(project, tmp_path):
    assert refused("emulated") == "A: found the results of one site (results/emulated), expected two or more"
    assert refused("emulated", "gallery", "results/gallery/b.zip") == (
        "B and C: found the same crate twice (results/gallery/b.zip), expected two"
    )
    (tmp_path / "torn.zip").write_bytes(b"PK")
    assert "torn.zip: found no whole zip archive" in refused("emulated", str(tmp_path / "torn.zip"))


def test_names_are_as_long_as_they_must_be(project, tmp_path):
    places = [write(tmp_path / name / "lab", claims=[claim("C1", 4.0)]) for name in ("x", "y", "z")]
    assert [site.name for site in open_sites(list(map(str, places)))] == ["x/lab", "y/lab", "z/lab"]
    assert len(open_sites([str(write(tmp_path / f"n{n}", claims=[claim("C1", 4.0)])) for n in range(30)])) == 30
