"""The parts of the stage `trust` and its time, which the command line names without any package."""

from __future__ import annotations

from typing import Literal, get_args

Part = Literal["links", "ratio", "same", "scales", "load", "lanes", "order"]
PARTS: tuple[Part, ...] = get_args(Part)
"""In the order of measuring; `order` measures nothing: it reads the runs of all others, and of papers."""
WITHIN = "50m"
"""How long measuring may take unless told otherwise."""
