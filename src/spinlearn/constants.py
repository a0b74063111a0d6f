"""Every number of the default answer that was settled by looking at data.

Each has its meaning, its source and, where it changes the answer, what halving and doubling it does
(`benchmarks/one_law.py settled` writes the table of docs/default-answer.md). Limits of memory and
time stand beside the code that they limit.

Sources: ten neighbours, the components and the numbers of the walk were settled for version 0.2.0
on 45 sets; resolution 1 is Newman's modularity, 0 the paper's cut; temperatures lie on both sides
of where belief propagation was calibrated on nine sets; the rest were settled on 35 sets of many
kinds (docs/benchmarks.md), looking at errors and log loss.
"""

from __future__ import annotations

# -- the graph -------------------------------------------------------------------------------------
GRAPH_NEIGHBORS = 10  # nearest neighbours of a point
FEWEST_COMPONENTS, MOST_COMPONENTS = 10, 50  # principal components of features that are more
POINTS_PER_COMPONENT = 6  # between these two: a component that so few points support is noise

# -- the phase: belief propagation -----------------------------------------------------------------
# Strengths of the null model, as shares of modularity's. None or a weak one leaves the sizes of
# classes to the graph, a strong one keeps a class from taking everything where classes touch. The
# first is that of the profile where labels prefer none.
RESOLUTIONS = (0.25, 1.0, 0.0)
# Temperatures, descending, over the mean summed coupling of a point divided by NEIGHBOURS.
# Neighbours are neighbours of each other, so that messages count what they say more than once;
# about so many of them speak independently. With fewer on average, as on a lattice, groups do not
# stand apart by their density, and the paper's method is weighed too.
FACTORS = (2.0, 1.25, 0.8)
NEIGHBOURS = 5.0

# -- the walk --------------------------------------------------------------------------------------
REACH = 2.4  # times sqrt(n): steps of the walks that give the phase its fields
FAINT = 0.3  # of the mean number of walks: what is added to all classes, so that none is ruled out
DOUBT = 2.0  # labels of a class worth as much as the belief that all classes are alike
SHARPNESS = 2.0  # power: shares of walks are blunter than probabilities, for walks blur borders

# -- the features ----------------------------------------------------------------------------------
INVERSE_PENALTY = 10.0  # C of the logistic regression, features in units of their spread

# -- the average -----------------------------------------------------------------------------------
GROUPS = 5  # in which labels are left out
SHARE_STEP = 0.2  # of the shares of the laws that are weighed
LEAST = 0.01  # of a left-out label's probability: one that no law understands decides nothing alone

# Nats that left-out labels must say against the paper's method on a lattice before it is not taken:
# strong evidence on the scale of Kass & Raftery (1995).
AGAINST_PAPER = 3.0

# -- words -----------------------------------------------------------------------------------------
SURE = 0.8  # probability from which on a call is "confident": four of five such calls are right

# -- new classes (`default.new_classes`) -----------------------------------------------------------
NOVELTY = 0.3  # share of all classes that are expected to have no label
FEW_LINKS = 3.0  # mean couplings: sums below are chance
USUAL = 0.6  # ln kappa between parts of one class, mean of 70 sets
# A group of the mean size of a class whose halves hang together as usual falls into classes with
# log-odds -3; a border weaker by a factor e adds 3, a group larger by a factor e adds 2.
SPLIT, PER_WEAKNESS, PER_SIZE = -3.0, 3.0, 2.0
STRAY = 0.2  # probability of a label inside a group of another class
# Without labels: modules at this resolution are groups. Two are joined again if their border is
# stronger than their weakest cut (kappa > 1) where kappa inside a class is as in other data.
CLUSTERS = 0.4
