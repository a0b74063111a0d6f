"""
Which points to label next
==========================

Labels cost work, so ask for those that help most. :func:`spinlearn.suggest` names the points whose
labels are expected to remove most errors. Here three classes are made of four clusters each, and
there is one label a class to begin with.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from spinlearn import PottsClassifier, suggest

centres = np.array([(3.0 * (k % 4), 3.0 * (k // 4)) for k in range(12)])
X, cluster = make_blobs(600, centers=centres, cluster_std=0.62, random_state=0)
truth = np.random.default_rng(4).permutation(np.arange(12) % 3)[cluster]
start = np.full(len(X), -1)
start[[np.flatnonzero(truth == kind)[0] for kind in range(3)]] = range(3)


def fitted(labels):
    return PottsClassifier(novelty=0, random_state=0).fit(X, labels)


def per_cent_wrong(clf):
    return 100 * np.mean(clf.forced_labels_ != truth)


# %%
# Ask for three points, answer, fit again.

labels, asked = start.copy(), []
clf = fitted(labels)
curve = [per_cent_wrong(clf)]
for _ in range(3):
    points = [suggestion.point for suggestion in suggest(clf, 3)]
    labels[points] = truth[points]
    asked += points
    clf = fitted(labels)
    curve.append(per_cent_wrong(clf))

# %%
# Beside it, six times over, points drawn at random.

at_random = []
for seed in range(6):
    drawn = np.random.default_rng(seed).permutation(np.flatnonzero(start < 0))
    at_random.append([curve[0]])
    for count in (3, 6, 9):
        labels = start.copy()
        labels[drawn[:count]] = truth[drawn[:count]]
        at_random[-1].append(per_cent_wrong(fitted(labels)))

# %%
# Where it asked, in this order, and what that bought.

colours = np.array(["#0072B2", "#E69F00", "#009E73"])
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
left.scatter(*X.T, s=9, color=colours[truth], alpha=0.45, lw=0)
left.scatter(*X[start >= 0].T, s=150, marker="*", color="black", label="first labels")
for number, point in enumerate(asked, start=1):
    box = {"boxstyle": "circle,pad=0.25", "fc": "white", "ec": "black"}
    left.text(*X[point], number, ha="center", va="center", size=9, bbox=box)
left.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, 1.08))
left.set_axis_off()
added = (0, 3, 6, 9)
right.plot(added, np.transpose(at_random), color="0.8", lw=1)
right.plot(added, np.mean(at_random, axis=0), "s-", color="0.4", label="at random: 6 draws, mean")
right.plot(added, curve, "o-", color="#0072B2", lw=2, label="suggested")
right.set_xticks(added)
right.set_xlabel("labels added")
right.set_ylabel("per cent wrong")
right.set_ylim(0)
right.legend(frameon=False)
right.spines[["top", "right"]].set_visible(False)
plt.show()
