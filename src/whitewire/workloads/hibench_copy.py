"""The prepared copy of HiBench, by its description, and the identity of a tree."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path

from whitewire.errors import UserError
from whitewire.paths import HIBENCH
from whitewire.tools import hibench

TREE, DESCRIPTION = "tree", "prepared.json"
NOT_COPIED = re.compile(r"(.*/)?(\.git|target|__pycache__|report)(/.*)?|sparkbench/.*|(flink|storm|gearpump)bench/.*")
"""Paths that are not copied: other frameworks' programs, and files that builds left."""
_PARTS = ("bin", "conf", "autogen/src", "pom.xml")
"""Parts of a tree that runs use; its digest covers these."""
PINNED_COMMIT = "53ac935f7a6f995176119835435cd58770cd6fec"
"""The last commit of HiBench's master, which is archived: the only state whose `dfsioe` builds for Hadoop 3."""


@dataclass(frozen=True)
class Prepared:
    """A prepared copy. `tree` is the digest of its parts before anything was changed."""

    commit: str
    tree: str
    release: str
    source: str
    python: str
    converter: str
    values: str
    built: list[str] = field(default_factory=list)
    not_built: dict[str, str] = field(default_factory=dict)

    @property
    def identity(self) -> list[str]:
        """Properties that distinguish its runs from those of another copy."""
        return [self.commit or self.tree, self.python.rsplit(".", 1)[0], *self.built]

    def lacks(self, program: str) -> str:
        """Why the copy lacks a program, and the remedy; empty for a program that it has."""
        asked = f"{program} of HiBench {self.release}"
        if program not in hibench.MICRO:
            return f"{asked}: `make hibench` makes micro programs only; build a tree of your own (docs/use/hibench.md)"
        if program not in self.not_built:
            return ""
        remedy = f"`make hibench` without HIBENCH= brings commit {PINNED_COMMIT[:12]}, which has it"
        if self.commit == PINNED_COMMIT:
            remedy = "correct that and repeat `make hibench`"
        return f"{asked}: {self.not_built[program]}; {remedy}"


def prepared(folder: Path = HIBENCH) -> Prepared | None:
    """The prepared copy in a folder; None without one. Raises UserError for one that cannot be read."""
    path = folder / DESCRIPTION
    try:
        return parse_prepared(path.read_text(errors="replace"), str(path))
    except FileNotFoundError:
        return None


def parse_prepared(text: str, where: str) -> Prepared:
    """A copy's description, from its JSON text. Raises UserError for other text."""
    try:
        return Prepared(**json.loads(text))
    except (ValueError, TypeError):
        raise UserError(f"{where}: found no description of a HiBench copy; make it again with `make hibench`") from None


# --- bringing a tree here -------------------------------------------------------------------------------


@lru_cache
def identity(home: str) -> tuple[str, ...]:
    """The identity of the tree at `home`, for runs' ids.

    Of a prepared copy: its commit, Python version and built programs; of another tree on this machine: the digest of
    the parts that runs use; of a tree on a site's host: its path.
    """
    tree = Path(home)
    if tree.name == TREE and (found := prepared(tree.parent)):
        return tuple(found.identity)
    return (digest_of(tree),) if (tree / "bin" / "workloads").is_dir() else (home,)


def tree_description(home: str) -> dict[str, object]:
    """The tree at `home` for the environment's record: the description of a prepared copy, else its identity."""
    tree = Path(home)
    found = prepared(tree.parent) if tree.name == TREE else None
    return {"home": home, **(asdict(found) if found else {"tree": identity(home)[0]})}


def digest_of(tree: Path) -> str:
    """SHA-256 of the parts of a tree that runs use: of each file's path and content, in the order of paths."""
    found = hashlib.sha256()
    for part in _PARTS:
        paths = [tree / part] if (tree / part).is_file() else sorted((tree / part).rglob("*"))
        for path in paths:
            if path.is_file() and not NOT_COPIED.fullmatch(str(path.relative_to(tree))):
                name = path.relative_to(tree).as_posix()
                found.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()
