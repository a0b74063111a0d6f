"""A real headless Chromium for tests, with its console, network log and downloads."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--headless=new",
    "--no-sandbox",  # root, as in containers, has no other way
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--window-size=1400,900",
)


def chromium(folder: Path) -> Any:
    """A driver with a fresh profile in `folder`; no Chromium skips the test, or fails it in CI."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        reason = "no Chromium or no chromedriver on the PATH: make browser (or install them)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    webdriver = pytest.importorskip("selenium.webdriver", reason="pip install selenium")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(driver)
    opened = webdriver.Chrome(options=options, service=service)
    opened.set_script_timeout(600)
    opened.set_page_load_timeout(600)
    return opened


@contextmanager
def screen(driver: Any, width: int, height: int, *, mobile: bool = False) -> Iterator[None]:
    """A screen of another size, with fingers if it is a telephone's."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": mobile})
    try:
        yield
    finally:
        driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def requests_made(driver: Any) -> list[str]:
    """Addresses asked for since the last call, other than what the page holds itself."""
    sent = []
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            sent.append(message["params"]["request"]["url"])
    return [url for url in sent if not url.startswith(("data:", "blob:"))]


def complaints(driver: Any) -> list[str]:
    """Warnings and errors on the console since the last call."""
    return [e["message"] for e in driver.get_log("browser") if e["level"] in ("WARNING", "SEVERE")]


def painted(driver: Any) -> None:
    """Waits until what was asked of the explorer so far is on the screen."""
    driver.execute_script("return window.spinlearnExplorer.settled()")
