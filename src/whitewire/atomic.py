"""Write files and folders whole or not at all: beside the target first, then renamed into place. Records as JSON."""

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
"""Prefix of the names of unfinished files and folders; a killed writer may leave some behind."""
_REPLACED = PART + PART
"""Prefix of the name of an old folder while a new one takes its place."""


LEAST_FREE_BYTES = 1 << 16
"""A disk with fewer free bytes counts as full."""


def check_space(path: Path | str) -> None:
    """Raise OSError (no space left) if the disk that holds a file or folder, or would hold it, is full.

    For files that other programs write: a daemon whose log is cut off prints nothing, and whoever waits for its output
    waits long.
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
    """Write a file, text as UTF-8; the previous content stays until the new one is on the disk.

    Several writers of one file take turns. Raises OSError, which names `path` even where the
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
    """`with file(target) as part:` gives the path of a file to write, which becomes `target`: for content too
    large for `write`. Nothing is left if the block ends in an exception. Raises OSError.
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

    Nothing is left if the block ends in an exception. Several writers of one folder take turns. Raises OSError.
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
def hold_folder(folder: Path) -> Iterator[None]:
    """Be the only process that changes a folder; others that do the same wait. Raises OSError."""
    with _closed(_held_folder(folder)):
        yield


def remove(folder: Path) -> None:
    """Remove a folder in one step: after a kill its rest has the name of an unfinished folder. Raises OSError."""
    part = folder.with_name(PART + folder.name)
    if part.exists():
        shutil.rmtree(part)
    folder.rename(part)
    shutil.rmtree(part)


def clear(folder: Path) -> None:
    """Remove what killed writers left in a folder, and put back what one was about to replace."""
    for part in folder.glob(f"{PART}*"):
        target = folder / part.name.removeprefix(_REPLACED)
        if part.name.startswith(_REPLACED) and not target.exists():
            part.rename(target)
        elif part.is_dir():
            shutil.rmtree(part)
        else:
            part.unlink()


def _held(beside: Path) -> BinaryIO:
    """Open, lock and empty the file `beside`; the lock is held until it is closed. Raises OSError."""
    while True:
        file = beside.open("ab")
        if _locked(file.fileno(), beside):
            file.truncate(0)
            return file
        file.close()


def _held_folder(beside: Path) -> int:
    """Make the folder `beside` if it is missing and lock it; returns its descriptor. Raises OSError."""
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
    """Wait for the lock; return False if the previous writer has moved `path` into place, so that it is gone or new."""
    with contextlib.suppress(OSError):  # a file system without locks
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), path.stat())
    return False


def _sync(path: Path) -> None:
    """Flush a file, or a folder's entries, to the disk: a rename may survive a power cut without the content."""
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
    new.rename(target)  # if killed before this, `folder` or `clear` puts the old one back
    shutil.rmtree(old)


@contextlib.contextmanager
def _cleared(beside: Path) -> Iterator[None]:
    """Remove `beside` when the block fails. Only the lock's holder may enter: waiting writers must not remove it."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            shutil.rmtree(beside) if beside.is_dir() else beside.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _named(path: Path, beside: Path) -> Iterator[None]:
    """Raise an OSError that names no path, or one at or below `beside`, as one that names `path`."""
    try:
        yield
    except OSError as error:
        if error.errno and _is_of(error.filename, beside):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def _is_of(name: object, beside: Path) -> bool:
    """Whether an error's file name is missing, or is `beside` or below it."""
    return not isinstance(name, str) or beside in (Path(name), *Path(name).parents)
