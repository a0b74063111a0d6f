"""
Two bands, seven labels
=======================

The first example of the paper. Two bands of pixels touch at a bridge, and seven of 1360 pixels have
a label. The cheapest way to cut the picture in two is to fence in three labels and to give all else
to one class. That is the answer at temperature zero. A little warmer, the many good labellings
outvote the one that is cheapest.
"""

import matplotlib.pyplot as plt
import numpy as np

from spinlearn import PottsClassifier
from spinlearn.datasets import two_bands

toy = two_bands()  # -1 marks a pixel without label
clf = PottsClassifier(method="paper", temperature="paper:grid=0:2:21")
clf.fit(toy.graph(), toy.labels)
print(f"answer at T* = {clf.temperature_:.1f}")

# %%
# The same fit answers at every temperature. Too cold, one class takes all; too warm, every pixel is
# on its own and nothing can be said (grey).

colours = np.array([[0.0, 0.45, 0.70], [0.90, 0.62, 0.0], [0.8, 0.8, 0.8]])
figure, axes = plt.subplots(3, 1, figsize=(8, 8.2), layout="constrained")
for axis, temperature in zip(axes, (0.0, clf.temperature_, 1.9), strict=True):
    calls = clf.decide(temperature).calls
    picture = np.ones((*toy.mask.shape, 3))
    picture[toy.mask] = colours[np.where(np.isin(calls, (0, 1)), calls, 2)]
    axis.imshow(picture)
    for label, marker in ((0, "o"), (1, "s")):
        row, column = toy.coordinates[toy.labels == label].T
        axis.plot(column, row, marker, color=colours[label], mec="white", ms=9, mew=1.5)
    errors = np.sum(calls != toy.truth)
    axis.set_title(f"T = {temperature:.1f}: {errors} of {toy.n_points} wrong or undecided")
    axis.set_axis_off()

# %%
# The profile shows the calls of all pixels over temperature, a row for each. The upper band changes
# its call at T = 0.55 and then holds it: that is the change which the rule for T* looks for.

clf.plot_profile()
plt.show()
