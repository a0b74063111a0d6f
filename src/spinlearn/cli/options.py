"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spinlearn.engines import ENGINES
from spinlearn.errors import InvalidInputError
from spinlearn.io.dataset import ReadOptions

READING, METHOD, RUN = "Reading the data", "Method", "Run"

Data = Annotated[
    Path,
    typer.Argument(
        help="A table (.csv, .tsv, .parquet), arrays (.npz, .npy), .h5ad, or a graph "
        "(.mtx, .edges)."
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(help="Column of labels; empty or NA = unlabelled.", rich_help_panel=READING),
]
Id = Annotated[
    str | None,
    typer.Option(help="Column of ids. Default: row numbers.", rich_help_panel=READING),
]
Features = Annotated[
    list[str] | None,
    typer.Option(
        help="Feature columns, separated by commas or given several times. Default: all numeric. "
        "For .npz and .h5ad: the array to use (X, a key of obsm or layers).",
        rich_help_panel=READING,
    ),
]
Unlabelled = Annotated[
    list[str] | None,
    typer.Option(
        help="Labels that mean none, for example ? or unknown; separated by commas or given "
        "several times.",
        rich_help_panel=READING,
    ),
]
LabelsFile = Annotated[
    Path | None,
    typer.Option(
        help="A second file with labels (.csv, .tsv, .parquet, .npy): a table with a column of "
        "ids, or one label per row.",
        rich_help_panel=READING,
    ),
]
Edges = Annotated[
    bool,
    typer.Option(
        "--edges", help="The .tsv or .csv is a list of edges: id, id, weight.",
        rich_help_panel=READING,
    ),
]  # fmt: skip
Delimiter = Annotated[
    str | None,
    typer.Option(
        help="What separates cells in DATA. Default: by the ending.", rich_help_panel=READING
    ),
]
Encoding = Annotated[str, typer.Option(help="Of text files.", rich_help_panel=READING)]
Scale = Annotated[
    str,
    typer.Option(
        help="standard: mean 0, deviation 1 per feature; none; auto: standard for tables.",
        rich_help_panel=READING,
    ),
]
Clip = Annotated[
    str | None,
    typer.Option(help="LOW,HIGH: set values beyond to these bounds.", rich_help_panel=READING),
]
Log2 = Annotated[
    bool, typer.Option("--log2", help="Take log2 after clipping.", rich_help_panel=READING)
]
TopVariance = Annotated[
    int | None,
    typer.Option(help="Keep this many features, of largest variance.", rich_help_panel=READING),
]
GraphSpec = Annotated[
    str,
    typer.Option(
        help="auto, or for example knn:5, mutual_knn:10,metric=cosine, radius:0.5.",
        rich_help_panel=METHOD,
    ),
]
EngineName = Annotated[str, typer.Option(help=", ".join(ENGINES) + ".", rich_help_panel=METHOD)]
Temperature = Annotated[
    str,
    typer.Option(
        help="Of the answer: a number; auto, where the calls say most about the points; discovery, "
        "near that, where small new classes stand too; paper, the paper's T*.",
        rich_help_panel=METHOD,
    ),
]
Temperatures = Annotated[
    str,
    typer.Option(
        help="auto, a list 0,0.5,1 or a range 0:2:21 (first, last, how many).",
        rich_help_panel=METHOD,
    ),
]
MaxSeconds = Annotated[
    float | None,
    typer.Option(help="Stop sampling after this time.", rich_help_panel=RUN),
]
Tol = Annotated[
    float | None,
    typer.Option(help="Stop sampling at this largest standard error.", rich_help_panel=RUN),
]
Jobs = Annotated[int, typer.Option(help="Threads.", rich_help_panel=RUN)]
Seed = Annotated[int, typer.Option(help="Same seed, same answer.", rich_help_panel=RUN)]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bar.", rich_help_panel=RUN)]


def read_options(
    labels: str | None,
    id: str | None,
    features: list[str] | None,
    labels_file: Path | None,
    edges: bool,
    delimiter: str | None,
    encoding: str,
    unlabelled: list[str] | None,
) -> ReadOptions:
    """The reading options as one value."""
    for text in features or ():
        if not text.strip(" ,"):
            raise InvalidInputError(
                f"--features {text!r} names no column: name some, or leave it out to use all"
            )
    mark = {"\\t": "\t", "tab": "\t"}.get(delimiter or "", delimiter)
    return ReadOptions(
        labels=labels,
        id=id,
        features=tuple(features or ()),
        labels_file=labels_file,
        edges=edges,
        delimiter=mark,
        encoding=encoding,
        unlabelled=tuple(
            name.strip() for text in unlabelled or () for name in (text, *text.split(","))
        ),
    )


def parse_clip(text: str | None) -> tuple[float, float] | None:
    """LOW,HIGH as numbers."""
    if text is None:
        return None
    try:
        low, high = map(float, text.split(","))
    except ValueError as error:
        raise InvalidInputError(
            f"clip {text!r} cannot be read: write LOW,HIGH, for example 100,16000"
        ) from error
    return low, high
