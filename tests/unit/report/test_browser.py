"""The report page in a real browser: it draws, fits its window, asks nothing of the network, and obeys its buttons."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tinyude as tu

CHROMIUM = shutil.which("chromium")
pytest.importorskip("playwright.sync_api", reason="Playwright is not installed; pip install 'tinyude[dev]'.")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed; run tools/install_browser.sh.")
SIZES = [(1400, 900), (820, 1180), (390, 844)]


@pytest.fixture(scope="module")
def page_file(fitted: tu.UDE, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    return fitted.report(path, title="Pendulum", units={"theta": "rad", "omega": "rad/s"})


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tools:
        opened = tools.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_draws_at_every_size(browser: Any, page_file: Path, width: int, height: int, scheme: str) -> None:
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(page_file.as_uri())
    page.wait_for_selector(".uplot canvas")
    assert said == [] and [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#verdict").bounding_box()["y"] < 200.0
    assert page.locator("math").count() > 3
    marked = "[...document.querySelectorAll('svg.chart, img, [role=img]')]"
    assert page.evaluate(f"{marked}.filter(e => !(e.getAttribute('aria-label') || e.alt)).length") == 0
    page.close()


def test_page_buttons_switch_theme_and_slice(browser: Any, page_file: Path) -> None:
    page = browser.new_page(color_scheme="light")
    page.goto(page_file.as_uri())
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    tabs = page.locator(".tabs button")
    tabs.nth(1).click()
    assert page.locator(".slice").nth(1).is_visible() and not page.locator(".slice").nth(0).is_visible()
    page.close()


def test_terms_with_long_numbers_fit_a_phone(browser: Any, page_file: Path) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(page_file.as_uri())
    page.evaluate("document.querySelector('.terms td:nth-child(6) span').lastChild.data = '-0.0001015 to -0.0001007'")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("document.querySelector('.terms').getBoundingClientRect().right") <= 390
    page.close()
