"""
An image by a few strokes
=========================

A stroke on what you want, two on what you do not want; the image does the rest. Adjacent
pixels are joined by how alike they are, so that a border is cheap where the image has one. At a
temperature above zero every pixel gets a probability, not just a side.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

from spinlearn import PottsClassifier, TemperatureRule
from spinlearn.graphs import PixelGrid

photo = load_sample_image("flower.jpg") / 255.0
image = photo[:426, :636].reshape(71, 6, 106, 6, 3).mean(axis=(1, 3))  # a sixth of the size

strokes = np.full(image.shape[:2], "", dtype=object)
strokes[35:38, 35:65] = "flower"
strokes[60:62, 10:95] = "rest"
strokes[5:60, 8:10] = "rest"

mask = np.ones(image.shape[:2], dtype=bool)
clf = PottsClassifier(
    method="paper",
    graph=PixelGrid(values=image, connectivity=8, contrast=0.1),
    random_state=0,
    temperature=TemperatureRule(name=0.2, grid=[0.2]),
).fit(mask, strokes)

# %%
# The strokes, the probability of "flower", and the cut-out. No stroke touches the second flower at
# the lower edge, and its probability says so: neither 0 nor 1.

probability = clf.label_distributions_[:, list(clf.classes_).index("flower")].reshape(mask.shape)
figure, axes = plt.subplots(1, 3, figsize=(11, 2.9), layout="constrained")
axes[0].imshow(image)
for name, colour in (("flower", "white"), ("rest", "black")):
    axes[0].contourf(strokes == name, levels=[0.5, 1], colors=[colour], alpha=0.8)
axes[1].imshow(probability, cmap="magma", vmin=0, vmax=1)
axes[2].imshow(np.where(probability[..., None] > 0.5, image, 1.0))
for axis, title in zip(axes, ("three strokes", "probability", "cut out"), strict=True):
    axis.set_title(title, loc="left")
    axis.set_axis_off()
plt.show()
