"""
Clusters without any label
==========================

Without labels the same physics clusters (Blatt, Wiseman & Domany 1996). Cold, all points agree;
hot, none do. In between, groups agree within themselves and not with each other, and a hierarchy of
them comes apart step by step as the temperature rises.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from spinlearn.baselines import SuperparamagneticClustering

centres = [(0, 0), (1.6, 0.9), (5, 0), (6.5, 0.7), (5.9, -1.4)]
groups, _ = make_blobs(5 * [150], centers=centres, cluster_std=0.36, random_state=0)
noise = np.random.default_rng(0).uniform([-1.5, -2.6], [8, 2.2], (40, 2))
X = np.concatenate([groups, noise])

clf = SuperparamagneticClustering(random_state=0).fit(X)
print(
    f"chosen: T = {clf.temperature_:.3f}, clusters of", np.bincount(clf.labels_[clf.labels_ >= 0])
)

# %%
# At three temperatures: too cold, chosen, too hot. Grey points are in no cluster of size.

ends = (clf.temperature_ / 10, clf.temperature_, clf.temperature_ * 4)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
for axis, temperature in zip(axes, ends, strict=True):
    at = SuperparamagneticClustering(temperature=temperature, random_state=0).fit(X)
    axis.scatter(*X[at.labels_ < 0].T, s=6, color="0.8")
    inside = at.labels_ >= 0
    axis.scatter(*X[inside].T, s=8, c=at.labels_[inside] % 10, cmap="tab10", vmin=0, vmax=9)
    axis.set_title(f"T = {at.temperature_:.3f}: {at.labels_.max() + 1} clusters", loc="left")
    axis.set_axis_off()

# %%
# How the rule chose: the susceptibility falls in steps where clusters break up, and the stability
# is largest where the clusters live longest.

figure, axis = plt.subplots(figsize=(8, 3), layout="constrained")
axis.semilogx(
    clf.temperatures_,
    clf.susceptibility_ / clf.susceptibility_.max(),
    "o-",
    ms=3,
    label="susceptibility",
)
axis.semilogx(
    clf.temperatures_, clf.stability_ / clf.stability_.max(), "s--", ms=3, label="stability"
)
axis.axvline(clf.temperature_, color="black", ls=":", label="chosen")
axis.set_xlabel("temperature, in units of the mean coupling")
axis.set_ylabel("share of the largest value")
axis.legend(frameon=False)
axis.spines[["top", "right"]].set_visible(False)
plt.show()
