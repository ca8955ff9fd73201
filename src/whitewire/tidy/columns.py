"""Columns of tables, each declared once: the kind of its cells, and its meaning.

What reads and writes tables takes them from here: data packages, checks of cells, interim analyses, trust.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """`kind`: of its cells, one of records.checked.CELL_KINDS, or empty for free text. `meaning`: empty where the name
    says it. `needed`, `filled`: of runs.csv alone, see NEEDED and FILLED."""

    name: str
    kind: str = ""
    meaning: str = ""
    needed: bool = False
    filled: bool = False


RUN = (
    Column("run_id", "name", "the run; unique for what it measures, see docs/inside/tables.md", needed=True,
           filled=True),
    Column("attempt", "integer", "number of the attempt; only a run's last can be valid"),
    Column("block", "name", needed=True, filled=True),
    Column("order", "integer"),
    Column("experiment", "name", needed=True, filled=True),
    Column("replicate", "integer", needed=True),
    Column("made_by", "name", "what made the run's jobs and its release: HiBench or Hadoop; empty where nothing did"),
    Column("floor", "line", "kind, store, tasks and cluster that share a startup overhead; one per block, empty where "
           "there is none"),
)  # fmt: skip
"""Columns of runs.csv before the factors, which a run's record has under the same keys."""
LANE = "lane"
"""Column after them, where runs of a block were made in several lanes; and of hosts.csv."""
MEASURED_COLUMNS = (
    Column("metric", "name", needed=True),
    Column("value", "number", "as measured on the testbed, in the unit beside it", needed=True),
    Column("unit", "unit", needed=True),
    Column("full_scale_value", "number", "rates × k, times ÷ data fraction, bytes × k ÷ data fraction; empty where "
           "nothing scales", needed=True),
    Column("full_scale_unit", "unit", needed=True),
    Column("valid", "boolean", needed=True, filled=True),
    Column("why_invalid"),
    Column("why_code", "line",
           "codes of these reasons, with a space between: build/docs/catalogue.md, which `make docs` writes, has what "
           "they mean"),
)  # fmt: skip
"""Columns of runs.csv after the factors."""


def column_names(columns: Iterable[Column]) -> tuple[str, ...]:
    """Names of columns."""
    return tuple(column.name for column in columns)


NEEDED = column_names(column for column in (*RUN, *MEASURED_COLUMNS) if column.needed)
FILLED = column_names(column for column in (*RUN, *MEASURED_COLUMNS) if column.filled)
"""Columns of runs.csv that readers need, and columns whose cells are never empty."""
BY_ITSELF = "by_itself"
"""Last column of asked.csv: whether a claim of the paper was measured alone."""
JUDGED = "judged"
"""The last column of asked.csv, where runs were added to some claim of the paper after it had been judged."""
ELSEWHERE: dict[str, dict[str, str]] = {
    "name": {
        **dict.fromkeys((
            "fabric", "workload", "host", "series", "operation", "client", "datanode", "source", "destination",
            "source_port", "destination_port", "probe", "mode", "kind", "role", "type", "test", "transport", "factor",
            "testbed", "paper", "part", "control", "meter", "outcome", "agrees", "offloads", "claim", "verdict",
            "route", "status",
        ), ""),
        "job": "one job of the run or of the overhead run",
        "depth": "ring: each host with the next one; one: every pair with the first number of streams; all: with each",
        "fit": "yes, partly or no",
        "part_of": "the host that explains it; empty: it stands for itself",
    },
    "line": {
        **dict.fromkeys((
            "address", "interface", "driver", "version", "firmware", "target", "processor", "kernel", "system",
            "congestion_control", "folder", "file", "hosts", "really",
        ), ""),
        "level": "level of the factor, as the paper's YAML names it; empty where it does not vary",
        "asked": "what the run should have had, on the testbed's scale; settings and stores as JSON",
        "seen": "what the system reported; empty where nothing reports it, which is a fault where the factor varies",
        "cell": "levels of the run's cell as JSON",
        "digest": "of what the claim asks: test with tolerances, routes, the emulation's known errors, "
            "controls, interim analyses and version of the rule; empty: not noted",
        "asked_since": "when that was noted, in UTC",
        "first_run": "when the first attempt at one of the block's runs that the claim needs began, in UTC",
    },
    "number": {
        **dict.fromkeys((
            "n", "low", "high", "estimate", "share", "ratio", "change", "p_value", "largest", "made", "n_calm",
            "n_other", "k_other", "pairs", "missing", "load", "mtu", "queue", "shuffle_end", "merge_end", "memory_gib",
        ), ""),
        "seconds": "of a job on almost no data; empty where it failed",
        "wire_bytes": "bytes into all workers over their links in that overhead run, of all its jobs together",
        "outside": "processors that other programs used meanwhile; empty where no machine is shared, and in "
            "old results",
        "time": "seconds since the run's start, of overhead runs since the block's first one",
        "start": "seconds since the run's first start",
        "end": "seconds since the run's first start",
        "expected": "what the probe should show for what is set",
        "error": "value ÷ expected − 1",
        "data_fraction": "share of the full-scale file that a run writes",
        "k": "by which every rate and size is divided",
        "limit": "data rate of the slower port in MB/s (10^6 bytes), without headers",
        "rate": "Mbit/s of a link, as it is or as it is set on the testbed",
        "rate_in": "Mbit/s at which the switch sends to the host, where it is known",
        "full_scale_rate": "Mbit/s that it stands for",
        "clock_ms": "by which the host's clock is ahead of the measuring machine's",
        "goodput": "Mbit/s of TCP's data at the receiver",
        "rtt": "microseconds there and back while the link is loaded",
        "rtt_at_rest": "microseconds there and back while nothing else is sent",
        "retransmit_share": "TCP segments sent again, of all",
        "cpu_source": "of one processor, what iperf3 used at the sender",
        "cpu_destination": "of one processor, what iperf3 used at the receiver",
        "beside_error": "the error before, beside other pairs",
    },
    "integer": {
        **dict.fromkeys(("bytes", "block_index", "streams", "queue_depth", "iterations", "processors"), ""),
        "rung": "index of the scale candidate: which of the paper's k the runs have, from 0",
        JUDGED: "valid runs of each of the claim's cells, of whatever block, when it was judged before its "
            "last run began",
        LANE: "the lane that made the run, or that the host is in; empty where hosts are not divided into lanes",
        "number": "number of the overhead run in its block, in the order of making",
        "block_bytes": "bytes of one call",
        "message_bytes": "bytes of one message",
        "beside": "other pairs that were measured at the same time",
        "at_once": "pairs that are measured at one time",
    },
    "boolean": {
        **dict.fromkeys(("ok", "shared"), ""),
        "same": "whether the two agree within the factor's bound",
        "varies": "whether the factor has levels in the experiment",
        "stops": "whether a paper that uses it is not measured without the user's word",
        "beyond": "whether it is further from what is expected than the bound",
        "alone": "whether it was measured again, with no other pair at the same time",
        BY_ITSELF: "whether a start measured the claim by itself, with its controls",
    },
    "": {
        "why": "why there is no value",
        "problem": "why there is no value",
        "reason": "why the run was not made, or something else was not measured",
        "said": "the outlier in one line",
        "mark": "what of the testbed was beyond its bound while the block was measured",
        "cause": "the likely causes, the likeliest first",
    },
}  # fmt: skip
"""All other columns, of any table: by the kind of their cells, name → meaning."""
COLUMNS: dict[str, Column] = {
    **{column.name: column for column in (*RUN, *MEASURED_COLUMNS)},
    **{name: Column(name, kind, text) for kind, columns in ELSEWHERE.items() for name, text in columns.items()},
}
"""Every column by name; one that is missing holds free text."""
COLUMN_TYPES = ("number", "integer", "boolean")
"""Kinds that are types of a data package too; all others are text."""
OTHERWISE = {("fabrics.csv", "streams"): "name", ("coverage.csv", "expected"): "name", ("verdicts.csv", "unit"): "line"}
"""(table, column) → kind, where it differs from the column's own: cells with several numbers or `all`, and a paper's
units."""


def of(name: str) -> Column:
    """The column of that name."""
    return COLUMNS.get(name, Column(name))


def kind_of_column(table: str, column: str) -> str:
    """The kind of the cells of a table's column; empty: free text."""
    return OTHERWISE.get((table, column), of(column).kind)


def of_runs(factors: Iterable[str], lanes: bool = False) -> tuple[str, ...]:
    """Columns of runs.csv in their order; `lanes`: whether there is one of lanes."""
    return (*column_names(RUN), *((LANE,) if lanes else ()), *factors, *column_names(MEASURED_COLUMNS))


def factors_of(columns: Iterable[str]) -> list[str]:
    """The columns of a runs.csv with levels of factors: all that are not declared here."""
    return [name for name in columns if name not in of_runs((), lanes=True)]
