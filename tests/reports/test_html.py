"""The reports in a browser, offline: whole, quiet, and without anything unresolved."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support import quick_yaml
from whitewire.report import provenance

ROOT = Path(__file__).resolve().parents[2]
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1800)]  # the first hour is its first set-up


class Opened:
    """A page with what the browser complained about while it loaded."""

    def __init__(self, browser, path: Path, size: tuple[int, int] = SIZES["desktop"], scheme: str = "light",
                 folded: bool = False) -> None:  # fmt: skip
        self.troubles: list[str] = []
        self.requests: list[str] = []
        width, height = size
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, offline=True)
        self.page = context.new_page()
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("requestfailed", lambda request: self.troubles.append(f"failed: {request.url[:120]}"))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        if not folded:
            self.page.evaluate("document.querySelectorAll('details.section').forEach(part => { part.open = true; })")

    def _console(self, message) -> None:
        if message.type in ("error", "warning"):
            self.troubles.append(message.text)


@pytest.fixture(scope="module")
def page_of(browser) -> Callable[[Path], Opened]:
    """Opens a page, once for all tests that only look at it."""
    return cache(partial(Opened, browser))


def pages(reports_dir: Path) -> list[Path]:
    return sorted(reports_dir.glob("*.html"))


def description(paper: Path) -> dict:
    return quick_yaml.load((ROOT / "config" / "papers" / f"{paper.stem}.yaml").read_text())


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_pages_load_quietly_and_fit(reports_dir: Path, browser, size: str, scheme: str) -> None:
    for path in pages(reports_dir):
        opened = Opened(browser, path, SIZES[size], scheme)
        assert opened.troubles == [], path.name
        wide = opened.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= SIZES[size][0], f"{path.name} scrolls sideways"
        captions = opened.page.evaluate(
            "Array.from(document.querySelectorAll('caption')).filter(e => e.offsetParent).map(e => e.clientWidth)"
        )
        assert all(width > 300 for width in captions), f"{path.name}: a caption is set in a narrow column"
        opened.page.context.close()


def test_nothing_is_fetched(reports_dir: Path, page_of) -> None:
    for path in pages(reports_dir):
        opened = page_of(path)
        others = [url for url in opened.requests if not url.startswith(("data:", path.as_uri()))]
        assert others == [], path.name


def test_figures_are_whole_and_described(reports_dir: Path, page_of) -> None:
    for path in pages(reports_dir):
        opened = page_of(path)
        figures = opened.page.evaluate(
            "Array.from(document.querySelectorAll('figure svg, figure img'))"
            ".map(e => [e.tagName, e.getBoundingClientRect().height, (e.getAttribute('aria-label') || '').length])"
        )
        assert figures, path.name
        assert all(tag == "svg" and height > 50 and described for tag, height, described in figures), path.name
        assert opened.page.evaluate("document.images.length") == 0


def test_each_figure_has_data_code_and_rule_one_click_away(papers: list[Path], page_of) -> None:
    for path in papers:
        opened = page_of(path)
        lines = opened.page.locator("figure + .provenance")
        assert lines.count() == opened.page.locator("figure").count() > 0
        for line in lines.all():
            led = [link.get_attribute("href") for link in line.locator("a").all()]
            figure = line.locator("xpath=preceding-sibling::figure[1]")
            if line.inner_text().startswith(provenance.NO_DATA):
                # Its drawing is one line or two that say so, and nothing else.
                assert "not measured" in figure.locator("svg").text_content().lower()
                assert figure.locator("svg :is(circle, polyline, polygon, line, .run)").count() == 0
            else:
                assert led[0].startswith("data:text/csv;base64,"), figure.get_attribute("id")
            codes = [href for href in led if href.startswith("#code-")]
            assert codes and led[-1] == "#rule-paper"
            for anchor in (*codes, led[-1]):
                assert opened.page.locator(f"[id='{anchor[1:]}'] ~ pre").first.inner_text().strip()


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="needs pdftotext (poppler-utils)")
def test_a_printed_page_names_the_files_of_its_data(papers: list[Path], browser, tmp_path: Path) -> None:
    opened = Opened(browser, papers[0])
    links = opened.page.locator("main a.data-link")
    files = {link.get_attribute("data-file") for link in links.all()}
    opened.page.pdf(path=tmp_path / "page.pdf")
    opened.page.context.close()
    said = subprocess.run(["pdftotext", tmp_path / "page.pdf", "-"], capture_output=True, text=True, check=True).stdout
    joined = "".join(said.split())
    assert len(files) > 5 and [file for file in files if file not in joined] == []


def test_a_point_says_which_run_it_is(papers: list[Path], page_of) -> None:
    for path in papers:
        known = set()
        design = path.parents[1] / path.stem / "design.csv"
        if design.is_file():
            known = {row["run_id"] for row in csv.DictReader(design.open())}
        opened = page_of(path)
        titles = opened.page.locator("figure svg .run:not([data-href]) > title").all_text_contents()
        assert titles and "[[run" not in opened.page.content()
        for title in titles:
            said = r"(valid|invalid: .+?)"  # a run may be made again: its attempts are named together
            run = re.fullmatch(rf"run (\S+), block \S+: (attempt \d+ )?{said}(; attempt \d+ {said})*", title)
            assert run and (not known or run[1] in known), title


def test_a_point_is_chosen_with_keys_and_by_click(papers: list[Path], browser) -> None:
    opened = Opened(browser, papers[0])
    figure = opened.page.locator("figure:has(.run:not([data-href]))").first
    titles = figure.locator(".run > title").all_text_contents()
    figure.locator("svg").focus()
    for expected in titles[:2]:
        opened.page.keyboard.press("ArrowRight")
        assert figure.locator(".chosen-run").inner_text() == expected
    opened.page.keyboard.press("Escape")
    assert figure.locator(".chosen-run").inner_text() == ""
    figure.locator(".run > circle").last.dispatch_event("click")
    assert figure.locator(".chosen-run").inner_text() == titles[-1]
    assert opened.troubles == []
    opened.page.context.close()


def test_a_point_of_the_ruler_leads_to_its_claim(reports_dir: Path, papers: list[Path], browser) -> None:
    for path in (papers[0], reports_dir / "index.html"):
        opened = Opened(browser, path)
        figure = opened.page.locator("#fig-ruler")
        point = figure.locator(".run[data-href]").first
        address, text = point.get_attribute("data-href"), point.locator("title").text_content()
        assert address.partition("#")[0] in {"", *(paper.name for paper in papers)}
        assert text.startswith(address.partition("#claim-")[2]) and "claimed " in text
        figure.locator("svg").focus()
        opened.page.keyboard.press("ArrowRight")
        assert figure.locator(".chosen-run").inner_text() == text
        opened.page.keyboard.press("Enter")
        opened.page.wait_for_function("location.hash.startsWith('#claim-')", timeout=5000)
        assert opened.page.locator(f"[id='{address.partition('#')[2]}']").count() == 1
        assert opened.troubles == []
        opened.page.context.close()


def test_a_report_opens_with_the_answer_to_its_title(papers: list[Path], browser) -> None:
    for path in papers:
        opened = Opened(browser, path)
        headline = description(path)["headline"]
        first = opened.page.locator(".summary p").first
        assert first.locator(f"a[href='#claim-{headline}']").count() == 1
        assert first.locator(".badge").count() == 1
        opened.page.context.close()


def test_a_report_is_short_until_a_part_is_asked_for(papers: list[Path], browser) -> None:
    for path in papers:
        heights = []
        for folded in (True, False):
            opened = Opened(browser, path, folded=folded)
            heights.append(opened.page.evaluate("document.documentElement.scrollHeight"))
            parts = opened.page.locator("main > h2:not(.unnumbered)")
            shown = ["sec-summary", "sec-paper", "sec-verdicts"]
            assert opened.page.locator("details.section").count() == parts.count() - len(shown)
            if folded:
                anchor = opened.page.locator("details.section h3[id]").first.get_attribute("id")
                opened.page.evaluate(f"location.hash = '{anchor}'")
                opened.page.locator(f"details.section[open] [id='{anchor}']").wait_for(timeout=5000)
            opened.page.context.close()
        assert heights[0] < heights[1] / 2, path.name


def test_every_verdict_is_one_click_away_without_javascript(reports_dir: Path, papers, browser) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    for paper in papers:
        claims = [claim["id"] for claim in description(paper)["claims"]]
        page.goto((reports_dir / "index.html").as_uri())
        links = page.locator(f"#verdicts a[href^='{paper.name}#claim-']")
        assert [text.strip() for text in links.all_inner_texts()] == claims
        for claim in claims[:: max(1, len(claims) // 5)]:
            page.goto((reports_dir / "index.html").as_uri())
            page.locator(f"#verdicts a[href='{paper.name}#claim-{claim}']").click()
            row = page.locator(f"tr:has([id='claim-{claim}'])")
            row.wait_for(timeout=5000)
            assert claim in row.inner_text()
    context.close()


def test_a_wide_table_scrolls_with_keys_and_has_a_name(reports_dir: Path, page_of) -> None:
    for path in pages(reports_dir):
        opened = page_of(path)
        for table in opened.page.locator(".table-scroll").all():
            assert (table.get_attribute("tabindex"), table.get_attribute("role")) == ("0", "region"), path.name
            assert table.get_attribute("aria-label"), path.name


def test_a_fold_opens_for_what_is_in_it_and_for_printing(papers: list[Path], browser) -> None:
    for path in papers:
        opened = Opened(browser, path)
        folded = opened.page.locator("details.fold:not(.why) [id^='claim-']")
        if folded.count():
            claim = folded.first.get_attribute("id")
            opened.page.evaluate(f"location.hash = '{claim}'")
            opened.page.locator(f"details.fold[open] [id='{claim}']").wait_for(timeout=5000)
        shut = opened.page.locator("details.fold:not([open])").count()
        assert shut > 0
        opened.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert opened.page.locator("details.fold:not([open])").count() == 0
        opened.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        assert opened.page.locator("details.fold:not([open])").count() == shut
        assert opened.troubles == []
        opened.page.context.close()


def test_each_claim_says_why_it_is_judged_so(papers: list[Path], page_of) -> None:
    for path in papers:
        opened = page_of(path)
        claims = {claim["id"]: claim["why"] for claim in description(path)["claims"]}
        for claim, why in claims.items():
            reason = opened.page.locator(f"tr:has([id='claim-{claim}']) details.why").text_content()
            words = [re.findall(r"\w+", text) for text in (reason.removeprefix("Why so"), why)]
            assert words[0][:6] == words[1][:6]


def test_each_claim_that_runs_judge_has_its_command_to_copy_and_each_a_badge(papers: list[Path], browser) -> None:
    for path in papers:
        opened = Opened(browser, path)
        opened.page.evaluate(
            "Object.defineProperty(navigator, 'clipboard', "
            "{ value: { writeText: (text) => { window.copied = text; return Promise.resolve(); } } })"
        )
        routes = {row["claim"]: row["route"] for row in csv.DictReader(
            (path.parents[1] / path.stem / "analysis" / "verdicts.csv").open())}  # fmt: skip
        by_runs = [claim for claim, route in routes.items() if route in ("emulated", "measured")]
        commands = opened.page.locator(".make > code").all_text_contents()
        assert sorted(commands) == sorted(f"make claim CLAIM={claim}" for claim in by_runs), path.name
        assert opened.page.locator(".copy").count() == len(by_runs) + len(routes)  # none at the citations of sources
        for claim in by_runs[:1]:
            button = opened.page.locator(f"tr:has([id='claim-{claim}']) .make .copy")
            assert button.get_attribute("aria-label") == f"Copy make claim CLAIM={claim}"
            button.click()
            assert opened.page.evaluate("window.copied") == f"make claim CLAIM={claim}"
            assert button.inner_text() == "Copied"
        badges = opened.page.locator("details.cite a").evaluate_all("links => links.map(a => a.getAttribute('href'))")
        assert sorted(badges) == sorted(f"badges/{path.stem}/{claim}.svg" for claim in routes)
        for claim in routes:
            drawn = ElementTree.parse(path.parent / "badges" / path.stem / f"{claim}.svg").getroot()
            assert drawn.get("aria-label").startswith(f"{claim}: ")
            cited = opened.page.locator(f"tr:has([id='claim-{claim}']) .citation").text_content()
            assert f": claim {claim} of " in cited
        assert opened.troubles == []
        opened.page.context.close()


def test_every_page_leads_to_all_papers_and_to_each(reports_dir: Path, papers: list[Path], page_of) -> None:
    for path in pages(reports_dir):
        links = page_of(path).page.locator("nav.home a")
        if path.name != "index.html":
            first, *others = links.all_inner_texts()
            assert first == "All papers" and {paper.stem for paper in papers} - {path.stem} <= {*others}, path.name
            assert path.stem not in others
        for link in links.all():
            name, _, card = link.get_attribute("href").partition("#")
            assert (reports_dir / name).is_file()
            assert not card or page_of(reports_dir / name).page.locator(f"[id='{card}']").count() == 1


def test_a_claim_that_is_clicked_copies_its_address(papers: list[Path], browser) -> None:
    opened = Opened(browser, papers[0])
    opened.page.evaluate(
        "Object.defineProperty(navigator, 'clipboard', "
        "{ value: { writeText: (text) => { window.copied = text; return Promise.resolve(); } } })"
    )
    claim = opened.page.locator("#tbl-verdicts .claim").first
    claim.locator("a.anchor").click()
    assert claim.locator("[role=status]").inner_text() == "Address copied"
    assert opened.page.evaluate("window.copied") == f"{papers[0].as_uri()}#{claim.get_attribute('id')}"
    assert opened.troubles == []
    opened.page.context.close()


def test_on_paper_figures_name_their_sources(papers: list[Path], browser) -> None:
    opened = Opened(browser, papers[0])
    opened.page.emulate_media(media="print")
    assert opened.page.locator("figure + .provenance").first.is_visible()
    assert "workflow/rules/paper.smk" in opened.page.locator("figure + .provenance").first.inner_text()
    assert not opened.page.locator("#sources").is_visible()
    opened.page.context.close()


def test_references_resolve(reports_dir: Path, page_of) -> None:
    for path in pages(reports_dir):
        opened = page_of(path)
        text = opened.page.inner_text("main")
        assert not re.search(r"\?\?|@(?:fig|tbl|sec)-|\?@", text), path.name
        assert not re.search(r"\bNA\b|\bNaN\b|\bNULL\b|\bInf\b", text), path.name
        dangling = opened.page.evaluate(
            "Array.from(document.querySelectorAll('a[href^=\"#\"]'))"
            ".map(a => a.getAttribute('href').slice(1))"
            ".filter(id => !id.includes('=') && !document.getElementById(decodeURIComponent(id)))"
        )
        assert dangling == [], path.name


def test_every_exhibit_has_its_heading(papers: list[Path], page_of) -> None:
    for path in papers:
        opened = page_of(path)
        for exhibit in description(path)["exhibits"]:
            heading = opened.page.locator(f"#sec-{exhibit['id']}")
            assert heading.count() == 1, f"{path.name}: {exhibit['id']}"
            assert re.fullmatch(r"H[2-4]", heading.evaluate("e => e.tagName"))


def test_every_claim_has_its_verdict(papers: list[Path], page_of) -> None:
    for path in papers:
        opened = page_of(path)
        rows = opened.page.locator("#tbl-verdicts tbody tr, #tbl-untestable tbody tr")
        claims = [claim["id"] for claim in description(path)["claims"]]
        shown = [row.split()[0] for row in rows.all_text_contents()]
        assert sorted(shown) == sorted(claims)
        tested = opened.page.locator("#tbl-verdicts tbody tr")
        assert opened.page.locator("#tbl-verdicts tbody .badge").count() == tested.count()


def test_exhibits_lead_to_their_claims_and_back(papers: list[Path], page_of) -> None:
    for path in papers:
        opened = page_of(path)
        rests = {claim["id"]: claim["exhibits"] for claim in description(path)["claims"]}
        exhibits = {name for names in rests.values() for name in names if opened.page.locator(f"#sec-{name}").count()}
        assert exhibits
        for name in exhibits:
            line = opened.page.locator(f"#sec-{name} ~ .claims, #sec-{name} + .claims").first
            led = {link.get_attribute("href") for link in line.locator("a").all()}
            assert led == {f"#claim-{claim}" for claim, names in rests.items() if name in names}
            for anchor in led:
                assert opened.page.locator(f'{anchor} a[href="#sec-{name}"]').count() == 1


def test_figures_say_what_they_are(papers: list[Path], page_of) -> None:
    for path in papers:
        opened = page_of(path)
        captions = opened.page.locator("figcaption").all_inner_texts()
        numbers = [int(re.match(r"Figure\s(\d+):", caption).group(1)) for caption in captions]
        assert numbers == list(range(1, len(numbers) + 1))
        # Words, and not the code that makes them.
        assert not [caption for caption in captions if re.match(r"Figure\s\d+:\s[\w.]+(\$\w+|\(.*\))$", caption)]


def test_data_can_be_downloaded(papers: list[Path], page_of) -> None:
    for path in papers:
        opened = page_of(path)
        links = opened.page.locator("a.data-link")
        assert links.count() >= 5
        for link in links.all():
            assert link.get_attribute("href").startswith("data:text/csv;base64,")
            file = link.get_attribute("data-file")
            assert (path.parent / file).is_file(), file
