"""
A run on several workers
========================

A graph that is too large for one machine is cut into blocks, one or more for each worker of a Dask
cluster. Every worker reads its own files and keeps its own messages; only what crosses between
blocks is sent. The workers of this page are threads of one process; on a cluster, give
``distributed.Client`` the address of its scheduler.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from distributed import Client
from sklearn.datasets import make_blobs

from spinlearn import KNN
from spinlearn.energies import Modularity
from spinlearn.engines import BeliefPropagation
from spinlearn.io.message_parts import whole_marginals, write_message_parts
from spinlearn.workflows.cluster import propagate_parts

centres = [(0, 0), (3, 0.4), (1.4, 2.6), (4.5, 2.9)]
X, truth = make_blobs(2000, centers=centres, cluster_std=0.75, random_state=0)
labels = np.full(len(X), -1)
for kind in range(4):
    labels[np.flatnonzero(truth == kind)[:2]] = kind
graph = KNN(n_neighbors=10).build(X).homogeneous()
model = Modularity()(graph, labels, n_states=4)

# %%
# Two blocks, two workers, one cooling.

temperatures = [4.0, 3.0, 2.0]
free = np.flatnonzero(labels < 0)
block = np.full(len(X), -1)
with tempfile.TemporaryDirectory() as folder:
    parts = write_message_parts(model, Path(folder) / "parts", n_blocks=2)
    for number in range(parts.n_blocks):
        block[free[parts.read(number).nodes]] = number
    with Client(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as client:
        found = propagate_parts(parts, temperatures, client)
one, other = block[graph.edges].T
crossing = np.mean((one != other) & (one >= 0) & (other >= 0))  # labelled points are in none
print(f"{crossing:.1%} of the edges cross between the blocks")
print("sweeps at each temperature:", found.sweeps, " settled:", found.settled)

# %%
# Where messages have one fixed point, as at T = 4 here, the answer is that of one process. Colder,
# there are several near each other. Sweeps in another order may end in another one, and points at
# the borders then differ.

marginals = whole_marginals(model, found.marginals)
alone = BeliefPropagation(n_starts=1).run(model, temperatures[::-1])
for T, ours, theirs in zip(temperatures, marginals, alone.marginals[::-1], strict=True):
    same = np.mean(ours.argmax(axis=1) == theirs.argmax(axis=1))
    apart = np.abs(ours - theirs).max()
    print(f"T = {T:g}: largest difference {apart:.0e}, {same:.1%} called alike")

figure, axes = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
axes[0].scatter(*X[free].T, s=5, c=block[free], cmap="Set2", vmin=0, vmax=7)
axes[0].set_title("two blocks, one for each worker", loc="left")
colours = np.array(["#0072B2", "#E69F00", "#009E73", "#CC79A7"])
axes[1].scatter(
    *X.T, s=5, color=colours[marginals[-1].argmax(axis=1)], alpha=marginals[-1].max(axis=1) ** 2
)
axes[1].scatter(*X[labels >= 0].T, s=90, marker="*", color="black")
axes[1].set_title(f"most probable class, T = {temperatures[-1]:g}; pale: in doubt", loc="left")
for axis in axes:
    axis.set_axis_off()
plt.show()
