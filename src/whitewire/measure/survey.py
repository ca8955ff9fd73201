"""The stage `links`: measures links, drives, RDMA ports and transports of a testbed by themselves, before any paper.

It needs neither Java nor Hadoop. Finished parts stay: an interrupted survey goes on, and a complete one is made again
only when the testbed's description has changed. A command for one part that has to remove finished ones measures them
too, because Snakemake does not start them again. Its records: records/links.py.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

from whitewire import atomic, paths
from whitewire.budget import time_in_words
from whitewire.description import project
from whitewire.description.capabilities import capabilities_of
from whitewire.description.testbed import load_testbed
from whitewire.errors import Faults, UserError
from whitewire.install.doctor import preflight
from whitewire.measure import engine, environment
from whitewire.measure.engine import Work, hold_measurement
from whitewire.measure.survey_drives import measure_drives_of_datanodes
from whitewire.measure.survey_pairs import measure_pairs
from whitewire.measure.survey_plan import BUDGET_HERE_S, BUDGET_S, Survey, kept_plan, plan_survey, shape_here
from whitewire.measure.survey_rdma import measure_rdma_ports
from whitewire.measure.survey_transports import measure_transports
from whitewire.progress import Pulse
from whitewire.records import links as records
from whitewire.records import manifest
from whitewire.records.links import (
    FOLDERS_OF_PARTS,
    LINKS_FOLDER,
    LINKS_RECORD,
    HostFacts,
    HostLink,
    LinksPart,
    Machine,
    SurveyPlan,
    files_of_links,
    links_faults,
    read_hosts,
    read_plan,
)
from whitewire.records.outliers import outliers_of_folder
from whitewire.records.parts import OF_LINKS, OfLinks
from whitewire.records.schema import Broken
from whitewire.testbed import kinds as testbeds
from whitewire.testbed.base import Testbed
from whitewire.testbed.site.job import within_its_job
from whitewire.tools import Unreadable, link


def survey(testbed: str, results: Path, effort: str = "quick", within: str = "", paper: str = "",
           parts: Sequence[OfLinks] = OF_LINKS) -> None:  # fmt: skip
    """Measure links, drives, RDMA ports and transports of a testbed, or some of these parts; the record goes to
    `results`/links.

    `within`: how long it may take, as a budget; `paper`: the paper that sets the hosts and k of an emulated testbed
    (default: the one of config.yaml's that asks for most hosts). Raises UserError when hosts cannot be used.
    """
    config, source = load_testbed(testbed), paths.shown(project.testbed_path(testbed))
    seconds = _seconds_of(within, effort, capabilities_of(config).local)
    shape = shape_here(config, effort, paper)
    folder = results / LINKS_FOLDER
    hosts = testbeds.open_bare(config, shape.roles, shape.k, source)
    plan = plan_survey(testbed, config, effort, seconds, shape, hosts)
    if [*parts] == ["transports"] and not plan.get("transports"):
        raise UserError(f"{source}: transports: found none with a library or variables, expected one to measure")
    with hold_measurement(folder, "these links"), within_its_job(config):
        why = dict(records.damaged(folder)).get(folder / records.PLAN)
        kept = None if why else kept_plan(folder, plan, exactly=bool(within))
        if kept and kept.get("transports", []) != plan.get("transports", []):
            kept = _with_transports(folder, kept, plan)
        before = _finished(folder, kept or plan)
        if kept is None:
            _clear(folder)
            atomic.write(folder / records.PLAN, atomic.as_json(plan))
        hosts.keep_names(_known(folder))
        made = Survey(hosts, config, kept or plan, shape, folder, source, Work("links", seconds))
        if why:
            made.work.progress.say(f"{paths.shown(folder / records.PLAN)}: {why}: everything is measured anew")
        if (folder / LINKS_RECORD).exists() and not links_faults(folder):
            made.work.progress.say("nothing to measure: all is measured, and the testbed's file has not changed")
            return
        make(made, parts, before)


def _seconds_of(within: str, effort: str, local: bool) -> float:
    """Seconds that a survey may take. Raises UserError."""
    return engine.seconds_within(within) if within else (BUDGET_HERE_S if local else BUDGET_S)[effort]


def _known(folder: Path) -> dict[str, str]:
    """Names of hosts from parts measured before, by their names for ssh or the scheduler: another job may have other
    nodes."""
    try:
        return {host["target"]: host["name"] for host in read_hosts(folder)["hosts"]}
    except Broken:
        return {}


def _with_transports(folder: Path, kept: SurveyPlan, plan: SurveyPlan) -> SurveyPlan:
    """The kept plan with the transports of another one; what was measured over others is removed."""
    manifest.open_record(folder, LINKS_RECORD)
    (folder / records.part_file("transports")).unlink(missing_ok=True)
    for name in FOLDERS_OF_PARTS["transports"]:
        shutil.rmtree(folder / name, ignore_errors=True)
    made: SurveyPlan = {**kept, "transports": plan.get("transports", [])}
    atomic.write(folder / records.PLAN, atomic.as_json(made))
    return made


def _finished(folder: Path, plan: SurveyPlan) -> list[OfLinks]:
    """The finished parts of an earlier survey that Snakemake does not start again.

    It starts all after another description or effort, which are parameters of its rules. Hosts and k are none: a
    scheduler's job has its hosts only once it runs, and other papers are no reason to measure complete links again.
    """
    with suppress(Broken):
        old = read_plan(folder)
        if (old["description"], old["effort"]) != (plan["description"], plan["effort"]):
            return []
    return [part for part in OF_LINKS if (folder / records.part_file(part)).exists()]


def _clear(folder: Path) -> None:
    """Remove what an earlier survey left."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != ".lock":
            path.unlink()


def make(survey: Survey, parts: Sequence[OfLinks] = OF_LINKS, before: Sequence[OfLinks] = ()) -> None:
    """Measure what is missing of some parts, and of those finished `before`; with all parts, finish the record.

    Raises UserError for unusable hosts.
    """
    _remove_damaged(survey)
    planned = [part for part in records.parts_of(survey.folder) if part in {*parts, *before}]
    lacking = [part for part in planned if not records.is_made(survey.folder, part)]
    if lost := [part for part in lacking if part not in parts]:
        survey.work.progress.say(f"{', '.join(lost)}: of other hosts, of another k or damaged: measured again")
    if lacking:
        if "network" in lacking:
            _announce(survey)
        with survey.work.progress.going(), _hosts_for(survey, lacking):
            since = 0.0
            for part in lacking:
                with _recorded(survey, part, since):
                    MEASURES[part](survey)
                since = survey.work.took
    if set(parts) == set(OF_LINKS):
        finish(survey.folder)


def _announce(survey: Survey) -> None:
    work, plan, count = survey.work, survey.plan, len(survey.testbed.hosts)
    work.progress.say(
        f"{count} hosts, {count * (count - 1) // 2} pairs, {len(plan['fabrics'])} fabrics: about "
        f"{time_in_words(plan['expected_seconds'])}"
        + (f", at most {time_in_words(work.seconds)}" if math.isfinite(work.seconds) else "")
    )
    for why in plan["left_out"]:
        work.progress.say(f"left out: {why}")


@contextmanager
def _hosts_for(survey: Survey, parts: Sequence[OfLinks]) -> Iterator[None]:
    """Bring hosts up and record them; not needed to report that a testbed has no RDMA ports.

    Raises UserError if their image is not that of the parts that are measured already.
    """
    if set(parts) == {"rdma"} and not survey.testbed.capabilities.has_rdma:
        yield
        return
    preflight(survey.config, bare=True)
    image = survey.testbed.preflight(bare=True)
    if not any((survey.folder / name).is_dir() for names in FOLDERS_OF_PARTS.values() for name in names):
        (survey.folder / records.HOSTS).unlink(missing_ok=True)  # nothing was measured on them
    if (survey.folder / records.HOSTS).exists():
        known = read_hosts(survey.folder)["facts"].values()
        earlier = [str(host.get("image", "")).partition(" ")[0] for host in known]
        environment.check_image(image, survey.source, {survey.folder: earlier})
    with survey.testbed:
        survey.work.progress.say("hosts are up")
        _record_hosts(survey)
        yield


@contextmanager
def _recorded(survey: Survey, part: OfLinks, since: float) -> Iterator[None]:
    """Write the record of a part that the `with` block measures; it begins `since` seconds after the start."""
    work, before, left = survey.work, dict(survey.work.spent), len(survey.work.left)
    yield
    spent = {phase: round(seconds, 1) for phase, seconds in work.spent.items() if phase not in before}
    record: LinksPart = {
        "left_out": [str(each) for each in work.left[left:]], "begun": round(work.begun + since, 3),
        "seconds": round(work.took - since, 1), "spent": spent,
    }  # fmt: skip
    atomic.write(survey.folder / records.part_file(part), atomic.as_json(record))


MEASURES: dict[OfLinks, Callable[[Survey], None]] = {
    "drives": measure_drives_of_datanodes, "network": measure_pairs, "rdma": measure_rdma_ports,
    "transports": measure_transports,
}  # fmt: skip


def _remove_damaged(survey: Survey) -> None:
    """Remove damaged files and their parts' records, so that they are measured again."""
    for path, why in records.damaged(survey.folder):
        part = survey.folder / records.part_file(records.part_of(path.relative_to(survey.folder)))
        if path.is_file():
            survey.work.progress.say(f"{paths.shown(path)}: {why}: removed, and what is missing is measured again")
            path.unlink()
        part.unlink(missing_ok=True)
    manifest.open_record(survey.folder, LINKS_RECORD)


def finish(folder: Path) -> None:
    """Join the parts to the record. Raises UserError if one is not measured, or has changed since it was written."""
    planned = records.parts_of(folder)
    if lacking := [part for part in planned if not records.is_made(folder, part)]:
        command = f".venv/bin/whitewire links --part {lacking[0]}"
        raise UserError(
            f"{paths.shown(folder)}: found no {', '.join(lacking)}, expected what iperf3, fio and perftest measured; "
            f"next: `{command}`"
        )
    if wrong := links_faults(folder):
        raise Faults([*wrong, f"remove {paths.shown(folder)}, and links are measured again"])
    plan, parts, say = read_plan(folder), records.parts(folder), Pulse("links").say
    of = [parts[part] for part in planned]
    left = [why for part in of for why in part["left_out"]]
    record: records.LinksRecord = {
        "plan": plan,
        "hosts": read_hosts(folder)["hosts"],
        "left_out": [*plan["left_out"], *left],
        "begun": min(part["begun"] for part in of),
        "seconds": round(sum(part["seconds"] for part in of), 1),
        "spent": {phase: seconds for part in of for phase, seconds in part["spent"].items()},
        **environment.commit(),
    }
    manifest.close_record(folder, LINKS_RECORD, record, files_of_links(folder))
    for why in left:
        say(f"left out: {why}")
    found = outliers_of_folder(folder)
    for each in found:
        if not each.part_of:
            say(f"beyond its bound: {each.said}")
    say(f"finished in {time_in_words(record['seconds'])}, {len(found) or 'nothing'} beyond its bound")


def _places(testbed: Testbed) -> list[records.HostPlace]:
    return [{"name": h.name, "role": h.role, "target": str(getattr(h, "target", ""))} for h in testbed.hosts]


def _record_hosts(survey: Survey) -> None:
    """Record the hosts and the reported state of their links on each fabric, besides those of an earlier part."""
    path, testbed = survey.folder / records.HOSTS, survey.testbed
    before = read_hosts(survey.folder) if path.exists() else None
    known = {host["name"] for host in before["hosts"]} if before else set()
    places = [place for place in _places(testbed) if place["name"] not in known]
    if before and not places:
        return
    facts = testbed.describe()
    seen: dict[str, dict[str, HostLink]] = {}
    for fabric in survey.plan["fabrics"]:
        testbed.fabric(fabric["name"])
        own = before["links"].get(fabric["name"], {}) if before else {}
        seen[fabric["name"]] = own | {
            name: cast("HostLink", {**now, **_driver(facts.get(name, {}), fabric["name"])})
            for name, now in testbed.links().items()
        }
    clocks = {name: round(ahead, 6) for name, ahead in testbed.clocks().items()}
    record: records.HostsRecord = {
        "hosts": [*(before["hosts"] if before else []), *places],
        "machine": cast("Machine", environment.machine()),
        "facts": {**(before["facts"] if before else {}), **cast("dict[str, HostFacts]", facts)},
        "clocks": {**(before["clocks"] if before else {}), **clocks},
        "links": seen,
    }
    # Facts are kept as the testbed gives them, whatever their type.
    atomic.write(path, atomic.as_json(record, default=str))


def _driver(facts: Mapping[str, Any], fabric: str) -> dict[str, str]:
    """Driver and firmware of a host's interface on a fabric, where they are known."""
    with suppress(Unreadable, KeyError):
        return link.driver(facts["fabrics"][fabric]["driver"])
    return {}
