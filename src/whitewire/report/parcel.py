"""What of a testbed's results travels, and results made of it again where they arrive.

A parcel is tables and records without raw output: design and tidy tables, verdicts and estimates, block.json and
environments, the testbed's description; `results.json` says what it is. Opened, it is a project of its own, a folder
with `config/` and `results/<testbed>/`, in which every stage works as it does here.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

import yaml

from whitewire import __version__, paths, whole, workloads
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.reading import load_yaml
from whitewire.description.testbed import fabric_names, read_testbed
from whitewire.design.rows import make_design, read_csv
from whitewire.errors import Faults, UserError
from whitewire.paths import shown
from whitewire.records import checked, manifest, schema
from whitewire.records.checked import block_record
from whitewire.records.journal import BlockRecord
from whitewire.records.samples import Torn
from whitewire.text import quoted, suggestion
from whitewire.tidy.tables import PACKAGE

NAME, TESTBED = "results.json", "testbed.yaml"
FORMAT = 1
"""Of parcels that this version makes; it reads those up to it."""
JUDGED = ("verdicts.csv", "estimates.csv")
"""Tables of the analysis that are told beside another run's; all of them are made again from the tidy ones."""
OPENED = "opened"
"""The folder of results/ with a project per opened parcel."""
UNKNOWN = "unknown"
"""The commit of a run whose code no git knows."""
PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")
"""Names of testbeds and papers, which become folders."""


class PaperTold(TypedDict):
    """Of one paper."""

    effort: str
    runs: int
    """Runs that count."""


class Told(TypedDict):
    """results.json."""

    format: int
    whitewire: str
    """Version that made the parcel."""
    testbed: str
    seed: int
    """Of every resampling of the analysis."""
    commits: list[str]
    """Of the code that measured."""
    modified: bool
    """Whether files differed from them."""
    papers: dict[str, PaperTold]


# -- from results to a parcel ------------------------------------------------------------------------------


def of(results: Path, papers: Sequence[str]) -> dict[str, bytes]:
    """Files of a parcel by their path in it, from `results/<testbed>` of a project.

    UserError with a line per fault for a paper that is not measured, judged and whole.
    """
    config = configuration_of(results)
    made: dict[str, bytes] = {TESTBED: (config / "testbeds" / f"{results.name}.yaml").read_bytes()}
    told: dict[str, PaperTold] = {}
    commits: set[str] = set()
    modified = False
    for paper in papers:
        files, records = _of_paper(results / paper)
        made |= {f"{paper}/{name}": content for name, content in files.items()}
        commits |= {record["commit"] or UNKNOWN for record in records}
        modified |= any(record["modified"] for record in records)
        effort = records[0]["block"].rsplit("-", 1)[0] if records else ""
        told[paper] = {"effort": effort, "runs": _valid_runs(files["tidy/runs.csv"])}
    record: Told = {
        "format": FORMAT, "whitewire": __version__, "testbed": results.name,
        "seed": load_yaml(config / "config.yaml")["seed"], "commits": sorted(commits), "modified": modified,
        "papers": told,
    }  # fmt: skip
    made[NAME] = (json.dumps(record, indent=1) + "\n").encode()
    return made


def configuration_of(results: Path) -> Path:
    """The folder `config` of the project that a folder `results/<testbed>` belongs to: an opened parcel's own."""
    own = results.resolve().parent.parent / "config"
    return own if (own / "config.yaml").is_file() else paths.root() / "config"


def _of_paper(folder: Path) -> tuple[dict[str, bytes], list[BlockRecord]]:
    """Files of one paper by path, and its blocks' records."""
    again = f"`make papers PAPERS={folder.name}` makes it"
    if not (folder / "design.csv").is_file():
        raise UserError(f"{shown(folder / 'design.csv')}: found no such file, expected the design; {again}")
    rows = read_csv(folder / "design.csv")
    if faults := [*(checked.tables(folder / "tidy") or ()), *(checked.analysis(folder / "analysis") or ())]:
        raise Faults(faults)
    names = ["design.csv", f"tidy/{PACKAGE}", *(f"analysis/{name}" for name in JUDGED)]
    for name in names:
        if not (folder / name).is_file():
            raise UserError(f"{shown(folder / name)}: found no such file, expected one; {again}")
    package = json.loads((folder / "tidy" / PACKAGE).read_text(encoding="utf-8"))
    names += [f"tidy/{resource['path']}" for resource in package["resources"]]
    names += [manifest.NAME] if (folder / manifest.NAME).is_file() else []
    records: list[BlockRecord] = []
    for block in dict.fromkeys(row["block"] for row in rows):
        path = folder / "raw" / block / "block.json"
        record = block_record(path)
        if record is None or {*record["runs"]} != {row["run_id"] for row in rows if row["block"] == block}:
            raise UserError(f"{shown(path)}: found no finished block of this design, expected one; {again}")
        records.append(record)
        kept = (path, *sorted(path.parent.glob("environment*.json")))
        names += [each.relative_to(folder).as_posix() for each in kept]
    return {name: (folder / name).read_bytes() for name in names}, records


def _valid_runs(table: bytes) -> int:
    """How many runs of tidy/runs.csv count."""
    rows = csv.DictReader(io.StringIO(table.decode()))
    return len({row["run_id"] for row in rows if row["valid"].lower() == "true"})


# -- whether this version can take one ---------------------------------------------------------------------


def told(content: bytes, source: str) -> Told:
    """results.json of a parcel. UserError for one that is broken, or of a later format."""
    try:
        value = schema.parse(content.decode())
    except (UnicodeDecodeError, schema.Broken) as error:
        raise UserError(f"{source}: {NAME}: {error}") from None
    if isinstance(value, dict) and isinstance(value.get("format"), int) and value["format"] > FORMAT:
        made = f", made by Whitewire {value['whitewire']}" if isinstance(value.get("whitewire"), str) else ""
        raise UserError(
            f"{source}: {NAME}: format: found {value['format']}{made}, expected at most {FORMAT}; a later Whitewire "
            "opens it"
        )
    if why := schema.fault(value, Told):
        raise UserError(f"{source}: {NAME}: {why}")
    for name in [value["testbed"], *value["papers"]]:
        if not PLAIN.fullmatch(name):
            raise UserError(f"{source}: {NAME}: found the name {quoted(name)}, expected letters, digits, - and _")
    if not value["papers"]:
        raise UserError(f"{source}: {NAME}: papers: found none, expected one or more")
    return value


def check(record: Told, files: Mapping[str, bytes], source: str) -> None:
    """UserError with one line where this version cannot take a parcel: papers that it does not know, or that it
    measures otherwise."""
    known = project.papers()
    for name in record["papers"]:
        if name not in known:
            raise UserError(
                f"{source}: {NAME}: papers: found {quoted(name)}, expected papers that are described here "
                f"({_by(record)}){suggestion(name, known)}"
            )
    if TESTBED not in files:
        raise UserError(f"{source}: {TESTBED}: found no such file, expected the testbed's description")
    with tempfile.TemporaryDirectory(prefix="parcel-", dir=paths.temporary()) as scratch:
        path = Path(scratch) / f"{record['testbed']}.yaml"
        path.write_bytes(files[TESTBED])
        try:
            testbed = read_testbed(path)
        except UserError as error:
            raise UserError(f"{source}: {TESTBED}: {str(error).partition(': ')[2]}") from None
    for name, of_paper in record["papers"].items():
        _check_design(name, of_paper["effort"], record, testbed, files.get(f"{name}/design.csv", b""), source)


def _check_design(name: str, effort: str, record: Told, testbed: Mapping[str, Any], design: bytes, source: str) -> None:
    """Runs of a parcel are those that this version's description of the paper asks for. What of HiBench is installed
    here is no part of it."""
    paper = load_paper(project.paper_path(name), fabric_names(testbed))
    own, of_suite = set(), set()
    for row in make_design(paper, testbed, effort, record["seed"]):
        if workloads.of(row["workload"]).of_suite:
            of_suite.add(_stem(row["run_id"]))
        else:
            own.add(row["run_id"])
    try:
        theirs = {row["run_id"] for row in checked.table(design.decode(), ("run_id",))}
    except (UnicodeDecodeError, Torn) as error:
        raise UserError(f"{source}: {name}/design.csv: {error}") from None
    other = sorted(each for each in theirs if each not in own and _stem(each) not in of_suite)
    lacking = sorted([*(own - theirs), *(of_suite - {_stem(each) for each in theirs})])
    if other or lacking:
        found = f"run {quoted(other[0])}" if other else f"no run {quoted(lacking[0])}"
        raise UserError(
            f"{source}: {name}/design.csv: found {found}, expected the runs that this version's {name} has at {effort} "
            f"effort (it has {len(lacking)} more and lacks {len(other)}); {_by(record)}"
        )


def _stem(run_id: str) -> str:
    """A run's id without the digest."""
    return run_id.rpartition("-")[0]


def _by(record: Told) -> str:
    """Which code would take the parcel."""
    commits = ", ".join(each[:12] for each in record["commits"])
    return f"it was measured by {'a changed copy of ' if record['modified'] else ''}commit {commits}"


# -- from a parcel to results ------------------------------------------------------------------------------


def opened(target: Path, record: Told, files: Iterable[tuple[str, bytes]]) -> Path:
    """Make the folder `target`, a project with the parcel's results, in place of an earlier one; return its
    `results/<testbed>`. The papers are described as they are here. Raises OSError."""
    testbed, names = record["testbed"], list(record["papers"])
    target.parent.mkdir(parents=True, exist_ok=True)
    with whole.folder(target) as part:
        results, config = part / "results" / testbed, part / "config"
        for name, content in files:
            path = part / name if name == NAME else results / name
            _write(config / "testbeds" / f"{testbed}.yaml" if name == TESTBED else path, content)
        for name in names:
            _write(config / "papers" / f"{name}.yaml", project.paper_path(name).read_bytes())
        others = project.testbeds()
        if testbed != "emulated" and "emulated" in others:  # whose networks a paper may name
            _write(config / "testbeds" / "emulated.yaml", project.testbed_path("emulated").read_bytes())
        effort = next((each["effort"] for each in record["papers"].values() if each["effort"]), "quick")
        settled = {"papers": names, "testbed": testbed, "effort": effort, "seed": record["seed"]}
        _write(config / "config.yaml", yaml.safe_dump(settled, sort_keys=False).encode())
        if paths.root() != paths.HOME and (paths.root() / "paper").is_dir():
            shutil.copytree(paths.root() / "paper", part / "paper")
    return target / "results" / testbed


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def name_of(path: Path) -> str:
    """What results are called that come in a file: as the file, where that is a plain name."""
    return path.stem if PLAIN.fullmatch(path.stem) else "crate"


def judged_otherwise(results: Path, files: Mapping[str, bytes]) -> list[str]:
    """Claims whose verdict is another than came with a parcel: `emulex-2012 E-C01 (reproduced, not inconclusive)`."""
    found = []
    for paper in sorted(path.parent.parent.name for path in results.glob("*/analysis/verdicts.csv")):
        content = files.get(f"{paper}/analysis/verdicts.csv", b"").decode()
        came = {row["claim"]: row["verdict"] for row in csv.DictReader(io.StringIO(content))}
        with (results / paper / "analysis" / "verdicts.csv").open(newline="", encoding="utf-8") as table:
            found += [f"{paper} {row['claim']} ({row['verdict']}, not {came.get(row['claim'], 'judged')})"
                      for row in csv.DictReader(table) if came.get(row["claim"]) != row["verdict"]]  # fmt: skip
    return found
