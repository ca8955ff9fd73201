"""The page of factors (build/docs/factors.md), made from the table: what may vary, where, and how it is proved."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from whitewire import factors, workloads
from whitewire.description.capabilities import CAPABILITIES
from whitewire.factors import FACTORS
from whitewire.factors.base import Factor
from whitewire.paths import GENERATED
from whitewire.workloads import workload_of

PAGE = GENERATED / "factors.md"
_HEAD = """\
# What a paper may vary, and how a run proves it

*For whoever adds a paper.*

After each run the system is asked what was really so. What was asked, and what was found, stand in the run's record
(`asked`, `evidence`) and in `tidy/treatments.csv`. A run where the two differ does not count, and says why:
`replication: asked 3, found 2`. A factor that nothing reports is refused before anything is measured, and so are
levels that come out as the same run. Parameters that do not vary are held to the same proofs. `make docs` writes this
page from the table in `src/whitewire/factors`.

- *emulated*: cells of the factor are left out on real hosts, whose switches, drives and links stay as they are.
- With `size_bytes`, `file_size_bytes` or `block_size_bytes` as a factor, `scale.bytes`, `splits` and `file_blocks` are
  those of the cell with the most blocks: the largest data, the smallest blocks. Other cells have fewer in proportion,
  so that nothing else changes.

| factor | what it is | proof | of | where |
|---|---|---|---|---|
"""
_LEFT_OUT = """
## Cannot be a factor here

| name | why |
|---|---|
"""


def page() -> str:
    """The text of the page."""
    rows = [_row(factor) for factor in FACTORS.values() if not factor.part_of]
    out = [f"| `{name}` | {why} |" for name, why in sorted(factors.LEFT_OUT.items())]
    return _HEAD + "\n".join(rows) + "\n" + _LEFT_OUT + "\n".join(out) + "\n"


def _row(factor: Factor) -> str:
    of = workloads_in_words([name for name in workloads.in_papers() if factor.name in workload_of(name).factors])
    parts = "; ".join(part.proved_by for part in FACTORS.values() if part.part_of == factor.name)
    proof = f"{factor.proved_by}; {parts}" if parts else factor.proved_by
    where = (
        ", ".join(kind for kind, can in CAPABILITIES.items() if can.has(factor.needs))
        if factor.needs
        else "any testbed"
    )
    return f"| `{factor.name}` | {factor.meaning} | {proof} | {of} | {where} |"


def workloads_in_words(able: Collection[str]) -> str:
    """Some workloads for a cell of a table: `all`, `all but a, b`, or their names, whichever is shortest."""
    lacking = [name for name in workloads.in_papers() if name not in able]
    if not lacking:
        return "all"
    return _names(able) if len(able) <= len(lacking) else f"all but {_names(lacking)}"


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
