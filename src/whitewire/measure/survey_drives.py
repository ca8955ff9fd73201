"""The drives of a testbed, in the stage `links`: a site's by fio, an emulated testbed's by their models."""

from __future__ import annotations

from whitewire import atomic
from whitewire.budget import time_in_words
from whitewire.errors import UserError
from whitewire.measure import links
from whitewire.measure.drives import measure_drives, places_of
from whitewire.measure.survey_plan import MODELS_S, Survey, drives_in_time
from whitewire.records.links import DRIVES_FILE, MODELS_FILE
from whitewire.testbed.emulated import software


def measure_drives_of_datanodes(survey: Survey) -> None:
    """Measure drives and mounts of all DataNodes."""
    with survey.work.phase("drives"):
        if survey.testbed.capabilities.models_drives:
            _models(survey)
            return
        path = survey.folder / DRIVES_FILE
        chosen, takes = drives_in_time(survey.config, survey.testbed, survey.work.seconds)
        if path.exists() or not takes:
            return
        survey.work.progress.say(f"drives: about {time_in_words(takes)}")
        targets = places_of(survey.testbed.by_role("datanode"), survey.config, survey.source)
        measure_drives(targets, chosen, path.parent, at_once=survey.at_once)


def _models(survey: Survey) -> None:
    work, paper = survey.work, survey.shape.paper
    path, nodes = survey.folder / MODELS_FILE, len(survey.testbed.by_role("datanode"))
    if not survey.shape.drive.limits:
        work.leave_out("drives", f"{paper} models none, and memory is no drive")
        return
    if nodes > links.DRIVE_NODES:
        work.leave_out(f"drives of {nodes - links.DRIVE_NODES} of {nodes} workers", "all have the same model")
    if path.exists():
        return
    if not software.libraries():
        work.leave_out("drives", "their model is not compiled; make setup")
        return
    work.progress.say(f"drives as {paper} models them: about {time_in_words(MODELS_S)}")
    bound = survey.plan["limits"]["drive_error"]
    try:
        rows = links.probe_drives(survey.testbed, survey.shape.drive, bound, path.parent, stop=False)
    except UserError as fault:
        work.leave_out("drives", str(fault))
        return
    atomic.write(path, atomic.as_json(rows))
