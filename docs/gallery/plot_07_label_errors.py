"""
Labels that are wrong
=====================

Fifty digits are labelled, five of them wrongly. :func:`spinlearn.suspects` leaves every label out
in turn and asks what the others say about its point.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from spinlearn import PottsClassifier, suspects

digits = load_digits()
rng = np.random.default_rng(2)
y = np.full(len(digits.target), -1)
for digit in range(10):
    y[rng.choice(np.flatnonzero(digits.target == digit), 5, replace=False)] = digit
planted = rng.choice(np.flatnonzero(y >= 0), 5, replace=False)
y[planted] = (y[planted] + rng.integers(1, 10, 5)) % 10

clf = PottsClassifier(random_state=0).fit(digits.data, y)
found = suspects(clf)
print(
    f"{len(found)} suspects, {np.isin([s.point for s in found], planted).sum()} of 5 planted errors"
)

# %%
# Each suspect with its label and what the others say instead.

figure, axes = plt.subplots(1, len(found), figsize=(1.7 * len(found), 2.6), layout="constrained")
for axis, suspect in zip(np.atleast_1d(axes), found, strict=True):
    axis.imshow(digits.images[suspect.point], cmap="gray_r")
    mark = "planted" if suspect.point in planted else "not planted"
    axis.set_title(f"labelled {suspect.given}\nrather {suspect.instead}", fontsize=10)
    axis.set_xlabel(f"p = {suspect.p_instead:.2f}\n{mark}", fontsize=9)
    axis.set_xticks([])
    axis.set_yticks([])

# %%
# A suspect is a question, not a verdict: look at the image, then correct the label or keep it. A
# good label that is odd is worth keeping. Who cannot look says that a tenth of the labels may be
# wrong: they become preferences that the data can overrule. Here that changes little: five wrong
# labels do hardly any harm beyond their own points.

looked_at = y.copy()
for suspect in found:
    looked_at[suspect.point] = digits.target[suspect.point]
ways = {
    "wrong labels kept": clf,
    "label_noise=0.1": PottsClassifier(label_noise=0.1, random_state=0).fit(digits.data, y),
    "suspects looked at": PottsClassifier(random_state=0).fit(digits.data, looked_at),
}
errors = [100 * np.mean(fit.forced_labels_ != digits.target) for fit in ways.values()]
figure, axis = plt.subplots(figsize=(7, 2.2), layout="constrained")
bars = axis.barh(list(ways), errors, color=["#D55E00", "#56B4E9", "#0072B2"])
axis.bar_label(bars, fmt="%.1f %%", padding=4)
axis.set_xlabel("points called wrong")
axis.invert_yaxis()
axis.spines[["top", "right"]].set_visible(False)
plt.show()
