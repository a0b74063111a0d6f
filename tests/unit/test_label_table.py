"""The labelled table: its numbers, its ranges, its text."""

import csv
import io

import numpy as np
import pytest

from spinlearn import Graph
from spinlearn.answers.answer import Answer
from spinlearn.answers.labels import parse_labels
from spinlearn.answers.table import LabelTable, whole_steps
from spinlearn.energies import MinCut
from spinlearn.engines import JunctionTree, Tempering
from spinlearn.errors import InvalidInputError
from tests.classifiers import classifier
from tests.explorer_cases import NASTY, three_blocks


@pytest.fixture(scope="module")
def case():
    return three_blocks()


def test_csv_is_read_back_by_pythons_reader(case):
    table = case.table(case.content.answer.row)
    rows = list(csv.reader(io.StringIO(table.csv(), newline="")))
    assert tuple(rows[0]) == table.columns
    assert rows[0] == ["id", "call", "status", "confidence", "second", "p:<b>left</b>", "p:right"]
    assert [tuple(r) for r in rows[1:]] == list(table.rows)
    assert [r[0] for r in rows[1:4]] == list(NASTY)


def test_table_agrees_with_the_classifier(case):
    answer = case.result.decide(0.55)
    table = case.table(case.content.answer.row)
    columns = dict(zip(table.columns, map(list, zip(*table.rows, strict=True)), strict=True))
    assert columns["call"] == answer.names.tolist()
    assert columns["status"] == answer.status.tolist()
    assert columns["second"] == answer.second.tolist()
    for name, values in {
        "confidence": answer.confidence,
        "p:<b>left</b>": answer.probabilities[:, 0],
        "p:right": answer.probabilities[:, 1],
    }.items():
        np.testing.assert_allclose(np.float64(columns[name]), values, atol=0.5e-4 + 1e-12)
    assert answer.table(case.content.ids) == table


@pytest.mark.filterwarnings("ignore::spinlearn.errors.ConvergenceWarning")
def test_errors_have_columns_only_where_there_are_any():
    run = Tempering(tol=0.5).run(MinCut()(Graph(3, [(0, 1), (1, 2)]), [0, -1, 1], 2), [1.0], seed=0)
    sampled = Answer.from_equilibrium(run, parse_labels([0, -1, 1], 3), temperature=1.0)
    assert {"se:0", "se:1"} < set(sampled.table(range(3)).columns)
    exact = JunctionTree().run(run.model, [1.0])
    plain = Answer.from_equilibrium(exact, parse_labels([0, -1, 1], 3), temperature=1.0)
    assert not any(c.startswith("se:") for c in plain.table(range(3)).columns)


def test_unsorted_equilibrium_is_sorted_like_the_profile():
    fitted = classifier(temperatures=[0, 0.5, 1], temperature=0.5).fit(
        np.array([[0.0], [0.1], [1.0], [1.1]]), [0, -1, 1, -1]
    )
    mixed = Answer.from_equilibrium(
        fitted.equilibrium_.take([2, 0, 1]), fitted._label_code, temperature=0.5
    )
    np.testing.assert_array_equal(mixed.equilibrium.temperatures, mixed.temperatures)
    assert mixed.table(range(4)) == fitted.answer_.table(range(4))


def test_steps_round_to_nearest_and_never_leave_the_unit_interval():
    values = np.array([-1e-12, 0.00004999, 0.00005001, 0.5, 1 + 1e-12, np.nan])
    assert whole_steps(values).tolist() == [0, 0, 1, 5000, 10_000, 0]


def test_quotes_follow_rfc_4180():
    table = LabelTable(("a", 'b"c', "d,e", "f\r\ng", ""), ())
    assert table.csv() == 'a,"b""c","d,e","f\r\ng",\n'


def test_wrong_number_of_ids_is_refused(case):
    with pytest.raises(InvalidInputError, match="2 ids for 237 points"):
        case.content.answer.table(["a", "b"])
