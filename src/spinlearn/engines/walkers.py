"""Which walkers are the fastest for a model: a kind for every model there is.

BitWalkers           256 walkers in the bits of words: equal positive couplings, no fields, q <= 8
ClusterWalkers       any number of walkers moved by Swendsen-Wang clusters: couplings >= 0, fields
LockstepWalkers      64 walkers side by side: couplings of either sign, fields, q <= 64
ClassClusterWalkers  64 walkers moved by clusters under a term in the sizes of classes
GeneralWalkers       64 walkers by heat bath, with corrected cluster flips: any model

MetropolisWalkers, which move one node at a time, are chosen by name.
"""

from __future__ import annotations

from spinlearn.core.model import PottsModel
from spinlearn.engines.bit_walkers import BitWalkers, LockstepWalkers
from spinlearn.engines.class_walkers import GeneralWalkers
from spinlearn.engines.cluster_walkers import ClassClusterWalkers, ClusterWalkers
from spinlearn.engines.walker_group import Walkers

MOST_BIT_NODES = 5_000


def walkers_for(model: PottsModel, *, local: bool = False) -> type[Walkers]:
    """The kind of walkers with the least error per second for a model, of local moves if asked.

    Bits flip a thousand million spins a second, but with more than two states clusters win: on the
    paper's second toy set (q = 3) by a factor of five in time to the same error. So they do where
    the model is so large that walkers do not travel from its hottest to its coldest energies; on a
    lattice of 64 x 64 nodes bits still come closer to equilibrium in the same time.
    """
    kinds: list[type[Walkers]] = [BitWalkers, LockstepWalkers, GeneralWalkers]
    if not local:
        bits = model.n_states == 2 and model.n_nodes <= MOST_BIT_NODES
        kinds.insert(1 if bits else 0, ClusterWalkers)
        kinds.insert(-1, ClassClusterWalkers)
    return next(kind for kind in kinds if kind.unsupported(model) is None)
