"""A model that two workers can share."""

from sklearn.datasets import make_blobs

from spinlearn.energies import Modularity
from spinlearn.graphs import KNN
from spinlearn.model.potts import PottsModel
from tests.conftest import few_labels


def clouds(n: int = 400, q: int = 4) -> PottsModel:
    """Overlapping clouds with three labels each, the cut beside a null model."""
    X, truth = make_blobs(n, centers=q, n_features=5, cluster_std=2.5, random_state=0)
    graph = KNN(search="exact").build(X).homogeneous()
    return Modularity(resolution=0.5)(graph, few_labels(truth, 3), q)
