"""The container image that a site's hosts run their commands in: where it is, its command line, what is wrong with it.

Each command is an `apptainer exec` of its own. It makes no PID namespace, so a process in it has the number by which
the host knows it, and only that process carries the run's marker. Apptainer's own processes carry none: they end by
themselves after it and unmount the image, which they could not do if they were killed.
"""

from __future__ import annotations

import hashlib
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whitewire import atomic
from whitewire.errors import UserError
from whitewire.paths import KILLED_WITH_THIS, root
from whitewire.progress import Progress
from whitewire.testbed.base import last_line
from whitewire.testbed.site import shell
from whitewire.testbed.site.reason import COLOUR, reason

FLAGS = ("--contain", "--no-home", "--bind", "/dev,/tmp,/var/tmp")
"""Of the machine a command sees /proc, /sys, /etc/hosts and what is bound. These replace the few devices and the empty
folders of --contain: the fabric's devices and /dev/shm are there, and what is in /tmp of `work` and `data` has a place
(apptainer.org/docs/user/latest/bind_paths_and_mounts.html)."""

LOOK_S = 120.0
"""Longest time to read an image's file for its digest, from a server that all hosts ask at once, and to start it."""
UNPACKS = "Converting SIF file to temporary sandbox"
"""Apptainer says so where it can mount no image: it would unpack it for every command."""
NO_BINDS = re.compile(r"^WARNING: +(?:Ignoring|Skipping) .* bind mount")
"""A bind that the machine's administrator forbids (`user bind control`, `mount dev` in apptainer.conf)."""


@dataclass(frozen=True)
class Image:
    """An image: its `file` on every host, and the `folders` of a host that commands see, where they are there.

    `local` is the file of this machine that hosts get a copy of, and `digest` its SHA-256; none where hosts have it.
    """

    file: str
    folders: tuple[str, ...]
    local: Path | None = None
    digest: str = ""

    def around(self, text: str, path: str, mark: str = "") -> str:
        """The sh text that runs a sh text in the image. `path`: where the host has Apptainer.

        `mark` is the marker's value in the environment of what runs inside; without one Apptainer says all it has to.
        """
        bind = f'for each in {shlex.join(self.folders)}; do [ -e "$each" ] && set -- "$@" --bind "$each"; done'
        words = ["exec", *FLAGS]
        if mark:  # warnings and errors only: where the connection is lost, a word would end it before it unmounts
            words = ["--quiet", *words, "--env", f"{shell.MARKER}={mark}"]
        begin = shell.environment(["apptainer", *words], {}, path)
        return f'set --; {bind}; exec {begin} "$@" {shlex.join([self.file, "/bin/sh", "-c", text])}'

    def questions(self, path: str, java: str, preload: str = "") -> str:
        """The sh text that answers shell.IMAGE outside and, after what Apptainer says (`exec`), shell.SOFTWARE inside.

        `preload`: libraries, of which it answers too whether they can be preloaded inside.

        `end` is answered last: what follows are Apptainer's words again.
        """
        asked = shell.script(shell.asking({"preloaded": shell.PRELOADED} | shell.SOFTWARE | {"end": ":"}), java)
        inside = self.around(f"exec {shell.environment(asked, {'PRELOAD': preload}, path)}", path)
        outside = shlex.join(shell.script(shell.asking(shell.IMAGE), self.file))
        return f"{outside}\n{shell.section('exec')}\n( {inside} ) 2>&1"


def of(config: Mapping[str, Any], source: str) -> Image | None:
    """The image that a testbed's description names; None without one. Raises UserError; `source` is its name."""
    given = config.get("image")
    if given is None:
        return None
    sites = [config.get("cluster", {}).get("configuration"), config.get("mount", {}).get("path")]
    folders = tuple(dict.fromkeys(filter(None, [config["work"].rstrip("/"), *config["data"], *sites])))
    if "path" in given:
        return Image(given["path"], folders)
    local = root() / (_pulled(given["pull"], source) if "pull" in given else Path(given["copy"]).expanduser())
    try:
        with local.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"{source}: image.copy: {local}: {error.strerror}, expected an image's file; "
                        "`snakemake containers` makes ours") from None  # fmt: skip
    return Image(f"{folders[0]}/image-{digest[:12]}.sif", folders, local, digest)


def _pulled(reference: str, source: str) -> Path:
    """The file of an image of a registry, pulled here once. Every host gets this file: what each would make of an image
    of Docker's differs in its bytes."""
    target = root() / ".cache" / "images" / f"{reference.rpartition(':')[2]}.sif"
    if target.is_file():
        return target
    if shutil.which("apptainer") is None:
        raise UserError(
            f"{source}: image.pull: found no apptainer on this machine, expected it to pull the image; or pull it "
            f"elsewhere (apptainer pull IMAGE.sif {reference}) and name the file with image.copy"
        )
    Progress("image", []).say(f"pulling {reference}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic.file(target) as part:
        argv = [*KILLED_WITH_THIS, "apptainer", "pull", "--force", str(part), reference]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True)
        if done.returncode != 0:
            said = reason(done.stderr) or last_line(done.stdout)
            raise UserError(f"{source}: image.pull: {reference}: {said}")
    return target


def fault(answers: Mapping[str, str]) -> str:
    """Why a host cannot run its image, from its answers to Image.questions(); empty when it can."""
    if not answers["apptainer"]:
        return "no apptainer (a folder that holds it: `path`)"
    if not answers["image"]:
        return "the image's file is not there"
    for line in COLOUR.sub("", answers["exec"]).splitlines():
        if UNPACKS in line:
            return "Apptainer cannot mount images and would unpack one for each command: it needs squashfuse, /dev/fuse"
        if NO_BINDS.search(line):
            return line
    return "" if "java" in answers else f"apptainer exec: {reason(answers['exec']) or 'ended without a word'}"
