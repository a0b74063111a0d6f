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
    """Base of the energies with settings: their fields are the keywords of `function`."""

    function: ClassVar[Callable[..., PottsModel]]

    def __call__(
        self,
        graph: Graph,
        labels: npt.ArrayLike,
        n_states: int,
        *,
        label_strength: npt.ArrayLike = np.inf,
    ) -> PottsModel:
        """The model of this energy.

        Parameters
        ----------
        graph : Graph
            Similar points, whose weights are the couplings.
        labels : array-like of int, shape (n,)
            Class of every labelled point, -1 for the others.
        n_states : int
            Number of classes, q.
        label_strength : float or array-like of shape (n,), default inf
            Cost of leaving a label, in the unit of the couplings; infinite holds it.

        Returns
        -------
        PottsModel
        """
        return type(self).function(
            graph, labels, n_states, label_strength=label_strength, **self.get_params()
        )


@dataclass(kw_only=True)
class MinCut(EnergySettings):
    """The weight of the edges between classes, the paper's energy; it has no settings.

    An energy is an object that makes a `spinlearn.PottsModel` of a graph and labels. Give it to
    ``PottsClassifier(energy=...)``, or call it as below; `min_cut` has the equation.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import MinCut
    >>> pair = Graph(2, [(0, 1)], [3.0])
    >>> MinCut()(pair, [0, -1], n_states=2).energy([0, 1])
    3.0
    """

    function = staticmethod(pairwise.min_cut)


@dataclass(kw_only=True)
class Harmonic(EnergySettings):
    """The squared distance between the classes of neighbours, for classes that are ordered.

    Give it to ``PottsClassifier(energy=...)``, or call it as below; `harmonic` has the equation.

    Parameters
    ----------
    class_values : array-like of shape (q,) or (q, k), optional
        Where the classes lie: numbers, so that neighbouring grades cost less, or points. Default:
        all classes equally far apart.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import Harmonic
    >>> pair = Graph(2, [(0, 1)])
    >>> grades = Harmonic(class_values=[0, 1, 2])
    >>> grades(pair, [0, -1], n_states=3).energy([[0, 1], [0, 2]]).tolist()
    [1.0, 4.0]
    """

    class_values: Any = None

    function = staticmethod(pairwise.harmonic)


@dataclass(kw_only=True)
class LGC(EnergySettings):
    """The cut with every edge divided by the degrees of its ends.

    Give it to ``PottsClassifier(energy=...)``, or call it as below; `lgc` has the equation.

    Parameters
    ----------
    mu : float, optional
        Cost of leaving a label, in place of the strength of the labels. Default: labels are as
        strong as the classifier is told, which by default holds them.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import LGC
    >>> star = Graph(3, [(0, 1), (0, 2)])
    >>> LGC()(star, [0, -1, -1], n_states=2).couplings.round(2).tolist()
    [1.41, 1.41]
    """

    mu: float | None = None

    function = staticmethod(pairwise.lgc)


@dataclass(kw_only=True)
class BalancedCut(EnergySettings):
    """The cut plus a penalty on classes of unequal size.

    Give it to ``PottsClassifier(energy=...)``, or call it as below; `balanced_cut` has the
    equation.

    Parameters
    ----------
    strength : float, default 2
        Of the penalty, in units of the mean coupling; 0 is the minimum cut.
    size : {"count", "volume"}, default "count"
        Whether the size of a class is its number of points or their summed degree.
    proportions : array-like of shape (q,), optional
        Expected shares of the classes, all equal by default; they are scaled to sum to one.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import BalancedCut
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)])
    >>> model = BalancedCut(strength=3)(chain, [0, -1, -1, 1], n_states=2)
    >>> model.energy([[0, 0, 1, 1], [0, 1, 1, 1]]).round(2).tolist()
    [4.0, 4.75]
    """

    strength: float = 2.0
    size: str = "count"
    proportions: Any = None

    function = staticmethod(class_level.balanced_cut)


@dataclass(kw_only=True)
class DiffusedCut(EnergySettings):
    """The balanced cut with a weak field from diffused labels, for one or two labels a class.

    Give it to ``PottsClassifier(energy=...)``, or call it as below; `diffused_cut` has the
    equation.

    Parameters
    ----------
    diffusion : float, default 0.2
        Strength of the fields, in units of the mean coupling; 0 leaves the balanced cut.
    alpha : float, default 0.999
        Reach of the random walks from the labels, 0 < alpha < 1: about 1/(1 - alpha) steps.
    strength : float, optional
        Of the balance, in units of the mean coupling. Default: the mean number of neighbours.
    size : {"count", "volume"}, default "count"
        Whether the size of a class is its number of points or their summed degree.
    proportions : array-like of shape (q,), optional
        Expected shares of the classes, all equal by default; they are scaled to sum to one.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import DiffusedCut
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)])
    >>> model = DiffusedCut(diffusion=0.5)(chain, [0, -1, -1, 1], n_states=2)
    >>> model.fields[1:3].round(2).tolist()  # cost of either class at the two points between
    [[-0.25, 0.25], [0.25, -0.25]]
    """

    diffusion: float = 0.2
    alpha: float = 0.999
    strength: float | None = None
    size: str = "count"
    proportions: Any = None

    function = staticmethod(diffused.diffused_cut)


@dataclass(kw_only=True)
class Modularity(EnergySettings):
    """The cut beside a null model, so that no class gains by taking everything.

    Give it to ``PottsClassifier(energy=...)``, or call it as below; `modularity` has the equation.

    Parameters
    ----------
    resolution : float, default 1
        Strength of the null model, >= 0; 0 is the minimum cut, and larger values make more and
        smaller classes.
    proportions : array-like of shape (q,), optional
        Expected shares of the classes in the summed degree, all equal by default; they are scaled
        to sum to one.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import Modularity
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)])
    >>> model = Modularity(resolution=1)(chain, [0, -1, -1, -1], n_states=2)
    >>> model.energy([[0, 0, 0, 0], [0, 0, 1, 1]]).round(2).tolist()
    [3.0, 2.5]
    """

    resolution: float = 1.0
    proportions: Any = None

    function = staticmethod(modularity)


@dataclass(kw_only=True)
class NormalizedCut(EnergySettings):
    """The cut of every class over its volume; it has no settings.

    Give it to ``PottsClassifier(energy=...)``, or call it as below; `normalized_cut` has the
    equation.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import NormalizedCut
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)])
    >>> NormalizedCut()(chain, [0, -1, -1, 1], n_states=2).energy([0, 0, 1, 1])
    1.0
    """

    function = staticmethod(class_level.normalized_cut)


@dataclass(kw_only=True)
class RatioCut(EnergySettings):
    """The cut of every class over its number of points; it has no settings.

    Give it to ``PottsClassifier(energy=...)``, or call it as below; `ratio_cut` has the equation.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import RatioCut
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)])
    >>> RatioCut()(chain, [0, -1, -1, 1], n_states=2).energy([0, 0, 1, 1])
    1.0
    """

    function = staticmethod(class_level.ratio_cut)


@dataclass(kw_only=True)
class Custom(EnergySettings):
    """An energy from arrays of your own; the labels are added to them.

    Give it to ``PottsClassifier(energy=...)``, or call it as below. The arrays are those of
    `spinlearn.PottsModel`: n points, m edges, q classes.

    Parameters
    ----------
    couplings : array-like of shape (m,), optional
        Strength of every edge, in the order of ``graph.edges``; either sign. Default: its weights.
    pair_cost : array-like of shape (q, q), optional
        Symmetric table of the cost of two neighbouring classes. Default: 0 if equal, else 1.
    fields : array-like of shape (n, q), optional
        Cost of every class at every point. Default: none.
    class_penalty : ClassPenalty or array-like of shape (q, n + 1), optional
        A term in whole classes; a table gives the cost of every number of points for every class.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import Custom
    >>> pair = Graph(2, [(0, 1)])
    >>> tilted = Custom(fields=[[0, 0], [0.0, 0.25]])
    >>> tilted(pair, [0, -1], n_states=2).energy([[0, 0], [0, 1]]).tolist()
    [0.0, 1.25]
    """

    couplings: Any = None
    pair_cost: Any = None
    fields: Any = None
    class_penalty: Any = None

    function = staticmethod(user_arrays.custom)


@dataclass(kw_only=True)
class ClassPrior(EnergySettings):
    """Another energy with a field that favours likely classes at every unlabelled point.

    Give it to ``PottsClassifier(energy=...)``, or call it as below; `class_prior` has the equation.

    Parameters
    ----------
    prior : array-like of shape (q,)
        Probability of every class, > 0; scaled to sum to one. It must be given.
    energy : str or energy, default "min_cut"
        What the prior is added to: one of the names in `ENERGIES`, or another energy.
    strength : float, default 1
        In units of the mean coupling.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import ClassPrior
    >>> pair = Graph(2, [(0, 1)])
    >>> rare = ClassPrior(prior=[0.99, 0.01])
    >>> rare(pair, [-1, -1], n_states=2).fields.round(2).tolist()
    [[0.0, 4.6], [0.0, 4.6]]
    """

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
        """The model of the inner energy with the prior's fields added.

        Parameters
        ----------
        graph : Graph
            Similar points, whose weights are the couplings.
        labels : array-like of int, shape (n,)
            Class of every labelled point, -1 for the others.
        n_states : int
            Number of classes, q.
        label_strength : float or array-like of shape (n,), default inf
            Cost of leaving a label, in the unit of the couplings; infinite holds it.

        Returns
        -------
        PottsModel
        """
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
"""The energies that need no settings, by name.

``PottsClassifier(energy=...)`` and ``spinlearn fit --energy`` take these names. A function that is
entered here is known to both.

Examples
--------
>>> from spinlearn.energies import ENERGIES
>>> print(*ENERGIES)
min_cut lgc harmonic balanced_cut diffused_cut modularity normalized_cut ratio_cut
"""


def make_energy(spec: Any) -> Callable[..., PottsModel]:
    """An energy from its name; an energy of your own is returned as it is.

    Parameters
    ----------
    spec : str or callable
        A name from `ENERGIES`; an object such as ``BalancedCut(strength=3)``; or a function of
        (graph, labels, n_states, label_strength=...) that returns a PottsModel.

    Returns
    -------
    callable
        Of (graph, labels, n_states, label_strength=...), it returns a PottsModel.

    Raises
    ------
    InvalidInputError
        If there is no such energy.

    Examples
    --------
    >>> from spinlearn.energies import BalancedCut, make_energy, min_cut
    >>> make_energy("min_cut") is min_cut
    True
    >>> make_energy(BalancedCut(strength=3))
    BalancedCut(strength=3, size='count', proportions=None)
    """
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
    """A short name of an energy, for tables.

    Parameters
    ----------
    spec : str or callable
        As for `make_energy`.

    Returns
    -------
    str

    Examples
    --------
    >>> from spinlearn.energies import BalancedCut, energy_name, min_cut
    >>> energy_name("lgc"), energy_name(min_cut), energy_name(BalancedCut(strength=3))
    ('lgc', 'min_cut', "BalancedCut(strength=3, size='count', proportions=None)")
    """
    if isinstance(spec, str):
        return spec
    return repr(spec) if isinstance(spec, Settings) else getattr(spec, "__name__", repr(spec))
