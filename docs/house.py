"""Write docs/how-it-is-built.md and its picture from the code: `python docs/house.py`.

`python docs/house.py --check` says whether the page still tells the truth; a test does the same.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "spinlearn"
PAGE = Path(__file__).parent / "how-it-is-built.md"
PICTURE = Path(__file__).parent / "images" / "layers.svg"
sys.path.insert(0, str(ROOT))

OPENING = """# How it is built

<!-- made by docs/house.py: change that, and the docstrings it reads -->

For those who want to change the code, or to trust it. [Contributing](CONTRIBUTING.md) says how to add an engine, an
energy, an option or a column.

## Layers

A file is what a reader opens to change one thing. Imports point downward only, and `make lint` checks it: what stands
in one row may not import what stands above.

![The packages of spinlearn in layers, each with its number of files and lines](images/layers.svg)

| package | what it holds |
|---|---|
"""
WALK = """
## The walk of `fit table.csv`

`spinlearn fit table.csv --labels species --out answer` passes these files, in the order in which each is first entered:

| file | what it is for |
|---|---|
"""


def layers() -> list[list[str]]:
    """Packages from the top down, those of one layer together, as import-linter checks them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    rows = next(c["layers"] for c in settings["contracts"] if c["type"] == "layers")
    return [row.replace(":", "|").replace(" ", "").split("|") for row in rows]


def purpose(path: Path) -> str:
    """The first line of a module's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    return text.split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def home(name: str) -> Path:
    """The file that describes a package or module."""
    folder = PACKAGE / name
    return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")


def size(name: str) -> tuple[int, int]:
    """Files and lines."""
    folder = PACKAGE / name
    files = list(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
    return len(files), sum(len(f.read_text().splitlines()) for f in files)


def picture(rows: list[list[str]]) -> str:
    """The layers as boxes; numbers are rounded, so that small changes leave it as it is."""
    width, height, gap = 760, 44, 10
    parts = []
    for y, names in enumerate(rows):
        wide = (width - gap * (len(names) - 1)) / len(names)
        for x, name in enumerate(names):
            files, lines = size(name)
            left, top = x * (wide + gap), y * (height + gap)
            note = f"{files} files, " if files > 1 else ""
            note += f"{max(100, round(lines, -2)):,} lines"
            parts += [
                f'<rect x="{left:.0f}" y="{top}" width="{wide:.0f}" height="{height}" rx="6"/>',
                f'<text x="{left + wide / 2:.0f}" y="{top + 19}" class="name">{name}</text>',
                f'<text x="{left + wide / 2:.0f}" y="{top + 35}" class="note">{note}</text>',
            ]
    tall = len(rows) * (height + gap)
    style = (
        "rect{fill:#eef3fa;stroke:#4a6fa5}text{font-family:sans-serif;text-anchor:middle;"
        "fill:#1c2b40}.name{font-size:14px;font-weight:600}.note{font-size:11px}"
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-2 -2 {width + 4} {tall + 4}">',
            f"<style>{style}</style>",
            *parts,
            "</svg>\n",
        ]
    )


def page(rows: list[list[str]]) -> str:
    """The text: packages with their purposes, files of the walk with theirs."""
    from tools.walk import WALKS

    lines = [f"| `{name}` | {purpose(home(name))} |" for row in rows for name in row]
    walk = [f"| `{file}` | {purpose(PACKAGE / file)} |" for file in WALKS["fit"]()]
    return OPENING + "\n".join(lines) + "\n" + WALK + "\n".join(walk) + "\n"


def main() -> int:
    rows = layers()
    text = page(rows)
    if "--check" in sys.argv:
        same = PAGE.read_text() == text
        print("" if same else f"{PAGE.name} is not that of the code: run python docs/house.py")
        return int(not same)
    PAGE.write_text(text)
    PICTURE.write_text(picture(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
