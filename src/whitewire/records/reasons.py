"""Reasons why a run or a test of RDMA was not made, or a run is invalid: codes, each with its sentence and meaning.
Pure.

Decisions depend on the code, which a record has in addition to the sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from whitewire.records.run import RunRecord


@dataclass(frozen=True)
class Code:
    """The sentence of a reason (its beginning and the rest, with values in braces), and the code's meaning.

    `again`: another start makes the run; `any_budget`: also one with the same budget; `short`: the run lacked
    processors.
    """

    begins: str
    rest: str
    meaning: str
    again: bool = False
    any_budget: bool = False
    short: bool = False


BUDGET, OTHERS, DECIDED, FAILED = "budget_ended", "other_programs", "decided", "cluster_failed"
ELSE, LACKING, _OTHER = "other_claim", "unavailable", "other"
NOT_MADE: Mapping[str, Code] = {
    BUDGET: Code("the budget ended", "", "a run would have ended after the budget", again=True),
    OTHERS: Code("other programs used the processors", "", "they disturbed the attempts", again=True),
    DECIDED: Code("decided", " after {runs} runs of each cell", "no open claim needs the run"),
    FAILED: Code("its cluster failed", ": {why}",
                 "the cluster did not start, or had a link or drive beyond its bound", again=True, any_budget=True),
    ELSE: Code("measuring ended with claim", " {claim}",
               "the start was for one claim that does not need the run", again=True, any_budget=True),
    LACKING: Code("", "{why}", "this machine cannot make the run"),
}  # fmt: skip
"""Codes of runs that were not made."""
INVALID: Mapping[str, Code] = {
    "woke_late": Code("processors: a process woke", " {late:.1f} ms late on average, bound {bound:g} ms; other "
                      "programs used {outside:.1f} processors", "wake-up latency beyond its bound", short=True),
    "others_computed": Code("processors: other programs used", " {outside:.1f} of them, bound {bound:g}; what this "
                            "experiment shows is how fast they compute", "other load beside a run that needs all "
                            "processors", short=True),
    "others_beside_floor": Code("processors: other programs used", " {outside:.1f} of {processors}, bound {bound:g}",
                                "other load beside an overhead run", short=True),
    "not_idle": Code("processors idle only", " {idle:.0%} in one second, floor {bound:.0%}",
                     "of runs without jobs on a site: too little idle time", short=True),
    "busy": Code("processors short in", " {share:.0%} of the time beyond the startup overhead, bound {bound:.0%}",
                 "of jobs on a site: the compute share is beyond its bound", short=True),
    "disturbed": Code("", "{why}", "a process stood still, a link went down, or samples are missing"),
    "unlike": Code("", "{why}", "a factor did not have the level that was asked for"),
    "caches": Code("caches were to be empty and are not shown to be", ": {why}", "reads may have come from memory"),
    "clock": Code("the clock was set by", " {seconds:+.1f} s during the run", "the times of the run are wrong"),
    "slept": Code("the machine slept for", " {seconds:.0f} s during the run", "the times of the run are wrong"),
    "host_clock": Code("the clock of", " {host} was set by {seconds:+.2f} s during the run; set clocks before or "
                       "after, or slew them slowly", "the times of the run are wrong"),
    "wire": Code("", "{links} carried {excess:+.1%} against the {megabytes:.1f} MB written there",
                 "the links carried more or less than the puts wrote"),
    "wire_of_none": Code("", "{links} carried {excess:.1%} of the {megabytes:.1f} MB written, which were to cross none",
                         "data crossed links although each block's only copy was to stay with its writer"),
    "job_wire": Code("workers' links carried", " {excess:+.0%} against what shuffle, reads and replicas must move",
                     "the links carried more or less than the job moved"),
    "retransmits": Code("", "{share:.1%} of all TCP segments sent again, bound {bound:.1%}", "loss on the links"),
    "drops": Code("", "{share:.1%} of all packets dropped in queues, bound {bound:.1%}", "loss in the queues"),
    "too_fast": Code("", "{rate:.3g} MB/s were {way} the client's drive of {drive:.3g} MB/s, which was not in the way",
                     "a copy did not wait for the modelled drive"),
    "failed": Code("", "{why}", "the attempt failed"),
    "not_kept": Code("", "{why}", "the disk did not take the run's files"),
    "other_k": Code("made at another k", ": {why}", "the block went on with a larger k"),
    _OTHER: Code("", "{why}", "any other reason"),
}  # fmt: skip
"""Codes of invalid attempts and overhead runs."""
NO_DEVICE = "no_rdma_device"
NO_TEST: Mapping[str, Code] = {NO_DEVICE: Code("no RDMA device", " on {host}", "a host of the pair has no RDMA device")}
"""Codes of pairs of hosts without a test of RDMA; any other reason of rdma.csv has none."""


@dataclass(frozen=True)
class Reason:
    """A code with the values of its sentence, or with the sentence from a record (`said`)."""

    code: str
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)
    said: str = ""

    @property
    def kind(self) -> Code:
        return next((codes[self.code] for codes in (NOT_MADE, INVALID, NO_TEST) if self.code in codes), INVALID[_OTHER])

    def __str__(self) -> str:
        return self.said or f"{self.kind.begins}{self.kind.rest.format(**self.values)}"


def failures(found: Iterable[Reason]) -> list[Reason]:
    """Those of these reasons that say why a cluster failed."""
    return [why for why in found if why.code == FAILED]


def short(codes: Iterable[str]) -> bool:
    """Whether one of these codes means that an attempt lacked processors."""
    return any(Reason(code).kind.short for code in codes)


def disturbed_by(record: RunRecord) -> list[Reason]:
    """Reasons for the disturbances that were observed during an attempt."""
    return [Reason("disturbed", {"why": why}) for why in record["disturbed"]]


def validity(found: Iterable[Reason]) -> RunRecord:
    """The part of an attempt's record on its validity, from the reasons why it is invalid (none: it is valid)."""
    why = list(found)
    return {"valid": not why, "why_invalid": "; ".join(map(str, why)), "why_codes": [each.code for each in why]}
