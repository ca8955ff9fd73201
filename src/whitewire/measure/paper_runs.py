"""The runs of a paper at an effort, in one or several blocks, as interim analyses see them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from whitewire.measure import groups
from whitewire.measure.block_plan import BlockPlan
from whitewire.records.journal import read_runs, valid_overheads
from whitewire.records.run import DesignRow, RunRecord


@dataclass(frozen=True)
class PaperRuns:
    """Rows of one block (whose results are in `folder`), and of the paper's `others`, which are measured elsewhere."""

    plan: BlockPlan
    folder: Path
    rows: Sequence[DesignRow]
    others: Sequence[DesignRow] = ()

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Run id → how many runs of its cell there are with it, over all blocks in the order of their rounds."""
        return {
            run_id: number for rows in self._by_block().values() for run_id, number in self.plan.rounds(rows).of.items()
        }

    def seen(self, runs: int) -> dict[str, str]:
        """Run id → block of the design's runs that an analysis sees: up to `runs` of each cell.

        A resumed start may have more runs of some cells: judging by these would be an unplanned analysis.
        """
        rows = (*self.rows, *self.others)
        return {row["run_id"]: row["block"] for row in rows if self.numbers[row["run_id"]] <= runs}

    def others_made(self, runs: int) -> bool:
        """Whether the paper's other blocks have made their part of `runs` runs of each cell.

        A block has if it is finished, if those runs exist, or if a later one has been tried.
        """
        return all(
            _made(self.folder.parent / name, self.plan.rounds(rows).of, runs)
            for name, rows in self._by_block().items() if name != self.folder.name
        )  # fmt: skip

    def kept(self) -> Iterator[tuple[Path, list[RunRecord]]]:
        """Folder of each block, and records of those of its valid runs and overhead runs that the design uses."""
        plan = self.plan
        for name, rows in self._by_block().items():
            folder, ids = self.folder.with_name(name), {row["run_id"] for row in rows}
            runs = [record for path, record in read_runs(folder.parent, [name])
                    if path.parent.name == "runs" and path.name in ids]  # fmt: skip
            clusters = groups.clusters(plan.paper, [plan.run(row) for row in rows], plan.config)
            kinds = {kind for key, own in clusters.items() for kind in plan.overheads(key, own, {}).names.values()}
            overheads = [each for kind, own in valid_overheads(folder).items() if kind in kinds for each in own]
            yield folder, [*runs, *overheads]

    def _by_block(self) -> dict[str, list[DesignRow]]:
        """All rows of the paper, by their block and in the order of running."""
        found: dict[str, list[DesignRow]] = defaultdict(list)
        for row in sorted([*self.rows, *self.others], key=lambda row: row["order"]):
            found[row["block"]].append(row)
        return found


def _made(folder: Path, numbers: Mapping[str, int], runs: int) -> bool:
    if (folder / "block.json").is_file():
        return True
    kept = {path.parent.name for path in folder.glob("runs/*/run.json")}
    tried = kept | {path.parent.name.rpartition(".")[0] for path in folder.glob("invalid/*/run.json")}
    early = {run_id for run_id, number in numbers.items() if number <= runs}
    return early <= kept or any(numbers.get(run_id, 0) > runs for run_id in tried)
