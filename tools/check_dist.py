"""Check what `make dist` built: metadata, contents, and that the wheel works on its own.

The wheel is installed into a new virtual environment and used from an empty folder, without
anything of the repository: first the library alone, then with [app] the commands demo, fit,
explore and doctor. PYTHON=python3.13 tries another Python.

    python tools/check_dist.py dist
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIBRARY = """
import numpy, spinlearn
assert "site-packages" in spinlearn.__file__, spinlearn.__file__
points = numpy.r_[numpy.linspace(0, 1, 20), numpy.linspace(5, 6, 20)][:, None]
labels = numpy.full(40, -1)
labels[3], labels[25] = 0, 1
calls = spinlearn.PottsClassifier().fit(points, labels).transduction_
assert calls.tolist() == 20 * [0] + 20 * [1], calls
print(spinlearn.__version__)
"""


def main() -> None:
    """Check the one sdist and the one wheel in a folder."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("folder", type=Path)
    options.add_argument("--python", default=os.environ.get("PYTHON", sys.executable))
    given = options.parse_args()
    wheel, sdist = only(given.folder, "*.whl"), only(given.folder, "*.tar.gz")
    version = check_metadata(wheel)
    check_contents(wheel, sdist)
    check_citation(version)
    with tempfile.TemporaryDirectory() as folder:
        use(wheel, version, Path(folder), given.python)
    print(f"spinlearn {version}: sdist, wheel and commands are in order")


def only(folder: Path, pattern: str) -> Path:
    """The one file that fits."""
    found = sorted(folder.glob(pattern))
    expect(len(found) == 1, f"{folder} holds {len(found)} files {pattern}: run `make dist` anew")
    return found[0].resolve()


def expect(holds: bool, message: str) -> None:
    """Leave with a message unless a condition holds."""
    if not holds:
        raise SystemExit(f"check_dist: {message}")


# -- the files -----------------------------------------------------------------------------------


def check_metadata(wheel: Path) -> str:
    """Authors, licence, classifiers, extras and the command are in the wheel; its version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    told = metadata(wheel)
    version = told["Version"]
    expect(f"## [{version}]" in read("CHANGELOG.md"), f"CHANGELOG.md has no section {version}")
    expect(told["Author"] == "The spinlearn developers", "the author is not named")
    expect(told["License-Expression"] == project["license"], "the licence is not named")
    expect(told["Description-Content-Type"] == "text/markdown", "the README is not the description")
    python = told["Requires-Python"]
    expect(python == project["requires-python"], f"Requires-Python is {python}")
    missing = set(project["classifiers"]) - set(told.get_all("Classifier", []))
    expect(not missing, f"classifiers are missing: {missing}")
    extras = set(told.get_all("Provides-Extra", []))
    expect(extras == set(project["optional-dependencies"]), f"the extras are {extras}")
    if not told.get_all("Project-URL"):
        print("note: pyproject.toml has no [project.urls]: fill them in before an upload")
    with zipfile.ZipFile(wheel) as archive:
        command = archive.read(f"spinlearn-{version}.dist-info/entry_points.txt").decode()
    expect("spinlearn = spinlearn.cli:run" in command, "the command is missing")
    return version


def metadata(wheel: Path) -> Message:
    """The METADATA file of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode("utf-8"))


def check_contents(wheel: Path, sdist: Path) -> None:
    """The wheel holds the package alone; the sdist also what it is built and tested by."""
    with zipfile.ZipFile(wheel) as archive:
        packed = {n for n in archive.namelist() if ".dist-info/" not in n}
    source = ROOT / "src"
    files = {
        str(path.relative_to(source))
        for path in (source / "spinlearn").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    expect(packed == files, f"the wheel differs from src in {sorted(packed ^ files)[:5]}")
    with tarfile.open(sdist) as archive:
        names = {n.partition("/")[2] for n in archive.getnames()}
    wanted = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "Makefile"}
    lacking = (wanted | {"tests/conftest.py", "src/spinlearn/__init__.py"}) - names
    expect(not lacking, f"the sdist lacks {lacking}")


def check_citation(version: str) -> None:
    """CITATION.cff names the version that is built."""
    expect(f"\nversion: {version}\n" in read("CITATION.cff"), "CITATION.cff has another version")


def read(name: str) -> str:
    """A file of the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


# -- in use --------------------------------------------------------------------------------------


def use(wheel: Path, version: str, folder: Path, python: str) -> None:
    """Install the wheel into a new environment and use it from an empty folder."""
    home, work = folder / "env", folder / "empty"
    work.mkdir()
    run([python, "-m", "venv", str(home)], folder)
    scripts = home / ("Scripts" if os.name == "nt" else "bin")
    install = [str(scripts / "python"), "-m", "pip", "install", "--quiet"]
    command = str(scripts / "spinlearn")

    run([*install, str(wheel)], folder)
    expect(run([str(scripts / "python"), "-c", LIBRARY], work).strip() == version, "the version")
    hint = subprocess.run([command], cwd=work, env=clean(), capture_output=True, text=True)
    told = hint.returncode == 2 and "pip install 'spinlearn[app]'" in hint.stderr
    expect(told, f"without [app] the command says {hint.stderr!r}")

    run([*install, f"{wheel}[app]"], folder)
    expect(version in run([command, "--version"], work), "spinlearn --version")
    run([command, "demo", "--out", "demo"], work)
    expect((work / "demo" / "report.html").stat().st_size > 10_000, "demo wrote no report")
    write_table(work / "table.csv")
    run([command, "fit", "table.csv", "--labels", "kind", "--id", "name", "--out", "answer"], work)
    with open(work / "answer" / "labels.csv", encoding="utf-8") as file:
        calls = {row["id"]: row["call"] for row in csv.DictReader(file)}
    right = sum(call == ("ash" if name < "p030" else "oak") for name, call in calls.items())
    expect(len(calls) == 60 and right >= 57, f"fit called {right} of {len(calls)} points rightly")
    page = work / "answer" / "report.html"
    before = page.stat().st_mtime_ns
    run([command, "explore", "answer"], work)
    expect(page.stat().st_mtime_ns >= before and page.stat().st_size > 10_000, "explore")
    print(run([command, "doctor"], work))


def clean() -> dict[str, str]:
    """The environment without what points to the repository or its caches."""
    private = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "SPINLEARN_DATA", "NUMBA_CACHE_DIR")
    return {k: v for k, v in os.environ.items() if k not in private} | {"MPLBACKEND": "Agg"}


def run(command: list[str], folder: Path) -> str:
    """What a command prints; its failure ends the check."""
    done = subprocess.run(command, cwd=folder, env=clean(), capture_output=True, text=True)
    words = [Path(command[0]).name, *(word for word in command[1:] if "\n" not in word)]
    shown = " ".join(words)
    expect(done.returncode == 0, f"{shown} failed:\n{done.stdout}\n{done.stderr}")
    print(f"ok: {shown}")
    return done.stdout


def write_table(path: Path) -> None:
    """Two clouds of thirty points, three labels each."""
    chance = random.Random(0)
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["name", "height", "width", "kind"])
        for k in range(60):
            label = {2: "ash", 9: "ash", 21: "ash", 33: "oak", 40: "oak", 55: "oak"}.get(k, "")
            shift = 8.0 * (k // 30)
            rows.writerow([f"p{k:03d}", chance.gauss(shift, 1.0), chance.gauss(-shift, 1.0), label])


if __name__ == "__main__":
    main()
