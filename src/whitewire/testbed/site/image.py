"""The container image in which a site's hosts run their commands: its location, command line and faults.

Each command is a separate `apptainer exec`, without a PID namespace, so a process in the image has its usual PID on
the host. Only that process carries the run's marker. Apptainer's own processes carry none, because they must not be
killed: they end after that process and unmount the image.
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
from whitewire.testbed.site.shell import IMAGE_QUESTIONS

_FLAGS = ("--contain", "--no-home", "--bind", "/dev,/tmp,/var/tmp")
"""Of the machine's files a command sees /proc, /sys, /etc/hosts and those bound here. The binds replace the few devices
and the empty folders that --contain makes: they provide the fabric's devices and /dev/shm, and `work` and `data` may be
in /tmp (apptainer.org/docs/user/latest/bind_paths_and_mounts.html)."""

LOOK_S = 120.0
"""Longest time in seconds to start an image and to read its file for the digest, from a server that all hosts share."""
UNPACKS = "Converting SIF file to temporary sandbox"
"""Apptainer's message where it cannot mount images: it would unpack the image for every command."""
NO_BINDS = re.compile(r"^WARNING: +(?:Ignoring|Skipping) .* bind mount")
"""Apptainer's warning about a bind that the administrator forbids (`user bind control`, `mount dev` in
apptainer.conf)."""


@dataclass(frozen=True)
class Image:
    """An image: its `file` on every host, and the host's `folders` that commands in it see, if they exist.

    `local`: the file on this machine that is copied to the hosts, `digest`: its SHA-256; None and empty where the
    hosts have the image already.
    """

    file: str
    folders: tuple[str, ...]
    local: Path | None = None
    digest: str = ""

    def around(self, text: str, path: str, mark: str = "") -> str:
        """The sh script that runs `text` (sh) in the image. `path`: the host's PATH, for Apptainer.

        `mark`: value of the marker in the environment inside; without one Apptainer prints all its messages.
        """
        bind = f'for each in {shlex.join(self.folders)}; do [ -e "$each" ] && set -- "$@" --bind "$each"; done'
        words = ["exec", *_FLAGS]
        if mark:  # warnings and errors only: after a lost connection, a write would end it before it unmounts
            words = ["--quiet", *words, "--env", f"{shell.MARKER}={mark}"]
        begin = shell.environment(["apptainer", *words], {}, path)
        return f'set --; {bind}; exec {begin} "$@" {shlex.join([self.file, "/bin/sh", "-c", text])}'

    def questions(self, path: str, java: str, preloading: Mapping[str, str]) -> str:
        """The sh script that answers shell.IMAGE_QUESTIONS outside, and shell.SOFTWARE inside the image.

        Apptainer's messages come between the two, under `exec`, and again after the last answer, `end`.
        `preloading`: variables of shell.PRELOADING, which is asked inside too.
        """
        asked = shell.script(shell.asking(shell.PRELOADING | shell.SOFTWARE | {"end": ":"}), java)
        inside = self.around(f"exec {shell.environment(asked, preloading, path)}", path)
        outside = shlex.join(shell.script(shell.asking(IMAGE_QUESTIONS), self.file))
        return f"{outside}\n{shell.section('exec')}\n( {inside} ) 2>&1"


def image_of(config: Mapping[str, Any], source: str) -> Image | None:
    """The image that a testbed's description names; None without one. Raises UserError, which names `source`."""
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
                        "`.venv/bin/snakemake containers` makes ours") from None  # fmt: skip
    return Image(f"{folders[0]}/image-{digest[:12]}.sif", folders, local, digest)


def _pulled(reference: str, source: str) -> Path:
    """The file of a registry's image, pulled to this machine once. All hosts get this file, because each host's own
    conversion of a Docker image would differ in its bytes."""
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


def fault_of_image(answers: Mapping[str, str]) -> str:
    """Why a host cannot run its image, from its answers to Image.questions(); empty if it can."""
    if not answers["apptainer"]:
        return "no apptainer (a folder that holds it: `path`)"
    if not answers["image"]:
        return "the image's file is not there"
    for line in COLOUR.sub("", answers["exec"]).splitlines():
        if UNPACKS in line:
            return "Apptainer cannot mount images and would unpack one for each command: it needs squashfuse, /dev/fuse"
        if NO_BINDS.search(line):
            return line
    return "" if "java" in answers else f"apptainer exec: {reason(answers['exec']) or 'ended without a message'}"
