"""The start page: its counts are those of the verdict tables, and its filter works with mouse, keys and on paper."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.support import quick_yaml
from whitewire.analysis import claims
from whitewire.analysis.claims import Target
from whitewire.estimands.evidence import Evidence

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def verdicts(reports_dir: Path) -> list[dict[str, str]]:
    """The rows of every paper's verdicts.csv."""
    tables = sorted(reports_dir.parent.glob("*/analysis/verdicts.csv"))
    if not tables:
        pytest.skip("the results of these reports are not beside them")
    return [{**row, "paper": path.parent.parent.name} for path in tables for row in csv.DictReader(path.open())]


@pytest.fixture
def page(reports_dir: Path, browser):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    page = context.new_page()
    page.troubles = []
    page.on("pageerror", lambda error: page.troubles.append(str(error)))
    page.goto((reports_dir / "index.html").as_uri())
    yield page
    assert page.troubles == []
    context.close()


def shown_rows(page):
    return page.locator("#verdicts tbody tr:visible")


def test_the_table_holds_every_verdict(page, verdicts) -> None:
    rows = page.locator("#verdicts tbody tr")
    listed = rows.evaluate_all("rows => rows.map(r => [r.dataset.paper, r.cells[1].innerText, r.dataset.verdict])")
    assert [tuple(row) for row in listed] == [(row["paper"], row["claim"], row["verdict"]) for row in verdicts]
    assert page.inner_text("#shown") == f"{len(verdicts)} of {len(verdicts)} claims"


@pytest.mark.parametrize("column", ["paper", "verdict"])
def test_each_level_shows_as_many_rows_as_the_csv_has(page, verdicts, column: str) -> None:
    for level, count in Counter(row[column] for row in verdicts).items():
        page.select_option(f"#by-{column}", level)
        assert shown_rows(page).count() == count
        assert page.inner_text("#shown").startswith(f"{count} of {len(verdicts)} claims")


def test_the_routes_share_the_rows_out(page, verdicts) -> None:
    routes = page.locator("#by-route option").evaluate_all("o => o.map(x => x.value).filter(Boolean)")
    assert len(routes) == len({row["route"].replace("not_testable", "not testable here") for row in verdicts})
    found = 0
    for route in routes:
        page.select_option("#by-route", route)
        found += shown_rows(page).count()
    assert found == len(verdicts)


def test_filters_combine_and_reset(page, verdicts) -> None:
    first = verdicts[0]
    page.select_option("#by-paper", first["paper"])
    page.select_option("#by-verdict", first["verdict"])
    page.fill("#find", f"{first['claim'].lower()} {first['statement'].split()[0]}")
    assert shown_rows(page).count() >= 1
    assert first["claim"] in shown_rows(page).first.inner_text()
    page.fill("#find", "no claim has such words")
    assert shown_rows(page).count() == 0
    page.click("button[type=reset]")
    page.wait_for_function(f"document.getElementById('shown').innerText.startsWith('{len(verdicts)} of ')")
    assert shown_rows(page).count() == len(verdicts)


def test_the_filter_works_from_the_keyboard(page, verdicts) -> None:
    page.focus("#find")
    page.keyboard.type(verdicts[-1]["claim"])
    assert 1 <= shown_rows(page).count() < len(verdicts) or len(verdicts) == 1
    order = []
    for _ in range(5):
        page.keyboard.press("Tab")
        order.append(page.evaluate("document.activeElement.id || document.activeElement.className || 'button'"))
    assert order == ["by-paper", "by-verdict", "by-route", "button", "table-scroll"]
    page.focus("#find")
    page.keyboard.press("Enter")
    assert page.url.partition("#")[0].endswith("index.html")


def test_print_shows_the_chosen_rows_without_controls(page, verdicts) -> None:
    verdict, count = Counter(row["verdict"] for row in verdicts).most_common(1)[0]
    page.select_option("#by-verdict", verdict)
    page.emulate_media(media="print")
    assert shown_rows(page).count() == count
    assert not page.is_visible("form.filters")
    assert page.is_visible("#shown")
    assert verdict in page.inner_text("#shown")


def test_without_scripts_every_row_is_there(reports_dir: Path, browser, verdicts) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto((reports_dir / "index.html").as_uri())
    assert shown_rows(page).count() == len(verdicts)
    assert not page.is_visible("form.filters")
    context.close()


def test_every_described_paper_has_a_card(page, reports_dir: Path, verdicts) -> None:
    judged = {row["paper"] for row in verdicts}
    described = {path.stem for path in (ROOT / "config" / "papers").glob("*.yaml")}
    assert page.locator(".card").count() == len(described | judged)
    for paper in described | judged:
        card = page.locator(f".card#paper-{paper}, .card:has(#paper-{paper})")
        if paper in judged and (reports_dir / f"{paper}.html").is_file():
            assert card.locator(f"a[href='{paper}.html']").count() == 1
            assert card.locator(f"a[href='{paper}.pdf']").count() == 1
        if paper not in judged:
            assert "Not run yet" in card.inner_text()


def test_a_card_names_the_finding_of_its_paper(page, verdicts) -> None:
    """The claim that the YAML names, once decided; else a claim that does not hold if there is such a claim."""
    for paper in {row["paper"] for row in verdicts}:
        description = quick_yaml.load((ROOT / "config" / "papers" / f"{paper}.yaml").read_text())
        claims = {row["claim"]: row["verdict"] for row in verdicts if row["paper"] == paper}
        text = page.inner_text(f".card#paper-{paper}, .card:has(#paper-{paper})")
        named = description.get("finding")
        if headline := description.get("headline"):
            assert headline in text
        if named and claims[named] not in ("inconclusive", "not testable here"):
            assert f"({named})" in text or named == headline
            continue
        results = [verdict for claim, verdict in claims.items() if f"({claim})" in text]
        if {"not reproduced", "inconsistent"} & set(claims.values()):
            assert len(results) == 1 or claims.get(headline) in ("not reproduced", "inconsistent")
            assert not results or results[0] in ("not reproduced", "inconsistent")


def test_a_card_counts_the_controls_of_its_paper(page, reports_dir: Path, verdicts) -> None:
    for paper in {row["paper"] for row in verdicts}:
        table = reports_dir.parent / paper / "analysis" / "controls.csv"
        by_control: dict[str, set[str]] = {}
        for row in csv.DictReader(table.open()) if table.is_file() else ():
            if row["kind"] != "pooled":  # all of them together
                by_control.setdefault(row["control"], set()).add(row["outcome"])
        # A control with several metrics is one: it failed if any failed, and held if any held.
        worst = (next(each for each in ("failed", "held", "open") if each in seen) for seen in by_control.values())
        outcomes = Counter(worst)
        text = page.inner_text(f".card#paper-{paper}, .card:has(#paper-{paper})")
        if not outcomes:
            assert "Controls: none" in text
            continue
        assert f"Controls: {outcomes['held']} of {outcomes.total()} held" in text
        assert (f"{outcomes['failed']} failed" in text) == (outcomes["failed"] > 0)


def test_a_heading_sorts_and_the_address_keeps_the_filter(page, verdicts) -> None:
    heading = page.locator("#verdicts th", has_text="Verdict")
    for order in ("ascending", "descending"):
        heading.locator("button").click()
        assert heading.get_attribute("aria-sort") == order
        texts = page.locator("#verdicts tbody td:nth-child(4) .badge").all_text_contents()
        assert texts == sorted(texts, reverse=order == "descending")
    page.locator("#verdicts th", has_text="Estimate").locator("button").click()
    texts = page.locator("#verdicts tbody td:nth-child(5)").all_text_contents()
    numbers = [float(found[0].replace("\u2212", "-").replace(",", "")) for text in texts
               if (found := re.search("[-\u2212]?[0-9][0-9.,]*", text))]  # fmt: skip
    assert numbers == sorted(numbers)
    verdict, count = Counter(row["verdict"] for row in verdicts).most_common(1)[0]
    page.select_option("#by-verdict", verdict)
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    assert shown_rows(page).count() == count and page.locator("#by-verdict").input_value() == verdict


def number(text: str) -> float | None:
    return float(text) if text else None


def by_rule(row: dict[str, str], none: float | None, lower: float, upper: float) -> str:
    """The verdict that a page shows, by the rule in Python."""
    estimate, low, high, expected = (number(row[name]) for name in ("estimate", "low", "high", "expected"))
    evidence = Evidence("runs", estimate, low, high, int(float(row["n"])))
    target = Target("within", expected, lower, upper, none)
    asked = {"relation": "within", "expected": expected, "no_effect": none}
    verdict, _ = claims.corrected(claims.decide(target, evidence).verdict, "", asked, number(row["p_holm"]))
    if verdict != claims.DIRECTION:
        return verdict
    return "more than claimed" if (estimate > upper if target.sign > 0 else estimate < lower) else "less than claimed"


def test_the_tolerance_slider_judges_by_the_rule(page, verdicts) -> None:
    tests = {
        claim["id"]: claim["test"]
        for paper in {row["paper"] for row in verdicts}
        for claim in quick_yaml.load((ROOT / "config" / "papers" / f"{paper}.yaml").read_text())["claims"]
    }
    sized = {
        row["claim"]: row for row in verdicts if row["low"] and row["route"] in ("emulated", "measured")
        and row["relation"] == "within" and row["asks"] == "size"
    }  # fmt: skip
    ruled_rows = page.locator("#verdicts tr[data-rule]")

    def shown() -> list[tuple[str, str, str]]:
        """Claim, verdict and what the slider says of each."""
        return ruled_rows.evaluate_all(
            "rows => rows.map(r => [r.cells[1].innerText, r.querySelector('.badge').innerText, "
            "r.querySelector('.flip').textContent])"
        )

    assert ruled_rows.count() == len(sized)
    none = {claim: tests[claim].get("no_effect") for claim in sized}
    bounds = {claim: [float(row["expected_low"]), float(row["expected_high"])] for claim, row in sized.items()}
    badges = {claim: badge for claim, badge, _ in shown()}
    ruled = {claim for claim, row in sized.items() if by_rule(row, none[claim], *bounds[claim]) == badges[claim]}
    flips = Counter()
    for percent in range(5, 51, 5):
        page.locator("#tolerance").evaluate(
            "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input')); }", str(percent)
        )
        for claim, badge, said in shown():
            assert badge == badges[claim], "the registered verdict stays"
            expected = float(sized[claim]["expected"])
            half = abs(expected) * percent / 100
            right = by_rule(sized[claim], none[claim], expected - half, expected + half)
            if percent == 5 or claim not in ruled or right == badges[claim]:
                assert said == ""
            else:
                assert said == f"at ±{percent} %: {right}"
                flips[percent] += 1
        if percent > 5 and ruled:
            text = page.inner_text("#flips")
            assert text.startswith(f"±{percent} %: {flips[percent]} of {len(ruled)} have another verdict")


def test_a_piece_of_a_bar_leads_to_its_claims(page, verdicts) -> None:
    drawn = page.locator("svg.strip a")
    assert sum(int(text) for text in drawn.locator("text").all_text_contents()) == len(verdicts)
    piece = page.locator(".strip a").first
    paper = piece.get_attribute("href").partition("paper=")[2].partition("&")[0]
    piece.click()
    page.wait_for_function("document.getElementById('by-paper').value !== ''")
    chosen = page.locator("#by-paper").input_value(), page.locator("#by-verdict").input_value()
    assert chosen[0] == paper and chosen in {(row["paper"], row["verdict"]) for row in verdicts}
    assert shown_rows(page).count() == sum((row["paper"], row["verdict"]) == chosen for row in verdicts)


def test_the_legend_leads_to_the_claims_of_a_verdict(page, verdicts) -> None:
    counts = Counter(row["verdict"] for row in verdicts)
    chips = page.locator(".legend a")
    words = {verdict: verdict.replace("direction only", "more or less than claimed") for verdict in counts}
    assert sorted(chips.all_text_contents()) == sorted(f"{count} {words[verdict]}" for verdict, count in counts.items())
    for chip in chips.all():
        chip.click()
        count, _, word = chip.inner_text().partition(" ")
        page.wait_for_function(f"document.getElementById('shown').innerText.includes(': {word}')")
        assert shown_rows(page).count() == int(count)
        assert words[page.locator("#by-verdict").input_value()] == word
