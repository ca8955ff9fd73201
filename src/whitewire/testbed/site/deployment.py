"""Java, Hadoop and the image on remote hosts: the hosts' own where the description names them, else copies.

Each host gets a copy once, and later runs reuse it: `<work>/software-<digest>` with one version of the jars, and
`<work>/image-<digest>.sif`. Both may be removed by hand while no run is in progress. Cleaners of temporary files remove
single files that are old (systemd-tmpfiles(8)); the software is then copied again.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import re
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path, PurePosixPath

from whitewire.errors import UserError
from whitewire.progress import Progress
from whitewire.testbed.base import piped, read_line
from whitewire.testbed.each import on_each
from whitewire.testbed.emulated import software
from whitewire.testbed.emulated.software import DEFAULTS_JAR
from whitewire.testbed.installation import JVM_FLAGS, Installation
from whitewire.testbed.site import shell
from whitewire.testbed.site.image import Image
from whitewire.testbed.site.opening import NotReady, conversation
from whitewire.testbed.site.reason import reason
from whitewire.testbed.site.remote_host import RemoteHost, RemoteHosts
from whitewire.testbed.site.shell import JARS_SCRIPT
from whitewire.text import by_value

_COPY_S, _LEAST_RATE = 600.0, 250_000
"""Longest time in seconds to copy software, or an image, to a host; large ones get as long as at this rate (B/s)."""
_ANSWER_S = 10.0
"""Longest time for a host to answer whether it has the image, in seconds."""
_AT_ONCE = 4
"""Hosts that are copied to concurrently; low, because this machine sends to all of them."""
SERVER_FLAGS = ("-XX:-UsePerfData", "-Duser.timezone=UTC")
"""Flags of JVMs that have a machine to themselves: Java chooses its collector and compilers itself."""
IN_PLACE = "-Djava.io.tmpdir=."
"""Keeps the JVM's files out of the machine's /tmp: commands run in their host's scratch folder."""
HEAP_FACTOR = 4.0
"""Ratio of daemons' heaps on separate machines to those of many hosts on one machine."""
NOT_ON_THE_PATH = re.compile(r"(^|/)(tools|kms|httpfs|yarn/timelineservice|yarn/csi|hdds|ozone)/")
"""Parts of a Hadoop distribution that HDFS, YARN and MapReduce do not need."""
OUR_OWN = re.compile(r"hadoop-mapreduce-examples-.*\.jar$|-tests\.jar$")
"""Jars that the workloads replace; see Installation.workloads."""


def class_path(listing: str) -> list[str]:
    """Jars for the class path, in a fixed order and each file name once, from the output of shell.JARS_SCRIPT."""
    folder, *jars = listing.splitlines() or [""]
    found: dict[str, str] = {}
    for jar in sorted(jars):
        if not NOT_ON_THE_PATH.search(jar) and not OUR_OWN.search(jar):
            found.setdefault(PurePosixPath(jar).name, f"{folder}/{jar.removeprefix('./')}")
    return sorted(found.values())


def _digest(files: Mapping[str, Path]) -> str:
    """Digest of a set of files: their names and sizes, and the content of those below 1 MiB."""
    seen = hashlib.sha256()
    for name, path in sorted(files.items()):
        seen.update(f"{name}\0{path.stat().st_size}\0".encode())
        if path.stat().st_size < 1 << 20:
            seen.update(path.read_bytes())
    return seen.hexdigest()[:12]


def archive(files: Mapping[str, Path]) -> bytes:
    """A tar archive of `files` (name in the archive → path), readable for all users."""
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w") as tar:
        for name, path in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size, member.mode = path.stat().st_size, 0o644
            with path.open("rb") as content:
                tar.addfile(member, content)
    return output.getvalue()


def our_files(with_hadoop: bool) -> dict[str, Path]:
    """Files to copy: the resident client and the workloads' classes; on request also Hadoop and its bare defaults."""
    software.binds()  # raises UserError when set-up has not made something yet
    files = {"whitewire.jar": software.LIBRARIES / "whitewire.jar"}
    workloads = software.LIBRARIES / "workloads"
    files |= {f"workloads/{path.relative_to(workloads)}": path for path in workloads.rglob("*") if path.is_file()}
    if with_hadoop:
        files |= {f"hadoop/{jar.name}": jar for jar in software.hadoop_jars()}
        if DEFAULTS_JAR.exists():
            files["defaults.jar"] = DEFAULTS_JAR
    return files


def ensure_installation(testbed: RemoteHosts) -> Installation:
    """Ensure that all hosts have Java and Hadoop; return their paths. Raises a UserError that names hosts without."""
    own = testbed.config.get("hadoop")
    files = our_files(with_hadoop=own is None)
    folder = f"{testbed.layout.work}/software-{_digest(files)}"
    _copy(testbed, files, folder)
    jars = [f"{folder}/{name}" for name in files if name.startswith("hadoop/")]
    first = [f"{folder}/defaults.jar"] if "defaults.jar" in files else []
    small = testbed.config.get("scale", 1) != 1  # hosts that share a machine
    return Installation(
        jars=[*first, *(_site_jars(testbed, own) if own else jars), f"{folder}/whitewire.jar"],
        configuration=f"{testbed.layout.folder}/conf",
        archive=None,
        java=testbed.layout.java,
        workloads=f"{folder}/workloads",
        java_home=_java_home(testbed),
        flags=(*(JVM_FLAGS if small else SERVER_FLAGS), IN_PLACE),
        heap_factor=1.0 if small else HEAP_FACTOR,
    )


def _java_home(testbed: RemoteHosts) -> str:
    """Java's folder, which must be the same on all hosts, because configuration files name it."""
    java = testbed.layout.java
    homes = testbed.by_name(lambda host: host.ask({"java_home": shell.JAVA_HOME}, java, inside=True)["java_home"])
    without = [str(host) for host in testbed.hosts if not homes[host.name]]
    if without:
        raise UserError(f"{testbed.source}: java: found no {java} on {', '.join(without)}")
    if len(set(homes.values())) > 1:
        raise UserError(f"{testbed.source}: java: found {by_value(homes)}, expected the same folder on all hosts")
    return next(iter(homes.values()))


def _site_jars(testbed: RemoteHosts, folder: str) -> list[str]:
    """Paths of Hadoop's jars, which must be the same on all hosts."""

    def listed(host: RemoteHost) -> str:
        done = host.run_again(shell.script(JARS_SCRIPT, folder), inside=True)
        return "\n".join(class_path(done.stdout.decode())) if done.status == 0 else ""

    found = dict(zip([str(host) for host in testbed.hosts], testbed.on_all(listed), strict=True))
    without = [name for name, jars in found.items() if "hadoop-hdfs-client" not in jars]
    if without:
        raise UserError(
            f"{testbed.source}: hadoop: found no jars of Hadoop below {folder} on {', '.join(without)}, "
            "expected a HADOOP_HOME or a folder of jars; without the key ours are copied to the hosts"
        )
    if len(set(found.values())) > 1:
        counts = {name: f"{len(jars.splitlines())} jars" for name, jars in found.items()}
        raise UserError(f"{testbed.source}: hadoop: found {by_value(counts)}, expected the same jars on all hosts")
    return next(iter(found.values())).splitlines()


def _longest(size: int) -> float:
    """Longest time to copy `size` bytes to a host, in seconds."""
    return max(_COPY_S, size / _LEAST_RATE)


def _copy(testbed: RemoteHosts, files: Mapping[str, Path], folder: str) -> None:
    """Copy the files to the hosts that lack one of them."""
    wanted = {f"{path.stat().st_size} {name}" for name, path in files.items()}

    def lacks(host: RemoteHost) -> bool:
        found = host.run_again(["find", f"{folder}/", "-type", "f", "-printf", r"%s %P\n"]).stdout
        return not wanted <= {*found.decode(errors="replace").splitlines()}

    lacking = testbed.on_all(lacks)
    hosts = [host for host, lacks in zip(testbed.hosts, lacking, strict=True) if lacks]
    if not hosts:
        return
    content = archive(files)

    def one(host: RemoteHost) -> str:
        argv = shell.script(shell.UNPACK, folder, str(len(files)), host.folder)
        longest = _longest(len(content))
        try:
            done = host.run_outside(argv, stdin=content, timeout=longest)
        except subprocess.TimeoutExpired:
            return f"{host}: took longer than {longest:.0f} s"
        return "" if done.status == 0 else f"{host}: {done.stderr.decode(errors='replace').strip()[-200:]}"

    progress, faults = Progress("software", []), []
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        progress.say(f"{len(content) / 1e6:.0f} MB to copy, hosts without all of this version: {len(hosts)}")
        for number, fault in enumerate(pool.map(one, hosts), 1):
            faults += [fault] if fault else []
            progress.say(f"copied to {number - len(faults)} of {len(hosts)}")
    if faults:
        raise UserError(f"{testbed.source}: work: software cannot be copied to {folder}: {'; '.join(faults)}")


def send_image(testbed: RemoteHosts) -> list[str]:
    """Copy the image to the hosts that lack it, before they are opened; return for each host why that failed (or "").

    Faults of hosts that cannot be reached or written to are left to the preflight check.
    """
    image = testbed.image
    if image is None or image.local is None:
        return [""] * len(testbed.hosts)
    return on_each(testbed.hosts, partial(_send, image, image.local), _AT_ONCE)


def _send(image: Image, local: Path, host: RemoteHost) -> str:
    size = local.stat().st_size
    begin, longest = time.monotonic(), _longest(size)
    command = shell.environment(shell.script(shell.RECEIVE, image.file, str(size)), {}, host.layout.path)
    with (
        tempfile.TemporaryFile() as errors,
        contextlib.suppress(NotReady, OSError),  # the host cannot be reached or written to
        conversation(partial(host.popen, command), errors, _ANSWER_S, longest) as popen,
    ):
        if read_line(piped(popen.stdout), time.monotonic() + _ANSWER_S) != b"send\n":
            return ""
        Progress("image", []).say(f"{size / 1e6:.0f} MB to {host}")
        with local.open("rb") as content, contextlib.suppress(BrokenPipeError):  # its end says why
            shutil.copyfileobj(content, piped(popen.stdin), 1 << 20)
        piped(popen.stdin).close()
        if popen.wait() != 0:
            errors.seek(0)
            late = f"took longer than {longest:.0f} s" if time.monotonic() - begin >= longest else ""
            return late or reason(errors.read()) or "the connection was closed"
    return ""
