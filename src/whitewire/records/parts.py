"""Parts of the stages `links` and `trust`, and trust's time limit, for a command line that imports no packages."""

from __future__ import annotations

from typing import Literal, get_args

OfLinks = Literal["drives", "network", "rdma", "transports"]
OF_LINKS: tuple[OfLinks, ...] = get_args(OfLinks)
"""Parts of `links`, measured by fio, iperf3, perftest, and iperf3 over each transport, in this order. Testbeds
without a transport that has a library or variables lack the last."""
Part = Literal["links", "ratio", "same", "scales", "load", "lanes", "order"]
PARTS: tuple[Part, ...] = get_args(Part)
"""Parts of `trust`, in the order of measuring; `order` measures nothing, but reads the runs of others and papers."""
WITHIN = "50m"
"""Default time limit of `trust`."""
