"""What the stage `trust` plans fits into its time, and what it counts on a link is the link's own rate."""

import copy
import json
import math
import os
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitewire import cli, lanes
from whitewire.design import synthetic
from whitewire.errors import UserError
from whitewire.lanes import LANES_VARIABLE, Lanes
from whitewire.measure import trust, trust_links, trust_plan, trust_runs
from whitewire.measure.engine import Deadline, seconds_within
from whitewire.measure.neighbours import Ended
from whitewire.measure.trust import measure_trust
from whitewire.measure.trust_links import steady_rate
from whitewire.measure.trust_plan import Offer, parts_of_trust, plan_trust
from whitewire.progress import Pulse
from whitewire.records import trust as records
from whitewire.records.manifest import MANIFEST_FILE
from whitewire.records.parts import WITHIN
from whitewire.records.samples import ETHERNET, HEADERS
from whitewire.records.trust import LOADS_FILE, TRUST_RECORD, read_trust
from whitewire.testbed.base import CommandFailed
from whitewire.tools.link import Counted

OFFERS = st.lists(
    st.tuples(st.floats(0, 100), st.floats(0.5, 200), st.integers(1, 4), st.integers(0, 8), st.floats(0.5, 5)),
    max_size=6,
).map(lambda found: [
    Offer(f"part{number}", "unit", opening, each, least, least + more, weight)
    for number, (opening, each, least, more, weight) in enumerate(found)
])  # fmt: skip


@given(OFFERS, st.floats(0, 3000))
def test_a_plan_fits_and_wastes_no_time_that_one_more_unit_would_fit_into(offers, seconds):
    units, out = plan_trust(offers, seconds)
    by_part = {offer.part: offer for offer in offers}
    took = sum(by_part[part].seconds(count) for part, count in units.items())
    assert took <= seconds + 1e-6
    assert {*units, *out} == set(by_part) and not {*units} & {*out}
    for part, count in units.items():
        offer = by_part[part]
        assert offer.least <= count <= offer.most
        assert count == offer.most or offer.each > seconds - took - 1e-6


def test_time_that_is_over_goes_by_weight():
    offers = [Offer("a", "unit", 0, 10, 1, 99, weight=3), Offer("b", "unit", 0, 10, 1, 99)]
    assert plan_trust(offers, 400)[0] == {"a": 30, "b": 10}


@given(st.floats(1, 2000), st.floats(0.05, 0.4), st.floats(0.05, 0.4))
def test_a_rate_is_that_of_the_steady_part_whatever_is_before_and_after(rate, before, after):
    """Nothing comes for a while, then at the rate, then nothing again."""
    times = np.arange(0, before + 1 + after, 0.01)
    total = np.clip(times - before, 0, 1) * rate * 1e6 / 8 + 12345
    assert steady_rate(times, total) == pytest.approx(rate, rel=0.02)


@pytest.mark.parametrize("total", [[5, 5, 5, 5], [0, 0]])
def test_nothing_counted_has_no_rate(total):
    assert math.isnan(steady_rate(range(len(total)), total))


def test_counters_give_payload_whether_packets_are_cut_before_the_wire_or_after():
    """The same bytes in frames, and in packets of 64 KiB that are cut later, are the same payload."""
    payload = 10**6
    readings = [{"a": Counted(0, 0, 0, 0), "b": Counted(0, 0, 0, 0)}]
    for share in (0.25, 0.5, 0.75, 1.0):
        sent = {name: int(share * payload / size) for name, size in (("a", 1448), ("b", 65160))}
        carried = {name: sent[name] * size for name, size in (("a", 1448), ("b", 65160))}
        readings.append({n: Counted(0, 0, carried[n] + sent[n] * (HEADERS + ETHERNET), sent[n]) for n in sent})
    hosts = [SimpleNamespace(name="a"), SimpleNamespace(name="b")]
    counted = trust_links.Counters(SimpleNamespace(hosts=hosts, ports=lambda: readings.pop(0)))
    while readings:
        counted.take()
    counted.times = list(range(len(counted.times)))
    assert counted.payload["a"][-1] == pytest.approx(payload, rel=0.002)
    assert counted.rate("a") == pytest.approx(2.0, rel=0.01) and counted.rate("b") == pytest.approx(2.0, rel=0.07)


@pytest.mark.parametrize(("text", "parts"), [
    ("", records.PARTS), ("order, links", ("links", "order")), ("ratio", ("ratio",)),
])  # fmt: skip
def test_parts_come_in_the_order_of_measuring(text, parts):
    assert parts_of_trust(text) == parts


def run(capsys, *argv):
    status = cli.main(["trust", *argv])
    return status, capsys.readouterr().err.strip().splitlines()


def test_a_dry_run_says_how_long_each_part_takes_and_leaves_nothing(capsys, tmp_path):
    status, said = run(capsys, "--dry-run", "--results", str(tmp_path / "none"), "--within", "50m")
    assert status == 0 and not (tmp_path / "none").exists()
    for part in records.PARTS:
        assert any(line.startswith(f"trust: {part}: ") and "about" in line for line in said)
    assert said[-1].startswith("trust: in total: about ") and said[-1].endswith("at most 50 min")


def test_lanes_of_a_campaign_around_it_are_not_those_of_its_parts(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv(LANES_VARIABLE, Lanes.of(2, tmp_path / "locks").text())
    assert run(capsys, "--dry-run", "--results", str(tmp_path), "--parts", "order")[0] == 0
    assert lanes.count() == 1 and LANES_VARIABLE not in os.environ


def test_what_time_is_too_short_for_is_said_with_what_it_needs(capsys, tmp_path):
    _, said = run(capsys, "--dry-run", "--results", str(tmp_path), "--within", "2m", "--parts", "ratio,order")
    assert any("left out: ratio: for want of time (" in line and "at least" in line for line in said)


@pytest.mark.parametrize(("argv", "said"), [
    (["--parts", "lnks"], '--parts: found "lnks", expected some of links, ratio, same, scales, load, lanes, order; '
                          'did you mean "links"?'),
    (["--within", "soon"], '--within: found "soon", expected a time such as 30m or 1h30m, or none'),
])  # fmt: skip
def test_a_wrong_option_is_one_line(capsys, tmp_path, argv, said):
    status, lines = run(capsys, "--results", str(tmp_path), *argv)
    assert (status, lines) == (2, [f"whitewire: error: {said}"])


def test_help_names_all_parts_and_the_time_that_it_takes_by_default(capsys):
    with pytest.raises(SystemExit):
        cli.main(["trust", "--help"])
    said = "".join(capsys.readouterr().out.split())
    assert ",".join(records.PARTS) in said and f"(default:{WITHIN})" in said


def test_on_a_site_it_says_in_one_line_where_it_works(monkeypatch, tmp_path):
    monkeypatch.setattr(trust, "load_testbed", lambda name: {"kind": "ssh"})
    monkeypatch.setattr(trust.project, "testbed_path", lambda name: tmp_path / f"{name}.yaml")
    with pytest.raises(UserError) as error:
        measure_trust("mine", tmp_path)
    assert "mine.yaml: kind: found ssh, expected emulated" in str(error.value) and "\n" not in str(error.value)


ROUND = {"rate": 25.0, "pairs": 1, "number": 1, "meter": "iperf3", "source": "a", "destination": "b", "goodput": 23.9,
         "expected": 23.9, "why": ""}  # fmt: skip


@pytest.fixture
def started(monkeypatch, tmp_path):
    """A start of the stage whose parts write down that they were made, in place of measuring."""
    config = copy.deepcopy(trust.load_testbed("emulated"))
    made = []

    def make(seconds=2400.0, wanted=records.PARTS, failing="", short=0, error=UserError):
        one = trust.Trust("emulated", config, [], tmp_path / "trust", wanted, seconds)
        for part in records.PARTS:

            def own(start, part=part):
                kept = {"links": ("round-01.json", [ROUND]), "load": (LOADS_FILE, {})}
                for name, content in [kept[part]] if part in kept else []:
                    (start.folder / name).write_text(json.dumps(content))
                if part == failing:
                    raise error("a link is beyond its bound")
                made.append((part, start.units))
                return max(0, start.units - short)

            monkeypatch.setitem(trust.MAKES, part, own)
        return one

    return SimpleNamespace(make=make, made=made, folder=tmp_path / "trust", config=config)


def test_what_is_finished_is_not_made_again_and_the_record_names_all_of_it(started):
    started.make(wanted=("links",)).make()
    started.make().make()
    assert [part for part, _ in started.made] == ["links", "ratio", "load", "order"]  # the others need a paper
    record = read_trust(started.folder)
    assert [each["part"] for each in record["parts"]] == ["links", "ratio", "load", "order"]
    assert record["bound"] == started.config["limits"]["link_error"]
    assert record["left_out"] == [
        f"{part}: no paper of config.yaml has what it compares" for part in ("same", "scales", "lanes")
    ]
    before = list(started.made)
    started.make().make()
    assert started.made == before


@pytest.mark.parametrize("error", [UserError, CommandFailed])
def test_a_part_that_fails_is_left_out_with_its_reason_and_the_next_start_makes_it(started, error):
    started.make(failing="ratio", error=error).make()
    record = read_trust(started.folder)
    assert [each["part"] for each in record["parts"]] == ["links", "load", "order"]
    assert any(why.startswith("ratio: a link is beyond its bound") for why in record["left_out"])
    started.make().make()
    assert [part for part, _ in started.made] == ["links", "load", "order", "ratio"]


def test_another_description_of_the_testbed_measures_anew(started):
    started.make(wanted=("links",)).make()
    (started.folder / "links" / "round-02.json").write_text("[]")
    started.config["limits"]["link_error"] = 0.5
    started.make(wanted=("links",)).make()
    assert len(started.made) == 2 and not (started.folder / "links" / "round-02.json").exists()


@pytest.mark.parametrize("bound", [None, 0.5])
def test_of_an_interrupted_part_nothing_stays_that_another_description_made(started, capsys, bound):
    with pytest.raises(UserError, match="links: a link is beyond its bound"):
        started.make(wanted=("links",), failing="links").make()
    assert records.part(started.folder, "links")["units"] == 0
    (started.folder / "links" / "round-07.json").write_text(json.dumps([ROUND]))
    started.config["limits"]["link_error"] = bound or started.config["limits"]["link_error"]
    started.make(wanted=("links",)).make()
    assert (started.folder / "links" / "round-07.json").exists() == (bound is None)
    said = "links: measured anew, because its results are not known to be of this description"
    assert (said in capsys.readouterr().err) == (bound is not None)


def test_a_part_for_which_time_ended_has_the_units_that_are_whole_and_the_next_start_makes_the_others(started):
    started.make(wanted=("links",), short=2).make()
    (part,) = read_trust(started.folder)["parts"]
    assert (part["units"], part["planned"]) == (6, 8)
    assert read_trust(started.folder)["left_out"] == ["links: 2 of 8 rounds: the time was up"]
    started.make(wanted=("links",)).make()
    (part,) = read_trust(started.folder)["parts"]
    assert (part["units"], part["planned"]) == (8, 8) and read_trust(started.folder)["left_out"] == []
    assert started.made == [("links", 8), ("links", 8)]


def test_what_is_finished_of_a_part_stays_where_more_of_it_is_broken_off(started):
    started.make(wanted=("links",), short=2).make()
    started.make(wanted=("links",), failing="links").make()
    assert started.make(wanted=("links",)).done("links")["units"] == 6
    started.make(wanted=("load",)).make()
    assert [(each["part"], each["units"]) for each in read_trust(started.folder)["parts"]][0] == ("links", 6)


def test_a_start_writes_the_manifest_that_a_record_lacks_and_refuses_what_is_damaged(started):
    started.make(wanted=("links",)).make()
    (started.folder / MANIFEST_FILE).unlink()
    with pytest.raises(UserError, match="manifest.json: found no such file, expected one beside trust.json"):
        read_trust(started.folder)
    started.make(wanted=("links",)).make()
    assert read_trust(started.folder)["parts"]
    path = started.folder / "links" / "round-01.json"
    path.write_text(json.dumps([ROUND | {"goodput": 99.0}]))
    before = (started.folder / TRUST_RECORD).read_bytes()
    with pytest.raises(UserError, match=r"round-01.json: found SHA-256 .*; remove .*links and trust.json"):
        started.make().make()
    assert (started.folder / TRUST_RECORD).read_bytes() == before and len(started.made) == 1


def test_a_record_that_is_damaged_says_so(tmp_path):
    (tmp_path / TRUST_RECORD).write_text(json.dumps({"testbed": 1}))
    with pytest.raises(UserError, match="make trust"):
        read_trust(tmp_path)


def test_of_a_part_without_a_whole_unit_nothing_is_reported(started):
    """Else its part would be finished, and its question answered by nothing."""
    with pytest.raises(UserError, match="ratio: no whole group was made in .*, expected some; .* --within"):
        started.make(wanted=("ratio",), short=20).make()
    assert records.part(started.folder, "ratio")["units"] == 0 and not (started.folder / TRUST_RECORD).exists()


@pytest.mark.parametrize(("left", "units"), [([], 4), (["r10"], 3), (["r12", "r5"], 1), (["r1"], 0)])
def test_units_are_whole_up_to_the_first_run_that_was_left_out(left, units):
    rows = [{"run_id": f"r{number}", "replicate": number} for number in range(1, 4 * synthetic.RUNS + 1)]
    block = SimpleNamespace(measure=lambda: None, rows=rows, left=dict.fromkeys(left, "the budget ended"))
    assert trust_runs._measured(block, trust_runs.group, 4) == units


def test_a_round_that_is_damaged_is_measured_again_and_said(tmp_path, capsys):
    rounds = trust_links.LinkRounds({}, tmp_path, Pulse("trust"))
    (tmp_path / "round-01.json").write_text(json.dumps([ROUND]))
    (tmp_path / "round-02.json").write_text(json.dumps([ROUND])[:40])
    assert [rounds._unit(number).is_made(rounds.progress.say) for number in (1, 2, 3)] == [True, False, False]
    assert "round-02.json: line 1: it ends" in capsys.readouterr().err


# --- lanes -----------------------------------------------------------------------------------------------------


@pytest.fixture
def beside(monkeypatch, tmp_path):
    """A start of the part `lanes` whose blocks write down in how many lanes they were made, in place of measuring."""
    made, whole = [], set()

    @contextmanager
    def neighbours(paper, config, count, folder):
        made.append(count + 1)
        assert not folder.exists()
        yield
        if count in ending:
            raise Ended("another lane ended while the block was measured: no memory")

    def block(start, paper, rows, folder, **_):
        (folder / synthetic.BLOCK).mkdir(parents=True, exist_ok=True)
        return SimpleNamespace(journal=SimpleNamespace(has=lambda _: folder.name in whole), folder=folder)

    ending = set()
    monkeypatch.setattr(trust_runs, "neighbours", neighbours)
    monkeypatch.setattr(trust_runs, "_block", block)
    monkeypatch.setattr(trust_runs, "_measured", lambda block, *_: whole.add(block.folder.name) or 1)
    monkeypatch.setattr(trust_runs.synthetic, "of_kinds", lambda *_: [{"run_id": "a"}])
    monkeypatch.setattr(trust_plan, "lane_numbers", lambda: (2, 3, 4))

    def start(units=1, **other):
        paper = SimpleNamespace(id="two-k")
        return trust_runs.Start(**{
            "config": {}, "folder": tmp_path, "units": units, "papers": [paper], "deadline": Deadline(),
            "progress": Pulse("trust"), "lanes": (2,), **other,
        })  # fmt: skip

    return SimpleNamespace(start=start, made=made, whole=whole, ending=ending, folder=tmp_path)


@pytest.mark.parametrize("numbers", [(2,), (2, 3, 4)])
def test_the_least_of_lanes_fits_into_the_default_time_however_many_processors_there_are(monkeypatch, numbers):
    monkeypatch.setattr(trust_plan, "lane_numbers", lambda: numbers)
    config = trust.load_testbed("emulated")
    papers = [trust.load_paper(trust.project.paper_path(name), config["fabrics"])
              for name in trust.project.load_config()["papers"]]  # fmt: skip
    units, out = plan_trust(trust_plan.offers(records.PARTS, config, papers), seconds_within(WITHIN))
    assert units["lanes"] >= 1 and out == []


def test_each_number_of_lanes_has_its_turns_before_the_next_and_as_often_begins_as_one_lane_does():
    turns = [trust_plan.of_turn((2, 3, 4), turn) for turn in range(12)]
    assert [max(turn) for turn in turns] == [2] * 4 + [3] * 4 + [4] * 4
    assert [sum(turn[0] == 1 for turn in turns[at : at + 4]) for at in (0, 4, 8)] == [2, 2, 2]
    assert len({turn[0] == 1 for turn in turns[::2]}) == 2  # which begins is random


def test_lanes_are_made_turn_by_turn(beside):
    assert trust_runs.lanes(beside.start(units=5, lanes=(2, 3))) == 5
    assert [sorted(beside.made[at : at + 2]) for at in range(0, 10, 2)] == [[1, 2]] * 4 + [[1, 3]]
    assert {path.name for path in (beside.folder / "two-k").iterdir()} == {
        "1-0", "2-0", "1-1", "2-1", "1-2", "2-2", "1-3", "2-3", "1-4", "3-4",
    }  # fmt: skip


def test_fewer_lanes_than_planned_are_no_turn(beside, monkeypatch):
    monkeypatch.setattr(trust_plan, "lane_numbers", tuple)
    with pytest.raises(UserError, match="found memory and processors for 1 lane, expected for 2 as when it began; end"):
        trust_runs.lanes(beside.start())
    beside.whole |= {"1-0", "2-0"}
    assert trust_runs.lanes(beside.start()) == 1


def test_numbers_of_lanes_are_those_of_the_first_start(started, monkeypatch):
    measured_lanes = []

    def start(numbers, short):
        one = started.make(wanted=("lanes",))
        one.offers["lanes"] = Offer("lanes", "turn", 0, 10, 1, 4, lanes=numbers)
        one.units = {"lanes": 4}
        monkeypatch.setitem(
            trust.MAKES, "lanes", lambda start: measured_lanes.append([*start.lanes]) or start.units - short
        )
        one.make()
        return records.part(started.folder, "lanes")["lanes"]

    assert start((2, 3), 2) == start((2,), 0) == [2, 3]
    started.config["limits"]["link_error"] = 0.5
    assert start((2,), 0) == [2]
    assert measured_lanes == [[2, 3], [2, 3], [2]]


def test_no_lane_begins_after_the_deadline_and_what_is_made_needs_none(beside):
    assert trust_runs.lanes(beside.start(deadline=Deadline.after(0))) == 0 and not beside.made
    beside.whole |= {"1-0", "2-0"}
    assert trust_runs.lanes(beside.start(deadline=Deadline.after(0))) == 1


def test_of_a_block_beside_which_a_lane_ended_nothing_stays(beside):
    beside.ending.add(1)
    with pytest.raises(UserError, match="another lane ended"):
        trust_runs.lanes(beside.start())
    assert not (beside.folder / "two-k" / "2-0").exists()


def test_what_other_lanes_of_an_earlier_start_left_is_removed(beside):
    (beside.folder / trust_runs._BESIDE / "1").mkdir(parents=True)
    assert trust_runs.lanes(beside.start()) == 1 and sorted(beside.made) == [1, 2]
