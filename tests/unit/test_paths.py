"""Whose configuration is used, and links that lead nowhere."""

import os

import pytest

from whitewire import cli, paths
from whitewire.description import project
from whitewire.errors import UserError


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_current_folder_s_configuration_comes_first(here):
    (here / "config").mkdir()
    (here / "config" / "config.yaml").write_text("")
    assert paths.root() == here and paths.elsewhere() == ""


def test_that_of_the_repository_is_said(here, capsys):
    (here / "config").mkdir()  # some other program's
    assert paths.root() == paths.HOME
    assert cli.main(["design", "--paper", "none", "--testbed", "emulated", "--effort", "quick", "--output", "d"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"whitewire: no config/config.yaml here: using {paths.HOME}/config and {paths.HOME}/results"
    assert second.startswith("whitewire: error: paper: found")


@pytest.mark.parametrize("name", ["papers", "testbeds"])
def test_a_configuration_without_its_main_file_is_not_passed_over(here, name, capsys):
    (here / "config" / name).mkdir(parents=True)
    with pytest.raises(UserError, match="config/config.yaml: no such file, expected one beside"):
        paths.root()
    assert cli.main(["plan"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("whitewire: error: config/config.yaml")


@pytest.mark.parametrize("link", ["config", "config/config.yaml", "config/papers/a.yaml"])
def test_a_link_that_leads_back_to_itself_is_one_line(here, link, monkeypatch):
    path = here / link
    path.parent.mkdir(parents=True, exist_ok=True)
    if link.count("/") == 2:
        (here / "config" / "config.yaml").write_text((paths.HOME / "config" / "config.yaml").read_text())
        os.symlink(paths.HOME / "config" / "testbeds", here / "config" / "testbeds")
        monkeypatch.setenv("PAPERS", "a")
    path.symlink_to(path.name)
    with pytest.raises(UserError, match="leads nowhere|Too many levels of symbolic links") as error:
        project.load_config()
        project.load_yaml(project.paper_path("a"))
    assert link in str(error.value)
    assert paths.shown(path) == str(path)


@pytest.mark.parametrize("value", ["../../x", "/etc", "x/../y"])
def test_a_variable_keeps_its_name(value):
    with pytest.raises(UserError, match=r"^EFFORT=") as error:
        project.load_config({"EFFORT": value})
    assert str(error.value).startswith(f"EFFORT={value}: effort: found")
