"""What writes into one repository at once: real processes, in a copy of it."""

import contextlib
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.repository import environment, repository
from whitewire import cli
from whitewire.paths import HOME

REFUSED = re.compile(
    r"(?:whitewire|setup): error: another run is under way in this repository: `(?P<command>[^`]+)` "
    r"\(process (?P<pid>\d+) on \S+, since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\); wait for it or stop it\n"
)
ARGUMENTS = {
    "design": "--paper emulex-2012 --testbed emulated --effort smoke --output d.csv",
    "measure": "--paper emulex-2012 --testbed emulated --design d.csv --block b --output b.json",
    "links": "--testbed emulated",
    "tidy-links": "--results results/emulated",
    "trust": "--testbed emulated",
    "trust-tables": "--results results/emulated",
    "calibration": "--results results/emulated",
    "tidy": "--paper emulex-2012 --results results/emulated",
    "analyse": "--paper emulex-2012 --testbed emulated --results results/emulated",
    "render": "--results results/emulated",
    "compare": "a b",
}
"""Of subcommands that need some."""


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    return repository(tmp_path_factory.mktemp("alone") / "white wire")


def run(home: Path, *argv: str, **environ: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        argv, cwd=home, env=environment(**environ), capture_output=True, text=True, timeout=100, check=False
    )


@contextlib.contextmanager
def going(home: Path, *argv: str):
    """A command that has begun, which it says by a line; it is ended with the block."""
    process = subprocess.Popen(argv, cwd=home, env=environment(), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "begun\n"
        yield process
    finally:
        process.terminate()
        process.wait(timeout=20)


@pytest.fixture(scope="module")
def holder(home):
    with going(home, "scripts/exclusive", "sh", "-c", 'touch "$TMPDIR/mine"; echo begun; exec sleep 600') as process:
        yield process


def is_refused(done: subprocess.CompletedProcess, holder: subprocess.Popen) -> bool:
    match = REFUSED.fullmatch(done.stderr)
    assert match, done.stderr
    return (done.returncode, done.stdout, int(match["pid"]), match["command"][:5]) == (2, "", holder.pid, "sh -c")


@pytest.mark.parametrize("command", [each.__name__.replace("_", "-") for each in cli.WRITERS])
def test_what_writes_is_refused_in_one_line_while_another_command_does(home, holder, command):
    assert is_refused(run(home, ".venv/bin/whitewire", command, *ARGUMENTS.get(command, "").split()), holder)
    assert (home / "whitewire-tmp" / "mine").exists()


@pytest.mark.parametrize("environ", [{}, {"CDPATH": ".:/tmp"}, {"CDPATH": "..:/"}], ids=str)
def test_a_script_is_refused_likewise(home, holder, environ):
    assert is_refused(run(home, "scripts/exclusive", "echo", "ran", **environ), holder)
    assert is_refused(run(home.parent, f"{home.name}/scripts/exclusive", "echo", "ran", **environ), holder)
    assert [each.name for each in home.parent.iterdir()] == [home.name]


def test_clean_removes_nothing_while_a_run_is_under_way(home, holder):
    (home / ".cache").mkdir(exist_ok=True)
    done = run(home, "make", "--silent", "clean")
    assert done.stderr.count("\n") == 2 and REFUSED.match(done.stderr), done.stderr  # make adds its own
    assert (home / ".cache").is_dir() and (home / "whitewire-tmp" / "mine").exists()


def test_what_only_reads_is_not_kept_from_it(home, holder):
    done = run(home, ".venv/bin/whitewire", "design", "--help")
    assert done.returncode == 0 and not done.stderr
    done = run(home, ".venv/bin/whitewire", "check", "results")
    assert "under way" not in done.stderr


STEP = """
home=$PWD
. scripts/steps
prepare_folder .cache
done_already "$1" "$1" || echo begun
[ -z "${2:-}" ] || exec sleep "$2"
"""


def test_a_set_up_with_nothing_to_do_is_no_second_run(home, holder):
    assert is_refused(run(home, "sh", "-euc", STEP, "scripts/setup", "new"), holder)
    (home / ".cache" / "stamps" / "old").write_text("old\n")
    done = run(home, "sh", "-euc", STEP, "scripts/setup", "old")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.fixture
def free(tmp_path):
    return repository(tmp_path / "wire")


def test_a_run_is_refused_while_a_set_up_works(free):
    with going(free, "sh", "-euc", STEP, "scripts/setup", "new", "600") as process:
        assert run(free, "sh", "-euc", STEP, "scripts/setup", "new").stdout == "begun\n"  # its lock is another one
        done = run(free, "scripts/exclusive", "echo", "ran")
        assert (done.returncode, done.stdout) == (2, "") and REFUSED.fullmatch(done.stderr)[
            "command"
        ] == "scripts/setup"
        assert process.poll() is None
    assert run(free, "scripts/exclusive", "echo", "ran").stdout == "ran\n"


NO_NOHUP = ("env", "--default-signal=HUP")
"""Starts a command that a hangup ends, also where these tests run below nohup."""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR2])
def test_after_a_holder_that_was_ended_the_next_one_starts(free, number):
    script = 'touch "$TMPDIR/left"; echo begun; exec sleep 600'
    with going(free, *NO_NOHUP, "scripts/exclusive", "sh", "-c", script) as process:
        process.send_signal(number)
        assert process.wait(timeout=20) in (-number, 128 + number)
        assert (free / "whitewire-tmp" / "left").exists() == (number == signal.SIGKILL)
        deadline = time.monotonic() + 20
        while (
            done := run(free, "scripts/exclusive", "sh", "-c", 'ls "$TMPDIR"')
        ).returncode and time.monotonic() < deadline:
            time.sleep(0.1)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (free / "whitewire-tmp").exists()


def test_a_holder_outlives_the_hangup_of_a_terminal_below_nohup(free):
    script = "echo begun; read -r _; echo went on"
    argv = ["nohup", "scripts/exclusive", "sh", "-c", script]
    with subprocess.Popen(argv, cwd=free, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:  # fmt: skip
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGHUP)
        assert process.communicate("\n", timeout=20)[0] == "went on\n"
    assert process.returncode == 0


def test_what_a_holder_starts_needs_no_lock(free):
    done = run(free, "scripts/exclusive", ".venv/bin/whitewire", "crate", "results/none")
    assert done.returncode == 2 and "none" in done.stderr and "under way" not in done.stderr


def test_of_two_that_begin_at_once_one_goes_on(free):
    """The one that goes on waits for the end of its input, until the other has ended."""
    script = "scripts/exclusive", "sh", "-c", "echo ran; cat"
    options = {"cwd": free, "env": environment(), "text": True}
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    both = [subprocess.Popen(script, **options, **pipes) for _ in range(2)]
    deadline = time.monotonic() + 60
    while all(each.poll() is None for each in both) and time.monotonic() < deadline:
        time.sleep(0.05)
    said = sorted((*each.communicate(timeout=60), each.returncode) for each in both)
    assert said[1] == ("ran\n", "", 0) and said[0][2] == 2 and REFUSED.fullmatch(said[0][1])


def test_clean_leaves_no_second_lock(free):
    run(free, "scripts/exclusive", "true")
    lock = free / "results" / ".lock"
    before = lock.stat().st_ino
    assert run(free, "make", "clean").returncode == 0
    assert lock.stat().st_ino == before and not (free / ".venv").exists() and not (free / "whitewire-tmp").exists()


def test_a_second_start_of_snakemake_by_hand_is_refused(free):
    """Rules of one start write at once; a second start is refused before its first rule."""
    snakemake = [str(Path(sys.executable).parent / "snakemake"), "results/emulated/emulex-2012/design.csv"]
    (free / "paper").symlink_to(HOME / "paper")
    environ = {"PAPERS": "emulex-2012", "TESTBED": "emulated", "EFFORT": "smoke", "PYTHONPATH": str(free / "src")}
    with going(free, "scripts/exclusive", "sh", "-c", "echo begun; exec sleep 600"):
        done = run(free, *snakemake, **environ)
        refused = [line for line in done.stderr.splitlines(keepends=True) if "error" in line]
        assert done.returncode == 2 and len(refused) == 1 and REFUSED.fullmatch(refused[0]), done.stderr
        assert "Traceback" not in done.stderr
        assert run(free, *snakemake, "--dry-run", **environ).returncode == 0
    done = run(free, *snakemake, **environ)
    assert done.returncode == 0, done.stderr
    assert not (free / "whitewire-tmp").exists()
