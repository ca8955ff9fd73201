"""The runs of a block by its paper, effort and testbed: from rows of the design to runs, overhead runs and expected
times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from whitewire.description.capabilities import capabilities_of
from whitewire.description.hadoop import daemons_that_read
from whitewire.description.paper import Paper, experiments_asked, hardware_of
from whitewire.design import durations
from whitewire.design.drive import Drive
from whitewire.design.rows import block_names, cells_of_rows, defining_overhead, levels_of
from whitewire.design.scale import Scale, scale_of
from whitewire.measure.overheads import OVERHEAD_RUNS, UNJUDGED, Overheads
from whitewire.measure.rounds import Rounds
from whitewire.measure.run import OverheadKey, Run, overhead_key
from whitewire.records.jobs import NET
from whitewire.records.overhead import overhead_name
from whitewire.records.run import DesignRow, RunRecord
from whitewire.testbed.emulated import software
from whitewire.workloads import workload_of

CLOSING_S, START_S = 15.0, 90.0
"""Seconds that a budget reserves for the end of a cluster, and the least that it reserves for the start."""

Known = Mapping[str, Sequence[RunRecord]]
"""Existing valid overhead runs, by name."""


@dataclass(frozen=True)
class BlockPlan:
    """The plan of a block's runs. `paper` is at the k of the runs; `config` is the testbed's description."""

    paper: Paper
    config: Mapping[str, Any]
    effort: str

    @property
    def smoke(self) -> bool:
        return self.effort == "smoke"

    def run(self, row: DesignRow) -> Run:
        """The run of a row of the design."""
        levels = levels_of(self.paper, row)
        experiment = self.paper.experiments[row["experiment"]]
        scale = scale_of(self.paper, row["experiment"], self.effort, levels, self.config)
        store = self.paper.store(row["experiment"], levels)
        settings = scale.settings(experiment.get("settings", {}).get(levels.get("settings"), {}))
        of_daemons = {name: value for name, value in settings.items() if daemons_that_read(name)}
        return Run(
            row=row,
            levels=levels,
            parameters=self.paper.parameters(row["experiment"], levels),
            settings={name: value for name, value in settings.items() if name not in of_daemons},
            scale=scale,
            expected_seconds=durations.expected_seconds(self.paper, row, self.config),
            store=store,
            cpu=experiment.get("cpu", "limit"),
            drive=self._drive(experiment, levels, scale),
            daemon_settings=of_daemons,
            workers=self._workers(row, levels, store),
        )

    def _drive(self, experiment: Mapping[str, Any], levels: Mapping[str, Any], scale: Scale) -> Drive:
        """The drive model of a run; none on real hosts, whose drives are a site's own."""
        hardware = hardware_of(experiment, levels)
        if not hardware or not capabilities_of(self.config).models_drives:
            return Drive.none(len(self.config.get("data", [""])))
        return Drive.scaled(hardware, scale.k, software.DRIVE_LIBRARY, scale.data_fraction)

    def _workers(self, row: DesignRow, levels: Mapping[str, Any], store: Mapping[str, Any]) -> int | None:
        """How many workers of a larger, shared cluster a run's level of `nodes` asks for; None: it has its own cluster.

        Jobs with data in a parallel file system may share a cluster; in HDFS the data must be on exactly these hosts.
        """
        mounted = store["kind"] == "cephfs" and capabilities_of(self.config).starts_file_system
        if not mounted or not workload_of(row["workload"]).native:
            return None
        nodes, roles = levels.get("nodes", 0), self.paper.experiments[row["experiment"]]["roles"]
        return nodes if 0 < nodes < roles.get("datanode", 0) else None

    def rounds(self, rows: Sequence[DesignRow], made: Callable[[int], bool] = lambda runs: True) -> Rounds:
        """The rounds of a block's rows, with the analyses that the paper has at this effort; `made`: see Rounds."""
        cells = cells_of_rows(self.paper, rows)
        analyses, names = self.paper.analyses(self.effort), block_names(self.paper, self.effort)
        first = 1 + names.index(rows[0]["block"]) if rows and rows[0]["block"] in names else 1
        return Rounds(cells, analyses if len(analyses) > 1 else (), first, len(names), made)

    def has_overhead(self, run: Run) -> bool:
        """Whether a run's startup overhead is measured."""
        return run.workload.measures_overhead(run.parameters, bool(self.config.get("hibench")))

    def overheads(self, shared: str, runs: Sequence[Run], known: Known) -> Overheads:
        """The overhead runs that the runs of a cluster need, including those that an interrupted measurement left."""
        with_overhead = [(place, run) for place, run in enumerate(runs) if self.has_overhead(run)]
        first: dict[OverheadKey, int] = {}
        for place, run in with_overhead:
            first.setdefault(overhead_key(run), place)
        names = {key: overhead_name(key, shared, self._defines(runs[place])) for key, place in first.items()}
        judged = {
            overhead_key(r) for _, r in with_overhead if self.paper.origin(r.row["experiment"]) in self._net_experiments
        }
        counts = {key: 1 if self.smoke else OVERHEAD_RUNS if key in judged else UNJUDGED for key in first}
        return Overheads(first, names, len(runs), counts, known, self._first_after_interim(runs))

    def _first_after_interim(self, runs: Sequence[Run]) -> int | None:
        """Index of a cluster's first run after the first interim analysis; None if no analysis is ahead."""
        analyses = self.paper.analyses(self.effort)
        later = (place for place, run in enumerate(runs) if len(analyses) > 1 and run.row["replicate"] > analyses[0])
        return next(later, 0) or None

    @cached_property
    def _net_experiments(self) -> set[str]:
        """Experiments whose net times a claim uses."""
        return set(experiments_asked(self.paper, NET))

    def _defines(self, run: Run) -> str:
        """Digest of the parts of the testbed's description that affect a run's startup overhead."""
        return defining_overhead(self.config, run.workload, run.parameters, run.store["kind"] == "cephfs")

    def expected(self, shared: str, runs: Sequence[Run], known: Known) -> list[float]:
        """Seconds of each run including the overhead runs after it; overhead runs before the first run belong to the
        start."""
        overheads, kinds = self.overheads(shared, runs, known), self._kinds(runs)
        return [
            run.expected_seconds + sum(durations.overhead_seconds(kinds[key].row) for key in overheads.ahead(place))
            for place, run in enumerate(runs, start=1)
        ]

    def seconds_until_a_run(self, shared: str, runs: Sequence[Run], known: Known) -> float:
        """Seconds that a cluster needs to start, make its first run and end; with less time left, starting it would be
        useless."""
        overheads, kinds = self.overheads(shared, runs, known), self._kinds(runs)
        due = [durations.overhead_seconds(kinds[key].row) for key in overheads.ahead(0) if not overheads.has(key)]
        return START_S + sum(due) + runs[0].expected_seconds + CLOSING_S

    def _kinds(self, runs: Sequence[Run]) -> dict[OverheadKey, Run]:
        return {overhead_key(run): run for run in runs if self.has_overhead(run)}
