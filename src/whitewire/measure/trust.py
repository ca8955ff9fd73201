"""The stage `trust`: how far the emulated testbed can be trusted, by runs whose right answer is known.

Each part has a plan of whole units that fit into its time, and a folder. Finished units stay, and an interrupted start
goes on. Its records: records/trust.py; its tables: analysis/trust.py.
"""

from __future__ import annotations

import math
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from whitewire import atomic, paths
from whitewire.budget import time_in_words
from whitewire.description import project
from whitewire.description.capabilities import capabilities_of
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper
from whitewire.description.testbed import digest, fabric_names, load_testbed
from whitewire.errors import CannotMake, Faults, UserError
from whitewire.lanes import LANES_VARIABLE
from whitewire.measure import environment
from whitewire.measure import links as network
from whitewire.measure.block_plan import CLOSING_S, START_S
from whitewire.measure.engine import TIME_UP, Work, hold_measurement, seconds_within
from whitewire.measure.execution import cannot_make
from whitewire.measure.trust_plan import Offer, offers, parts_of_trust, plan_trust, why_absent
from whitewire.measure.trust_runs import MAKES, Start
from whitewire.records import checked, manifest
from whitewire.records import trust as records
from whitewire.records.parts import PARTS, WITHIN, Part
from whitewire.records.trust import (
    PART_RECORD,
    TRUST_FOLDER,
    TRUST_RECORD,
    TrustPart,
    block_folders,
    files_of_trust,
    remedy_of_damage,
)

_OVERRUN = 1.5
"""Most time of a part as a multiple of its planned time, not counting what a block reserves for its start and end."""


def measure_trust(testbed: str, results: Path, parts: str = "", within: str = "", dry_run: bool = False) -> bool:
    """Measure how far an emulated testbed can be trusted; the record goes to `results`/trust, trust.json last.

    `parts`: comma-separated, from records.parts.PARTS; `within`: time limit, as a budget; `dry_run`: print the plan
    only. Returns whether there is a record now. Raises UserError on other testbeds, and if no part could be made.
    """
    os.environ.pop(LANES_VARIABLE, None)  # comparisons run alone, except for the lanes that they ask for
    wanted, config = parts_of_trust(parts), load_testbed(testbed)
    if not capabilities_of(config).shapes_links:
        raise UserError(
            f"{paths.shown(project.testbed_path(testbed))}: kind: found {config['kind']}, expected emulated: "
            "only of emulated links the right rates are known; `make testbed` measures those of a site"
        )
    seconds = seconds_within(within or WITHIN)
    names = project.load_config()["papers"]
    papers = [load_paper(project.paper_path(name), fabric_names(config)) for name in names]
    made = Trust(testbed, config, papers, results / TRUST_FOLDER, wanted, seconds)
    made.outlook()
    if dry_run:
        return False
    with hold_measurement(made.folder, "the trust in this testbed"):
        made.make()
    return True


class Trust:
    """One start of the stage."""

    def __init__(self, testbed: str, config: Mapping[str, Any], papers: Sequence[Paper], folder: Path,
                 wanted: Sequence[str], seconds: float) -> None:  # fmt: skip
        self.testbed, self.config, self.papers, self.folder = testbed, config, papers, folder
        self.work = Work("trust", seconds)
        self.description = digest(config)
        self.offers = {offer.part: offer for offer in offers(wanted, config, papers)}
        planned_units, out = plan_trust(list(self.offers.values()), seconds)
        done = {part: each["units"] for part in planned_units if (each := self.done(part))}
        self.units = {part: units for part, units in planned_units.items() if units > done.get(part, 0)}
        self.kept = [part for part in planned_units if part not in self.units]
        for part in out:
            least = time_in_words(self.offers[part].seconds(self.offers[part].least))
            self.work.leave_out(part, f"for want of time ({least} at least)")
        for part in wanted:
            if part not in self.offers:
                self.work.leave_out(part, why_absent(part))

    def done(self, part: str) -> TrustPart | None:
        """The record of a part with finished units on this description of the testbed; else None."""
        found = records.part(self.folder, part)
        return found if found and found["units"] and found["description"] == self.description else None

    @property
    def expected(self) -> float:
        """Planned seconds of all parts."""
        return sum(self.offers[part].seconds(units) for part, units in self.units.items())

    def outlook(self) -> None:
        """Print what is measured, and how long that should take."""
        if self.kept:
            self.work.progress.say(f"measured before: {', '.join(self.kept)}")
        for part, units in self.units.items():
            offer = self.offers[part]
            of = f" of {', '.join(offer.papers)}" if offer.papers else ""
            self.work.progress.say(f"{part}: {units} {offer.unit}{'s' if units != 1 else ''}{of}, about "
                              f"{time_in_words(offer.seconds(units))}")  # fmt: skip
        for why in self.work.left:
            self.work.progress.say(f"left out: {why}")
        most = time_in_words(self.work.seconds)
        self.work.progress.say(f"in total: about {time_in_words(self.expected)}, at most {most}")

    def make(self) -> None:
        """Make all missing parts; one that cannot be made is left out. Raises CannotMake if there is no part at all."""
        self._check_finished()
        for part, units in self.units.items():
            with self.work.leaving_out(part), self.work.phase(part), cannot_make(self.folder):
                self._make(part, units)
        if self.units and not any(map(self.done, PARTS)):
            raise CannotMake("; ".join(str(left) for left in self.work.left if left.subject in self.units))
        self._finish()

    def _make(self, part: str, units: int) -> None:
        """Make up to `units` units of a part. Raises UserError if none is complete."""
        offer, began = self.offers[part], time.monotonic()
        takes = offer.seconds(units)
        deadline = self.work.deadline.within(_OVERRUN * takes + START_S + CLOSING_S)
        record: TrustPart = {
            "part": cast("Part", part), "units": 0, "planned": units, "unit": offer.unit, "seconds": round(takes, 1),
            "papers": list(offer.papers), "description": self.description, "begun": round(time.time(), 3),
        }  # fmt: skip
        if numbers := self._lanes(part):
            record["lanes"] = numbers
        folder, had = self._begun(record), deadline.left()
        self.work.progress.say(f"{part}: about {time_in_words(takes)}")
        papers = [paper for paper in self.papers if paper.id in offer.papers]
        made = MAKES[part](Start(self.config, folder, units, papers, deadline, self.work.progress, numbers))
        if not made:
            raise UserError(_too_short(offer, had))
        if made < units:
            self.work.leave_out(part, TIME_UP, f"{units - made} of {units} {offer.unit}s")
        record |= {"units": made, "took": round(time.monotonic() - began, 1)}
        atomic.write(folder / PART_RECORD, atomic.as_json(record))

    def _lanes(self, part: str) -> list[int]:
        """Numbers of lanes that one lane is compared with: those of the part's first start on this description."""
        found = records.part(self.folder, part)
        kept = found.get("lanes") if found and found["description"] == self.description else None
        return kept or list(self.offers[part].lanes)

    def _check_finished(self) -> None:
        """Raise Faults if earlier results have changed since being written; else remove the record until the end."""
        done = [part for part in PARTS if self.done(part)]
        wrong = records.faults_of_parts(self.folder, done)
        for block in block_folders(self.folder, done):
            wrong += [f"{fault}; {remedy_of_damage(self.folder, block)}" for fault in checked.read_block(block).faults]
        if wrong:
            raise Faults(wrong)
        manifest.open_record(self.folder, TRUST_RECORD)

    def _begun(self, record: TrustPart) -> Path:
        """Prepare a part's folder and record, without results of another description of the testbed; returns it.

        Finished units of the part stay in the record, so that they are not lost if making more is interrupted.
        """
        folder, found = self.folder / record["part"], records.part(self.folder, record["part"])
        if done := self.done(record["part"]):
            record = {**record, "units": done["units"]}
        elif folder.exists() and (found is None or found["description"] != self.description):
            said = "measured anew, because its results are not known to be of this description of the testbed"
            self.work.progress.say(f"{record['part']}: {said}")
            shutil.rmtree(folder)
        folder.mkdir(parents=True, exist_ok=True)
        atomic.write(folder / PART_RECORD, atomic.as_json(record))
        return folder

    def _finish(self) -> None:
        parts = [each for part in PARTS if (each := self.done(part))]
        record: records.TrustRecord = {
            "testbed": self.testbed,
            "description": self.description,
            "parts": parts,
            "left_out": [str(each) for each in self.work.left],
            "begun": round(self.work.begun, 3),
            "seconds": round(self.work.took, 1),
            "bound": float(self.config["limits"]["link_error"]),
            "reach": network.MOST_RATE,
            **environment.commit(),
        }
        files = files_of_trust(self.folder, [each["part"] for each in parts])
        manifest.close_record(self.folder, TRUST_RECORD, record, files)
        self.work.progress.say(f"finished in {time_in_words(record['seconds'])}")


def _too_short(offer: Offer, seconds: float) -> str:
    had = time_in_words(seconds) if math.isfinite(seconds) else "time without an end"
    return (f"no whole {offer.unit} was made in {had}, expected some; give it longer: "
            "`.venv/bin/whitewire trust --within 60m`")  # fmt: skip
