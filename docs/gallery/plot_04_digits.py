"""
Digits, one label a class
=========================

1797 images of handwritten digits, ten labels, one of each digit. With one label a class none can be
left out to learn from, and the answer is careful: it promises less than it keeps.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from spinlearn import PottsClassifier

digits = load_digits()
rng = np.random.default_rng(0)
y = np.full(len(digits.target), -1)
given = [rng.choice(np.flatnonzero(digits.target == digit)) for digit in range(10)]
y[given] = np.arange(10)

clf = PottsClassifier(random_state=0).fit(digits.data, y)
print(*clf.choices_, sep="\n")
right = clf.transduction_ == digits.target
free = y < 0
accuracy, spread = clf.expected_accuracy_
print(f"\nexpected: {accuracy:.1%} of the calls are right, give or take {100 * spread:.0f}")
print(f"right: {np.mean(right[free]):.1%}")

# %%
# All that was known; calls of which the answer is sure; and those it doubts most.


def row_of_images(figure, points, title):
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    for axis, point in zip(figure.subplots(1, 10), points, strict=True):
        axis.imshow(digits.images[point], cmap="gray_r")
        wrong = clf.transduction_[point] != digits.target[point]
        axis.set_title(clf.transduction_[point], color="#D55E00" if wrong else "black")
        axis.set_axis_off()


order = np.argsort(clf.confidence_)
order = order[np.isin(order, given, invert=True)]
surest = [order[clf.transduction_[order] == digit][-1] for digit in range(10)]
doubtful = rng.choice(order[:100], 10, replace=False)
figure = plt.figure(figsize=(9, 4.4), layout="constrained")
first, second, third = figure.subfigures(3, 1)
row_of_images(first, given, "the ten labels")
row_of_images(second, surest, "the surest call of every digit")
row_of_images(third, doubtful, "ten of the hundred least sure calls (red: wrong)")

# %%
# Confidence sorts right calls from wrong ones.

share = np.cumsum(right[order][::-1]) / np.arange(1, len(order) + 1)
figure, axis = plt.subplots(figsize=(7, 3.4), layout="constrained")
axis.plot(np.arange(1, len(order) + 1), 100 * share, color="#0072B2")
axis.set_xlabel("points taken, the surest first")
axis.set_ylabel("per cent right")
axis.set_ylim(100 * share.min() - 1, 100.5)
axis.spines[["top", "right"]].set_visible(False)
plt.show()
