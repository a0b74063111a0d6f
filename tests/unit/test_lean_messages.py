"""Messages of large models in little memory, held against those of small ones in full precision."""

import numpy as np
import pytest

from spinlearn import Graph
from spinlearn.engines.messages.cooling import SpilledRows
from spinlearn.engines.messages.layout import MessageLayout
from spinlearn.engines.messages.propagation import Propagation, Settling
from spinlearn.model.class_penalty import ClassPenalty
from spinlearn.model.potts import PottsModel

pytestmark = pytest.mark.slow
SETTLING = Settling(1e-7, 400)


def ring_with_chords(
    q: int, *, signs: bool = False, sizes: bool = False, held: int = 6
) -> PottsModel:
    """60 nodes with fields, some of them clamped, two of those neighbours."""
    generator = np.random.default_rng(q)
    edges = [(i, (i + d) % 60) for i in range(60) for d in (1, 7)]
    weights = generator.uniform(0.2, 1.0, len(edges))
    if signs:
        weights *= generator.choice([1.0, -1.0], len(edges))
    clamped = np.full(60, -1)
    clamped[[0, 1, 20, 33, 41, 55][:held]] = generator.integers(q, size=6)[:held]
    penalty = None
    if sizes:
        own = generator.uniform(0.5, 1.5, 60)
        goal = np.full(q, own.sum() / q)
        penalty = ClassPenalty.quadratic(own, 2.0, n_states=q, targets=goal)
    fields = generator.normal(size=(60, q)) * 0.3
    return PottsModel(
        Graph(60, edges, weights), q, fields=fields, clamped=clamped, class_penalty=penalty
    )


def averages(propagation, temperatures):
    """What messages say on the way down."""
    model = propagation.layout.model
    propagation.start()
    for temperature in temperatures:
        assert propagation.settle(temperature).settled
        p = np.empty((model.n_nodes, model.n_states), dtype=np.float32)
        c = np.empty(model.graph.n_edges, dtype=np.float32)
        reading = propagation.messages.read(p, c)
        yield p, c, [reading.energy, reading.log_partition(temperature)]


@pytest.mark.parametrize(
    "model",
    [
        ring_with_chords(2),
        ring_with_chords(3, signs=True),
        ring_with_chords(10, sizes=True, held=0),
        ring_with_chords(10, signs=True, sizes=True),
    ],
    ids=["two", "signs", "free", "all"],
)
def test_lean_messages_say_what_others_say(model):
    lean = Propagation.lean(model, 1.2, SETTLING)
    assert lean.layout.lean
    both = (
        averages(messages, [2.0, 1.2])
        for messages in (lean, Propagation(MessageLayout.of(model), SETTLING))
    )
    for one, other in zip(*both, strict=True):
        assert np.abs(one[0] - other[0]).max() < 2e-6
        assert np.abs(one[1] - other[1]).max() < 2e-6
        assert np.allclose(one[2], other[2], rtol=1e-5, atol=1e-4)


def test_two_states_that_are_alike_share_alike():
    clamped = np.r_[0, np.full(59, -1)]
    model = PottsModel(ring_with_chords(3).graph, 3, clamped=clamped)
    for p, _, _ in averages(Propagation.lean(model, 0.3, SETTLING), [2.0, 0.3]):
        assert np.allclose(p[:, 1], p[:, 2], atol=1e-6)


def test_where_it_is_too_cold_for_single_precision_it_is_not_used():
    assert not Propagation.lean(ring_with_chords(3), 0.005, SETTLING).layout.lean


@pytest.mark.parametrize("small", [1e9, 0.0])
def test_rows_come_back_as_they_were(monkeypatch, small):
    monkeypatch.setattr("spinlearn.engines.messages.cooling.SMALL", small)
    rows, kept = SpilledRows(4, (5, 2)), []
    for k in range(3):
        rows.next()[:] = k + np.arange(10).reshape(5, 2) / 10
        kept.append(rows.next().copy())
        rows.keep()
    stacked = rows.stacked()
    assert np.array_equal(stacked, np.stack(kept))
    assert not stacked.flags.writeable
