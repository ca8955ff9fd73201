"""Apptainer definition files, as far as the workflow and the tests read them."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from whitewire.errors import UserError
from whitewire.paths import HOME

RECIPES, IMAGES = "containers", ".cache/containers"
"""Folders of the definitions and of the images made from them, below the top of the repository."""
_HEADER = ("Bootstrap", "From")
SECTIONS = ("arguments", "labels", "files", "post", "environment", "test")


@dataclass(frozen=True)
class Recipe:
    """A definition file: its header, and the lines of each section without the margin that they share."""

    name: str
    header: dict[str, str]
    sections: dict[str, str]

    @property
    def base(self) -> str | None:
        """The image of ours that this one starts from."""
        if self.header["Bootstrap"] != "localimage":
            return None
        return Path(self.header["From"]).stem

    def pairs(self, section: str, separator: str | None = None) -> dict[str, str]:
        """The section's lines as first and second word, or as what stands before and after `separator`."""
        lines = [line.strip() for line in self.sections.get(section, "").splitlines()]
        return {
            name.strip(): value.strip()
            for name, value in (line.split(separator, 1) for line in lines if line and not line.startswith("#"))
        }

    def script(self, section: str, **given: str) -> str:
        """The section with its arguments filled in, as `apptainer build --build-arg NAME=VALUE` does."""
        values = self.pairs("arguments", "=") | given
        return re.sub(r"\{\{ *(\w+) *\}\}", lambda match: values[match[1]], self.sections.get(section, ""))


def _load(path: Path) -> Recipe:
    """Read a definition file. Raises UserError for a header or section that is not known or not there."""
    header: dict[str, str] = {}
    sections: dict[str, list[str]] = {}
    current: list[str] | None = None
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    for number, line in enumerate(lines, start=1):
        if line.startswith("%"):
            name = line[1:].strip()
            if name not in SECTIONS or name in sections:
                raise UserError(f"{path}: line {number}: found %{name}, expected once each of {', '.join(SECTIONS)}")
            current = sections.setdefault(name, [])
        elif current is not None:
            current.append(line)
        elif line.strip() and not line.startswith("#"):
            key, separator, value = line.partition(":")
            if key not in _HEADER or not separator:
                raise UserError(f"{path}: line {number}: found {line!r}, expected {' or '.join(_HEADER)}")
            header[key] = value.strip()
    missing = [key for key in _HEADER if not header.get(key)]
    if missing:
        raise UserError(f"{path}: {missing[0]}: found nothing, expected a header")
    texts = {name: textwrap.dedent("\n".join(lines)).strip("\n") + "\n" for name, lines in sections.items()}
    return Recipe(path.stem, header, texts)


def image_made_of(name: str) -> list[str]:
    """Files that an image is made of, from the repository's top: recipe, what it copies, the image it starts from."""
    recipe = _load(HOME / RECIPES / f"{name}.def")
    base = [f"{IMAGES}/{recipe.base}.sif"] if recipe.base else []
    return [f"{RECIPES}/{name}.def", *recipe.pairs("files"), *base]
