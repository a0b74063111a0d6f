"""The labelled table: its numbers, its ranges, its text."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from spinlearn.decision import profile
from spinlearn.errors import InvalidInputError
from spinlearn.estimators import PottsClassifier
from spinlearn.label_table import answer_grid, call_ranges, csv_line, label_table, whole_steps
from tests.explorer_cases import NASTY, three_blocks


@pytest.fixture(scope="module")
def case():
    return three_blocks()


def test_csv_is_read_back_by_pythons_reader(case):
    table = case.table(case.content.answer_row)
    rows = list(csv.reader(io.StringIO(table.csv(), newline="")))
    assert tuple(rows[0]) == table.columns
    assert rows[0] == [
        "id",
        "call",
        "status",
        "p:<b>left</b>",
        "p:right",
        "se:<b>left</b>",
        "se:right",
        "t_low",
        "t_high",
    ]
    assert [tuple(r) for r in rows[1:]] == list(table.rows)
    assert [r[0] for r in rows[1:4]] == list(NASTY)


def test_table_agrees_with_the_classifier(case):
    answer = case.result.decide(0.55)
    table = case.table(case.content.answer_row)
    assert [r[1] for r in table.rows] == answer.names.tolist()
    assert [r[2] for r in table.rows] == answer.status.tolist()
    p = np.array([[float(r[3]), float(r[4])] for r in table.rows])
    np.testing.assert_allclose(p, answer.label_distributions, atol=0.5e-4 + 1e-12)
    assert {r[5] for r in table.rows} == {"0.0000"}  # exact


def test_ranges_are_the_intervals_of_the_profile(case):
    found, row = case.content.profile, case.content.answer_row
    low, high = call_ranges(found, row)
    ends = found.boundaries()
    here = found.temperatures[row]
    for point in range(found.outcomes.shape[1]):
        (interval,) = [i for i in found.intervals(point) if i.low <= here <= i.high]
        assert (ends[low[point]], ends[high[point]]) == (interval.low, interval.high)


def test_answer_off_the_grid_becomes_a_row(case):
    classifier = case.result
    assert 0.55 not in classifier.profile_.temperatures
    equilibrium, found = answer_grid(classifier)
    row = found.nearest_row(0.55)
    assert found.temperatures[row] == equilibrium.temperatures[row] == 0.55
    assert np.all(np.diff(found.temperatures) > 0)
    rest = np.arange(len(found.temperatures)) != row
    np.testing.assert_array_equal(found.outcomes[rest], classifier.profile_.outcomes)
    np.testing.assert_array_equal(found.outcomes[row], classifier.decide(0.55).decision.outcomes)
    # The same marginals as a run that had 0.55 in its grid from the start.
    direct = classifier.equilibrium_.at([0.55])
    np.testing.assert_array_equal(equilibrium.marginals[row], direct.marginals[0])


def test_answer_on_the_grid_changes_nothing():
    classifier = PottsClassifier(temperatures=[0, 0.5, 1]).fit(
        np.array([[0.0], [0.1], [1.0], [1.1]]), [0, -1, 1, -1]
    )
    equilibrium, found = answer_grid(classifier)
    assert found is classifier.profile_
    assert equilibrium is classifier.equilibrium_


def test_unsorted_equilibrium_is_sorted_like_the_profile():
    classifier = PottsClassifier(temperatures=[0, 0.5, 1]).fit(
        np.array([[0.0], [0.1], [1.0], [1.1]]), [0, -1, 1, -1]
    )
    classifier.equilibrium_ = classifier.equilibrium_.take([2, 0, 1])
    classifier.profile_ = profile(classifier.equilibrium_, n_classes=2)
    equilibrium, found = answer_grid(classifier)
    np.testing.assert_array_equal(equilibrium.temperatures, found.temperatures)


def test_steps_round_to_nearest_and_never_leave_the_unit_interval():
    values = np.array([-1e-12, 0.00004999, 0.00005001, 0.5, 1 + 1e-12, np.nan])
    assert whole_steps(values).tolist() == [0, 0, 1, 5000, 10_000, 0]


def test_quotes_follow_rfc_4180():
    assert csv_line(["a", 'b"c', "d,e", "f\r\ng", ""]) == 'a,"b""c","d,e","f\r\ng",\n'


def test_wrong_number_of_ids_is_refused(case):
    content = case.content
    with pytest.raises(InvalidInputError, match="2 ids for 237 points"):
        label_table(
            content.profile,
            0,
            ids=["a", "b"],
            classes=content.classes,
            marginals=content.marginals[0],
        )
