"""Checks of the whole configuration, and the plan that follows from it."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from whitewire.config import HOME, load_config, load_testbed, paper_path, root, shown, suggestion
from whitewire.errors import UserError

OVERRIDES = ("papers", "testbed", "effort")


@dataclass(frozen=True)
class Plan:
    """What a run does: which papers on which testbed with which effort, and the design of each paper."""

    papers: list[str]
    testbed: str
    effort: str
    seed: int
    designs: Mapping[str, Sequence[Mapping[str, Any]]] = field(repr=False)

    @classmethod
    def load(cls, given: Mapping[str, Any] | None = None) -> Plan:
        """Read and cross-check every file that a run uses. `given` overrides the configuration."""
        from whitewire import sweeps
        from whitewire.design import make_design
        from whitewire.paper import load_paper

        for name, value in (given or {}).items():
            if name not in OVERRIDES:
                raise UserError(
                    f'--config: found the key "{name}", expected one of {", ".join(OVERRIDES)}'
                    f"{suggestion(name, OVERRIDES)}"
                )
            # Through the environment, so that the stages' commands see the same.
            os.environ[name.upper()] = " ".join(value) if isinstance(value, list) else str(value)
        # The stages' command is found beside the interpreter, also when the environment is not activated.
        os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        config = load_config()
        testbed = load_testbed(config["testbed"])
        designs = {}
        for name in config["papers"]:
            path = paper_path(name)
            paper = load_paper(path, testbed["fabrics"])
            sweeps.check(paper)
            if paper.id != name:
                raise UserError(f'{shown(path)}: id: found "{paper.id}", expected "{name}", the name of the file')
            if not (root() / "paper" / f"{name}.qmd").is_file():
                raise UserError(f"paper/{name}.qmd: no such file: every paper has a document")
            designs[name] = make_design(paper, testbed, config["effort"], config["seed"])
            check_unique(designs[name], shown(path))
        return cls(config["papers"], config["testbed"], config["effort"], config["seed"], designs)

    def blocks(self, pattern: str, paper: str | None = None) -> list[str]:
        """`pattern` with `{paper}` and `{block}` filled in, for each block of one paper or of all."""
        names = [paper] if paper else self.papers
        pairs = dict.fromkeys((name, row["block"]) for name in names for row in self.designs.get(name, ()))
        return [pattern.format(paper=name, block=block) for name, block in pairs]

    def digest(self, paper: str, block: str | None = None) -> str:
        """A digest of the runs of one block or of all, and of their order."""
        rows = [row for row in self.designs.get(paper, ()) if block in (None, row["block"])]
        return hashlib.sha256(json.dumps(rows, default=str).encode()).hexdigest()[:16]

    @staticmethod
    def files(*patterns: str) -> list[str]:
        """Files of the repository that match, as paths from its top."""
        return sorted(str(path.relative_to(HOME)) for p in patterns for path in HOME.glob(p) if path.is_file())

    @classmethod
    def sources(cls, *patterns: str) -> list[str]:
        """Files of the package that match."""
        return cls.files(*(f"src/whitewire/{pattern}" for pattern in patterns))


def check_unique(rows: Sequence[Mapping[str, Any]], source: str) -> None:
    """Raise a UserError when two runs of a design have one id."""
    for run_id, count in Counter(row["run_id"] for row in rows).items():
        if count > 1:
            raise UserError(f'{source}: experiments: found {count} runs with the id "{run_id}", expected one')


def print_plan() -> None:
    """What would be measured, what of it is done, and about how long the rest takes."""
    from whitewire.design import expected_seconds
    from whitewire.paper import load_paper

    plan = Plan.load()
    fabrics = load_testbed(plan.testbed)["fabrics"]
    print(f"testbed {plan.testbed}, effort {plan.effort}, seed {plan.seed}")
    for name in plan.papers:
        paper = load_paper(paper_path(name), fabrics)
        results = root() / "results" / plan.testbed / name
        left = [row for row in plan.designs[name] if not _journalled(results, row)]
        seconds = sum(expected_seconds(paper, row) for row in left)
        blocks = len({row["block"] for row in plan.designs[name]})
        total = len(plan.designs[name])
        print(
            f"{name}: {total} runs in {blocks} blocks, {total - len(left)} done, {len(left)} to measure"
            + (f", about {seconds / 60:.0f} min" if left else "")
        )


def _journalled(results: Path, row: Mapping[str, Any]) -> bool:
    return (results / "raw" / str(row["block"]) / "runs" / str(row["run_id"]) / "run.json").is_file()
