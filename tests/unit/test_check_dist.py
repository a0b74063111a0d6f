"""What `make dist` checks before it installs: a whole wheel passes, a faulty one is named."""

import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import spinlearn
from tools import check_dist

ROOT = Path(__file__).parents[2]
INFO = f"spinlearn-{spinlearn.__version__}.dist-info"


def metadata() -> str:
    """METADATA as the build makes it of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [
        "Metadata-Version: 2.4",
        "Name: spinlearn",
        f"Version: {spinlearn.__version__}",
        f"Author: {project['authors'][0]['name']}",
        f"License-Expression: {project['license']}",
        f"Requires-Python: {project['requires-python']}",
        "Description-Content-Type: text/markdown",
        *(f"Classifier: {classifier}" for classifier in project["classifiers"]),
        *(f"Provides-Extra: {extra}" for extra in project["optional-dependencies"]),
    ]
    return "\n".join(lines) + "\n"


@pytest.fixture
def files() -> dict[str, str | bytes]:
    """What a wheel holds."""
    source = ROOT / "src"
    package = {
        str(path.relative_to(source)): path.read_bytes()
        for path in (source / "spinlearn").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    points = "[console_scripts]\nspinlearn = spinlearn.cli:run\n"
    return {**package, f"{INFO}/METADATA": metadata(), f"{INFO}/entry_points.txt": points}


@pytest.fixture
def sdist(tmp_path):
    path = tmp_path / "spinlearn.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in (
            "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "Makefile",
            "tests/conftest.py", "src/spinlearn/__init__.py",
        ):  # fmt: skip
            archive.add(ROOT / name, f"spinlearn-{spinlearn.__version__}/{name}")
    return path


def check(files: dict[str, str | bytes], sdist: Path) -> None:
    wheel = sdist.parent / "spinlearn.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    check_dist.check_contents(wheel, sdist)
    check_dist.check_citation(check_dist.check_metadata(wheel))


def test_a_whole_wheel_passes(files, sdist):
    check(files, sdist)


WRONG = {
    "Author: The spinlearn developers\n": ("", "the author is not named"),
    "Provides-Extra: dask\n": ("", "the extras are"),
    "Classifier: Typing :: Typed\n": ("", "classifiers are missing: {'Typing :: Typed'}"),
    "License-Expression: BSD-3-Clause\n": ("", "the licence is not named"),
    spinlearn.__version__: ("9.9.9", r"CHANGELOG\.md has no section 9\.9\.9"),
}


@pytest.mark.parametrize("line", WRONG)
def test_wrong_metadata_are_named(files, sdist, line):
    instead, complaint = WRONG[line]
    files[f"{INFO}/METADATA"] = metadata().replace(line, instead)
    with pytest.raises(SystemExit, match=complaint):
        check(files, sdist)


@pytest.mark.parametrize(
    "name", ["spinlearn/viz/page/page.html", "spinlearn/py.typed", "tests/conftest.py"]
)
def test_files_left_out_and_what_does_not_belong_are_named(files, sdist, name):
    if files.pop(name, None) is None:
        files[name] = ""
    with pytest.raises(SystemExit, match=name):
        check(files, sdist)
