"""The reference lists every public name once, and nothing else."""

from __future__ import annotations

import re
from operator import attrgetter
from pathlib import Path

import spinlearn
from tests.public_names import public_modules, public_names

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
LISTED = re.compile(r"^   ~([\w.]+)$", re.MULTILINE)


def listed() -> list[str]:
    """Names in the reference, without the package's own."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(REFERENCE.glob("*.rst"))]
    return [name for text in texts for name in LISTED.findall(text)]


def test_every_public_name_has_a_page_and_only_those():
    assert sorted(f"spinlearn.{name}" for name in listed()) == sorted(
        found.name for found in public_names()
    )


def test_names_of_other_modules_lead_to_one_of_these_pages():
    pages = {id(attrgetter(name)(spinlearn)) for name in listed()}
    for module in public_modules()[1:]:
        for name in module.__all__:
            assert id(getattr(module, name)) in pages, f"{module.__name__}.{name}"


def test_every_public_module_has_its_list():
    told = {
        module
        for path in REFERENCE.glob("*.rst")
        for module in re.findall(r"^\.\. module:: (\S+)$", path.read_text("utf-8"), re.MULTILINE)
    }
    assert told == {module.__name__ for module in public_modules()}
