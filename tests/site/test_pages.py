"""Every page of the built site in Chromium: `make docs-test`, after `make docs`."""

import time

import pytest

from tests.end_to_end.browser import chromium, complaints, requests_made
from tests.site.built import SITE, pages, served

if not (SITE / "index.html").exists():
    pytest.fail(f"there is no site in {SITE}: make docs", pytrace=False)

WIDTHS = (1400, 400)
OVERHANG = """
const page = document.documentElement;
return Math.max(page.scrollWidth, document.body.scrollWidth) - page.clientWidth;
"""
WAIT_SECONDS = 600.0


@pytest.fixture(scope="module")
def address():
    with served() as found:
        yield found


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    driver = chromium(tmp_path_factory.mktemp("chromium"))
    yield driver
    driver.quit()


def show(driver, url: str, width: int, scheme: str = "light") -> None:
    """Open a page at a width; nothing of earlier ones is left on the console."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    driver.get(url)


def until(condition) -> bool:
    """Whether it comes true in time."""
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("page", pages())
def test_no_sideways_scroll_no_complaint_nothing_from_outside(page, browser, address):
    complaints(browser), requests_made(browser)
    for width in WIDTHS:
        show(browser, address + page, width)
        if page == "physics.html":  # formulas are set after the page is there
            assert until(lambda: browser.find_elements("css selector", "mjx-container"))
        assert browser.execute_script(OVERHANG) <= 0, f"{width} pixels wide"
    assert complaints(browser) == []
    outside = [url for url in requests_made(browser) if not url.startswith(address)]
    assert [url for url in outside if not url.startswith("chrome:")] == []  # the browser's own


def test_a_page_that_is_too_wide_or_complains_is_noticed(browser, tmp_path):
    text = '<p style="width: 900px">wide</p><script>nothing.there()</script>'
    (tmp_path / "page.html").write_text(f"<!doctype html><html><body>{text}</body></html>")
    with served(tmp_path) as there:
        complaints(browser)
        show(browser, there + "page.html", 400)
        assert browser.execute_script(OVERHANG) > 0
        assert any("nothing" in said for said in complaints(browser))


def test_dark_mode_follows_the_system(browser, address):
    ground = "return getComputedStyle(document.body).backgroundColor"
    found = []
    for scheme in ("light", "dark"):
        show(browser, address + "index.html", 1400, scheme)
        found.append(browser.execute_script(ground))
    assert found[0] != found[1]


def test_search_finds_a_page_without_a_server_behind_it(browser, address):
    show(browser, address + "search.html?q=homogeneous", 1400)
    assert until(lambda: browser.find_elements("css selector", "ul.search li a"))
    linked = [
        link.get_attribute("href")
        for link in browser.find_elements("css selector", "ul.search li a")
    ]
    assert any("choosing-a-graph" in url for url in linked)


def test_code_has_a_copy_button(browser, address):
    show(browser, address + "first-labels.html", 1400)
    assert until(lambda: browser.find_elements("css selector", "button.copybtn"))
