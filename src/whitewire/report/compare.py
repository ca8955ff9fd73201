"""`whitewire compare`: results of two sites side by side, or of several sites pooled, as tables and a document."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from whitewire import atomic, paths
from whitewire.errors import UserError
from whitewire.report import comparison, rebuild, reference
from whitewire.report.agreement import agreement_of
from whitewire.report.comparison import compare_environments
from whitewire.report.pooling import estimates_of_sites, facts_of_sites, messages_of_sites, pooled_claims
from whitewire.report.rebuild import opened_folder
from whitewire.report.render import document, render_document
from whitewire.report.sites import ComparedSite, open_sites

_LONGEST = 120
"""Characters of the name of a comparison's folder."""


def start_pages(target: Path, results: Mapping[str, Path]) -> dict[str, str]:
    """The start pages of results (by name) that have one, as a page in `target` names and addresses them."""
    found = {}
    for name, folder in results.items():
        kept = reference.is_kept(folder)
        places = [opened_folder(reference.REFERENCE)] if kept else [folder, folder.parents[1]]  # an opened bundle's
        if page := next(filter(Path.is_file, map(rebuild.start_page, places)), None):
            found[f"All papers of {name}"] = os.path.relpath(page, target)
    return found


def compare_results(given: Sequence[str]) -> Path:
    """Compare folders of results, crates and folders of crates: two sites side by side, from three on pooled. Write
    tables, a record and the document below results/compare/; the document's path is returned.

    Raises UserError where there are fewer than two, one cannot be read, or they have no paper in common.
    """
    sites = open_sites(given)
    often = {paper for site in sites for paper in site.papers if sum(paper in other.papers for other in sites) > 1}
    if not often:
        has = "; ".join(f"{site.name} has {comparison.listed(sorted(site.papers))}" for site in sites)
        which = "A and B" if len(sites) == 2 else f"all {len(sites)} sites"
        raise UserError(f"{which}: found no paper in common, expected one or more ({has})")
    return _beside(*sites) if len(sites) == 2 else _pooled(sites, given)


def _beside(a: ComparedSite, b: ComparedSite) -> Path:
    """Write results/compare/<A>-<B>/: three tables, comparison.json and the document."""
    target = _target((a.name, b.name))
    judged = comparison.verdicts(a.papers, b.papers)
    messages = comparison.messages(a.papers, b.papers)
    tables = {"verdicts": judged, "estimates": comparison.estimates(a.papers, b.papers),
              "environment": compare_environments(a.papers, b.papers)}  # fmt: skip
    facts = {side: {"name": site.name, "folder": paths.shown(site.place)}
             for side, site in zip(comparison.SIDES, (a, b), strict=True)}  # fmt: skip
    record = facts | {"papers": comparison.both(a.papers, b.papers), "messages": messages}
    _write(target, tables, "comparison.json", record | {"agreement": agreement_of(judged)})
    return render_document(document("compare"), target, target, ("html",), _pages(target, (a, b)))[0]


def _pooled(sites: Sequence[ComparedSite], given: Sequence[str]) -> Path:
    """Write results/compare/<names given>/: two tables, pooled.json and the document as HTML and PDF."""
    target = _target(Path(name).resolve().name for name in given)
    claims, own = pooled_claims(estimates_of_sites(sites))
    facts = [{**fact, "folder": paths.shown(site.place)}
             for site, fact in zip(sites, facts_of_sites(sites), strict=True)]  # fmt: skip
    messages = list(messages_of_sites(sites))
    _write(target, {"pooled": claims, "sites": own}, "pooled.json", {"sites": facts, "messages": messages})
    for (paper, kind), rows in claims.groupby(["paper", "route"], sort=False):
        print(f"{paper}: pooled over {kind} sites: {(rows['note'] == '').sum()} of {len(rows)} claims")
    return render_document(document("pooled"), target, target, ("html", "pdf"), _pages(target, sites))[0]


def _target(names: Iterable[str]) -> Path:
    """The folder of a comparison."""
    name = "-".join(each.replace("/", "_") for each in names)
    if len(name) > _LONGEST:
        name = f"{name[:_LONGEST]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return paths.root() / "results" / "compare" / name


def _write(target: Path, tables: Mapping[str, pd.DataFrame], name: str, record: Mapping[str, Any]) -> None:
    """Write tables and record to a comparison's folder, and print the record's messages."""
    target.mkdir(parents=True, exist_ok=True)
    for each, table in tables.items():
        atomic.write(target / f"{each}.csv", table.to_csv(index=False, lineterminator="\n"))
    atomic.write(target / name, atomic.as_json(record, ensure_ascii=False))
    for line in record["messages"]:
        print(f"{line['paper']}: {line['message']}")


def _pages(target: Path, sites: Iterable[ComparedSite]) -> dict[str, str]:
    return start_pages(target, {site.name: site.place for site in sites if site.place.is_dir()})
