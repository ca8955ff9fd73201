"""Images for rules with `--software-deployment-method apptainer`, and the folders that containers see."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whitewire.errors import UserError
from whitewire.paths import HOME, root
from whitewire.workflow import parent_watch
from whitewire.workflow.recipes import IMAGES, image_made_of


@dataclass(frozen=True)
class Images:
    """Which image a rule runs in."""

    used: bool = False
    """Whether rules run in images at all."""
    hibench: bool = False
    """Whether the testbed has HiBench and a paper asks for it."""
    site: bool = False
    """Whether hosts are a site's: measurements then need ssh or srun of this machine, which no image has."""

    def of(self, image: str) -> Callable[[Any], str | None]:
        """The image's file for a rule's `container:`; ends with one line if it was not made.

        In place of `hadoop`: the image with HiBench if the testbed has HiBench and a paper asks for it, and none for a
        site.
        """

        def path(wildcards: Any) -> str | None:
            if image == "hadoop" and self.site:
                return None
            name = "hibench" if image == "hadoop" and self.hibench else image
            file = f"{IMAGES}/{name}.sif"
            if self.used and not Path(file).is_file():
                # Snakemake would wrap an ordinary exception in its own words.
                made = "make it with `.venv/bin/snakemake containers`"
                print(f"whitewire: error: {file}: no such image; {made}", file=sys.stderr)
                raise SystemExit(2)
            return file

        return path


def can_make(image: str) -> bool:
    """Whether all files of an image are there: those of HiBench come by `make hibench`."""
    return all((root() / file).exists() for file in image_made_of(image) if not file.endswith(".sif"))


def parent_of_containers(deployment: Collection[str]) -> Path | None:
    """Show containers this checkout, if rules run in any (`deployment`: how rules get their software).

    Returns the file whose lock this process holds for them; None without containers or locks.
    """
    if "apptainer" not in deployment:
        return None
    held = parent_watch.hold(HOME / ".cache" / "parents")
    show_containers([HOME, *(_conda() if "conda" in deployment else [])])
    return held


def show_containers(folders: Sequence[Path]) -> None:
    """Show containers these folders at the same paths; for conda, also put its command on their PATH.

    Apptainer, and Singularity under its own name, takes both from the environment.
    """
    for program in ("APPTAINER", "SINGULARITY"):
        bound = [part for part in os.environ.get(f"{program}_BIND", "").split(",") if part]
        os.environ[f"{program}_BIND"] = ",".join(dict.fromkeys([*bound, *map(str, folders)]))
        commands = [str(folder / "condabin") for folder in folders[1:]]
        if commands:
            os.environ[f"{program}ENV_PREPEND_PATH"] = os.pathsep.join(commands)


def _conda() -> list[Path]:
    """The folder of the `conda` on the PATH: with both deployments it makes environments inside the containers."""
    found = shutil.which("conda")
    if found is None:
        raise UserError("--software-deployment-method conda: found no `conda` on the PATH, expected one")
    return [Path(found).resolve().parents[1]]
