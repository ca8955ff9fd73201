"""Files and folders that are there whole or not at all: written beside, then renamed into place. Records as JSON."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

PART = ".part-"
"""How the name begins of what is not whole yet; a killed writer may leave such a file or folder."""
_REPLACED = PART + PART
"""How the name begins of a folder that another one is about to replace."""


LEAST_FREE_BYTES = 1 << 16
"""A disk with less free is full."""


def check_space(path: Path | str) -> None:
    """Raise OSError (no space left) where the disk that a file or folder lies on, or would, is full.

    For what others write there: a daemon whose log is cut off says nothing, and whoever waits for a word waits long.
    """
    there = next(each for each in (Path(path), *Path(path).absolute().parents) if each.exists())
    disk = os.statvfs(there)
    free = disk.f_bfree if os.geteuid() == 0 else disk.f_bavail
    if disk.f_blocks and free * disk.f_frsize < LEAST_FREE_BYTES:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def as_json(record: Any, **options: Any) -> str:
    """A record as the text of a JSON file; `options` are those of json.dumps."""
    return json.dumps(record, indent=1, **options) + "\n"


def write(path: Path | str, content: str | bytes) -> Path:
    """Write a file, text as UTF-8; what was there before stays until all of it is on the disk.

    Of several writers of one file each waits for the one before. Raises OSError, which names `path` even where the
    system names none (a full disk).
    """
    path = Path(path)
    beside = path.with_name(PART + path.name)
    with _named(path, beside), _held(beside) as part, _cleared(beside):
        part.write(content.encode() if isinstance(content, str) else content)
        part.flush()
        os.fsync(part.fileno())  # a full disk of a server may fail only now
        beside.replace(path)
        _sync(path.parent)
    return path


@contextlib.contextmanager
def file(target: Path) -> Iterator[Path]:
    """`with file(target) as part:` gives the path of a file to write, which becomes `target`: for what is too large for
    `write`. When the block ends in an exception nothing is left of it. Raises OSError.
    """
    part = target.with_name(PART + target.name)
    with _named(target, part), _held(part), _cleared(part):
        yield part
        _sync(part)
        part.replace(target)
        _sync(target.parent)


@contextlib.contextmanager
def folder(target: Path) -> Iterator[Path]:
    """`with folder(target) as part:` gives an empty folder to fill, which becomes `target`; an old one is replaced.

    When the block ends in an exception nothing is left of it. Of several writers of one folder each waits for the one
    before. Raises OSError.
    """
    part, replaced = target.with_name(PART + target.name), target.with_name(_REPLACED + target.name)
    with _named(target, part), _closed(_held_folder(part)), _cleared(part):
        if replaced.exists() and not target.exists():
            replaced.rename(target)
        for left in part.iterdir():
            shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
        yield part
        for path in (*part.rglob("*"), part):
            _sync(path)
        _exchange(part, target)
        _sync(target.parent)


@contextlib.contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Be the only process that changes a folder; others that do the same wait. Raises OSError."""
    with _closed(_held_folder(folder)):
        yield


def remove(folder: Path) -> None:
    """Remove a folder in one step: a kill leaves the rest of it under another name, as of a writer. Raises OSError."""
    part = folder.with_name(PART + folder.name)
    if part.exists():
        shutil.rmtree(part)
    folder.rename(part)
    shutil.rmtree(part)


def clear(folder: Path) -> None:
    """Remove what killed writers left in a folder; what one was about to replace is in its place again."""
    for part in folder.glob(f"{PART}*"):
        target = folder / part.name.removeprefix(_REPLACED)
        if part.name.startswith(_REPLACED) and not target.exists():
            part.rename(target)
        elif part.is_dir():
            shutil.rmtree(part)
        else:
            part.unlink()


def _held(beside: Path) -> BinaryIO:
    """The empty file `beside`, whose lock is this writer's until it is closed. Raises OSError."""
    while True:
        file = beside.open("ab")
        if _locked(file.fileno(), beside):
            file.truncate(0)
            return file
        file.close()


def _held_folder(beside: Path) -> int:
    """A descriptor of the folder `beside`, made where it is not there, with its lock. Raises OSError."""
    while True:
        beside.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(beside, os.O_RDONLY | os.O_DIRECTORY)
            if _locked(descriptor, beside):
                return descriptor
            os.close(descriptor)


@contextlib.contextmanager
def _closed(descriptor: int) -> Iterator[None]:
    try:
        yield
    finally:
        os.close(descriptor)


def _locked(descriptor: int, path: Path) -> bool:
    """Wait for the lock; return whether `path` is still the same, or its writer before has put it in place."""
    with contextlib.suppress(OSError):  # a file system without locks
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), path.stat())
    return False


def _sync(path: Path) -> None:
    """Have a file, or a folder's names, on the disk: a rename alone may outlive a power cut without its content."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _exchange(new: Path, target: Path) -> None:
    if not target.exists():
        new.rename(target)
        return
    old = target.with_name(_REPLACED + target.name)
    if old.exists():
        shutil.rmtree(old)
    target.rename(old)
    new.rename(target)  # ended before it, `folder` or `clear` takes the old one back
    shutil.rmtree(old)


@contextlib.contextmanager
def _cleared(beside: Path) -> Iterator[None]:
    """Remove `beside` when the block fails; whoever still waits for its lock has no right to."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            shutil.rmtree(beside) if beside.is_dir() else beside.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _named(path: Path, beside: Path) -> Iterator[None]:
    """An OSError without a path, or of `beside`, is one of `path`."""
    try:
        yield
    except OSError as error:
        if error.errno and _is_of(error.filename, beside):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def _is_of(name: object, beside: Path) -> bool:
    """Whether an error without a name, or with this one, is of `beside` or below it."""
    return not isinstance(name, str) or beside in (Path(name), *Path(name).parents)
