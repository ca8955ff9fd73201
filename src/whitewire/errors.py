"""The errors that end a command or a run, each with one line for the user."""

from __future__ import annotations

import errno
import re
from collections.abc import Sequence
from typing import Any, TextIO

_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that control a terminal or change the direction of text, and so could misrepresent it."""


def _plain(text: str) -> str:
    r"""Text with control characters as escapes: `\x1b`, `\u202e`. Tabs and line ends stay."""
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class PlainOutput:
    """A stream that passes its text through `plain`, and all else to the wrapped stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(_plain(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class UserError(Exception):
    """Something the user can put right. Shown as one line, without a traceback, exit status 2."""

    def __init__(self, message: str) -> None:
        super().__init__(_line(message))

    @property
    def lines(self) -> Sequence[str]:
        """Lines to show, one per fault."""
        return [str(self)]


class CannotMake(UserError):
    """A part of the measurement cannot be made here; parts that do not need it go on."""


class NotKept(UserError):
    """The disk takes no more data: later results would be lost too, so the whole measurement ends."""


def _line(message: str) -> str:
    return _plain(re.sub(r"[ \t\n\r\f\v]+", " ", str(message)).strip(" "))


class Faults(UserError):
    """Several faults at once, each in one line."""

    def __init__(self, faults: Sequence[str], most: int = 20) -> None:
        """`most`: how many faults are shown; of further ones only the number is."""
        self.faults, self.most = [_line(fault) for fault in faults], most
        super().__init__(" | ".join(self.faults))

    @property
    def lines(self) -> Sequence[str]:
        more = len(self.faults) - self.most
        return [*self.faults[: self.most], *([f"and {more} more"] if more > 0 else [])]


class RunFailed(RuntimeError):
    """The workload did not do what it should; the message is the cause in one line."""


OF_VALUES = (ArithmeticError, LookupError, StopIteration, ValueError)
"""Errors raised by computing with an incomplete or malformed record or tool output."""

_SPACE = "free some space there and start it again; what is finished stays"
REMEDIES = {
    errno.ENOSPC: _SPACE,
    errno.EDQUOT: f"your quota is used up: {_SPACE}",
    errno.EFBIG: "a limit on the size of files is too low (`ulimit -f`)",
    errno.EROFS: "make the file system writable, or work in a folder of another one",
    errno.EACCES: "give yourself the right to it, or work in a folder of your own",
    errno.EPERM: "give yourself the right to it, or work in a folder of your own",
    errno.EMFILE: "raise the limit on open files (`ulimit -n`)",
    errno.ELOOP: "a symbolic link there leads back to itself: remove it",
    errno.EIO: "the disk or the file server does not answer as it should; look at the system's log",
    errno.ESTALE: "the file server has lost it: mount the file system again",
}
"""What a user can do, by the system's error number."""


def of_system(error: OSError) -> UserError:
    """The line of an OSError: the path, what the system said, what to do."""
    what = error.strerror or str(error) or error.__class__.__name__
    paths = [str(path) for path in (error.filename, error.filename2) if path is not None]
    remedy = REMEDIES.get(error.errno or 0)
    return UserError(": ".join([*paths[:1], what, *([remedy] if remedy else [])]))
