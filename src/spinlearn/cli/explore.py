"""`spinlearn explore`: the report again, at other temperatures."""

from __future__ import annotations

from spinlearn.cli import options
from spinlearn.cli.console import console, say
from spinlearn.cli.summary import print_summary


def explore(
    folder: options.Folder,
    temperature: options.OtherTemperature = None,
    temperatures: options.Temperatures = "auto",
    out: options.OtherOut = None,
) -> None:
    """Make the report again, at other temperatures, without sampling again.

    Rewrites report.html in the folder, or with --out writes all files of the new answer elsewhere.

    Examples:

        spinlearn explore answer --temperature 0.3

        spinlearn explore answer --temperature paper

        spinlearn explore answer --temperatures 0.1:0.6:26 --out answer-fine
    """
    from spinlearn.io.answer_files import write_answer, write_report
    from spinlearn.io.folder import check_target, new_folder
    from spinlearn.io.result import Result
    from spinlearn.workflows.settings import parse_temperature, parse_temperatures

    screen = console()
    if out is not None:
        check_target(out)
    result = Result.load(folder)
    if folder.is_file():  # its model.npz was given
        folder = folder.parent
    grid = parse_temperatures(temperatures)
    if not isinstance(grid, str):
        result = result.on(grid)
    if temperature is not None:
        result = result.at(parse_temperature(temperature)).renumbered()
    if out is None:
        write_report(folder / "report.html", result)
        written = [folder / "report.html"]
    else:
        with new_folder(out) as side:
            written = [out / path.name for path in write_answer(side, result)]
    print_summary(screen, result, folder if out is None else out)
    for path in written:
        say(screen, f"wrote {path}")
