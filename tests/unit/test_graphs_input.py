"""Whatever cannot be used is refused with fact, cause and remedy; whatever can be is used."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from spinlearn.errors import InvalidInputError
from spinlearn.graphs import KNN, MutualKNN, Radius

BUILDERS = [KNN(n_neighbors=2), MutualKNN(n_neighbors=2), Radius(radius=2.0)]
X = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 3.0], [2.0, 2.0]])


@pytest.mark.parametrize(
    "same",
    [
        X.tolist(),
        X.astype(np.uint64),
        X.astype(np.float16),
        X.astype(np.longdouble),
        X.astype(object),
        [[Decimal(int(x)) for x in row] for row in X],
        np.asfortranarray(X),
        np.ma.masked_array(X),
        pd.DataFrame(X, index=list("dcba"), columns=["b", "a"]),
        pd.DataFrame(X).astype("Int64"),
        pd.DataFrame({"a": X[:, 0].astype(int), "b": X[:, 1]}),
    ],
    ids=lambda same: f"{type(same).__name__}-{getattr(same, 'dtype', '')}",
)
@pytest.mark.parametrize("builder", BUILDERS)
def test_any_table_of_numbers_will_do(builder, same):
    expected, graph = builder.build(X), builder.build(same)
    np.testing.assert_array_equal(graph.edges, expected.edges)
    np.testing.assert_array_equal(graph.weights, expected.weights)
    attached = builder.attach(same, same)
    np.testing.assert_array_equal(attached.toarray(), builder.attach(X, X).toarray())


def test_numbers_of_numpy_and_booleans_are_numbers():
    flags = X > 1
    np.testing.assert_array_equal(KNN().build(flags).edges, KNN().build(pd.DataFrame(flags)).edges)
    assert KNN(n_neighbors=np.int32(2)).build(X).n_edges == KNN(n_neighbors=2).build(X).n_edges
    assert Radius(radius=np.float32(2)).build(X).n_edges == Radius(radius=2).build(X).n_edges


BAD_POINTS = [
    (np.where(X == 3, np.nan, X), "1 NaN or infinite values, the first at row 2, column 1.*impute"),
    (pd.DataFrame(X).astype("Int64").mask(X == 3), "1 NaN"),
    (np.empty((0, 3)), "no points"),
    (np.empty((3, 0)), "no features"),
    (np.arange(5.0), r"2-D.*shape \(5,\).*reshape\(-1, 1\)"),
    ([["a", "b"], ["c", "d"]], "real numbers.*<U1.*encode"),
    (X + 1j, "real numbers.*complex"),
    ([[1.0, 2.0], [3.0]], "real numbers.*inhomogeneous"),
    (pd.DataFrame({f"t{i}": ["x"] for i in range(9)}), r"9 .*\(t0, t1, t2, t3, t4, \.\.\.\)"),
]


@pytest.mark.parametrize(("bad", "message"), BAD_POINTS)
def test_bad_points_are_refused(bad, message):
    with pytest.raises(InvalidInputError, match=f"^X .*(?:{message})"):
        KNN().build(bad)
    with pytest.raises(InvalidInputError, match=f"^X_new .*(?:{message})"):
        Radius(radius=2.0).attach(bad, X)


def test_sparse_unseen_points_need_the_components_of_sparse_training_points():
    with pytest.raises(InvalidInputError, match=r"X_new is sparse.*X_new\.toarray\(\)"):
        KNN().attach(sparse.csr_array(X), X)


def test_unseen_points_must_have_the_same_features():
    with pytest.raises(InvalidInputError, match=r"X_new has 3 features.*training points have 2"):
        KNN().attach(np.ones((1, 3)), X)
    with pytest.raises(InvalidInputError, match=r"X_new has 2 columns.*\(n_new, 3\)"):
        KNN(metric="precomputed").attach(np.ones((1, 2)), np.zeros((3, 3)))


@pytest.mark.parametrize(("metric", "row"), [("cosine", [0.0] * 3), ("correlation", [0.1] * 3)])
def test_points_without_a_direction_are_refused(metric, row):
    good = np.array([[1.0, 2.0, 4.0], [3.0, 1.0, 2.0]])
    with pytest.raises(InvalidInputError, match=f"{metric}.* 1 rows of X .*row 2.*euclidean"):
        KNN(metric=metric).build([*good, row])
    with pytest.raises(InvalidInputError, match=f"{metric}.* 1 rows of X_new .*row 0"):
        KNN(metric=metric).attach([row], good)


@pytest.mark.parametrize(
    ("distances", "message"),
    [
        (sparse.csr_array(np.ones((3, 3))), "sparse.*dense.*as_graph"),
        (np.ones((3, 2)), r"square.*\(3, 2\)"),
        (np.array([[0, 1.0], [2, 0]]), r"not symmetric.*\(D \+ D.T\) / 2"),
        (np.array([[0, -1.0], [-1, 0]]), "negative.*-1.*similarities"),
        (np.array([[1, 0.5], [0.5, 1]]), "diagonal.*from_sparse"),
        (np.array([[0, np.nan], [np.nan, 0]]), "2 NaN"),
    ],
)
def test_bad_distance_matrices_are_refused(distances, message):
    with pytest.raises(InvalidInputError, match=message):
        MutualKNN(metric="precomputed").build(distances)


@pytest.mark.parametrize(
    ("builder", "message"),
    [
        *[(KNN(n_neighbors=k), "n_neighbors=.*whole number >= 1") for k in (0, 2.5, "3", True)],
        *[(Radius(radius=r), "radius=.*finite number > 0") for r in (0, np.nan, np.inf, "1", True)],
        (KNN(metric="manhattan"), "metric=.*'correlation', 'precomputed'"),
        (MutualKNN(weights="cubic"), "weights='cubic'.*'gaussian', 'local'"),
        (MutualKNN(spanning_tree="yes"), "spanning_tree must be True or False"),
    ],
)
def test_bad_settings_are_refused_when_used(builder, message):
    for use in (builder.build, lambda points: builder.attach(points, points)):
        with pytest.raises(InvalidInputError, match=message):
            use(X)
