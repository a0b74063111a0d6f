"""What became of the columns of a table, in words: none goes unnamed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

MOST_NAMES = 40  # that are written out one by one; beyond, those that stand side by side as a range
SHORTEST_RANGE = 3


def used_note(names: Sequence[str], columns: Sequence[str]) -> str:
    """Which features there are."""
    return f"{len(names)} features: {named(names, columns)}"


def left_out_notes(reasons: Mapping[str, str], columns: Sequence[str]) -> tuple[str, ...]:
    """Which columns are no features, with the reason, one line for each reason."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        by_reason.setdefault(reason, []).append(name)
    return tuple(
        f"left out {quoted(names, columns)}: {reason}" for reason, names in by_reason.items()
    )


def quoted(names: Sequence[str], columns: Sequence[str]) -> str:
    """All names in quotes, so that blanks in them show."""
    return named([repr(name) for name in names], [repr(name) for name in columns])


def named(names: Sequence[str], columns: Sequence[str]) -> str:
    """All names: one by one, or, if they are many, neighbours among `columns` as ranges."""
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    place = {name: k for k, name in enumerate(columns)}
    runs: list[list[str]] = []
    for name in names:
        after = runs and place.get(name, -2) == place.get(runs[-1][-1], -9) + 1
        if after:
            runs[-1].append(name)
        else:
            runs.append([name])
    return ", ".join(_run_text(run) for run in runs)


def _run_text(run: Sequence[str]) -> str:
    if len(run) < SHORTEST_RANGE:
        return ", ".join(run)
    return f"{run[0]} to {run[-1]} (the {len(run)} columns from one to the other)"
