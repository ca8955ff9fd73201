"""`whitewire site`: a testbed's file, from a list of hosts or a job and from what each host says of itself."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from whitewire import atomic
from whitewire.description.capabilities import capabilities_of
from whitewire.description.names import unfit_name
from whitewire.description.reading import decoded
from whitewire.description.testbed import read_testbed
from whitewire.errors import UserError
from whitewire.paths import HOME, SYSTEM_PATH, root, shown, temporary
from whitewire.testbed.each import on_each
from whitewire.testbed.site import listing, preflight, shell
from whitewire.testbed.site.facts import Facts, parse_facts
from whitewire.testbed.site.inventory import Place
from whitewire.testbed.site.job import nodes_of
from whitewire.testbed.site.listing import read_listing
from whitewire.testbed.site.listing.base import Listed
from whitewire.testbed.site.opening import NotReady
from whitewire.testbed.site.proposal import Site, proposal
from whitewire.testbed.site.remote_host import Layout, RemoteHost
from whitewire.testbed.site.schedulers import SCHEDULERS, of_job
from whitewire.testbed.site.shell import SITE_QUESTIONS
from whitewire.testbed.site.ssh import SshHost
from whitewire.text import quoted
from whitewire.workflow.new_paper import sections

_KEPT = ("data_fraction", "limits", "probes")
"""Keys of the example that are no question of hosts."""
_MOST_BYTES = 10_000_000
"""Most bytes of a list of hosts."""
ASKING = Layout(run="", work="/", data=(), path=SYSTEM_PATH, java="java")
"""Layout for questions, which write nothing on a host."""


def new_site(name: str, given: Path | None, ssh_config: str = "") -> Path:
    """Write config/testbeds/<name>.yaml, and return it.

    `given`: a list of hosts; without a list, the hosts of the present job. Raises UserError, and writes nothing, if the
    list is wrong, a host does not answer or the file exists.
    """
    path = _free(name)
    ssh_config = ssh_config and os.path.abspath(os.path.expanduser(ssh_config))
    kind, origin, listed = _listed(given)
    try:
        site = Site(listed, _asked(listed, ssh_config, kind))
        text = proposal(kind, site, origin, _kept(kind), ssh_config)
    except UserError as error:
        raise UserError(f"{origin}: {error}") from None
    _try(text, path)
    atomic.write(path, text)
    return path


def _listed(given: Path | None) -> tuple[str, str, list[Listed]]:
    """(kind of testbed, source of its hosts, the hosts). Raises UserError."""
    if given is not None:
        form, listed = read_listing(_text(given), shown(given))
        return "ssh", f"{shown(given)} ({form})", listed
    kind = of_job(os.environ)
    if not kind:
        variables = ", ".join(scheduler.variable for scheduler in SCHEDULERS.values() if scheduler.variable)
        known = ", ".join(form.called for form in listing.FORMS.values())
        raise UserError(
            f"site: found neither a list of hosts nor a job ({variables}), expected --from FILE with one of {known}"
        )
    nodes = enumerate(nodes_of({"kind": kind}), start=1)
    return kind, f"this job of {SCHEDULERS[kind].name}", [Listed(node, f"node {number}") for number, node in nodes]


def _free(name: str) -> Path:
    """The file of a new testbed. Raises UserError if it exists, or for an invalid name."""
    if why := unfit_name(name, "testbeds"):
        raise UserError(f"site: found the name {quoted(name)}, {why}")
    path = root() / "config" / "testbeds" / f"{name}.yaml"
    if path.exists():
        raise UserError(f"{shown(path)}: exists and is not overwritten; take another name")
    return path


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            found = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UserError(f"{shown(path)}: cannot be read: {error.strerror}") from None
    return decoded(found, path, _MOST_BYTES, "text")


def _asked(listed: Sequence[Listed], ssh_config: str, kind: str) -> Mapping[str, Facts]:
    """Each host's answer, by its name for ssh or the scheduler. Raises UserError that names all hosts without one."""
    places = [Place(each.ssh, each.role, each.ssh, each.place, {}) for each in listed]
    hosts: list[RemoteHost]
    if capabilities_of({"kind": kind}).lists_hosts:
        hosts = [SshHost(place, ASKING, ssh_config or None) for place in places]
    else:
        config, scheduler = {"ssh_config": ssh_config}, SCHEDULERS[kind]
        nodes = scheduler.nodes(config, os.environ)
        hosts = [scheduler.host(place, ASKING, config, nodes) for place in places]
    answers = on_each(hosts, _ask, len(hosts))
    silent = [
        f"{each.place} ({each.ssh}): {why}" for each, why in zip(listed, answers, strict=True) if isinstance(why, str)
    ]
    if silent:
        raise UserError(f"{len(silent)} of {len(listed)} hosts do not answer: {'; '.join(silent)}")
    return {each.ssh: one for each, one in zip(listed, answers, strict=True) if isinstance(one, Facts)}


def _ask(host: RemoteHost) -> Facts | str:
    """The facts of a host, or why there are none."""
    try:
        return preflight.asked(host, shell.asking(SITE_QUESTIONS), [ASKING.java], {}, parse_facts)
    except NotReady as why:
        return str(why)


def _kept(kind: str) -> str:
    """The example's keys that are kept, with their comments; schedulers have one example."""
    name = "ssh" if capabilities_of({"kind": kind}).lists_hosts else "slurm"
    example = (HOME / "config" / "testbeds" / f"{name}.example.yaml").read_text(encoding="utf-8")
    found = (comment + body for key, comment, body in sections(example) if key in _KEPT)
    return "\n".join(f"{text.strip()}\n" for text in found)


def _try(text: str, path: Path) -> None:
    """Raise the UserError that reading the file would."""
    with tempfile.TemporaryDirectory(dir=temporary()) as folder:
        tried = Path(folder) / path.name
        tried.write_text(text, encoding="utf-8")
        try:
            read_testbed(tried)
        except UserError as error:
            raise UserError(str(error).replace(shown(tried), shown(path))) from None


def look_lines(path: Path) -> list[str]:
    """Lines of a file that its reader must look at, with their numbers."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [f"{shown(path)}:{number}: {line.strip()}" for number, line in enumerate(lines, start=1)
            if "look: " in line]  # fmt: skip
