"""Effects of lanes in a table of runs: values without them, their errors, differences between lanes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from whitewire.analysis import lane_effect
from whitewire.description.paper import Paper, tests_of
from whitewire.estimands import estimand_of
from whitewire.propagation import Errors
from whitewire.records.processors import MACHINE_METRICS
from whitewire.tidy.columns import LANE

LANE_COLUMNS = ("block", "experiment", "metric", "n", "lanes", "difference", "low", "high")
"""Columns of analysis/lanes.csv, which is there where tidy/runs.csv has lanes."""
OF_MACHINE = {each.name for each in MACHINE_METRICS}


class RunLanes:
    """The lanes of a table of runs; a table without the column `lane` stays as it is.

    `measured` is the table as it was, `table` the same without the effects of lanes.
    """

    def __init__(self, measured: pd.DataFrame, paper: Paper) -> None:
        self.measured, self._paper = measured, paper
        self.lost: dict[tuple[str, str], int] = {}
        """Degrees of freedom that lanes take from the scatter of an experiment and its controls, by name and metric."""
        self.confounded: dict[tuple[str, str], frozenset[str]] = {}
        """Blocks whose lanes are confounded with cells, by name and metric."""
        self._errors: dict[tuple[str, str], dict[tuple[str, ...], tuple[pd.Series, int]]] = {}
        """Errors of the lanes' effects, by name and metric: for each source, each row's share of the error and the
        degrees of freedom."""
        self.table = self._without_lanes(measured.copy()) if LANE in measured else measured

    def _without_lanes(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table without the effects of lanes on every metric that has a logarithm."""
        columns = ["value", "full_scale_value", "best"]
        table[columns] = table[columns].apply(pd.to_numeric, errors="coerce").astype(float)
        for (experiment, metric), rows in self._in_lanes(table):
            found = lane_effect.effect(rows["best"], rows["cell"], rows["block"], rows[LANE])
            errors: dict[tuple[str, ...], tuple[pd.Series, int]] = {
                ("lanes", experiment, metric, block, str(number)): (pd.Series(part, rows.index), freedom)
                for (block, number), (part, freedom) in found.errors.items()
            }
            for name in self._paper.family(experiment):
                key = name, metric
                self.lost[key], self._errors[key], self.confounded[key] = found.lost, errors, found.confounded
            table.loc[rows.index, columns] = table.loc[rows.index, columns].mul(np.exp(-found.shift), axis=0)
        return table

    def _in_lanes(self, table: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
        """Valid runs by experiment (with its controls) and metric, if all values are above 0.

        Left out are shares and other plain numbers, because a factor on them means nothing and may bring a share above
        1; and metrics of the machine's processors, which belong to the moment.
        """
        good = table[table["valid"] & table["best"].notna()].copy()
        if good.empty:
            return
        good["cell"] = good[["experiment", *self._paper.factors]].astype(str).agg("\0".join, axis=1)
        good[LANE] = pd.to_numeric(good[LANE]).fillna(1)
        origin = good["experiment"].map(self._paper.origin)
        for (experiment, metric), rows in good.groupby([origin, "metric"], sort=False):
            if metric not in OF_MACHINE and rows["best_unit"].iloc[0] != "1" and rows["best"].min() > 0:
                yield (str(experiment), str(metric)), rows

    def differences(self) -> list[dict[str, Any]]:
        """Differences between the lanes of each block for the metrics that claims use; one row of LANE_COLUMNS each."""
        if LANE not in self.table:
            return []
        tests = [test for claim in self._paper.claims for test in tests_of(claim)]
        asked = {(self._paper.origin(name), test.get("metric")) for test in tests
                 for name, _ in estimand_of(test).needed()}  # fmt: skip
        found = []
        for (experiment, metric), rows in self._in_lanes(self.measured):
            for block, own in rows.groupby("block", sort=False):
                effect = lane_effect.difference(own["best"], own["cell"], own[LANE])
                if effect and (experiment, metric) in asked:
                    of = {"block": block, "experiment": experiment, "metric": metric, "n": len(own)}
                    found.append(of | asdict(effect))
        return found

    def errors(self, experiment: str, metric: str, rows: pd.Index) -> Errors:
        """Errors in the centre of some rows that come from removing the effects of lanes."""
        known = self._errors.get((experiment, metric), {})
        return {source: (-float(part[rows].mean()), freedom) for source, (part, freedom) in known.items()}
