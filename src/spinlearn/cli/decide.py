"""`spinlearn accept` and `spinlearn reject`: somebody's word about a proposal."""

from __future__ import annotations

from pathlib import Path

from spinlearn.cli import options
from spinlearn.cli.console import console, say, watched
from spinlearn.cli.summary import print_summary


def accept(
    folder: options.Folder,
    group: options.Group,
    name: options.ClassName,
    out: options.NewFolder,
    quiet: options.Quiet = False,
) -> None:
    """Make a proposed group a class of its own, and answer anew.

    Its most typical points become labels of that class. Proposals are in proposals.csv and on the
    page report.html.

    Example:

        spinlearn accept answer new:1 "Adelie male" --out answer2
    """
    _decide("accept", folder, group, name, out, quiet)


def reject(
    folder: options.Folder,
    group: options.Group,
    out: options.NewFolder,
    quiet: options.Quiet = False,
) -> None:
    """Say that a proposed group is no class of its own, and answer anew.

    Its most typical points become labels of the named class beside it; it is not proposed again.

    Example:

        spinlearn reject answer new:1 --out answer2
    """
    _decide("reject", folder, group, "", out, quiet)


def _decide(do: str, folder: Path, group: str, name: str, out: Path, quiet: bool) -> None:
    from spinlearn.io.answer_files import write_answer
    from spinlearn.io.folder import check_name, check_target, new_folder, parent_folder
    from spinlearn.io.result import Result
    from spinlearn.io.run_lock import only_run
    from spinlearn.workflows.decisions import decided

    check_name(out)
    screen = console()
    result = Result.load(folder)
    with parent_folder(out), only_run(out):
        check_target(out)
        with watched(screen, quiet) as watch:
            again = decided(result, do, group, name, watch)
            watch.writing()
            with new_folder(out) as target:
                written = write_answer(target, again)
            watch.written()
        word = again.words[-1]
        what = "a class" if do == "accept" else "part"
        labelled = ", ".join(again.ids[k] for k in word.labelled.tolist())
        say(screen, f"{group} is {what} {'' if do == 'accept' else 'of '}{word.name}: {labelled} "
            f"{'is a label' if len(word.labelled) == 1 else 'are labels'} now")  # fmt: skip
        print_summary(screen, again, out)
        for path in written:
            say(screen, f"wrote {out / path.name}")
