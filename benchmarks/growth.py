"""How the default grows: CPU seconds and peak memory from 100 to a million points, beside rivals.

    python benchmarks/growth.py --page docs/growth.md       all sizes and rivals, then the page
    python benchmarks/growth.py --points 1000 digits --rivals lgc          these again
    python benchmarks/growth.py --points --page docs/growth.md       the page from what is on file

A set is a number of points, of ten overlapping clouds as in scale.py, with ten labels each; 1500x2
is 1,500 points of two clouds; iris and digits are scikit-learn's. Rivals are those of
few_labels_rivals.py, on the graph that the default makes of the points.

Every set and method has a process of its own, in which the method has run on a small set before.
Up to 100,000 points it runs at least twice, until some seconds are spent. The median CPU time
counts, of all threads and all runs but the first, in which something may still be compiled. A rival
whose process takes more than --seconds of CPU time or --gigabytes is not tried on larger sets.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is imported
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from few_labels_page import TITLES, markdown, wrapped
from scale import clouds, forget_peak, labelled, peak

RESULTS = Path(__file__).parent / "results" / "growth.json"
SIZES = ("100", "300", "1000", "3000", "10000", "20000", "70000", "300000", "1000000")
NAMED = {"iris": 150, "1500x2": 1_500, "digits": 1_797, "20000x26": 20_000}
RIVALS = ("lgc", "label_spreading", "poisson", "sgt")
WARM = "300x3"  # what runs before
ENOUGH, MANY = 3.0, 100_000  # seconds, and points beyond which once is enough
TOO_LONG = 7  # exit code
FITTED = 1_000  # points from which on exponents are fitted

PAGE = """\
# Growth: what a size costs, beside rivals

What `PottsClassifier().fit(X, y)` costs from 100 to a million points. This page is written by
`python benchmarks/growth.py --page docs/growth.md` (`pip install -r benchmarks/requirements.txt`
for all rivals), measured on {days}, {machines}, beside other work (load {loads}): read ratios, not
seconds. Points are ten overlapping clouds in ten dimensions with ten labels each, but for those
with a name; 1500x2 are 1,500 points of two clouds. All methods have the same graph, and rivals the
settings of [few labels](few-labels.md): LabelSpreading (at most 30 steps, converged or not) and
Poisson learning those of their packages. Exponents are slopes of logarithms over that of the number
of points, of ten clouds, from {fitted:,} points on, as far as a method was run: an empty place was
not. Where curves bend the default changes its
ways: see [many points](scale.md#what-changes-with-size).

![CPU seconds with the graph, and memory, over the number of points](images/growth.png)

CPU seconds of a fit without its graph; in brackets how many times as long the default takes:

{seconds}

Peak memory in GB, of graph and fit, on top of Python, libraries and points:

{memory}
"""


# -- one method on one set, in a process of its own ------------------------------------------------


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Points and labels."""
    if name in ("iris", "digits"):
        from sklearn import datasets

        X, truth = getattr(datasets, f"load_{name}")(return_X_y=True)
        return X, labelled(truth, np.random.default_rng(0))
    n, _, q = name.partition("x")
    return clouds(int(n), 10, int(q or 10))[:2]


def fit(method: str, X: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """CPU seconds of the graph and of the rest."""
    import few_labels_rivals as rivals

    from spinlearn import PottsClassifier, classifier

    began = time.process_time()
    if method == "ours":
        read_graph, passed = classifier.read_graph, []

        def timed(*args):
            graph = read_graph(*args)
            passed.append(time.process_time())
            return graph

        classifier.read_graph = timed
        PottsClassifier().fit(X, labels)
        classifier.read_graph = read_graph
        return passed[0] - began, time.process_time() - passed[0]
    case = rivals.WholeSet.of("", X, np.maximum(labels, 0).astype("U2"))
    assert case.graph.n_nodes == len(X)
    graph = time.process_time() - began
    assert case.n_parts >= 1  # asked for, as its matrix, before the clock runs
    began = time.process_time()
    rivals.RIVALS[method](case, labels)
    return graph, time.process_time() - began


def watch(seconds: int) -> None:
    """End this process after these seconds of CPU time; under RLIMIT_CPU its clock is coarse."""
    while time.process_time() < seconds:
        time.sleep(0.5)
    os._exit(TOO_LONG)


def measure(name: str, method: str, seconds: int, gigabytes: int) -> dict:
    """The numbers of a set and a method."""
    if method != "ours":
        threading.Thread(target=watch, args=[seconds], daemon=True).start()
        resource.setrlimit(resource.RLIMIT_DATA, (gigabytes * 10**9,) * 2)
    warnings.simplefilter("ignore")
    try:
        fit(method, *load(WARM))
        X, labels = load(name)
        forget_peak()
        base, found = peak(), []
        while not found or (len(X) <= MANY and (len(found) < 2 or np.sum(found) < ENOUGH)):
            found.append(fit(method, X, labels))
    except ImportError:
        return {"failed": "not installed"}
    except MemoryError:
        return {"failed": f"> {gigabytes} GB"}
    graph, rest = np.median(found[1:] or found, axis=0)
    return {"graph": graph, "fit": rest, "both": graph + rest, "GB": peak() - base}


def apart(name: str, method: str, seconds: int, gigabytes: int) -> dict:
    """`measure` in a process of its own."""
    words = [sys.executable, __file__, "--here", name, method]
    limits = ["--seconds", str(seconds), "--gigabytes", str(gigabytes)]
    done = subprocess.run([*words, *limits], stdout=subprocess.PIPE, check=False)
    if done.returncode == TOO_LONG:
        return {"failed": f"> {seconds} s"}
    return {"failed": "failed"} if done.returncode else json.loads(done.stdout.splitlines()[-1])


# -- the page --------------------------------------------------------------------------------------


def n_points(name: str) -> int:
    """By which sets are sorted."""
    return NAMED.get(name) or int(name.partition("x")[0])


def titled(name: str) -> str:
    """A set in a table."""
    return f"{n_points(name):,}" + ("" if name.isdigit() else f" ({name})")


def short(value: float) -> str:
    """Two digits, or all before the point."""
    return f"{value:.2g}" if value < 99.5 else f"{value:.0f}"


def write_page(path: Path, results: dict[str, dict[str, dict]]) -> None:
    """Two tables and a picture; results by set and method."""
    sets = sorted(results, key=n_points)
    methods = [m for m in ("ours", *RIVALS) if any(m in results[s] for s in sets)]
    done = {(s, m): row for s in sets for m, row in results[s].items() if "fit" in row}
    days, loads, machines = (
        sorted({row[key] for row in done.values()}) for key in ("day", "load", "machine")
    )
    for s in sets:  # a column of its own
        built = [row["graph"] for row in results[s].values() if "graph" in row]
        done[s, "graph"] = {"fit": float(np.mean(built))}

    def cell(s: str, m: str, key: str) -> str:
        if (s, m) not in done:
            return results[s].get(m, {}).get("failed", "")
        value, ours = done[s, m][key], done.get((s, "ours"))
        if key == "GB" or m in ("ours", "graph") or not ours:
            return short(value)
        return f"{short(value)} ({short(ours[key] / value)})"

    def curve(m: str, key: str) -> np.ndarray:
        ten = [s for s in sets if s.isdigit() and key in done.get((s, m), {})]
        return np.array([(int(s), done[s, m][key]) for s in ten]).reshape(-1, 2)

    def exponent(m: str, key: str) -> str:
        points = curve(m, key)
        x, y = np.log(points[points[:, 0] >= FITTED]).T
        return f"{np.polyfit(x, y, 1)[0]:.2f}" if len(x) > 1 else ""

    def table(columns: list[str], key: str, fitted: dict[str, str]) -> str:
        lines = [[titled(s), *(cell(s, m, key) for m in columns)] for s in sets]
        lines += [[title, *(exponent(m, of) for m in columns)] for title, of in fitted.items()]
        return markdown(["points", *(TITLES.get(m, m) for m in columns)], lines)

    text = PAGE.format(
        days=" to ".join(dict.fromkeys([days[0], days[-1]])),
        loads=f"{loads[0]:.0f} to {loads[-1]:.0f}",
        machines=" and ".join(machines),
        fitted=FITTED,
        seconds=table(
            ["graph", *methods], "fit", {"exponent": "fit", "exponent with the graph": "both"}
        ),
        memory=table(methods, "GB", {"exponent": "GB"}),
    )
    pictures = path.parent / "images"
    pictures.mkdir(parents=True, exist_ok=True)
    parts = [part if part[0] in "#|!" else wrapped(part) for part in text.split("\n\n")]
    path.write_text("\n\n".join(parts).strip() + "\n")
    panels = {"CPU seconds, with the graph": "both", "GB, on top of Python and points": "GB"}
    draw(
        pictures / "growth.png",
        {title: {TITLES[m]: curve(m, key) for m in methods} for title, key in panels.items()},
    )


def draw(path: Path, panels: dict[str, dict[str, np.ndarray]]) -> None:
    """Panels of curves by title and name."""
    from matplotlib.figure import Figure

    from spinlearn.viz.palette import class_colour, class_marker

    figure = Figure(figsize=(9, 4), layout="constrained")
    for axes, (title, curves) in zip(figure.subplots(1, 2), panels.items(), strict=True):
        for k, (name, points) in enumerate(curves.items()):
            axes.loglog(*points.T, color=class_colour(k), marker=class_marker(k), label=name)
        axes.set(xlabel="points", title=title)
        axes.grid(alpha=0.3)
    figure.axes[0].legend()
    figure.savefig(path, dpi=110)


def machine() -> str:
    """The processor's name and how many cores there are."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return f"{(names or [platform.machine()])[0]} with {os.cpu_count()} cores"


def run(options: argparse.Namespace, results: dict[str, dict[str, dict]]) -> None:
    """Measure what was asked for; every result is on file at once."""
    failed: dict[str, dict] = {}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    for name in sorted(options.points, key=n_points):
        for method in ("ours", *options.rivals):
            limits = options.seconds, options.gigabytes
            row = failed.get(method) or apart(name, method, *limits)
            if "failed" in row:
                failed[method] = row
            else:
                row["machine"] = machine()
                row |= {"day": time.strftime("%Y-%m-%d"), "load": os.getloadavg()[0]}
            results.setdefault(name, {})[method] = row
            print(name, method, row, flush=True)
            options.out.write_text(json.dumps(results, indent=1))


def main(words: list[str] | None = None) -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", nargs="*", default=[*SIZES, *NAMED])
    parser.add_argument("--rivals", nargs="*", choices=RIVALS, default=RIVALS)
    parser.add_argument("--seconds", type=int, default=300, help="CPU, of a rival")
    parser.add_argument("--gigabytes", type=int, default=8, help="of a rival")
    parser.add_argument("--out", type=Path, default=RESULTS, help="results, added to")
    parser.add_argument("--page", type=Path, help="write this page of all that is on file")
    parser.add_argument("--here", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    if options.here:
        print(json.dumps(measure(*options.here, options.seconds, options.gigabytes)))
        return
    results = json.loads(options.out.read_text()) if options.out.exists() else {}
    run(options, results)
    if options.page:
        write_page(options.page, results)


if __name__ == "__main__":
    main()
