"""One Chromium for all tests of a process that want one: to start it takes seconds."""

import warnings

import pytest

from tests.end_to_end.browser import chromium


@pytest.fixture(scope="session")
def opened_chromium(tmp_path_factory):
    opened = chromium(tmp_path_factory.mktemp("chromium"))
    yield opened
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # selenium's own
        opened.quit()


@pytest.fixture(scope="module")
def driver(opened_chromium):
    """It, with nothing of this module's left in it for the next."""
    yield opened_chromium
    opened_chromium.get("about:blank")
