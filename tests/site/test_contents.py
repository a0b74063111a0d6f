"""What the built site holds: links, the inventory of names, the gallery, the explorers."""

import re
from pathlib import Path

import pytest
from sphinx.util.inventory import InventoryFile

from tests.public_names import public_modules, public_names
from tests.site.built import SITE, broken_links

if not (SITE / "index.html").exists():
    pytest.fail(f"there is no site in {SITE}: make docs", pytrace=False)

SCRIPTS = sorted((Path(__file__).parents[2] / "docs" / "gallery").glob("plot_*.py"))


assert len(SCRIPTS) >= 10


@pytest.fixture(scope="module")
def inventory() -> dict[str, str]:
    """Page of every Python object."""
    with (SITE / "objects.inv").open("rb") as file:
        objects = InventoryFile.load(file, "", lambda base, path: path)
    return {
        name: item.uri.split("#")[0]
        for kind, items in objects.items() if kind.startswith("py:")
        for name, item in items.items()
    }  # fmt: skip


def test_no_link_is_broken():
    assert broken_links() == []


def test_a_broken_link_is_noticed(tmp_path):
    (tmp_path / "one.html").write_text('<a href="two.html#there"></a><img src="none.png">')
    (tmp_path / "two.html").write_text('<p id="here"></p><a href="one.html"></a>')
    assert broken_links(tmp_path) == ["one.html: two.html#there", "one.html: none.png"]


@pytest.mark.parametrize("found", list(public_names()), ids=lambda found: found.name)
def test_every_public_name_has_a_page_with_an_example(found, inventory):
    text = (SITE / inventory[found.name]).read_text(encoding="utf-8")
    assert "&gt;&gt;&gt; " in text or not found.needs_example


def test_every_public_module_is_in_the_inventory(inventory):
    assert {module.__name__ for module in public_modules()} <= set(inventory)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_gallery_page_has_run_and_has_a_picture(script):
    text = (SITE / "auto_gallery" / f"{script.stem}.html").read_text(encoding="utf-8")
    pictures = re.findall(rf'src="(\.\./_images/sphx_glr_{script.stem}_\d+\.png)"', text)
    assert pictures
    for picture in pictures:
        assert (SITE / "auto_gallery" / picture).stat().st_size > 5_000
    assert "Traceback" not in text


def test_three_explorers_are_linked():
    text = (SITE / "explorers.html").read_text(encoding="utf-8")
    for name in ("toy", "cells", "digits"):
        assert f'href="explorers/{name}.html"' in text
        assert "</html>" in (SITE / "explorers" / f"{name}.html").read_text(encoding="utf-8")
