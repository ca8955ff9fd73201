"""Files and folders that are there whole or not at all, on disks that are full, limited or read-only."""

import contextlib
import errno
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from whitewire import atomic
from whitewire.errors import REMEDIES, of_system
from whitewire.paths import HOME
from whitewire.records.journal import Journal
from whitewire.records.manifest import manifest_faults
from whitewire.records.reasons import Reason


def test_a_file_is_replaced_in_one_step(tmp_path):
    path = tmp_path / "design.csv"
    atomic.write(path, "old\n")
    assert atomic.write(path, "new µ\n").read_bytes() == "new µ\n".encode()
    assert [each.name for each in tmp_path.iterdir()] == ["design.csv"]


def test_a_file_that_is_written_piece_by_piece_is_there_whole_or_as_it_was(tmp_path):
    path = tmp_path / "a.zip"
    path.write_text("old")
    with atomic.file(path) as part:
        part.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    with pytest.raises(ValueError), atomic.file(path) as part:
        part.write_text("half")
        raise ValueError
    assert path.read_text() == "new" and [each.name for each in tmp_path.iterdir()] == ["a.zip"]


def test_of_two_writers_of_one_file_the_second_waits(tmp_path):
    """The start page is made by hand and by `make papers` at once."""
    path = tmp_path / "index.html"
    with ThreadPoolExecutor() as pool:
        with atomic.file(path) as part:
            second = pool.submit(atomic.write, path, "second")
            time.sleep(0.1)
            part.write_text("first")
        assert second.result(timeout=10).read_text() == "second"
        done = [pool.submit(atomic.write, path, f"{number}" * 10_000) for number in range(8)]
        assert all(each.result(timeout=10) for each in done)
    assert len(path.read_text()) == 10_000 and len(set(path.read_text())) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["index.html"]


def test_of_two_writers_of_one_folder_the_second_waits(tmp_path):
    """Two reports of one name at once; one of them fails, which is no other's fault."""
    target = tmp_path / "reference"

    def fill(number: int) -> None:
        with atomic.folder(target) as part:
            (part / "a").write_text(f"{number}")
            time.sleep(0.01)
            (part / "b").write_text(f"{number}")
            if number == 5:
                raise ValueError

    with ThreadPoolExecutor() as pool:
        with atomic.folder(target) as part:
            done = [pool.submit(fill, number) for number in range(8)]
            time.sleep(0.1)
            assert not any(each.done() for each in done)
            (part / "first").touch()
        assert [type(each.exception(timeout=20)) for each in done] == [
            ValueError if n == 5 else type(None) for n in range(8)
        ]
    assert (target / "a").read_text() == (target / "b").read_text() and len(list(target.iterdir())) == 2
    assert [each.name for each in tmp_path.iterdir()] == ["reference"]


def limited(code, path):
    """What a process that may write no file of more than 100 kB says."""
    return subprocess.run(
        [sys.executable, "-c", code, path], cwd=HOME, capture_output=True, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
    )  # fmt: skip


def test_a_write_that_fails_leaves_the_old_file_and_names_it(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("old\n")
    code = "import sys; from whitewire import atomic; atomic.write(sys.argv[1], 'a,b\\n' * 100_000)"
    done = limited(code, path)
    assert f"OSError: [Errno {errno.EFBIG}] File too large: '{path}'" in done.stderr
    assert path.read_text() == "old\n" and len(list(tmp_path.iterdir())) == 1


def test_a_folder_is_whole_or_not_there(tmp_path):
    target = tmp_path / "runs" / "a"
    with pytest.raises(ZeroDivisionError), atomic.folder(target) as part:
        (part / "samples.csv").write_text("x")
        raise ZeroDivisionError
    assert list((tmp_path / "runs").iterdir()) == []
    for content in ("old", "new"):
        with atomic.folder(target) as part:
            (part / "below").mkdir()
            (part / "below" / "samples.csv").write_text(content)
            assert content == "old" or (target / "below" / "samples.csv").read_text() == "old"
    assert (target / "below" / "samples.csv").read_text() == "new"
    assert [each.name for each in (tmp_path / "runs").iterdir()] == ["a"]


def test_what_a_killed_writer_left_does_not_matter(tmp_path):
    (tmp_path / ".part-a").mkdir()
    (tmp_path / ".part-a" / "half").write_text("x")
    with atomic.folder(tmp_path / "a") as part:
        assert list(part.iterdir()) == []
    (tmp_path / ".part-b").write_text("half")
    assert atomic.write(tmp_path / "b", "whole").read_text() == "whole"


class Killed(BaseException):
    """The process ends here."""


def kill_at(monkeypatch, number, act):
    """Do `act`, and end at its n-th step on files and folders, whichever; whether it came to its end before."""
    left = [number]

    def counted(step):
        def once(*given, **named):
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            return step(*given, **named)

        return once

    with monkeypatch.context() as patched:
        for of, name in ((Path, "rename"), (Path, "unlink"), (os, "rmdir"), (os, "unlink"), (os, "replace")):
            patched.setattr(of, name, counted(getattr(of, name)))
        patched.setattr(atomic, "_cleared", lambda *_: contextlib.nullcontext())  # a kill clears nothing
        try:
            act()
        except Killed:
            return False
    return True


def replace(target, content):
    with atomic.folder(target) as part:
        (part / "a").write_text(content)
        (part / "b").write_text(content)


def test_a_writer_that_is_ended_while_it_waits_takes_nothing_from_the_one_before(tmp_path):
    path = tmp_path / "index.html"
    program = "import signal, sys; from whitewire import atomic\n"
    program += "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
    program += "print('waits', flush=True); atomic.write(sys.argv[1], 'second')"
    with atomic.file(path) as part:
        part.write_text("first")
        with subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE) as second:
            assert second.stdout.readline() == b"waits\n"
            time.sleep(0.5)
            second.terminate()
            assert second.wait(10) == 7
    assert path.read_text() == "first"


def test_a_folder_that_is_replaced_is_the_old_or_the_new_one_wherever_the_writer_is_killed(tmp_path, monkeypatch):
    ends = []
    for number in range(50):
        target = tmp_path / str(number) / "figures"
        replace(target, "old")
        ended = kill_at(monkeypatch, number, partial(replace, target, "new"))
        atomic.clear(target.parent)
        assert [path.name for path in target.parent.iterdir()] == ["figures"]
        found = {path.read_text() for path in target.iterdir()}
        assert len(list(target.iterdir())) == 2 and found in ({"old"}, {"new"})
        ends.append(found.pop())
        replace(target, "newer")  # the next writer minds nothing either
        assert {path.read_text() for path in target.iterdir()} == {"newer"}
        if ended:
            break
    assert ended and ends[0] == "old" and ends[-1] == "new"


def test_the_next_writer_takes_back_what_was_about_to_be_replaced(tmp_path, monkeypatch):
    target = tmp_path / "figures"
    replace(target, "old")
    assert not kill_at(monkeypatch, 1, lambda: replace(target, "new"))  # between its two renames
    assert not target.exists()
    with pytest.raises(ZeroDivisionError), atomic.folder(target):
        raise ZeroDivisionError
    assert {path.read_text() for path in target.iterdir()} == {"old"}


def test_a_run_that_is_set_aside_is_whole_or_gone_wherever_the_process_is_killed(tmp_path, monkeypatch):
    for number in range(50):
        block = tmp_path / str(number)
        Journal(block).write("a-r1", {"run_id": "a-r1", "valid": True}, {"samples.csv": "x", "log": "y"}, valid=True)
        ended = kill_at(monkeypatch, number, partial(Journal(block).set_aside, "a-r1", Reason("other_k", {"why": ""})))
        Journal(block)  # the next start
        kept = [*block.glob("runs/*"), *block.glob("invalid/*")]
        assert kept and not list(block.glob("*/.part-*"))
        for folder in kept:
            assert {path.name for path in folder.iterdir()} == {"run.json", "manifest.json", "samples.csv", "log"}
            assert manifest_faults(folder) == []
        if ended:
            break
    assert ended and [path.name for path in kept] == ["a-r1.1"]


def test_the_number_of_an_attempt_is_never_given_twice(tmp_path):
    journal = Journal(tmp_path)
    for number in (1, 2, 3):
        assert journal.attempt("a-r1") == number
        journal.write("a-r1", {"attempt": number}, {}, valid=False)
    shutil.rmtree(journal.invalid / "a-r1.1")  # it was damaged
    assert journal.attempt("a-r1") == 4 and journal.attempt("a-r2") == 1
    journal.write("a-r1", {"attempt": 4}, {}, valid=False)
    kept = {path.name: json.loads((path / "run.json").read_text())["attempt"] for path in journal.invalid.iterdir()}
    assert kept == {"a-r1.2": 2, "a-r1.3": 3, "a-r1.4": 4}


@pytest.mark.parametrize("number", sorted(REMEDIES))
def test_what_the_system_says_is_one_line_with_the_path_and_what_to_do(number):
    error = OSError(number, "what the system says", "/results/design.csv")
    assert of_system(error).lines == [f"/results/design.csv: what the system says: {REMEDIES[number]}"]


def test_other_errors_of_the_system_are_one_line_too():
    assert str(of_system(FileNotFoundError(2, "No such file or directory", "Rscript"))).startswith("Rscript: No such")
    assert str(of_system(TimeoutError("no answer\nfor 3 s"))) == "no answer for 3 s"
    assert str(of_system(ConnectionResetError())) == "ConnectionResetError"


# On a disk of its own, in a namespace

DESIGN = 'whitewire design --paper emulex-2012 --testbed emulated --effort quick --output "$1/emulex-2012/design.csv"'


def on_a_disk(tmp_path, script, size="1m"):
    """Run a script with a small tmpfs as $1, which only it sees."""
    disk = tmp_path / "disk"
    disk.mkdir(exist_ok=True)
    mounted = f'mount -t tmpfs -o size={size} tmpfs "$1"'
    command = f'{mounted}; whitewire() {{ {sys.executable} -m whitewire "$@"; }}; {script}'
    namespace = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", command, "-", disk]
    return subprocess.run(namespace, cwd=HOME, capture_output=True, text=True)


def test_a_full_disk_leaves_the_old_design_and_is_one_line(can_emulate, tmp_path):
    script = f"""
    mkdir $1/emulex-2012; {DESIGN} || exit 1
    before=$(sha256sum < $1/emulex-2012/design.csv)
    head -c 2m /dev/zero > $1/filler 2> /dev/null
    {DESIGN}; status=$?
    test "$before" = "$(sha256sum < $1/emulex-2012/design.csv)" || exit 77
    test ! -e $1/emulex-2012/.part-design.csv || exit 78
    exit $status
    """
    done = on_a_disk(tmp_path, script)
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("whitewire: error: ") and "emulex-2012" in line
    assert "No space left on device: free some space there" in line


def test_a_read_only_disk_is_one_line(can_emulate, tmp_path):
    done = on_a_disk(tmp_path, f"mount -o remount,ro $1; {DESIGN}")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert f"{tmp_path}/disk/emulex-2012: Read-only file system: make the file system writable" in line
    done = on_a_disk(tmp_path, f"mkdir $1/emulex-2012; mount -o remount,ro $1; {DESIGN}")
    (line,) = done.stderr.splitlines()
    assert f"error: {tmp_path}/disk/emulex-2012/design.csv: Read-only file system: make" in line


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC, errno.EIO])
def test_a_refusal_names_the_file_that_the_user_knows(tmp_path, monkeypatch, number):
    def refuse(path, *_):
        raise OSError(number, os.strerror(number), str(path))

    target = tmp_path / "design.csv"
    for name in ("open", "replace"):
        with monkeypatch.context() as patched:
            patched.setattr(Path, name, refuse)
            with pytest.raises(OSError, match=os.strerror(number)) as error:
                atomic.write(target, "new")
        assert (error.value.filename, error.value.errno) == (str(target), number)
    assert list(tmp_path.iterdir()) == []
    with monkeypatch.context() as patched, pytest.raises(OSError) as error:
        patched.setattr(Path, "write_bytes", refuse)
        with atomic.folder(tmp_path / "a-r1") as part:
            (part / "run.json").write_bytes(b"{}")
    assert error.value.filename == str(tmp_path / "a-r1")
    elsewhere = tmp_path / "other" / "samples.csv"
    with pytest.raises(OSError) as error, atomic.folder(tmp_path / "a-r1"):
        refuse(elsewhere)
    assert error.value.filename == str(elsewhere), "a file of somewhere else keeps its name"


def test_a_daemon_on_a_full_disk_is_not_waited_for(can_emulate, tmp_path):
    code = "import sys; from pathlib import Path; from whitewire import atomic; atomic.check_space(Path(sys.argv[1]))"
    script = f"""
    '{sys.executable}' -c '{code}' $1/logs/none.log || exit 1
    head -c 2m /dev/zero > $1/filler 2> /dev/null; '{sys.executable}' -c '{code}' $1/logs/none.log
    """
    done = on_a_disk(tmp_path, script)
    assert "OSError: [Errno 28] No space left on device" in done.stderr and done.returncode == 1
    atomic.check_space(tmp_path / "not" / "there")  # here there is some


def test_the_journal_leaves_nothing_of_a_run_that_does_not_fit(tmp_path):
    code = """
import sys
from pathlib import Path
from whitewire.records.journal import Journal
journal = Journal(Path(sys.argv[1]))
journal.write("a", {"valid": True}, {"samples.csv": "x"}, valid=True)
journal.write("b", {"valid": True}, {"samples.csv": "x" * 200_000}, valid=True)
"""
    done = limited(code, tmp_path / "quick-1")
    assert f"{tmp_path}/quick-1/runs" in done.stderr and "File too large" in done.stderr
    assert [path.name for path in (tmp_path / "quick-1" / "runs").iterdir()] == ["a"]
    listed = json.loads((tmp_path / "quick-1" / "runs" / "a" / "manifest.json").read_text())["files"]
    assert set(listed) == {"run.json", "samples.csv"}
    shutil.rmtree(tmp_path / "quick-1")
