"""Columns of tables, declared once: the kind of their cells, and their meaning.

What reads and writes tables takes them from here: data packages, checks of cells, interim analyses, trust.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """`kind`: of its cells, one of records.checked.CELL_KINDS, or empty for free text. `filled`: of runs.csv alone,
    see FILLED."""

    name: str
    kind: str
    meaning: str
    filled: bool = False


_RUNS = "runs.csv"
RUN = (
    Column("run_id", "name", "the run; unique for what it measures, see docs/inside/tables.md", filled=True),
    Column("attempt", "integer", "number of the attempt, from 1; of a run only the last can be valid"),
    Column("block", "name", "block of the design", filled=True),
    Column("order", "integer", "place of the run in its block by the design, from 1"),
    Column("experiment", "name", "experiment or control of the paper", filled=True),
    Column("replicate", "integer", "number of the replicate, from 1"),
    Column("made_by", "name", "what made the run's jobs and its release: HiBench or Hadoop; empty where nothing did"),
    Column("floor", "line", "kind, store, tasks and cluster that share a startup overhead; one per block, empty where "
           "there is none"),
)  # fmt: skip
"""Columns of runs.csv before the factors, which a run's record has under the same keys."""
LANE = "lane"
"""Column after them, where runs of a block were made in several lanes; and of hosts.csv."""
MEASURED_COLUMNS = (
    Column("metric", "name", "what was measured"),
    Column("value", "number", "as measured on the testbed, in the unit beside it"),
    Column("unit", "unit", "unit of the value"),
    Column("full_scale_value", "number", "rates × k, times ÷ data fraction, bytes × k ÷ data fraction; empty where "
           "nothing scales"),
    Column("full_scale_unit", "unit", "unit of the full-scale value"),
    Column("valid", "boolean", "whether the attempt counts", filled=True),
    Column("why_invalid", "", "why the attempt does not count; empty where it does"),
    Column("why_code", "line",
           "codes of these reasons, with a space between: build/docs/catalogue.md, which `make docs` writes, has what "
           "they mean"),
)  # fmt: skip
"""Columns of runs.csv after the factors."""


def column_names(columns: Iterable[Column]) -> tuple[str, ...]:
    """Names of columns."""
    return tuple(column.name for column in columns)


FILLED = column_names(column for column in (*RUN, *MEASURED_COLUMNS) if column.filled)
"""Columns of runs.csv whose cells are never empty."""
BY_ITSELF = "by_itself"
"""Last column of asked.csv: whether a claim of the paper was measured alone."""
JUDGED = "judged"
"""The last column of asked.csv, where runs were added to some claim of the paper after it had been judged."""
ELSEWHERE: dict[str, dict[str, str]] = {
    "name": {
        "fabric": "network, as the testbed's file names it; empty where the row is of none",
        "workload": "what the overhead run ran, on almost no data",
        "host": "the host, by its name on the testbed",
        "series": "rate of the host's link (`ingress`, `egress`), busy cores (`cpu`), idle share of processors "
            "(`cpu_idle`)",
        "client": "host that put the file",
        "datanode": "DataNode with a replica of the block",
        "source": "host that sends",
        "destination": "host that receives",
        "source_port": "RDMA port of the source",
        "destination_port": "RDMA port of the destination",
        "probe": "`iperf3` on a link, or `fio` on a modelled drive",
        "mode": "of fio: `direct` passes the page cache, `buffered` goes through it",
        "role": "role of the host, as `datanode`",
        "task": "the task, as Hadoop names it",
        "type": "`MAP` or `REDUCE`",
        "test": "program of perftest, as `ib_write_bw`",
        "factor": "what is proved: build/docs/factors.md, which `make docs` writes",
        "testbed": "testbed of the runs",
        "paper": "id of the paper",
        "part": "part of `whitewire trust` that answers",
        "control": "id of the control",
        "meter": "`iperf3`, or `counters`: bytes that the switch's ports count",
        "outcome": "`met`, `not met` or `open`",
        "agrees": "whether both agree within 3 %, by the interval: `yes`, `no` or `cannot tell`",
        "offloads": "the interface's offloads: `on`, `off` or `mixed`",
        "claim": "id of the claim",
        "verdict": "the claim's verdict: docs/use/verdict-rules.md",
        "job": "job of the run or of the overhead run, as in run.json",
        "depth": "ring: each host with the next one; one: every pair with the first number of streams; all: with each",
        "fit": "whether the testbed is fit for the paper: `yes`, `partly` or `no`",
        "part_of": "the host that explains it; empty: it stands for itself",
    },
    "line": {
        "address": "IP address; of a link that of its interface",
        "interface": "the host's interface on the fabric",
        "driver": "driver of the interface",
        "version": "version of the driver",
        "firmware": "firmware of the adapter",
        "target": "how the site reaches the host; empty on an emulated testbed",
        "processor": "model of the processors",
        "kernel": "release of the kernel",
        "system": "the operating system",
        "congestion_control": "TCP's congestion control, where the host reports it",
        "folder": "folder, mount or device that fio used",
        "file": "path of the file",
        "hosts": "the hosts concerned, with a space between; empty where it is no host's",
        "really": "what the control's runs really ran on",
        "level": "level of the factor, as the paper's YAML names it; empty where it does not vary",
        "seen": "what the system reported; empty where nothing reports it, which is a fault but on real links",
        "digest": "of what the claim asks: test with tolerances, routes, the emulation's known errors, "
            "controls, interim analyses and version of the rule; empty: not noted",
        "asked_since": "when that was noted, in UTC",
        "first_run": "when the first attempt at one of the block's runs that the claim needs began, in UTC",
        "of": "what is counted",
        "goal": "the goal, in words",
        "again": "the command that asks again",
    },
    "number": {
        "n": "runs that count",
        "low": "lower end of the 95 % interval; empty where there is none",
        "high": "upper end of the 95 % interval; empty where there is none",
        "estimate": "what the runs give",
        "share": "covered ÷ n",
        "change": "share by which a run takes longer in the last place of its block than in the first",
        "p_value": "probability of such a change by chance, by permutations within cells",
        "largest": "error of the test that is farthest off",
        "n_against": "runs that count of the cell that the control is compared with",
        "n_calm": "runs that count without load, with as many clients",
        "n_alone": "runs that count with one lane",
        "n_other": "runs that count at the other k",
        "k_other": "the next k of the paper's candidates",
        "pairs": "pairs of hosts that sent at the same time",
        "missing": "tests without a result",
        "load": "processors that other programs used meanwhile",
        "mtu": "largest packet of the interface in bytes",
        "queue": "bytes that the switch's port queues for the host",
        "shuffle_end": "seconds since the job's submission; empty for maps",
        "merge_end": "seconds since the job's submission; empty for maps",
        "memory_gib": "memory in GiB (2^30 bytes)",
        "wire_bytes": "bytes into all workers over their links in that overhead run, of all its jobs together",
        "outside": "processors that other programs used meanwhile; empty where no machine is shared",
        "expected": "what the value should be; empty where nothing says it",
        "error": "value ÷ expected − 1",
        "data_fraction": "share of the full-scale file that a run writes",
        "k": "by which every rate and size is divided",
        "limit": "data rate of the slower port in MB/s (10^6 bytes), of which headers take a part",
        "rate": "Mbit/s of a link, as it is or as the testbed sets it",
        "rate_in": "Mbit/s that the host may receive, where it is known",
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
        "bytes": "size of the file",
        "block_index": "place of the block in its file, from 0",
        "queue_depth": "calls under way at the same time",
        "iterations": "messages that the test sent",
        "processors": "number of processors",
        "streams": "number of TCP streams",
        "clients": "number of clients that put files",
        "group": "number of the group of runs, each a study of its own, from 1",
        "lanes": "number of lanes side by side",
        "turns": "turns that gave a ratio",
        "cells": "cells with two runs or more",
        "rung": "index of the scale candidate: which of the paper's k the runs have, from 0",
        JUDGED: "valid runs of each of the claim's cells, of whatever block, when it was judged before its "
            "last run began",
        LANE: "the lane that made the run",
        "number": "number of the overhead run in its block, in the order of making",
        "block_bytes": "bytes of one call",
        "message_bytes": "bytes of one message",
        "beside": "other pairs that were measured at the same time",
        "at_once": "pairs that are measured at one time",
    },
    "boolean": {
        "ok": "whether the error is within the bound; true for metrics without one",
        "shared": "whether all hosts share one segment",
        "same": "whether the report does not contradict what was asked",
        "varies": "whether the factor has levels in the experiment",
        "stops": "whether a paper that uses it is not measured without the user's word",
        "beyond": "whether it has no result, or is further from what is expected than the bound",
        "alone": "whether it was measured again, with no other pair at the same time",
        "reach": "whether a goal goes for it; beyond, the machine's processors may limit the links",
        "within_bound": "whether the error is within the bound; empty where no goal goes for it",
        "alarm": "whether 1, the right ratio, lies outside the interval",
        BY_ITSELF: "whether a start measured the claim by itself, with its controls",
    },
    "": {
        "why": "why there is no value",
        "problem": "why the place was not measured to the end",
        "reason": "why the run was not made",
        "subject": "what is beyond its bound",
        "said": "the outlier in one line",
        "mark": "what of the testbed was beyond its bound while the block was measured",
        "cause": "the likely causes, the likeliest first",
    },
}  # fmt: skip
"""Further columns, of any table: by the kind of their cells, name → meaning."""
COLUMNS: dict[str, Column] = {
    **{column.name: column for column in (*RUN, *MEASURED_COLUMNS)},
    **{name: Column(name, kind, text) for kind, columns in ELSEWHERE.items() for name, text in columns.items()},
}
"""Columns that are the same in every table but those of OF_TABLES, by name."""
_AS_KNOWN = "the true ratio of the links' rates"
_CELL_OF_RUN = Column("cell", "line", "levels of the run's cell as JSON")
OF_TABLES: dict[str, tuple[Column, ...]] = {
    "series.csv.gz": (
        Column("time", "number", "seconds since the run's start"),
        Column("host", "name", "the host; `all clients`: their sum; `machine`: the machine that all hosts share"),
    ),
    "operations.csv": (
        Column("operation", "name", "the put: `put1`, `put2` and so on of its client"),
        Column("start", "number", "seconds since the run's first start"),
        Column("end", "number", "seconds since the run's first start"),
    ),
    "probes.csv": (
        Column("source", "name", "host that sends, or that has the drive"),
        Column("destination", "name", "host that receives, or the drive"),
        Column("operation", "name", "`send` of iperf3, `write` or `read` of fio"),
        Column("expected", "number", "what the probe should show for what is set, or what `links` found; empty for "
               "metrics without a bound"),
    ),
    "drives.csv": (
        Column("kind", "name", "`drive`, `mount` or `device` (raw)"),
        Column("operation", "name", "sequential `write` and `read`, `randwrite`, `randread`"),
    ),
    "rdma.csv": (
        Column("source", "name", "host of perftest's client"),
        Column("destination", "name", "host of perftest's server"),
        Column("transport", "name", "what the source's port speaks, as `InfiniBand`"),
        Column("why_code", "line", "`no_rdma_device` where a host has no RDMA device, else empty"),
    ),
    "floors.csv": (
        Column("time", "number", "its start in seconds since that of the block's first overhead run"),
        Column("seconds", "number", "of a job on almost no data; empty where it failed"),
    ),
    "phases.csv": (
        Column("start", "number", "seconds since the job's submission"),
        Column("end", "number", "seconds since the job's submission"),
    ),
    "treatments.csv": (
        Column("asked", "line", "what the run should have had, on the testbed's scale; settings and stores as JSON"),
        Column("unit", "unit", "unit of what was asked and seen"),
    ),
    "unavailable.csv": (_CELL_OF_RUN,),
    "left.csv": (_CELL_OF_RUN, Column("why_code", "line", "code of the reason")),
    "scale.csv": (Column("kind", "name", "kind of the testbed, as `emulated`"),),
    "hosts.csv": (Column(LANE, "integer", "the lane that the host is in; empty where hosts are not divided into "
                         "lanes"),),
    "fabrics.csv": (
        Column("seconds", "number", "seconds of one test"),
        Column("streams", "name", "numbers of TCP streams of its tests, with a space between"),
    ),
    "pairs.csv": (
        Column("streams", "integer", "number of TCP streams; 0: the round trip while nothing else is sent"),
        Column("expected", "number", "goodput that the rate allows; empty for other metrics"),
    ),
    "ways.csv": (
        Column("streams", "integer", "the number of TCP streams with which the pair carried most"),
        Column("expected", "number", "goodput that the rate allows, in Mbit/s"),
        Column("error", "number", "goodput ÷ expected − 1"),
    ),
    "transports.csv": (
        Column("transport", "name", "transport, as the testbed's file names it; `tcp`: the kernel's own"),
        Column("kind", "name", "kind of the transport: `tcp` or `rdma`"),
    ),
    "outliers.csv": (
        Column("kind", "name", "what it is: pair, host, fabric, switch, drive, unlike (a link unlike the others') or "
               "rdma"),
        Column("value", "number", "what was found; empty where nothing was"),
        Column("unit", "unit", "unit of value and expected"),
    ),
    "left_out.csv": (Column("reason", "", "what was not measured, and why"),),
    "fit.csv": (Column("reason", "", "what the testbed lacks for it, or what else has to be known"),),
    "summary.csv": (
        Column("asked", "line", "the question"),
        Column("n", "number", "number of what the column `of` says"),
        Column("value", "number", "the answer"),
    ),
    "links.csv": (
        Column("n", "number", "rounds with a result"),
        Column("error", "number", "median over rounds of the median error of a round's pairs: goodput ÷ expected − 1"),
    ),
    "ratio.csv": (
        Column("expected", "number", _AS_KNOWN),
        Column("n", "number", "runs that count of the cell that has fewest"),
        Column("estimate", "number", "the ratio that the runs give"),
        Column("covered", "boolean", "whether the interval contains the true ratio; empty without one"),
        Column("reason", "", "why the verdict is so"),
    ),
    "coverage.csv": (
        Column("expected", "name", f"{_AS_KNOWN}, or `all`"),
        Column("n", "number", "intervals"),
        Column("covered", "integer", "intervals that contain the true ratio"),
        Column("error", "number", "median of estimate ÷ true ratio − 1"),
    ),
    "same.csv": (
        Column("source", "name", "paper whose cells were compared, or `known`; `…, as judged`: the paper's own "
               "controls"),
        Column("group", "integer", "number of the group of runs, from 1; empty for a paper's own controls"),
        Column("cell", "line", "the cell whose name and shape the runs have"),
        Column("n", "number", "runs that count of the control"),
        Column("estimate", "number", "ratio of the two, which is 1 where a name changes nothing"),
    ),
    "scales.csv": (
        Column("cell", "line", "experiment and levels"),
        Column("k", "number", "the k that the other is compared with"),
        Column("n", "number", "runs that count at that k"),
        Column("ratio", "number", "value at the other k over that at k, both at full scale"),
    ),
    "load.csv": (
        Column("made", "number", "runs that were made under the load, valid or not"),
        Column("ratio", "number", "rate under the load over that without"),
        Column("low", "number", "lower end of the interval; intervals of all rows hold jointly at 95 %"),
        Column("high", "number", "upper end of the interval; intervals of all rows hold jointly at 95 %"),
    ),
    "lanes.csv": (
        Column("kind", "name", "workload, or `floor`: an overhead run"),
        Column("cell", "line", "experiment, or key of the overhead run"),
        Column("made", "number", "attempts beside other lanes, valid or not"),
        Column("n", "number", "those that count"),
        Column("ratio", "number", "time beside other lanes over that with one lane, geometric mean over turns"),
    ),
    "order.csv": (
        Column("source", "name", "paper, `known` (links of known ratio), `…, A/A` (cells compared with themselves) or "
               "`all`"),
    ),
    "verdicts.csv": (
        Column("statement", "", "the claim in words"),
        Column("route", "name", "how the claim is tested"),
        Column("error", "number", "standard error of the estimate's logarithm, without the emulation's own error"),
        Column("asked", "name", "when the claim was asked: `before` its first run, `after`, or `again`"),
        Column("control_failed", "line", "ids of the controls that cover the claim and failed, with a space between"),
        Column("unit", "line", "unit of the estimate, as the paper writes it"),
    ),
    "estimates.csv": (Column("median", "number", "median of the runs that count"),),
}  # fmt: skip
"""Columns that only one table has so: their cells or their meaning differ from table to table."""
COLUMN_TYPES = ("number", "integer", "boolean")
"""Kinds that are types of a data package too; all others are text."""


def of(table: str, name: str) -> Column:
    """A table's column. In runs.csv those that are not declared hold levels of factors."""
    if table == _RUNS and factors_of([name]):
        return Column(name, "line", f"level of the factor {name}")
    return next((column for column in OF_TABLES.get(table, ()) if column.name == name), None) or COLUMNS[name]


def kind_of_column(table: str, column: str) -> str:
    """The kind of the cells of a table's column; empty: free text."""
    return of(table, column).kind


def of_runs(factors: Iterable[str], lanes: bool = False) -> tuple[str, ...]:
    """Columns of runs.csv in their order; `lanes`: whether there is one of lanes."""
    return (*column_names(RUN), *((LANE,) if lanes else ()), *factors, *column_names(MEASURED_COLUMNS))


def factors_of(columns: Iterable[str]) -> list[str]:
    """The columns of a runs.csv with levels of factors: all that are not declared here."""
    return [name for name in columns if name not in of_runs((), lanes=True)]
