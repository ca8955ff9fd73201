"""The sites of a comparison: results in folders, crates, and folders of crates, each with its label.

A folder of crates says in gallery.yaml who measured each of them.
"""

from __future__ import annotations

import string
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, combinations, count
from pathlib import Path

from whitewire import paths
from whitewire.description.files import validate_by_schema
from whitewire.description.reading import load_yaml
from whitewire.errors import UserError
from whitewire.paths import shown
from whitewire.records.jobs import OF_OVERHEADS
from whitewire.report import bundle, reference
from whitewire.report.comparison import Results, listed, load_results, read_table
from whitewire.report.crate import read_crate
from whitewire.report.reference import read_reference
from whitewire.text import one_of, quoted, suggestion

_GALLERY_FILE, _CRATE_FILES = "gallery.yaml", "*.zip"
NOT_SAID = "not said"
"""Label of a site that gallery.yaml does not name."""
_VERDICTS = "*/analysis/verdicts.csv"


@dataclass(frozen=True)
class ComparedSite:
    """Results of one site, by paper. `place`: the folder or crate that they are in; `name`: as much of its path as
    distinguishes it from the others."""

    name: str
    place: Path
    papers: Mapping[str, Results]
    label: str = NOT_SAID
    note: str = ""
    unchecked: tuple[str, ...] = ()
    """Papers without a run that can be compared with those of other sites."""


def folder_of(name: str, key: str) -> Path:
    """A result folder: a name of results/, or a path. Raises UserError, which names `key`, when it holds no results."""
    place = _place_of(name, key)
    if not (place.is_dir() and list(place.glob(_VERDICTS))):
        raise UserError(f"{key}: found no <paper>/analysis/verdicts.csv in {shown(place)}, "
                        "expected the results of a testbed")  # fmt: skip
    return place


def _place_of(name: str, key: str) -> Path:
    """A folder or file: a name of results/, or a path."""
    results = paths.root() / "results"
    if not name:
        raise UserError(f"{key}: found nothing, expected a folder of {shown(results)}, or a path")
    candidates = [Path(name)] if "/" in name else [results / name, Path(name)]
    place = next((path for path in candidates if path.is_dir() or path.is_file()), None)
    if name == reference.REFERENCE or (place and reference.is_kept(place)):
        read_reference()  # a reference of another design cannot be compared
        return reference.reference_folder().resolve()
    if place is None:
        tables, crates = results.glob(f"*/{_VERDICTS}"), results.glob(f"*/{_CRATE_FILES}")
        known = sorted({*(path.parents[2].name for path in tables), *(path.parent.name for path in crates)})
        raise UserError(
            f"{key}: found {name!r}, expected a path or a folder of {shown(results)} "
            f"({listed(known) or 'none yet'}){suggestion(name, known)}"
        )
    return place.resolve()


def open_sites(given: Sequence[str]) -> list[ComparedSite]:
    """The sites that a command names: folders of results, crates, and folders of crates.

    Raises UserError for fewer than two, for one that cannot be read, and of three or more where two hold the same runs.
    """
    keys = chain(string.ascii_uppercase, (f"site {number}" for number in count(27)))
    places = [(key, place) for key, name in zip(keys, given, strict=False) for place in _places_of(name, key)]
    if len(places) < 2:
        raise UserError(f"A: found the results of one site ({shown(places[0][1])}), expected two or more")
    labels = {folder: _labels(folder) for folder in {place.parent for _, place in places if place.is_file()}}
    sites, runs = [], []
    for (_, place), name in zip(places, _short_names(places), strict=True):
        said = labels.get(place.parent, {}).get(place.name, {}) if place.is_file() else {}
        with _as_folder(place) as folder:
            papers = load_results(folder)
            runs.append({paper: _measured(folder / paper) for paper in papers} if len(places) > 2 else {})
        unchecked = tuple(paper for paper, own in runs[-1].items() if not own)
        sites.append(ComparedSite(name, place, papers, said.get("label", NOT_SAID), said.get("note", ""), unchecked))
    _check_independent(sites, runs)
    return sites


def _places_of(name: str, key: str) -> list[Path]:
    """The places of sites that one argument names: a folder of crates has several."""
    place = _place_of(name, key)
    if place.is_file() or list(place.glob(_VERDICTS)):
        return [place]
    if crates := sorted(place.glob(_CRATE_FILES)):
        return crates
    raise UserError(f"{key}: found no <paper>/analysis/verdicts.csv in {shown(place)}, "
                    "expected the results of a testbed, or crates")  # fmt: skip


def _short_names(places: Sequence[tuple[str, Path]]) -> list[str]:
    """Short names for places, as many of their last parts as make them differ. UserError where one is there twice."""
    keys: dict[Path, str] = {}
    for key, place in places:
        if place in keys:
            what = "folder" if place.is_dir() else "crate"
            raise UserError(f"{keys[place]} and {key}: found the same {what} twice ({shown(place)}), expected two")
        keys[place] = key
    for depth in count(1):
        names = ["/".join(place.parts[-depth:]).strip("/") for _, place in places]
        if len({*names}) == len(names):
            break
    return names


@contextmanager
def _as_folder(place: Path) -> Iterator[Path]:
    """A folder of results, or that which a crate is opened in."""
    if place.is_dir():
        yield place
        return
    record, files = read_crate(place)
    with tempfile.TemporaryDirectory(prefix="compare-", dir=paths.temporary()) as scratch:
        yield bundle.unpack(Path(scratch), record, files.items())


def _labels(folder: Path) -> dict[str, Mapping[str, str]]:
    """What gallery.yaml says of each crate of its folder, by file; empty without one. Raises UserError for a fault."""
    path = folder / _GALLERY_FILE
    if not path.is_file():
        return {}
    said = load_yaml(path)
    validate_by_schema(said, "gallery", path)
    there = sorted(each.name for each in folder.iterdir() if each.is_file() and each != path)
    found: dict[str, Mapping[str, str]] = {}
    for number, entry in enumerate(said["crates"]):
        file = entry["file"]
        if file not in there or file in found:
            twice = " a second time, expected each crate once" if file in found else ""
            expected = twice or f", expected {one_of(there)}{suggestion(file, there)}"
            raise UserError(f"{shown(path)}: crates[{number}].file: found {quoted(file)}{expected}")
        found[file] = entry
    return found


_Runs = Mapping[str, Mapping[str, str]]
"""Values as text, by run and metric."""


def _measured(folder: Path) -> _Runs:
    """What a paper's valid runs measured. Metrics that rest on overhead runs too are left out: these may differ. Runs
    are named without the digest of their description, which a crate with other names has not."""
    table = read_table(folder / "tidy" / "runs.csv", ("run_id", "metric", "value", "valid"), needed=False)
    table = table[(table["valid"].astype(str).str.lower() == "true") & ~table["metric"].isin(OF_OVERHEADS)]
    names = table["run_id"].astype(str).str.replace(r"-[^-]*$", "", regex=True)
    found: dict[str, dict[str, str]] = {}
    for run, metric, value in zip(names, table["metric"], table["value"], strict=True):
        found.setdefault(run, {})[metric] = value
    return found


def _check_independent(sites: Sequence[ComparedSite], runs: Sequence[Mapping[str, _Runs]]) -> None:
    """UserError where two sites hold the same runs, such as a folder and the crate that was made of it: a run in which
    all that both report of it alone is equal to the last digit."""
    held: dict[tuple[str, str], dict[str, Mapping[str, str]]] = {}
    for site, papers in zip(sites, runs, strict=True):
        for paper, own in papers.items():
            for run, measured in own.items():
                held.setdefault((paper, run), {})[site.name] = measured
    for (paper, run), by_site in held.items():
        for one, two in _alike(by_site):
            raise UserError(
                f"{one} and {two}: found the same runs in both (such as {run} of {paper}), "
                "expected results of different sites; leave one of them out"
            )


def _alike(by_site: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    """Pairs of sites whose run is equal in all that both report, found among those equal in what all report."""
    shared = sorted(set.intersection(*map(set, by_site.values())))
    groups: dict[tuple[str, ...], list[str]] = {}
    for site, measured in by_site.items():
        groups.setdefault(tuple(measured[metric] for metric in shared), []).append(site)
    for group in groups.values():
        for one, two in combinations(group, 2):
            mine, theirs = by_site[one], by_site[two]
            both = mine.keys() & theirs.keys()
            if both and all(mine[metric] == theirs[metric] for metric in both):
                yield one, two
