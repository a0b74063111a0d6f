"""Answers to other labels about the same points: the same as from the beginning, or quicker."""

import copy
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from spinlearn.classifier import PottsClassifier
from spinlearn.errors import StoppedError
from spinlearn.io.dataset import Dataset
from spinlearn.labelling.refit import CENTRAL, Refit, doubted, new_groups, next_points
from spinlearn.workflows.fitting import Fitting

pytestmark = pytest.mark.slow

X, TRUTH = make_blobs(240, centers=4, n_features=5, cluster_std=1.6, random_state=2)
NAMES = [f"c{k}" for k in TRUTH]


def labels(*points):
    given = np.full(len(X), None, dtype=object)
    for point in points:
        given[point] = NAMES[point]
    return given


def firsts(count):
    """Some points of every class."""
    return [p for k in range(4) for p in np.flatnonzero(k == TRUTH)[:count].tolist()]


def loop_of(**settings):
    points = {"source": Path("x.csv"), "ids": [str(k) for k in range(len(X))], "points": X}
    data = Dataset(**points, labels=labels(), feature_names=list("abcde"), table=True)
    return Refit(Fitting(data, settings))


@pytest.mark.parametrize("method", ["auto", "messages", "paper"])
def test_relabelling_is_fitting_without_the_graph(method):
    settings = {"method": method, "random_state": 0}
    if method == "paper":
        settings["engine"] = "belief_propagation"
    before = PottsClassifier(**settings).fit(X, labels(*firsts(1)))
    again = copy.copy(before).relabel(labels(*firsts(3)))
    anew = PottsClassifier(**settings).fit(X, labels(*firsts(3)))
    np.testing.assert_array_equal(again.names_, anew.names_)
    np.testing.assert_array_equal(again.equilibrium_.marginals, anew.equilibrium_.marginals)
    assert again.graph_ is before.graph_
    assert list(map(str, again.choices_)) == list(map(str, anew.choices_))


def test_a_quick_answer_keeps_choices_and_agrees():
    given = firsts(3)
    base = PottsClassifier(random_state=0).fit(X, labels(*given[:-1]))
    quick = base.quickly_relabelled(labels(*given), base.plan_)
    whole = copy.copy(base).relabel(labels(*given))
    assert quick.answer_.law.shares == base.answer_.law.shares
    assert quick.temperature_ == base.temperature_
    assert np.mean(quick.names_ == whole.names_) > 0.97
    assert base.names_ is not quick.names_


def test_a_new_class_with_a_label_in_it_is_new_no_more():
    none = PottsClassifier(random_state=0).fit(X, labels())
    groups = list(none.new_classes_.values())
    assert len(groups) >= 3
    point = int(np.flatnonzero(none.model_.clamped == 0)[0])  # which holds the first of them
    quick = none.quickly_relabelled(labels(point), none.plan_)
    assert len(quick.new_classes_) == len(groups) - 1
    assert np.mean(quick.names_[groups[0]] == NAMES[point]) > 0.9


def test_there_is_no_quick_answer_for_the_papers_method():
    base = PottsClassifier(method="paper", engine="belief_propagation").fit(X, labels(*firsts(2)))
    assert base.quickly_relabelled(labels(*firsts(3)), base.plan_) is None


def test_the_loop_gives_the_answer_of_fit():
    loop = loop_of()
    names = [None] * len(X)
    assert loop.quick(names) is None  # nothing to go by
    clusters = loop.thorough(names)
    assert clusters.kind == "clusters"
    assert len(clusters.answer.new_classes) >= 3
    names[0] = NAMES[0]
    assert loop.thorough(names).kind == "clusters"  # one class is no matter for fit
    for point in firsts(2):
        names[point] = NAMES[point]
    shown = loop.thorough(names)
    data = loop.fitting.data
    given = labels(*firsts(2), 0)
    parts = {"source": data.source, "ids": data.ids, "points": X, "feature_names": list("abcde")}
    fitted, _ = Fitting(Dataset(**parts, labels=given, table=True)).result(given)
    assert shown.kind == "fit"
    assert shown.result.table(data.ids).csv() == fitted.table(data.ids).csv()
    plain = [dict(r.settings, seconds=0, diagnostics=0) for r in (shown.result, fitted)]
    assert plain[0] == plain[1]


def test_what_is_stopped_is_no_answer():
    loop = loop_of()
    with pytest.raises(StoppedError):
        loop.thorough([None] * len(X), lambda report: True)
    with pytest.raises(StoppedError):
        next_points(loop.thorough([None] * len(X)).answer, lambda: True)


def test_advice_is_there_with_and_without_labels():
    loop = loop_of()
    clusters = loop.thorough([None] * len(X)).answer
    first = next_points(clusters, lambda: False)
    assert len({TRUTH[item["point"]] for item in first}) >= 3  # spread over the clusters
    assert all("speaks for" in item["why"] for item in first)
    assert doubted(clusters) == []
    names = [NAMES[p] if p in firsts(3) else None for p in range(len(X))]
    wrong = firsts(3)[1]
    names[wrong] = NAMES[firsts(3)[-1]]
    found = doubted(loop.thorough(names).answer)
    assert [item["point"] for item in found] == [wrong]
    assert found[0]["instead"] == NAMES[wrong]


def test_central_members_stand_for_a_new_class():
    answer = loop_of().thorough([None] * len(X)).answer
    groups = new_groups(answer)
    assert [g["size"] for g in groups] == sorted((g["size"] for g in groups), reverse=True)
    for group in groups[:3]:
        assert len(group["points"]) == CENTRAL
        assert set(answer.names[group["points"]]) == {group["group"]}
