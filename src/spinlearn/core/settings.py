"""Settings: the base of engines, graph builders, energies, which are keyword-only dataclasses.

It gives them the two methods by which scikit-learn's clone, set_params and grid search reach
nested parameters, without importing scikit-learn.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Self

from spinlearn.errors import InvalidInputError


class Settings:
    """Mixin for dataclasses whose fields are their parameters."""

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
