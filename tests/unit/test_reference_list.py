"""The reference lists every public name once, and nothing else; guides name all there is."""

import re
from pathlib import Path

import pytest

from spinlearn.answers.rule import STATUS_NAMES
from spinlearn.energies import ENERGIES
from spinlearn.engines import ENGINES
from tests.public_names import public_modules, public_names

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
LISTED = re.compile(r"^   ~([\w.]+)$", re.MULTILINE)


def listed() -> list[str]:
    """Names in the reference, without the package's own."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(REFERENCE.glob("*.rst"))]
    return [name for text in texts for name in LISTED.findall(text)]


def test_every_public_name_has_a_page_and_only_those():
    pages, public = [f"spinlearn.{name}" for name in listed()], [one.name for one in public_names()]
    missing, gone = sorted(set(public) - set(pages)), sorted(set(pages) - set(public))
    told = f"in docs/reference, lines such as '   ~energies.MinCut': add {missing}, remove {gone}"
    assert sorted(pages) == sorted(public), told


def test_every_public_module_has_its_list():
    told = {
        module
        for path in REFERENCE.glob("*.rst")
        for module in re.findall(r"^\.\. module:: (\S+)$", path.read_text("utf-8"), re.MULTILINE)
    }
    assert told == {module.__name__ for module in public_modules()}


@pytest.mark.parametrize(
    ("page", "words"),
    {
        "energies.md": [f"`{name}`" for name in ENERGIES],
        "engines.md": [f"`{name}`" for name in ENGINES],
        "default-answer.md": [f"| {name} |" for name in STATUS_NAMES],
        "first-labels.md": [f"| {name} |" for name in STATUS_NAMES],
    }.items(),
)
def test_every_name_of_a_registry_is_on_its_page(page, words):
    text = (REFERENCE.parent / page).read_text(encoding="utf-8")
    missing = [word for word in words if word not in text]
    assert not missing, f"say in docs/{page} what {missing} is for"
