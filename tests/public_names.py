"""The public names with their docstrings: `spinlearn.__all__` and that of the modules in it."""

import ast
import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import spinlearn


@dataclass(frozen=True)
class PublicName:
    """A public name: where it is found, what it is, and its docstring."""

    name: str  # with the module that offers it
    value: Any
    text: str

    @property
    def needs_example(self) -> bool:
        """Of errors and warnings one example says it all."""
        module, _, name = self.name.rpartition(".")
        return module != "spinlearn.errors" or name == "SpinlearnError"


def public_modules() -> list[ModuleType]:
    """The package and the modules in its `__all__`."""
    found = [getattr(spinlearn, name) for name in spinlearn.__all__]
    return [spinlearn, *(value for value in found if inspect.ismodule(value))]


def public_names() -> Iterator[PublicName]:
    """Every public name but modules and the version, each once."""
    seen = set()
    for module in public_modules():
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.ismodule(value) or name == "__version__" or id(value) in seen:
                continue
            seen.add(id(value))
            described = callable(value)
            text = inspect.getdoc(value) if described else constant_text(module, name)
            yield PublicName(f"{module.__name__}.{name}", value, text or "")


def constant_text(module: ModuleType, name: str) -> str | None:
    """The string below the assignment of a constant, in the module that makes it."""
    body = ast.parse(Path(module.__file__).read_text(encoding="utf-8")).body
    for statement, following in zip(body, [*body[1:], None], strict=True):
        if isinstance(statement, ast.ImportFrom) and any(a.name == name for a in statement.names):
            return constant_text(importlib.import_module(statement.module), name)
        targets = (
            statement.targets if isinstance(statement, ast.Assign)
            else [statement.target] if isinstance(statement, ast.AnnAssign)
            else []
        )  # fmt: skip
        if any(isinstance(t, ast.Name) and t.id == name for t in targets):
            match following:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    return inspect.cleandoc(text)
    return None


def public_methods(kind: type) -> Iterator[tuple[str, Any]]:
    """Methods and properties of a public class that are this package's own."""
    for name, value in inspect.getmembers_static(kind):
        if name.startswith("_"):
            continue
        plain = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        described = getattr(plain, "fget", None) or getattr(plain, "func", None) or plain
        if inspect.isfunction(described) and described.__module__.startswith("spinlearn"):
            yield name, described
