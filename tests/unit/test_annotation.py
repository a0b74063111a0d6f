"""annotate: scanpy's objects in and out, a hidden cell type found."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, csr_matrix

from spinlearn import TemperatureRule
from spinlearn.engines import Multicanonical
from spinlearn.errors import GraphWarning, InvalidInputError, LabelWarning
from spinlearn.io.anndata_file import neighbour_graph
from spinlearn.io.dataset import ReadOptions
from spinlearn.io.reading import read_dataset
from spinlearn.workflows.annotation import annotate

anndata = pytest.importorskip("anndata")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # of anndata, scanpy and their dependencies
]

QUICK = Multicanonical(tol=0.2, max_sweeps=100)


def blobs(n_points: int = 60):
    """Three groups in the plane as an AnnData object, one label in two of them."""
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [8, 0], [0, 8]])
    truth = np.arange(n_points) % 3
    adata = anndata.AnnData(centres[truth] + rng.normal(scale=0.7, size=(n_points, 2)))
    adata.obs_names = [f"cell{k}" for k in range(n_points)]
    known = np.full(n_points, None, dtype=object)
    known[[0, 1]] = ["left", "right"]
    adata.obs["kind"] = known
    return adata, truth


def test_calls_probabilities_and_settings_are_written_and_round_trip(tmp_path):
    adata, truth = blobs()
    fitted = annotate(adata, "kind", method="paper", temperature=0.3)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    for where in (adata, again):
        obs = where.obs
        assert obs["spinlearn_call"].tolist() == [str(n) for n in fitted.names_]
        assert obs["spinlearn_status"].tolist() == fitted.status_.tolist()
        np.testing.assert_array_equal(obs["spinlearn_confidence"], fitted.confidence_)
        np.testing.assert_allclose(where.obsm["spinlearn_probability"], fitted.label_distributions_)
        assert list(where.uns["spinlearn"]["classes"]) == ["left", "right"]
        assert where.uns["spinlearn"]["temperature"] == 0.3
        assert "calls are right" in where.uns["spinlearn"]["notes"][0]
        assert "by junction_tree at" in where.uns["spinlearn"]["notes"][1]
    members = adata.obs["spinlearn_new_class"] == "new:1"
    assert np.mean(truth[members] == 2) == 1
    assert members.sum() >= 15  # of 20
    assert np.all(adata.obs["spinlearn_status"][members] == "new")


def test_the_neighbour_graph_is_used_where_there_is_one():
    adata, _ = blobs()
    assert neighbour_graph(adata, None) is None
    adata.obsp["connectivities"], adata.obsp["mine_connectivities"] = ring(), 2 * ring()
    adata.uns["mine"] = {"connectivities_key": "mine_connectivities"}
    assert annotate(adata, "kind").graph_.n_edges == 60
    np.testing.assert_allclose(annotate(adata, "kind", neighbors_key="mine").graph_.weights, 1.4)
    assert annotate(adata, "kind", use_rep="X").graph_.n_edges != 60
    with pytest.raises(InvalidInputError, match="key_added"):
        annotate(adata, "kind", neighbors_key="other")


def ring(n_points: int = 60):
    """Weights of a ring, as scanpy stores them."""
    u = np.arange(n_points)
    half = csr_array((np.full(n_points, 0.7), (u, (u + 1) % n_points)), shape=(n_points, n_points))
    return csr_array(half + half.T)


@pytest.mark.parametrize("key", ["title", "neighbors"])
def test_what_is_no_neighbour_graph_is_refused(tmp_path, key):
    adata, _ = blobs()
    adata.uns[key] = "my cells"
    named = None if key == "neighbors" else key
    said = rf"uns\['{key}'\] holds str.*name a neighbour graph that is there \(none is\)"
    with pytest.raises(InvalidInputError, match=said):
        annotate(adata, "kind", neighbors_key=named)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    with pytest.raises(InvalidInputError, match=rf"cells\.h5ad: .*{said}"):
        read_dataset(tmp_path / "cells.h5ad", ReadOptions(labels="kind", neighbors=named))
    assert annotate(adata, "kind", use_rep="X", temperature=0.3).graph_.n_nodes == 60


@pytest.mark.parametrize(
    ("uns", "places", "said"),
    [
        ({"title": "my cells"}, [], []),
        ({"rna": {"connectivities_key": "rna_connectivities"}}, ["rna_connectivities"],
         ["under another name: use it with", "rna"]),
        ({"neighbors": {"connectivities_key": "gone"}}, [],
         ["uns['neighbors'] is there, but its graph obsp['gone'] is not", "again"]),
    ],
)  # fmt: skip
def test_a_neighbour_graph_that_is_overlooked_is_told(tmp_path, uns, places, said):
    adata, _ = blobs()
    adata.uns.update(uns)
    for place in places:
        adata.obsp[place] = ring()
    adata.write_h5ad(tmp_path / "cells.h5ad")
    data = read_dataset(tmp_path / "cells.h5ad", ReadOptions(labels="kind"))
    assert data.graph is None
    if not said:  # there is no trace of one
        assert data.notes == ("features: X",)
        return
    (note,) = [n for n in data.notes if all(part in n for part in said)]
    with pytest.warns(GraphWarning) as heard:
        annotate(adata, "kind", temperature=0.3)
    assert any(all(part in str(w.message) for part in said) for w in heard)
    if places:
        assert "--neighbors rna" in note
        assert any("neighbors_key='rna'" in str(w.message) for w in heard)
        assert annotate(adata, "kind", neighbors_key="rna", key_added="b").graph_.n_edges == 60


def test_bad_objects_and_columns_are_refused():
    adata, _ = blobs()
    with pytest.raises(InvalidInputError, match="AnnData"):
        annotate(np.zeros((3, 2)), "kind")
    with pytest.raises(InvalidInputError, match="no column 'type'"):
        annotate(adata, "type")
    with pytest.raises(InvalidInputError, match="no 'X_scVI'"):
        annotate(adata, "kind", use_rep="X_scVI")
    adata.obs["full"] = ["a", "b"] * 30
    with pytest.warns(LabelWarning, match="nothing is left"):
        annotate(adata, "full", temperature=0.5)
    adata.obs["marked"] = ["u", "n", "unknown"] * 20
    adata.obs["counted"] = [1, 2, 0] * 20
    for column, nothing, classes in (
        ("marked", ["unknown"], ["n", "u"]),
        ("marked", "unknown", ["n", "u"]),  # one text is one value
        ("counted", [0], [1, 2]),
    ):
        fitted = annotate(adata, column, unlabelled=nothing, temperature=0.5)
        assert fitted.classes_.tolist() == classes


def test_what_another_tool_keeps_is_not_written_over():
    adata, _ = blobs()
    adata.uns["neighbors"] = {"params": {}}
    with pytest.raises(InvalidInputError, match="choose another key_added"):
        annotate(adata, "kind", key_added="neighbors")
    with pytest.raises(InvalidInputError, match="has no column"):
        annotate(adata, ["kind"])
    for _ in range(2):  # its own answer may be replaced
        annotate(adata, "kind", key_added="mine", temperature=TemperatureRule(grid=[0.1, 0.5]))
    assert adata.uns["neighbors"] == {"params": {}}


@pytest.mark.parametrize(
    "random_state", [None, np.random.RandomState(3), np.random.default_rng(3), np.int64(7)]
)
def test_any_seed_works_and_the_one_used_is_written(tmp_path, random_state):
    settings = {"method": "paper", "engine": QUICK, "temperature": "paper:grid=0.3,0.8"}
    adata, _ = blobs()
    annotate(adata, "kind", random_state=random_state, **settings)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    used = anndata.read_h5ad(tmp_path / "cells.h5ad").uns["spinlearn"]["random_state"]
    again, _ = blobs()
    annotate(again, "kind", random_state=used, **settings)
    for name in ("probability", "std_error"):
        np.testing.assert_array_equal(
            adata.obsm[f"spinlearn_{name}"], again.obsm[f"spinlearn_{name}"]
        )


def test_an_error_leaves_the_object_as_it_was(monkeypatch):
    adata, _ = blobs()
    with pytest.raises(InvalidInputError, match="'seven' cannot be used"):
        annotate(adata, "kind", random_state="seven")
    monkeypatch.setattr("spinlearn.answers.answer.Answer.notes", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        annotate(adata, "kind")
    assert list(adata.obs) == ["kind"]
    assert not adata.obsm
    assert not adata.uns


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_an_object_on_disk_gives_the_same_answer(tmp_path, form):
    adata, _ = blobs()
    expected = annotate(adata.copy(), "kind", temperature=0.3).names_
    adata.X = form(adata.X)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    assert annotate(backed, "kind", temperature=0.3).names_.tolist() == expected.tolist()
    assert backed.obs["spinlearn_call"].tolist() == expected.tolist()
    backed.file.close()


def test_the_method_applies_to_scanpys_graph_and_choices_are_stored(tmp_path):
    adata, _ = blobs()
    adata.obsp["connectivities"] = ring()
    ours = annotate(adata, "kind", novelty=0.5)
    papers = annotate(adata, "kind", method="paper", key_added="p")
    np.testing.assert_array_equal(ours.graph_.edges, papers.graph_.edges)
    assert ours.equilibrium_.engine == "belief_propagation"
    assert papers.equilibrium_.engine == "junction_tree"
    np.testing.assert_array_equal(papers.model_.graph.weights, papers.graph_.weights)
    np.testing.assert_allclose(ours.model_.graph.weights, ours.graph_.homogeneous().weights)
    assert adata.uns["spinlearn"]["settings"]["method"] == "auto"
    assert adata.uns["p"]["settings"]["method"] == "paper"
    adata.write_h5ad(tmp_path / "cells.h5ad")
    record = anndata.read_h5ad(tmp_path / "cells.h5ad").uns["spinlearn"]
    assert list(record["choices"]) == [str(choice) for choice in ours.choices_]
    assert set(record["choices"]) <= set(record["notes"])
    assert float(record["settings"]["novelty"]) == 0.5


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_proposals_tell_the_genes_by_which_they_differ(form):
    generator = np.random.default_rng(0)
    X, truth = generator.poisson(2.0, size=(150, 6)).astype(float), np.repeat([0, 1, 2], 50)
    for c in range(3):
        X[truth == c, c] += 30.0
    kinds = np.array([None] * 150, dtype=object)
    kinds[[0, 10, 20]], kinds[[50, 60, 70]] = "T", "B"  # nobody labels the third
    obs = pd.DataFrame({"kind": kinds}, index=[f"cell {k}" for k in range(150)])
    var = pd.DataFrame(index=[f"gene {g}" for g in range(6)])
    adata = anndata.AnnData(form(X), obs=obs, var=var)
    adata.obsm["X_pca"] = X[:, :3]
    fitted = annotate(adata, "kind", use_rep="X_pca")
    first = fitted.proposals_[0]
    assert set(truth[first.points]) == {2}
    assert first.n_features == 6
    assert "gene 2" in dict(first.features)
    assert adata.uns["spinlearn"]["proposals"][0] == first.text()
    np.testing.assert_array_equal(adata.obs["spinlearn_new"], fitted.new_probability_)
