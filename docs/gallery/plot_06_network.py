"""
A social network
================

Zachary's karate club split after a quarrel between its instructor (0) and its president (33). Given
only who those two are, and who meets whom outside the club, on which side did each member end?
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from spinlearn import PottsClassifier

club = nx.karate_club_graph()
clf = PottsClassifier().fit(club, {0: "Mr. Hi", 33: "Officer"})
truth = np.array([club.nodes[node]["club"] for node in clf.nodes_], dtype=object)
wrong = np.flatnonzero(clf.forced_labels_ != truth)
print(f"{len(wrong)} of 32 members on the wrong side: {wrong.tolist()}")

# %%
# Colour is the probability of following the instructor. Squares did follow him, circles did not.

probability = clf.label_distributions_[:, 0]
places = nx.spring_layout(club, seed=4, iterations=200)
figure, axis = plt.subplots(figsize=(8, 5.4), layout="constrained")
nx.draw_networkx_edges(club, places, ax=axis, edge_color="0.8")
for shape, side in (("s", "Mr. Hi"), ("o", "Officer")):
    members = np.flatnonzero(truth == side)
    drawn = nx.draw_networkx_nodes(
        club,
        places,
        nodelist=members.tolist(),
        node_color=probability[members],
        node_shape=shape,
        node_size=330,
        cmap="coolwarm",
        vmin=0,
        vmax=1,
        edgecolors="black",
        linewidths=np.where(np.isin(members, (0, 33)), 3.0, 0.5),
        ax=axis,
    )
for node, place in places.items():
    dark = abs(probability[node] - 0.5) > 0.3
    axis.text(*place, node, ha="center", va="center", color="white" if dark else "black", size=8)
figure.colorbar(drawn, ax=axis, label="probability of following the instructor", shrink=0.7)
axis.set_axis_off()
plt.show()
