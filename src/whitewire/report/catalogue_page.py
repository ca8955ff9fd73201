"""The page of columns, metrics and reasons (build/docs/catalogue.md), made from their declarations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from whitewire.analysis.trust import OF_TRUST
from whitewire.description.factor_page import workloads_in_words
from whitewire.paths import GENERATED
from whitewire.records.metrics import Metric
from whitewire.records.reasons import INVALID, NO_TEST, NOT_MADE
from whitewire.tidy import columns
from whitewire.tidy.form import OWN
from whitewire.tidy.tables import LINKS_COLUMNS
from whitewire.workloads import METRICS, in_papers, workload_of

PAGE = GENERATED / "catalogue.md"
_HEAD = """\
# Columns, metrics and reasons

*For readers of results, and whoever adds a paper.*

`make docs` writes this page from the declarations in the code. `docs/inside/tables.md` says how the tables come about
and has the columns of `analysis/`. Each folder of tables describes its columns itself, in `datapackage.json`.
"""
_METRICS = """
## Metrics

Values of the column `metric` of `tidy/runs.csv`. MB are 10^6 bytes. *scales as*: a rate, time or size has a full-scale
value, any other metric has none. *overhead*: values that include the startup overhead of jobs have no full-scale value
either, since it does not scale; `of jobs`: in runs of jobs only.

| metric | unit | scales as | overhead | of | meaning |
|---|---|---|---|---|---|
"""
_REASONS = """
## Reasons

Codes of `why_code` and `why_codes`: why a run was not made (the first {not_made}), why an attempt or an overhead run
does not count, and (the last) why a pair of hosts has no test of RDMA.

| code | sentence | meaning |
|---|---|---|
"""
_FACTORS = "factor"
"""Stands for the columns of a paper's factors, which come before those of metrics."""


def page() -> str:
    """The text of the page."""
    metrics = [_metric(metric) for metric in METRICS.values()]
    reasons = _REASONS.format(not_made=len(NOT_MADE)) + "\n".join(_reasons()) + "\n"
    runs = columns.of_runs((_FACTORS,), lanes=True)
    tables = [
        *_tables("Tables of a paper: tidy/", {**OWN, "runs.csv": runs}),
        *_tables("Tables of links: links/tables/", LINKS_COLUMNS),
        *_tables("Tables of trust: trust/tables/", OF_TRUST),
    ]
    return _HEAD + _METRICS + "\n".join(metrics) + "\n" + reasons + "\n".join(tables) + "\n"


def _metric(metric: Metric) -> str:
    able = [name for name in in_papers() if metric in workload_of(name).declares]
    of = workloads_in_words(able) if able else "all, on an emulated testbed"
    scaling, overhead = ("" if word in ("none", "never") else word for word in (metric.scaling, metric.overhead))
    meaning = metric.meaning if metric.in_claims else f"{metric.meaning}; for no claim"
    return f"| `{metric.name}` | {metric.unit} | {scaling} | {overhead} | {of} | {meaning} |"


def _reasons() -> Iterator[str]:
    for code, kind in {**NOT_MADE, **INVALID, **NO_TEST}.items():
        sentence = re.sub(r"\{(\w+)[^}]*\}", r"<\1>", f"{kind.begins}{kind.rest}")
        yield f"| `{code}` | `{sentence}` | {kind.meaning} |"


def _tables(title: str, tables: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield from ("", f"## {title}")
    for table, names in tables.items():
        yield from ("", f"### {table}", "", "| column | cells | meaning |", "|---|---|---|")
        yield from (_column(table, name) for name in names)


def _column(table: str, name: str) -> str:
    if name == _FACTORS and table == "runs.csv":
        return "| one for each factor | text | level of the factor |"
    column = columns.of(table, name)
    return f"| `{name}` | {column.kind or 'text'} | {column.meaning} |"
