"""The text of the reference: every public name says what it takes, and its example runs."""

import doctest
import enum
import inspect

import pytest
from numpydoc.docscrape import NumpyDocString

from tests.public_names import PublicName, public_methods, public_names

NAMES = {found.name: found for found in public_names()}
CLASSES = {name: found for name, found in NAMES.items() if inspect.isclass(found.value)}
INHERITED = ("get_params", "set_params", "run", "unsupported", "keeps_levels")
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
WITH_EXAMPLE = [name for name, found in NAMES.items() if found.needs_example]


def arguments(value) -> list[str]:
    """What a caller may give."""
    if inspect.isclass(value):
        own = (enum.Enum, BaseException)
        if issubclass(value, own) and "__init__" not in vars(value):
            return []
        if getattr(value, "_is_protocol", False):
            return []
    parameters = inspect.signature(value).parameters
    return [("**" if p.kind is p.VAR_KEYWORD else "") + p.name
            for p in parameters.values() if p.name not in ("self", "cls")]  # fmt: skip


def documented(sections: NumpyDocString, *which: str) -> list[str]:
    """Names in some sections; one line may name several."""
    lines = [entry.name for section in which for entry in sections[section]]
    return [name.strip() for line in lines for name in line.split(",")]


def complaints(value, text: str, *, example: bool = True) -> list[str]:
    """What a docstring lacks."""
    sections = NumpyDocString(text)
    if not " ".join(sections["Summary"]).strip():
        return ["no summary"]
    found = []
    if callable(value):
        taken = arguments(value)
        told = documented(sections, "Parameters")
        known = [*told, *documented(sections, "Attributes")]
        if taken != ["**parts"]:  # made by class methods only
            found += [f"{name} is not described" for name in taken if name not in known]
        found += [f"there is no {name}" for name in told if name not in taken]
        gives = inspect.isfunction(value) and value.__annotations__.get("return") != "None"
        if gives and taken and not (sections["Returns"] or sections["Raises"]):
            found.append("what it returns is not described")
    if example and not any(line.startswith(">>>") for line in sections["Examples"]):
        found.append("no example")
    return found


@pytest.mark.parametrize("name", NAMES)
def test_public_names_are_described_with_an_example(name):
    found = NAMES[name]
    assert complaints(found.value, found.text, example=found.needs_example) == []


@pytest.mark.parametrize("name", CLASSES)
def test_their_methods_are_described(name):
    """By sections, or in a few sentences that speak of every argument."""
    for method, value in public_methods(CLASSES[name].value):
        text = inspect.getdoc(value) or ""
        if method in INHERITED:
            assert text, method
        elif "Parameters\n---" in text or not callable(value):
            assert complaints(value, text, example=False) == [], method
        else:
            assert unspoken(value, text) == [], method


@pytest.mark.parametrize("name", CLASSES)
def test_attributes_without_a_text_are_described_with_their_class(name):
    told = documented(NumpyDocString(CLASSES[name].text), "Attributes")
    members = inspect.getmembers_static(CLASSES[name].value, lambda m: isinstance(m, property))
    assert {n for n, value in members if n[0] != "_" and not value.__doc__} <= set(told)


def unspoken(value, text: str) -> list[str]:
    """Arguments that a text does not name; `path` and `seed` speak for themselves."""
    words = text.lower().replace("_", " ")
    taken = [name.lstrip("*") for name in arguments(value) if name not in ("path", "seed")]
    names = [name.lower().replace("_", " ") for name in taken]
    return ["no summary"] if not text.strip() else [name for name in names if name not in words]


@pytest.mark.parametrize("name", WITH_EXAMPLE)
def test_their_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    result = run_example(NAMES[name], said)
    assert result.attempted > 0
    assert result.failed == 0, "".join(said)
    assert list(tmp_path.iterdir()) == []  # an example leaves nothing behind


def run_example(found: PublicName, said: list[str]) -> doctest.TestResults:
    examples = doctest.DocTestParser().get_doctest(found.text, {}, found.name, None, 0)
    return doctest.DocTestRunner(optionflags=OPTIONS).run(examples, out=said.append)


def half_described(one: int, two: int) -> int:
    """Add.

    Parameters
    ----------
    one : int
    three : int
    """
    return one + two


def test_what_is_missing_is_named_and_wrong_examples_fail():
    text = inspect.getdoc(half_described)
    assert complaints(half_described, text) == [
        "two is not described",
        "there is no three",
        "what it returns is not described",
        "no example",
    ]
    assert complaints(half_described, "") == unspoken(half_described, "") == ["no summary"]
    assert unspoken(half_described, "Add one and another.") == ["two"]
    assert complaints({}, "") == ["no summary"]
    assert NAMES["spinlearn.energies.ENERGIES"].text.startswith("The energies")
    assert run_example(PublicName("wrong", None, ">>> 1 + 1\n3\n"), []).failed == 1
