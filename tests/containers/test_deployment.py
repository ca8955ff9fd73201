"""A rule really run with `--sdm conda`, `--sdm apptainer` and both.

`conda` and `apptainer` are stand-ins that keep to the command lines of the real ones; Snakemake, which calls them, is
real. The Python of an environment or image writes down that it was asked, and not the machine's.
"""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support import forked
from tests.support.documented import distinct
from tests.support.repository import linked

HOME = Path(__file__).resolve().parents[2]
SNAKEMAKE = str(Path(sys.executable).parent / "snakemake")
DESIGN = "results/emulated/emulex-2012/design.csv"

PYTHON = f"""#!/bin/sh
echo "{{label}} CONDA_PREFIX=${{{{CONDA_PREFIX:-}}}} PYTHONPATH=${{{{PYTHONPATH:-}}}}" >>{{log}}
exec {sys.executable} "$@"
"""

CONDA = """#!{python}
import json, os, sys
base, log, label = {base!r}, {log!r}, {label!r}
argv = sys.argv[1:]
with open(log, "a") as file:
    print("conda", *argv, "in", os.environ.get("APPTAINER_CONTAINER", "no container"), file=file)
if argv == ["info", "--json"]:
    print(json.dumps({{"conda_prefix": base, "platform": "linux-64"}}))
elif argv == ["--version"]:
    print("conda 25.1.1")
elif argv[:2] == ["config", "--get"]:
    print(json.dumps({{"get": {{"channel_priority": "strict"}}}}))
elif argv[:2] == ["env", "create"] or argv[0] == "create":
    prefix = argv[argv.index("--prefix") + 1]
    os.makedirs(prefix + "/bin")
    os.makedirs(prefix + "/conda-meta")
    with open(prefix + "/bin/python3", "w") as file:
        file.write({script!r})
    os.chmod(prefix + "/bin/python3", 0o755)
elif argv[:2] != ["config", "--set"] and argv[0] != "clean":
    sys.exit(f"conda: {{argv}}")
"""

APPTAINER = """#!{python}
import json, os, sys
argv = sys.argv[1:]
if argv == ["--version"]:
    sys.exit(print("apptainer version 1.4.1"))
while argv[0] in ("--quiet", "--silent"):
    argv.pop(0)
assert argv.pop(0) == "exec", argv
given = {{"--home": [], "--bind": []}}
while argv[0] in given:
    given[argv.pop(0)].append(argv.pop(0))
image, *command = argv
seen = [*given["--home"], *given["--bind"], *os.environ["APPTAINER_BIND"].split(",")]
with open(image) as file:
    path = file.read().strip()
with open({log!r}, "a") as file:
    print("apptainer", json.dumps(seen), image, command[:2], file=file)
# As Apptainer does: the image's own PATH, what the caller wants before it, and the name of the image.
own = {{name: value for name, value in os.environ.items() if not name.startswith("APPTAINERENV_")}}
before = os.environ.get("APPTAINERENV_PREPEND_PATH")
own["PATH"] = before + ":" + path if before else path
own["APPTAINER_CONTAINER"] = os.path.abspath(image)
os.execvpe(command[0], command, own)
"""


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def project(tmp_path):
    """The repository's programs with results of its own, images that are text files, and the stand-ins."""
    top = tmp_path / "white wire"
    top.mkdir()
    linked(top, "containers")
    log = str(tmp_path / "log")
    base = tmp_path / "conda"
    program(tmp_path / "image" / "python3", PYTHON.format(label="image", log=log))
    text = CONDA.format(
        python=sys.executable, base=str(base), log=log, label="environment",
        script=PYTHON.format(label="environment", log=log),
    )  # fmt: skip
    program(base / "condabin" / "conda", text)
    program(base / "bin" / "activate", 'export CONDA_PREFIX=$1 PATH="$1/bin:$PATH"\n')
    program(tmp_path / "bin" / "apptainer", APPTAINER.format(python=sys.executable, log=log))
    for name in ("hadoop", "publish"):
        image = top / ".cache" / "containers" / f"{name}.sif"
        image.parent.mkdir(parents=True, exist_ok=True)
        image.write_text(f"{tmp_path}/image:/usr/bin:/bin\n")
    (top / ".cache" / "hibench" / "tree").mkdir(parents=True)
    (top / ".cache" / "hibench" / "prepared.json").write_text("{}")
    return top


def run(project: Path, *argv: str) -> tuple[subprocess.CompletedProcess, list[str]]:
    """Snakemake, and what the stand-ins wrote down."""
    path = f"{project.parent}/bin:{project.parent}/conda/condabin:{os.environ['PATH']}"
    environment = {**os.environ, "EFFORT": "smoke", "PAPERS": "emulex-2012", "PATH": path, "PYTHONPATH": "/misleading"}
    done = forked.run([SNAKEMAKE, *argv], project, environment)
    log = project.parent / "log"
    return done, log.read_text().splitlines() if log.exists() else []


def test_conda(project):
    done, log = run(project, "--sdm", "conda", "--", DESIGN)
    assert done.returncode == 0, done.stderr
    assert (project / DESIGN).read_text().startswith("run_id,")
    asked = [line for line in log if line.startswith("environment ")]
    assert asked and all("/.snakemake/conda/" in line for line in asked)
    assert all(f"PYTHONPATH={HOME}/src" in line and "misleading" not in line for line in asked)
    assert not [line for line in log if line.startswith(("image", "apptainer"))]


def test_a_lock_takes_the_place_of_the_environments_file(project):
    """Snakemake finds it by its name, that which scripts/lock gives it."""
    for name in ("envs", "workflow"):  # rules name the environment relative to their own file
        (project / name).unlink()
        shutil.copytree(HOME / name, project / name, ignore=shutil.ignore_patterns("*.pin.txt"))
    lock = project / "envs" / "analysis.linux-64.pin.txt"
    lock.write_text("@EXPLICIT\n")
    for expected in ("conda create ", "conda env create "):
        done, log = run(project, "--sdm", "conda", "--", DESIGN)
        assert done.returncode == 0, done.stderr
        made = [line for line in log if " create " in line]
        assert made[-1].startswith(expected), made
        lock.unlink(missing_ok=True)
        (project / DESIGN).unlink()
    assert len(made) == 2


def test_apptainer(project):
    done, log = run(project, "--sdm", "apptainer", "--", DESIGN)
    assert done.returncode == 0, done.stderr
    assert (project / DESIGN).read_text().startswith("run_id,")
    started = [line for line in log if line.startswith("apptainer ")]
    assert len(started) == 1
    assert ".cache/containers/publish.sif ['bash', '-c']" in started[0]
    seen = json.JSONDecoder().raw_decode(started[0].removeprefix("apptainer "))[0]
    assert str(HOME) in seen, "the repository is not bound into the container"
    assert str(project) in seen, "the working directory is not the container's home"
    assert [line for line in log if line.startswith("image ")], "not the image's Python"
    assert not [line for line in log if line.startswith(("environment", "conda"))]


def test_both(project):
    done, log = run(project, "--sdm", "conda", "apptainer", "--", DESIGN)
    assert done.returncode == 0, done.stderr
    assert (project / DESIGN).read_text().startswith("run_id,")
    made = [line for line in log if line.startswith("conda env create")]
    assert len(made) == 1 and made[0].endswith("/.cache/containers/publish.sif"), "not made inside the container"
    assert [line for line in log if line.startswith("environment ")]
    assert not [line for line in log if line.startswith("image ")], "the image's Python in place of the environment's"


def test_an_image_that_is_missing_is_reported_before_anything_runs(project):
    (project / ".cache" / "containers" / "publish.sif").unlink()
    done, log = run(project, "--sdm", "apptainer", "--", DESIGN)
    assert done.returncode == 2
    said = [line for line in done.stderr.splitlines() if line.startswith("whitewire: error: ")]
    assert said == [
        "whitewire: error: .cache/containers/publish.sif: no such image; make it with `.venv/bin/snakemake containers`"
    ]
    assert "Traceback" not in done.stderr and not log


def carried(project: Path, age: int) -> None:
    """All images, as if copied from elsewhere with times of their own: as many seconds before now."""
    then = time.time() - age
    for name in ("publish", "hibench", "hadoop", "probes"):  # each before the one that it is made from
        image = project / ".cache" / "containers" / f"{name}.sif"
        image.write_text(f"{project.parent}/image:/usr/bin:/bin\n")
        os.utime(image, (then, then))
        then += 1


def jobs(project: Path, *argv: str) -> set[str]:
    """Rules of which Snakemake would run jobs."""
    done, _ = run(project, "--dry-run", *argv)
    assert done.returncode == 0, done.stderr
    return set(re.findall(r"^(\w+) +\d+$", done.stdout, re.MULTILINE))


@pytest.mark.parametrize("age", [10 * 365 * 86400, pytest.param(0, marks=pytest.mark.slow)])
def test_images_that_were_carried_here_are_taken_as_they_are(project, age):
    """Rules run in an image whatever its time is; the target `containers` alone looks at times."""
    carried(project, age)
    found = jobs(project, "--sdm", "apptainer")
    assert "design" in found and "container" not in found
    assert "container" in jobs(project, "containers")
    done, log = run(project, "--touch", "containers")
    assert done.returncode == 0 and not log, done.stderr
    assert not jobs(project, "containers")


def test_no_image_is_made_of_a_hibench_that_is_not_there(project):
    shutil.rmtree(project / ".cache")
    done, _ = run(project, "--dry-run", "--", "containers")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^container +3$", done.stdout, re.MULTILINE), done.stdout


def test_images_are_built_with_the_commit(project):
    """All of them, in the order that the definitions need; the stand-in for `apptainer build` copies the definition."""
    program(
        project.parent / "bin" / "apptainer",
        f'#!/bin/sh\necho "$@" >>{project.parent}/log\nfor last; do :; done\ncp "$last" "$5"\n',
    )
    shutil.rmtree(project / ".cache" / "containers")
    done, log = run(project, "--", "containers")
    assert done.returncode == 0, done.stderr
    built = [Path(line.split()[-1]).stem for line in log]
    assert sorted(built) == ["hadoop", "hibench", "probes", "publish"]
    assert built.index("probes") < built.index("hadoop") < built.index("hibench")
    for line in log:
        commit = line.split()[3]
        assert line.startswith("build --force --build-arg commit=") and len(commit.removeprefix("commit=")) == 40
    done, again = run(project, "--", "containers")
    assert done.returncode == 0 and again == log, "made again without a change"


def documented() -> list[tuple[str, ...]]:
    """Each command of the documentation; those that are a target alone make one command with all of these targets."""
    found = distinct("snakemake")
    targets = [arguments for arguments in found if not any(each.startswith("-") for each in arguments)]
    return [tuple(itertools.chain(*targets)), *(arguments for arguments in found if arguments not in targets)]


@pytest.mark.parametrize("arguments", documented(), ids=" ".join)
def test_documented_command(project, arguments):
    """Snakemake takes the commands of the documentation as they stand, and knows their targets."""
    done, _ = run(project, "--dry-run", *arguments)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("arguments", [("--sdm", "conda", "containers"), ("--sdm", "conda", "--", "images")])
def test_a_wrong_command_is_reported(project, arguments):
    """An option that takes several values takes the target too; and a target that is none is no target."""
    assert run(project, "--dry-run", *arguments)[0].returncode != 0
