"""`whitewire compare`: two result folders side by side, as tables and a document."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from whitewire import atomic, paths
from whitewire.errors import UserError
from whitewire.report import comparison, rebuild, reference
from whitewire.report.agreement import agreement_of
from whitewire.report.comparison import compare_environments, load_results
from whitewire.report.rebuild import opened_folder
from whitewire.report.reference import read_reference
from whitewire.report.render import document, render_document
from whitewire.text import suggestion


def folder_of(name: str, key: str) -> Path:
    """A result folder: a name of results/, or a path. Raises UserError, which names `key`, when it holds no results."""
    results = paths.root() / "results"
    if not name:
        raise UserError(f"{key}: found nothing, expected a folder of {paths.shown(results)}, or a path")
    candidates = [Path(name)] if "/" in name else [results / name, Path(name)]
    folder = next((path for path in candidates if path.is_dir()), None)
    if name == reference.REFERENCE or (folder and reference.is_kept(folder)):
        read_reference()  # a reference of another design cannot be compared
        return reference.reference_folder().resolve()
    if folder is None:
        known = sorted(path.parent.parent.parent.name for path in results.glob("*/*/analysis/verdicts.csv"))
        raise UserError(
            f"{key}: found {name!r}, expected a path or a folder of {paths.shown(results)} "
            f"({comparison.listed(list(dict.fromkeys(known))) or 'none yet'}){suggestion(name, known)}"
        )
    if not list(folder.glob("*/analysis/verdicts.csv")):
        raise UserError(f"{key}: found no <paper>/analysis/verdicts.csv in {paths.shown(folder)}, "
                        "expected the results of a testbed")  # fmt: skip
    return folder.resolve()


def names_of_folders(a: Path, b: Path) -> tuple[str, str]:
    """Short names for two folders, as many of their last parts as make them differ."""
    for depth in range(1, max(len(a.parts), len(b.parts)) + 1):
        one, two = ("/".join(path.parts[-depth:]).strip("/") for path in (a, b))
        if one != two:
            return one, two
    raise UserError(f"A and B: found the same folder twice ({paths.shown(a)}), expected two")


def start_pages(target: Path, results: Mapping[str, Path]) -> dict[str, str]:
    """The start pages of results (by name) that have one, as a page in `target` names and addresses them."""
    found = {}
    for name, folder in results.items():
        kept = reference.is_kept(folder)
        places = [opened_folder(reference.REFERENCE)] if kept else [folder, folder.parents[1]]  # an opened bundle's
        if page := next(filter(Path.is_file, map(rebuild.start_page, places)), None):
            found[f"All papers of {name}"] = os.path.relpath(page, target)
    return found


def compare_results(a: str, b: str) -> Path:
    """Write results/compare/<A>-<B>/: three tables, comparison.json and the document, whose path is returned.

    Raises UserError when a folder is missing or they have no paper in common.
    """
    folders = folder_of(a, "A"), folder_of(b, "B")
    names = names_of_folders(*folders)
    one, two = load_results(folders[0]), load_results(folders[1])
    if not comparison.both(one, two):
        named = zip(names, (one, two), strict=True)
        has = "; ".join(f"{name} has {comparison.listed(sorted(side))}" for name, side in named)
        raise UserError(f"A and B: found no paper in common, expected one or more ({has})")
    target = paths.root() / "results" / "compare" / "-".join(name.replace("/", "_") for name in names)
    judged = comparison.verdicts(one, two)
    target.mkdir(parents=True, exist_ok=True)
    for name, table in (("verdicts", judged), ("estimates", comparison.estimates(one, two)),
                        ("environment", compare_environments(one, two))):  # fmt: skip
        atomic.write(target / f"{name}.csv", table.to_csv(index=False, lineterminator="\n"))
    messages = comparison.messages(one, two)
    facts_of = {side: {"name": name, "folder": paths.shown(folder)}
                for side, name, folder in zip(comparison.SIDES, names, folders, strict=True)}  # fmt: skip
    record = facts_of | {"papers": comparison.both(one, two), "messages": messages, "agreement": agreement_of(judged)}
    atomic.write(target / "comparison.json", atomic.as_json(record, ensure_ascii=False))
    for line in messages:
        print(f"{line['paper']}: {line['message']}")
    pages = start_pages(target, dict(zip(names, folders, strict=True)))
    return render_document(document("compare"), target, target, ("html",), pages)[0]
