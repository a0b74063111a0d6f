"""The default answer: how the pieces of the library are put together.

"paper" is that of Getz, Shental & Domany throughout; "messages" sets a null model beside the cut
and answers by belief propagation; "auto" takes the one that the labels favour.
"""

from __future__ import annotations

from spinlearn.default.plan import METHODS, Choice, Plan, plan, replanned

__all__ = ["METHODS", "Choice", "Plan", "plan", "replanned"]
