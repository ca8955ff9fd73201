"""Files and folders that are there whole or not at all: written beside, then renamed into place."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

PART = ".part-"
"""How the name begins of what is not whole yet; a killed writer may leave such a file or folder."""


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


def write(path: Path | str, content: str | bytes) -> Path:
    """Write a file, text as UTF-8; what was there before stays until all of it is on the disk.

    Raises OSError, which names `path` even where the system names none (a full disk).
    """
    path = Path(path)
    beside = path.with_name(PART + path.name)
    with _cleared(path, beside):
        _write(beside, content)
        beside.replace(path)
        _sync(path.parent)
    return path


@contextlib.contextmanager
def folder(target: Path) -> Iterator[Path]:
    """`with folder(target) as part:` gives an empty folder to fill, which becomes `target`; an old one is replaced.

    When the block ends in an exception nothing is left of it. Raises OSError.
    """
    part = target.with_name(PART + target.name)
    with _cleared(target, part):
        if part.exists():
            shutil.rmtree(part)
        part.mkdir(parents=True)
        yield part
        for path in (*part.rglob("*"), part):
            _sync(path)
        _exchange(part, target)
        _sync(target.parent)


def _write(path: Path, content: str | bytes) -> None:
    with path.open("wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())  # a full disk of a server may tell only now


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
    old = target.with_name(f"{PART}old-{target.name}")
    if old.exists():
        shutil.rmtree(old)
    target.rename(old)
    new.rename(target)
    shutil.rmtree(old)


@contextlib.contextmanager
def _cleared(path: Path, beside: Path) -> Iterator[None]:
    """Remove `beside` when the block fails; an OSError without a path gets `path`."""
    try:
        yield
    except BaseException as error:
        with contextlib.suppress(OSError):
            shutil.rmtree(beside) if beside.is_dir() else beside.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and error.filename is None:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
