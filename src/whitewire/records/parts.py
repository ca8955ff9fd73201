"""Parts of the stages `links` and `trust`, and the time of the latter: the command line names them without packages."""

from __future__ import annotations

from typing import Literal, get_args

OfLinks = Literal["drives", "network", "rdma"]
OF_LINKS: tuple[OfLinks, ...] = get_args(OfLinks)
"""Measured by fio, iperf3 and perftest, in this order."""
Part = Literal["links", "ratio", "same", "scales", "load", "lanes", "order"]
PARTS: tuple[Part, ...] = get_args(Part)
"""Of `trust`, in the order of measuring; `order` measures nothing: it reads the runs of all others, and of papers."""
WITHIN = "50m"
"""How long measuring may take unless told otherwise."""
