"""Sparse features: texts are points by their directions, and nothing is written out densely."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.io import mmwrite
from sklearn.neighbors import kneighbors_graph

from spinlearn import KNN, PottsClassifier
from spinlearn.errors import GraphWarning, InvalidInputError
from spinlearn.graphs.points import Reduction
from spinlearn.inputs import read_graph
from spinlearn.io.dataset import ReadOptions
from spinlearn.io.reading import read_dataset
from spinlearn.labelling.thumbnails import Thumbnails
from spinlearn.workflows.fitting import Fitting

TOPICS, WORDS = 3, 400


def texts(n, seed=0, words=WORDS):
    """Counts (n, words) of words, of which every third is of one topic, and the topics."""
    rng = np.random.default_rng(seed)
    topic = np.arange(n) % TOPICS
    likes = np.where(np.arange(words) % TOPICS == topic[:, None], 6.0, 1.0)
    chosen = rng.random((n, words)) < 0.03 * likes * np.minimum(1, 400 / words)
    return sparse.csr_array(chosen * rng.integers(1, 4, (n, words))), topic


X, TRUTH = texts(150)
Y = np.where(np.arange(len(TRUTH)) < 15, TRUTH, -1)


def signed(n=60, d=30):
    rng = np.random.default_rng(1)
    return np.where(rng.random((n, d)) < 0.5, rng.normal(size=(n, d)), 0.0)


def test_texts_are_classified_and_the_choice_is_said():
    model = PottsClassifier(random_state=0).fit(X, Y)
    assert np.mean(model.transduction_ == TRUTH) > 0.9
    assert "nearest neighbours by cosine in 25 singular components" in str(model.choices_[0])
    assert model.n_features_in_ == WORDS
    unseen, topics = texts(60, seed=7)
    laws = model.predict_proba(unseen)
    np.testing.assert_allclose(model.predict_proba(unseen.toarray()), laws, atol=1e-9)
    assert np.mean(model.predict(unseen) == topics) > 0.8


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "int64", "zeros", "matrix"])
def test_every_form_of_a_sparse_matrix_is_the_same(form):
    if form == "int64":
        same = X.copy()
        same.indices, same.indptr = same.indices.astype(np.int64), same.indptr.astype(np.int64)
    elif form == "zeros":  # stored
        same = X + sparse.csr_array(([1.0], ([0], [5])), shape=X.shape)
        same[0, 5] = X[0, 5]
    else:
        same = sparse.csr_matrix(X) if form == "matrix" else X.asformat(form)
    assert KNN().build(same).edges.tolist() == KNN().build(X.astype(float)).edges.tolist()
    np.testing.assert_allclose(KNN().build(same).weights, KNN().build(X).weights, rtol=1e-9)


@pytest.mark.parametrize("kind", [bool, np.int8, np.float32])
def test_numbers_of_any_type_will_do(kind):
    flags = X.astype(bool)
    assert KNN().build(flags.astype(kind)).edges.tolist() == KNN().build(flags).edges.tolist()


def test_all_components_of_texts_are_the_cosine_of_their_dense_form():
    few = abs(sparse.csr_array(signed(80, 40)))
    graph = KNN(n_components=40, weights="local").build(few)
    dense = KNN(metric="cosine", weights="local").build(few.toarray())
    np.testing.assert_array_equal(graph.edges, dense.edges)
    places = Reduction.of(few, 40).apply(few)
    rows = few.toarray() / np.linalg.norm(few.toarray(), axis=1, keepdims=True)
    np.testing.assert_allclose(places @ places.T, rows @ rows.T, atol=1e-12)


def test_all_components_of_signed_features_are_the_distances_of_their_dense_form():
    dense = signed()
    graph, other = (KNN(n_components=30).build(sparse.csr_array(dense)), KNN().build(dense))
    np.testing.assert_array_equal(graph.edges, other.edges)
    np.testing.assert_allclose(graph.weights, other.weights, rtol=1e-9)


def test_a_text_is_as_near_however_often_it_is_repeated():
    lengths = sparse.diags_array(np.random.default_rng(0).uniform(1e-3, 1e3, X.shape[0]))
    np.testing.assert_allclose(KNN().build(lengths @ X).weights, KNN().build(X).weights, rtol=1e-6)


def test_components_tell_what_they_hold():
    rows = sparse.csr_array(signed())
    found = Reduction.of(rows, 30)
    np.testing.assert_allclose(found.spread, rows.toarray().std(axis=0))
    assert found.explained == pytest.approx(1.0)
    assert 0 < Reduction.of(rows, 5).explained < 0.9


def test_the_dense_form_is_never_held():
    wide = sparse.random_array((400, 200_000), density=1e-4, random_state=0)  # 640 MB if dense
    tracemalloc.start()
    graph = KNN(n_components=10).build(wide)
    graph_peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert graph.n_nodes == 400
    assert graph_peak < 2e8


def test_empty_rows_are_named_and_answered():
    rows = X.tolil()
    rows[[20, 40]] = 0
    with pytest.warns(GraphWarning, match="2 rows of X are empty, the first of them row 20.*drop"):
        model = PottsClassifier(random_state=0).fit(rows, Y)
    assert np.all(np.isfinite(model.label_distributions_))
    assert np.all(np.isfinite(model.predict_proba(sparse.csr_array((1, WORDS)))))


# -- a square matrix ------------------------------------------------------------------------------


class Asker:
    """What `read_graph` takes for an estimator."""

    def __init__(self, graph):
        self.graph = graph


def test_a_square_matrix_is_a_graph_if_symmetric_and_features_only_if_that_is_said():
    square = abs(sparse.csr_array(signed(60, 60)))
    assert read_graph(PottsClassifier(), square + square.T, "knn").points is None
    for said in ("knn:5", KNN(n_neighbors=5)):
        estimator = PottsClassifier(graph=said)
        assert read_graph(estimator, square, said).points.shape == (60, 10)
    for unsaid in ("knn", "knn:metric=precomputed"):
        with pytest.raises(InvalidInputError, match=r"not symmetric.*W\.maximum\(W\.T\)"):
            read_graph(Asker(unsaid), square, unsaid)


def test_distances_to_neighbours_are_no_graph():
    points = np.random.default_rng(0).normal(size=(40, 3))
    lists = kneighbors_graph(points, 5, mode="distance")
    for graph in ("auto", "knn:metric=precomputed"):
        with pytest.raises(InvalidInputError, match=r"5 rising values.*mode='distance'.*np\.exp"):
            PottsClassifier(graph=graph).fit(lists, np.arange(40) % 2)
    similar = lists.copy()
    similar.data = np.exp(-((similar.data / similar.data.mean()) ** 2))
    PottsClassifier().fit(similar.maximum(similar.T), np.where(np.arange(40) < 9, 1, -1))


# -- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csr.npz", "csc.npz", "coo.npz", "mtx"])
def test_a_file_with_a_matrix_that_is_not_square_holds_features(tmp_path, kind):
    file, labels = tmp_path / f"texts.{kind}", tmp_path / "labels.npy"
    if kind == "mtx":
        mmwrite(file, X)
    else:
        sparse.save_npz(file, X.asformat(kind[:3]))
    np.save(labels, Y)
    data = read_dataset(file, ReadOptions(labels_file=labels))
    assert data.graph is None
    assert data.ids == [str(k) for k in range(len(Y))]
    assert "features: sparse, 150 rows of 400" in data.notes
    np.testing.assert_array_equal(data.points.toarray(), X.toarray())
    fitting = Fitting(data, {})
    result, _ = fitting.result(data.labels)
    expected = PottsClassifier().fit(X, Y)
    assert fitting.fitted.graph_.edges.tolist() == expected.graph_.edges.tolist()
    np.testing.assert_array_equal(result.calls, expected.transduction_)


def test_a_large_sparse_matrix_of_an_h5ad_stays_sparse(tmp_path, monkeypatch):
    anndata = pytest.importorskip("anndata")
    held = anndata.AnnData(sparse.csr_matrix(X.astype(float)))
    held.obs["topic"] = np.where(Y < 0, "", Y.astype(str))
    held.write_h5ad(tmp_path / "texts.h5ad")
    dense = read_dataset(tmp_path / "texts.h5ad", ReadOptions(labels="topic"))
    monkeypatch.setattr("spinlearn.io.anndata_file.MOST_WRITTEN", 1000)
    data = read_dataset(tmp_path / "texts.h5ad", ReadOptions(labels="topic"))
    assert "too large to be written out" in data.notes[-1]
    np.testing.assert_array_equal(data.points.toarray(), dense.points)
    assert Fitting(data, {}).points.shape == X.shape


def test_what_sparse_files_cannot_do_is_said(tmp_path):
    file, labels = tmp_path / "texts.npz", tmp_path / "labels.npy"
    sparse.save_npz(file, X)
    np.save(labels, np.zeros(WORDS))
    with pytest.raises(InvalidInputError, match="features as rows and points as columns"):
        read_dataset(file, ReadOptions(labels_file=labels))
    np.save(labels, Y)
    data = read_dataset(file, ReadOptions(labels_file=labels))
    with pytest.raises(InvalidInputError, match="would fill the zeros of sparse features"):
        _ = Fitting(data, {"scale": "standard"}).points
    with pytest.raises(InvalidInputError, match="sparse features, which the page cannot show"):
        Thumbnails(data)
