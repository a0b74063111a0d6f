"""
Single cells with scanpy
========================

700 blood cells that come with scanpy, and five labels for each of ten types.
:func:`spinlearn.annotate` works on the neighbour graph that scanpy has made and writes its answer
into the AnnData object, beside everything else.
"""

import matplotlib.pyplot as plt
import numpy as np
import scanpy as sc

import spinlearn

adata = sc.datasets.pbmc68k_reduced()
types = adata.obs["bulk_labels"].astype(str).to_numpy()

rng = np.random.default_rng(0)
known = np.full(adata.n_obs, "", dtype=object)
for name in np.unique(types):
    known[rng.choice(np.flatnonzero(types == name), 5, replace=False)] = name
adata.obs["known"] = known

spinlearn.annotate(adata, labels="known", random_state=0)
accuracy, spread = adata.uns["spinlearn"]["accuracy"]
print(f"expected: {accuracy:.0%} of the calls are right, give or take {100 * spread:.0f}")
adata.obs[["spinlearn_call", "spinlearn_status", "spinlearn_confidence", "spinlearn_second"]].head()

# %%
# Before and after on scanpy's UMAP.

calls = adata.obs["spinlearn_call"].astype(str).to_numpy()
colour = dict(zip(np.unique(calls), plt.get_cmap("tab20").colors, strict=False))
figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
for axis, given, title in (
    (axes[0], known, f"before: {np.sum(known != '')} labels"),
    (axes[1], calls, "after"),
):
    axis.scatter(*adata.obsm["X_umap"].T, s=8, color="0.88")
    for name in colour:
        here = given == name
        if here.any():
            axis.scatter(
                *adata.obsm["X_umap"][here].T,
                s=26 if axis is axes[0] else 14,
                color=colour[name],
                marker="*" if name.startswith("new") else "o",
                label=f"{name} ({here.sum()})",
            )
    axis.set_title(title, loc="left")
    axis.set_axis_off()
axes[1].legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))

# %%
# How many calls are right, and does the confidence know it? It is the probability of the call: of
# calls with a confidence of 0.9, nine in ten should be right. Here it sorts the calls well, but is
# too sure: several types lie on top of each other in this graph.

sure = adata.obs["spinlearn_confidence"].to_numpy()
free = known == ""
right = (calls == types)[free]
print(f"{right.mean():.0%} of the unlabelled cells are called right")
for low, high in ((0.0, 0.5), (0.5, 0.8), (0.8, 1.01)):
    these = (sure[free] >= low) & (sure[free] < high)
    if these.any():
        print(f"confidence {low} to {min(high, 1):g}: {right[these].mean():.0%} of {these.sum()}")
plt.show()
