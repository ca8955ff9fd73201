"""The part of a testbed's results that is shared, and the project made of it elsewhere.

A bundle is tables and records without raw output: design and tidy tables, verdicts and estimates, block.json and
environments, the testbed's description and, if they exist, tables of its links and of trust; `results.json` describes
it. An opened bundle is a project of its own, a folder with `config/` and `results/<testbed>/`, in which every stage
works.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, TypeVar

import yaml

from whitewire import __version__, atomic, paths
from whitewire.analysis.trust import OF_TRUST
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.files import schema as schema_of
from whitewire.description.names import PLAIN_NAME, paper_names
from whitewire.description.reading import load_yaml
from whitewire.description.testbed import digest, fabric_names, read_testbed
from whitewire.design.rows import effort_of, make_design, parse_design, read_csv
from whitewire.errors import Faults, UserError
from whitewire.paths import shown
from whitewire.records import checked, links, manifest, schema, trust
from whitewire.records.checked import PACKAGE, TESTBED_TABLES, block_record, described_tables, parse_table, table_faults
from whitewire.records.journal import BlockRecord
from whitewire.records.links import LINKS_FOLDER, LINKS_RECORD
from whitewire.records.manifest import MANIFEST_FILE
from whitewire.records.run import DesignRow
from whitewire.records.samples import Torn
from whitewire.records.schema import Broken, fault_of_value, load_json, parse_json, parse_record
from whitewire.records.trust import TRUST_FOLDER, TRUST_RECORD
from whitewire.report import comparison
from whitewire.report.comparison import JUDGED_COLUMNS
from whitewire.text import one_of, quoted, suggestion
from whitewire.tidy import form
from whitewire.tidy.columns import kind_of_column
from whitewire.tidy.form import NEEDED_COLUMNS, check_cells
from whitewire.tidy.tables import LINKS_COLUMNS
from whitewire.workloads import workload_of

T = TypeVar("T")

BUNDLE_FILE, TESTBED_FILE = "results.json", "testbed.yaml"
DESIGN, _RUNS = "design.csv", "runs.csv"
FORMAT = 1
"""Format of the bundles that this version makes and reads."""
VERDICTS_FILE = "verdicts.csv"
JUDGED_TABLES: Mapping[str, tuple[str, ...]] = {VERDICTS_FILE: JUDGED_COLUMNS, "estimates.csv": comparison.ESTIMATED}
"""Tables of the analysis that are compared with another run's, with the columns they must have; all are recomputed from
the tidy tables."""
OF_TESTBED: Mapping[str, tuple[str, Any]] = {
    LINKS_FOLDER: (LINKS_RECORD, links.LinksRecord),
    TRUST_FOLDER: (TRUST_RECORD, trust.TrustRecord),
}
"""Folders with results of the testbed itself: the record, and its form. Tables are beside the record."""
_COLUMNS = {LINKS_FOLDER: LINKS_COLUMNS, TRUST_FOLDER: OF_TRUST}
"""Columns of these by table."""
OPENED, REFERENCE = "opened", "reference"
"""Folders of results/: opened bundles, a project each; and the bundle in the repository."""
UNKNOWN = "unknown"
"""Commit recorded for code outside any git repository."""


class PaperRecord(TypedDict):
    """A bundle's record of one paper."""

    effort: str
    runs: int
    """Runs that count."""


class BundleRecord(TypedDict):
    """results.json."""

    format: int
    whitewire: str
    """Version that made the bundle."""
    testbed: str
    seed: int
    """Seed of every resampling of the analysis."""
    commits: list[str]
    """Commits of the code that measured."""
    modified: bool
    """Whether that code had changes besides its commits."""
    papers: dict[str, PaperRecord]


# -- from results to a bundle ------------------------------------------------------------------------------


def bundle_of(results: Path, papers: Sequence[str]) -> dict[str, bytes]:
    """Files of a bundle by their path in it, from `results/<testbed>` of a project.

    Outdated results of the testbed itself are left out, with a line on stderr. UserError with one line per fault if a
    paper is not measured, judged and whole, or a table of the testbed has changed since it was written.
    """
    config = configuration_of(results)
    description = config / "testbeds" / f"{results.name}.yaml"
    made: dict[str, bytes] = {TESTBED_FILE: description.read_bytes()}
    measured: dict[str, PaperRecord] = {}
    by: list[Mapping[str, Any]] = []
    for folder, (own, kind) in OF_TESTBED.items():
        files, found = _of_testbed(results / folder, own, kind, digest(read_testbed(description)))
        made |= {f"{folder}/{name}": content for name, content in files.items()}
        by += found
    for paper in papers:
        files, records = _of_paper(results / paper)
        made |= {f"{paper}/{name}": content for name, content in files.items()}
        by += records
        effort = effort_of(records[0]["block"]) if records else ""
        measured[paper] = {"effort": effort, "runs": _valid_runs(files[f"tidy/{_RUNS}"], results / paper / "tidy")}
    record: BundleRecord = {
        "format": FORMAT, "whitewire": __version__, "testbed": results.name,
        "seed": load_yaml(config / "config.yaml")["seed"],
        "commits": sorted({each["commit"] or UNKNOWN for each in by}),
        "modified": any(each["modified"] for each in by), "papers": measured,
    }  # fmt: skip
    made[BUNDLE_FILE] = atomic.as_json(record).encode()
    check_form(record, made, shown(results))  # what would not be opened is not packed
    return made


def configuration_of(results: Path) -> Path:
    """The folder `config` of the project that contains `results/<testbed>`: for an opened bundle, its own."""
    own = results.resolve().parent.parent / "config"
    return own if (own / "config.yaml").is_file() else paths.root() / "config"


def _of_testbed(
    folder: Path, name: str, kind: Any, description: str
) -> tuple[dict[str, bytes], list[Mapping[str, Any]]]:  # fmt: skip
    """(record and tables by path, the record) of a folder; empty if it was not measured, or with another description of
    the testbed, which is reported."""
    path, tables = folder / name, folder / TESTBED_TABLES
    if not path.is_file() or not (tables / PACKAGE).is_file():
        return {}, []
    try:
        record = load_json(path, kind)
    except Broken as broken:
        raise UserError(f"{shown(path)}: {broken}; remove {shown(folder)}, and it is measured again") from None
    if record.get("plan", record)["description"] != description:
        print(f"whitewire: {shown(path)}: found another description of the testbed than that of its YAML, so "
              f"{folder.name}/ is left out", file=sys.stderr)  # fmt: skip
        return {}, []
    if faults := table_faults(tables):
        raise Faults(faults)
    names = [name, *(f"{TESTBED_TABLES}/{each}" for each in [PACKAGE, *_described(tables)])]
    return {each: (folder / each).read_bytes() for each in names}, [record]


def _described(folder: Path) -> list[str]:
    """Files of the tables that a folder's datapackage.json lists, which checked.table_faults found no fault with."""
    return [each["path"] for each in described_tables((folder / PACKAGE).read_text(encoding="utf-8"))]


def _of_paper(folder: Path) -> tuple[dict[str, bytes], list[BlockRecord]]:
    """Files of one paper by path, and its blocks' records."""
    again = f"`make papers PAPERS={folder.name}` makes it"
    if not (folder / DESIGN).is_file():
        raise UserError(f"{shown(folder / DESIGN)}: found no such file, expected the design; {again}")
    rows = read_csv(folder / DESIGN)
    if faults := [*(table_faults(folder / "tidy") or ()), *(checked.analysis(folder / "analysis") or ())]:
        raise Faults(faults)
    names = [DESIGN, f"tidy/{PACKAGE}", *(f"analysis/{name}" for name in JUDGED_TABLES)]
    for name in names:
        if not (folder / name).is_file():
            raise UserError(f"{shown(folder / name)}: found no such file, expected one; {again}")
    names += [f"tidy/{name}" for name in _described(folder / "tidy")]
    names += [MANIFEST_FILE] if (folder / MANIFEST_FILE).is_file() else []
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


def _valid_runs(table: bytes, tidy: Path) -> int:
    """Number of valid runs of runs.csv in a folder with tidy tables."""
    try:
        rows = form.rows(table, _RUNS)
    except Torn as torn:
        raise UserError(f"{shown(tidy / _RUNS)}: {torn}; make it anew with `.venv/bin/whitewire tidy`") from None
    return len({row["run_id"] for row in rows if row["valid"].lower() == "true"})


# -- whether this version can take one ---------------------------------------------------------------------


def record_of(content: bytes, source: str) -> BundleRecord:
    """results.json of a bundle. UserError for one that is broken, or of a later format."""
    try:
        value = parse_json(content.decode())
    except (UnicodeDecodeError, schema.Broken) as error:
        raise UserError(f"{source}: {BUNDLE_FILE}: {error}") from None
    if isinstance(value, dict) and isinstance(value.get("format"), int) and value["format"] > FORMAT:
        made = f", made by Whitewire {value['whitewire']}" if isinstance(value.get("whitewire"), str) else ""
        raise UserError(
            f"{source}: {BUNDLE_FILE}: format: found {value['format']}{made}, expected at most {FORMAT}; a later "
            "Whitewire opens it"
        )
    if why := fault_of_value(value, BundleRecord):
        raise UserError(f"{source}: {BUNDLE_FILE}: {why}")
    for name in [value["testbed"], *value["papers"]]:
        if not PLAIN_NAME.fullmatch(name):
            raise UserError(
                f"{source}: {BUNDLE_FILE}: found the name {quoted(name)}, expected letters, digits, - and _"
            )
    if not value["papers"]:
        raise UserError(f"{source}: {BUNDLE_FILE}: papers: found none, expected one or more")
    bound = schema_of("config")["properties"]
    least, most = bound["seed"]["minimum"], bound["seed"]["maximum"]
    if not least <= value["seed"] <= most:
        raise UserError(f"{source}: {BUNDLE_FILE}: seed: found {quoted(value['seed'])}, expected {least} to {most}")
    efforts = ["", *bound["effort"]["enum"]]  # none of a paper without runs
    for name, paper in value["papers"].items():
        if paper["effort"] not in efforts:
            key = f"papers.{name}.effort"
            raise UserError(
                f"{source}: {BUNDLE_FILE}: {key}: found {quoted(paper['effort'])}, expected {one_of(efforts[1:])}"
            )
    return value


def check_bundle(
    record: BundleRecord, files: Mapping[str, bytes], source: str, papers: Collection[str] | None = None
) -> None:
    """UserError with one line if this version cannot take a bundle: unknown papers, papers with another design, or
    files that its stages and documents cannot read.

    `papers`: those that must be known and have the same design (None: all).
    """
    known = paper_names()
    wanted = [name for name in record["papers"] if papers is None or name in papers]
    for name in wanted:
        if name not in known:
            raise UserError(
                f"{source}: {BUNDLE_FILE}: papers: found {quoted(name)}, expected papers that are described here "
                f"({_by(record)}){suggestion(name, known)}"
            )
    try:
        testbed = check_form(record, files, source)
    except UserError as error:
        raise UserError(f"{error}; {_by(record)}") from None
    for name in wanted:
        _check_design(name, record, testbed, files[f"{name}/{DESIGN}"], source)


def check_form(record: BundleRecord, files: Mapping[str, bytes], source: str) -> Mapping[str, Any]:
    """The testbed's description in a bundle. UserError with one line if one of the files is missing or cannot be read
    by stages and documents."""
    testbed = _testbed(record, files, source)
    for folder, (own, kind) in OF_TESTBED.items():
        if any(name.startswith(f"{folder}/") for name in files):
            _in_file(files, f"{folder}/{own}", source, partial(_record, kind=kind))
            _check_tables(files, f"{folder}/{TESTBED_TABLES}", source, _COLUMNS[folder])
    for name in record["papers"]:
        rows = _in_file(files, f"{name}/{DESIGN}", source, parse_design)
        _check_tables(files, f"{name}/tidy", source, form.OWN)
        _content(files, f"{name}/tidy/{_RUNS}", source)
        for table, columns in JUDGED_TABLES.items():
            kinds = {column: kind for column in columns if (kind := kind_of_column(table, column))}
            _in_file(files, f"{name}/analysis/{table}", source, partial(parse_table, columns=columns, kinds=kinds))
        _check_blocks(files, name, rows, source)
    return testbed


def _testbed(record: BundleRecord, files: Mapping[str, bytes], source: str) -> Mapping[str, Any]:
    if TESTBED_FILE not in files:
        raise UserError(f"{source}: {TESTBED_FILE}: found no such file, expected the testbed's description")
    with tempfile.TemporaryDirectory(prefix="bundle-", dir=paths.temporary()) as scratch:
        path = Path(scratch) / f"{record['testbed']}.yaml"
        path.write_bytes(files[TESTBED_FILE])
        try:
            return read_testbed(path)
        except UserError as error:
            raise UserError(str(error).replace(paths.shown(path), f"{source}: {TESTBED_FILE}", 1)) from None


def _content(files: Mapping[str, bytes], name: str, source: str) -> bytes:
    if name not in files:
        raise UserError(f"{source}: {name}: found no such file, expected one")
    return files[name]


def _in_file(files: Mapping[str, bytes], name: str, source: str, read: Callable[[str], T]) -> T:
    """A bundle's file, parsed by a function of its text that raises Broken or Torn. UserError for a fault."""
    content = _content(files, name, source)
    try:
        return read(form.text_of(content, name))
    except (Torn, Broken) as fault:
        raise UserError(f"{source}: {name}: {fault}") from None


def _record(text: str, kind: Any) -> Any:
    """A record in JSON, of a TypedDict, as R reads it too. Raises Broken."""
    value = parse_record(text, kind)
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        raise Broken("found a number without an end, expected none") from None
    return value


def _check_tables(files: Mapping[str, bytes], folder: str, source: str, columns: Mapping[str, Collection[str]]) -> None:
    """UserError if a folder has tables that its datapackage.json does not list, or tables that cannot be read;
    `columns` by table."""
    listed = {each["path"]: each for each in _in_file(files, f"{folder}/{PACKAGE}", source, described_tables)}
    there = {name.removeprefix(f"{folder}/") for name in files if name.startswith(f"{folder}/")}
    for name in sorted({*listed, *there} - {PACKAGE}):
        why = f"found a file that {PACKAGE} does not list, expected none"
        if name in listed:
            why = _unlike(listed[name], files.get(f"{folder}/{name}"))
        if not why and name in columns:
            why = _unread(files[f"{folder}/{name}"], name, columns[name], folder.endswith("/tidy"))
        if why:
            raise UserError(f"{source}: {folder}/{name}: {why}")


def _unread(content: bytes, name: str, columns: Collection[str], tidy: bool) -> str:
    """Why a table cannot be read; empty: it can."""
    try:
        if tidy and name in NEEDED_COLUMNS:
            form.rows(content, name)
        check_cells(content, name, columns)
    except Torn as torn:
        return str(torn)
    return ""


def _unlike(listed: checked.Resource, content: bytes | None) -> str:
    """Fault of a table by its entry in datapackage.json; empty without one."""
    if content is None:
        return f"found no such file, expected the one that {PACKAGE} lists"
    wanted: manifest.Entry = {"bytes": listed["bytes"], "sha256": listed["hash"].removeprefix("sha256:")}
    return manifest.unlike(content, wanted).replace(MANIFEST_FILE, PACKAGE)


def _check_blocks(files: Mapping[str, bytes], paper: str, rows: Sequence[DesignRow], source: str) -> None:
    """UserError if a block of the paper lacks its record, or the record cannot be read or lists other runs."""
    for name in sorted(each for each in files if each.startswith(f"{paper}/raw/")):
        if not name.endswith("/block.json"):
            _in_file(files, name, source, partial(_record, kind=checked.EnvironmentRecord))
    for block in dict.fromkeys(row["block"] for row in rows):
        name = f"{paper}/raw/{block}/block.json"
        found: BlockRecord = _in_file(files, name, source, partial(_record, kind=BlockRecord))
        if {*found["runs"]} != {row["run_id"] for row in rows if row["block"] == block}:
            raise UserError(f"{source}: {name}: runs: found other runs than in {DESIGN}, expected the same")


def _check_design(name: str, record: BundleRecord, testbed: Mapping[str, Any], design: bytes, source: str) -> None:
    """Check that a bundle's runs are those of this version's description of the paper. An installed HiBench does not
    matter."""
    effort = record["papers"][name]["effort"]
    try:
        paper = load_paper(project.paper_path(name), fabric_names(testbed))
    except UserError as error:
        raise UserError(f"{source}: {TESTBED_FILE}: {name} cannot be measured on this testbed: {error}") from None
    own, of_suite, blocks = set(), set(), set()
    for row in make_design(paper, testbed, effort, record["seed"]):
        blocks.add(row["block"])
        if workload_of(row["workload"]).of_suite:
            of_suite.add(_stem(row["run_id"]))
        else:
            own.add(row["run_id"])
    rows = parse_design(design.decode())
    theirs = {row["run_id"] for row in rows}
    other = sorted(each for each in theirs if each not in own and _stem(each) not in of_suite)
    lacking = sorted([*(own - theirs), *(of_suite - {_stem(each) for each in theirs})])
    if other or lacking:
        found = f"run {quoted(other[0])}" if other else f"no run {quoted(lacking[0])}"
        raise UserError(
            f"{source}: {name}/{DESIGN}: found {found}, expected the runs that this version's {name} has at {effort} "
            f"effort (it has {len(lacking)} more and lacks {len(other)}); {_by(record)}"
        )
    if strange := sorted({row["block"] for row in rows} - blocks):
        raise UserError(f"{source}: {name}/{DESIGN}: block: found {quoted(strange[0])}, expected {one_of(blocks)}")
    if strange := sorted({row["effort"] for row in rows} - {effort}):
        raise UserError(f"{source}: {name}/{DESIGN}: effort: found {quoted(strange[0])}, expected {effort}")


def _stem(run_id: str) -> str:
    """A run's id without the digest."""
    return run_id.rpartition("-")[0]


def _by(record: BundleRecord) -> str:
    """Remedy: the code that can read the bundle."""
    commits = ", ".join(each[:12] for each in record["commits"])
    return f"it was measured by {'a changed copy of ' if record['modified'] else ''}commit {commits}"


# -- from a bundle to results ------------------------------------------------------------------------------


def unpack(folder: Path, record: BundleRecord, files: Iterable[tuple[str, bytes]]) -> Path:
    """Fill an empty folder with a project of the bundle's results; return its `results/<testbed>`. The papers are
    described as they are here. Raises OSError."""
    testbed, names = record["testbed"], list(record["papers"])
    results, config = folder / "results" / testbed, folder / "config"
    for name, content in files:
        path = folder / name if name == BUNDLE_FILE else results / name
        _write(config / "testbeds" / f"{testbed}.yaml" if name == TESTBED_FILE else path, content)
    for name in names:
        _write(config / "papers" / f"{name}.yaml", project.paper_path(name).read_bytes())
    others = project.testbeds()
    if testbed != "emulated" and "emulated" in others:  # whose networks a paper may name
        _write(config / "testbeds" / "emulated.yaml", project.testbed_path("emulated").read_bytes())
    effort = next((each["effort"] for each in record["papers"].values() if each["effort"]), "quick")
    settled = {"papers": names, "testbed": testbed, "effort": effort, "seed": record["seed"]}
    _write(config / "config.yaml", yaml.safe_dump(settled, sort_keys=False).encode())
    if paths.root() != paths.HOME and (paths.root() / "paper").is_dir():
        shutil.copytree(paths.root() / "paper", folder / "paper")
    return results


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def bundle_name(path: Path) -> str:
    """Name for results from a file: the file's, if that is a plain name other than the reference's."""
    return path.stem if PLAIN_NAME.fullmatch(path.stem) and path.stem != REFERENCE else "crate"


def judged_otherwise(results: Path, files: Mapping[str, bytes]) -> list[str]:
    """Claims whose new verdict differs from that in the bundle: `emulex-2012 E-C01 (reproduced, not inconclusive)`."""
    found = []
    for path in sorted(results.glob(f"*/analysis/{VERDICTS_FILE}")):
        paper = path.parent.parent.name
        name = f"{paper}/analysis/{VERDICTS_FILE}"
        came = {row["claim"]: row["verdict"] for row in _verdicts(files[name])} if name in files else {}
        found += [f"{paper} {row['claim']} ({row['verdict']}, not {came.get(row['claim'], 'judged')})"
                  for row in _verdicts(path.read_bytes()) if came.get(row["claim"]) != row["verdict"]]  # fmt: skip
    return found


def _verdicts(table: bytes) -> list[dict[str, str]]:
    """Rows of a table of verdicts that is already checked, or was made here."""
    return parse_table(table.decode(), JUDGED_TABLES[VERDICTS_FILE])
