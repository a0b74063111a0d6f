"""Energies with settings of their own, for `PottsClassifier(energy=BalancedCut(strength=3))`.

Each is a keyword-only dataclass that scikit-learn can clone and search over, and is called like the
function of the same name: energy(graph, labels, n_states, label_strength=...) -> PottsModel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.core.settings import Settings
from spinlearn.energies import class_level, diffused, pairwise, user_arrays
from spinlearn.energies.modularity import modularity
from spinlearn.errors import InvalidInputError


class EnergySettings(Settings):
    """Base: the fields of the dataclass are the keywords of `function`."""

    function: ClassVar[Callable[..., PottsModel]]

    def __call__(
        self,
        graph: Graph,
        labels: npt.ArrayLike,
        n_states: int,
        *,
        label_strength: npt.ArrayLike = np.inf,
    ) -> PottsModel:
        """The model of this energy."""
        return type(self).function(
            graph, labels, n_states, label_strength=label_strength, **self.get_params()
        )


@dataclass(kw_only=True)
class MinCut(EnergySettings):
    """See `min_cut`."""

    function = staticmethod(pairwise.min_cut)


@dataclass(kw_only=True)
class Harmonic(EnergySettings):
    """See `harmonic`."""

    class_values: Any = None

    function = staticmethod(pairwise.harmonic)


@dataclass(kw_only=True)
class LGC(EnergySettings):
    """See `lgc`."""

    mu: float | None = None

    function = staticmethod(pairwise.lgc)


@dataclass(kw_only=True)
class BalancedCut(EnergySettings):
    """See `balanced_cut`."""

    strength: float = 2.0
    size: str = "count"
    proportions: Any = None

    function = staticmethod(class_level.balanced_cut)


@dataclass(kw_only=True)
class DiffusedCut(EnergySettings):
    """See `diffused_cut`."""

    diffusion: float = 0.2
    alpha: float = 0.999
    strength: float | None = None
    size: str = "count"
    proportions: Any = None

    function = staticmethod(diffused.diffused_cut)


@dataclass(kw_only=True)
class Modularity(EnergySettings):
    """See `modularity`."""

    resolution: float = 1.0
    proportions: Any = None

    function = staticmethod(modularity)


@dataclass(kw_only=True)
class NormalizedCut(EnergySettings):
    """See `normalized_cut`."""

    function = staticmethod(class_level.normalized_cut)


@dataclass(kw_only=True)
class RatioCut(EnergySettings):
    """See `ratio_cut`."""

    function = staticmethod(class_level.ratio_cut)


@dataclass(kw_only=True)
class Custom(EnergySettings):
    """See `custom`."""

    couplings: Any = None
    pair_cost: Any = None
    fields: Any = None
    class_penalty: Any = None

    function = staticmethod(user_arrays.custom)


@dataclass(kw_only=True)
class ClassPrior(EnergySettings):
    """See `class_prior`; `energy` is a name or another energy."""

    prior: Any = None
    energy: Any = "min_cut"
    strength: float = 1.0

    def __call__(
        self,
        graph: Graph,
        labels: npt.ArrayLike,
        n_states: int,
        *,
        label_strength: npt.ArrayLike = np.inf,
    ) -> PottsModel:
        """The model of the inner energy with the prior's fields added."""
        if self.prior is None:
            raise InvalidInputError("ClassPrior needs prior=..., the probability of every class")
        return user_arrays.class_prior(
            graph,
            labels,
            n_states,
            prior=self.prior,
            energy=make_energy(self.energy),
            label_strength=label_strength,
            strength=self.strength,
        )


ENERGIES: dict[str, Callable[..., PottsModel]] = {
    "min_cut": pairwise.min_cut,
    "lgc": pairwise.lgc,
    "harmonic": pairwise.harmonic,
    "balanced_cut": class_level.balanced_cut,
    "diffused_cut": diffused.diffused_cut,
    "modularity": modularity,
    "normalized_cut": class_level.normalized_cut,
    "ratio_cut": class_level.ratio_cut,
}


def make_energy(spec: Any) -> Callable[..., PottsModel]:
    """An energy from its name; settings and functions of your own are returned as they are."""
    if isinstance(spec, str):
        if spec not in ENERGIES:
            raise InvalidInputError(
                f"energy {spec!r} is unknown: use one of {', '.join(map(repr, ENERGIES))}, or an "
                "energy such as BalancedCut(strength=3)"
            )
        return ENERGIES[spec]
    if isinstance(spec, type) or not callable(spec):
        raise InvalidInputError(
            f"energy {spec!r} is unknown: pass a name ({', '.join(map(repr, ENERGIES))}), an "
            "instance such as BalancedCut(), or a function of (graph, labels, n_states, "
            "label_strength=...) that returns a PottsModel"
        )
    made: Callable[..., PottsModel] = spec
    return made


def energy_name(spec: Any) -> str:
    """A short name of an energy, for tables."""
    if isinstance(spec, str):
        return spec
    return repr(spec) if isinstance(spec, Settings) else getattr(spec, "__name__", repr(spec))
