"""The command line as a user meets it: bad input is one line, exit status 2, and nothing starts."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support import forked, quick_yaml
from whitewire import cli
from whitewire.cli import main
from whitewire.errors import Faults, UserError
from whitewire.progress import Pulse

HOME = Path(__file__).resolve().parents[2]


@pytest.fixture
def project(tmp_path):
    """A folder with its own configuration."""
    shutil.copytree(HOME / "config", tmp_path / "config")
    (tmp_path / "paper").mkdir()
    for document in (HOME / "paper").glob("*.qmd"):
        shutil.copy(document, tmp_path / "paper")
    return tmp_path


def run(folder, *argv, **environ):
    """A command, by default on the few runs of the one paper that tests here change: to plan all takes seconds."""
    program = str(Path(sys.executable).parent / "whitewire")
    return forked.run([program, *argv], folder, {**os.environ, "PAPERS": "emulex-2012", "EFFORT": "smoke", **environ})


def refused(folder, *argv, **environ) -> str:
    """The one line of a command that was refused."""
    before = sorted(str(p) for p in folder.rglob("*"))
    done = run(folder, *(argv or ("validate",)), **environ)
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("whitewire: error: ")
    assert sorted(str(p) for p in folder.rglob("*")) == before, "something was written"
    return lines[0].removeprefix("whitewire: error: ")


DESIGN = "design --paper {} --testbed emulated --effort smoke --output d.csv"


def test_shipped_configuration_is_valid(project):
    done = run(project, "validate", PAPERS="", EFFORT="")
    assert (done.returncode, done.stderr) == (0, "")
    papers = quick_yaml.load((project / "config" / "config.yaml").read_text())["papers"]
    first, *lines = done.stdout.splitlines()
    assert first.startswith("at most ") and " of measuring on " in first
    assert [line.partition(":")[0] for line in lines] == papers
    assert "emulex-2012: 42 claims: 2 of equivalence (E-C12, E-C15), 4 of direction, " in done.stdout


def test_plan_counts_runs(project):
    done = run(project, "plan", EFFORT="smoke")
    assert done.returncode == 0, done.stderr
    assert "0 done" in done.stdout


def test_unknown_key_of_the_configuration(project):
    path = project / "config" / "config.yaml"
    path.write_text(path.read_text().replace("\neffort:", "\nefort:"))
    assert refused(project).endswith(
        "config/config.yaml: efort: found an unknown key, expected one of budget, effort, "
        'lanes, outliers, papers, seed, testbed; did you mean "effort"?'
    )


def test_two_runs_with_one_id():
    from whitewire.workflow.checked_paper import check_unique

    check_unique([{"run_id": "a"}, {"run_id": "b"}], "x.yaml")
    with pytest.raises(UserError, match='x.yaml: experiments: found 2 runs with the id "a", expected one'):
        check_unique([{"run_id": "a"}, {"run_id": "b"}, {"run_id": "a"}], "x.yaml")


def test_paper_without_document(project):
    (project / "paper" / "emulex-2012.qmd").unlink()
    assert refused(project) == "paper/emulex-2012.qmd: no such file: every paper has a document"


def test_no_user_namespaces_before_anything_starts(project, tmp_path_factory):
    tools = tmp_path_factory.mktemp("tools")
    (tools / "unshare").write_text("#!/bin/sh\necho 'unshare failed: Operation not permitted' >&2\nexit 1\n")
    (tools / "unshare").chmod(0o755)
    said = refused(project, PATH=f"{tools}{os.pathsep}{os.environ['PATH']}")
    assert said.startswith("user namespaces: refused: ") and "sysctl" in said


def test_missing_design(project):
    argv = "measure --paper emulex-2012 --testbed emulated --design none.csv --block b --output x/block.json"
    assert "none.csv: no such file" in refused(project, *argv.split())


def test_design_runs_alone(project):
    done = run(project, *DESIGN.format("emulex-2012").split())
    assert done.returncode == 0, done.stderr
    assert (project / "d.csv").read_text().startswith("run_id,block,effort,order,experiment,")


def test_interrupt_is_130(monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("whitewire.install.doctor.examine_machine", interrupted)
    assert main(["doctor"]) == 130
    assert capsys.readouterr().err == "whitewire: interrupted\n"


def test_snakemake_says_the_same_line(project):
    for name in ("workflow", "profiles", "envs"):
        os.symlink(HOME / name, project / name)
    done = subprocess.run(
        [str(Path(sys.executable).parent / "snakemake"), "--dry-run"],
        cwd=project,
        env={**os.environ, "EFFORT": "quik"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    said = [line for line in done.stderr.splitlines() if not line.startswith("Using ")]
    assert len(said) == 1 and said[0].endswith('did you mean "quick"?'), said


def test_a_snakemake_without_the_set_up_says_so_in_one_line(tmp_path):
    """As it is deployed without its repository: Snakemake is there, and neither the package nor what it imports."""
    (tmp_path / "whitewire").mkdir()
    (tmp_path / "whitewire" / "__init__.py").write_text("raise ModuleNotFoundError('no', name='whitewire')")
    done = subprocess.run(
        [str(Path(sys.executable).parent / "snakemake"), "--dry-run"],
        cwd=HOME, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    said = [line for line in done.stderr.splitlines() if not line.startswith("Using ")]
    assert done.returncode == 2 and len(said) == 1, done.stderr
    assert "found no Python package whitewire, expected" in said[0] and "`make setup`" in said[0]


def test_what_the_system_refuses_is_one_line(tmp_path, monkeypatch, capsys):
    def refuse(_):
        raise PermissionError(13, "Permission denied", str(tmp_path / "x"))

    monkeypatch.setattr("whitewire.workflow.ahead.print_plan", lambda: refuse(None))
    assert main(["plan"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"whitewire: error: {tmp_path}/x: Permission denied: give yourself the right to it")
    assert said.count("\n") == 1


def raising(error):
    def fail(*_):
        raise error

    return fail


@pytest.mark.parametrize(("error", "said"), [
    (KeyError("nodes"), "KeyError: 'nodes'"), (TypeError("two\nlines  of it"), "TypeError: two lines of it"),
    (AssertionError(), "AssertionError:"), (RecursionError("deep"), "RecursionError: deep"),
])  # fmt: skip
def test_what_nothing_foresaw_is_one_line_and_its_traceback_a_file(tmp_path, monkeypatch, capsys, error, said):
    monkeypatch.delenv(cli.TRACEBACK)
    monkeypatch.setattr("whitewire.paths.FAULTS", tmp_path / "faults")
    monkeypatch.setattr("whitewire.workflow.ahead.print_plan", raising(error))
    assert main(["plan"]) == 70
    output = capsys.readouterr()
    (kept,) = (tmp_path / "faults").iterdir()
    assert (
        output.err == f"whitewire plan: unexpected {said}; this is a fault of Whitewire: the traceback is in {kept}\n"
    )
    assert output.out == ""
    lines = kept.read_text().splitlines()
    assert lines[1].startswith("Traceback") and lines[-1].startswith((error.__class__.__name__, "lines"))
    assert any("in fail" in line for line in lines)


def test_a_traceback_that_cannot_be_kept_is_shown(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.delenv(cli.TRACEBACK)
    monkeypatch.setattr("whitewire.paths.FAULTS", tmp_path / "file" / "faults")
    monkeypatch.setattr("whitewire.workflow.ahead.print_plan", raising(KeyError("nodes")))
    assert main(["plan"]) == 70
    first, *others = capsys.readouterr().err.splitlines()
    assert first.startswith("whitewire plan: unexpected KeyError: 'nodes'; this is a fault of Whitewire: the traceback")
    assert "Not a directory" in first and others[-1] == "KeyError: 'nodes'"


def test_tests_see_what_nothing_foresaw(monkeypatch):
    monkeypatch.setattr("whitewire.workflow.ahead.print_plan", raising(KeyError("nodes")))
    with pytest.raises(KeyError, match="nodes"):
        main(["plan"])


NO_CONFIGURATION = {"hibench": [], "check": ["none"]}


@pytest.mark.parametrize("name", NO_CONFIGURATION)
def test_a_command_that_is_said_to_read_no_configuration_reads_none(name, tmp_path, monkeypatch, capsys):
    assert sorted(each.__name__ for each in cli.WITHOUT_CONFIGURATION) == sorted(NO_CONFIGURATION)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("whitewire.paths.root", raising(AssertionError("it asks for the configuration")))
    monkeypatch.setattr("whitewire.install.hibench_tree.prepare_tree", raising(UserError("stopped")))
    assert main([name, *NO_CONFIGURATION[name]]) == 2
    assert "using" not in capsys.readouterr().err


@pytest.mark.parametrize("name", ["tidy-links", "trust-tables", "ending", "prepare", "of-tomorrow"])
def test_any_other_command_says_whose_configuration_it_reads(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    said = []

    def stage(_):
        said.append(capsys.readouterr().err)

    function = name.replace("-", "_")
    if hasattr(cli, function):
        assert getattr(cli, function) not in cli.WITHOUT_CONFIGURATION
    args = SimpleNamespace(function=stage, command=name)
    monkeypatch.setattr(cli, "_check_command", lambda given: None)
    monkeypatch.setattr(cli, "parser", lambda: SimpleNamespace(parse_args=lambda _: args))
    assert main([name]) == 0
    assert said == [f"whitewire: no config/config.yaml here: using {HOME}/config and {HOME}/results\n"]


@pytest.mark.parametrize("of", [UserError, lambda text: Faults([text, text])])
def test_the_text_of_an_error_has_no_control_characters(of):
    for text in ("\x1b[31mred", "\x9b31m", "a\u202eb", "\x07", "\u2028", "\x7f", "\ud800"):
        for line in (str(of(text)), *of(text).lines):
            assert line.isprintable() and "\\" in line
    assert str(of("a\r\n\tb  c")).startswith("a b c")


def test_whatever_a_command_prints_changes_no_terminal(monkeypatch, capsys):
    def prints(args):
        print("\x1b[2Jtable\tcell")
        Pulse("quick-1\x07").say("run 1: \u202ex")

    monkeypatch.setattr("whitewire.cli.plan", prints)
    prints.__name__ = "plan"
    assert main(["plan"]) == 0
    out, err = capsys.readouterr()
    assert out == "\\x1b[2Jtable\tcell\n" and err.endswith("quick-1\\x07: run 1: \\u202ex\n")


def test_help_lists_every_command_in_its_group():
    actions = cli.parser()._actions
    (commands,) = (action.choices for action in actions if isinstance(action.choices, dict))
    assert {cli._name(each) for functions in cli._GROUPS.values() for each in functions} == set(commands)
    said = cli.parser().format_help()
    assert "\neveryday:\n  validate      Check every file of a run and this machine" in said
    assert "\n  design        Write the design.csv of a paper\n" in said


def test_a_wrong_command_names_the_nearest(project):
    assert refused(project, "repot") == (
        'command: found "repot", expected one that `whitewire --help` lists; did you mean "report"?'
    )
