"""Where rules get their software: environments, images, the command on their PATH, and what is recorded of it all."""

import ast
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
import snakemake.report
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from whitewire.errors import UserError
from whitewire.measure import environment
from whitewire.workflow import recipes
from whitewire.workflow.images import Images, show_containers
from whitewire.workflow.plan import Plan
from whitewire.workflow.preamble import preamble
from whitewire.workflow.recipes import image_made_of

HOME = Path(__file__).resolve().parents[3]
STAGES = ("analysis", "measure", "paper")
ENVIRONMENTS = (*STAGES, "containers", "develop")
IMAGES = ("probes", "hadoop", "hibench", "publish")
RULES = [
    (path.name, name, body)
    for path in sorted((HOME / "workflow" / "rules").glob("*.smk"))
    for name, body in re.findall(r"^rule (\w+):\n((?:(?:    .*)?\n)+)", path.read_text(), re.MULTILINE)
]

CONDA = {  # conda-forge's name for a Debian package: the environment that has it, or why none does
    "iproute2": "built by measure.post-deploy.sh",
    "ethtool": "built by measure.post-deploy.sh",
    "chromium": "not on conda-forge",
    "ceph-mon": "not on conda-forge",
    "ceph-mds": "not on conda-forge",
    "ceph-osd": "not on conda-forge",
    "ceph-fuse": "not on conda-forge",
    "fonts-liberation2": "not on conda-forge",
    "openssh-server": "for tests only",
    "munge": "for tests only",
    "slurmctld": "for tests only",
    "slurmd": "for tests only",
    "slurm-client": "for tests only",
    "slurm-wlm-basic-plugins": "for tests only",
    "bc": "bc",
    "util-linux": "util-linux",
    "procps": "procps-ng",
    "curl": "curl",
    "iperf3": "iperf",
    "fio": "fio",
    "openjdk-17-jdk-headless": "openjdk",
    "maven": "maven",
    "gcc": "gcc",
    "libc6-dev": "gcc",  # which brings its own sysroot
    "r-base-core": "r-base",
    "fonts-dejavu-core": "font-ttf-dejavu",
    "python3-venv": "python",
    "make": "make",
    "git": "git",
    "shellcheck": "shellcheck",
    "golang-go": "actionlint",  # which set-up builds with it
    "poppler-utils": "poppler",
}
PYTHON = {"yaml": "pyyaml", "pypandoc": "pypandoc", "typst": "typst-py"}
"""conda-forge's names for modules whose name differs, or that only documents need."""
LOCKED = {"pypandoc": "pypandoc-binary", "typst-py": "typst", "typst": ""}
"""Their names in envs/requirements.txt; conda-forge's typst is the program, which is not there."""

BEHIND = {"pandas", "typst-py"}
"""What conda-forge has in no series of the lock: environments then have the newest before it."""


def series(pin: str) -> list[int]:
    """A pin or a version as numbers."""
    return [int(number) for number in pin.split(".")]


def dependencies(name: str) -> dict[str, str]:
    """The packages of an environment with their pins."""
    entries = yaml.safe_load((HOME / "envs" / f"{name}.yaml").read_text())["dependencies"]
    return dict(entry.split("=", 1) for entry in entries)


def debian() -> list[str]:
    lines = (HOME / "envs" / "debian-packages.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def locked() -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", (HOME / "envs" / "requirements.txt").read_text(), re.MULTILINE))


# --- conda environments -----------------------------------------------------------------------------


def test_all_environments_are_known_here():
    assert {path.stem for path in (HOME / "envs").glob("*.yaml")} == set(ENVIRONMENTS)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_environment_is_from_conda_forge_only_and_pinned(name):
    found = yaml.safe_load((HOME / "envs" / f"{name}.yaml").read_text())
    assert found["channels"] == ["conda-forge", "nodefaults"]
    for entry in found["dependencies"]:
        assert re.fullmatch(r"[a-z0-9_.-]+=\d+\.\d+", entry), f"{entry}: expected name=MAJOR.MINOR"


def test_actionlint_is_of_one_series_everywhere():
    """Set-up builds it with Go where conda, which has it, is not used."""
    (version,) = re.findall(r"rhysd/actionlint v([\d.]+)", (HOME / "envs" / "actionlint" / "go.mod").read_text())
    assert f"{version}.".startswith(f"{dependencies('develop')['actionlint']}.")


def test_environments_agree():
    """The set-up without Debian packages puts all of them into one environment."""
    pins: dict[str, set[str]] = {}
    for name in ENVIRONMENTS:
        for package, pin in dependencies(name).items():
            pins.setdefault(package, set()).add(pin)
    assert not {package: found for package, found in pins.items() if len(found) > 1}


@pytest.mark.parametrize("name", STAGES)
def test_python_packages_are_those_of_the_lock(name):
    lock = locked()
    checked = 0
    for package, pin in dependencies(name).items():
        version = lock.get(LOCKED.get(package, package))
        if version and package in BEHIND:
            assert series(pin) < series(version)[:2], f"{package}: {pin} is not behind the lock's {version}"
        elif version:
            assert f"{version}.".startswith(f"{pin}."), f"{package}: {pin} in the environment, {version} in the lock"
        checked += bool(version)
    assert checked >= 6


def test_links_are_probed_with_the_same_release_everywhere():
    """iperf3's releases differ in when a test ends."""
    image = recipes._load(HOME / "containers" / "probes.def").script("test")
    assert f"iperf {dependencies('measure')['iperf']} ".replace(".", r"\.") in image


def imported(name: str) -> set[str]:
    """The modules of others that the package imports; those for documents only where documents are made."""
    return others() if name in ("paper", "publish") else others() - {"pypandoc", "typst"}


@cache
def others() -> set[str]:
    """All modules of others that the package imports."""
    imported = set()
    package = HOME / "src" / "whitewire"
    # Beside Snakemake only, and beside no rule: crates are packed by a command of their own.
    elsewhere = {package / "workflow" / "programs.py", package / "report" / "crate.py"}
    for path in {*package.rglob("*.py")} - elsewhere:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported.add(node.module.split(".")[0])
    return imported - set(sys.stdlib_module_names) - {"whitewire", "rados"}  # rados: Ceph's, the system's own Python


@pytest.mark.parametrize("name", STAGES)
def test_environment_has_what_the_package_imports(name):
    assert len(imported(name)) >= 6
    missing = {module for module in imported(name) if PYTHON.get(module, module) not in dependencies(name)}
    assert not missing


def lock(folder: Path, *names: str) -> tuple[subprocess.CompletedProcess, list[str]]:
    """scripts/lock with a conda-lock that only writes down what it was given."""
    (folder / "conda-lock").write_text(f'#!/bin/sh\necho "$*" >>{folder}/log\n')
    (folder / "conda-lock").chmod(0o755)
    done = subprocess.run(
        [str(HOME / "scripts" / "lock"), *names],
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}, capture_output=True, text=True,
    )  # fmt: skip
    log = folder / "log"
    return done, log.read_text().splitlines() if log.exists() else []


def test_what_rules_use_is_locked_for_the_platforms_that_have_it(tmp_path):
    done, asked = lock(tmp_path)
    assert done.returncode == 0, done.stderr
    assert [re.search(r"--file envs/(\w+)\.yaml ", line)[1] for line in asked] == [
        "analysis",
        "containers",
        "measure",
        "paper",
    ]
    assert asked[0] == (
        "lock --kind explicit --file envs/analysis.yaml --platform linux-64 --platform linux-aarch64"
        " --filename-template envs/analysis.{platform}.pin.txt"
    )
    lacking = [name for name in ENVIRONMENTS if {"iperf", "fio", "quarto"} & set(dependencies(name))]
    assert [line for line in asked if "aarch64" not in line] == [
        f"lock --kind explicit --file envs/{name}.yaml --platform linux-64"
        f" --filename-template envs/{name}.{{platform}}.pin.txt" for name in lacking
    ]  # fmt: skip


def test_an_environment_that_is_none_is_not_locked(tmp_path):
    done, asked = lock(tmp_path, "analysis", "analyse")
    assert done.returncode == 2 and not asked
    assert done.stderr == "lock: error: envs/analyse.yaml: no such environment\n"


@pytest.mark.parametrize("package", debian())
def test_every_debian_package_has_an_equivalent_or_is_known_to_lack_one(package):
    if package.startswith("r-cran-"):
        wanted = f"r-{package.removeprefix('r-cran-')}"
    else:
        assert package in CONDA, f"{package}: say in CONDA which package of conda-forge replaces it, or that none does"
        wanted = CONDA[package]
    if " " not in wanted:
        assert any(wanted in dependencies(name) for name in ENVIRONMENTS), wanted
        return
    page = (HOME / "docs" / "use" / "software.md").read_text()
    assert f"`{package}`" in page, "a lack that the documentation does not name"


def test_what_post_deploy_builds_is_pinned_as_debian_has_it():
    text = (HOME / "envs" / "measure.post-deploy.sh").read_text()
    releases = re.findall(r"^\S+/(\w+)-([\d.]+)\.tar\.xz ([0-9a-f]{64})$", text, re.MULTILINE)
    test = recipes._load(HOME / "containers" / "probes.def").script("test")
    assert {name for name, _, _ in releases} == {"iproute2", "ethtool"}
    for _, version, _ in releases:
        assert version.replace(".", r"\.") in test, f"{version}: not what the image has"


# --- images -----------------------------------------------------------------------------------------


def test_all_definitions_are_known_here():
    assert {path.stem for path in (HOME / "containers").glob("*.def")} == set(IMAGES)


@pytest.mark.parametrize("name", IMAGES)
def test_definition(name):
    recipe = recipes._load(HOME / "containers" / f"{name}.def")
    if recipe.base:
        assert recipe.base in IMAGES
        assert recipe.header["From"] == f"{recipes.IMAGES}/{recipe.base}.sif"
    else:
        # A dated image names its snapshot of Debian, from which containers/packages installs.
        assert recipe.header["Bootstrap"] == "docker"
        assert re.fullmatch(r"debian:bookworm-20\d{6}-slim", recipe.header["From"])
        assert "containers/packages" in recipe.pairs("files")
    labels = recipe.pairs("labels")
    assert labels["org.opencontainers.image.title"] == f"whitewire-{name}"
    assert labels[environment.REVISION] == "{{ commit }}"
    assert "packages " in recipe.script("post")
    assert not re.search(r"\b(apt|apt-get|pip) install", recipe.script("post")), "not through the pinned ways"
    assert "set -eu" in recipe.script("test")
    for source in recipe.pairs("files"):
        assert (HOME / source).is_file() or source.startswith(".cache/hibench/"), source


def test_scripts_of_definitions(tmp_path):
    scripts = [tmp_path / f"{name}-{section}" for name in IMAGES for section in ("post", "environment", "test")]
    for script in scripts:
        name, section = script.name.split("-")
        text = recipes._load(HOME / "containers" / f"{name}.def").script(section)
        script.write_text(f"#!/bin/sh\n{text}")
    argv = ["shellcheck", "--external-sources", "--exclude=SC2012", *scripts]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "name",
    ["containers/packages", "containers/python", "envs/measure.post-deploy.sh", "scripts/lock", "scripts/software",
     "workflow/scripts/whitewire"],
)  # fmt: skip
def test_scripts_can_be_run(name):
    assert (HOME / name).stat().st_mode & 0o111


def test_images_for_measuring_have_debians_list():
    """What set-up installs for measuring and for documents is in the images too."""
    text = " ".join(recipes._load(HOME / "containers" / f"{name}.def").script("post") for name in IMAGES)
    elsewhere = {"shellcheck", "golang-go", "r-cran-lintr", "r-cran-testthat", "chromium", "poppler-utils"}
    elsewhere |= {"make", "r-cran-rmarkdown"}  # for the commands of a person; for Quarto, which Debian has not
    elsewhere |= {package for package, where in CONDA.items() if where == "for tests only"}
    assert set(debian()) - set(text.split()) == elsewhere


@pytest.mark.parametrize("name", ["hadoop", "publish"])
def test_image_has_what_the_package_imports_and_no_more(name):
    post = recipes._load(HOME / "containers" / f"{name}.def").script("post")
    asked = re.search(r"^python-packages /opt/requirements\.txt (.+)$", post, re.MULTILINE)[1].split()
    names = [PYTHON.get(module, module) for module in imported(name)]
    assert sorted(asked) == sorted(LOCKED.get(package, package) for package in names)


def needed(names: Iterable[str]) -> set[str]:
    """Packages and all that they need, as the installed ones say."""
    found: set[str] = set()
    todo = list(names)
    while todo:
        name = canonicalize_name(todo.pop())
        if name not in found:
            found.add(name)
            asked = [Requirement(text) for text in metadata.requires(name) or ()]
            todo += [one.name for one in asked if not one.marker or one.marker.evaluate({"extra": ""})]
    return found


def python_of_an_image(folder: Path, *names: str) -> subprocess.CompletedProcess:
    """containers/python with its folder moved, and a pip that only shows what it was given."""
    (folder / "python3").write_text(
        '#!/bin/sh\nmkdir -p "$3/bin"; printf \'#!/bin/sh\\necho "$@"\\n\' >"$3/bin/pip"; chmod 755 "$3/bin/pip"\n'
    )
    (folder / "python3").chmod(0o755)
    script = (HOME / "containers" / "python").read_text().replace("/opt/python", f"{folder}/made")
    return subprocess.run(
        ["sh", "-c", script, "python", str(HOME / "envs" / "requirements.txt"), *names],
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}, capture_output=True, text=True,
    )  # fmt: skip


@pytest.mark.parametrize("names", [("jsonschema", "numpy", "pandas", "scipy"), ("snakemake", "pyyaml"), ("typst",)])
def test_python_of_an_image_is_the_part_of_the_lock_that_is_needed(tmp_path, names):
    done = python_of_an_image(tmp_path, *names)
    assert done.returncode == 0, done.stderr
    assert "--require-hashes" in done.stdout
    part = (tmp_path / "made" / "requirements.txt").read_text()
    assert set(re.findall(r"^([a-z0-9-]+)==", part, re.MULTILINE)) == needed(names)
    assert part.count("--hash=sha256:") > len(needed(names)), "hashes of the lock are left out"


def test_a_package_that_is_not_in_the_lock_is_reported(tmp_path):
    done = python_of_an_image(tmp_path, "numpy", "no-such-package")
    assert done.returncode != 0 and done.stderr == "python: no-such-package: not in the lock\n"


def test_arguments_are_filled_in():
    recipe = recipes._load(HOME / "containers" / "hibench.def")
    assert recipe.script("labels", commit="abc").count("abc") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Bootstrap: docker\n%post\ntrue\n", "From: found nothing"),
        ("Bootstrap: docker\nFrom: x\n%psot\n", "line 3: found %psot"),
        ("Bootstrap: docker\nFrom: x\n%post\n%post\n", "line 4: found %post"),
        ("Bootstrap docker\n", "line 1: found 'Bootstrap docker'"),
    ],
)
def test_a_wrong_definition_is_reported(tmp_path, text, said):
    path = tmp_path / "x.def"
    path.write_text(text)
    with pytest.raises(UserError, match=re.escape(said)):
        recipes._load(path)


SNAPSHOT = """\
Types: deb
# http://snapshot.example.org/archive/debian/20250520T000000Z
URIs: http://mirror.example.org/debian
Suites: bookworm bookworm-updates
"""
ONE_LINE = """\
# deb http://snapshot.example.org/archive/debian/20250520T000000Z bookworm main
deb http://mirror.example.org/debian bookworm main
"""
PLAIN = "deb [signed-by=/k.gpg] http://mirror.example.org/debian bookworm main\n"


@pytest.mark.parametrize(
    ("name", "before", "wanted", "unwanted"),
    [
        ("sources.list.d/debian.sources", SNAPSHOT, "URIs: http://snapshot.example.org/", "mirror.example.org"),
        ("sources.list", ONE_LINE, "deb http://snapshot.example.org/archive", "mirror.example.org"),
        ("sources.list", PLAIN, "http://mirror.example.org/debian bookworm", "snapshot"),
    ],
)
def test_packages_come_from_the_snapshot_that_the_base_image_names(tmp_path, name, before, wanted, unwanted):
    """containers/packages with its folders moved and an apt-get that only shows what it was given."""
    sources = tmp_path / "apt" / name
    (tmp_path / "apt" / "sources.list.d").mkdir(parents=True)
    sources.write_text(before)
    (tmp_path / "apt-get").write_text(f'#!/bin/sh\necho "$*"; cat {tmp_path}/apt/sources.list.d/also.list; true\n')
    (tmp_path / "apt-get").chmod(0o755)
    script = (HOME / "containers" / "packages").read_text()
    moved = script.replace("/etc/apt/", f"{tmp_path}/apt/").replace("/var/", f"{tmp_path}/var/")
    for _ in range(2):  # a second call finds what the first one left
        done = subprocess.run(
            ["sh", "-c", moved, "packages", "--also", "bullseye", "one", "two"],
            env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert wanted in sources.read_text()
        assert not [line for line in sources.read_text().splitlines() if unwanted in line and line[0] != "#"]
    assert done.stdout.count("install one two") == 1
    host = "snapshot" if "snapshot" in wanted else "mirror"
    assert re.search(rf"deb \[signed-by=\S+\] http://{host}\S+ bullseye main", done.stdout)


# --- rules ------------------------------------------------------------------------------------------


def test_rules_are_seen():
    assert {name for _, name, _ in RULES} >= {"design", "measure", "tidy", "analysis", "paper", "index", "container"}


@pytest.mark.parametrize(("file", "name", "body"), [rule for rule in RULES if "shell:" in rule[2]])
def test_every_rule_has_an_environment_and_an_image(file, name, body):
    found = re.search(r'conda:\n +"\.\./\.\./(envs/\w+\.yaml)"', body)
    assert found and (HOME / found[1]).is_file(), name
    image = re.search(r'container:\n +(?:plan\.images\.of\("(\w+)"\)|(None))', body)
    assert image, f"{file}: {name} has no container:"
    assert image[1] in IMAGES if image[1] else name == "container", "only the rule that makes images runs in none"


def first_of_a_rule() -> str:
    return preamble(Plan(["a"], "emulated", "smoke", 1, {}))


def test_an_image_that_was_not_made_is_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        Images(used=True).of("publish")(SimpleNamespace())
    assert ended.value.code == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and ".cache/containers/publish.sif" in said[0] and "snakemake containers" in said[0]
    assert Images().of("publish")(SimpleNamespace()) == ".cache/containers/publish.sif"


def test_a_testbed_with_hibench_gets_its_image():
    for hibench, name in ((False, "hadoop"), (True, "hibench")):
        made = Images(hibench=hibench)
        assert made.of("hadoop")(SimpleNamespace()) == f".cache/containers/{name}.sif"
        assert made.of("publish")(SimpleNamespace()) == ".cache/containers/publish.sif"


def test_measurements_of_a_site_run_outside_of_images():
    """They need this machine's ssh or srun; hosts have an image of their own (`image` of the testbed)."""
    assert Images(used=True, site=True).of("hadoop")(SimpleNamespace()) is None


def test_containers_see_the_repository_and_with_both_deployments_conda(monkeypatch):
    monkeypatch.setenv("APPTAINER_BIND", "/scratch")
    for name in ("APPTAINERENV_PREPEND_PATH", "SINGULARITY_BIND", "SINGULARITYENV_PREPEND_PATH"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    show_containers([Path("/repo")])
    assert os.environ["APPTAINER_BIND"] == "/scratch,/repo"
    assert "APPTAINERENV_PREPEND_PATH" not in os.environ
    show_containers([Path("/repo"), Path("/opt/conda")])
    assert os.environ["APPTAINER_BIND"] == "/scratch,/repo,/opt/conda"
    assert os.environ["SINGULARITY_BIND"] == "/repo,/opt/conda"
    assert os.environ["APPTAINERENV_PREPEND_PATH"] == os.environ["SINGULARITYENV_PREPEND_PATH"] == "/opt/conda/condabin"


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_is_made_again_when_what_it_is_made_of_changes(image):
    files = image_made_of(image)
    assert files[0] == f"containers/{image}.def"
    copied = [file for file in files if not file.endswith(".sif") and not file.startswith(".cache/hibench/")]
    assert all((HOME / file).is_file() for file in copied)
    assert [file for file in files if file.endswith(".sif")] == {
        "probes": [], "publish": [], "hadoop": [".cache/containers/probes.sif"],
        "hibench": [".cache/containers/hadoop.sif"],
    }[image]  # fmt: skip


# --- the command of a rule ----------------------------------------------------------------------------


def shell(command: str, **environ: str) -> subprocess.CompletedProcess:
    """A command as the Snakefile has rules run it."""
    return subprocess.run(
        ["bash", "-c", f"set -euo pipefail; {first_of_a_rule()}; {command}"],
        env={**os.environ, **environ}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


def test_the_command_is_this_checkouts_with_the_python_on_the_path(tmp_path):
    """Another Python, in which Whitewire is not installed, runs this checkout's code."""
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\necho "Python of the environment" >&2\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    done = shell("exec setpriv --pdeathsig KILL whitewire --version", PATH=f"{python.parent}:/usr/bin:/bin")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("whitewire ")
    assert "Python of the environment" in done.stderr
    elsewhere = tmp_path / "whitewire.py"
    elsewhere.write_text("raise SystemExit('the one of the current folder')")
    assert shell(f"cd {tmp_path}; whitewire --version").stdout == done.stdout


def test_a_path_with_a_space_or_quote_is_no_matter(monkeypatch):
    monkeypatch.setattr("whitewire.workflow.preamble.HOME", Path("/a b/it's"))
    done = subprocess.run(["bash", "-c", f'{first_of_a_rule()}; echo "$PATH"'], capture_output=True, text=True)
    assert done.stdout.startswith("/a b/it's/workflow/scripts:")
    assert done.stdout.endswith(":/a b/it's/workflow/fallback\n")


def test_stand_ins_come_last():
    done = shell("command -v setpriv hostname")
    assert "fallback" not in done.stdout


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_stand_in_for_setpriv(tmp_path):
    """The command ends when its parent is killed, and gets its arguments and its exit status."""
    setpriv = str(HOME / "workflow" / "fallback" / "setpriv")
    done = subprocess.run([setpriv, "--pdeathsig", "KILL", "--", "sh", "-c", 'echo "$1"; exit 7', "sh", "a b"],
                          capture_output=True, text=True)  # fmt: skip
    assert (done.returncode, done.stdout) == (7, "a b\n")
    pid_file = tmp_path / "pid"
    parent = subprocess.Popen(
        ["sh", "-c", f"{setpriv} --pdeathsig KILL sh -c 'echo $$ > {pid_file}; exec sleep 60'; true"]
    )
    deadline = time.monotonic() + 10
    while not (pid_file.exists() and pid_file.read_text().strip()) and time.monotonic() < deadline:
        time.sleep(0.02)
    child = int(pid_file.read_text())
    assert alive(child)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    while alive(child) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(child)
    for argv in ([], ["--reuid", "0", "true"], ["--pdeathsig", "KILL", "no-such-command"]):
        done = subprocess.run([setpriv, *argv], capture_output=True, text=True)
        assert done.returncode != 0 and len(done.stderr.splitlines()) == 1, done.stderr


def test_stand_in_for_hostname():
    hostname = str(HOME / "workflow" / "fallback" / "hostname")
    script = f"{hostname} other; {hostname}"
    done = subprocess.run(["unshare", "--user", "--map-root-user", "--uts", "sh", "-c", script],
                          capture_output=True, text=True)  # fmt: skip
    assert done.stdout == "other\n"


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({}, None),
        ({"CONDA_PREFIX": "/home/user/miniforge3"}, None),  # active, but Python is not from it
        ({"CONDA_PREFIX": "{prefix}"}, "conda-0123abcd_"),
        ({"APPTAINER_CONTAINER": "/x/.cache/containers/hadoop.sif"}, "hadoop"),
        ({"SINGULARITY_CONTAINER": "/x/hibench.sif"}, "hibench"),
        ({"APPTAINER_CONTAINER": "/x/hadoop.sif", "CONDA_PREFIX": "{prefix}"}, "conda-0123abcd_"),
    ],
)
def test_folder_for_what_a_measurement_compiles(tmp_path, environ, name):
    prefix = tmp_path / "0123abcd_"
    (prefix / "bin").mkdir(parents=True)
    path = "/usr/bin:/bin"
    if "{prefix}" in environ.values():
        (prefix / "bin" / "python3").symlink_to(sys.executable)
        path = f"{prefix}/bin:{path}"
    given = {key: value.format(prefix=prefix) for key, value in environ.items()}
    done = subprocess.run(
        [str(HOME / "scripts" / "software"), "--folder"], env={"PATH": path, **given}, capture_output=True, text=True
    )
    assert (done.returncode == 0) == (name is not None)
    assert done.stdout == (f"{HOME}/.cache/software/{name}\n" if name else "")


def test_software_says_what_it_wants():
    for argv in ([], ["--fodler"]):
        done = subprocess.run([str(HOME / "scripts" / "software"), *argv], capture_output=True, text=True)
        assert done.returncode == 2 and "expected a folder or --folder" in done.stderr


def test_an_image_of_another_release_of_hadoop_is_reported(tmp_path):
    """Images have no Maven: an image whose jars are not those of the checkout cannot be helped from inside."""
    (tmp_path / "pom.xml").write_text("<project/>")
    for name in ("dirname", "sha256sum", "cut", "cat", "rm", "cmp", "date", "flock", "mkdir", "find", "sort"):
        (tmp_path / name).symlink_to(shutil.which(name))
    done = subprocess.run(
        ["/bin/sh", str(HOME / "scripts" / "software"), str(tmp_path / "made")],
        env={"PATH": str(tmp_path), "WHITEWIRE_HADOOP": str(tmp_path)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2
    said = done.stderr.splitlines()[-1]
    assert said.startswith("setup: error: found no mvn") and str(tmp_path) in said and said.endswith("image again")


# --- the record -------------------------------------------------------------------------------------


@pytest.fixture
def fresh():
    environment.software.cache_clear()
    yield
    environment.software.cache_clear()


def test_software_of_this_machine(fresh):
    found = environment.software()
    assert re.fullmatch(r"[0-9a-f]{64}", found["sha256"])
    assert f"numpy=={locked()['numpy']}" in found["python_packages"]
    assert environment.commit()["software"] == found["sha256"]
    if "debian_packages" in found:
        assert any(re.fullmatch(r"iproute2=\d\S*", package) for package in found["debian_packages"])


def test_code_that_no_git_knows_is_of_an_unknown_commit(fresh, tmp_path, monkeypatch):
    """An unpacked archive; the same within a repository that is not its own; a git that fails."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    monkeypatch.setattr(os, "environ", environ | {"GIT_CEILING_DIRECTORIES": str(tmp_path)})
    home = tmp_path / "outer" / "whitewire"
    home.mkdir(parents=True)
    monkeypatch.setattr(environment, "HOME", home)
    unknown = {"commit": "unknown", "modified": True}

    def code():
        return {name: environment.commit()[name] for name in unknown}

    assert code() == unknown
    git = ["git", "-c", "user.name=a", "-c", "user.email=a", "-C"]
    for folder, expected in ((home.parent, unknown), (home, None)):
        subprocess.run([*git, str(folder), "init", "--quiet"], check=True)
        subprocess.run([*git, str(folder), "commit", "--quiet", "--allow-empty", "--message", "x"], check=True)
        head = subprocess.check_output(["git", "-C", str(folder), "rev-parse", "HEAD"], text=True).strip()
        assert code() == (expected or {"commit": head, "modified": False})
    (home / ".git" / "index").write_text("no index")
    assert code() == unknown


def test_software_in_a_container(fresh, tmp_path, monkeypatch):
    image, labels = tmp_path / "hadoop.sif", tmp_path / "labels.json"
    image.write_bytes(b"an image")
    labels.write_text(json.dumps({environment.REVISION: "c0ffee"}))
    before = environment.software()["sha256"]
    environment.software.cache_clear()
    monkeypatch.setattr(environment, "LABELS", labels)
    monkeypatch.setenv("SINGULARITY_CONTAINER", str(image))
    found = environment.software()
    assert found["deployment"] == "container"
    assert found["container"] == {
        "image": str(image), "image_sha256": hashlib.sha256(b"an image").hexdigest(), "definition_commit": "c0ffee",
    }  # fmt: skip
    assert found["sha256"] != before


def test_an_image_that_cannot_be_read_is_recorded_as_that(tmp_path):
    found = environment.container(str(tmp_path / "gone.sif"))
    assert found["image_sha256"] == "unknown (No such file or directory)"


def test_software_in_a_conda_environment(fresh, tmp_path, monkeypatch):
    prefix = tmp_path / "0123abcd_"
    (prefix / "conda-meta").mkdir(parents=True)
    (prefix / "bin").mkdir()
    (prefix / "bin" / "java").write_text("#!/bin/sh\n")
    (prefix / "bin" / "java").chmod(0o755)
    (prefix / "conda-meta" / "openjdk-17.0.15-h5ddf6bc_0.json").write_text("{}")
    monkeypatch.setenv("CONDA_PREFIX", str(prefix))
    assert environment.conda_prefix() is None, "active only"
    monkeypatch.setenv("PATH", f"{prefix}/bin:{os.environ['PATH']}")
    found = environment.software()
    assert found["deployment"] == "conda environment"
    assert found["conda"]["prefix"] == str(prefix)
    assert found["conda"]["packages"] == ["openjdk-17.0.15-h5ddf6bc_0"]
    first = found["conda"]["packages_sha256"]
    (prefix / "conda-meta" / "fio-3.42-h000_0.json").write_text("{}")
    assert environment.conda(prefix)["packages_sha256"] != first


def test_no_dpkg_no_debian_packages(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    assert environment.debian_packages(HOME / "envs" / "debian-packages.txt") == []


def test_what_snakemakes_report_asks_for_is_installed_without_the_tests_packages():
    """README names `--report`, and the tests' own packages would hide that it lacks one."""
    source = Path(snakemake.report.__file__).parent
    said = "".join(path.read_text(encoding="utf-8") for path in source.rglob("*.py"))
    asked = set(re.findall(r"Python package (\S+) must be installed", said))
    assert "pygments" in asked and asked <= set(locked())
