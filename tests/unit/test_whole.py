"""Files and folders that are there whole or not at all, on disks that are full, limited or read-only."""

import errno
import json
import resource
import shutil
import subprocess
import sys

import pytest

from whitewire import whole
from whitewire.errors import REMEDIES, of_system
from whitewire.paths import HOME

LONG = "a,b\n" * 100_000


def test_a_file_is_replaced_in_one_step(tmp_path):
    path = tmp_path / "design.csv"
    whole.write(path, "old\n")
    assert whole.write(path, "new µ\n").read_bytes() == "new µ\n".encode()
    assert [each.name for each in tmp_path.iterdir()] == ["design.csv"]


def limited(code, path):
    """What a process that may write no file of more than 100 kB says."""
    return subprocess.run(
        [sys.executable, "-c", code, path], cwd=HOME, capture_output=True, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
    )  # fmt: skip


def test_a_write_that_fails_leaves_the_old_file_and_names_it(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("old\n")
    code = "import sys; from whitewire import whole; whole.write(sys.argv[1], 'a,b\\n' * 100_000)"
    done = limited(code, path)
    assert f"OSError: [Errno {errno.EFBIG}] File too large: '{path}'" in done.stderr
    assert path.read_text() == "old\n" and len(list(tmp_path.iterdir())) == 1


def test_a_folder_is_whole_or_not_there(tmp_path):
    target = tmp_path / "runs" / "a"
    with pytest.raises(ZeroDivisionError), whole.folder(target) as part:
        (part / "samples.csv").write_text("x")
        raise ZeroDivisionError
    assert list((tmp_path / "runs").iterdir()) == []
    for content in ("old", "new"):
        with whole.folder(target) as part:
            (part / "below").mkdir()
            (part / "below" / "samples.csv").write_text(content)
            assert content == "old" or (target / "below" / "samples.csv").read_text() == "old"
    assert (target / "below" / "samples.csv").read_text() == "new"
    assert [each.name for each in (tmp_path / "runs").iterdir()] == ["a"]


def test_what_a_killed_writer_left_does_not_matter(tmp_path):
    (tmp_path / ".part-a").mkdir()
    (tmp_path / ".part-a" / "half").write_text("x")
    with whole.folder(tmp_path / "a") as part:
        assert list(part.iterdir()) == []
    (tmp_path / ".part-b").write_text("half")
    assert whole.write(tmp_path / "b", "whole").read_text() == "whole"


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
    disk.mkdir()
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
    assert "Read-only file system: make the file system writable" in line


def test_a_daemon_on_a_full_disk_is_not_waited_for(can_emulate, tmp_path):
    code = "import sys; from pathlib import Path; from whitewire import whole; whole.check_space(Path(sys.argv[1]))"
    script = f"""
    '{sys.executable}' -c '{code}' $1/logs/none.log || exit 1
    head -c 2m /dev/zero > $1/filler 2> /dev/null; '{sys.executable}' -c '{code}' $1/logs/none.log
    """
    done = on_a_disk(tmp_path, script)
    assert "OSError: [Errno 28] No space left on device" in done.stderr and done.returncode == 1
    whole.check_space(tmp_path / "not" / "there")  # here there is some


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
