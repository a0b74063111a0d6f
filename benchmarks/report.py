"""Report: what a benchmark measured, as Markdown on the screen and in a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = Sequence[Any]


@dataclass
class Report:
    """Markdown, and curves for the plot by panel and name."""

    text: list[str] = field(default_factory=list)
    curves: dict[str, dict[str, list[tuple[float, float]]]] = field(default_factory=dict)

    def say(self, line: str) -> None:
        """A paragraph."""
        self.text += [line, ""]
        print(line, end="\n\n", flush=True)

    def table(self, title: str, header: Row, rows: Iterable[Row]) -> None:
        """A Markdown table; the rows may come in slowly."""
        self.say(f"### {title}")
        for cells in (header, len(header) * ["---"], *rows):
            line = "| " + " | ".join(map(str, cells)) + " |"
            self.text.append(line)
            print(line, flush=True)
        self.say("")

    def point(self, panel: str, curve: str, x: float, y: float) -> None:
        """A point of the plot."""
        self.curves.setdefault(panel, {}).setdefault(curve, []).append((x, y))
