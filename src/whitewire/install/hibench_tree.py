"""Makes a private copy of HiBench's public tree: fetches it, converts it to Python 3, builds it for this Hadoop.

The copy differs from HiBench's release. `prepared.json` beside it gives its commit, the changes and the programs that
work. The use of a tree by runs is in hibench.py.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path, PurePosixPath

from whitewire import atomic
from whitewire.errors import UserError
from whitewire.paths import HIBENCH, temporary
from whitewire.tools import hibench
from whitewire.tools import hibench_report as parser
from whitewire.tools.hibench_report import hibench_release
from whitewire.workloads.hibench_copy import DESCRIPTION, NOT_COPIED, PINNED_COMMIT, TREE, Prepared, digest_of

SOURCE = f"https://github.com/Intel-bigdata/HiBench/archive/{PINNED_COMMIT}.tar.gz"
DIGESTS = {
    "20e1840ec6ba5bc49ad932f400fdb670b42628da409025b124c51843ecc936fa": PINNED_COMMIT,
    "38a70908af7a3354b4da6d208751637b9e5eade114b929870ebd554abb4f882e": "b5628352aa06420784931711b9a2279f6b386d45",
}
"""Commits by the digest of those parts of their tree that runs use."""
VALUES = {
    PINNED_COMMIT: "ae93856cc65bd051f4247e2105384e8a85f5fc6071f1979f51f974e5e94cc898",
    "b5628352aa06420784931711b9a2279f6b386d45": "8e369dc9297740b1e2c358ccb8d772f7c81dd4237217e73d7059d8fcb577368b",
}
"""Digests of load_config.py's results under Python 2.7, by commit; see values_of()."""
_MOST_BYTES, _PIECE, _SECONDS = 200_000_000, 1 << 20, 300
"""Largest tree or archive and size of a read, in bytes; longest wait for a connection or a program, in seconds."""
LIBRARY = "autogen/src/main/java/org/apache/hadoop/fs/dfsioe"
"""Sources of `dfsioe`, the only sources of HiBench that its micro programs need."""
PYTHON_2 = re.compile(r"^#!.*\bpython(2(\.\d+)?)?[ \t]*$", re.MULTILINE)
NEW_FIRST_LINE = "#!/usr/bin/env python3"


def prepare_tree(source: str, hadoop: Path, folder: Path = HIBENCH) -> Prepared:
    """Make the copy from a folder, an archive, an address or (empty) the pinned commit, for the jars in `hadoop`.

    An earlier copy is replaced only when the new one is complete. Raises UserError.
    """
    with atomic.folder(folder) as new:
        tree = new / TREE
        _say(f"copying {source or SOURCE}")
        bring(source or SOURCE, tree)
        digest = digest_of(tree)
        commit = DIGESTS.get(digest, "")
        if not source and commit != PINNED_COMMIT:
            raise UserError(
                f"{SOURCE}: found a tree of digest {digest[:16]}, expected that of commit {PINNED_COMMIT[:12]}; "
                "get the tree in another way, then `make hibench HIBENCH=…`"
            )
        conf = _text(tree / "conf" / "hibench.conf")
        release = hibench_release(_text(tree / "pom.xml"), conf)
        _say(f"HiBench {release}, " + (f"commit {commit[:12]}" if commit else "of an unknown commit"))
        changed = to_python_3(tree)
        _say(f"{len(changed)} scripts converted to Python 3")
        values = check_values(tree, commit, changed)
        built, not_built = build(tree, parser.values(conf), hadoop)
        python = ".".join(map(str, sys.version_info[:3]))
        converter = f"fissix {version('fissix')}"
        found = Prepared(commit, digest, release, source or SOURCE, python, converter, values, built, not_built)
        for program in not_built:
            _say(f"left out: {found.lacks(program)}")
        (new / DESCRIPTION).write_text(atomic.as_json(asdict(found)))
    return found


def _say(line: str) -> None:
    print(f"hibench: {line}", file=sys.stderr, flush=True)


def bring(source: str, tree: Path) -> None:
    """Copy HiBench from a folder, an archive or an address to `tree`. Raises UserError if the source has none."""
    if re.match(r"https?://", source):
        with tempfile.NamedTemporaryFile(dir=tree.parent, suffix=".archive") as file:
            _download(source, Path(file.name))
            _write(_members(Path(file.name), source), tree, source)
        return
    path = Path(source).expanduser()
    if path.is_dir():
        _write(_files(path), tree, source)
    elif path.is_file():
        _write(_members(path, source), tree, source)
    else:
        raise UserError(f"HIBENCH: {source}: no such folder or archive; give a tree of HiBench, or the address of one")


def _download(address: str, path: Path) -> None:
    try:
        with urllib.request.urlopen(address, timeout=_SECONDS) as answer, path.open("wb") as file:
            while piece := answer.read(_PIECE):
                if file.tell() + len(piece) > _MOST_BYTES:
                    raise _too_large(address)
                file.write(piece)
    except (OSError, ValueError) as error:
        raise UserError(f"HIBENCH: {address}: {error}; without a network give a folder or an archive that you have: "
                        "`make hibench HIBENCH=…`") from None  # fmt: skip


def _too_large(source: str) -> UserError:
    return UserError(f"HIBENCH: {source}: found more than {_MOST_BYTES / 1e6:.0f} MB, expected HiBench's tree")


_Member = tuple[str, bytes, bool]
"""A file of a tree: path, content (cut off at _MOST_BYTES + 1), whether it is executable."""


def _files(folder: Path) -> Iterator[_Member]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and not NOT_COPIED.fullmatch(str(path.relative_to(folder))):
            with path.open("rb") as content:
                yield str(path.relative_to(folder)), content.read(_MOST_BYTES + 1), os.access(path, os.X_OK)


def _members(path: Path, source: str) -> Iterator[_Member]:
    """Files of an archive, with paths below its only folder."""
    if tarfile.is_tarfile(path):
        with tarfile.open(path) as archive:
            for one in archive:
                content = archive.extractfile(one) if one.isfile() else None
                if content is not None and (name := _below(one.name)):
                    yield name, content.read(_MOST_BYTES + 1), bool(one.mode & 0o100)
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if not entry.is_dir() and (name := _below(entry.filename)):
                    with archive.open(entry) as packed:
                        yield name, packed.read(_MOST_BYTES + 1), bool(entry.external_attr >> 16 & 0o100)
    else:
        raise UserError(f"HIBENCH: {source}: found neither a tar nor a zip archive, expected one of HiBench's tree")


def _below(name: str) -> str:
    """A member's path in the tree; empty for one that is left out or would lie outside."""
    parts = PurePosixPath(name).parts[1:]
    path = "/".join(parts)
    return "" if not parts or ".." in parts or name.startswith("/") or NOT_COPIED.fullmatch(path) else path


def _write(members: Iterable[_Member], tree: Path, source: str) -> None:
    total = 0
    try:
        for name, content, program in members:
            total += len(content)
            if total > _MOST_BYTES:
                raise _too_large(source)
            path = tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o755 if program or name.endswith((".sh", ".py")) else 0o644)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
        raise UserError(f"HIBENCH: {source}: {error}; get it again") from None
    for needed in ("bin/workloads", "bin/functions/load_config.py", "conf/hibench.conf"):
        if not (tree / needed).exists():
            raise UserError(f"HIBENCH: {source}: found no {needed}, expected the root of a tree of HiBench")


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.is_file() else ""


# --- Python 3 -------------------------------------------------------------------------------------------


def to_python_3(tree: Path) -> dict[str, str]:
    """Convert the Python 2 scripts of bin/functions to Python 3 in place. Returns name → original text.

    Raises UserError for one that the converter cannot read.
    """
    changed = {}
    for path in sorted((tree / "bin" / "functions").glob("*.py")):
        text = path.read_text()
        if not path.name.startswith("test_") and (PYTHON_2.match(text.partition("\n")[0]) or _is_python_2(text)):
            changed[path.name] = text
            path.write_text(PYTHON_2.sub(NEW_FIRST_LINE, text.rstrip("\n") + "\n", count=1))
    if not changed:
        return changed
    paths = [str(tree / "bin" / "functions" / name) for name in changed]
    argv = [sys.executable, "-m", "fissix", "--write", "--nobackups", "--no-diffs", *paths]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=_SECONDS)
    for path in map(Path, paths):
        if done.returncode != 0 or _is_python_2(path.read_text()):
            said = (done.stderr.strip() or "no reason given").splitlines()[-1]
            raise UserError(f"{path.name}: cannot be converted to Python 3: {said}")
    return changed


def _is_python_2(text: str) -> bool:
    try:
        compile(text, "script", "exec")
    except SyntaxError:
        return True
    return False


GIVEN = """\
hibench.hadoop.home /opt/hadoop
hibench.hadoop.executable /opt/hadoop/bin/hadoop
hibench.hadoop.configure.dir /opt/hadoop/etc/hadoop
hibench.hdfs.master hdfs://namenode:8020
hibench.hadoop.release apache
hibench.hadoop.examples.jar /opt/hadoop/examples.jar
hibench.hadoop.examples.test.jar /opt/hadoop/tests.jar
hibench.sleep.job.jar /opt/hadoop/sleep.jar
java.bin /opt/java/bin/java
hibench.masters.hostnames 192.0.2.1
hibench.slaves.hostnames 192.0.2.2 192.0.2.3
"""
"""A configuration with all values, so that load_config.py does not search for any."""


def values_of(tree: Path, python: str, program: str) -> str:
    """The variables that load_config.py sets for a micro program's scripts, sorted; `@` replaces the tree's path.

    Raises UserError with its last line if it fails.
    """
    with tempfile.TemporaryDirectory(dir=temporary(), prefix="hibench-") as made:
        folder = Path(made)
        (folder / "conf").mkdir()
        own = _text(tree / "conf" / "hibench.conf")
        (folder / "conf" / "hibench.conf").write_text(f"{own}\n{GIVEN}hibench.report.dir {folder}/report\n")
        script, conf = tree / "bin/functions/load_config.py", tree / f"conf/workloads/micro/{program}.conf"
        argv = [python, str(script), str(folder / "conf"), str(conf), f"/workload/{program}/hadoop"]
        environment = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1",
                       "RES_OPTIONS": "timeout:1 attempts:1"}  # fmt: skip
        done = subprocess.run(argv, capture_output=True, text=True, env=environment, timeout=60)
        path = folder / f"report/{program}/hadoop/conf/{program}.conf"
        if done.returncode != 0 or not path.is_file():
            said = (done.stderr.strip() or "nothing").splitlines()[-1]
            raise UserError(f"load_config.py with {python}: {program}: {said}")
        lines = path.read_text().replace(str(tree), "@").replace(str(folder), "@report").splitlines()
        return "\n".join(sorted(line for line in lines if re.match(r"\w+=", line)))


def check_values(tree: Path, commit: str, before: Mapping[str, str]) -> str:
    """Compare the converted load_config.py's results with those under Python 2. Returns how they were compared.

    For commits in VALUES the recorded results count; otherwise a Python 2 on this machine runs the original scripts
    `before`. Raises UserError if results differ.
    """
    programs = [name for name in hibench.MICRO if (tree / f"conf/workloads/micro/{name}.conf").is_file()]
    now = {name: values_of(tree, sys.executable, name) for name in programs}
    if not before:
        return "not compared: its scripts are no Python 2"
    digest = hashlib.sha256("\n".join(now[name] for name in sorted(now)).encode()).hexdigest()
    if commit in VALUES:
        if digest != VALUES[commit]:
            raise UserError("load_config.py: under Python 3 it gives other values than under Python 2.7; report this")
        return "the same as recorded of Python 2.7"
    python = next((path for name in ("python2.7", "python2") if (path := shutil.which(name)) and _runs(path)), None)
    if python is None:
        return "not compared: no Python 2 here"
    with tempfile.TemporaryDirectory(dir=tree.parent, prefix="python2-") as folder:
        old = Path(folder) / "tree"
        shutil.copytree(tree / "bin" / "functions", old / "bin" / "functions")
        shutil.copytree(tree / "conf", old / "conf")
        for name, text in before.items():
            (old / "bin" / "functions" / name).write_text(text)
        for name in programs:
            differ = set(values_of(old, python, name).splitlines()) ^ set(now[name].splitlines())
            if differ:
                line = min(differ)[:100]
                raise UserError(
                    f"load_config.py: {name}: under Python 3 it gives other values than under {python}: {line}"
                )
    return f"the same as under {python}"


def _runs(python: str) -> bool:
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        return subprocess.run([python, "--version"], capture_output=True, timeout=20).returncode == 0
    return False


# --- building -------------------------------------------------------------------------------------------


def build(tree: Path, conf: Mapping[str, str], hadoop: Path) -> tuple[list[str], dict[str, str]]:
    """(programs built for this Hadoop, program → why it was not built). HiBench's scripts find the jar at its place."""
    sources = sorted(str(path) for path in (tree / LIBRARY).glob("*.java"))
    place = conf.get("hibench.hibench.datatool.dir", "").replace("${hibench.home}", str(tree))
    if not sources or not place.startswith(f"{tree}/"):
        return [], {"dfsioe": f"found no {LIBRARY}"}
    with tempfile.TemporaryDirectory(dir=temporary(), prefix="hibench-") as classes:
        argv = ["javac", "-nowarn", "-proc:none", "-encoding", "UTF-8", "-cp", f"{hadoop}/*", "-d", classes, *sources]
        try:
            done = subprocess.run(argv, capture_output=True, text=True, timeout=_SECONDS)
        except OSError as error:
            return [], {"dfsioe": f"javac: {error.strerror}"}
        if done.returncode != 0:
            why = next((line for line in done.stderr.splitlines() if ": error: " in line), done.stderr.strip()[:200])
            return [], {"dfsioe": f"does not compile for this Hadoop: {why.replace(f'{tree / LIBRARY}/', '')}"}
        jar = Path(place)
        jar.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as file:
            for path in sorted(Path(classes).rglob("*.class")):
                file.write(path, path.relative_to(classes).as_posix())
    return ["dfsioe"], {}
