"""The three ready explorers of the site: python docs/explorers.py FOLDER."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from spinlearn import PottsClassifier

LABELS_A_TYPE = 5


def toy(path: Path) -> None:
    """The two bands of the paper, exactly."""
    from spinlearn.datasets import two_bands

    bands = two_bands()
    names = np.array(["upper", "lower", ""], dtype=object)[bands.labels]
    clf = PottsClassifier(method="paper", temperature="paper:grid=0:2:21")
    clf.fit(bands.graph(), names).explore(path, pixels=bands.coordinates, title="Two bands")


def cells(path: Path) -> None:
    """Blood cells that come with scanpy, on its own neighbour graph."""
    import scanpy as sc

    adata = sc.datasets.pbmc68k_reduced()
    types = adata.obs["bulk_labels"].astype(str).to_numpy()
    rng = np.random.default_rng(0)
    known = np.full(len(types), "", dtype=object)
    for kind in np.unique(types):
        known[rng.choice(np.flatnonzero(types == kind), LABELS_A_TYPE, replace=False)] = kind
    clf = PottsClassifier(random_state=0).fit(adata.obsp["connectivities"], known)
    clf.explore(
        path, ids=adata.obs_names, coordinates=adata.obsm["X_umap"], title="700 blood cells"
    )


def digits(path: Path) -> None:
    """Handwritten digits that come with scikit-learn, one label a class."""
    from sklearn.datasets import load_digits

    X, truth = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    y = np.full(len(truth), -1)
    for digit in range(10):
        y[rng.choice(np.flatnonzero(truth == digit))] = digit
    PottsClassifier(random_state=0).fit(X, y).explore(path, title="1797 digits, one label a class")


def main(folder: Path) -> None:
    """Write the pages that are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for make in (toy, cells, digits):
        path = folder / f"{make.__name__}.html"
        if not path.exists():
            make(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
