"""Options of the commands: those made from the record `spinlearn.settings`, and a few others."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from spinlearn.errors import InvalidInputError
from spinlearn.io.dataset import ReadOptions
from spinlearn.settings import CLASSIFIER, PREPARING, READING, Setting, complete

RUN, CLUSTER = "Run", "Many machines"
run_option = partial(typer.Option, rich_help_panel=RUN)
cluster_option = partial(typer.Option, rich_help_panel=CLUSTER)

Data = Annotated[
    Path,
    typer.Argument(
        help="A table (.csv, .tsv, .parquet, .xlsx), arrays (.npz, .npy), .h5ad, or a graph "
        "(.mtx, .edges, .graphml, .gml)."
    ),
]
Folder = Annotated[Path, typer.Argument(help="The folder that `spinlearn fit --out` made.")]
Out = Annotated[Path, typer.Option(help="Folder for the answer.")]
Json = Annotated[
    bool,
    run_option("--json", help="One JSON object on standard output; all else on standard error."),
]
TableFile = Annotated[
    Path | None, typer.Option("--out", help="Write the table to this CSV file too.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bar.")]
Seed = Annotated[int, typer.Option(help="Same seed, same answer.")]
Scheduler = Annotated[
    str | None,
    cluster_option(
        metavar="ADDRESS",
        help="Of a Dask cluster, tcp://...:8786, whose workers share independent work.",
    ),
]


def with_settings(
    without: Collection[str] = (), only: Collection[str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command options for the settings of a fit and of reading.

    It gets them as `read`, a ReadOptions, and `settings`, a dictionary. It has no option for the
    settings of reading `without`, and of the classifier for `only` these.
    """
    reading = [s for s in READING if s.name not in without]
    fitting = [*PREPARING, *(s for s in CLASSIFIER if only is None or s.name in only)]

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters.values()
        first = [p for p in own if p.kind is p.POSITIONAL_OR_KEYWORD]
        last = [p for p in own if p.kind is p.KEYWORD_ONLY and p.name not in ("read", "settings")]
        made = [_option(s, "read_") for s in reading] + [_option(s, "fit_") for s in fitting]

        @wraps(command)
        def run(**given: Any) -> None:
            read = {s.name: given.pop("read_" + s.name) for s in reading}
            settings = {s.name: given.pop("fit_" + s.name) for s in fitting}
            columns, no_label = read["features"] or (), read.get("unlabelled") or ()
            for text in columns:
                if not text.strip(" ,"):
                    raise InvalidInputError(
                        f"--features {text!r} names no column: name some, or leave it out to use "
                        "all"
                    )
            read["features"] = tuple(columns)
            names = (name for text in no_label for name in (text, *text.split(",")))
            read["unlabelled"] = tuple(map(str.strip, names))
            read["delimiter"] = {"\\t": "\t", "tab": "\t"}.get(read["delimiter"], read["delimiter"])
            command(**given, read=ReadOptions(**read), settings=settings)

        run.__signature__ = inspect.Signature([*first, *made, *last])  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in (*first, *made, *last)}
        return run

    return decorated


def _option(setting: Setting, prefix: str) -> inspect.Parameter:
    """The option of a setting, as typer reads it off a signature."""
    kind: Any = list[str] if setting.text is list else setting.text
    default = complete({})[setting.name] if prefix == "fit_" else setting.default
    info = typer.Option(
        "--" + (setting.option or setting.name).replace("_", "-"),
        help=setting.help,
        metavar=setting.written or None,
        rich_help_panel=None if setting.first else setting.panel,
    )
    return inspect.Parameter(
        prefix + setting.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default or None if setting.text is list else default,
        annotation=Annotated[kind if default is not None else kind | None, info],
    )
