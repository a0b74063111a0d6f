"""Settings: the base of engines, graph builders, energies, which are keyword-only dataclasses.

It gives them the two methods by which scikit-learn's clone, set_params and grid search reach
nested parameters, without importing scikit-learn. `made` makes one from its name, or from a text
with settings, which a command line can write: "knn:10,metric=cosine", "tempering:tol=0.01".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from typing import Any, ClassVar, Self

import numpy as np

from spinlearn.errors import InvalidInputError

AUTO = "auto"
WORDS = {"none": None, "true": True, "false": False}


class Settings:
    """Mixin for dataclasses whose fields are their parameters."""

    first_setting: ClassVar[str | None] = None  # a text may give it without its name

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name, in place."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise InvalidInputError(
                    f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}"
                )
            setattr(self, name, value)
        return self


def made(kind: str, known: Mapping[str, Any], spec: Any, example: str) -> Any:
    """What "name", "name:key=value,...", sometimes "name:value" stands for; no text stays as it is.

    Classes are `known` by name, functions are returned; messages name the `kind` and `example`.
    """
    if not isinstance(spec, str):
        return spec
    name, _, rest = spec.partition(":")
    if name not in known:
        raise InvalidInputError(
            f"{kind}={spec!r} is unknown: use one of {', '.join(map(repr, known))}, one with "
            f"settings such as {example}"
        )
    factory = known[name]
    if not isinstance(factory, type):
        if rest:
            raise InvalidInputError(f"{kind}={spec!r}: {name} has no settings: leave them out")
        return factory
    possible = {f.name: f for f in fields(factory)} if is_dataclass(factory) else {}
    given: dict[str, Any] = {}
    for k, piece in enumerate(re.split(r",(?=\w+=)", rest) if rest else ()):
        key, equals, text = piece.partition("=")
        if not equals and k == 0:
            key, text = getattr(factory, "first_setting", None) or piece, piece
        if key not in possible:
            has = ", ".join(f"{p}=..." for p in possible) or "none"
            raise InvalidInputError(
                f"{kind}={spec!r}: {key!r} is not a setting of {name}; it has {has}"
            )
        given[key] = _value(text, possible[key], f"{kind}={spec!r}")
    try:
        return factory(**given)
    except TypeError as error:
        raise InvalidInputError(
            f"{kind}={spec!r} lacks a setting ({error}): give it, as in {example}"
        ) from error


def _value(text: str, field: Field[Any], where: str) -> Any:
    """The value of a setting from its text."""
    value = value_of(text)
    kind, _, none = str(field.type).partition(" | ")
    number = is_number(value) and value == value and (kind != "int" or isinstance(value, int))
    if kind in ("int", "float") and not number and not (none == "None" and value is None):
        what = "a whole number" if kind == "int" else "a number"
        raise InvalidInputError(f"{where}: {field.name}={text!r} is not {what}: write one")
    if kind == "bool" and not isinstance(value, bool):
        raise InvalidInputError(f"{where}: {field.name}={text!r} is neither true nor false")
    return value


def value_of(text: str) -> Any:
    """None, a truth, a number, a list of numbers; else the text itself."""
    word = text.strip()
    if word.lower() in WORDS:
        return WORDS[word.lower()]
    if re.fullmatch(r"[+-]?\d+", word, re.ASCII):
        return int(word)
    try:
        return [float(part) for part in word.split(",")] if "," in word else float(word)
    except ValueError:
        return word


def is_open(value: Any) -> bool:
    """Whether a setting is left to us."""
    return isinstance(value, str) and value == AUTO


def is_number(value: Any) -> bool:
    """Whether it is one real number."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
