"""The stage `links`: what links, drives and RDMA ports of a testbed carry by themselves, before any paper.

Neither Java nor Hadoop has to be there. What is finished stays: an interrupted survey goes on, and one that is whole is
made again only when the testbed's description has changed. Its records: records/links.py.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from whitewire import budget, paths, whole
from whitewire.description import project
from whitewire.description.testbed import load_testbed
from whitewire.install.doctor import preflight
from whitewire.measure import engine, environment, survey_drives, survey_rdma
from whitewire.measure.alone import alone
from whitewire.measure.engine import Work, as_json
from whitewire.measure.survey_pairs import Pairs
from whitewire.measure.survey_plan import BUDGET_HERE_S, BUDGET_S, Survey, kept_plan, planned, shape_here
from whitewire.records import links as records
from whitewire.records import outliers
from whitewire.records.links import HostFacts, HostLink, Machine
from whitewire.testbed import kinds as testbeds
from whitewire.testbed.base import Testbed
from whitewire.testbed.site.job import within_its_job
from whitewire.tools import Unreadable, link


def survey(testbed: str, results: Path, effort: str = "quick", within: str = "", paper: str = "") -> None:
    """Measure links, drives and RDMA ports of a testbed; the record goes to `results`/links, links.json last.

    `within`: how long it may take, as a budget; `paper`: whose hosts and k an emulated testbed has (default: the
    largest that config.yaml's papers ask for). Raises UserError when hosts cannot be used.
    """
    config, source = load_testbed(testbed), paths.shown(project.testbed_path(testbed))
    seconds = seconds_of(within, effort, config["kind"] == "emulated")
    shape = shape_here(config, effort, paper)
    hosts = testbeds.open_bare(config, shape.roles, shape.k, source)
    plan = planned(testbed, config, effort, seconds, shape, hosts)
    folder = results / records.FOLDER
    with alone(folder, "these links"), within_its_job(config):
        why = dict(records.damaged(folder)).get(folder / records.PLAN)
        kept = None if why else kept_plan(folder, plan, exactly=bool(within))
        if kept is None:
            _clear(folder)
            whole.write(folder / records.PLAN, as_json(plan))
        made = Survey(hosts, config, kept or plan, shape, folder, source, Work("links", seconds))
        if why:
            made.work.progress.say(f"{paths.shown(folder / records.PLAN)}: {why}: all is measured anew")
        if (folder / records.RECORD).exists() and not records.faults(folder):
            made.work.progress.say("all measured before, and the testbed's file is as it was")
            return
        make(made)


def seconds_of(within: str, effort: str, emulated: bool) -> float:
    """How long a survey may take. Raises UserError."""
    return engine.seconds_within(within) if within else (BUDGET_HERE_S if emulated else BUDGET_S)[effort]


def _clear(folder: Path) -> None:
    """Remove what an earlier survey left."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != ".lock":
            path.unlink()


def make(survey: Survey) -> None:
    """All that is missing. Raises UserError when hosts cannot be used."""
    work, testbed, plan = survey.work, survey.testbed, survey.plan
    _remove_damaged(survey)
    count = len(testbed.hosts)
    work.progress.say(
        f"{count} hosts, {count * (count - 1) // 2} pairs, {len(plan['fabrics'])} fabrics: about "
        f"{budget.words(plan['expected_seconds'])}"
        + (f", at most {budget.words(work.seconds)}" if math.isfinite(work.seconds) else "")
    )
    for why in plan["left_out"]:
        work.progress.say(f"left out: {why}")
    with work.progress.going():
        preflight(survey.config, bare=True)
        testbed.preflight(bare=True)
        with testbed:
            work.progress.say("hosts are up")
            pairs = Pairs(survey)
            for phase, measure in (
                ("hosts", lambda: _record_hosts(survey)), ("drives", lambda: survey_drives.measure(survey)),
                ("links", pairs.measure), ("rdma", lambda: survey_rdma.measure(survey)), ("again", pairs.again),
            ):  # fmt: skip
                with work.phase(phase):
                    measure()
    _finish(survey)


def _remove_damaged(survey: Survey) -> None:
    """What is not as it was written is measured again."""
    for path, why in records.damaged(survey.folder):
        if path.is_file():
            survey.work.progress.say(f"{paths.shown(path)}: {why}: removed, and what is missing is measured again")
            path.unlink()
    engine.open_record(survey.folder, records.RECORD)


def _finish(survey: Survey) -> None:
    work, left = survey.work, [str(each) for each in survey.work.left]
    record: records.LinksRecord = {
        "plan": survey.plan,
        "hosts": _places(survey.testbed),
        "left_out": [*survey.plan["left_out"], *left],
        "begun": round(work.begun, 3),
        "seconds": round(work.took, 1),
        "spent": {phase: round(seconds, 1) for phase, seconds in work.spent.items()},
        **environment.commit(),
    }
    engine.close_record(survey.folder, records.RECORD, record, records.kept_files(survey.folder))
    for why in left:
        work.progress.say(f"left out: {why}")
    found = outliers.of_folder(survey.folder)
    for each in found:
        if not each.part_of:
            work.progress.say(f"beyond its bound: {each.said}")
    work.progress.say(f"finished in {budget.words(record['seconds'])}, {len(found) or 'nothing'} beyond its bound")


def _places(testbed: Testbed) -> list[records.HostPlace]:
    return [{"name": h.name, "role": h.role, "target": str(getattr(h, "target", ""))} for h in testbed.hosts]


def _record_hosts(survey: Survey) -> None:
    """The hosts, and what their links really are on each fabric."""
    path, testbed = survey.folder / records.HOSTS, survey.testbed
    if path.exists():
        return
    facts = testbed.describe()
    seen: dict[str, dict[str, HostLink]] = {}
    for fabric in survey.plan["fabrics"]:
        testbed.fabric(fabric["name"])
        seen[fabric["name"]] = {
            name: cast("HostLink", {**now, **_driver(facts.get(name, {}), fabric["name"])})
            for name, now in testbed.links().items()
        }
    record: records.HostsRecord = {
        "hosts": _places(testbed),
        "machine": cast("Machine", environment.machine()),
        "facts": cast("dict[str, HostFacts]", facts),
        "clocks": {name: round(ahead, 6) for name, ahead in testbed.clocks().items()},
        "links": seen,
    }
    # Facts are kept as the testbed gives them, whatever their type.
    whole.write(path, json.dumps(record, indent=1, default=str) + "\n")


def _driver(facts: Mapping[str, Any], fabric: str) -> dict[str, str]:
    """Driver and firmware of a host's interface on a fabric, where they are told."""
    with suppress(Unreadable, KeyError):
        return link.driver(facts["fabrics"][fabric]["driver"])
    return {}
