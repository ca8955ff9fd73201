"""Command lines of TestDFSIO (Hadoop's tests): every map task writes, or reads, one file."""

from __future__ import annotations

from collections.abc import Mapping

from whitewire.workloads import generic_options

TOOL = "org.apache.hadoop.fs.TestDFSIO"
FOLDER = "/io"
"""Where its files are, in the file system of the job."""


def write(files: int, size: int, settings: Mapping[str, object] | None = None) -> list[str]:
    """Arguments that write `files` files of `size` bytes."""
    return _arguments("-write", files, size, settings)


def read(files: int, size: int, settings: Mapping[str, object] | None = None) -> list[str]:
    """Arguments that read the files that write() made."""
    return _arguments("-read", files, size, settings)


def _arguments(operation: str, files: int, size: int, settings: Mapping[str, object] | None) -> list[str]:
    own = {"test.build.data": FOLDER} | dict(settings or {})
    return [
        *generic_options(own), operation, "-nrFiles", str(files), "-size", f"{size}B",
        "-resFile", "/dev/null",  # it prints the same
    ]  # fmt: skip
