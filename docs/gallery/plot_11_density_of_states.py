"""
Density of states of a Potts lattice
====================================

For physicists. The multicanonical engine visits all energies about equally often, and so learns how
many labellings there are of each, D(E). From that everything follows at any temperature. Here is a
lattice of 16 x 16 sites with two states, small enough to be held against the exact answer.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import logsumexp

from spinlearn import PottsModel
from spinlearn.engines import JunctionTree, Multicanonical
from spinlearn.graphs import PixelGrid

side = 16
lattice = PottsModel(PixelGrid().build(np.ones((side, side), dtype=bool)), n_states=2)
temperatures = np.append(np.linspace(0.5, 2.0, 16), np.inf)  # E counts neighbours that differ
run = Multicanonical(tol=0.01).run(lattice, temperatures, seed=0)

energies = run.diagnostics["energies"]
log_density = run.diagnostics["log_density_of_states"]
print(f"sum of D(E): e^{logsumexp(log_density):.3f}; 2^256 is e^{side**2 * np.log(2):.3f}")

# %%
# How many labellings have energy E: two have none, and most have about 240, half of the edges. At
# a temperature T each weighs exp(-E/T), which makes a narrow peak of energies.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
left.plot(energies, log_density / np.log(10), color="#0072B2")
left.set_xlabel("energy E")
left.set_ylabel("log10 D(E)")
for temperature, colour in ((0.8, "#0072B2"), (1.1346, "#009E73"), (1.6, "#D55E00")):
    weight = log_density - energies / temperature
    share = np.exp(weight - logsumexp(weight))
    right.plot(energies, share, color=colour, label=f"T = {temperature:g}")
right.set_xlabel("energy E")
right.set_ylabel("probability of E")
right.set_xlim(0, 220)
right.legend(frameon=False)
for axis in (left, right):
    axis.spines[["top", "right"]].set_visible(False)

# %%
# Held against the exact answer: energy and heat capacity, of which D(E) gives every temperature.
# The infinite lattice has its transition at T = 1/ln(1 + sqrt 2) = 1.1346.

exact = JunctionTree().run(lattice, temperatures)
finite = np.isfinite(temperatures)
figure, axes = plt.subplots(1, 2, figsize=(11, 3.4), layout="constrained")
for axis, name in zip(axes, ("mean_energy", "heat_capacity"), strict=True):
    axis.plot(temperatures[finite], getattr(exact, name)[finite], color="0.6", lw=4, label="exact")
    axis.plot(
        temperatures[finite],
        getattr(run, name)[finite],
        "o",
        ms=4,
        color="#0072B2",
        label="sampled",
    )
    axis.axvline(1 / np.log(1 + np.sqrt(2)), color="black", ls=":")
    axis.set_xlabel("temperature T")
    axis.set_ylabel(name.replace("_", " "))
    axis.spines[["top", "right"]].set_visible(False)
axes[0].legend(frameon=False)
plt.show()
