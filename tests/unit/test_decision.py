"""The decision rule on hand-worked cases, the profile, T*, and the counting of errors."""

import numpy as np
import pytest

from spinlearn import energies
from spinlearn.answers.labels import outcome_name
from spinlearn.answers.profile import decide, profile
from spinlearn.answers.rule import Status, misclassified
from spinlearn.answers.temperature import answer_temperature, information, stability
from spinlearn.engines import Enumeration
from spinlearn.errors import InvalidInputError
from tests.conftest import cliques, few_labels
from tests.hand_made import CHAIN, equilibrium, profile_of


def status_names(decision):
    return [Status(s).name for s in decision.status]


def test_confused_names_its_classes():
    run = equilibrium(
        4, CHAIN, [(1.0, [1.0, 0.52, 0.54, 0.0], [0.9, 0.8, 0.76])], clamped=[0, -1, -1, 1]
    )
    d = decide(run, 1.0)
    assert status_names(d) == ["LABELLED", "CONFUSED", "CONFUSED", "LABELLED"]
    np.testing.assert_allclose(d.margin, [1.0, 0.04, 0.08, 1.0])
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
    d = decide(run, 1.0, small_groups="new")
    assert status_names(d) == ["LABELLED"] + 6 * ["NEW"]
    members = {k: v.tolist() for k, v in d.new_classes().items()}
    assert members == {1: [3, 4, 5], 2: [1, 2], 3: [6]}  # numbered by size
    assert d.candidates(6) == ()
    assert outcome_name(int(d.outcomes[3]), ["A", "B"], d.confused_sets) == "new:1"
    d = decide(run, 1.0, small_groups="outlier")
    assert status_names(d) == ["LABELLED"] + 2 * ["OUTLIER"] + 3 * ["NEW"] + ["OUTLIER"]
    assert {k: v.tolist() for k, v in d.new_classes().items()} == {1: [3, 4, 5]}
    assert d.candidates(6) == ()
    assert outcome_name(int(d.outcomes[6]), ["A", "B"], d.confused_sets) == "outlier"


@pytest.mark.parametrize(
    ("edges", "p", "agreement", "clamped", "outcomes"),
    [
        # 1 agrees most with 2, but that is a crumb, as is 1: it joins 0. All neighbours of 2 are.
        ([(0, 1), (1, 2), (2, 3), (3, 4)], [1.0, 0.5, 0.5, 0.5, 0.0], [0.6, 0.7, 0.5, 0.6],
         [0, -1, -1, -1, 1], [0, 0, None, 1, 1]),
        # Two links of 0.65 to the labelled pair {0, 1} are more than one of 0.7 to 3.
        ([(0, 1), (0, 2), (1, 2), (2, 3)], [1.0, 1.0, 0.5, 0.0], [1.0, 0.65, 0.65, 0.7],
         [0, 0, -1, 1], [0, 0, 0, 1]),
        # Agreement that is noise joins nothing.
        ([(0, 1)], [1.0, 0.5], [0.5002], [0, -1], [0, None]),
        # {1, 2} agrees with 0 more than with 3, though most within itself: one group, one fate.
        (CHAIN, [1.0, 0.5, 0.5, 0.0], [0.7, 0.9, 0.5], [0, -1, -1, 1], [0, 0, 0, 1]),
        # Between two equals it is of neither: which of them comes first must not decide.
        ([(0, 1), (1, 2)], [1.0, 0.5, 0.0], [0.6, 0.6], [0, -1, 1], [0, "?", 1]),
        ([(2, 1), (1, 0)], [0.0, 0.5, 1.0], [0.6, 0.6], [1, -1, 0], [1, "?", 0]),
        ([(1, 0), (0, 2)], [0.5, 1.0, 0.0], [0.6, 0.6], [-1, 0, 1], ["?", 0, 1]),
        ([(1, 2), (2, 0)], [0.0, 1.0, 0.5], [0.6, 0.6], [1, 0, -1], [1, 0, "?"]),
        # Three points are a new class, which 4 joins that agrees with them more than with 5.
        ([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)], [1.0, *[0.5] * 4, 0.0],
         [0.4, 0.9, 0.9, 0.7, 0.6], [0, *[-1] * 4, 1], [0, *["new"] * 4, 1]),
    ],
)  # fmt: skip
def test_crumbs_join_what_they_agree_with_most(edges, p, agreement, clamped, outcomes):
    run = equilibrium(len(p), edges, [(1.0, p, agreement)], clamped=clamped)
    d = decide(run, 1.0, small_groups="join")
    for i, (label, outcome) in enumerate(zip(clamped, outcomes, strict=True)):
        joined = {None: "OUTLIER", "?": "CONFUSED", "new": "NEW"}.get(outcome, "GROWN")
        assert status_names(d)[i] == ("LABELLED" if label >= 0 else joined)
        assert d.candidates(i) == {None: (), "new": (), "?": (0, 1)}.get(outcome, (outcome,))
        assert outcome not in (0, 1) or d.outcomes[i] == outcome
    left = decide(run, 1.0, small_groups="outlier").status[np.array(clamped) < 0]
    assert set(left[:3]) == {Status.NEW if "new" in outcomes else Status.OUTLIER}
    assert left[-1] == Status.OUTLIER


def three_blobs(sizes=(3, 5, 4)):
    """Complete graphs of these sizes, not linked; labels in the first two only."""
    blob = np.repeat([0, 1, 2], sizes)
    labels = few_labels(blob, 1)
    return cliques(*sizes), np.where(blob < 2, labels, -1), blob == 2


REACH = [0.0, 0.05, 0.2, 0.5, 1.0, 2.0, 5.0, np.inf]


@pytest.mark.parametrize("name", ["class_penalty", "class_prior"])
@pytest.mark.parametrize("small_groups", ["join", "outlier", "new"])
def test_what_no_label_reaches_is_never_of_a_named_class(name, small_groups):
    graph, labels, third = three_blobs()
    if name == "class_prior":
        model = energies.ClassPrior(prior=[0.8, 0.2], energy="min_cut")(graph, labels, 2)
    else:  # over all points, also those that no label reaches
        sizes = np.ones(graph.n_nodes)
        balance = energies.ClassPenalty.quadratic(sizes, 2.0, n_states=2)
        model = energies.Custom(class_penalty=balance)(graph, labels, 2)
    run = Enumeration().run(model, REACH)
    found = profile(run, small_groups=small_groups)
    # A term of the classes prefers one there, which is no evidence.
    assert found.margin[:, third].max() > 0.5
    assert set(np.unique(found.status[:, third])) <= {Status.NEW, Status.OUTLIER}
    assert not np.any(np.isin(found.outcomes[:, third], [0, 1]))
    cold = found.status[1, ~third]
    assert set(np.unique(cold)) <= {Status.LABELLED, Status.CONFIDENT}


@pytest.mark.parametrize("clamped", [True, False])
def test_fields_of_the_users_own_are_evidence(clamped):
    graph, labels, third = three_blobs()
    fields = np.zeros((graph.n_nodes, 2))
    fields[np.flatnonzero(third)[0]] = [0.0, 2.0]  # one point of the third prefers class 0
    if not clamped:
        labels = np.full(len(labels), -1)
    model = energies.Custom(fields=fields)(graph, labels, 2)
    found = profile(Enumeration().run(model, [0.2, 0.5]))
    assert np.all(found.status[:, third] == Status.CONFIDENT)
    assert np.all(found.outcomes[:, third] == 0)


def test_thresholds_depend_on_q_and_tau():
    # q = 4: edges survive from (1 + 1/4)/2 = 0.625 on.
    p = np.array([[[1, 0, 0, 0], [0.4, 0.3, 0.2, 0.1], [0.3, 0.3, 0.2, 0.2]]])
    run = equilibrium(3, [(0, 1), (1, 2)], [(1.0, p[0], [0.625, 0.6249])], q=4, clamped=[0, -1, -1])
    # 0.4 - 0.3 = tau exactly is not more than tau: node 1 is grown.
    for small_groups, left in (("outlier", "OUTLIER"), ("new", "NEW"), ("join", "GROWN")):
        d = decide(run, 1.0, small_groups=small_groups)
        assert status_names(d) == ["LABELLED", "GROWN", left]
        d = decide(run, 1.0, tau=0.05, small_groups=small_groups)
        assert status_names(d) == ["LABELLED", "CONFIDENT", left]


def test_profile_intervals_and_tracking_of_new_classes():
    edges = [(0, 1), (1, 2), (2, 3), (3, 4)]
    rows = [
        (2.0, [1.0, 0.5, 0.5, 0.5, 0.5], [0.5, 0.9, 0.5, 0.5]),  # new {1, 2}, {3}, {4}
        (0.0, [1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]),  # all class 0
        (1.0, [1.0, 0.5, 0.5, 0.5, 0.5], [0.5, 0.9, 0.9, 0.5]),  # new {1, 2, 3}, {4}
    ]
    run = equilibrium(5, edges, rows, clamped=[0, -1, -1, -1, -1])
    found = profile(run, small_groups="new")
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
    found = profile(grid, n_classes=0, small_groups="new")
    numbers = found.decision(0).new_classes()
    between = equilibrium(4, edges, [(1.2, 4 * [0.5], [0.9, 0.9])])
    there = profile(between, n_classes=0, small_groups="new", reference=found)
    tracked = there.decision(0).new_classes()
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
        (np.inf, [1.0, 0.2, 0.9], [0.5, 0.5]),
    ]
    found = profile(equilibrium(3, [(0, 1), (1, 2)], rows, clamped=[0, -1, -1]))
    # Cells end at the midpoints 0.5, 1.5, 2.5: node 1 holds class 0 over [0.5, 2.5], node 2 over
    # [0.5, 1.5].
    for strict in (False, True):
        scores = stability(found, strict=strict)
        np.testing.assert_allclose(scores, [0.0, 3.0, 2.0, 0.0, 0.0])  # infinity never wins
        assert answer_temperature(found, "paper", strict=strict) == 1.0
        assert answer_temperature(found, "paper", eta_min=3.1, strict=strict) == 0.0
        assert answer_temperature(found, "paper", eta_min=3.0, strict=strict) == 1.0


def profile_by_hand(*rows):
    """A letter per point: A labelled, a b confident, g grown into a, x y new, ? confused."""
    codes = {"A": 0, "a": 0, "g": 0, "b": 1, "x": 2, "y": 3, "?": -1}
    how = {"A": Status.LABELLED, "g": Status.GROWN, "?": Status.CONFUSED}
    how |= dict.fromkeys("ab", Status.CONFIDENT) | dict.fromkeys("xy", Status.NEW)
    outcomes = np.array([[codes[c] for c in row] for row in rows])
    status = [[how[c] for c in row] for row in rows]
    return profile_of(outcomes, status=status, confused_sets=((0, 1),))


def test_a_hidden_class_is_a_reason_to_go_hotter_unless_read_strictly():
    found = profile_by_hand("AaaaaaaabbbA", "AaaaxxxxbbbA", "AaaaxxxxbbbA", "A??????????A")
    # Four points hold the new class over [0.5, 2.5].
    np.testing.assert_allclose(stability(found), [0.0, 8.0, 8.0, 0.0])
    np.testing.assert_allclose(stability(found, strict=True), 0.0)
    assert answer_temperature(found, "paper") == 1.0
    assert answer_temperature(found, "paper", strict=True) == 0.0
    assert answer_temperature(found, "paper", eta_min=8.1) == 0.0
    assert answer_temperature(found, "paper", trusted=np.array([1, 0, 1, 1], bool)) == 2.0


def test_crumbs_are_no_such_reason_but_points_that_grew_are():
    crumbs = profile_by_hand("AaaaaabbA", "AaxxyybbA", "A???????A")
    np.testing.assert_allclose(stability(crumbs), 0.0)
    assert answer_temperature(crumbs, "paper") == 0.0
    three = profile_by_hand("AaaaaabbA", "AaxxxybbA", "A???????A")
    np.testing.assert_allclose(stability(three), [0.0, 3.0, 0.0])
    grown = profile_by_hand("AaabbbbbA", "AaaggbbbA", "A???????A")
    np.testing.assert_allclose(stability(grown), [0.0, 2.0, 0.0])
    np.testing.assert_allclose(stability(grown, strict=True), 0.0)


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
    found = profile_of([[0, 0], [1, 0], [2, 0]], [0.0, 1.0, np.inf], n_classes=3)
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
    assert answer_temperature(found) == 1.0  # because of the new class, which no point is sure of
    assert answer_temperature(found, "paper") == 1.0
    assert answer_temperature(found, "paper", strict=True) == 0.0


def test_a_piece_that_the_labels_may_have_missed_by_chance_is_no_reason_to_go_hotter():
    assert answer_temperature(two_classes_and_a_piece(n_labels=2, piece=3, half=12)) == 0.0
    assert answer_temperature(two_classes_and_a_piece(n_labels=8, piece=3, half=12)) == 1.0
    scores = [information(two_classes_and_a_piece(n_labels=m))[1] for m in (2, 4, 8)]
    assert scores[0] < scores[1] < scores[2]


def test_without_labels_every_new_class_counts():
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    rows = [(1.0, 6 * [0.5], [0.9, 0.9, 0.5, 0.9, 0.9]), (2.0, 6 * [0.5], 5 * [0.9])]
    found = profile(equilibrium(6, edges, rows), n_classes=0)
    np.testing.assert_allclose(information(found), [1.0, 0.0])  # two halves, one whole
    assert answer_temperature(found) == 1.0


def test_information_takes_the_coldest_of_equals_and_knows_its_limits():
    rows = [(t, [1.0, 0.9, 0.0], [0.9, 0.5]) for t in (0.0, 0.5, 1.0)]
    found = profile(equilibrium(3, [(0, 1), (1, 2)], rows, clamped=[0, -1, 1]))
    assert answer_temperature(found) == 0.0
    # One class everywhere, or nothing decided, says nothing.
    one = profile(equilibrium(2, [(0, 1)], [(0.0, [1.0, 1.0], [1.0])], clamped=[0, -1]))
    np.testing.assert_array_equal(information(one), [0.0])
    apart = profile(equilibrium(2, [(0, 1)], [(1.0, [0.5, 0.5], [0.5])]), n_classes=0)
    np.testing.assert_array_equal(information(apart), [0.0])
    assert answer_temperature(apart) == 1.0
    with pytest.raises(
        InvalidInputError, match="rule 'best' is unknown for a profile: use one of 'auto'"
    ):
        answer_temperature(found, "best")


def test_errors_are_counted_as_in_the_paper():
    # States: named classes 0, 1; truth has a third class 2 that nobody labelled.
    edges = [(0, 1), (1, 2), (3, 4), (4, 5)]
    run = equilibrium(
        8,
        edges,
        [(1.0, [1.0, 0.9, 0.9, 0.5, 0.5, 0.5, 0.5, 0.0], [0.9, 0.9, 0.9, 0.9])],
        clamped=[0, -1, -1, -1, -1, -1, -1, 1],
    )
    truth = np.array([0, 0, 1, 2, 2, 1, 2, 1])
    # 0, 1, 2 class 0; {3, 4, 5} new:1; {6} new:2 or an outlier; 7 class 1
    for small_groups in ("new", "outlier"):
        d = decide(run, 1.0, small_groups=small_groups)
        wrong = misclassified(d, truth)
        # 2 has the wrong name; 5 is of a named class but in the new class; 6 is in a second one.
        assert np.flatnonzero(wrong).tolist() == [2, 5, 6]
    with pytest.raises(InvalidInputError, match="shape"):
        misclassified(d, truth[:3])
    # Without labels clusters are matched one to one.
    run = equilibrium(5, [(0, 1), (1, 2), (3, 4)], [(1.0, 5 * [0.5], [0.9, 0.9, 0.5])])
    d = profile(run, n_classes=2, small_groups="new").decision(0)  # clusters {0,1,2}, {3}, {4}
    wrong = misclassified(d, [0, 0, 1, 1, 1], labelled_classes=[])
    assert wrong.sum() == 2  # the big cluster is class 0, one singleton class 1
