"""Checks of the whole configuration, and the plan that follows from it."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import math
import os
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from whitewire import budget, estimands, lanes, lock, workloads
from whitewire.analysis import one_claim, prospects, sweeps
from whitewire.budget import Budget
from whitewire.cluster.hibench import on_this_machine
from whitewire.description.capabilities import capabilities_of
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper, without_servers
from whitewire.description.project import document_path, load_config, paper_path, testbed_path
from whitewire.description.testbed import check_lanes_hold, digest, fabric_names, lane_count, load_testbed
from whitewire.design import amounts, shapes, treatments
from whitewire.design.durations import all_overheads_seconds, expected_seconds
from whitewire.design.rows import check_number, levels_of, make_design, most_hosts, read_csv
from whitewire.design.scale import scale_of
from whitewire.errors import UserError
from whitewire.lanes import Lanes
from whitewire.measure import groups, scale_candidate, survey_plan
from whitewire.measure.block_plan import BlockPlan
from whitewire.measure.overheads import FURTHER, OVERHEAD_RUNS
from whitewire.paths import HOME, root, settle_environment, shown
from whitewire.records import links
from whitewire.records.links import TransportPlan
from whitewire.records.checked import block_record
from whitewire.records.journal import BlockRecord, disturbed, left_of, not_made
from whitewire.records.reasons import BUDGET, ELSE, FAILED, OTHERS
from whitewire.records.run import DesignRow
from whitewire.report import ending
from whitewire.text import canonical, quoted, suggestion
from whitewire.tools import hibench
from whitewire.workflow import outlook, parent_watch, recipes, speed

OVERRIDES = ("papers", "testbed", "effort", "budget", "lanes", "outliers")
GOES_ON = "WHITEWIRE_GOES_ON"
"""The environment variable of a start that goes on with blocks that it has finished: with those of its budget."""


MOST_ID = 200
"""Characters of a run's id."""
START_S = 600
"""For each time that a block brings services up: probes, starts, warm-up."""
START_UP_S = 60.0
"""Seconds that a block's start usually takes: probes, services, warm-up."""
REPORT_S = 40.0
"""Seconds from a paper's last run to its report."""
MOST_LANES = 8
"""Lanes that are taken unasked: more were never tried."""
MACHINE = 840
"""A measurement's share of the machine (resource `measuring`) where it has all of it: divisible by 1 to 8."""
NO_NEEDS = (1, 60)
"""Nodes and minutes of a block that isn't a scheduler's job; nobody reads them."""


def job_needs(paper: Paper, rows: Sequence[DesignRow], testbed: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Per block: the largest number of hosts of any experiment, and minutes, twice the expected ones."""
    hosts: dict[str, int] = {}
    seconds: dict[str, float] = {}
    starts: dict[str, set] = {}
    for row in rows:
        block, levels = row["block"], levels_of(paper, row)
        roles = without_servers(paper.roles(row["experiment"], levels))
        hosts[block] = max(hosts.get(block, 0), sum(roles.values()))
        seconds[block] = seconds.get(block, 0.0) + expected_seconds(paper, row, testbed)
        starts.setdefault(block, set()).add((json.dumps(roles), levels.get("fabric"), levels.get("transport")))
    for block in seconds:
        own = [row for row in rows if row["block"] == block]
        seconds[block] += all_overheads_seconds(paper, own, testbed, OVERHEAD_RUNS + FURTHER)
    return {
        block: (hosts[block], math.ceil((2 * seconds[block] + START_S * len(starts[block])) / 60)) for block in hosts
    }


def checked_paper(path: Path, testbed: Mapping[str, Any]) -> Paper:
    """A paper whose every later stage has what it needs on a testbed; else UserError with one line."""
    paper = load_paper(path, fabric_names(testbed))
    if paper.id != path.stem:
        raise UserError(f'{shown(path)}: id: found "{paper.id}", expected "{path.stem}", the name of the file')
    check_number(paper)
    sweeps.check(paper)
    amounts.check(paper, testbed)
    treatments.check(paper, testbed)
    shapes.check(paper, testbed)
    groups.check_slots(paper, testbed)
    return paper


@dataclass(frozen=True)
class Plan:
    """The plan of a run: its papers, testbed and effort, and each paper's design."""

    papers: list[str]
    testbed: str
    effort: str
    seed: int
    designs: Mapping[str, Sequence[DesignRow]] = field(repr=False)
    deployment: frozenset[str] = frozenset()
    hibench: bool = False
    site: bool = False
    """Whether hosts are a site's: measurements then need ssh or srun of this machine, which no image has."""
    needs: Mapping[tuple[str, str], tuple[int, int]] = field(default_factory=dict, repr=False)
    """Nodes and minutes of the job of each paper's block, with a scheduler."""
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
    in_all: tuple[int, int] = (1, 1)
    """Number of lanes, also for rounds of one block, and the largest number that there may be."""
    waiting: Mapping[str, float] = field(default_factory=dict, repr=False)
    """Blocks that this start measures (`<paper>/<block>`) and the seconds that they should take, in their turn."""
    whole: Callable[[], Mapping[str, float]] = field(default=dict, repr=False)
    """The seconds that all runs should take which these blocks lack; a start asks once, and none of its jobs."""
    goes_on: bool = False
    """Whether the start goes on with finished blocks, with its budget from the environment."""
    watch: Path | None = None
    """The file whose lock this process holds for its rules' containers."""
    begins: bool = True
    """Whether a start begins with it; not where one of its jobs reads all files again, on a node of its own."""

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
        designs: dict[str, list[DesignRow]] = {}
        described: dict[str, Paper] = {}
        needs: dict[tuple[str, str], tuple[int, int]] = {}
        left_out: dict[str, list[str]] = {}
        for name in config["papers"]:
            path = paper_path(name)
            paper = described[name] = checked_paper(path, testbed)
            if not document_path(name).is_file():
                raise UserError(f"paper/{name}.qmd: no such file: every paper has a document")
            designs[name] = make_design(paper, testbed, config["effort"], config["seed"])
            check_unique(designs[name], shown(path))
            needed = most_hosts(paper, designs[name], servers=False)
            check_lanes_hold(testbed, needed, shown(testbed_path(config["testbed"])), name)
            left_out[name] = check_programs(paper, designs[name], testbed)
            if capabilities_of(testbed).runs_in_job:
                needs |= {(name, block): need for block, need in job_needs(paper, designs[name], testbed).items()}
        held = None
        if "apptainer" in deployment:
            held = parent_watch.hold(HOME / ".cache" / "parents")
            _show_containers([HOME, *(_conda() if "conda" in deployment else [])])
        asked = _asked(config["claim"], described, designs)
        again = again or bool(config["claim"])
        lacking = _by_block(asked, config["testbed"], again, budget.seconds_of(config["budget"]))
        goes_on = bool(os.environ.get(GOES_ON))
        handed_on = Budget.read(os.environ[budget.VARIABLE]).expected if goes_on else None
        waiting = handed_on if handed_on is not None else _waiting(described, lacking, testbed)
        in_all = _lanes(config["lanes"], testbed, lambda: _busy(described, designs, testbed))
        return cls(
            config["papers"], config["testbed"], config["effort"], config["seed"], designs, deployment,
            hibench="hibench" in testbed and _of_suite(designs), site=not capabilities_of(testbed).local,
            needs=needs, described=described, left_out=left_out, watch=held, begins=begins,
            budget=config["budget"], claim=config["claim"], lanes=max(1, min(in_all[0], len(waiting))), in_all=in_all,
            waiting=waiting, whole=partial(_whole, described, lacking, testbed), goes_on=goes_on,
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
    def asked(self) -> Mapping[str, Sequence[DesignRow]]:
        """Runs that this start is asked for, by paper: all, or those of one claim."""
        return _asked(self.claim, self.described, self.designs)

    @property
    def lacking(self) -> Mapping[str, Sequence[DesignRow]]:
        """Runs that this start has to make, by paper."""
        results = root() / "results" / self.testbed
        seconds = budget.seconds_of(self.budget)
        return {name: _lacking(results / name, self.asked[name], bool(self.claim), seconds) for name in self.described}

    @property
    def allowed(self) -> str:
        """For what a block may be measured, and for how long: where a start asks otherwise, measuring goes on."""
        return f"{self.budget} for {self.claim}" if self.claim else self.budget

    @property
    def share(self) -> int:
        """A block's share of the machine (resource `measuring`), of MACHINE parts."""
        return max(1, MACHINE // self.lanes)

    def threads(self, cores: int) -> int:
        """Of Snakemake's cores, those of a block: a single lane has all of them, so that no report is made beside it.

        Several lanes have none: `measuring` says how many blocks there are at once, and a report, which begins beside
        them, waits for a processor that they share (lanes.processors). A scheduler's job has one at least.
        """
        return cores if self.lanes == 1 else int(bool(self.needs))

    @property
    def has_verdicts(self) -> bool:
        """Whether a start page has anything to show."""
        return any((root() / "results" / self.testbed).glob("*/analysis/verdicts.csv"))

    def blocks(self, pattern: str, paper: str | None = None) -> list[str]:
        """`pattern` with `{paper}` and `{block}` filled in, for each block of one paper or of all."""
        names = [paper] if paper else self.papers
        pairs = dict.fromkeys((name, row["block"]) for name in names for row in self.designs.get(name, ()))
        return [pattern.format(paper=name, block=block) for name, block in pairs]

    @property
    def block_files(self) -> list[str]:
        """The block.json of each block, from the top of the repository."""
        return self.blocks(f"results/{self.testbed}/{{paper}}/raw/{{block}}/block.json")

    @property
    def outdated(self) -> list[str]:
        """Files to make again, by their content: designs with other rows, and blocks whose last start had another
        budget or was for one claim.

        Snakemake compares parameters too, but needs records of its own, which copied results lack.
        """
        seconds = budget.seconds_of(self.budget)
        found = []
        for name in self.papers:
            design = f"results/{self.testbed}/{name}/design.csv"
            if not _is_design(root() / design, self.designs[name]):
                found.append(design)
        for block in self.block_files:
            if (record := block_record(root() / block)) and _goes_on(record, seconds):
                found.append(block)
        return found

    @property
    def stamps(self) -> list[str]:
        """What the rules of tables and pages make once they are through, below the testbed's results, without .done.

        A page alone may be one kept from before, because its rule failed.
        """
        stages = [f"{paper}/logs/{stage}" for paper in self.papers for stage in ending.STAGES]
        tables = ["links-tables"] if "testbed" in self.pages else []
        return [*(f"logs/{name}" for name in [*tables, *self.pages]), *stages]

    @property
    def pages(self) -> list[str]:
        """Pages of all papers together; none of the testbed where no paper has a run, and so nobody asks for hosts."""
        return ["index", *(["testbed"] if any(self.designs.values()) else [])]

    def nodes(self, paper: str, block: str) -> int:
        """Nodes of a block's job."""
        return self.needs.get((paper, block), NO_NEEDS)[0]

    def minutes(self, paper: str, block: str) -> int:
        """Minutes of a block's job."""
        return self.needs.get((paper, block), NO_NEEDS)[1]

    def digest(self, paper: str, block: str | None = None) -> str:
        """A digest of the runs of one block or of all, and of their order; without `effort`, so that it stays that of
        designs from before there was that column."""
        own = [row for row in self.designs.get(paper, ()) if block in (None, row["block"])]
        rows = [{name: cell for name, cell in row.items() if name != "effort"} for row in own]
        return hashlib.sha256(json.dumps(rows, default=str).encode()).hexdigest()[:16]

    def container(self, image: str) -> Callable[[Any], str | None]:
        """What a rule's `container:` takes: gives the image's file, or ends with one line where it was not made.

        In place of `hadoop` it is the image with HiBench where the testbed has that and a paper asks for it, and none
        for a site.
        """

        def path(wildcards: Any) -> str | None:
            if image == "hadoop" and self.site:
                return None
            name = "hibench" if image == "hadoop" and self.hibench else image
            file = f"{recipes.IMAGES}/{name}.sif"
            if "apptainer" in self.deployment and not Path(file).is_file():
                # Snakemake would wrap an ordinary exception in its own words.
                print(f"whitewire: error: {file}: no such image; make it with `snakemake containers`", file=sys.stderr)
                raise SystemExit(2)
            return file

        return path

    @property
    def most_nodes(self) -> int:
        """Nodes of the job that measures links: as many as any paper's job has."""
        return max((nodes for nodes, _ in self.needs.values()), default=NO_NEEDS[0])

    @property
    def description(self) -> str:
        """A digest of the testbed's description: with another one its links are measured again."""
        return digest(load_testbed(self.testbed))

    @property
    def transports(self) -> list[TransportPlan]:
        """The testbed's transports that iperf3 measures: with others these are measured again."""
        return survey_plan.transports_of(load_testbed(self.testbed))

    @property
    def link_parts(self) -> list[str]:
        """Parts of what links carry, each of a rule of its own."""
        return ["network", "drives", "rdma", *(["transports"] if self.transports else [])]

    @property
    def carried(self) -> list[str]:
        """What reports show beside runs over a transport: tables of links, where the testbed has a transport."""
        names = ("links/tables/rdma.csv", "links/tables/transports.csv", "logs/links-tables.done")
        return [f"results/{self.testbed}/{name}" for name in names] if self.transports else []

    def state(self, *patterns: str) -> str:
        """A digest of the testbed's results that match and are there: what is made of them, but asks for none of them,
        is made again when they change."""
        results = root() / "results" / self.testbed
        found = sorted(path for pattern in patterns for path in results.glob(pattern))
        digests = {str(path.relative_to(results)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}
        return hashlib.sha256(canonical(digests).encode()).hexdigest()[:16] if digests else ""

    @property
    def survey_effort(self) -> str:
        """The effort at which links are measured: the user's, or a larger one at which they were measured before."""
        return survey_plan.effort_there(root() / "results" / self.testbed / links.FOLDER, self.description, self.effort)

    def _claims(self) -> dict[str, float]:
        """To how many claims the runs of each waiting block lead; a paper's are of all its blocks alike."""
        blocks = Counter(block.partition("/")[0] for block in self.waiting)
        return {
            block: max(1, by_runs(self.described[paper])) / blocks[paper]
            for block in self.waiting for paper in [block.partition("/")[0]]
        }  # fmt: skip

    @property
    def preamble(self) -> str:
        """What each rule's command begins with: this checkout's command first on the PATH, stand-ins for others last.

        It passes the budget, which begins when this is asked, to measurements, and leaves it in the environment for
        jobs on other nodes: they go on with it. In containers, where the death of Snakemake is not felt, it also names
        the file whose lock shows it.
        """
        scripts, fallback = (shlex.quote(str(HOME / "workflow" / name)) for name in ("scripts", "fallback"))
        path = f'PATH={scripts}:"$PATH":{fallback}'
        handed_on = "" if self.begins and not self.goes_on else os.environ.get(budget.VARIABLE, "")
        os.environ[budget.VARIABLE] = text = (
            handed_on
            or Budget.of(budget.seconds_of(self.budget), self.waiting, self._claims(), self.lanes, self.whole()).text()
        )
        exported = {budget.VARIABLE: text, lock.INSIDE: "snakemake"}
        exported |= {parent_watch.VARIABLE: str(self.watch)} if self.watch else {}
        if self.begins and self.in_all[1] > 1:
            count, most = self.in_all
            on_a_site = not capabilities_of(load_testbed(self.testbed)).shares_processors
            folder = root() / ".cache" / "lanes"
            exported[lanes.VARIABLE] = Lanes.of(count, folder, [*self.waiting], most, on_a_site).text()
        return "; ".join([path, *(f"export {name}={shlex.quote(value)}" for name, value in exported.items())])

    @staticmethod
    def begin() -> None:
        """Be the only process that writes here until this one ends, as Snakemake before its first rule.

        Raises UserError, which names the other process.
        """
        ended = contextlib.ExitStack()
        ended.enter_context(lock.exclusive(root(), ["snakemake", *sys.argv[1:]]))
        atexit.register(ended.close)

    @staticmethod
    def can_make(image: str) -> bool:
        """Whether all files of an image are there: those of HiBench come by `make hibench`."""
        return all((root() / file).exists() for file in Plan.recipe(image) if not file.endswith(".sif"))

    @staticmethod
    def recipe(image: str) -> list[str]:
        """Files that an image is made of."""
        return recipes.made_of(HOME, image)

    @staticmethod
    def reference() -> list[str]:
        """The file that says what the reference results are, where the folder in use has them."""
        path = Path("results", "reference", "manifest.json")
        return [str(path)] if (root() / path).is_file() else []

    @staticmethod
    def files(*patterns: str) -> list[str]:
        """Files of the repository that match, as paths from its top."""
        return sorted(str(path.relative_to(HOME)) for p in patterns for path in HOME.glob(p) if path.is_file())


def _override(given: Mapping[str, Any]) -> None:
    """Put values of --config over those of the configuration. Raises UserError."""
    for name, value in given.items():
        if name not in OVERRIDES:
            raise UserError(
                f'--config: found the key "{name}", expected one of {", ".join(OVERRIDES)}{suggestion(name, OVERRIDES)}'
            )
        # Through the environment, so that the stages' commands see the same.
        os.environ[name.upper()] = " ".join(value) if isinstance(value, list) else str(value)


def _is_design(path: Path, rows: Sequence[DesignRow]) -> bool:
    """Whether a design.csv has these rows; also where there is none, or one that cannot be read, as its readers say."""
    try:
        there = read_csv(path)
    except UserError:
        return True
    return [{name: str(cell) for name, cell in row.items()} for row in there] == [
        {name: str(cell) for name, cell in row.items()} for row in rows
    ]


def _goes_on(record: BlockRecord, seconds: float | None) -> bool:
    """Whether a start goes on with a finished block: after one for a single claim, or after one that might measure for
    another time, which old records do not say."""
    left = [why for why in left_of(record).values() if why.kind.again]
    had = record.get("start_budget_seconds", seconds)
    other = seconds is not None and seconds != (math.inf if had is None else had)
    return bool(left) and (other or any(why.code == ELSE for why in left))


def _lanes(asked: int | str, testbed: Mapping[str, Any], busy: Callable[[], float]) -> tuple[int, int]:
    """How many lanes there are, and how many there may come to be while processors stay idle.

    As many as were asked for; `auto`: as many as the processors carry whose runs keep `busy` of them busy, and up to as
    many as there is memory for. On a site as many as its description says.
    """
    if not capabilities_of(testbed).shares_processors:
        asked = lane_count(testbed)
    if isinstance(asked, int):
        return asked, asked
    memory = max(1, min(lanes.held_by_memory(), MOST_LANES))
    return lanes.carried(len(os.sched_getaffinity(0)), busy(), memory), memory


def _asked(claim: str, described: Mapping[str, Paper], designs: Mapping[str, Sequence[DesignRow]]
           ) -> Mapping[str, Sequence[DesignRow]]:  # fmt: skip
    """The rows of designs that a start is asked for: those of a claim and its controls where it names one."""
    if not claim:
        return designs
    return {name: one_claim.rows_of(described[name], claim, rows) for name, rows in designs.items()}


def _busy(described: Mapping[str, Paper], designs: Mapping[str, Sequence[DesignRow]], testbed: Mapping[str, Any]
          ) -> float:  # fmt: skip
    """Processors that runs keep busy on average over their time, by the model of their work; 0 without runs."""
    runs = [BlockPlan(described[name], testbed, row["effort"]).run(row)
            for name, rows in designs.items() for row in rows]  # fmt: skip
    seconds = sum(run.expected_seconds for run in runs)
    return sum(scale_candidate.load(run) * run.expected_seconds for run in runs) / seconds if seconds else 0.0


def _waiting(papers: Mapping[str, Paper], lacking: Mapping[str, Sequence[DesignRow]], testbed: Mapping[str, Any]
             ) -> dict[str, float]:  # fmt: skip
    """Blocks that lack runs, and the seconds that these should take, in the order of measuring.

    The shortest paper's come first, so that there is soon something to read; then those of the paper with the most
    claims for its time, so that a budget that ends early leaves as few as can be without a verdict. What comes after a
    first interim analysis counts for nothing: it is made as far as time allows.
    """
    found: dict[str, dict[str, float]] = {}
    for block, rows in lacking.items():
        paper = block.partition("/")[0]
        found.setdefault(paper, {})[block] = seconds_of(papers[paper], _least(papers[paper], rows), testbed)
    times = {paper: sum(blocks.values()) for paper, blocks in found.items()}
    shortest = min(times, key=lambda paper: times[paper], default="")
    order = sorted(times, key=lambda paper: (paper != shortest, times[paper] / max(1, by_runs(papers[paper]))))
    return {block: seconds for paper in order for block, seconds in found[paper].items()}


def _whole(papers: Mapping[str, Paper], lacking: Mapping[str, Sequence[DesignRow]], testbed: Mapping[str, Any]
           ) -> dict[str, float]:  # fmt: skip
    """Seconds that all runs should take which blocks lack, by block."""
    return {block: seconds_of(papers[block.partition("/")[0]], rows, testbed) for block, rows in lacking.items()}


def _by_block(designs: Mapping[str, Sequence[DesignRow]], name: str, again: bool = False, seconds: float | None = None
              ) -> dict[str, list[DesignRow]]:  # fmt: skip
    """Missing rows of a testbed's blocks, by `<paper>/<block>`; see `_lacking`."""
    found: dict[str, list[DesignRow]] = {}
    for paper, rows in designs.items():
        for row in _lacking(root() / "results" / name / paper, rows, again, seconds):
            found.setdefault(f"{paper}/{row['block']}", []).append(row)
    return found


def by_runs(paper: Paper) -> int:
    """Number of a paper's claims that rest on runs."""
    return sum(1 for claim in paper.claims if "test" in claim and estimands.of(claim["test"]).needed())


def seconds_of(paper: Paper, rows: Sequence[DesignRow], testbed: Mapping[str, Any]) -> float:
    """Seconds that runs and their overhead runs should take, and the start before them."""
    if not rows:
        return 0.0
    runs = sum(expected_seconds(paper, row, testbed) for row in rows)
    return START_UP_S + runs + all_overheads_seconds(paper, rows, testbed, OVERHEAD_RUNS)


def _of_suite(designs: Mapping[str, Sequence[Mapping[str, Any]]]) -> bool:
    """Whether any run is a HiBench program."""
    return any(workloads.of(row["workload"]).of_suite for rows in designs.values() for row in rows)


def _conda() -> list[Path]:
    """The folder of the `conda` on the PATH: with both deployments it makes environments inside the containers."""
    found = shutil.which("conda")
    if found is None:
        raise UserError("--software-deployment-method conda: found no `conda` on the PATH, expected one")
    return [Path(found).resolve().parents[1]]


def _show_containers(folders: Sequence[Path]) -> None:
    """Have containers show these folders at the same paths; one of conda also puts its command on their PATH.

    Apptainer, and Singularity under its own name, takes both from the environment.
    """
    for program in ("APPTAINER", "SINGULARITY"):
        bound = [part for part in os.environ.get(f"{program}_BIND", "").split(",") if part]
        os.environ[f"{program}_BIND"] = ",".join(dict.fromkeys([*bound, *map(str, folders)]))
        commands = [str(folder / "condabin") for folder in folders[1:]]
        if commands:
            os.environ[f"{program}ENV_PREPEND_PATH"] = os.pathsep.join(commands)


def check_unique(rows: Sequence[Mapping[str, Any]], source: str) -> None:
    """Raise a UserError when two runs of a design have one id."""
    for run_id, count in Counter(row["run_id"] for row in rows).items():
        if count > 1:
            raise UserError(f"{source}: experiments: found {count} runs with the id {quoted(run_id)}, expected one")
        if len(run_id) > MOST_ID:
            found = f"a run's id of {len(run_id)} characters ({quoted(run_id)})"
            raise UserError(f"{source}: experiments: found {found}, expected at most {MOST_ID}: it names a folder")


def check_programs(paper: Paper, rows: Iterable[DesignRow], testbed: Mapping[str, Any]) -> list[str]:
    """Why programs of HiBench are left out, one line each: the copy on this machine lacks them.

    Raises UserError for a program that the testbed cannot run. What a site's HiBench lacks, only its hosts show.
    """
    wanted: dict[tuple[str, str], None] = {}
    for row in rows:
        if not workloads.of(row["workload"]).of_suite:
            continue
        name, levels, effort = row["experiment"], levels_of(paper, row), row["effort"]
        parameters, scale = paper.parameters(name, levels), scale_of(paper, name, effort, levels, testbed)
        scaled = scale.k != 1 or scale.data_fraction != 1
        why = _fault_of_program(parameters, scale.file_bytes if scaled else None, paper.store(name, levels), testbed)
        if why:
            index = [experiment["id"] for experiment in paper.raw["experiments"]].index(paper.origin(name))
            place = "factors" if "program" in levels else "parameters"
            raise UserError(f"{shown(paper.path)}: experiments[{index}].{place}.program: {why}")
        wanted[parameters["program"], parameters["profile"]] = None
    if wanted and "hibench" in testbed and capabilities_of(testbed).local:
        suite = on_this_machine(testbed["hibench"])
        suite.check(wanted, ["worker"])
        return [why for program in dict.fromkeys(program for program, _ in wanted) if (why := suite.lacks(program))]
    return []


def _fault_of_program(
    parameters: Mapping[str, Any], size: int | None, store: Mapping[str, Any], testbed: Mapping[str, Any]
) -> str:
    """Why a testbed cannot run a program; empty if it can. `size` are the bytes of a scaled run."""
    program = parameters["program"]
    where = ""
    if "hibench" not in testbed:
        where = "where the testbed has no HiBench"
    elif size is not None:
        where = "on a testbed that scales sizes down"
    if where and program not in hibench.MICRO:
        known = ", ".join(hibench.MICRO)
        return f"found {quoted(program)}, expected one of {known} {where}{suggestion(program, hibench.MICRO)}"
    if "hibench" not in testbed:
        return ""
    if store["kind"] != "hdfs":
        return f"found a store of kind {store['kind']}, expected hdfs for HiBench"
    try:
        if size is not None:
            hibench.sizes(program, parameters["profile"], size)
    except ValueError as error:
        return str(error)
    return ""


def _hosts(paper: Paper, rows: Sequence[DesignRow], testbed: Mapping[str, Any]) -> str:
    """Hosts of each role that the runs need at most: `1 namenode, 5 datanode, 1 client`."""
    most = most_hosts(paper, rows, servers=capabilities_of(testbed).starts_file_system)
    return ", ".join(f"{count} {role}" for role, count in most.items())


def print_plan() -> None:
    """Print what would be measured, what of it is done, and the time for the rest."""
    plan = Plan.load()
    testbed = load_testbed(plan.testbed)
    at_once = f", {plan.lanes} blocks at once" if plan.lanes > 1 else ""
    print(f"testbed {plan.testbed}, effort {plan.effort}, seed {plan.seed}{at_once}")
    print(outlook_of(plan, testbed))
    within, (low, high, _) = budget.seconds_of(plan.budget), speed.pace(root() / "results" / plan.testbed)
    for name, paper in plan.described.items():
        left = _lacking(root() / "results" / plan.testbed / name, plan.designs[name], seconds=within)
        blocks = len({row["block"] for row in plan.designs[name]})
        plural = "s" if blocks != 1 else ""
        total = len(plan.designs[name])
        print(
            f"{name}: {total} runs in {blocks} block{plural}, {total - len(left)} done, {len(left)} to measure"
            + (f", {_about(*_here(plan, name, left, testbed, (low, high)))}" if left else "")
            + f"; hosts: {_hosts(paper, plan.designs[name], testbed)}"
        )
        for line in outlook.lines(paper, plan.designs[name], testbed):
            print(line)
        for line in _claims_ahead(plan, name, testbed, (low, high)):
            print(line)
        for line in plan.left_out[name]:
            print(f"  left out: {line}")


def _claims_ahead(plan: Plan, name: str, testbed: Mapping[str, Any], paces: tuple[float, float]) -> Iterator[str]:
    """What would decide each open claim here."""
    paper, rows = plan.described[name], plan.designs[name]
    if not rows:
        return
    table = root() / "results" / plan.testbed / name / "analysis" / "verdicts.csv"
    judged = pd.read_csv(table) if table.is_file() else None
    analyses = paper.analyses(plan.effort)
    ends = _here(plan, name, rows, testbed, paces)[1] <= budget.seconds_of(plan.budget)
    yield from prospects.lines(
        paper, testbed, plan.effort, judged, analyses[-1] if ends else analyses[0], sum(paces) / 2
    )


MADE = "all runs are made"
NO_RUNS = "no runs to make: none of these papers' experiments can run on this testbed"


def outlook_of(plan: Plan, testbed: Mapping[str, Any]) -> str:
    """Number of runs that a start has to make, and their time here, in one line."""
    if not any(plan.designs[name] for name in plan.described):
        return NO_RUNS
    results = root() / "results" / plan.testbed
    left = {name: rows for name, rows in plan.lacking.items() if rows}
    if not left:
        return "; ".join([MADE, *_not_made(plan, results)])
    low, high, source = speed.pace(results)
    times = [_here(plan, name, rows, testbed, (low, high)) for name, rows in left.items()]
    within = budget.seconds_of(plan.budget)
    shortest, least = min(low for low, _ in times), _side_by_side([low for low, _ in times], plan.lanes)
    shorter, longer = (_side_by_side(each, plan.lanes) for each in zip(*times, strict=True))
    # Lanes that no other block needs make rounds of the same one.
    count = max(plan.lanes, plan.in_all[0])
    ends = (min(within, each) for each in (shorter * plan.lanes / count, longer))
    took = " to ".join(dict.fromkeys(map(budget.words, ends)))
    runs = sum(map(len, left.values()))
    side_by_side = f"{count} lane{'s' if count > 1 else ''}"
    work = f"at most {runs} runs to make: about {took} of measuring on {side_by_side} ({source})"
    limit = f", which ends after {plan.budget} (BUDGET)" if math.isfinite(within) else ""
    if within < least:
        first = f"the {budget.words(least)} that first interim analyses of all claims take"
        limit += f", before {first}: the last papers may have none"
    first = "verdict" if plan.claim else "first report"
    return f"{work}{limit}; {first} after about {budget.words(min(shortest, within) + REPORT_S)}"


def _not_made(plan: Plan, results: Path) -> Iterator[str]:
    """Runs that a start with nothing to make leaves out, and the command that makes them."""
    named = [results / block for block in plan.blocks("{paper}/raw/{block}")]
    records = ((folder, record) for folder in named if (record := block_record(folder / "block.json")))
    found = sum((not_made(folder, record) for folder, record in records), Counter[str]())
    if short := found[BUDGET] + found[FAILED]:
        yield f"time was short for {short} more: another BUDGET makes them"
    if busy := found[OTHERS]:
        yield f"a busy machine disturbed {busy} more: AGAIN=busy makes them"


def print_again() -> None:
    """For `snakemake --forcerun`: what is outdated, and the blocks that AGAIN asks to go on with."""
    plan = Plan.load()
    found = []
    for name in plan.block_files:
        record = block_record(root() / name)
        if os.environ.get("AGAIN") and record and disturbed((root() / name).parent, record):
            found.append(name)
    if os.environ.get("AGAIN") and not found:
        print("whitewire: AGAIN=busy: found no run of these papers that a busy machine disturbed", file=sys.stderr)
    print(*plan.outdated, *found)


def _lacking(results: Path, rows: Sequence[DesignRow], again: bool = False, seconds: float | None = None
             ) -> list[DesignRow]:  # fmt: skip
    """Rows whose runs are still to be made, by a start with a budget in seconds.

    In a block that is finished, and has all rows of the design, these are none; `again`: those that it left, which
    another start makes. So it is where AGAIN asks for runs that a busy machine disturbed, and the block has some, and
    where the last start had another budget or was for one claim.
    """
    found = []
    for block in dict.fromkeys(row["block"] for row in rows):
        own = [row for row in rows if row["block"] == block]
        finished = block_record(results / "raw" / block / "block.json")
        if finished and {row["run_id"] for row in own} <= {*finished["runs"]}:
            busy = disturbed(results / "raw" / block, finished) if os.environ.get("AGAIN") else []
            left = left_of(finished)
            goes_on = again or busy or _goes_on(finished, seconds)
            later = {name for name, why in left.items() if goes_on and why.kind.again}
            own = [row for row in own if row["run_id"] in later.union(busy)]
        found += [row for row in own if not _journalled(results, row)]
    return found


def _least(paper: Paper, rows: Sequence[DesignRow]) -> list[DesignRow]:
    """Rows that are made whatever an interim analysis says: those before the first one."""
    analyses = {effort: paper.analyses(effort) for effort in {row["effort"] for row in rows}}
    return [row for row in rows if not analyses[row["effort"]] or row["replicate"] <= analyses[row["effort"]][0]]


def _here(plan: Plan, name: str, rows: Sequence[DesignRow], testbed: Mapping[str, Any],
          paces: tuple[float, float]) -> tuple[float, float]:  # fmt: skip
    """Seconds that rows of a paper take on this machine: at the lower pace where all claims are decided at the first
    interim analysis, and at the higher one where none is."""
    paper = plan.described[name]
    blocks = [[row for row in rows if row["block"] == block] for block in dict.fromkeys(row["block"] for row in rows)]

    def here(made: Iterable[Sequence[DesignRow]], pace: float) -> float:
        return sum(START_UP_S + pace * (seconds_of(paper, own, testbed) - START_UP_S) for own in made if own)

    return here((_least(paper, own) for own in blocks), paces[0]), here(blocks, paces[1])


def _side_by_side(seconds: Sequence[float], lanes: int) -> float:
    """Seconds of papers on several lanes, each of which takes the next paper when it is free."""
    ends = [0.0] * lanes
    for each in seconds:
        ends[ends.index(min(ends))] += each
    return max(ends)


def _about(low: float, high: float) -> str:
    """`about 5 to 9 min`, of seconds."""
    ends = dict.fromkeys(str(max(1, round(seconds / 60))) for seconds in (low, high))
    return f"about {' to '.join(ends)} min"


def _journalled(results: Path, row: DesignRow) -> bool:
    return (results / "raw" / str(row["block"]) / "runs" / str(row["run_id"]) / "run.json").is_file()
