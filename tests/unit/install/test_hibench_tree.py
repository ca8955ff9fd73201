"""A private copy of HiBench: what it may come from, what is changed in it, and what keeps it from being made."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from whitewire import cli
from whitewire.description import testbed as config
from whitewire.design import rows
from whitewire.errors import UserError
from whitewire.install import hibench_tree
from whitewire.testbed.emulated import software
from whitewire.workloads import hibench_copy
from whitewire.workloads.hibench_copy import tree_description

OLD = """#!/usr/bin/env python2
import os, sys
values = {"A": "1"}
if values.has_key("A"):
    print "%s" % os.path.join("x", sys.argv[1])
"""
FILES = {
    "pom.xml": "<artifactId>hibench</artifactId><version>9.9</version>",
    "conf/hibench.conf": "hibench.hibench.datatool.dir ${hibench.home}/autogen/target/tools.jar\n",
    "bin/functions/load_config.py": OLD,
    "bin/functions/new.py": "#!/usr/bin/env python3\nprint('x')\n",
    "bin/functions/test_load_config.py": OLD,
    "bin/workloads/micro/sort/hadoop/run.sh": "#!/bin/bash\n",
    f"{hibench_tree.LIBRARY}/Tool.java": "package org.apache.hadoop.fs.dfsioe;\npublic class Tool { }\n",
    "sparkbench/large": "x",
    ".git/config": "x",
    "autogen/target/old.jar": "x",
}


@pytest.fixture
def source(tmp_path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "HiBench" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "HiBench"


def archived(source: Path, path: Path) -> Path:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for file in sorted(source.rglob("*")):
                archive.write(file, f"HiBench-1/{file.relative_to(source)}")
    else:
        with tarfile.open(path, "w:gz") as archive:
            archive.add(source, "HiBench-1")
    return path


@pytest.mark.parametrize("kind", ["folder", "a.tar.gz", "a.zip"])
def test_a_tree_is_the_same_whatever_it_comes_from(source, tmp_path, kind):
    given = source if kind == "folder" else archived(source, tmp_path / kind)
    hibench_tree.bring(str(given), tmp_path / "made" / "tree")
    made = tmp_path / "made" / "tree"
    left_out = ("sparkbench/", ".git/", "autogen/target/")
    assert {str(path.relative_to(made)) for path in made.rglob("*") if path.is_file()} == {
        name for name in FILES if not name.startswith(left_out)
    }
    assert os.access(made / "bin/workloads/micro/sort/hadoop/run.sh", os.X_OK)
    assert hibench_copy.digest_of(made) == hibench_copy.digest_of(source)


def test_the_digest_is_of_paths_and_contents(source):
    before = hibench_copy.digest_of(source)
    (source / "README.md").write_text("no part of what runs use")
    assert hibench_copy.digest_of(source) == before
    (source / "conf/hibench.conf").write_text("x")
    changed = hibench_copy.digest_of(source)
    (source / "conf/hibench.conf").rename(source / "conf/other.conf")
    assert len({before, changed, hibench_copy.digest_of(source)}) == 3


def member(archive: tarfile.TarFile, name: str, content: bytes = b"x", **how) -> None:
    info = tarfile.TarInfo(name)
    info.size = 0 if how else len(content)
    for key, value in how.items():
        setattr(info, key, value)
    archive.addfile(info, io.BytesIO(content))


def test_nothing_of_an_archive_is_written_elsewhere(source, tmp_path):
    path = archived(source, tmp_path / "a.tar.gz")
    with tarfile.open(tmp_path / "evil.tar", "w") as evil, tarfile.open(path) as good:
        for one in good:
            evil.addfile(one, good.extractfile(one) if one.isfile() else None)
        member(evil, "HiBench-1/../../../elsewhere")
        member(evil, "/etc/elsewhere")
        member(evil, "HiBench-1/link", type=tarfile.SYMTYPE, linkname="/etc/passwd")
    made = tmp_path / "made" / "tree"
    hibench_tree.bring(str(tmp_path / "evil.tar"), made)
    assert hibench_copy.digest_of(made) == hibench_copy.digest_of(source)
    assert not list(tmp_path.rglob("elsewhere")) and not (made / "link").exists()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("nothing", "no such folder or archive"),
        ("text", "neither a tar nor a zip archive"),
        ("empty", "found no bin/workloads"),
        ("cut.tar.gz", "get it again"),
        ("http://127.0.0.1:9/x.tar.gz", "without a network give a folder or an archive"),
    ],
)
def test_what_is_no_tree_is_reported_in_one_line(source, tmp_path, given, says, monkeypatch, capsys):
    (tmp_path / "text").write_text("x")
    (tmp_path / "empty").mkdir()
    whole = archived(source, tmp_path / "whole.tar.gz").read_bytes()
    (tmp_path / "cut.tar.gz").write_bytes(whole[: len(whole) // 2])
    monkeypatch.setattr(hibench_tree.prepare_tree, "__defaults__", (tmp_path / "hibench",))
    assert cli.main(["hibench", given if ":" in given else str(tmp_path / given)]) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("whitewire: error: ")]
    assert says in line
    assert not list(tmp_path.glob("hibench*"))


def test_scripts_for_python_2_are_made_python_3(source):
    before = hibench_tree.to_python_3(source)
    assert before == {"load_config.py": OLD}
    path = source / "bin/functions/load_config.py"
    assert path.read_text().startswith("#!/usr/bin/env python3\n")
    assert subprocess.run([sys.executable, path, "y"], capture_output=True, text=True).stdout == "x/y\n"
    assert hibench_tree.to_python_3(source) == {}, "what is Python 3 stays as it is"


def test_a_script_that_cannot_be_read_is_reported(source):
    (source / "bin/functions/load_config.py").write_text("#!/usr/bin/env python2\nprint 'x\n")
    with pytest.raises(UserError, match="load_config.py: cannot be converted to Python 3"):
        hibench_tree.to_python_3(source)


def test_what_builds_for_this_hadoop_is_built_and_the_rest_is_said(source):
    conf = {"hibench.hibench.datatool.dir": "${hibench.home}/autogen/target/tools.jar"}
    assert hibench_tree.build(source, conf, software.HADOOP) == (["dfsioe"], {})
    with zipfile.ZipFile(source / "autogen/target/tools.jar") as jar:
        assert jar.namelist() == ["org/apache/hadoop/fs/dfsioe/Tool.class"]
    old = source / hibench_tree.LIBRARY / "Old.java"
    old.write_text("class Old { Object o = org.apache.hadoop.fs.FileUtil.copyMerge(); }\n")
    built, why = hibench_tree.build(source, conf, software.HADOOP)
    assert built == [] and "Old.java:1: error: cannot find symbol" in why["dfsioe"]
    assert hibench_tree.build(source, {}, software.HADOOP)[0] == []


@pytest.fixture
def simple(source, monkeypatch):
    """A tree whose load_config.py no micro program asks."""
    monkeypatch.setattr(hibench_tree.hibench, "MICRO", ())
    return source


def test_a_copy_says_what_it_is_and_replaces_the_one_before(simple, tmp_path):
    folder = tmp_path / "made" / "hibench"
    assert hibench_copy.prepared(folder) is None
    first = hibench_tree.prepare_tree(str(simple), software.HADOOP, folder)
    assert hibench_copy.prepared(folder) == first
    assert (first.commit, first.release, first.built) == ("", "9.9", ["dfsioe"])
    assert first.values.startswith(("not compared", "the same as under"))
    assert hibench_copy.identity(str(folder / "tree")) == tuple(first.identity)
    described = tree_description(str(folder / "tree"))
    assert (described["release"], described["tree"]) == ("9.9", first.tree)
    assert tree_description(str(simple)) == {"home": str(simple), "tree": first.tree}
    (simple / "conf/hibench.conf").write_text("hibench.x 1\n")
    second = hibench_tree.prepare_tree(str(simple), software.HADOOP, folder)
    assert second.tree != first.tree and second.built == []
    assert [path.name for path in folder.parent.iterdir()] == ["hibench"]


def test_a_copy_that_fails_leaves_the_one_before(simple, tmp_path):
    folder = tmp_path / "made" / "hibench"
    first = hibench_tree.prepare_tree(str(simple), software.HADOOP, folder)
    (simple / "bin/functions/load_config.py").write_text("#!/usr/bin/env python2\nprint 'x\n")
    with pytest.raises(UserError):
        hibench_tree.prepare_tree(str(simple), software.HADOOP, folder)
    assert hibench_copy.prepared(folder) == first
    assert [path.name for path in folder.parent.iterdir()] == ["hibench"]


class Killed(BaseException):
    """The process ends here."""


def test_a_copy_whose_replacement_was_killed_halfway_comes_back(simple, tmp_path, monkeypatch):
    folder, rename = tmp_path / "made" / "hibench", Path.rename
    first, steps = hibench_tree.prepare_tree(str(simple), software.HADOOP, folder), []

    def killed(self, target):
        steps.append(target)
        if len(steps) == 2:
            raise Killed
        return rename(self, target)

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(Path, "rename", killed)
        hibench_tree.prepare_tree(str(simple), software.HADOOP, folder)
    with pytest.raises(UserError, match="no such folder or archive"):
        hibench_tree.prepare_tree(str(tmp_path / "nothing"), software.HADOOP, folder)
    assert hibench_copy.prepared(folder) == first


def test_what_is_larger_than_any_tree_is_not_taken_whole(source, tmp_path, monkeypatch):
    (source / "conf" / "large").write_text("x" * 501)
    archive, read = archived(source, tmp_path / "a.tar.gz"), []

    class Answer(io.BytesIO):
        def read(self, size):
            read.append(size)
            return b"x" * size

    monkeypatch.setattr(hibench_tree, "_MOST_BYTES", 500)
    monkeypatch.setattr(hibench_tree, "_PIECE", 250)
    monkeypatch.setattr(hibench_tree.urllib.request, "urlopen", lambda *_, **__: Answer())
    for given in ("http://lab/hibench.tar", str(archive)):
        with pytest.raises(UserError, match=r"^HIBENCH: .*: found more than 0 MB, expected HiBench's tree$"):
            hibench_tree.bring(given, tmp_path / "tree")
    assert read == [250] * 3


def test_a_damaged_description_is_reported(tmp_path):
    for text in ("", "[]", '{"commit": 1}'):
        (tmp_path / "prepared.json").write_text(text)
        with pytest.raises(UserError, match=r"prepared\.json: found no description .*make hibench"):
            hibench_copy.prepared(tmp_path)


def test_the_pinned_commit_comes_whole_or_not_at_all(simple, tmp_path, monkeypatch):
    archive = archived(simple, tmp_path / "a.tar.gz")
    monkeypatch.setattr(hibench_tree, "SOURCE", str(archive))
    with pytest.raises(UserError, match=r"found a tree of digest [0-9a-f]{16}, expected that of commit 53ac935f7a6f"):
        hibench_tree.prepare_tree("", software.HADOOP, tmp_path / "made" / "hibench")


def test_another_tree_makes_other_runs(simple, tmp_path):
    testbed = config.load_testbed("emulated")
    from tests.unit.measure.test_hibench_runs import paper_with

    def ids(home: Path | str | None) -> set[str]:
        own = {name: value for name, value in testbed.items() if name != "hibench"}
        own |= {"hibench": {"home": str(home)}} if home else {}
        return {row["run_id"] for row in rows.make_design(paper_with(), own, "smoke", 1)}

    hibench_copy.identity.cache_clear()
    first = ids(simple)
    assert first and first == ids(simple)
    (simple / "conf/hibench.conf").write_text("hibench.x 1\n")
    hibench_copy.identity.cache_clear()
    found = [first, ids(simple), ids(None), ids("/opt/not-here")]
    assert len({run for one in found for run in one}) == sum(map(len, found))


def test_the_prepared_copy_is_what_an_emulated_testbed_uses(simple, tmp_path, monkeypatch):
    monkeypatch.setattr(config, "HIBENCH", tmp_path / "hibench")
    assert "hibench" not in config.load_testbed("emulated")
    hibench_tree.prepare_tree(str(simple), software.HADOOP, tmp_path / "hibench")
    assert config.load_testbed("emulated")["hibench"] == {"home": str(tmp_path / "hibench" / "tree")}
    assert json.loads((tmp_path / "hibench" / "prepared.json").read_text())["source"] == str(simple)
