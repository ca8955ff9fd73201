"""Lists of hosts in the forms in which sites and tools give them. Pure.

A further form is one module with `fits` and `hosts`, and its line in FORMS.
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
"""Forms by name. A text is of the first one that it looks like."""


def read(text: str, source: str) -> tuple[str, list[Listed]]:
    """(name of its form, hosts) of a list; `source` is its file, for messages. Raises UserError."""
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
