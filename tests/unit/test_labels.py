"""Labels in every spelling users have, and outcomes back in the same spelling."""

import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spinlearn.answers.labels import (
    LARGEST,
    UNKNOWN,
    clean_labels,
    encode_outcomes,
    outcome_name,
    outcome_names,
    parse_labels,
)
from spinlearn.errors import InvalidInputError, LabelWarning
from spinlearn.inputs import read_labels
from spinlearn.io.dataset import Dataset
from spinlearn.workflows.fitting import Fitting

TEXT = [
    ["a", None, "b", "a"],
    ["a", np.nan, "b", "a"],
    ["a", "", "b", "a"],
    ["a", "-1", "b", "a"],
    ["a", -1, "b", "a"],
    ("a", pd.NA, "b", "a"),
    np.array(["a", "", "b", "a"]),
    np.array(["a", "-1", "b", "a"]),
    np.array(["a", None, "b", "a"], dtype=object),
    np.array(["a", "", "b", "a"], dtype=np.dtypes.StringDType()),
    np.ma.array(["a", "x", "b", "a"], mask=[False, True, False, False]),
    pd.Series(["a", None, "b", "a"], index=[3, 1, 0, 2]),
    pd.Series(["a", pd.NA, "b", "a"], dtype="string"),
    pd.Categorical(["a", None, "b", "a"], categories=["unused", "b", "a"]),
    pd.Series(pd.Categorical(["a", None, "b", "a"])),
]


NUMBERS = [
    [3, -1, 5, 3],
    [3, None, 5, 3],
    [3.0, np.nan, 5.0, 3.0],
    [3, pd.NA, np.int8(5), 3.0],
    np.array([3, -1, 5, 3], dtype=np.int8),
    np.array([3.0, -1.0, 5.0, 3.0], dtype=np.float32),
    np.array([3, -1, 5, 3], dtype=object),
    np.ma.array([3, 4, 5, 3], mask=[False, True, False, False]),
    pd.Series([3, None, 5, 3]),
    pd.Series([3, None, 5, 3], dtype="Int64"),
    pd.Series([3, None, 5, 3], dtype="Float64"),
    pd.Series(pd.Categorical([3, None, 5, 3])),
    pd.Series(["3", "-1", "5", "3"]).astype(int),
]


TRUTHS = [
    [False, None, True, False],
    [False, -1, True, False],
    [False, np.nan, True, False],
    np.array([False, None, True, False], dtype=object),
    pd.Series([False, None, True, False], dtype="boolean"),
]
KINDS = [(["a", "b"], TEXT), ([3, 5], NUMBERS), ([False, True], TRUTHS)]


@pytest.mark.parametrize(
    ("y", "classes"), [(y, classes) for classes, given in KINDS for y in given], ids=repr
)
def test_labels_with_any_mark_for_unlabelled(y, classes):
    code = parse_labels(y, 4)
    assert code.classes.tolist() == classes
    assert code.classes.dtype.kind == np.array(classes).dtype.kind
    assert code.states.tolist() == [0, -1, 1, 0]


def test_other_sortable_labels_are_kept():
    days = [datetime.date(2020, 1, 2), None, datetime.date(2020, 1, 1)]
    code = parse_labels(days, 3)
    assert code.classes.tolist() == [days[2], days[0]]
    assert code.states.tolist() == [1, -1, 0]
    dates = np.array(["2020-01-02", "NaT", "2020-01-01"], dtype="datetime64[D]")
    assert parse_labels(dates, 3).states.tolist() == [1, -1, 0]
    assert parse_labels(np.array([b"z", b"", b"-1", b"a"]), 4).states.tolist() == [1, -1, -1, 0]
    for dtype in (np.uint8, np.uint16, bool):  # there is no -1 among these
        assert parse_labels(np.array([1, 0, 1], dtype=dtype), 3).states.tolist() == [1, 0, 1]
    # In a one-character dtype "-1" shrinks to "-", which is a label.
    with pytest.warns(LabelWarning, match="named '-'"):
        assert parse_labels(np.array(["-", "a", ""]), 3).states.tolist() == [0, 1, -1]


@pytest.mark.parametrize("one", ["1", "+1"])
def test_minus_one_is_a_class_beside_one_where_other_points_are_empty(one):
    with pytest.warns(LabelWarning, match="'-1' is taken as a class"):
        code = parse_labels([one, "-1", "", "-1"], 4)
    assert code.classes[code.states[[0, 1, 3]]].tolist() == [one, "-1", "-1"]
    assert code.states[2] == -1
    assert clean_labels([one, "-1", "", None]).tolist() == [one, "-1", None, None]
    # Where nothing is empty it marks the points without label, as everywhere.
    assert parse_labels([one, "-1", "2", one], 4).states.tolist()[1] == -1
    assert clean_labels(["1", "-1", "2"]).tolist() == [1, None, 2]


@pytest.mark.parametrize("y", [[-1, -1], [None, np.nan], ["", "-1"], [np.nan, np.nan], [pd.NA] * 2])
def test_no_labels_at_all(y):
    code = parse_labels(y, 2)
    assert len(code.classes) == 0
    assert code.states.tolist() == [-1, -1]
    assert encode_outcomes(np.array([0, 1]), code.classes, ()).tolist() == [-2, -3]


@pytest.mark.parametrize("dtype", [np.int64, object, "Int64"])
def test_large_whole_numbers_are_not_rounded(dtype):
    y = pd.Series([2**60, 2**60 + 1, -1], dtype=dtype)
    assert parse_labels(y, 3).states.tolist() == [0, 1, -1]
    gap = pd.Series([2**60, 2**60 + 1, None], dtype="Int64")
    assert parse_labels(gap, 3).classes.tolist() == [2**60, 2**60 + 1]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, "a"], r"mixes .*\(number, text\).*all as text or all as whole numbers"),
        ([True, 2], r"mixes .*\(number, truth value\)"),
        ([True, "a"], r"mixes .*\(text, truth value\)"),
        ([0.5, 1.0], "fractional.*whole numbers or text"),
        (np.array([0.5, None], dtype=object), "fractional"),
        ([1j, 0], "complex.*whole numbers or text"),
        ([np.inf, 0], "infinity.*-1 or NaN where there is none"),
        ([[0], [1, 2]], "labels of type list.*one whole number or one text per point"),
        ([("a", 1), None], r"labels of type tuple: give .*'a/1' for \('a', 1\)"),
        ([np.zeros(2), np.zeros(3)], "labels of type ndarray: give .*one text per point"),
        ([np.zeros((1, 2)), np.zeros((1, 3))], "y holds sequences .*one text per point"),
        ([object(), object()], "type object cannot be told apart and sorted"),
        ([0, 1, 2], r"y has shape \(3,\), but there are 2 points: give one label per point"),
        ([[0, 1], [1, 0]], r"y has shape \(2, 2\)"),
        ([[0], [1]], r"y has shape \(2, 1\)"),
        ("ab", r"y has shape \(\)"),
        ({0: 1, 1: 0}, r"y has shape \(\)"),
        ((label for label in (0, 1)), r"y has shape \(\)"),
        ([10**30, 0], "whole numbers beyond .* give smaller ones"),
        ([1e300, 0.0], "whole numbers beyond"),
        (np.array([2**63 + 5, 1], dtype=np.uint64), "whole numbers beyond"),
        (np.array([-(2**63), 1]), "whole numbers beyond"),
        ([LARGEST + 1, 0], "whole numbers beyond"),
        # names of calls
        (["A", "new:1"], "which is how spinlearn names .* rename that"),
        (["A", "new:12"], "a label is 'new:12'"),
        (["A", "confused:A|B"], "which is how spinlearn names"),
        (["A", "confused:a\nb|c"], "which is how spinlearn names"),
        (["A", "outlier"], "which is how spinlearn names"),
    ],
)
def test_labels_that_cannot_be_used_are_refused(y, message):
    with pytest.raises(InvalidInputError, match=message):
        parse_labels(y, 2)


WORDS = ["Unknown", "?", "-", "TBD", "n/a", "None", " ", "-1.0", "to do", "not_labeled"]


@pytest.mark.parametrize("name", [*WORDS, "nan", "NaN", "<NA>"])
def test_a_word_for_nothing_is_a_class_with_a_warning(name):
    told = f"named {name!r}, .* taken as a class.*-1, None or NaN.*--unlabelled {name!r}"
    if name not in WORDS:  # np.array(["a", np.nan]) holds the text 'nan'
        told = f"named {name}.*None, NaN or ''"
    with pytest.warns(LabelWarning, match=told.replace("?", r"\?")):
        code = parse_labels(["a", name, None], 3)
    assert code.classes[code.states[:2]].tolist() == ["a", name]
    assert code.states[2] == -1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("T cell", "t cell"),
        ("ash", "ash "),
        ("T cell", "T\u00a0cell"),
        ("Tcell", "T cell"),
        ("caf\u00e9", "cafe\u0301"),
        ("\ufb01r", "fir"),
        ("STRASSE", "stra\u00dfe"),
        ("oak", "oak\u200b"),
    ],
)
def test_classes_that_look_the_same_are_kept_with_a_warning_that_names_both(one, other):
    with pytest.warns(LabelWarning) as heard:
        code = parse_labels([one, other, "birch", ""], 4)
    assert len(code.classes) == 3
    (said,) = (str(w.message) for w in heard)
    assert ascii(one) in said
    assert ascii(other) in said
    assert "spell them alike" in said


@pytest.mark.parametrize(
    "names",
    [  # a warning would be an error here
        ["other", "new", "1", "10", "a-b", "a b c", "abd", "na\u00efve", "nothing else", "no"],
        ["New:1", "a|b", "confused:x", "new", "new:A", "newer:1", "outliers"],  # no names of calls
    ],
)
def test_ordinary_names_are_given_no_warning(names):
    code = read_labels([*names, None], len(names) + 1)
    assert code.classes[code.states[:-1]].tolist() == names


# Named classes, three of which points are undecided between, outliers, new classes, unknown.
CONFUSED = ((0, 1), (0, 1, 2), ())
BELOW = -LARGEST - 1
OUTCOMES = np.array([2, 0, 1, -1, -2, -3, 3, 5, UNKNOWN])


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["b", "a", "c"], ["c", "a", "b", "confused:a|b", "confused:a|b|c", "outlier", "new:1",
                           "new:3", "unknown"]),
        ([4, 0, 2], [4, 0, 2, -1, -1, -1, -2, -4, -1]),
        # New classes are numbered below negative labels, and do not wrap.
        ([-5, 3, 4], [4, -5, 3, -1, -1, -1, -6, -8, -1]),
        ([-LARGEST, 1, LARGEST], [LARGEST, -LARGEST, 1, -1, -1, -1, BELOW, BELOW - 2, -1]),
        (np.array([200, 3, 7], dtype=np.uint8), [200, 3, 7, -1, -1, -1, -2, -4, -1]),
    ],
)  # fmt: skip
def test_outcomes_are_written_in_the_kind_of_the_labels(labels, expected):
    classes = parse_labels(labels, 3).classes
    encoded = encode_outcomes(OUTCOMES, classes, CONFUSED)
    assert encoded.tolist() == expected
    if classes.dtype.kind == "U":
        assert {type(label) for label in encoded} == {str}
        assert [outcome_name(int(o), classes, CONFUSED) for o in OUTCOMES] == expected
        assert outcome_names(OUTCOMES, classes, CONFUSED).tolist() == expected
        # Nothing but named classes keeps its dtype.
        assert encode_outcomes(OUTCOMES[:3], classes, ()).dtype == classes.dtype


def test_truth_values_stay_truth_values_beside_new_classes():
    truths = np.array([False, True])
    assert encode_outcomes(np.array([1, 2, 0]), truths, ()).tolist() == [True, "new:1", False]


def as_they_went_in(code):
    """Outcomes that are the labels given, and one new class of the rest."""
    outcomes = np.where(code.states < 0, len(code.classes), code.states)
    return encode_outcomes(outcomes, code.classes, ()).tolist()


@given(st.lists(st.integers(-(10**6), 10**6) | st.just(-1), min_size=1, max_size=30))
def test_whole_number_labels_come_back_as_they_went_in(labels):
    code = parse_labels(labels, len(labels))
    encoded = as_they_went_in(code)
    new = min(-2, *(label - 1 for label in labels))
    assert encoded == [new if label == -1 else label for label in labels]


@given(st.lists(st.text(st.characters(exclude_characters="\x00"), max_size=4), min_size=1))
@pytest.mark.filterwarnings("ignore::spinlearn.errors.LabelWarning")
def test_text_labels_come_back_as_they_went_in(labels):
    code = parse_labels(labels, len(labels))
    encoded = as_they_went_in(code)
    missing = ("", "-1")
    new = -2 if len(code.classes) == 0 else "new:1"
    assert encoded == [new if label in missing else label for label in labels]


def dataset(labels):
    n = len(labels)
    ids = [str(k) for k in range(n)]
    cells = np.array(labels, dtype=object)
    return Dataset(source=Path("x.csv"), ids=ids, labels=cells, points=np.arange(n)[:, None] * 1.0)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (
            ["?", "?", None],
            r"all 2 labels are '\?'.*if '\?' \(2 of 2\) means none, say --unlabelled '\?'",
        ),
        (["a", "b", "unknown"], "every point has a label.*say --unlabelled 'unknown'"),
        (["a", "?", "unknown", "unknown"], r"'unknown' \(2 of 4\) means none"),
        (["unknown"] * 3, "every point has a label.*'unknown' .3 of 3. .*--unlabelled 'unknown'"),
        (["a", "a", None], "^(?!.*--unlabelled)"),
        (["a", "b", "c"], "^(?!.*--unlabelled)"),
        ([1, 2, 1], "^(?!.*--unlabelled)"),
    ],
)
def test_files_whose_labels_are_words_for_nothing_are_told_of_unlabelled(labels, said):
    with pytest.raises(InvalidInputError, match=said):
        dataset(labels).check_labels()


def test_doubts_about_names_are_among_the_notes_of_a_file():
    data = dataset(["T cell", "t cell", "unknown", *[None] * 5])
    _, notes = Fitting(data, {"method": "paper", "temperature": "0.3:grid=0.3"}).result(data.labels)
    assert sum("'T cell' and 't cell' are the same but for case" in note for note in notes) == 1
    assert sum("--unlabelled 'unknown'" in note for note in notes) == 1


@pytest.mark.parametrize(
    ("rare", "common"),
    [
        ("Adellie", "Adelie"), ("Adeile", "Adelie"), ("Adlie", "Adelie"), ("Adel\u00eee", "Adelie"),
        ("chin strap", "Chinstrap"), ("gento", "gentoo"), ("T  cells", "T cell"), ("bark", "dark"),
    ],
)  # fmt: skip
def test_a_rare_name_like_that_of_a_larger_class_is_asked_about_and_kept(rare, common):
    labels = [rare, *3 * [common], *3 * ["Emperor"], None]
    with pytest.warns(LabelWarning) as caught:
        code = parse_labels(labels, len(labels))
    (warning,) = caught
    assert repr(rare)[1:-1].encode("ascii", "backslashreplace").decode() in str(warning.message)
    assert repr(common) in str(warning.message)
    assert set(code.classes) == {rare, common, "Emperor"}


@pytest.mark.parametrize(
    ("rare", "common"),
    [
        ("B cell", "T cell"), ("type 2", "type 1"), ("CD4 cell", "CD8 cell"), ("cat", "bat"),
        ("male", "female"), ("class12", "class11"), ("Gentoo", "Adelie"), ("group II", "group III"),
        ("north pole", "south pole"), ("large", "large oak"), ("oak-a", "oak-b"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("error")
def test_names_that_are_meant_are_not_asked_about(rare, common):
    labels = [rare, *3 * [common], None]
    parse_labels(labels, len(labels))
    often = [*3 * ["Adellie"], *3 * ["Adelie"], None]  # as often as the other, or as seldom
    for few in (often, ["Adellie", "Adelie", None]):
        parse_labels(few, len(few))
