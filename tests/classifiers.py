"""Classifiers for tests, with the settings of their rule and energy side by side."""

from spinlearn import PottsClassifier, TemperatureRule
from spinlearn.energies import MinCut, make_energy

RULE = {"temperature": "name", "temperatures": "grid"} | {k: k for k in ("small_groups", "eta_min")}
ENERGY = ("label_strength", "couplings", "n_states")


def classifier(**settings) -> PottsClassifier:
    """`temperatures`, ... are given to a TemperatureRule, `n_states`, ... to the energy."""
    rule = {RULE[name]: settings.pop(name) for name in list(settings) if name in RULE}
    own = {name: settings.pop(name) for name in list(settings) if name in ENERGY}
    if own:
        energy = settings.pop("energy", None)
        settings["energy"] = (MinCut() if energy is None else make_energy(energy)).set_params(**own)
    return PottsClassifier(temperature=TemperatureRule(**rule), **settings)
