"""Files that were once treated badly, and the fuzzer's own eyes."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from spinlearn.engines import ENGINES
from tests.end_to_end.tool import spinlearn_here
from tests.fuzz import kills
from tests.fuzz.seeds import SEEDS, write_seeds
from tests.fuzz.worker import answer_to, judged, mutated

CORPUS = Path(__file__).parents[1] / "fuzz" / "corpus"


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    """A folder with all undamaged files, and their content."""
    folder = tmp_path_factory.mktemp("seeds")
    return folder, write_seeds(folder, spinlearn_here)


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(CORPUS.iterdir()), ids=lambda path: path.name)
def test_a_file_that_was_once_treated_badly_is_not_any_more(seeds, path):
    """The name begins with the kind; its answer, where it is accepted, is the undamaged one's."""
    kind = path.name.partition("-")[0]
    folder, whole = seeds
    right = answer_to(kind, whole[kind], folder) if SEEDS[kind].sealed else b""
    assert judged(kind, path.read_bytes(), folder, right, spinlearn_here) is None


@pytest.mark.parametrize("kind", ["csv", "npz", "model"])
def test_an_undamaged_file_is_accepted(seeds, kind):
    folder, whole = seeds
    right = answer_to(kind, whole[kind], folder)
    assert judged(kind, whole[kind], folder, right, spinlearn_here) is None


@pytest.mark.parametrize(
    ("code", "stderr", "said"),
    [
        (1, "spinlearn: unexpected KeyError (an error of the program)\n", "exit code 1"),
        (-11, "", "exit code -11"),
        (2, "Traceback\nspinlearn: bad\n", "not one clear line"),
        (2, "", "not one clear line"),
        (0, "RuntimeWarning: overflow\n", "words on stderr"),
        (0, "spinlearn: the classes 'a' and 'A' are the same but for case\n", None),
        (2, "spinlearn: data.csv is empty: fill it\n", None),
    ],
)
def test_the_fuzzer_sees_what_is_no_clear_line(seeds, code, stderr, said):
    folder, whole = seeds

    def run(*arguments, cwd):
        return subprocess.CompletedProcess(arguments, code, "", stderr)

    found = judged("csv", whole["csv"], folder, b"", run)
    assert found is None if said is None else said in found


def test_the_fuzzer_sees_a_wrong_answer_and_what_is_left_behind(seeds):
    folder, whole = seeds
    found = judged("npz", whole["npz"], folder, b"another", spinlearn_here)
    assert found == "a damaged file was accepted, with another answer"

    def run(*arguments, cwd):
        (cwd / "rubbish").touch()
        return subprocess.CompletedProcess(arguments, 2, "", "spinlearn: no\n")

    assert "rubbish" in judged("npz", whole["npz"], folder, b"", run)
    assert not (folder / "rubbish").exists()


def test_damage_is_damage_and_the_same_every_time():
    content = bytes(range(256)) * 4
    some = [mutated(content, np.random.default_rng(k)) for k in range(50)]
    again = [mutated(content, np.random.default_rng(k)) for k in range(50)]
    assert some == again
    assert sum(one != content for one in some) > 45


def test_runs_of_every_engine_are_killed():
    assert set(kills.ENGINES) == set(ENGINES), "enter it in tests/fuzz/kills.py"
