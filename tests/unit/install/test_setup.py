"""The set-up's scripts and lists."""

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.conftest import descendants, still_alive

HOME = Path(__file__).resolve().parents[3]
SCRIPTS = ["scripts/setup", "scripts/lint", "scripts/clean", "scripts/software", ".ci/run"]


@pytest.mark.parametrize("name", [*SCRIPTS, "scripts/exclusive"])
def test_scripts_can_be_run(name):
    assert (HOME / name).stat().st_mode & 0o111


@pytest.mark.parametrize("name", ["requirements", "develop"])
def test_python_requirements_are_locked_with_hashes(name):
    text = (HOME / "envs" / f"{name}.txt").read_text()
    locked = re.findall(r"^([a-z0-9._-]+)==\S+ \\\n    --hash=sha256:", text, re.MULTILINE)
    wanted = re.findall(r"^([a-z][\w.-]*)", (HOME / "envs" / f"{name}.in").read_text(), re.MULTILINE)
    normal = {re.sub(r"[-_.]+", "-", name).lower() for name in locked}
    assert {re.sub(r"[-_.]+", "-", name).lower() for name in wanted} <= normal
    assert len(locked) == len(re.findall(r"^[a-z0-9].*==", text, re.MULTILINE)), "a package without a hash"
    assert not re.search(r"^--|https?://", text, re.MULTILINE), "a host or an option in the lock file"


def test_hadoop_is_pinned():
    text = (HOME / "envs" / "hadoop" / "pom.xml").read_text()
    versions = re.findall(r"<[\w.]*version>([^<]+)</", text)
    assert "3.5.0" in versions
    assert not [v for v in versions if any(c in v for c in "[](),") or v in ("LATEST", "RELEASE")]


def test_second_setup_is_quick_and_silent():
    """Runs in the repository itself, where `make test` has set everything up."""
    subprocess.run([str(HOME / "scripts" / "setup")], cwd="/", capture_output=True, timeout=280)
    start = time.monotonic()
    done = subprocess.run([str(HOME / "scripts" / "setup")], cwd="/", capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr == done.stdout == ""
    assert time.monotonic() - start < 2


def bare_setup(folder: Path, *parts: str, **environ: str) -> subprocess.CompletedProcess:
    """The set-up in a folder of its own, by a user with few tools: git is there, neither root nor sudo nor conda."""
    tools = folder / "tools"
    if not tools.is_dir():
        for name in ("scripts", "envs", "src"):
            subprocess.run(["cp", "-r", str(HOME / name), str(folder)], check=True)
        tools.mkdir()
        needed = "sh cat grep awk cut sed sha256sum mkdir dirname flock tr env uname date"
        for name in needed.split():
            (tools / name).symlink_to(Path("/usr/bin") / name)
        for name, script in (("dpkg-query", "echo 'git installed'"), ("id", "echo 1000")):
            (tools / name).write_text(f"#!/bin/sh\n{script}\n")
            (tools / name).chmod(0o755)
    command = [str(folder / "scripts" / "setup"), *parts]
    environment = {"PATH": str(tools), **environ}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30)


def equipped_setup(folder: Path, *parts: str, **environ: str) -> list[str]:
    """The programs that the set-up starts where all packages are there already."""
    bare_setup(folder)
    packages = (HOME / "envs" / "debian-packages.txt").read_text()
    installed = "".join(f"{name} installed\\n" for name in re.findall(r"^[^#].*", packages, re.MULTILINE))
    for name, script in (("dpkg-query", f"printf '{installed}'"), ("setpriv", f'echo "$*" >>{folder}/started')):
        (folder / "tools" / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / "tools" / name).chmod(0o755)
    (folder / "started").unlink(missing_ok=True)
    done = bare_setup(folder, *parts, **environ)
    assert done.returncode == 0, done.stderr
    return (folder / "started").read_text().splitlines()


def test_smoke_runs_and_hibench_make_no_class_archive(tmp_path):
    """It takes longer than it saves in runs that only show that everything works, whatever was set up before."""

    def archive(*parts: str, **environ: str) -> bool:
        started = equipped_setup(tmp_path, *parts, **environ)
        assert any("--parts" in line for line in started), "Hadoop's jars are made in any case"
        return any("scripts/software" in line and "--parts" not in line for line in started)

    assert not archive(EFFORT="smoke")
    assert not archive("hibench", EFFORT="smoke") and not archive("hibench")
    assert not archive(EFFORT="smoke"), "after `make hibench`"
    assert archive()


@pytest.mark.parametrize("parts", [[], ["tests"]], ids=["papers", "tests"])
def test_missing_packages_are_named_at_once(tmp_path, parts):
    """Neither root nor sudo nor conda: one message with everything that is missing."""
    done = bare_setup(tmp_path, *parts)
    assert done.returncode == 2, done
    lines = done.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("setup: error: missing: iproute2 ")
    assert "conda" in lines[0] and "apt-get install" in lines[0]
    assert ("chromium" in lines[0]) == bool(parts)
    if parts:  # what failed is not asked for again by a set-up without it
        again = bare_setup(tmp_path)
        assert "missing: iproute2" in again.stderr and "chromium" not in again.stderr
    assert " git " not in lines[0]


def test_reports_alone_need_neither_java_nor_network_tools(tmp_path):
    text = (HOME / "envs" / "debian-packages.txt").read_text()
    found = re.findall(r"^# (\w+):.*\n((?:[^#].*\n)+)", text, re.MULTILINE)
    reports = " ".join(packages for part, packages in found if part == "reports").split()
    measured = " ".join(packages for part, packages in found if part in ("testbed", "papers")).split()
    assert {"r-base-core", "r-cran-knitr", "fonts-dejavu-core", "python3-venv", "make", "git"} <= {*reports}
    assert {"openjdk-17-jdk-headless", "maven", "gcc", "iproute2", "fio"} <= {*measured}
    assert not {*measured} & {*reports}
    done = bare_setup(tmp_path, "report")
    assert done.returncode == 2, done
    missing = done.stderr.partition("missing: ")[2].partition(";")[0].split()
    assert missing == [name for name in reports if name != "git"]


HOSTILE = ["x' `touch pwned` '", "$(touch pwned)", '"; touch pwned; "', "$(shell touch pwned)", "a b", "-h", "$HOME"]


@pytest.fixture
def vocabulary(tmp_path):
    """The Makefile over programs that only write down what they are given, in a folder with a name that needs care."""
    folder = tmp_path / "wörk 'n wire"
    shutil.copytree(HOME / "workflow" / "scripts", folder / "workflow" / "scripts")
    for name in ("scripts", "src/whitewire", ".venv/bin"):
        (folder / name).mkdir(parents=True)
    for name in ("Makefile", "scripts/environment", "src/whitewire/foreign.txt"):
        shutil.copy(HOME / name, folder / name)
    for name in (
        "scripts/asked",
        "scripts/setup",
        "scripts/exclusive",
        ".venv/bin/whitewire",
        ".venv/bin/python",
        ".venv/bin/python3",
    ):
        path = folder / name
        path.write_text(
            "#!/bin/sh\n"
            f'printf "%s\\n" "{name}" "$#" "$@" "TESTBED=$TESTBED" "PAPERS=$PAPERS" "$XDG_CACHE_HOME" "$HOME" "$LC_ALL"'
            ' >>"$(dirname "$0")/../said"\n'
        )
        path.chmod(0o755)

    def make(*argv: str, **environ: str | None) -> list[str]:
        (folder / "said").unlink(missing_ok=True)
        (folder / ".venv" / "said").unlink(missing_ok=True)
        given = {name: value for name, value in {**os.environ, **environ}.items() if value is not None}
        done = subprocess.run(["make", *argv], cwd=folder, env=given, capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, done.stderr
        assert not list(folder.rglob("pwned"))
        said = folder / ".venv" / "said"
        return (said if said.exists() else folder / "said").read_text().splitlines()

    make.folder = folder
    return make


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_user_gives_to_make_is_text(vocabulary, text):
    doctor = ["-s", "-P", "-m", "whitewire", "doctor", f"--testbed={text}"]
    assert vocabulary("doctor", f"TESTBED={text}")[2:8] == vocabulary("doctor", TESTBED=text)[2:8] == doctor
    assert vocabulary("lab", f"TESTBED={text}")[1:4] == ["2", "lab", f"--testbed={text}"]
    said = vocabulary("report", f"TESTBED={text}")
    place = said.index("scripts/exclusive")
    assert said[place + 1 : place + 5] == ["4", "whitewire", "report", f"--testbed={text}"]
    assert vocabulary("compare", f"A={text}", f"B={text}")[1:6] == ["4", "compare", "--", text, text]
    said = vocabulary("papers", f"PAPERS={text}", f"TESTBED={text}")
    place = said.index("scripts/exclusive")
    assert said[place + 1 : place + 5] == ["3", "whitewire", "papers", "--"]
    assert f"TESTBED={text}" in said and f"PAPERS={text}" in said


def test_the_environment_of_every_recipe(vocabulary):
    cache = str(vocabulary.folder / ".cache")
    said = vocabulary("doctor", HOME=None, LC_ALL="xx_XX.UTF-8", XDG_CACHE_HOME="/elsewhere")
    assert said[-3:] == [f"{cache}/xdg", f"{cache}/home", "C.UTF-8"]
    assert vocabulary("doctor", HOME="/home/researcher")[-2] == "/home/researcher"


STEPS = """
. scripts/steps
prepare_folder "$1"
logged quick true
logged slow sh -c 'printf "one\\n\\033[1m50 %%\\rtwo of three"; sleep 2.5'
(logged bad sh -c 'echo the reason; exit 3') || echo "status $?"
"""


def test_a_long_step_says_that_it_goes_on(tmp_path):
    done = subprocess.run(
        ["sh", "-euc", STEPS, "sh", str(tmp_path)], cwd=HOME, capture_output=True, text=True, timeout=30,
        env={**os.environ, "PULSE_S": "1"},
    )  # fmt: skip
    lines = done.stderr.splitlines()
    pulses = [line for line in lines if line.startswith("setup: slow")]
    assert lines[: len(pulses)] == pulses and 2 <= len(pulses) <= 4
    assert all(re.fullmatch(r"setup: slow, \d+ s: two of three", line) for line in pulses[:-1])
    assert re.fullmatch(r"setup: slow is done, \d+ s", pulses[-1])
    log = f"{tmp_path}/logs/setup-bad.log"
    assert lines[len(pulses) :] == [
        "the reason", f"setup: error: bad failed, for the reason above; the whole log is {log}",
    ]  # fmt: skip
    assert done.stdout == "status 2\n"


KILLED = """
. scripts/steps
prepare_folder "$1"
alone_in "$1/lock"
echo begun
logged slow setpriv --pdeathsig TERM sleep 60
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_set_up_leaves_neither_a_process_nor_its_lock(tmp_path, number):
    process = subprocess.Popen(
        ["sh", "-euc", KILLED, "sh", str(tmp_path)], cwd=HOME, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, start_new_session=True, env={**os.environ, "PULSE_S": "1"},
    )  # fmt: skip
    assert process.stdout.readline() == "begun\n"
    deadline = time.monotonic() + 10

    def names(pids):
        return [Path(f"/proc/{pid}/comm").read_text().strip() for pid in pids if Path(f"/proc/{pid}").exists()]

    # The step, which setpriv has started so that it ends with its parent; the pulse and its sleep.
    while names(started := descendants(process.pid)).count("sleep") < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(started) >= 3
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    process.wait(timeout=10)
    assert subprocess.run(["flock", "--timeout", "20", str(tmp_path / "lock"), "true"]).returncode == 0
    assert still_alive(started, patience=8) == set()


def test_a_second_set_up_says_that_it_waits(tmp_path):
    holder = subprocess.Popen(["flock", str(tmp_path / "lock"), "sleep", "2"])
    try:
        time.sleep(0.3)
        script = '. scripts/steps; prepare_folder "$1"; alone_in "$1/lock"; echo mine'
        done = subprocess.run(
            ["sh", "-euc", script, "sh", str(tmp_path)], cwd=HOME, capture_output=True, text=True, timeout=30
        )
    finally:
        holder.wait()
    assert (done.stdout, done.stderr) == ("mine\n", "setup: waiting for another set-up in this folder\n")


def test_papers_need_no_packages_of_tests():
    text = (HOME / "envs" / "debian-packages.txt").read_text()
    parts = dict(re.findall(r"^# (\w+):.*\n((?:[^#].*\n)+)", text, re.MULTILINE))
    assert {"testbed", "papers", "reports", "quarto", "ceph", "tests", "hibench", "servers"} == set(parts)
    assert not {"openjdk-17-jdk-headless", "maven"} & {*text.partition("# papers:")[0].split()}
    assert "chromium" in parts["tests"] and "slurmd" in parts["servers"] and "r-cran-rmarkdown" in parts["quarto"]
    lock = (HOME / "envs" / "requirements.txt").read_text()
    for name in ("pytest", "playwright", "ruff", "hypothesis"):
        assert f"\n{name}==" not in lock
        assert f"\n{name}==" in (HOME / "envs" / "develop.txt").read_text()


def test_both_locks_have_the_same_versions():
    def versions(name: str) -> dict[str, str]:
        return dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", (HOME / "envs" / name).read_text(), re.MULTILINE))

    run, all_of_it = versions("requirements.txt"), versions("develop.txt")
    assert run.items() <= all_of_it.items()


CONDA = """#!/bin/sh
echo "$*" >>"$CALLS"
for word; do [ "$before" = --prefix ] && prefix=$word; before=$word; done
if [ "$2" = create ] && [ -d "$prefix" ]; then echo 'prefix already exists' >&2; exit 1; fi
mkdir -p "$prefix/conda-meta" "$prefix/bin"
printf '#!/bin/sh\\n' >"$prefix/bin/quarto"
chmod +x "$prefix/bin/quarto"
"""
"""Refuses to make an environment where one is, as the real one does, and brings a Quarto, as envs/paper.yaml does."""


def test_a_conda_environment_is_made_once_and_then_updated(tmp_path):
    for name in ("scripts", "envs", "src", "pyproject.toml"):
        subprocess.run(["cp", "-r", str(HOME / name), str(tmp_path)], check=True)
    (tmp_path / "envs" / "measure.post-deploy.sh").write_text("exit 0\n")
    tools = tmp_path / "tools"
    tools.mkdir()
    needed = "sh bash cat grep awk cut sed sha256sum mkdir dirname flock uname tr env rm tail date sleep setpriv chmod"
    for name in (*needed.split(), "find", "sort"):
        (tools / name).symlink_to(shutil.which(name))
    for name, text in (("conda", CONDA), ("dpkg-query", "#!/bin/sh\n"), ("id", "#!/bin/sh\necho 1000\n"),
                       ("python3", "#!/bin/sh\nexit 1\n")):  # fmt: skip
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    calls = tmp_path / "calls"

    def setup(*parts: str) -> list[str]:
        """What conda was asked for; the set-up ends after it, since this Python makes no virtual environment."""
        calls.write_text("")
        path = f"{tmp_path}/.cache/conda/bin:{tools}"
        done = subprocess.run(
            [str(tmp_path / "scripts" / "setup"), *parts], env={"PATH": path, "CALLS": str(calls)},
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode != 0 and "error: conda" not in done.stderr, done.stderr
        return [line.split(" --prefix")[0] for line in calls.read_text().splitlines()]

    assert setup() == ["env create", "env update", "env update"]
    assert setup() == []  # the environment's own Quarto asks for nothing more
    assert setup("report") == setup("testbed") == setup() == []  # what needs less takes nothing away
    assert setup("tests") == ["env update"] * 4
