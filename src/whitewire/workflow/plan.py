"""The plan of a start: papers, testbed, effort, designs and what of them is missing, from the checked configuration."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from whitewire import budget, lanes
from whitewire.analysis.one_claim import rows_of_claim
from whitewire.budget import BUDGET_VARIABLE, Budget
from whitewire.description.capabilities import capabilities_of
from whitewire.description.paper import Paper
from whitewire.description.project import document_path, load_config, paper_path, testbed_path
from whitewire.description.testbed import check_lanes_hold, digest, lane_count, load_testbed
from whitewire.design.rows import hosts_of_rows, make_design, read_csv
from whitewire.errors import UserError
from whitewire.measure import scale_candidate
from whitewire.measure.block_plan import BlockPlan
from whitewire.paths import root, settle_environment, shown
from whitewire.records.checked import block_record
from whitewire.records.run import DesignRow
from whitewire.report import ending
from whitewire.text import suggestion
from whitewire.workflow import missing
from whitewire.workflow.checked_paper import check_programs, check_unique, checked_paper
from whitewire.workflow.images import Images, parent_of_containers
from whitewire.workflow.job_needs import JobNeeds, job_needs
from whitewire.workflow.missing import goes_on_with, seconds_by_block
from whitewire.workloads import workload_of

_OVERRIDES = ("papers", "testbed", "effort", "budget", "lanes", "outliers")
GOES_ON = "WHITEWIRE_GOES_ON"
"""The environment variable of a start that goes on with blocks that it has finished: with those of its budget."""
_MOST_LANES = 8
"""Lanes that are taken unasked: more were never tried."""
MACHINE = 840
"""Parts of the machine (resource `measuring`), of which a single measurement has all: divisible by 1 to 8."""


@dataclass(frozen=True)
class Plan:
    """The plan of a start: its papers, testbed and effort, and each paper's design."""

    papers: list[str]
    testbed: str
    effort: str
    seed: int
    designs: Mapping[str, Sequence[DesignRow]] = field(repr=False)
    images: Images = Images()
    """Images that rules run in."""
    description: str = ""
    """A digest of the testbed's description: with another one its links are measured again."""
    needs: JobNeeds = field(default_factory=JobNeeds, repr=False)
    """Nodes and minutes of blocks as jobs of a scheduler."""
    described: Mapping[str, Paper] = field(default_factory=dict, repr=False)
    """The papers by name, as they were read and checked."""
    left_out: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False)
    """Why programs of HiBench are left out, by paper."""
    budget: str = budget.NONE
    """Budget of a start's blocks, as the user gave it."""
    claim: str = ""
    """The claim that is measured alone; empty for all claims."""
    lanes: int = 1
    """Number of blocks that are measured side by side."""
    in_turn: bool = False
    """Whether a paper's blocks are measured one after the other: where lanes share processors, they choose one k."""
    in_all: tuple[int, int] = (1, 1)
    """Number of lanes, including those for rounds of one block, and the largest possible number."""
    waiting: Mapping[str, float] = field(default_factory=dict, repr=False)
    """Blocks that this start measures (`<paper>/<block>`), in order, with their expected seconds."""
    whole: Callable[[], Mapping[str, float]] = field(default=dict, repr=False)
    """Expected seconds of all missing runs, by block; only the start itself asks, none of its jobs."""
    goes_on: bool = False
    """Whether the start goes on with finished blocks, with its budget from the environment."""
    watch: Path | None = None
    """The file whose lock this process holds for its rules' containers."""
    begins: bool = True
    """Whether this process is the start itself; false in its jobs, which read all files again."""

    @classmethod
    def load(cls, given: Mapping[str, Any] | None = None, deployment: Iterable[str] = (), begins: bool = True,
             again: bool = False) -> Plan:  # fmt: skip
        """Read and cross-check every file that a run uses. `given` overrides the configuration.

        `deployment` is how rules get their software: `conda`, `apptainer`, both or, empty, what `make setup` made.
        `begins`: see the field. `again`: what finished blocks left counts as waiting too.
        """
        deployment = frozenset(deployment)
        _override(given or {})
        # The stages' command is found beside the interpreter, also when the environment is not activated.
        os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        settle_environment()
        config = load_config()
        testbed = load_testbed(config["testbed"])
        can = capabilities_of(testbed)
        described, designs, left_out = _read(config, testbed)
        needs = {(name, block): need for name, rows in designs.items() if can.runs_in_job
                 for block, need in job_needs(described[name], rows, testbed).items()}  # fmt: skip
        asked = _asked(config["claim"], described, designs)
        again = again or bool(config["claim"])
        lacking = missing.by_block(asked, config["testbed"], again, budget.seconds_of(config["budget"]))
        goes_on = bool(os.environ.get(GOES_ON))
        handed_on = Budget.read(os.environ[BUDGET_VARIABLE]).expected if goes_on else None
        waiting = handed_on if handed_on is not None else missing.waiting(described, lacking, testbed)
        in_all = _lanes(config["lanes"], testbed, lambda: _busy(described, designs, testbed) if waiting else 0.0)
        in_turn = can.shares_processors
        return cls(
            config["papers"], config["testbed"], config["effort"], config["seed"], designs,
            Images("apptainer" in deployment, "hibench" in testbed and _of_suite(designs), not can.local),
            digest(testbed), JobNeeds(needs), described=described, left_out=left_out,
            watch=parent_of_containers(deployment), begins=begins, budget=config["budget"], claim=config["claim"],
            lanes=max(1, min(in_all[0], most_at_once(waiting, in_turn))), in_turn=in_turn, in_all=in_all,
            waiting=waiting, whole=partial(seconds_by_block, described, lacking, testbed), goes_on=goes_on,
        )  # fmt: skip

    def turn(self, paper: str, block: str) -> int:
        """Priority of a block: the higher, the earlier. Short papers come first, for an early report."""
        names = list(self.waiting)
        name = f"{paper}/{block}"
        return len(names) - names.index(name) if name in names else 0

    def turn_of(self, paper: str) -> int:
        """Priority of a paper's first block: the higher, the earlier; 1 without blocks."""
        own = (name.split("/") for name in self.waiting if name.startswith(f"{paper}/"))
        return 1 + max((self.turn(*names) for names in own), default=0)

    @property
    def lacking(self) -> Mapping[str, Sequence[DesignRow]]:
        """Runs that this start has to make, by paper."""
        results, seconds = root() / "results" / self.testbed, budget.seconds_of(self.budget)
        return {name: missing.lacking(results / name, rows, bool(self.claim), seconds)
                for name, rows in _asked(self.claim, self.described, self.designs).items()}  # fmt: skip

    @property
    def allowed(self) -> str:
        """The claim and the time for which a block may be measured; a start with others goes on measuring."""
        return f"{self.budget} for {self.claim}" if self.claim else self.budget

    @property
    def share(self) -> int:
        """A block's share of the machine (resource `measuring`), of MACHINE parts."""
        return max(1, MACHINE // self.lanes)

    def threads(self, cores: int) -> int:
        """Snakemake's cores that a block takes: all with a single lane, so that no report is made beside it.

        With several lanes none: `measuring` limits the blocks, and a report beside them waits for a processor that the
        lanes share (lanes.processors). A scheduler's job takes at least one.
        """
        return cores if self.lanes == 1 else int(bool(self.needs.of))

    def blocks(self, pattern: str, paper: str | None = None) -> list[str]:
        """`pattern` with `{paper}` and `{block}` filled in, for each block of one paper or of all."""
        names = [paper] if paper else self.papers
        pairs = dict.fromkeys((name, row["block"]) for name in names for row in self.designs.get(name, ()))
        return [pattern.format(paper=name, block=block) for name, block in pairs]

    def file_of(self, block: str) -> str:
        """The block.json of a block (`<paper>/<block>`), from the top of the repository."""
        paper, _, name = block.partition("/")
        return f"results/{self.testbed}/{paper}/raw/{name}/block.json"

    @property
    def block_files(self) -> list[str]:
        """The block.json of each block, from the top of the repository."""
        return [self.file_of(block) for block in self.blocks("{paper}/{block}")]

    @property
    def outdated(self) -> list[str]:
        """Files to make again, by their content: designs with other rows, and blocks whose last start left runs to this
        one.

        Snakemake compares parameters too, but only with records of its own, which copied results lack.
        """
        seconds = budget.seconds_of(self.budget)
        found = []
        for name in self.papers:
            design = f"results/{self.testbed}/{name}/design.csv"
            if not _is_design(root() / design, self.designs[name]):
                found.append(design)
        for block in self.block_files:
            if (record := block_record(root() / block)) and goes_on_with(record, seconds):
                found.append(block)
        return found

    @property
    def stamps(self) -> list[str]:
        """Marks that rules of tables and pages leave when they succeed, below the testbed's results, without `.done`.

        A page alone proves nothing: it may be an older one, because its rule failed.
        """
        stages = [f"{paper}/logs/{stage}" for paper in self.papers for stage in ending.STAGES]
        tables = ["links-tables"] if "testbed" in self.pages else []
        return [*(f"logs/{name}" for name in [*tables, *self.pages]), *stages]

    @property
    def pages(self) -> list[str]:
        """Pages of all papers together; without any run there is no page of the testbed, so that no hosts are
        needed."""
        return ["index", *(["testbed"] if any(self.designs.values()) else [])]

    def digest(self, paper: str, block: str | None = None) -> str:
        """A digest of the runs of one block or of all, and of their order; without the effort, with which the names of
        blocks begin."""
        own = [row for row in self.designs.get(paper, ()) if block in (None, row["block"])]
        rows = [{name: cell for name, cell in row.items() if name != "effort"} for row in own]
        return hashlib.sha256(json.dumps(rows, default=str).encode()).hexdigest()[:16]


def most_at_once(blocks: Iterable[str], in_turn: bool) -> int:
    """How many of some blocks (`<paper>/<block>`) can be measured side by side; `in_turn`: see Plan."""
    return len({block.partition("/")[0] if in_turn else block for block in blocks})


def _read(config: Mapping[str, Any], testbed: Mapping[str, Any]
          ) -> tuple[dict[str, Paper], dict[str, list[DesignRow]], dict[str, list[str]]]:  # fmt: skip
    """Papers, their designs, and why programs of HiBench are left out, each by paper. Raises UserError."""
    described: dict[str, Paper] = {}
    designs: dict[str, list[DesignRow]] = {}
    left_out: dict[str, list[str]] = {}
    for name in config["papers"]:
        path = paper_path(name)
        paper = described[name] = checked_paper(path, testbed)
        if not document_path(name).is_file():
            raise UserError(f"paper/{name}.qmd: no such file: every paper has a document")
        designs[name] = make_design(paper, testbed, config["effort"], config["seed"])
        check_unique(designs[name], shown(path))
        needed = hosts_of_rows(paper, designs[name], servers=False)
        check_lanes_hold(testbed, needed, shown(testbed_path(config["testbed"])), name)
        left_out[name] = check_programs(paper, designs[name], testbed)
    return described, designs, left_out


def _override(given: Mapping[str, Any]) -> None:
    """Put values of --config over those of the configuration. Raises UserError."""
    for name, value in given.items():
        if name not in _OVERRIDES:
            raise UserError(
                f'--config: found the key "{name}", expected one of {", ".join(_OVERRIDES)}'
                f"{suggestion(name, _OVERRIDES)}"
            )
        # Through the environment, so that the stages' commands see the same.
        os.environ[name.upper()] = " ".join(value) if isinstance(value, list) else str(value)


def _is_design(path: Path, rows: Sequence[DesignRow]) -> bool:
    """Whether a design.csv has these rows; true for one that is missing or unreadable, which its readers report."""
    try:
        there = read_csv(path)
    except UserError:
        return True
    return [{name: str(cell) for name, cell in row.items()} for row in there] == [
        {name: str(cell) for name, cell in row.items()} for row in rows
    ]


def _lanes(asked: int | str, testbed: Mapping[str, Any], busy: Callable[[], float]) -> tuple[int, int]:
    """(number of lanes, largest number while processors stay idle).

    As many as asked for. `auto`: as many as the processors carry, given that runs keep `busy` of them busy; at most as
    many as fit into memory. On a site, the number in its description.
    """
    if not capabilities_of(testbed).shares_processors:
        asked = lane_count(testbed)
    if isinstance(asked, int):
        return asked, asked
    memory = max(1, min(lanes.held_by_memory(), _MOST_LANES))
    return lanes.carried(len(os.sched_getaffinity(0)), busy(), memory), memory


def _asked(claim: str, described: Mapping[str, Paper], designs: Mapping[str, Sequence[DesignRow]]
           ) -> Mapping[str, Sequence[DesignRow]]:  # fmt: skip
    """The rows of designs that a start is asked for: those of a claim and its controls where it names one."""
    if not claim:
        return designs
    return {name: rows_of_claim(described[name], claim, rows) for name, rows in designs.items()}


def _busy(described: Mapping[str, Paper], designs: Mapping[str, Sequence[DesignRow]], testbed: Mapping[str, Any]
          ) -> float:  # fmt: skip
    """Processors that runs keep busy on average over their time, by the model of their work; 0 without runs."""
    runs = [BlockPlan(described[name], testbed, row["effort"]).run(row)
            for name, rows in designs.items() for row in rows]  # fmt: skip
    seconds = sum(run.expected_seconds for run in runs)
    return (
        sum(scale_candidate.busy_processors(run) * run.expected_seconds for run in runs) / seconds if seconds else 0.0
    )


def _of_suite(designs: Mapping[str, Sequence[Mapping[str, Any]]]) -> bool:
    """Whether any run is a HiBench program."""
    return any(workload_of(row["workload"]).of_suite for rows in designs.values() for row in rows)
