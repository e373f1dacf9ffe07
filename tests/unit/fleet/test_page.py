"""The fleet's page in a real browser, with a thousand machines."""

from __future__ import annotations

import shlex
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tinyude.fleet.result import FleetResult
from tinyude.fleet.store import Store, report_path

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def address(changed_fleet: FleetResult, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "fleet.html"
    changed_fleet.to_html(path)
    return path.as_uri()


def opened(browser: Any, address: str, width: int = 1400, scheme: str = "light") -> tuple[Any, list[str]]:
    """The page, and everything that went wrong on it or was asked of the network."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: None if request.url == address else troubles.append(request.url))
    page.goto(address)
    page.wait_for_selector("#machines tbody tr")
    return page, troubles


def first(page: Any) -> str:
    return str(page.inner_text("#machines tbody tr:first-child td:first-child"))


@needs_browser
def test_page_shows_states_and_reasons(browser: Any, address: str, changed_fleet: FleetResult) -> None:
    page, troubles = opened(browser, address)
    states = Counter(state for state, _ in changed_fleet.states.values())
    shown = [tile.split("\n")[1] for tile in page.locator(".tile").all_inner_texts()]
    assert shown == [str(states[state]) for state in ("act", "watch", "healthy", "silent")]
    assert states["act"] == 4 and states["silent"] == 2
    assert first(page) == "arm-0214"
    assert page.locator("#cards .card").count() == 1001 - states["healthy"]
    assert page.locator("#plane circle").count() > 990
    assert page.locator("#plane rect").count() > 15 and page.locator("#machines .health").count() == 24
    assert page.locator("#machines tbody tr").count() == 25 and "25 of 1,001" in page.inner_text("#range")
    assert not troubles


@needs_browser
def test_page_sorts_filters_and_pages(browser: Any, address: str) -> None:
    page, troubles = opened(browser, address)
    page.click("th button[data-sort=name]")
    assert first(page) == "arm-0000"
    page.click("th button[data-sort=name]")
    assert first(page) == "arm-1000"
    page.select_option("#quantity", label="coefficient of omega")
    page.click("th button[data-sort=against]")
    page.click("th button[data-sort=against]")
    assert first(page) == "arm-0214" and page.locator("th[aria-sort=descending]").count() == 1
    page.fill("#find", "stepped")
    assert page.inner_text("#count").startswith("1 of 1,001") and first(page) == "arm-0087"
    page.fill("#find", "")
    page.select_option("select[data-label=site]", "Lyon")
    assert "333 of 1,001" in page.inner_text("#count") or "334 of 1,001" in page.inner_text("#count")
    page.click("#next")
    assert page.inner_text("#range").split()[0].endswith("50")
    page.click(".tile[data-state=healthy]")
    assert page.locator("#machines .badge.s-act").count() == 0
    assert not troubles


@needs_browser
def test_page_opens_a_machine_and_tells_how_to_make_its_report(browser: Any, address: str) -> None:
    page, troubles = opened(browser, address)
    page.click("#machines tbody tr:first-child .open")
    assert "tinyude report models/arm-0214/11.tinyude" in page.inner_text("#detail")
    assert page.locator("#detail svg").count() >= 5
    page.keyboard.press("Escape")
    assert not page.locator("#detail").is_visible() and not troubles


@needs_browser
def test_page_tells_a_command_that_finds_the_model_from_anywhere(browser: Any, tmp_path: Path) -> None:
    from .conftest import fleet_rows

    place = tmp_path / "my fleet"
    FleetResult(fleet_rows(2, 1), Store(str(place))).write()
    page, troubles = opened(browser, (place / "fleet.html").as_uri())
    page.click("#machines .open")
    words = shlex.split(page.inner_text("#detail pre"))
    assert words[:3] == ["tinyude", "report", f"{place}/models/arm-0000/0.tinyude"] and not troubles


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_page_fits_screens_and_keeps_contrast(browser: Any, address: str, width: int, scheme: str) -> None:
    page, troubles = opened(browser, address, width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CONTRAST) >= 4.5
    assert not troubles


@needs_browser
def test_page_of_failures_alone_opens(browser: Any, tmp_path: Path) -> None:
    from .conftest import fleet_rows

    failed = {"status": "failed", "error": "no", "terms": [], "noise": [], "model": "", "health": None}
    path = tmp_path / "fleet.html"
    FleetResult([{**row, **failed} for row in fleet_rows(3, 1)]).to_html(path)
    page, troubles = opened(browser, path.as_uri())
    assert page.locator("#machines tbody tr").count() == 3 and not troubles


@needs_browser
def test_page_links_reports_of_machines_with_any_name(browser: Any, tmp_path: Path) -> None:
    from .conftest import fleet_rows

    model = "models/pump%201%2F%E6%B0%B4/2026-01-05.0.tinyude"  # as the store names "pump 1/\u6c34"
    rows = [{**row, "model": model} for row in fleet_rows(1, 1)]
    store = Store(str(tmp_path))
    store.put(report_path(model), b"<title>its report</title>")
    FleetResult(rows, store).to_html(tmp_path / "fleet.html")
    page, _ = opened(browser, (tmp_path / "fleet.html").as_uri())
    page.click("#machines .open")
    page.click("#detail a")
    page.wait_for_load_state()
    assert page.title() == "its report"


# The least contrast ratio (WCAG) between text and what lies behind it, over visible elements with text of their own.
CONTRAST = """() => {
  const rgb = (text) => {
    const n = text.match(/[\\d.]+/g).map(Number);
    return n.length > 3 && n[3] === 0 ? null : n;
  };
  const linear = (v) => v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  let least = 21;
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    const hidden = element.closest("script, dialog:not([open]), svg") || !element.getClientRects().length;
    if (!own || hidden || element.disabled) continue;
    let behind = null;
    for (let up = element; up && !behind; up = up.parentElement) behind = rgb(getComputedStyle(up).backgroundColor);
    const [a, b] = [light(rgb(getComputedStyle(element).color)), light(behind || [255, 255, 255])];
    least = Math.min(least, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
  }
  return least;
}"""
