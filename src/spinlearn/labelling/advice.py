"""What to label next and which label to doubt, with the reasons in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from spinlearn.advice import Suggestion, suggest, suspects
from spinlearn.answers.answer import Answer
from spinlearn.answers.rule import Status
from spinlearn.minimizers.linear_system import weight_matrix

SUGGESTED = 6
CENTRAL = 3  # members of a new class that get its name: so many labels show how a class holds
# together, and further new classes are then told from it


def next_points(answer: Answer, stop: Callable[[], bool]) -> list[dict[str, Any]]:
    """Points worth labelling, the most useful first: row number, call and reason."""
    free = int(np.sum(answer.labels < 0))
    if free == 0:
        return []
    found = suggest(answer, min(SUGGESTED, free), stop=stop)
    return [
        {"point": s.point, "call": str(answer.names[s.point]), "why": reason(answer, s)}
        for s in found
    ]


def reason(answer: Answer, suggestion: Suggestion) -> str:
    """Why this point is worth a label."""
    point, reach = suggestion.point, suggestion.reach
    status = Status(int(answer.decision.status[point]))
    call, sure = str(answer.names[point]), float(answer.confidence[point])
    speaks = f"it speaks for {_points(reach)}"
    if len(answer.classes) == 0:
        return f"in the middle of {call}, and nothing has a name yet: {speaks}"
    if status is Status.NEW:
        return f"stands for {call}, which has no name: {speaks}"
    if status is Status.CONFUSED:
        return f"undecided, {call.removeprefix('confused:').replace('|', ' or ')}: {speaks}"
    if status is Status.OUTLIER:
        return f"like no other point: {speaks}"
    errors = f"about {suggestion.gain:.0f} errors" if suggestion.gain >= 1.5 else "an error"
    return f"called {call} at confidence {sure:.2f}: its label should remove {errors}; {speaks}"


def doubted(answer: Answer) -> list[dict[str, Any]]:
    """Labels that the rest of the data disagrees with, the most suspect first."""
    if int(np.sum(answer.labels >= 0)) < 2 or len(answer.classes) < 2:
        return []
    names = [str(name) for name in answer.classes]
    return [
        {
            "point": s.point,
            "given": names[s.given],
            "instead": names[s.instead],
            "why": f"labelled {names[s.given]}, but the other labels say {names[s.instead]} with "
            f"probability {s.p_instead:.2f}",
        }
        for s in suspects(answer)
        if s.instead < len(names)
    ]


def unnamed_groups(answer: Answer) -> list[dict[str, Any]]:
    """Groups that wait for a name: name, size and the members that would get it.

    Proposals, the best first, each with as many of its most typical points as a class has labels in
    the mean; where an answer makes none, new classes.
    """
    if not answer.proposals:
        return new_groups(answer)
    mean = np.sum(answer.labels >= 0) / max(len(answer.classes), 1)
    return [
        {"group": one.name, "size": len(one.points),
         "points": one.typical[: max(1, round(mean))].tolist()}
        for one in answer.proposals
    ]  # fmt: skip


def new_groups(answer: Answer, most: int = 12) -> list[dict[str, Any]]:
    """Classes that nobody named, the largest first: code, size and their most central members."""
    outcomes, k = answer.decision.outcomes, len(answer.classes)
    codes, sizes = np.unique(outcomes[outcomes >= k], return_counts=True)
    graph = answer.graph
    matrix = weight_matrix(graph.with_weights(np.maximum(graph.weights, 0.0)))
    found = []
    for code, size in sorted(zip(codes.tolist(), sizes.tolist(), strict=True),
                             key=lambda pair: (-pair[1], pair[0]))[:most]:  # fmt: skip
        members = np.flatnonzero(outcomes == code)
        bound = np.asarray(matrix[members][:, members].sum(axis=1)).ravel()
        central = members[np.argsort(-bound, kind="stable")[:CENTRAL]]
        found.append({"group": answer.name_of(code), "size": size, "points": central.tolist()})
    return found


def _points(count: int) -> str:
    return "one point" if count == 1 else f"{count} points"
