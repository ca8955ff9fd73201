"""A command ends with the workflow that started it, though nothing passes a signal on."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.conftest import descendants, still_alive
from whitewire.errors import UserError
from whitewire.workflow import parent_watch
from whitewire.workflow.parent_watch import PARENT_VARIABLE
from whitewire.workflow.plan import Plan
from whitewire.workflow.preamble import preamble

HOME = Path(__file__).resolve().parents[3]
GUARD = HOME / "workflow" / "scripts" / "guard"

WORKFLOW = """
import sys, time
from pathlib import Path
from whitewire.workflow import parent_watch
print(parent_watch.hold(Path(sys.argv[1])), flush=True)
time.sleep(60)
"""
COMMAND = """
import time
from whitewire.workflow import parent_watch
parent_watch.follow()
print("begun", flush=True)
time.sleep(60)
"""


def python(code: str, *argv: str, **environ: str) -> subprocess.Popen:
    """In a session of its own: what ends here is ended by nothing but the lock."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *argv], stdout=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, **environ},
    )  # fmt: skip


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_command_ends_with_the_workflow(tmp_path, number):
    workflow = python(WORKFLOW, str(tmp_path))
    path = workflow.stdout.readline().strip()
    command = python(COMMAND, **{PARENT_VARIABLE: path})
    try:
        assert command.stdout.readline() == "begun\n"
        time.sleep(0.3)
        assert command.poll() is None
        workflow.send_signal(number)
        assert command.wait(timeout=5) == -signal.SIGKILL
    finally:
        for process in (workflow, command):
            process.kill()
            process.wait()


def test_files_of_ended_workflows_go_and_those_of_others_stay(tmp_path):
    ended, going = python(WORKFLOW, str(tmp_path)), python(WORKFLOW, str(tmp_path))
    try:
        old, other = (Path(process.stdout.readline().strip()) for process in (ended, going))
        ended.kill()
        ended.wait()
        own = python(WORKFLOW, str(tmp_path))
        try:
            mine = Path(own.stdout.readline().strip())
            assert set(tmp_path.iterdir()) == {other, mine} and old not in {other, mine}
        finally:
            own.kill()
            own.wait()
    finally:
        going.kill()
        going.wait()


def test_a_command_without_a_workflow_goes_on_and_one_whose_workflow_is_gone_does_not(tmp_path, monkeypatch):
    threads = threading.active_count()
    monkeypatch.delenv(PARENT_VARIABLE, raising=False)
    parent_watch.follow()
    assert threading.active_count() == threads
    monkeypatch.setenv(PARENT_VARIABLE, str(tmp_path / "gone"))
    with pytest.raises(UserError, match="gone: the workflow that started this command has ended"):
        parent_watch.follow()


def test_one_process_holds_one_lock(tmp_path):
    path = parent_watch.hold(tmp_path)
    assert parent_watch.hold(tmp_path) == path and list(tmp_path.iterdir()) == [path]


def test_a_file_of_another_machine_stays(tmp_path):
    (tmp_path / "node7-123").touch()
    assert parent_watch.hold(tmp_path) != tmp_path / "node7-123"
    assert (tmp_path / "node7-123").exists()


def test_a_file_system_without_locks_gives_no_parent_watch(tmp_path, monkeypatch):
    def refused(*_):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(parent_watch.fcntl, "flock", refused)
    assert parent_watch.hold(tmp_path / "new") is None


def test_a_rules_command_names_the_file_and_quotes_it(tmp_path):
    path = parent_watch.hold(tmp_path / "it's here")
    plan = Plan(["a"], "emulated", "smoke", 1, {}, watch=path)
    command = f"{preamble(plan)}; printenv {PARENT_VARIABLE}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout == f"{path}\n"
    assert PARENT_VARIABLE not in preamble(Plan(["a"], "emulated", "smoke", 1, {}))


FAMILY = (
    "printf 'odd name of 1\\303' > /proc/self/comm; setsid sleep 61 &"
    " (sleep 62 & exec setsid sh -c 'sleep 63; true') & wait"
)
"""Grandchildren in sessions of their own, one of them without a parent."""
PARENT = """
import subprocess, sys
guard = subprocess.Popen(sys.argv[1:])
print(guard.pid, flush=True)
guard.wait()
"""


@pytest.mark.parametrize("how", ["parent killed", "its group killed", "told to stop"])
def test_the_guard_ends_all_that_its_command_started(how):
    parent = python(PARENT, "setpriv", "--pdeathsig", "TERM", sys.executable, str(GUARD), "sh", "-c", FAMILY)
    try:
        guard = int(parent.stdout.readline())
        deadline = time.monotonic() + 10
        while len(started := descendants(guard)) < 5 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(started) >= 5
        if how == "parent killed":
            parent.kill()
        elif how == "its group killed":
            os.killpg(parent.pid, signal.SIGKILL)
        else:
            os.kill(guard, signal.SIGTERM)
        assert still_alive(started | {guard}) == set()
    finally:
        parent.kill()
        parent.wait()


def test_the_guard_passes_on_the_exit_status():
    def status(*argv: str) -> subprocess.CompletedProcess:
        return subprocess.run([str(GUARD), *argv], capture_output=True, text=True, timeout=20)

    assert status("sh", "-c", "exit 3").returncode == 3
    assert status("sh", "-c", "kill -TERM $$").returncode == 128 + signal.SIGTERM
    assert "nonesuch: No such file" in status("nonesuch").stderr
    assert status().returncode == 1


def test_the_guard_outlives_the_hangup_of_a_terminal_below_nohup():
    argv = ["nohup", str(GUARD), "sh", "-c", "kill -HUP $PPID; sleep 0.2; exit 3"]
    assert subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=20).returncode == 3
