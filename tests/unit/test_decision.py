"""The decision rule on hand-worked cases, the profile, T*, and the counting of errors."""

from __future__ import annotations

import numpy as np
import pytest

from spinlearn.core.arrays import frozen
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.core.results import Equilibrium
from spinlearn.decision import (
    Profile,
    Status,
    best_temperature,
    decide,
    information,
    outcome_name,
    profile,
    recommended_temperature,
    stability,
    trusted_rows,
)
from spinlearn.engines import JunctionTree
from spinlearn.errors import InvalidInputError
from spinlearn.scoring import misclassified


def equilibrium(n, edges, rows, q=2, clamped=None):
    """An equilibrium with given marginals and agreements: rows of (T, p of state 0, C)."""
    model = PottsModel(Graph(n, edges), q, clamped=clamped)
    temperatures = [r[0] for r in rows]
    first = np.array([r[1] for r in rows], dtype=float)
    marginals = first if first.ndim == 3 else np.stack([first, 1 - first], axis=2)
    return Equilibrium(
        model=model,
        temperatures=temperatures,
        marginals=marginals,
        edge_agreement=[r[2] for r in rows],
        mean_energy=np.zeros(len(rows)),
        heat_capacity=np.zeros(len(rows)),
        converged=np.ones(len(rows), bool),
        engine="by hand",
    )


CHAIN = [(0, 1), (1, 2), (2, 3)]


def status_names(decision):
    return [Status(s).name for s in decision.status]


def test_confident_and_grown():
    # Nodes 0 and 3 clamped to 0 and 1; node 1 confident; node 2 unsure but tied to 3 only.
    run = equilibrium(
        4, CHAIN, [(1.0, [1.0, 0.56, 0.52, 0.0], [0.9, 0.74, 0.76])], clamped=[0, -1, -1, 1]
    )
    d = decide(run, 1.0)
    assert status_names(d) == ["LABELLED", "CONFIDENT", "GROWN", "LABELLED"]
    assert d.outcomes.tolist() == [0, 0, 1, 1]
    np.testing.assert_allclose(d.margin, [1.0, 0.12, 0.04, 1.0])


def test_confused_names_its_classes():
    run = equilibrium(
        4, CHAIN, [(1.0, [1.0, 0.52, 0.52, 0.0], [0.9, 0.8, 0.76])], clamped=[0, -1, -1, 1]
    )
    d = decide(run, 1.0)
    assert status_names(d) == ["LABELLED", "CONFUSED", "CONFUSED", "LABELLED"]
    assert d.candidates(1) == (0, 1)
    assert d.candidates(0) == (0,)
    assert outcome_name(int(d.outcomes[1]), ["A", "B"], d.confused_sets) == "confused:A|B"


def test_each_component_without_a_class_is_a_new_class_of_its_own():
    # 0 is labelled and cut off; {1, 2} and {3, 4, 5} hold together, 6 is alone.
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)]
    run = equilibrium(
        7,
        edges,
        [(1.0, [1.0] + 6 * [0.5], [0.6, 0.9, 0.7, 0.9, 0.75, 0.749])],
        clamped=[0] + 6 * [-1],
    )
    d = decide(run, 1.0)
    assert status_names(d) == ["LABELLED"] + 6 * ["NEW"]
    members = {k: v.tolist() for k, v in d.new_classes().items()}
    assert members == {1: [3, 4, 5], 2: [1, 2], 3: [6]}  # numbered by size
    assert d.candidates(6) == ()
    assert outcome_name(int(d.outcomes[3]), ["A", "B"], d.confused_sets) == "new:1"


def test_thresholds_depend_on_q_and_tau():
    # q = 4: edges survive from (1 + 1/4)/2 = 0.625 on.
    p = np.array([[[1, 0, 0, 0], [0.4, 0.3, 0.2, 0.1], [0.3, 0.3, 0.2, 0.2]]])
    run = equilibrium(3, [(0, 1), (1, 2)], [(1.0, p[0], [0.625, 0.6249])], q=4, clamped=[0, -1, -1])
    d = decide(run, 1.0)  # 0.4 - 0.3 = tau exactly is not more than tau: node 1 is grown
    assert status_names(d) == ["LABELLED", "GROWN", "NEW"]
    assert status_names(decide(run, 1.0, tau=0.05)) == ["LABELLED", "CONFIDENT", "NEW"]


def test_a_nameless_state_never_makes_a_point_confident():
    p = np.array([[1.0, 0.0], [0.1, 0.9], [0.2, 0.8]])
    run = equilibrium(3, [(0, 1), (1, 2)], [(1.0, p, [0.1, 0.9])], clamped=[0, -1, -1])
    d = profile(run, n_classes=1).decision(0)
    assert status_names(d) == ["LABELLED", "NEW", "NEW"]


def test_profile_intervals_and_tracking_of_new_classes():
    edges = [(0, 1), (1, 2), (2, 3), (3, 4)]
    rows = [
        (2.0, [1.0, 0.5, 0.5, 0.5, 0.5], [0.5, 0.9, 0.5, 0.5]),  # new {1, 2}, {3}, {4}
        (0.0, [1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]),  # all class 0
        (1.0, [1.0, 0.5, 0.5, 0.5, 0.5], [0.5, 0.9, 0.9, 0.5]),  # new {1, 2, 3}, {4}
    ]
    found = profile(equilibrium(5, edges, rows, clamped=[0, -1, -1, -1, -1]))
    assert found.temperatures.tolist() == [0.0, 1.0, 2.0]
    first = [(i.low, i.high, i.outcome) for i in found.intervals(1)]
    assert first[0] == (0.0, 0.5, 0)
    assert first[1][:2] == (0.5, 2.0)  # {1, 2} shares 2/3 with {1, 2, 3}: the same new class
    assert len(found.intervals(3)) == 3  # 3 left it
    assert len(found.intervals(4)) == 2
    renumbered = found.numbered_from(2)
    assert set(renumbered.decision(2).new_classes()) == {1, 2, 3}
    assert renumbered.decision(2).new_classes()[1].tolist() == [1, 2]
    assert renumbered.decision(1).new_classes()[1].tolist() == [1, 2, 3]


def test_reference_profile_lends_its_numbers():
    edges = [(0, 1), (2, 3)]
    grid = equilibrium(4, edges, [(1.0, 4 * [0.5], [0.5, 0.9]), (2.0, 4 * [0.5], [0.5, 0.5])])
    found = profile(grid, n_classes=0)
    numbers = found.decision(0).new_classes()
    between = equilibrium(4, edges, [(1.2, 4 * [0.5], [0.9, 0.9])])
    tracked = profile(between, n_classes=0, reference=found).decision(0).new_classes()
    pair = next(k for k, v in numbers.items() if v.tolist() == [2, 3])
    assert tracked[pair].tolist() == [2, 3]
    fresh = next(k for k, v in tracked.items() if v.tolist() == [0, 1])
    assert fresh not in numbers


def test_stability_is_worked_out_by_hand():
    # Nodes 1, 2 are class 1 at T = 0 and confidently class 0 at T = 1 and 2; node 2 only at 1.
    rows = [
        (0.0, [1.0, 0.0, 0.0], [1.0, 1.0]),
        (1.0, [1.0, 0.9, 0.8], [0.9, 0.9]),
        (2.0, [1.0, 0.9, 0.2], [0.9, 0.9]),
        (3.0, [1.0, 0.2, 0.2], [0.9, 0.9]),
    ]
    found = profile(equilibrium(3, [(0, 1), (1, 2)], rows, clamped=[0, -1, -1]))
    # Cells end at the midpoints 0.5, 1.5, 2.5: node 1 holds class 0 over [0.5, 2.5], node 2 over
    # [0.5, 1.5].
    np.testing.assert_allclose(stability(found), [0.0, 3.0, 2.0, 0.0])
    assert recommended_temperature(found) == 1.0
    assert recommended_temperature(found, eta_min=3.1) == 0.0
    assert recommended_temperature(found, eta_min=3.0) == 1.0


def test_infinite_temperature_does_not_win():
    rows = [(0.0, [1.0, 0.0], [1.0]), (1.0, [1.0, 0.8], [1.0]), (np.inf, [1.0, 0.9], [0.5])]
    found = profile(equilibrium(2, [(0, 1)], rows, clamped=[0, -1]))
    assert recommended_temperature(found) == 1.0


def two_classes_and_a_piece(n_labels, piece=5, half=6):
    """Two classes of equal size, and a piece that is new at T = 1 and falls apart at T = 2."""
    n = 2 * half + piece
    edges = [(i, i + 1) for i in range(n - 1) if i != half - 1]
    inside = np.array([u >= 2 * half for u, _ in edges])
    border = np.array([v == 2 * half for _, v in edges])
    cold = np.repeat([1.0, 0.0, 0.0], [half, half, piece])
    warm = np.repeat([1.0, 0.0, 0.5], [half, half, piece])
    rows = [
        (0.0, cold, np.ones(len(edges))),
        (1.0, warm, np.where(border, 0.5, 0.9)),
        (2.0, warm, np.where(border | inside, 0.5, 0.9)),
        (np.inf, 1 - cold, np.full(len(edges), 0.5)),
    ]
    clamped = np.full(n, -1)
    labels = [k + half * c for k in range(4) for c in range(2)][:n_labels]
    clamped[labels] = cold[labels] == 0
    return profile(equilibrium(n, edges, rows, clamped=clamped))


def test_a_call_that_infinity_does_not_share_ends_at_the_last_finite_temperature():
    outcomes = np.array([[0, 0], [1, 0], [2, 0]])
    found = Profile(
        temperatures=frozen([0.0, 1.0, np.inf], np.float64),
        outcomes=frozen(outcomes, np.int32),
        status=frozen(np.ones(outcomes.shape), np.int8),
        margin=frozen(np.ones(outcomes.shape), np.float64),
        n_classes=3,
        confused_sets=(),
    )
    spans = [[(i.low, i.high) for i in found.intervals(point)] for point in (0, 1)]
    assert spans == [[(0, 0.5), (0.5, 1), (1, np.inf)], [(0, np.inf)]]
    assert found.interval_lengths()[:2, 0].tolist() == [0.5, 0.5]


def test_information_by_hand():
    found = two_classes_and_a_piece(n_labels=4)
    missed = (12 / 17) ** 4  # the chance that four labels miss 5 of 17 points
    weight = 1 / (1 + missed) - missed / (1 + missed)

    def score(sizes, weights):
        share = np.array(sizes) / 17
        kept = share * weights
        return kept.sum() * (np.exp(-np.sum(kept * np.log(share))) - 1)

    expected = [score([6, 11], [1, 1]), score([6, 6, 5], [1, 1, weight]), score([6, 6], [1, 1]), 0]
    np.testing.assert_allclose(information(found), expected)
    assert best_temperature(found) == 1.0  # because of the new class, which no point is sure of
    assert best_temperature(found, rule="stability") == 0.0
    # A new class below the least share is a crumb: undecided.
    np.testing.assert_allclose(information(found, least_share=0.6)[1], expected[2])


def test_a_piece_that_the_labels_may_have_missed_by_chance_is_no_reason_to_go_hotter():
    assert best_temperature(two_classes_and_a_piece(n_labels=2, piece=3, half=12)) == 0.0
    assert best_temperature(two_classes_and_a_piece(n_labels=8, piece=3, half=12)) == 1.0
    scores = [information(two_classes_and_a_piece(n_labels=m))[1] for m in (2, 4, 8)]
    assert scores[0] < scores[1] < scores[2]


def test_soft_labels_count_as_labels_and_priors_do_not():
    from dataclasses import replace

    graph = Graph(6, [(i, i + 1) for i in range(5)])
    fields = np.tile([0.3, 0.0], (6, 1))
    clamped = [0, -1, -1, -1, -1, -1]
    run = replace(
        equilibrium(6, graph.edges, [(1.0, [1.0, *(5 * [0.5])], [0.5] * 5)], clamped=clamped),
        model=PottsModel(graph, 2, fields=fields, clamped=clamped),
    )
    assert profile(run).n_labels == 1
    fields[[3, 5]] += [[0.0, 2.0], [2.0, 0.0]]
    soft = replace(run, model=PottsModel(graph, 2, fields=fields, clamped=clamped))
    assert profile(soft).n_labels == 3
    everywhere = replace(run, model=PottsModel(graph, 2, fields=fields + np.arange(6)[:, None]))
    assert profile(everywhere).n_labels == 2  # a constant per point decides nothing
    fields[1:, 0] = np.arange(5)
    diffused = replace(run, model=PottsModel(graph, 2, fields=fields, clamped=clamped))
    assert profile(diffused).n_labels == 1
    assert profile(run, n_classes=0).n_labels == 0


def test_without_labels_every_new_class_counts():
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    rows = [(1.0, 6 * [0.5], [0.9, 0.9, 0.5, 0.9, 0.9]), (2.0, 6 * [0.5], 5 * [0.9])]
    found = profile(equilibrium(6, edges, rows), n_classes=0)
    np.testing.assert_allclose(information(found), [1.0, 0.0])  # two halves, one whole
    assert best_temperature(found) == 1.0


def test_information_takes_the_coldest_of_equals_and_knows_its_limits():
    rows = [(t, [1.0, 0.9, 0.0], [0.9, 0.5]) for t in (0.0, 0.5, 1.0)]
    found = profile(equilibrium(3, [(0, 1), (1, 2)], rows, clamped=[0, -1, 1]))
    assert best_temperature(found) == 0.0
    # One class everywhere, or nothing decided, says nothing.
    one = profile(equilibrium(2, [(0, 1)], [(0.0, [1.0, 1.0], [1.0])], clamped=[0, -1]))
    np.testing.assert_array_equal(information(one), [0.0])
    apart = profile(equilibrium(2, [(0, 1)], [(1.0, [0.5, 0.5], [0.5])]), n_classes=0)
    np.testing.assert_array_equal(information(apart), [0.0])
    assert best_temperature(apart) == 1.0
    with pytest.raises(InvalidInputError, match="rule='best'"):
        best_temperature(found, rule="best")


def test_badly_sampled_temperatures_are_not_chosen():
    from dataclasses import replace

    rows = [(1.0, [1.0, 0.9, 0.0], [0.9, 0.9]), (0.5, [1.0, 1.0, 0.0], [1.0, 1.0])]
    rows[0][1][1], rows[0][2][1] = 0.5, 0.5  # at T = 1 the middle point is a crumb
    run = equilibrium(3, [(0, 1), (1, 2)], rows, clamped=[0, -1, 1])
    assert trusted_rows(run).tolist() == [True, True]
    noisy = replace(run, std_error=np.array([np.zeros((3, 2)), np.full((3, 2), 0.4)]))
    assert trusted_rows(noisy).tolist() == [False, True]  # ascending in temperature
    assert best_temperature(profile(noisy)) == 0.5
    assert best_temperature(profile(noisy), trusted=trusted_rows(noisy)) == 1.0
    hopeless = replace(run, std_error=np.ones((2, 3, 2)))
    assert trusted_rows(hopeless).all()


def test_information_does_not_depend_on_the_names_of_classes_or_points():
    rng = np.random.default_rng(1)
    edges = [(i, i + 1) for i in range(11)]
    p, c = rng.random((5, 12)), rng.random((5, 11))
    p[:, 0], p[:, 11] = 1.0, 0.0
    clamped = np.full(12, -1)
    clamped[[0, 11]] = 0, 1
    rows = [(0.2 * k, p[k], c[k]) for k in range(5)]
    plain = information(profile(equilibrium(12, edges, rows, clamped=clamped)))
    renamed = [(t, 1 - first, agree) for t, first, agree in rows]
    swapped = np.where(clamped >= 0, 1 - clamped, -1)
    other = information(profile(equilibrium(12, edges, renamed, clamped=swapped)))
    np.testing.assert_allclose(other, plain)
    mirrored = [(t, first[::-1], agree[::-1]) for t, first, agree in rows]
    back = information(profile(equilibrium(12, edges, mirrored, clamped=clamped[::-1])))
    np.testing.assert_allclose(back, plain)


@pytest.mark.parametrize("tau", [-0.1, 1.0, np.nan, "a"])
def test_tau_out_of_range_is_refused(tau):
    run = equilibrium(2, [(0, 1)], [(1.0, [0.5, 0.5], [0.5])])
    with pytest.raises(InvalidInputError, match="tau"):
        profile(run, tau=tau)


def test_separated_blobs_without_labels_come_out_as_blobs():
    rng = np.random.default_rng(0)
    from spinlearn.graphs import MutualKNN

    centres = np.array([[0, 0], [12, 0], [0, 12]])
    X = np.concatenate([c + rng.normal(size=(30, 2)) for c in centres])
    truth = np.repeat([0, 1, 2], 30)
    graph = MutualKNN(n_neighbors=5).build(X)
    # Joined by the spanning tree only, the blobs are one component of the graph.
    run = JunctionTree().run(PottsModel(graph, 2), np.linspace(0.02, 0.6, 30))
    counts = [
        misclassified(profile(run, n_classes=0).decision(k), truth, labelled_classes=[]).sum()
        for k in range(30)
    ]
    assert min(counts) <= 2
    assert counts[0] == 60 or counts[0] <= 2  # one ferromagnetic cluster, or split already


def test_errors_are_counted_as_in_the_paper():
    # States: named classes 0, 1; truth has a third class 2 that nobody labelled.
    edges = [(0, 1), (1, 2), (3, 4), (4, 5)]
    run = equilibrium(
        8,
        edges,
        [(1.0, [1.0, 0.9, 0.9, 0.5, 0.5, 0.5, 0.5, 0.0], [0.9, 0.9, 0.9, 0.9])],
        clamped=[0, -1, -1, -1, -1, -1, -1, 1],
    )
    d = decide(run, 1.0)  # 0, 1, 2 class 0; {3, 4, 5} new:1; {6} new:2; 7 class 1
    truth = np.array([0, 0, 1, 2, 2, 1, 2, 1])
    wrong = misclassified(d, truth)
    # 2 has the wrong name; 5 is of a named class but in the new class; 6 is in a second new class.
    assert np.flatnonzero(wrong).tolist() == [2, 5, 6]
    with pytest.raises(InvalidInputError, match="shape"):
        misclassified(d, truth[:3])


def test_without_labels_clusters_are_matched_one_to_one():
    run = equilibrium(5, [(0, 1), (1, 2), (3, 4)], [(1.0, 5 * [0.5], [0.9, 0.9, 0.5])])
    d = profile(run, n_classes=2).decision(0)  # clusters {0,1,2}, {3}, {4}
    wrong = misclassified(d, [0, 0, 1, 1, 1], labelled_classes=[])
    assert wrong.sum() == 2  # the big cluster is class 0, one singleton class 1
