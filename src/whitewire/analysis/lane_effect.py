"""Lanes as a blocking factor: the differences between the lanes of a block, and values without them. Pure.

The logarithm of a metric is the sum of its cell's level, its lane's effect and scatter. Effects are estimated by least
squares within each block, and sum to 0 over the block's runs, so that the block's level stays. The lanes of a design
are fixed effects: nothing is inferred about other lanes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import pandas as pd
import scipy

from whitewire.statistics import ROUNDING

LEAST_FREEDOM = 2
"""Degrees of freedom that must be left to estimate how a block's lanes differ."""


@dataclass(frozen=True)
class Effect:
    """Effects of lanes to remove. `shift`: of each value's logarithm; `lost`: degrees of freedom that the scatter
    loses.

    `errors`: by independent source, the error in each value's shift, with its degrees of freedom. `confounded`: blocks
    whose lanes are confounded with cells, where nothing is shifted.
    """

    shift: np.ndarray
    lost: int = 0
    errors: Mapping[tuple[str, int], tuple[np.ndarray, int]] = field(default_factory=dict)
    confounded: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Difference:
    """Second lane over first, less 1, with its interval; with more than two lanes, the largest over the smallest.

    The interval is Tukey's for all pairs of lanes, which for two lanes is Student's.
    """

    lanes: int
    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class _Fit:
    effects: np.ndarray
    """Effect of each lane."""
    lane: np.ndarray
    """Index of each value's lane."""
    covariance: np.ndarray
    freedom: int

    def errors(self) -> np.ndarray:
        """Independent errors of the effect of each value's lane: (sources, values); products sum to the covariance."""
        variances, directions = np.linalg.eigh(self.covariance)
        own = (directions * np.sqrt(np.clip(variances, 0, None)))[self.lane]
        return (own - own.mean(axis=0)).T


def _fit(logs: np.ndarray, cells: np.ndarray, lanes: np.ndarray) -> _Fit | None:
    """Least squares of cell + lane within one block; None where their difference cannot be estimated."""
    names, lane = np.unique(lanes, return_inverse=True)
    _, cell = np.unique(cells, return_inverse=True)
    count = len(names)
    design = np.hstack([np.eye(cell.max() + 1)[cell], np.eye(count)[lane][:, 1:]])
    freedom = len(logs) - design.shape[1]
    if count < 2 or freedom < LEAST_FREEDOM or np.linalg.matrix_rank(design) < design.shape[1]:
        return None
    found = np.linalg.lstsq(design, logs, rcond=None)[0]
    left = logs - design @ found
    variance = float(np.sum(left**2)) / freedom if np.abs(left).max() > ROUNDING else 0.0
    inverse = np.zeros((count, count))
    inverse[1:, 1:] = np.linalg.inv(design.T @ design)[1 - count :, 1 - count :]
    effects = np.concatenate([[0.0], found[1 - count :]])
    return _Fit(effects - effects[lane].mean(), lane, variance * inverse, freedom)


def effect(values: pd.Series, cells: pd.Series, blocks: pd.Series, lanes: pd.Series) -> Effect:
    """Effects of lanes on the logarithms of positive values; blocks with a single lane have none."""
    logs, shift, lost = np.log(values.to_numpy(dtype=float)), np.zeros(len(values)), 0
    errors: dict[tuple[str, int], tuple[np.ndarray, int]] = {}
    confounded: set[str] = set()
    for block in blocks.unique():
        own = (blocks == block).to_numpy()
        if found := _fit(logs[own], cells[own].to_numpy(), lanes[own].to_numpy()):
            shift[own] = found.effects[found.lane]
            lost += len(found.effects) - 1
            for number, part in enumerate(found.errors()):
                errors[block, number] = np.zeros(len(values)), found.freedom
                errors[block, number][0][own] = part
        elif lanes[own].nunique() > 1:
            confounded.add(block)
    return Effect(shift, lost, errors, frozenset(confounded))


@lru_cache
def _tukey(count: int, freedom: float) -> float:
    """95 % quantile of the studentized range, which SciPy integrates anew each time."""
    return float(scipy.stats.studentized_range.ppf(0.95, count, freedom))


def difference(values: pd.Series, cells: pd.Series, lanes: pd.Series) -> Difference | None:
    """Difference between the lanes of one block; None where it cannot be estimated."""
    found = _fit(np.log(values.to_numpy(dtype=float)), cells.to_numpy(), lanes.to_numpy())
    if found is None:
        return None
    count = len(found.effects)
    top, bottom = int(np.argmax(found.effects)), int(np.argmin(found.effects))
    if count == 2:
        top, bottom = 1, 0
    covariance = found.covariance
    error = math.sqrt(max(0.0, covariance[top, top] + covariance[bottom, bottom] - 2 * covariance[top, bottom]))
    width = _tukey(count, found.freedom) / math.sqrt(2) * error
    apart = float(found.effects[top] - found.effects[bottom])
    return Difference(count, *(math.expm1(each) for each in (apart, apart - width, apart + width)))
