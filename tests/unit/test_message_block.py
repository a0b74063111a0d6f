"""Blocks of messages: together they are one propagation; without exchange they are not."""

import numpy as np
import pytest

from spinlearn.engines import BeliefPropagation
from spinlearn.io.message_parts import whole_marginals, write_message_parts
from tests.cluster.models import clouds

TEMPERATURE = 1.2


def settled(parts, exchange: bool = True) -> np.ndarray:
    """Marginals of the free nodes after 200 sweeps of all blocks in turn."""
    blocks = [parts.read(b) for b in range(parts.n_blocks)]
    for block in blocks:
        block.set_temperature(TEMPERATURE)
    leaving: list[dict] = [{} for _ in blocks]
    for sweep in range(200):
        volumes = [block.own_volumes() for block in blocks]
        arriving = [
            {a: sent[b] for a, sent in enumerate(leaving) if exchange and b in sent}
            for b in range(len(blocks))
        ]
        leaving = [
            block.sweep(
                sweep % 2 == 0, 1e-12, 0.0, -1.0, np.sum(volumes, axis=0) - volumes[b], arriving[b]
            )[1]
            for b, block in enumerate(blocks)
        ]
    laws = np.zeros((1, parts.n_nodes, parts.n_states))
    for block in blocks:
        laws[0, block.nodes] = block.marginals()
    return laws


@pytest.mark.parametrize("n_blocks", [1, 2, 3])
def test_blocks_reach_the_fixed_point_of_the_whole(tmp_path, n_blocks):
    model = clouds()
    whole = BeliefPropagation(n_starts=1, tol=1e-11).run(model, [TEMPERATURE], seed=0)
    found = settled(write_message_parts(model, tmp_path / "parts", n_blocks))
    assert np.abs(whole_marginals(model, found) - whole.marginals).max() < 1e-8


def test_large_blocks_are_packed_and_say_the_same_but_not_without_exchange(tmp_path, monkeypatch):
    parts = write_message_parts(clouds(), tmp_path / "parts", 2)
    usual = settled(parts)
    assert np.abs(usual - settled(parts, exchange=False)).max() > 1e-3
    n_bytes = []
    for limit in (10_570, 10):  # between the two of them, below both
        monkeypatch.setattr("spinlearn.engines.messages.potts.LARGE", limit)
        n_bytes.append(sum(parts.read(b).n_bytes for b in range(2)))
        assert np.abs(settled(parts) - usual).max() < 1e-5
    assert n_bytes[1] < n_bytes[0]
