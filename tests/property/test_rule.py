"""The paper's decision rule against the same rule in plain loops, on random averages."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinlearn.answers.profile import profile
from spinlearn.answers.rule import STATUS_NAMES, label_reach
from spinlearn.model.graph import Graph
from spinlearn.model.phases import grains, joined
from spinlearn.model.potts import FREE, PottsModel
from tests.hand_made import equilibrium

N = 9


def in_words(run, tau, n_classes, small_groups, new_groups):
    """What the rule says of every point: its status, and its class, classes or companions."""
    model, p = run.model, run.marginals[0]
    n, q = p.shape
    parts = [{i} for i in range(n)]  # connected by couplings
    for i, j in model.graph.edges:
        merged = parts[i] | parts[j]
        for k in merged:
            parts[k] = merged
    is_label = [model.clamped[i] != FREE and model.clamped[i] < n_classes for i in range(n)]
    reach = [any(is_label[j] for j in parts[i]) for i in range(n)]
    best = [max(range(q), key=lambda s, i=i: p[i, s]) for i in range(n)]
    sure = [p[i, best[i]] - sorted(p[i])[-2] > tau for i in range(n)]
    held = [sure[i] and best[i] >= n_classes and best[i] in model.clamped for i in range(n)]
    confident = [reach[i] and sure[i] and best[i] < n_classes for i in range(n)]
    known = [is_label[i] or confident[i] or held[i] for i in range(n)]
    component = grains(run, 0, (1 + 1 / q) / 2)

    def members(c):
        return [i for i in range(n) if component[i] == c]

    def crumb(i):
        return len(members(component[i])) < 3 and not any(known[j] for j in members(component[i]))

    if small_groups == "join":
        component = joined(run, 0, component, np.array([crumb(i) for i in range(n)]), 1 / q)
    said = []
    for i in range(n):
        together = [j for j in members(component[i]) if known[j]]
        classes = sorted({best[j] for j in together if not held[j]})
        beside_new = any(held[j] for j in together)
        open_to = [s for s in range(n_classes) if p[i, s] >= p[i].max() - tau]
        if is_label[i]:
            word = ("labelled", best[i])
        elif confident[i]:
            word = ("confident", best[i])
        elif held[i]:
            word = ("new", best[i])
        elif len(classes) + beside_new > 1:
            word = ("confused", tuple(classes))
        elif classes:
            word = ("grown", classes[0])
        elif not (new_groups or together) and reach[i] and open_to:
            word = ("confused", tuple(open_to))
        elif small_groups != "new" and crumb(i):
            word = ("outlier", ())
        elif beside_new:
            nameless = [s for s in range(n_classes, q) if s in model.clamped]
            word = ("new", max(nameless, key=lambda s: p[i, s]))
        else:
            word = ("new", tuple(members(component[i])))
        said.append(word)
    return said


@st.composite
def averages(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    q = int(rng.integers(2, 5))
    n_classes = int(rng.integers(1, q + 1))
    pairs = np.array([(i, j) for i in range(N) for j in range(i + 1, N)])
    edges = pairs[rng.random(len(pairs)) < rng.uniform(0.1, 0.4)]
    clamped = np.where(rng.random(N) < 0.3, rng.integers(0, q, N), FREE)
    p = rng.dirichlet(np.full(q, rng.choice([0.3, 2.0])), size=N)
    p[clamped != FREE] = np.eye(q)[clamped[clamped != FREE]]
    run = equilibrium(N, edges, [(1.0, p, rng.random(len(edges)))], q, clamped)
    return run, n_classes


@settings(max_examples=400, deadline=None)
@given(
    averages(),
    st.sampled_from([0.0, 0.1, 0.3]),
    st.sampled_from(["join", "outlier", "new"]),
    st.booleans(),
)
def test_the_rule_says_what_it_says_in_plain_loops(made, tau, small_groups, new_groups):
    run, n_classes = made
    found = profile(
        run, tau=tau, n_classes=n_classes, small_groups=small_groups, new_groups=new_groups
    )
    decision = found.decision(0)
    expected = in_words(run, tau, n_classes, small_groups, new_groups)
    company = {}
    for i, (status, what) in enumerate(expected):
        assert STATUS_NAMES[decision.status[i]] == status
        outcome = int(decision.outcomes[i])
        if status in ("labelled", "confident", "grown"):
            assert outcome == what
        elif status in ("confused", "outlier"):
            assert decision.candidates(i) == what
        else:
            company.setdefault(what, set()).add(outcome)
    # One number for each new class, and none that is another's.
    assert all(len(numbers) == 1 and min(numbers) >= n_classes for numbers in company.values())
    assert len(set.union(set(), *company.values())) == len(company)


OWN = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 0.0]])  # fields, not equal


@pytest.mark.parametrize(
    ("fields", "edges", "clamped", "holders", "reach"),
    [
        # nothing; a clamped point; one that is held in a state without a name
        (np.zeros((3, 2)), [(0, 1)], [FREE] * 3, [], []),
        (np.zeros((3, 2)), [(0, 1)], [0, FREE, FREE], [0], [0, 1]),
        (np.zeros((3, 3)), [(0, 1)], [2, FREE, FREE], [], []),
        # a field of one's own is a soft label, a field of all is none, nor is a constant
        (OWN, [(0, 1)], [FREE] * 3, [1], [0, 1]),
        (np.tile([0.0, 1.0], (3, 1)), [(0, 1)], [FREE] * 3, [], []),
        (np.array([[2.0, 2.0], [0.0, 0.0], [0.0, 0.0]]), [(0, 1)], [FREE] * 3, [], []),
        # where most have one of their own, none is a label; they are evidence all the same
        (np.array([[0.0, 3.0], [0.0, 1.0], [0.0, 2.0]]), [(0, 1)], [FREE] * 3, [], [0, 1]),
        # of points alone, those whose field is not the usual one
        (np.array([[0.0, 5.0], [0.0, 1.0], [0.0, 1.0]]), [], [FREE] * 3, [0], [0]),
        (np.array([[0.0, 3.0], [0.0, 1.0], [0.0, 2.0]]), [], [FREE] * 3, [], [0, 1]),
        # a field that the points of a part share is no evidence among them
        (
            np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 3.0], [0.0, 3.0]]),
            [(0, 1), (2, 3)],
            [FREE] * 4,
            [],
            [],
        ),
    ],
)
def test_what_counts_as_a_label_and_how_far_it_reaches(fields, edges, clamped, holders, reach):
    graph = Graph(len(fields), np.array(edges, dtype=int).reshape(-1, 2))
    model = PottsModel(graph, fields.shape[1], clamped=np.array(clamped), fields=fields)
    assert [np.flatnonzero(points).tolist() for points in label_reach(model, 2)] == [holders, reach]
