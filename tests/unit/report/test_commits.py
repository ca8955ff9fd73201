"""What git knows of commits."""

import subprocess

import pytest

from whitewire.report import commits


@pytest.fixture
def history(tmp_path, monkeypatch):
    """A repository with three commits, of which the second changed the folder `kept`; (its folder, the commits)."""

    def git(*argv: str, moment: int = 0) -> str:
        dated = {"GIT_AUTHOR_DATE": f"@{moment} +0000", "GIT_COMMITTER_DATE": f"@{moment} +0000"}
        named = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a"}
        environment = {"PATH": "/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(tmp_path)} | dated | named
        done = subprocess.run(["git", *argv], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    git("init", "--quiet")
    (tmp_path / "kept").mkdir()
    made = []
    for number, name in enumerate(("a", "kept/b", "c"), start=1):
        (tmp_path / name).write_text(name)
        git("add", name)
        git("commit", "--quiet", "--message", name, moment=1_700_000_000 + number)
        made.append(git("rev-parse", "HEAD"))
    monkeypatch.setattr(commits, "HOME", tmp_path)
    return tmp_path, made


def test_the_commit_that_holds_a_folder_as_it_is(history):
    folder, made = history
    assert commits.holding(folder / "kept") == made[1]
    (folder / "kept" / "b").write_text("changed")
    assert commits.holding(folder / "kept") == ""
    assert commits.holding(folder / "none") == ""


def test_no_commit_holds_what_is_in_no_repository(tmp_path):
    assert commits.holding(tmp_path) == ""


def test_when_a_commit_was_made_and_which_came_first(history):
    _, made = history
    assert [commits.commit_time(each) for each in made] == [1_700_000_001, 1_700_000_002, 1_700_000_003]
    assert commits.commit_time(made[1][:12]) == 1_700_000_002
    assert commits.precedes(made[0], made[2]) and commits.precedes(made[1], made[1])
    assert not commits.precedes(made[2], made[0])


@pytest.mark.parametrize("commit", ["unknown", "", "0" * 40, "--output=x", "HEAD"])
def test_what_is_no_commit_here(history, commit):
    folder, made = history
    assert commits.commit_time(commit) is None
    assert not commits.precedes(commit, made[2]) and not commits.precedes(made[0], commit)
    assert not (folder / "x").exists()
