"""How much of an experiment to run: the paper's numbers, a quick look, a test."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Sizes and accuracies of all experiments.

    Attributes
    ----------
    name : str
    n_labellings : int
        Random labellings per panel of figures 4 and 5 (paper: 100).
    n_twins : int
        Sampled panels: labellings computed a second time with another seed; the differences are the
        sampling error of the plotted counts.
    n_chains, chain_tol, chain_sweeps : int, float, int
        Independent multicanonical runs of figure 2, and the accuracy of each: above the transition
        counts turn on small differences.
    tol, max_sweeps : float, int
        Of the sampling engine. There is no time limit: results must not depend on the machine.
    label_counts_q2, label_counts_q3 : tuples of int
        M of figure 4.
    trap_sweeps : int
        Sweeps of the single-temperature samplers of claim (f).
    yeast_chains, yeast_tol, yeast_sweeps
        Independent runs of the yeast experiment, and the accuracy of each.
    sensitivity : int
        Labellings per row of the leukemia sensitivity table; 0 leaves it out.
    stride : int
        Every stride-th temperature of the exact grids is used.
    """

    name: str
    n_labellings: int
    n_twins: int
    n_chains: int
    chain_tol: float
    chain_sweeps: int
    tol: float
    max_sweeps: int
    label_counts_q2: tuple[int, ...]
    label_counts_q3: tuple[int, ...]
    trap_sweeps: int
    yeast_chains: int
    yeast_tol: float
    yeast_sweeps: int
    sensitivity: int
    stride: int = 1


FULL = Scale(
    name="full",
    n_labellings=100,
    n_twins=5,
    n_chains=8,
    chain_tol=0.01,
    chain_sweeps=160_000,
    tol=0.03,
    max_sweeps=40_000,
    label_counts_q2=(5, 10, 15, 20),
    label_counts_q3=(5, 10, 15, 20),
    trap_sweeps=4000,
    yeast_chains=4,
    yeast_tol=0.03,
    yeast_sweeps=1000,
    sensitivity=20,
)
QUICK = Scale(
    name="quick",
    n_labellings=10,
    n_twins=1,
    n_chains=4,
    chain_tol=0.012,
    chain_sweeps=40_000,
    tol=0.05,
    max_sweeps=20_000,
    label_counts_q2=(5, 10, 15, 20),
    label_counts_q3=(5, 20),
    trap_sweeps=2000,
    yeast_chains=2,
    yeast_tol=0.05,
    yeast_sweeps=100,
    sensitivity=5,
)
TINY = Scale(
    name="tiny",
    n_labellings=2,
    n_twins=0,
    n_chains=1,
    chain_tol=0.05,
    chain_sweeps=2000,
    tol=0.1,
    max_sweeps=2000,
    label_counts_q2=(10,),
    label_counts_q3=(),
    trap_sweeps=100,
    yeast_chains=1,
    yeast_tol=0.2,
    yeast_sweeps=12,
    sensitivity=0,
    stride=4,
)
SCALES = {scale.name: scale for scale in (FULL, QUICK, TINY)}
