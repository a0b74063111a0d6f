"""The options of all commands, each in one place."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spinlearn.answers.rule import SMALL_GROUPS
from spinlearn.answers.temperature import TEMPERATURE_RULES
from spinlearn.energies import COUPLINGS, ENERGIES
from spinlearn.engines import ENGINES
from spinlearn.errors import InvalidInputError
from spinlearn.io.dataset import ReadOptions
from spinlearn.methods import METHODS

READING, METHOD, RUN = "Reading the data", "Method", "Run"

Data = Annotated[
    Path,
    typer.Argument(
        help="A table (.csv, .tsv, .parquet), arrays (.npz, .npy), .h5ad, or a graph "
        "(.mtx, .edges)."
    ),
]
Folder = Annotated[Path, typer.Argument(help="The folder that `spinlearn fit --out` made.")]
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
Missing = Annotated[
    str,
    typer.Option(
        help="Features without a value: error; median, of their column; drop, the rows.",
        rich_help_panel=READING,
    ),
]
Neighbors = Annotated[
    str | None,
    typer.Option(
        help="Of an .h5ad with several neighbour graphs: scanpy's key_added of the one to use.",
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
        "--edges",
        help="The .tsv, .csv or .parquet, or the folder of .parquet parts, is a list of edges: "
        "id, id, weight.",
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
Decimal = Annotated[
    str,
    typer.Option(help="Mark before the decimals of numbers: . or ,", rich_help_panel=READING),
]
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
MethodName = Annotated[
    str,
    typer.Option(
        help=f"How the answer is found: {', '.join(METHODS)}. paper: the minimum cut, exact or "
        "sampled; messages: the average of belief propagation, walks from the labels and the "
        "features; auto: messages, on lattices paper. Other options override it.",
        rich_help_panel=METHOD,
    ),
]
Components = Annotated[
    str,
    typer.Option(
        help="Principal components in which neighbours are looked for: auto, none (all features) "
        "or a number.",
        rich_help_panel=METHOD,
    ),
]
Proportions = Annotated[
    str | None,
    typer.Option(
        help="Shares of the classes, if you know them: A=0.8,B=0.2, or numbers in the order of the "
        "sorted classes.",
        rich_help_panel=METHOD,
    ),
]
LabelNoise = Annotated[
    float | None,
    typer.Option(
        help="Share of the labels that may be wrong, below 0.5; the data may then overrule them.",
        rich_help_panel=METHOD,
    ),
]
FeatureLaw = Annotated[
    str,
    typer.Option(
        help="What the features alone say, beside the graph: auto (learnt from the labels), off.",
        rich_help_panel=METHOD,
    ),
]
Novelty = Annotated[
    float,
    typer.Option(
        help="Share of all classes that you expect to have no label; 0: none.",
        rich_help_panel=METHOD,
    ),
]
GraphSpec = Annotated[
    str,
    typer.Option(
        help="auto, or for example knn:5, mutual_knn:10,metric=cosine, radius:0.5.",
        rich_help_panel=METHOD,
    ),
]
Couplings = Annotated[
    str,
    typer.Option(
        help=f"What the energy takes from the graph: {', '.join(COUPLINGS)}. homogeneous binds "
        "points of dense and sparse regions alike; auto is that of the method.",
        rich_help_panel=METHOD,
    ),
]
EngineName = Annotated[str, typer.Option(help=", ".join(ENGINES) + ".", rich_help_panel=METHOD)]
EnergyName = Annotated[
    str,
    typer.Option(
        help=f"Energy over labellings: auto, {', '.join(ENERGIES)}. With one of these, no "
        "other energy is considered.",
        rich_help_panel=METHOD,
    ),
]
EnergyNames = Annotated[
    list[str] | None,
    typer.Option(
        help="An energy to sample and to minimise; give it several times for several.",
        rich_help_panel=METHOD,
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        help="A rival method, or messages, paper, auto for those of `spinlearn fit`; give it "
        "several times for several. Default: messages and all rivals.",
        rich_help_panel=METHOD,
    ),
]
Temperature = Annotated[
    str,
    typer.Option(
        help="Temperature of the answer: a number or a rule. auto: that of the method; calibrated: "
        "where classes have formed and probabilities are about right; paper: the paper's T*.",
        rich_help_panel=METHOD,
    ),
]
OtherTemperature = Annotated[
    str | None,
    typer.Option(
        help=f"Temperature of the answer: a number, or {', '.join(TEMPERATURE_RULES)}. Default: as "
        "fitted."
    ),
]
Tau = Annotated[
    float,
    typer.Option(
        help="A point is confident if its two largest probabilities differ by more.",
        rich_help_panel=METHOD,
    ),
]
SmallGroups = Annotated[
    str,
    typer.Option(
        help="What becomes of one or two points that agree with no others: "
        f"{', '.join(SMALL_GROUPS)}.",
        rich_help_panel=METHOD,
    ),
]
LabelStrength = Annotated[
    float,
    typer.Option(
        help="inf holds labels fixed; a finite value lets the data overrule them.",
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
Out = Annotated[Path, typer.Option(help="Folder for the answer.", rich_help_panel=RUN)]
NewFolder = Annotated[Path, typer.Option("--out", help="Folder for the new answer.")]
Group = Annotated[str, typer.Argument(help="A proposal, for example new:1.")]
ClassName = Annotated[str, typer.Argument(help="Name of its class.")]
LabellingOut = Annotated[
    Path | None,
    typer.Option(help="Folder for log and answer. Default: DATA-labels.", rich_help_panel=RUN),
]
Who = Annotated[
    str | None,
    typer.Option(help="Your name in the log. Default: that of your account.", rich_help_panel=RUN),
]
Port = Annotated[
    int, typer.Option(help="Of the page. Default: any that is free.", rich_help_panel=RUN)
]
ShowPage = Annotated[
    bool, typer.Option("--open/--no-open", help="Open the page.", rich_help_panel=RUN)
]
Images = Annotated[
    Path | None,
    typer.Option(help="Folder of picture files that are named by ids.", rich_help_panel=READING),
]
Pixels = Annotated[
    str | None,
    typer.Option(
        help="Size of the pictures that the features are: 28x28, 32x32x3; none if they are none. "
        "Default: by their number and names.",
        rich_help_panel=READING,
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Of a Dask cluster, tcp://...:8786, whose workers share independent work.",
        rich_help_panel=RUN,
    ),
]
Blocks = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="With --scheduler: pass messages in N blocks of nodes that live on the workers, for a "
        "graph whose messages no machine holds alone.",
        rich_help_panel=RUN,
    ),
]
Parts = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="With --blocks: new folder for the parts of the model, which all workers can read; "
        "default: one for temporary files.",
        rich_help_panel=RUN,
    ),
]
ProfileFile = Annotated[
    bool | None,
    typer.Option(
        "--profile/--no-profile",
        help="Write profile.csv. Default: up to 100,000 points.",
        rich_help_panel=RUN,
    ),
]
OtherOut = Annotated[
    Path | None,
    typer.Option(help="Write the answer at these temperatures into another folder."),
]
TableOut = Annotated[Path | None, typer.Option(help="Write the table to this CSV file too.")]
Truth = Annotated[
    str | None,
    typer.Option(help="Column of true classes, to count errors.", rich_help_panel=READING),
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Go on with an interrupted run.", rich_help_panel=RUN),
]
CheckpointSeconds = Annotated[
    float | None,
    typer.Option(help="Time between two savings of the run.", rich_help_panel=RUN),
]
Number = Annotated[int, typer.Option("-n", "--number", help="How many points.")]
Samples = Annotated[int, typer.Option(help="Labellings drawn at each temperature.")]
Margin = Annotated[
    float, typer.Option(help="How much more probable another class must be than the label.")
]
Experiment = Annotated[str, typer.Argument(help="fig1, fig2, fig4, fig5, yeast or all.")]
Quick = Annotated[bool, typer.Option("--quick", help="10 labellings, looser errors.")]
ScaleName = Annotated[str | None, typer.Option(help="full, quick or tiny.", hidden=True)]
ExpressionData = Annotated[
    Path | None,
    typer.Option(help="Folder of the gene-expression files; default: SPINLEARN_DATA."),
]
ReproductionOut = Annotated[Path, typer.Option(help="Folder for figures, cells and the page.")]
DemoOut = Annotated[Path, typer.Option(help="Folder for the pictures and the report.")]


def read_options(
    labels: str | None,
    id: str | None,
    features: list[str] | None,
    labels_file: Path | None,
    edges: bool,
    delimiter: str | None,
    encoding: str,
    unlabelled: list[str] | None,
    missing: str = "error",
    neighbors: str | None = None,
    decimal: str = ".",
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
        missing=missing,
        neighbors=neighbors,
        decimal=decimal,
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
