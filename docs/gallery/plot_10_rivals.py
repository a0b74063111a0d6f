"""
Beside its rivals
=================

:func:`spinlearn.compare` runs several methods on one graph with the same labels. The ten labels of
this picture were searched for so that all three rivals fail: labels of the lower band lie close to
the upper one. With seven evenly spread labels only the minimum cut does.
"""

import matplotlib.pyplot as plt
import numpy as np

from spinlearn import PottsClassifier, compare
from spinlearn.baselines import BASELINES
from spinlearn.datasets import two_bands

toy = two_bands(10)
graph = toy.graph()
rivals = ("min_cut", "lgc", "sgt")
table = compare(
    graph,
    toy.labels,
    toy.truth,
    methods=list(rivals),
    method="paper",
    temperature="auto:grid=0:1.6:17",
)
table[["method", "temperature", "errors", "forced_errors"]].round(2)

# %%
# What each of them makes of the bands.

ours = PottsClassifier(method="paper", temperature="paper:grid=0:1.6:17").fit(graph, toy.labels)
answers = {f"spinlearn, T = {ours.temperature_:.1f}": ours.forced_labels_}
for name in rivals:
    answers[name] = BASELINES[name]().fit(graph, toy.labels).transduction_

colours = np.array([[0.0, 0.45, 0.70], [0.90, 0.62, 0.0]])
figure, axes = plt.subplots(2, 2, figsize=(10, 5.4), layout="constrained")
for axis, (name, calls) in zip(axes.flat, answers.items(), strict=True):
    picture = np.ones((*toy.mask.shape, 3))
    picture[toy.mask] = colours[calls]
    axis.imshow(picture)
    for label, marker in ((0, "o"), (1, "s")):
        row, column = toy.coordinates[toy.labels == label].T
        axis.plot(column, row, marker, color=colours[label], mec="white", ms=7)
    axis.set_title(f"{name}: {np.sum(calls != toy.truth)} of {toy.n_points} wrong", loc="left")
    axis.set_axis_off()
plt.show()
