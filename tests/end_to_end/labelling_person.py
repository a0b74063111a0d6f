"""Someone who labels in a real headless Chromium."""

import json
import time

import numpy as np
import pytest

from tests.end_to_end.browser import complaints, painted, requests_made

actions = pytest.importorskip("selenium.webdriver", reason="pip install selenium").ActionChains
NAME = "window.spinlearnExplorer.labelling"
STATE = "window.spinlearnExplorer.state"
DATA = "window.spinlearnExplorer.data"


class Page:
    """The page of a labelling, as a person uses it."""

    def __init__(self, driver, address):
        self.driver = driver
        driver.get("about:blank")  # or the page before, whose server is gone, complains later
        requests_made(driver)
        complaints(driver)
        driver.get(address)
        self.origin = "/".join(address.split("/")[:3])
        self.until("document.documentElement.dataset.ready === 'true'")

    def ask(self, expression):
        return self.driver.execute_script(f"return {expression}")

    def until(self, condition, seconds=600):
        deadline = time.monotonic() + seconds
        while not self.ask(condition):
            assert time.monotonic() < deadline, (condition, self.ask("document.body.innerText"))
            time.sleep(0.02)

    def go(self, row):
        """Pick a point."""
        self.driver.execute_script(f"{NAME}.go({row})")

    def keys(self, *keys):
        actions(self.driver).send_keys(*keys).perform()

    def by_id(self, name):
        return self.driver.find_element("id", name)

    def reads(self, name, text):
        """Wait until a part of the page says this: what is drawn comes a frame later."""
        said = f"(document.getElementById('{name}')?.innerText ?? '')"
        self.until(f"{said}.includes({json.dumps(text)})")

    def click(self, css):
        self.driver.execute_script("arguments[0].click()", self.find(css))

    def find(self, css):
        return self.driver.find_element("css selector", css)

    def label(self, name, row=None):
        """Label what is picked, or a point, by the keyboard; it is there when this returns."""
        if row is not None:
            self.go(row)
        before = self.ask(f"{NAME}.version")
        self.keys("l", name, "\ue007")
        self.until(f"{NAME}.version > {before}")

    def settled(self, how="fit"):
        """Itself, once the thorough answer and the advice to all labels are on it."""
        self.until(f"{DATA}.labelVersion === {NAME}.version && {DATA}.how === '{how}'")
        self.advised()
        self.until(f"!{NAME}.fetching")
        painted(self.driver)
        return self

    def advised(self):
        self.until(f"{NAME}.advice.version === {NAME}.version")

    def drag(self, path):
        frame = self.by_id("map-frame")
        box = frame.rect
        chain = actions(self.driver, duration=20)
        first, *rest = [(x - box["width"] / 2, y - box["height"] / 2) for x, y in path]
        chain.move_to_element_with_offset(frame, *first).click_and_hold()
        for place in rest:
            chain.move_to_element_with_offset(frame, *place)
        chain.release().perform()

    def places(self, rows):
        return [self.ask(f"window.spinlearnExplorer.placeOf({row})") for row in rows]

    def quiet(self):
        """Neither a complaint on the console nor a request to anyone else."""
        said = complaints(self.driver)
        assert said == [], said
        local = (self.origin, self.origin.replace("http", "ws"), "chrome")
        assert [url for url in requests_made(self.driver) if not url.startswith(local)] == []


def around(places, margin=14):
    """A lasso around places on the screen."""
    (left, top), (right, bottom) = np.min(places, axis=0), np.max(places, axis=0)
    left, top, right, bottom = left - margin, top - margin, right + margin, bottom + margin
    return [(left, top), (right, top), (right, bottom), (left, bottom), (left, top + 1)]
