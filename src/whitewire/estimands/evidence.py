"""What an estimand is estimated from, and what comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Sample:
    """Values of one metric in one cell: valid runs only, full-scale equivalent where the metric scales.

    `spread` and `freedom` are the scatter of the logarithms, moderated by that of the experiment's other cells, and its
    degrees of freedom; of a time less its floor, at least the scatter in seconds over the cell's median, since the
    floor's own scatter is the larger a part the less is left.
    """

    values: np.ndarray
    n_invalid: int
    unit: str
    name: str
    spread: float = float("nan")
    freedom: float = 0


@dataclass(frozen=True)
class Evidence:
    """What speaks for or against a claim.

    `source` is `runs` (estimate with interval), `census` (a count over all runs), `paper` (arithmetic) or
    `model`. `n` is the number of valid runs of the cell that has fewest. `direction` is the interval that
    tells the sign, when it is not low..high. `samples` are the runs' values, to say how many more decide.
    `freedom`, where it is not 0, is that of a scatter that cells share, from which the interval comes; `floors` says
    that it holds the scatter of the jobs' floors, too. `unbounded` is why there is no interval, `note` what else a
    reader of the reason must know. `least` is the interval that would be left with ever so many runs, if more than the
    estimate, and `left_by` what leaves it; `runs_help` is false where not runs are `missing`, and where the interval is
    `unbounded` however many there are.
    """

    source: str
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    n_invalid: int = 0
    unit: str = ""
    p_value: float | None = None
    direction: tuple[float, float] | None = None
    samples: Sequence[Sequence[float] | np.ndarray] = field(default=())
    missing: str = ""
    freedom: float = 0
    floors: bool = False
    unbounded: str = ""
    note: str = ""
    least: tuple[float, float] | None = None
    left_by: str = ""
    runs_help: bool = True
