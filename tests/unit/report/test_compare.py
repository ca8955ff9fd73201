"""Two result folders side by side: what agrees, what differs and what is unknown."""

import copy
import json
import math
import random
import statistics as plain

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.compared import ENVIRONMENT, SCALE, cell, claim, run, write
from tests.support.kept import rewritten
from whitewire.cli import main
from whitewire.report import compare, comparison, rebuild, reference
from whitewire.report.comparison import COMPARED_COLUMNS, compare_environments, load_results
from whitewire.report.rebuild import opened_folder

PAPER = "made-up-2026"


@pytest.fixture
def both(tmp_path):
    """Two sites loaded, from the arguments of `write` for each."""

    def made(one, two):
        return load_results(write(tmp_path / "a", **one)), load_results(write(tmp_path / "b", **two))

    return made


def only(table, **wanted):
    """The one row of a table with these values."""
    for column, value in wanted.items():
        table = table[table[column] == value]
    assert len(table) == 1, table
    return table.iloc[0]


# -- B against A


def test_the_interval_of_a_ratio_is_that_of_the_method():
    found = comparison._against((2.0, 1.0, 4.0), (8.0, 4.0, 16.0))
    half = math.hypot(math.log(2), math.log(2))
    assert found["ratio"] == pytest.approx(4)
    assert (found["ratio_low"], found["ratio_high"]) == (pytest.approx(4 / math.exp(half)),
                                                         pytest.approx(4 * math.exp(half)))  # fmt: skip
    assert found["differs"] == "yes"
    assert found["difference"] == 6.0
    assert found["difference_low"] == pytest.approx(6 - math.hypot(4, 2))
    assert found["difference_high"] == pytest.approx(6 + math.hypot(8, 1))


def test_its_coverage_is_that_of_an_interval_of_95_percent():
    """Of two samples of one population, with normal intervals each, about one comparison in twenty differs."""
    draw = random.Random(3)

    def side():
        values = [draw.gauss(10, 1) for _ in range(30)]
        centre, half = plain.fmean(values), 2.045 * plain.stdev(values) / math.sqrt(30)
        return centre, centre - half, centre + half

    differ = sum(comparison._against(side(), side())["differs"] == "yes" for _ in range(2000))
    assert 0.03 < differ / 2000 < 0.07


@pytest.mark.parametrize(
    "a, b, differs",
    [
        ((2.0, 1.9, 2.1), (2.05, 1.95, 2.15), "no"),
        ((2.0, 1.9, 2.1), (3.0, 2.9, 3.1), "yes"),
        ((2.0, None, None), (3.0, 2.9, 3.1), "cannot tell"),
        ((2.0, None, None), (2.0, None, None), "no"),
        ((-2.0, -2.1, -1.9), (-2.0, -2.2, -1.8), "no"),
        ((-2.0, -2.1, -1.9), (3.0, 2.9, 3.1), "yes"),
        ((0.0, 0.0, 0.0), (5.0, 4.0, 6.0), "yes"),
        ((0.0, None, None), (0.0, None, None), "no"),
        ((1.0, -0.5, 2.5), (9.0, 8.5, 9.5), "yes"),
        ((None, None, None), (3.0, 2.9, 3.1), ""),
        ((math.nan, None, None), (3.0, 2.9, 3.1), ""),
    ],
)
def test_what_differs(a, b, differs):
    found = comparison._against(a, b)
    assert found["differs"] == differs
    if a[0] is None or not a[0] > 0:
        assert found["ratio"] is None and found["ratio_low"] is None


ESTIMATES = st.floats(1e-6, 1e6)
PARTS = st.floats(0, 0.9)


@given(ESTIMATES, PARTS, PARTS, ESTIMATES, PARTS, PARTS)
def test_exchanged_sides_give_the_inverse_ratio_and_the_same_answer(x, xl, xh, y, yl, yh):
    a, b = (x, x * (1 - xl), x * (1 + xh)), (y, y * (1 - yl), y * (1 + yh))
    one, two = comparison._against(a, b), comparison._against(b, a)
    assert one["ratio"] * two["ratio"] == pytest.approx(1)
    assert one["ratio_low"] * two["ratio_high"] == pytest.approx(1)
    assert one["ratio_low"] <= one["ratio"] * (1 + 1e-9) and one["ratio"] <= one["ratio_high"] * (1 + 1e-9)
    near = any(abs(math.log(one[name])) < 1e-9 for name in ("ratio_low", "ratio_high"))
    assert one["differs"] == two["differs"] or near
    # Never wider than one interval's end over the other's.
    assert one["ratio_high"] <= b[2] / a[1] * (1 + 1e-9)


# -- verdicts


def test_verdicts_and_estimates_of_claims(both):
    a, b = both(
        {"claims": [claim("C1", 4.0, 3.8, 4.2), claim("C2", 4.0, 3.9, 4.1), claim("C3", 2.0, n=3), claim("C4", 1.0)]},
        {"claims": [claim("C1", 4.1, 3.9, 4.3), claim("C2", 2.0, 1.9, 2.1, verdict="not reproduced"),
                    claim("C3", 3.0, n=3, verdict="inconclusive"), claim("C5", 1.0)]},
    )  # fmt: skip
    table = comparison.verdicts(a, b)
    assert tuple(table.columns) == COMPARED_COLUMNS
    same, other, few = (only(table, claim=name) for name in ("C1", "C2", "C3"))
    assert (same["agree"], same["differs"]) == ("yes", "no")
    assert (other["agree"], other["verdict_b"], other["differs"]) == ("no", "not reproduced", "yes")
    assert other["ratio"] == pytest.approx(0.5) and 0.45 < other["ratio_low"] < other["ratio_high"] < 0.55
    assert (few["differs"], few["note"], few["n_a"]) == ("cannot tell", "no interval: too few runs", 3)
    assert few["ratio"] == pytest.approx(1.5) and pd.isna(few["ratio_low"])
    assert [only(table, claim=name)["agree"] for name in ("C4", "C5")] == ["only in A", "only in B"]
    assert only(table, claim="C5")["differs"] == ""


def test_what_a_claim_asks_for_where_both_ask_the_same(both):
    a, b = both({"claims": [claim("C1", 4.0), claim("C2", 4.0)]},
                {"claims": [claim("C1", 4.0), claim("C2", 4.0, expected_low=3.0)]})  # fmt: skip
    table = comparison.verdicts(a, b)
    same, other = (only(table, claim=name) for name in ("C1", "C2"))
    assert same["relation"] == "within"
    assert [float(same[name]) for name in ("expected", "expected_low", "expected_high")] == [4, 3.5, 4.5]
    assert all(pd.isna(other[name]) for name in comparison.ASKED)


def test_units_and_routes_that_differ(both):
    arithmetic = {"route": "arithmetic", "n": None}
    a, b = both(
        {"claims": [claim("C1", 1.0, 0.9, 1.1), claim("C2", 1.0, 0.9, 1.1), claim("C3", 1.0, **arithmetic),
                    claim("C4", -2.0, **arithmetic)]},
        {"claims": [claim("C1", 5.0, 4.9, 5.1, unit="MB/s"), claim("C2", 1.0, 0.9, 1.1, route="emulated"),
                    claim("C3", 1.1, **arithmetic), claim("C4", -2.0, **arithmetic)]},
    )  # fmt: skip
    table = comparison.verdicts(a, b)
    units, routes, changed, same = (only(table, claim=f"C{n}") for n in range(1, 5))
    assert (units["differs"], units["unit"]) == ("cannot tell", "1 or MB/s")
    assert units["note"] == "units differ: 1 and MB/s" and pd.isna(units["ratio"]) and units["overlap"] == ""
    assert routes["note"] == "routes differ: measured and emulated"
    assert (changed["differs"], same["differs"]) == ("yes", "no")  # arithmetic is what it is


# -- estimates


def test_cells_are_matched_by_their_levels(both):
    a, b = both(
        {"claims": [claim("C1")], "cells": [cell("throughput", 100, 90, 110), cell("throughput", 10, 9, 11, "1gbe"),
                                            cell("time", 5, unit="s"), cell("throughput", 1, fabric="only-a")]},
        {"claims": [claim("C1")], "cells": [cell("throughput", 11, 10, 12, "1gbe"), cell("time", 5, unit="s"),
                                            cell("throughput", 200, 190, 210)]},
    )  # fmt: skip
    table = comparison.estimates(a, b)
    assert tuple(table.columns) == comparison.ESTIMATES
    assert len(table) == 3
    fast = only(table, cell="fabric=10gbe clients=3", metric="throughput")
    assert fast["ratio"] == pytest.approx(2) and fast["differs"] == "yes"
    assert only(table, cell="fabric=1gbe clients=3")["differs"] == "no"


def test_full_scale_is_compared_where_both_have_it(both):
    scaled = {"full_scale_median": 2000.0, "full_scale_low": 1900.0, "full_scale_high": 2100.0,
              "full_scale_unit": "MB/s"}  # fmt: skip
    a, b = both(
        {"claims": [claim("C1")], "cells": [cell("throughput", 50, 48, 52, **scaled), cell("x", 50, **scaled)]},
        {"claims": [claim("C1")], "cells": [cell("throughput", 2000, 1900, 2100, **scaled), cell("x", 25)]},
    )
    table = comparison.estimates(a, b)
    assert only(table, metric="throughput")["ratio"] == pytest.approx(1)
    assert only(table, metric="x")["ratio"] == pytest.approx(0.5)


def test_a_factor_that_one_table_lacks_is_empty_there(both):
    a, b = both(
        {"claims": [claim("C1")], "cells": [cell("throughput", 50)]},
        {"claims": [claim("C1")], "cells": [{"experiment": "put-grid", "fabric": "10gbe", "clients": 3, "offloads": "",
                                             "metric": "throughput", "unit": "MB/s", "n": 1, "median": 50}]},
    )  # fmt: skip
    assert only(comparison.estimates(a, b), metric="throughput")["differs"] == "no"


# -- environment


def changed(**more):
    return copy.deepcopy(ENVIRONMENT) | more


def test_facts_are_flat_and_without_host_names():
    found = comparison.facts([ENVIRONMENT])
    assert found == {
        "machine / kernel": "6.1.0",
        "machine / processors": "2",
        "tools / java": "17.0.15",
        "tools / fio": "fio-3.33",
        "hosts / namenode": "1",
        "hosts / datanode": "2",
        "tcp / each host / tcp_rmem": "4096 131072",
        "offloads / rx-checksumming": "on",
        "offloads / tcp-segmentation-offload": "on",
    }


def test_facts_of_several_blocks_and_hosts_hold_every_value():
    other = changed(machine={"kernel": "6.6.0"})
    other["tcp"]["w2"]["tcp_rmem"] = "1 2"
    found = comparison.facts([ENVIRONMENT, other])
    assert found["machine / kernel"] == "6.1.0; 6.6.0"
    assert found["tcp / each host / tcp_rmem"] == "1 2; 4096 131072"


def test_environment_facts_side_by_side(both):
    other = changed(machine={"kernel": "6.6.0", "processors": 2}, tools={"java": "17.0.15", "hadoop": "3.5.0"})
    a, b = both({"claims": [claim("C1")]}, {"claims": [claim("C1")], "environment": other})
    table = compare_environments(a, b)
    assert tuple(table.columns) == comparison._ENVIRONMENT
    kernel = only(table, entry="machine / kernel")
    assert (kernel["a"], kernel["b"], kernel["agree"]) == ("6.1.0", "6.6.0", "no")
    assert only(table, entry="machine / processors")["agree"] == "yes"
    assert only(table, entry="tools / fio")["agree"] == "only in A"
    assert only(table, entry="tools / hadoop")["agree"] == "only in B"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


host_seen = st.fixed_dictionaries(dict.fromkeys(("name", "role", "address"), st.text(max_size=8)))
hosts_seen = st.lists(host_seen, max_size=3)


@given(st.fixed_dictionaries({"hosts": hosts_seen}, optional=dict.fromkeys(("machine", "tcp", "x"), json_values)))
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_facts_of_any_record_are_lines_of_text(record):
    found = comparison.facts([json.loads(json.dumps(record))])
    assert all("\n" not in value and value for value in found.values())
    assert found == comparison.facts([record, record])


# -- messages


def messages_of(a, b):
    return [line["message"] for line in comparison.messages(a, b)]


def test_alike_designs_have_no_messages(both):
    assert messages_of(*both({"claims": [claim("C1")]}, {"claims": [claim("C1", 9.0)]})) == []


def test_different_efforts_cells_and_runs(both):
    a, b = both(
        {"claims": [claim("C1")], "design": [run(block="smoke-1"), run("1gbe", block="smoke-1")]},
        {"claims": [claim("C1")], "design": [run(replicate=n) for n in range(10)] + [run(clients=1)]},
    )
    assert messages_of(a, b) == [
        "the effort is smoke in A, quick in B: runs differ in number, and may in bytes",
        "1 cell of the design only in A: put-grid 1gbe 3",
        "1 cell of the design only in B: put-grid 10gbe 1",
        "runs per cell: 1 in A, 10 in B",
    ]


def test_different_scales(both):
    a, b = both(
        {"claims": [claim("C1")]},
        {"claims": [claim("C1")], "scale": [SCALE | {"kind": "emulated", "k": 40, "data_fraction": 0.0134}]},
    )
    assert messages_of(a, b) == [
        "put-grid: kind of testbed ssh in A, emulated in B",
        "put-grid: k 1 in A, 40 in B",
        "put-grid: data fraction 1 in A, 0.0134 in B",
    ]


def test_claims_that_changed_and_records_that_lack(both):
    a, b = both(
        {"claims": [claim("C1"), claim("C2")], "environment": None},
        {"claims": [claim("C1", expected_low=3.0), claim("C3")], "design": ()},
    )
    assert messages_of(a, b) == [
        "no design in B, so efforts and cells cannot be compared",
        "1 claim only in A: C2",
        "1 claim only in B: C3",
        "claims that ask for something else in A than in B: C1",
        "no environment was recorded in A",
    ]
    assert compare_environments(a, b).empty


def test_a_paper_in_only_one(tmp_path, both):
    a, b = both({"claims": [claim("C1")]}, {"claims": [claim("C1")]})
    write(tmp_path / "b", "another-2026", [claim("C9")])
    b = load_results(tmp_path / "b")
    assert comparison.messages(a, b) == [{"paper": "another-2026", "message": "only in B, so not compared"}]
    assert set(comparison.verdicts(a, b)["paper"]) == {PAPER}


# -- the command


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with two results in it, as the current one; nothing is rendered."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.yaml").write_text("{}\n")
    write(tmp_path / "results" / "emulated", claims=[claim("C1", 4.0, 3.8, 4.2)])
    write(tmp_path / "results" / "site", claims=[claim("C1", 2.0, 1.9, 2.1, verdict="not reproduced")],
          design=[run(block="smoke-1")])  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "whitewire.report.compare.render_document",
        lambda qmd, results, output, formats, pages: [output / f"{qmd.stem}.html"],
    )
    return tmp_path


def test_a_page_leads_to_the_start_pages_that_there_are(project, monkeypatch):
    monkeypatch.setattr(reference, "reference_folder", lambda: project / "results" / "reference")
    sides = {name: project / "results" / name for name in ("mine", "reference", "bare")}
    sides["theirs"] = project / "results" / "opened" / "sent" / "results" / "lab & co"
    for folder in sides.values():
        folder.mkdir(parents=True)
    for opened in (sides["mine"], opened_folder("reference"), project / "results" / "opened" / "sent"):
        rebuild.start_page(opened).parent.mkdir(parents=True)
        rebuild.start_page(opened).touch()
    assert compare.start_pages(project / "results" / "compare" / "a-b", sides) == {
        "All papers of mine": "../../mine/reports/index.html",
        "All papers of reference": "../../opened/reference/reports/index.html",
        "All papers of theirs": "../../opened/sent/reports/index.html",
    }


@pytest.mark.parametrize("a", ["emulated", "results/emulated", "./results/emulated/"])
def test_the_command_writes_three_tables(project, capsys, a):
    assert main(["compare", a, str(project / "results" / "site")]) == 0
    target = project / "results" / "compare" / "emulated-site"
    assert sorted(path.name for path in target.iterdir()) == [
        "comparison.json", "environment.csv", "estimates.csv", "verdicts.csv"]  # fmt: skip
    table = pd.read_csv(target / "verdicts.csv")
    assert list(table["verdict_b"]) == ["not reproduced"]
    record = json.loads((target / "comparison.json").read_text())
    assert record["a"] == {"name": "emulated", "folder": "results/emulated"}
    assert record["papers"] == [PAPER]
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"{PAPER}: the effort is quick in A, smoke in B: runs differ in number, and may in bytes"
    assert said[-1] == str(target / "compare.html")


def refused(capsys, *argv):
    assert main(["compare", *argv]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    return lines[0].removeprefix("whitewire: error: ")


def test_what_the_user_can_put_right_is_one_line(project, capsys):
    assert refused(capsys, "emulted", "site") == (
        "A: found 'emulted', expected a path or a folder of results (emulated, site); did you mean \"emulated\"?"
    )
    assert refused(capsys, "emulated", "/no/such").startswith("B: found '/no/such', expected a path")
    assert refused(capsys, "emulated", "") == "B: found nothing, expected a folder of results, or a path"
    assert refused(capsys, "emulated", "config").startswith("B: found no <paper>/analysis/verdicts.csv in config")
    assert refused(capsys, "emulated", "results/emulated").startswith("A and B: found the same folder twice")
    write(project / "elsewhere", "another-2026", [claim("C1")])
    assert refused(capsys, "emulated", "elsewhere").endswith(
        "no paper in common, expected one or more (emulated has made-up-2026; elsewhere has another-2026)"
    )
    assert not (project / "results" / "compare").exists()


def test_folders_of_one_name_are_distinguished(project, capsys):
    write(project / "other" / "emulated", claims=[claim("C1", 4.0)])
    assert main(["compare", "emulated", "other/emulated"]) == 0
    assert (project / "results" / "compare" / "results_emulated-other_emulated" / "verdicts.csv").is_file()


def test_three_sites_are_pooled(project, capsys):
    write(project / "results" / "lab", claims=[claim("C1", 3.0, 2.9, 3.1)])
    assert main(["compare", "emulated", "site", "results/lab/"]) == 0
    target = project / "results" / "compare" / "emulated-site-lab"
    assert sorted(path.name for path in target.iterdir()) == ["pooled.csv", "pooled.json", "sites.csv"]
    (row,) = pd.read_csv(target / "pooled.csv").to_dict("records")
    assert row["sites"] == 3 and row["low"] < row["estimate"] < row["high"]
    assert list(pd.read_csv(target / "sites.csv")["site"]) == ["emulated", "site", "lab"]
    record = json.loads((target / "pooled.json").read_text())
    assert [site["folder"] for site in record["sites"]] == ["results/emulated", "results/site", "results/lab"]
    said = capsys.readouterr().out.splitlines()
    assert said == [
        f"{PAPER}: the effort is quick in emulated, smoke in site: runs differ in number, and may in bytes",
        f"{PAPER}: no valid run in tidy/runs.csv of emulated, site, lab: the same runs may be in another site too",
        f"{PAPER}: pooled over measured sites: 1 of 1 claims", str(target / "pooled.html"),
    ]  # fmt: skip


def test_a_paper_of_two_sites_is_enough_and_none_is_not(project, capsys):
    write(project / "elsewhere", "another-2026", [claim("C1")])
    write(project / "nowhere", "third-2026", [claim("C1")])
    assert main(["compare", "emulated", "site", "elsewhere"]) == 0
    capsys.readouterr()
    assert refused(capsys, "emulated", "elsewhere", "nowhere").startswith(
        "all 3 sites: found no paper in common, expected one or more (emulated has made-up-2026; elsewhere has another"
    )


def test_a_folder_of_many_sites_has_a_name_that_fits(project, tmp_path):
    folders = [str(write(tmp_path / f"a-long-name-of-a-site-{n}", claims=[claim("C1", 4.0)])) for n in range(9)]
    assert main(["compare", *folders]) == 0
    (made,) = (project / "results" / "compare").iterdir()
    assert len(made.name) == 129 and made.name.startswith("a-long-name-of-a-site-0-a-long-name-of-a-site-1-")


@pytest.mark.parametrize(
    "name, content, says",
    [
        ("analysis/verdicts.csv", "claim,verdict\nC1,reproduced\n", "line 1: found no column statement, expected one"),
        ("analysis/estimates.csv", "", "line 1: found no column experiment, expected one"),
        ("analysis/estimates.csv", None, "cannot be read"),
        ("raw/quick-1/environment.json", "{", "line 1: it ends, expected whole JSON"),
        ("raw/quick-1/environment.json", "[]", "found [], expected a mapping"),
        ("raw/quick-1/environment.json", '{"hosts": null}', "hosts: found null, expected a list"),
        ("raw/quick-1/environment.json", '{"hosts": [], "software": "x"}', 'software: found "x", expected a mapping'),
        ("raw/quick-1/environment.json", "[" * 100_000, "found no JSON that can be read, expected a record"),
    ],
)
def test_a_file_that_is_not_whole_is_named(project, capsys, name, content, says):
    path = project / "results" / "site" / PAPER / name
    path.unlink()
    if content is not None:
        path.write_text(content)
    line = refused(capsys, "emulated", "site")
    assert line.startswith(f"results/site/{PAPER}/{name}: ") and says in line


@pytest.mark.parametrize("at, name", [(PAPER + "/analysis", "verdicts.csv"), ("", PAPER + "/analysis/verdicts.csv")])
def test_tables_that_are_not_as_they_were_written_are_compared_with_nothing(project, capsys, at, name):
    """With the analysis' own manifest, and with one of all files, which the reference results have."""
    folder = project / "results" / "site" / at
    rewritten(folder)
    assert main(["compare", "emulated", "site"]) == 0
    capsys.readouterr()
    path = folder / name
    path.write_text(path.read_text().replace("reproduced", "not reproduced", 1))
    line = refused(capsys, "emulated", "site")
    assert f"results/site/{PAPER}/analysis/verdicts.csv: found " in line
