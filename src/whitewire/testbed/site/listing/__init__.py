"""Lists of hosts in the formats of sites and tools. Pure.

To add a format, write a module with `fits` and `hosts`, and add a line to FORMS.
"""

from __future__ import annotations

from whitewire.errors import UserError
from whitewire.testbed.site.listing import cloudlab, enoslib, host_file, tofu
from whitewire.testbed.site.listing.base import Form, Listed
from whitewire.tools import Unreadable

FORMS = {
    "cloudlab": Form("a CloudLab manifest (RSpec, XML)", cloudlab.fits, cloudlab.hosts),
    "tofu": Form("`tofu output -json`", tofu.fits, tofu.hosts),
    "enoslib": Form("hosts of EnOSlib (YAML)", enoslib.fits, enoslib.hosts),
    "hosts": Form("a host file (a host in each line)", host_file.fits, host_file.hosts),
}
"""Formats by name. A text has the first one whose `fits` accepts it."""


def read_listing(text: str, source: str) -> tuple[str, list[Listed]]:
    """(name of the format, hosts) of a list; `source`: its file, for messages. Raises UserError."""
    name = next((name for name, form in FORMS.items() if form.fits(text)), "")
    if not name:
        known = ", ".join(form.called for form in FORMS.values())
        raise UserError(f"{source}: found an empty file, expected one of {known}")
    form = FORMS[name]
    try:
        found = form.hosts(text)
    except Unreadable as error:
        raise UserError(f"{source}: taken for {form.called}: {error}") from None
    if not found:
        raise UserError(f"{source}: taken for {form.called}: found no host, expected some")
    seen: dict[str, Listed] = {}
    for each in found:
        other = seen.setdefault(each.ssh, each)
        if other is not each:
            raise UserError(f"{source}: {each.place}: found {each.ssh} of {other.place} again, expected another host")
    return name, found
