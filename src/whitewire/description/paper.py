"""A paper's YAML as an object: its experiments, cells, controls and tests."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from whitewire.description import arithmetic
from whitewire.errors import UserError
from whitewire.estimands import estimand_of
from whitewire.levels import Cell
from whitewire.paths import shown


@dataclass(frozen=True)
class Paper:
    """A checked paper. `raw` is the YAML as read, with one k where it lists several; `path` is its file."""

    raw: Mapping[str, Any]
    path: Path
    candidate: int = 0
    """Index of the scale candidate, the k of each list that `raw` has."""
    _with_lists: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, raw: Mapping[str, Any], path: Path, candidate: int = 0) -> Paper:
        """The paper at a scale candidate; the last k of a list that is shorter."""
        return cls(_at_candidate(raw, candidate), path, candidate, raw)

    @property
    def as_written(self) -> Mapping[str, Any]:
        """The YAML with its lists of k."""
        return self._with_lists or self.raw

    def on(self, candidate: int) -> Paper:
        """The same paper at another scale candidate."""
        return self.of(self.as_written, self.path, candidate)

    @property
    def candidate_count(self) -> int:
        """Number of scale candidates, at least 1."""
        return max((len(ks) for _, ks in scale_candidates(self.as_written)), default=1)

    @property
    def id(self) -> str:
        return self.raw["id"]

    @property
    def claims(self) -> list[dict[str, Any]]:
        return self.raw["claims"]

    @property
    def audit(self) -> list[dict[str, Any]]:
        return self.raw.get("audit", [])

    @cached_property
    def experiments(self) -> dict[str, dict[str, Any]]:
        """The experiments by id, and after them each control as one of its own, with the single cell that it runs."""
        listed = {e["id"]: e for e in self.raw.get("experiments", [])}
        made = [control for control in self.controls if control["cell"]["experiment"] in listed]
        return listed | {
            control["id"]: _as_experiment(control, listed[control["cell"]["experiment"]]) for control in made
        }

    @property
    def controls(self) -> list[dict[str, Any]]:
        return self.raw.get("controls", [])

    def replicates(self, experiment: str, effort: str) -> Mapping[str, int]:
        """Runs of an experiment's `claimed` and `other` cells at an effort; by default the paper's numbers."""
        own = self.experiments[experiment].get("replicates", {})
        found = own[effort] if effort in own else self.raw["replicates"][effort]
        return found if isinstance(found, Mapping) else {"claimed": found, "other": found}

    def analyses(self, effort: str) -> tuple[int, ...]:
        """After how many runs of each claimed cell the claims are analysed, at an effort; once, after all, if none are
        named."""
        replicates = self.raw.get("replicates", {}).get(effort)
        last = (replicates["claimed"],) if replicates else ()
        return tuple(self.raw.get("looks", {}).get(effort, last))

    @cached_property
    def factors(self) -> list[str]:
        """Names of all factors, in the order of first use: the factor columns of every table."""
        return list(dict.fromkeys(f for e in self.experiments.values() for f in e["factors"]))

    @cached_property
    def names(self) -> dict[str, Any]:
        """Names that expressions may use: values (`E_V07`) and constants."""
        names = {v["id"].replace("-", "_"): v["value"] for v in self.raw["values"]}
        return names | {n: c["value"] for n, c in self.raw.get("constants", {}).items()}

    @cached_property
    def memory(self) -> dict[Any, Any]:
        """Cache of what other modules derive from the paper, which does not change."""
        return {}

    @property
    def units(self) -> dict[str, str]:
        """Units of the paper's own: name to `count`, or so much of another unit."""
        return self.raw.get("units", {})

    def evaluate(self, expression: float | str, extra: Mapping[str, Any] | None = None, key: str = "") -> float:
        """A number, or the value of an expression over the paper's values and `extra`; UserError when it has none.

        `key` is where the expression stands, for the error.
        """
        if isinstance(expression, int | float):
            return float(expression)
        try:
            return arithmetic.value_of(expression, self.names | dict(extra or {}))
        except arithmetic.NoValue as error:
            shown_expression = expression if len(expression) <= 60 else f"{expression[:57]}…"
            where = f"{shown(self.path)}: {key}: " if key else f"{shown(self.path)}: "
            raise UserError(f"{where}expression {shown_expression!r}: {error}") from None

    def parameters(self, experiment: str, levels: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters of a run at full scale: those of the experiment, replaced by the levels it really has."""
        own = {k: v for k, v in self.really(experiment, levels).items() if v != "" and v is not None}
        store = self.store(experiment, levels)
        return dict(self.experiments[experiment]["parameters"]) | own | _replicas(store)

    def roles(self, experiment: str, levels: Mapping[str, Any]) -> dict[str, int]:
        """Hosts per role of a run on an emulated testbed; its level of `nodes` counts the workers."""
        roles = dict(self.experiments[experiment]["roles"])
        return roles | ({"datanode": levels["nodes"]} if "nodes" in levels else {})

    def store(self, experiment: str, levels: Mapping[str, Any]) -> dict[str, Any]:
        """The file system of a run, at full scale: that of its level of the factor `store`, else HDFS."""
        store = self.really(experiment, levels).get("store")
        return self.experiments[experiment].get("stores", {}).get(store, {"kind": "hdfs"})

    def really(self, experiment: str, levels: Mapping[str, Any]) -> dict[str, Any]:
        """The levels with which a run is made: its nominal ones, of which a control replaces some."""
        return {**levels, **self.experiments[experiment].get("control", {}).get("really", {})}

    def matched(self, experiment: str, levels: Mapping[str, Any]) -> list[Cell]:
        """Cells of an experiment with a level of every factor that match the given levels."""
        cells = cells_of(self.experiments[experiment])
        return [(experiment, cell) for cell in cells if levels.items() <= cell.items()]

    def origin(self, experiment: str) -> str:
        """The experiment whose cell a control repeats; of any other experiment itself."""
        control = self.experiments[experiment].get("control")
        return control["cell"]["experiment"] if control else experiment

    def family(self, experiment: str) -> list[str]:
        """An experiment and its controls, whose runs scatter alike."""
        origin = self.origin(experiment)
        return [name for name in self.experiments if self.origin(name) == origin]


BOUNDS = ("lower", "upper")
"""Keys of the bounds of an emulation's error; each is a list where there are several scale candidates."""


def scale_candidates(raw: Mapping[str, Any]) -> Iterator[tuple[str, list[int]]]:
    """Every list of k of a paper, with its key."""
    for key, each in (
        ("scale", raw),
        *((f"experiments[{i}].scale", e) for i, e in enumerate(raw.get("experiments", []))),
    ):
        k = each.get("scale", {}).get("k")
        if isinstance(k, list):
            yield f"{key}.k", k


def _at_candidate(raw: Mapping[str, Any], candidate: int) -> Mapping[str, Any]:
    """A paper's YAML with one k in the place of each list, as many fewer bytes, so that times stay, and the errors of
    the emulation that a study showed at this k."""

    def at(values: Sequence[Any]) -> Any:
        return values[min(candidate, len(values) - 1)]

    def settled(part: dict[str, Any]) -> dict[str, Any]:
        scale = part.get("scale", {})
        if not isinstance(ks := scale.get("k"), list):
            return part
        k = at(ks)
        moved = {effort: round(size * ks[0] / k) for effort, size in scale.get("bytes", {}).items()}
        return part | {"scale": scale | {"k": k} | ({"bytes": moved} if moved else {})}

    def known(bias: Mapping[str, Any]) -> dict[str, Any]:
        return {**bias, **{end: at(bias[end]) for end in BOUNDS if isinstance(bias[end], list)}}

    if not any(scale_candidates(raw)):
        return raw
    found = settled(dict(raw)) | {"experiments": [settled(each) for each in raw.get("experiments", ())]}
    return found | ({"biases": [known(each) for each in raw["biases"]]} if "biases" in raw else {})


CONTROL_EFFORTS = ("quick", "full")
"""Efforts that run controls; smoke effort only shows that everything works."""


def _as_experiment(control: Mapping[str, Any], origin: Mapping[str, Any]) -> dict[str, Any]:
    """A control as an experiment: its origin's, with the one cell whose name its runs bear."""
    kept = {key: value for key, value in origin.items() if key not in ("only", "smoke_cells")}
    efforts = [effort for effort in CONTROL_EFFORTS if effort in origin.get("efforts", CONTROL_EFFORTS)]
    factors = {factor: [level] for factor, level in control["cell"]["where"].items()}
    own = {"id": control["id"], "title": control["title"], "factors": factors, "efforts": efforts, "control": control}
    return kept | own


def against(control: Mapping[str, Any]) -> dict[str, Any]:
    """Levels of the cell that a control is compared with: A/A, the cell that it really is; known ratio, the cell whose
    name it bears."""
    where = control["cell"]["where"]
    return where if "expected" in control else {**where, **control["really"]}


def ratio_of(control: Mapping[str, Any]) -> dict[str, Any]:
    """A control as a test: the runs of the control over those of the cell that it is compared with."""
    experiment, expected = control["cell"]["experiment"], control.get("expected", 1)
    return {
        "estimand": "ratio", "metric": control["metric"], "relation": "equal", "expected": expected,
        "no_effect": expected, "numerator": {"experiment": control["id"], "where": control["cell"]["where"]},
        "denominator": {"experiment": experiment, "where": against(control)},
    }  # fmt: skip


def without_servers(roles: Mapping[str, int]) -> dict[str, int]:
    """Roles without those of a parallel file system, for runs that mount none or a site's own."""
    return {role: count for role, count in roles.items() if role not in ("mds", "oss")}


def _replicas(store: Mapping[str, Any]) -> dict[str, Any]:
    return {"replication": store["replication"]} if "replication" in store else {}


def cells_of(experiment: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every combination of an experiment's levels, in the order of its factors."""
    factors, only = experiment["factors"], experiment.get("only", [{}])
    cells = [dict(zip(factors, levels, strict=True)) for levels in itertools.product(*factors.values())]
    return [cell for cell in cells if any(wanted.items() <= cell.items() for wanted in only)]


def tests_of(claim: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The judging test of a claim, then those of its further readings."""
    yield claim["test"]
    for reading in claim.get("readings", []):
        yield reading["test"]


def experiments_asked(paper: Paper, wanted: Collection[str]) -> set[str]:
    """Experiments on one of whose `wanted` metrics a verdict, a control or an inverse question rests."""
    asked = []
    for claim in paper.claims:
        for estimand in map(estimand_of, tests_of(claim)):
            asked.append((estimand.test, estimand.metrics(), {name for name, _ in estimand.cells()}))
        if "inverse" in claim:
            asked.append((claim["inverse"], [], {claim["inverse"]["experiment"]}))
    asked += [(control, [], {control["cell"]["experiment"]}) for control in paper.controls]
    found = set()
    for asking, metrics, experiments in asked:
        if {asking.get("metric"), *asking.get("also", ()), *metrics} & set(wanted):
            found |= experiments
    return found


OSTS_PER_OSS = 4
"""Object targets, a drive each, of each object server of CephFS in Lustre's place."""
ON, OFF = "on", "off"
"""Levels of factors that turn off a part of the hardware."""
TURNS_OFF = {"page_cache": "memory", "writer_bound": "writer"}
"""Factors that turn off a part of the hardware, which is on where the paper has it: name → key of `hardware`."""
DIRTY_LIMITS = ("dirty_background_ratio", "dirty_ratio")
"""Percent of `hardware.memory`."""
SHARED_DRIVES = "shared"
"""The level of `intermediate_drive` that has no drives of its own."""
PLACES = ("fabric", "store")
"""Factors that decide where a run's bytes go: a control may bear one level's name and run on another."""


def hardware_of(experiment: Mapping[str, Any], levels: Mapping[str, Any]) -> dict[str, Any]:
    """The drive of an experiment at the levels of a run; empty if it has none.

    It is `hardware.drive`, or that of `hardware.drives` which the run's `drive` names. With memory in front of it
    (`page_cache` is not "off") it has `memory_bytes`, `dirty_background_ratio` and `dirty_ratio` too, and with a bound
    on writers (`writer_bound` is not "off") `writer_mb_per_s`. Drives that the run's `intermediate_drive` names are
    under `intermediate`.
    """
    described, own = experiment.get("hardware", {}), dict(experiment["parameters"]) | dict(levels)
    named = described.get("drives", {})
    hardware = _numbers(named.get(own["drive"], {}) if own.get("drive") else described.get("drive", {}))
    on = {part: described[part] for factor, part in TURNS_OFF.items()
          if hardware and part in described and own.get(factor) != OFF}  # fmt: skip
    if memory := on.get("memory"):
        hardware |= {"memory_bytes": memory["size_bytes"]} | {name: memory[name] for name in DIRTY_LIMITS}
    if writer := on.get("writer"):
        hardware["writer_mb_per_s"] = writer["rate_mb_per_s"]
    hardware |= {name: level for name, level in levels.items() if name in hardware}
    if (name := own.get("intermediate_drive", SHARED_DRIVES)) != SHARED_DRIVES:
        hardware["intermediate"] = _numbers(named.get(name, {}))
    return hardware


def _numbers(drive: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in drive.items() if key != "sources"}
