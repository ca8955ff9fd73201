"""The reports in a browser, offline: whole, quiet, and without anything unresolved."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}

pytestmark = pytest.mark.browser


class Opened:
    """A page with what the browser complained about while it loaded."""

    def __init__(self, browser, path: Path, size: tuple[int, int] = SIZES["desktop"], scheme: str = "light"):
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

    def _console(self, message) -> None:
        if message.type in ("error", "warning"):
            self.troubles.append(message.text)


def pages(reports_dir: Path) -> list[Path]:
    return sorted(reports_dir.glob("*.html"))


def description(paper: Path) -> dict:
    return yaml.safe_load((ROOT / "config" / "papers" / f"{paper.stem}.yaml").read_text())


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_pages_load_quietly_and_fit(reports_dir: Path, browser, size: str, scheme: str) -> None:
    for path in pages(reports_dir):
        opened = Opened(browser, path, SIZES[size], scheme)
        assert opened.troubles == [], path.name
        wide = opened.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= SIZES[size][0], f"{path.name} scrolls sideways"
        opened.page.context.close()


def test_nothing_is_fetched(reports_dir: Path, browser) -> None:
    for path in pages(reports_dir):
        opened = Opened(browser, path)
        others = [url for url in opened.requests if not url.startswith(("data:", path.as_uri()))]
        assert others == [], path.name
        opened.page.context.close()


def test_images_are_whole_and_described(reports_dir: Path, browser) -> None:
    for path in pages(reports_dir):
        opened = Opened(browser, path)
        images = opened.page.evaluate(
            "Array.from(document.images).map(i => [i.complete && i.naturalWidth > 0, i.alt.trim().length])"
        )
        assert images, path.name
        assert all(whole and described for whole, described in images), path.name
        opened.page.context.close()


def test_references_resolve(reports_dir: Path, browser) -> None:
    for path in pages(reports_dir):
        opened = Opened(browser, path)
        text = opened.page.inner_text("main")
        assert not re.search(r"\?\?|@(?:fig|tbl|sec)-|\?@", text), path.name
        assert not re.search(r"\bNA\b|\bNaN\b|\bNULL\b|\bInf\b", text), path.name
        dangling = opened.page.evaluate(
            "Array.from(document.querySelectorAll('a[href^=\"#\"]'))"
            ".map(a => a.getAttribute('href').slice(1))"
            ".filter(id => !document.getElementById(decodeURIComponent(id)))"
        )
        assert dangling == [], path.name
        opened.page.context.close()


def test_every_exhibit_has_its_heading(papers: list[Path], browser) -> None:
    for path in papers:
        opened = Opened(browser, path)
        for exhibit in description(path)["exhibits"]:
            heading = opened.page.locator(f"#sec-{exhibit['id']}")
            assert heading.count() == 1, f"{path.name}: {exhibit['id']}"
            assert re.fullmatch(r"H[2-4]", heading.evaluate("e => e.tagName"))
        opened.page.context.close()


def test_every_claim_has_its_verdict(papers: list[Path], browser) -> None:
    for path in papers:
        opened = Opened(browser, path)
        rows = opened.page.locator("#tbl-verdicts tbody tr, #tbl-untestable tbody tr")
        claims = [claim["id"] for claim in description(path)["claims"]]
        shown = [row.split()[0] for row in rows.all_text_contents()]
        assert sorted(shown) == sorted(claims)
        tested = opened.page.locator("#tbl-verdicts tbody tr")
        assert opened.page.locator("#tbl-verdicts tbody .badge").count() == tested.count()
        opened.page.context.close()


def test_exhibits_lead_to_their_claims_and_back(papers: list[Path], browser) -> None:
    for path in papers:
        opened = Opened(browser, path)
        rests = {claim["id"]: claim["exhibits"] for claim in description(path)["claims"]}
        exhibits = {name for names in rests.values() for name in names if opened.page.locator(f"#sec-{name}").count()}
        assert exhibits
        for name in exhibits:
            line = opened.page.locator(f"#sec-{name} ~ .claims, #sec-{name} + .claims").first
            led = {link.get_attribute("href") for link in line.locator("a").all()}
            assert led == {f"#claim-{claim}" for claim, names in rests.items() if name in names}
            for anchor in led:
                assert opened.page.locator(f'{anchor} a[href="#sec-{name}"]').count() == 1
        opened.page.context.close()


def test_figures_say_what_they_are(papers: list[Path], browser) -> None:
    for path in papers:
        opened = Opened(browser, path)
        captions = opened.page.locator("figcaption").all_inner_texts()
        numbers = [int(re.match(r"Figure\s(\d+):", caption).group(1)) for caption in captions]
        assert numbers == list(range(1, len(numbers) + 1))
        opened.page.context.close()


def test_data_can_be_downloaded(papers: list[Path], browser) -> None:
    for path in papers:
        opened = Opened(browser, path)
        links = opened.page.locator("a.data-link")
        assert links.count() >= 5
        for link in links.all():
            assert link.get_attribute("href").startswith("data:text/csv;base64,")
            file = link.get_attribute("data-file")
            assert (path.parent / file).is_file(), file
        opened.page.context.close()


def test_the_start_page_filters(reports_dir: Path, papers: list[Path], browser) -> None:
    opened = Opened(browser, reports_dir / "index.html")
    rows = opened.page.locator("#verdicts tbody tr")
    total = rows.count()
    assert total == sum(len(description(path)["claims"]) for path in papers)
    opened.page.fill("#find", "no claim has such words")
    assert opened.page.locator("#verdicts tbody tr:visible").count() == 0
    assert opened.page.inner_text("#shown").startswith("0 of ")
    opened.page.fill("#find", "")
    verdict = opened.page.locator("#by-verdict option").nth(1).inner_text()
    opened.page.select_option("#by-verdict", verdict)
    visible = opened.page.locator("#verdicts tbody tr:visible")
    assert 0 < visible.count() <= total
    assert set(visible.locator(".badge").all_inner_texts()) == {verdict}
    for path in papers:
        assert opened.page.locator(f"a[href='{path.name}']").count() >= 1
        assert (reports_dir / f"{path.stem}.pdf").is_file()
    opened.page.context.close()
