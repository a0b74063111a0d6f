"""The site as `make docs` has built it: its pages, what they point to, a server for a browser."""

import contextlib
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse

SITE = Path(__file__).parents[2] / "docs" / "_build" / "html"
POINTING = {"a": "href", "link": "href", "img": "src", "script": "src", "iframe": "src"}


def pages(folder: Path = SITE) -> list[str]:
    """All pages, by their path in the site."""
    found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.html"))
    return [name for name in found if not name.startswith("_static/")]


class _Reader(HTMLParser):
    """Targets and anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        target = told.get(POINTING.get(tag, ""))
        if target:
            self.targets.append(target)
        self.anchors.update(value for key in ("id", "name") if (value := told.get(key)))


def broken_links(folder: Path = SITE) -> list[str]:
    """Links within the site that lead nowhere, as "page: target"."""
    read = {}
    for name in pages(folder):
        reader = read[name] = _Reader()
        reader.feed((folder / name).read_text(encoding="utf-8"))
    broken = []
    for name, reader in read.items():
        for target in reader.targets:
            path, fragment = urldefrag(target)
            if urlparse(target).scheme or path.startswith("//"):
                continue  # elsewhere
            path = path.split("?")[0]
            place = (folder / name).parent / unquote(path) if path else folder / name
            place = place / "index.html" if place.is_dir() else place
            there = place.exists()
            if there and fragment and place.suffix == ".html":
                known = read.get(str(place.resolve().relative_to(folder.resolve())))
                there = known is None or fragment == "#" or unquote(fragment) in known.anchors
            if not there:
                broken.append(f"{name}: {target}")
    return broken


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def served(folder: Path = SITE) -> Iterator[str]:
    """The site's address while it is served on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
