"""annotate: classify the cells of an AnnData object from the few labels in one column of obs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from spinlearn import __version__
from spinlearn.answers.answer import Answer
from spinlearn.answers.labels import clean_labels
from spinlearn.answers.proposal import largest_differences
from spinlearn.classifier import PottsClassifier
from spinlearn.errors import GraphWarning, InvalidInputError, LabelWarning
from spinlearn.io.anndata_file import neighbour_graph, overlooked_graph, representation
from spinlearn.model.protocols import Seed, seed_sequence

KEY = "spinlearn"


def annotate(
    adata: Any,
    labels: str = "cell_type",
    *,
    neighbors_key: str | None = None,
    use_rep: str | None = None,
    unlabelled: str | Sequence[str] = (),
    key_added: str = KEY,
    random_state: Seed = 0,
    **settings: Any,
) -> Any:
    """Classify all cells of an AnnData object and write the answer into it.

    Scanpy's neighbour graph is used where there is one. The answer is written in forms that h5ad
    files can hold:

    - ``obs["spinlearn_call"]``: class, "new:1"; by the paper's rule also "confused:A|B"
    - ``obs["spinlearn_status"]``: the confidence in a word
    - ``obs["spinlearn_confidence"]``: probability of the call
    - ``obs["spinlearn_second"]``: the most probable other class
    - ``obs["spinlearn_new_class"]``: "new:1", ... for the cells of a new class, else missing
    - ``obs["spinlearn_new"]``: probability of being in no named class
    - ``obsm["spinlearn_probability"]``: one column per class, as in ``uns["spinlearn"]["classes"]``
    - ``obsm["spinlearn_std_error"]``: likewise, where averages are sampled
    - ``uns["spinlearn"]``: classes, accuracy, engine, settings; choices with their reasons;
      proposals, groups that may be a type of their own, with the genes of adata.X by which they
      differ; notes, how the answer was found, in words

    Parameters
    ----------
    adata : AnnData
        Cells; it is changed in place.
    labels : str, default "cell_type"
        Column of obs; missing or empty where a cell is unlabelled.
    neighbors_key : str, optional
        Where ``scanpy.pp.neighbors(key_added=...)`` put its graph; default: the usual place.
        Without any graph one is built from `use_rep`.
    use_rep : str, optional
        Build a graph from ``obsm[use_rep]`` (or "X") even if there is one already.
    unlabelled : str or sequence of str, optional
        Further values that mean "no label", for instance "unknown".
    key_added : str, default "spinlearn"
        Prefix of everything that is written.
    random_state : int, generator or None, default 0
        Seed; the number used is written to uns.
    **settings
        Parameters of `PottsClassifier`: method, novelty, proportions, engine, temperature, ... The
        method applies to scanpy's graph as to one that is built.

    Returns
    -------
    PottsClassifier
        Fitted; its ``decide(T)`` gives the answer at other temperatures.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> import pandas as pd
    >>> import spinlearn
    >>> X = np.r_[np.linspace(0, 1, 10), np.linspace(3, 4, 10)][:, None]
    >>> types = [None] * 20
    >>> types[2], types[12] = "B cell", "T cell"
    >>> obs = pd.DataFrame({"cell_type": types}, index=[f"cell {k}" for k in range(20)])
    >>> cells = anndata.AnnData(X, obs=obs)
    >>> clf = spinlearn.annotate(cells, "cell_type", method="paper")
    >>> cells.obs["spinlearn_call"].value_counts().to_dict()
    {'B cell': 10, 'T cell': 10}
    """
    if not all(hasattr(adata, part) for part in ("obs", "obsm", "obsp", "uns", "n_obs")):
        raise InvalidInputError(
            f"annotate needs an AnnData object, got {type(adata).__name__}: read one with "
            "anndata.read_h5ad, or use PottsClassifier for arrays"
        )
    if not isinstance(labels, str) or labels not in adata.obs:
        raise InvalidInputError(
            f"adata.obs has no column {labels!r}: it has {', '.join(map(str, adata.obs.columns))}"
        )
    _check_key(adata, key_added)
    no_label = [unlabelled] if isinstance(unlabelled, str) else [str(v) for v in unlabelled]
    y = clean_labels(list(adata.obs[labels]), no_label, f"obs[{labels!r}]")
    if all(v is not None for v in y):
        warnings.warn(
            f"every cell has a label in obs[{labels!r}]: nothing is left to classify; set those "
            "that are not certain to missing, or name the value that means so in unlabelled=",
            LabelWarning,
            stacklevel=2,
        )
    X: Any = None
    source = "obsp connectivities"
    if use_rep is None:
        X = neighbour_graph(adata, neighbors_key)
        traces = overlooked_graph(adata, "neighbors_key={!r}") if X is None else None
        if traces:
            warnings.warn(traces, GraphWarning, stacklevel=2)
    if X is None:
        X, source = representation(_Loaded(adata), use_rep)
    if not isinstance(random_state, (int, np.integer)):  # one that uns holds, to be given again
        random_state = int(seed_sequence(random_state).generate_state(1)[0])
    classifier = PottsClassifier(random_state=int(random_state), **settings).fit(X, y)
    _tell_genes(adata, classifier)
    _write(adata, classifier, key_added, {"labels": labels, "graph": source, **settings})
    return classifier


def _check_key(adata: Any, key: str) -> None:
    """Refuse to write over what another tool keeps."""
    kept = adata.uns.get(key, {})
    if key in adata.uns and not (hasattr(kept, "keys") and {"engine", "tau"} <= set(kept.keys())):
        raise InvalidInputError(
            f"adata.uns[{key!r}] holds something else, and key_added={key!r} would write over it: "
            "choose another key_added, or remove that"
        )


def check_h5ad(data: Path, n_points: int | None = None) -> None:
    """Refuse a file to which `write_h5ad` could not add an answer about `n_points`."""
    if data.suffix.lower() != ".h5ad":
        raise InvalidInputError(f"--write-h5ad adds the answer to an .h5ad file, not to {data}")
    if n_points is None:
        return
    adata = _read(data)
    if adata.n_obs != n_points:
        raise InvalidInputError(
            f"{data} holds {adata.n_obs} cells, of which {n_points} are classified, and "
            "--write-h5ad writes all: leave out --missing drop, or --write-h5ad"
        )
    _check_key(adata, KEY)


def write_h5ad(path: Path, data: Path, fitted: Any, labels: str | None) -> None:
    """Write the AnnData file `data` with the answer of a classifier, as `annotate` leaves it."""
    adata = _read(data)
    _tell_genes(adata, fitted)
    _write(adata, fitted, KEY, {"labels": labels})
    adata.write_h5ad(path)


def _read(data: Path) -> Any:
    import anndata

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that repeat were told in a note
        return anndata.read_h5ad(data)


@dataclass(frozen=True, slots=True)
class _Loaded:
    """An AnnData object whose parts are read into memory when they are used, if on disk."""

    adata: Any

    def __getattr__(self, name: str) -> Any:
        part = getattr(self.adata, name)
        return part.to_memory() if hasattr(part, "to_memory") else part


def _tell_genes(adata: Any, fitted: Any) -> None:
    """Let proposals say by which genes they differ, where the object holds genes."""
    answer: Answer = fitted.answer_
    X = getattr(adata, "X", None)
    if X is None or not answer.proposals or hasattr(X, "to_memory"):
        return
    X = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
    square = X.multiply(X) if hasattr(X, "multiply") else X**2
    mean, second = (np.asarray(v.mean(axis=0)).ravel() for v in (X, square))
    spread = np.sqrt(np.maximum(second - mean**2, 0.0))
    names, told = adata.var_names, []
    for one in answer.proposals:
        inside = np.zeros(adata.n_obs, dtype=bool)
        inside[one.points] = True
        beside = np.flatnonzero((answer.forced_labels.astype(str) == one.beside) & ~inside)
        found: tuple[tuple[str, float], ...] = ()
        if len(beside):
            means = [np.asarray(X[rows].mean(axis=0)).ravel() for rows in (one.points, beside)]
            found = largest_differences(means[0] - means[1], spread, names)
        told.append(replace(one, features=found, n_features=len(names)))
    fitted.answer_ = replace(answer, proposals=tuple(told))


def _write(adata: Any, fitted: Any, key: str, settings: dict[str, Any]) -> None:
    """Compute everything first, so that an error leaves the object as it was."""
    import pandas as pd

    answer: Answer = fitted.answer_
    names = answer.names.astype(str).astype(object)
    new = names.copy()
    new[answer.status != "new"] = None
    columns = {
        "call": pd.Categorical(names),
        "status": pd.Categorical(answer.status.astype(object)),
        "confidence": np.array(answer.confidence),
        "second": pd.Categorical(answer.second),
        "new_class": pd.Categorical(new),
        "new": np.array(answer.new_probability),
    }
    tables = {"probability": np.ascontiguousarray(answer.probabilities)}
    if answer.std_error is not None:
        tables["std_error"] = np.array(answer.std_error)
    record = {
        "version": __version__,
        "classes": np.array([str(c) for c in answer.classes], dtype=object),
        "accuracy": np.array(answer.expected_accuracy),
        "temperature": answer.temperature,
        "engine": str(getattr(fitted.plan_.engine, "name", fitted.plan_.engine)),
        "tau": answer.tau,
        "random_state": fitted.random_state,
        "settings": {k: str(v) for k, v in {**fitted.get_params(False), **settings}.items()},
        "choices": np.array(answer.choices, dtype=object),
        "proposals": np.array([one.text() for one in answer.proposals], dtype=object),
        "notes": np.array(answer.notes(), dtype=object),
    }
    for name, values in columns.items():
        adata.obs[f"{key}_{name}"] = values
    for name, table in tables.items():
        adata.obsm[f"{key}_{name}"] = table
    adata.uns[key] = record
