"""A plain page of text, tables, figures; all text is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 66rem; margin: 2rem auto; padding: 0 1rem;
       color: #1a1a1a; background: #fff }
table { border-collapse: collapse; margin: 1rem 0; font-size: .9rem }
th, td { border-bottom: 1px solid #ddd; padding: .35rem .6rem; text-align: left;
         vertical-align: top }
td.number { text-align: right; font-variant-numeric: tabular-nums }
.good { color: #00664b; font-weight: 600 } .bad { color: #a33b00; font-weight: 600 }
.open { color: #666 } img { max-width: 100%; height: auto } .note { color: #555 }
blockquote { margin: 0; color: #333 }
"""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table: text, a quieter remark below it, a look (number, quote, good, ...)."""

    text: str
    remark: str = ""
    look: str = ""


@dataclass(slots=True)
class Document:
    """A page that grows from top to bottom."""

    title: str
    parts: list[str] = field(default_factory=list)

    def heading(self, text: str, level: int = 2) -> None:
        """A heading."""
        self.parts.append(f"<h{level}>{escape(text)}</h{level}>")

    def paragraph(self, text: str, *, quiet: bool = False) -> None:
        """A paragraph, or a quiet note."""
        look = " class='note'" if quiet else ""
        self.parts.append(f"<p{look}>{escape(text)}</p>")

    def figure(self, stem: str, caption: str, *, table: bool = True, width: str = "100%") -> None:
        """The picture stem.png, linked to stem.svg and, with `table`, to stem.csv."""
        name = escape(stem)
        link = f" <a href='{name}.csv'>table</a>" if table else ""
        self.parts.append(
            f"<p><a href='{name}.svg'><img src='{name}.png' style='max-width: {escape(width)}' "
            f"alt='{escape(caption)}'></a>{link}</p>"
        )

    def table(self, header: Sequence[str], rows: Sequence[Sequence[Cell | str]]) -> None:
        """A table; cells that are plain text are numbers."""
        head = "".join(f"<th>{escape(h)}</th>" for h in header)
        body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
        self.parts.append(f"<table><tr>{head}</tr>{body}</table>")

    def html(self) -> str:
        """The whole page."""
        title = escape(self.title)
        return "\n".join(
            [
                "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
                "<meta name='viewport' content='width=device-width, initial-scale=1'>",
                f"<title>{title}</title><style>{STYLE}</style></head><body>",
                f"<h1>{title}</h1>",
                *self.parts,
                "</body></html>",
            ]
        )


def _cell(value: Cell | str) -> str:
    cell = Cell(value, look="number") if isinstance(value, str) else value
    text = escape(cell.text)
    if cell.look == "quote":
        return f"<td><blockquote>{text}</blockquote></td>"
    remark = f"<br><span class='note'>{escape(cell.remark)}</span>" if cell.remark else ""
    return f"<td class='{escape(cell.look)}'>{text}{remark}</td>"
