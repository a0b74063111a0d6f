"""
A class that nobody labelled
============================

Three kinds of tumours, or of wine, and labels of two of them. Most methods would give the third
kind to the other two. Here its members come out as a class of their own, without a name.

The set is the paper's: leukemia samples of three kinds (Armstrong et al. 2002), of which MLL has no
label. Its file is not part of the package (see :func:`spinlearn.datasets.load_leukemia`); where it
is missing this page shows scikit-learn's 178 wines of three cultivars instead.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from spinlearn import PottsClassifier
from spinlearn.datasets import load_leukemia
from spinlearn.errors import DataFileError

try:
    samples = load_leukemia()
    X, truth, kinds = samples.points(), samples.truth, list(samples.classes)
except DataFileError:
    wine = load_wine()
    X, truth, kinds = StandardScaler().fit_transform(wine.data), wine.target, list("ABC")
print(len(X), "points of the kinds", *kinds)

# %%
# Five labels each for the first two kinds, none for the third. A group is called new where it is
# more probable than every named class; the others that may be a class are proposed. ``novelty=``
# says how many classes you expect to have no label, 0.3 of all by default.

rng = np.random.default_rng(0)
y = np.full(len(X), "", dtype=object)
for kind in (0, 1):
    y[rng.choice(np.flatnonzero(truth == kind), 5, replace=False)] = kinds[kind]

clf = PottsClassifier(random_state=0).fit(X, y)
for name, members in clf.new_classes_.items():
    print(f"{name}: {len(members)} points, {np.sum(truth[members] == 2)} of them {kinds[2]}")
for proposal in clf.proposals_[:2]:
    print(proposal.text())

# %%
# What was known, and what came out. Outlines are the new class.

places = PCA(2).fit_transform(X)
looks = {kinds[0]: ("#0072B2", "o"), kinds[1]: ("#E69F00", "s"), "new:1": ("#009E73", "D")}
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharex=True, sharey=True)
for axis, names, title in (
    (axes[0], y, "ten labels"),
    (axes[1], clf.names_, "the answer"),
):
    other = ~np.isin(names.astype(str), list(looks))
    axis.scatter(*places[other].T, s=14, color="0.8", label="no class")
    for name, (colour, marker) in looks.items():
        if not np.any(names == name):
            continue
        new = name.startswith("new")
        axis.scatter(
            *places[names == name].T,
            s=34,
            marker=marker,
            facecolors="none" if new else colour,
            edgecolors=colour,
            label=f"{name} ({np.sum(names == name)})",
        )
    axis.set_title(title, loc="left")
    axis.set_xticks([])
    axis.set_yticks([])
    axis.legend(frameon=False, fontsize=8)
axes[0].set_xlabel("first principal component")
axes[0].set_ylabel("second")

# %%
# The probability of every call. The least sure are worth a second look, or a label.

wrong = clf.names_ != np.array([*kinds[:2], "new:1"], dtype=object)[truth]
print(f"{wrong.sum()} of {len(X)} calls wrong, new:1 being right for {kinds[2]}")
figure, axis = plt.subplots(figsize=(9, 2.4), layout="constrained")
order = np.argsort(clf.confidence_)
axis.bar(
    np.arange(len(X)), clf.confidence_[order], color=np.where(wrong[order], "#D55E00", "#56B4E9")
)
axis.set_xlabel("points by confidence; red: wrong")
axis.set_ylabel("confidence")

# %%
# Somebody looks at its most typical members, and gives it a name. They are labels then. Had it been
# a part of a named class, ``clf.reject("new:1")`` would have said so.

clf.accept("new:1", kinds[2])
print("now labels:", *clf.words_[0].labelled)
print(f"{np.sum(clf.names_ != np.array(kinds, dtype=object)[truth])} of {len(X)} calls wrong")
plt.show()
