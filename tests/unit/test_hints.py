"""Hints at new classes of other temperatures, on profiles written by hand."""

from __future__ import annotations

import numpy as np

from spinlearn.answers.new_class_hints import new_class_hints
from spinlearn.answers.profile import Profile
from spinlearn.answers.temperature import answer_temperature
from spinlearn.core.arrays import frozen


def profile_of(*rows: str) -> Profile:
    """A letter per point and row: a, b named, A, B labelled; x, y, z new classes; ? confused."""
    code = {"a": 0, "b": 1, "A": 0, "B": 1, "x": 2, "y": 3, "z": 4, "?": -1}
    outcomes = np.array([[code[c] for c in row] for row in rows])
    labelled = np.array([[c in "AB" for c in row] for row in rows])
    status = np.where(outcomes < 0, 3, np.where(outcomes >= 2, 4, np.where(labelled, 0, 1)))
    return Profile(
        temperatures=frozen(np.arange(len(rows)), np.float64),
        outcomes=frozen(outcomes, np.int32),
        status=frozen(status, np.int8),
        margin=frozen(np.ones(outcomes.shape), np.float64),
        n_classes=2,
        confused_sets=((0, 1),),
    )


def test_a_class_hidden_in_a_named_one_is_found_where_it_is_whole():
    found = profile_of(
        "aaaaaaaaaaaaaaabbbbb",
        "aaaaaaaaaxxxxxxbbbbb",
        "aaaaaaaa?xxxxxxbbbbb",
        "aaaaaaaa?xxxxx?bbbbb",
        "yyyyyyyyyyyyyyyyyyyy",
    )
    (hint,) = new_class_hints(found, 0)
    assert hint.temperature == 1
    assert (hint.low, hint.high) == (0.5, 3.5)
    assert hint.members.tolist() == list(range(9, 15))
    assert hint.calls == {0: 6}


def test_what_the_answer_shows_already_is_not_repeated():
    found = profile_of("aaaaaaaaaaaaaaabbbbb", "aaaaaaaaaxxxxxxbbbbb", "aaaaaaaayyyyyyybbbbb")
    assert new_class_hints(found, 1) == []
    assert len(new_class_hints(found, 0)) == 1  # x and y are nearly the same points


def test_pieces_of_a_class_that_came_apart_are_no_hint():
    found = profile_of("aaaaaaaaaaaaaaabbbbb", "aaxxxxxxyyyyyyybbbbb", "aaxxxxxxyyyyyyybbbbb")
    assert new_class_hints(found, 0) == []


def test_a_class_whose_other_points_are_all_labelled_stands_if_its_labels_are_many():
    many = profile_of("AAAAAAAAaaaaaaaBBBBB", "AAAAAAAAxxxxxxxBBBBB")
    (hint,) = new_class_hints(many, 0)
    assert hint.members.tolist() == list(range(8, 15))
    assert answer_temperature(many, "discovery") == 1
    few = profile_of("AAaaaaaaaaaaaaaBBBBB", "AAxxxxxxxxxxxxxBBBBB")  # all that a had
    assert new_class_hints(few, 0) == []


def test_crumbs_infinity_and_untrusted_rows_are_not_looked_at():
    small = profile_of("aaaaaaaaaaaaaaabbbbb", "aaaaaaaaaaaxxxxbbbbb")
    assert new_class_hints(small, 0) == []
    found = profile_of("aaaaaaaaaaaaaaabbbbb", "aaaaaaaaaxxxxxxbbbbb")
    assert len(new_class_hints(found, 0)) == 1
    assert new_class_hints(found, 0, np.array([True, False])) == []
    twice = profile_of("aaaaaaaaaaaaaaabbbbb", *["aaaaaaaaaxxxxxxbbbbb"] * 2)
    assert len(new_class_hints(twice, 0, np.array([True, False, False]))) == 1


def test_nothing_new_no_hint():
    assert new_class_hints(profile_of("aaaaabbbbb", "aaaa??bbbb"), 0) == []


def test_longest_and_largest_come_first():
    found = profile_of(
        "aaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbb",
        "aaaaaaaaaaaaaaxxxxxxbbbbbbbbbbbbbyyyyyyy",
        "aaaaaaaaaaaaaaxxxxxxbbbbbbbbbbbbbbbbbbbb",
    )
    sizes = [len(h.members) for h in new_class_hints(found, 0)]
    assert sizes == [6, 7]  # the first stands twice as long


def test_pieces_of_a_new_class_are_no_hint_but_confused_points_are():
    found = profile_of("aaaaaaaxxxxxxxxbbbbb", "aaaaaaayyyyyzzzbbbbb")
    assert new_class_hints(found, 0) == []
    found = profile_of("aaaaaaa????????bbbbb", "aaaaaaayyyyyyyybbbbb")
    (hint,) = new_class_hints(found, 0)
    assert hint.calls == {-1: 8}


def test_a_range_goes_on_through_rows_that_are_not_trusted():
    found = profile_of("aaaaaaaaaaaaaaabbbbb", *["aaaaaaaaaxxxxxxbbbbb"] * 3)
    (hint,) = new_class_hints(found, 0, np.array([True, False, True, False]))
    assert hint.temperature == 2
    assert (hint.low, hint.high) == (0.5, 3.0)


def large(row: str, times: int = 10) -> str:
    return "".join(letter * times for letter in row)


def test_discovery_moves_to_where_a_small_class_stands():
    # 10 of 210 points: a crumb for the information, which therefore stays at the coldest row.
    cold, warm, hot = large("a" * 10 + "b" * 11), large("a" * 9 + "x" + "b" * 11), large("y" * 21)
    found = profile_of(cold, cold, warm, warm, hot)
    assert answer_temperature(found, "information") == 0
    assert answer_temperature(found, "discovery") == 2
    assert answer_temperature(found, "discovery", trusted=np.array([1, 1, 0, 1, 1], bool)) == 3
    assert answer_temperature(found, "discovery", trusted=np.array([1, 1, 0, 0, 1], bool)) == 0


def test_many_labels_make_a_small_class_count():
    """30 labels miss 5 of the 21 pieces of 10 points; 200 miss 0.001 of them."""
    cold, warm = large("A" * 9 + "a" + "B" * 11), large("A" * 9 + "x" + "B" * 11)
    assert answer_temperature(profile_of(cold, warm), "information") == 1
    few = str.maketrans("AB", "ab")
    cold, warm = (row[:10] + row[10:190].translate(few) + row[190:] for row in (cold, warm))
    assert answer_temperature(profile_of(cold, warm), "information") == 0


def test_discovery_does_not_give_up_the_named_classes():
    # A piece as large, but most of the points of class a are undecided beside it.
    torn = large("a???????" + "?x" + "b" * 11)
    found = profile_of(large("a" * 10 + "b" * 11), torn, torn)
    assert answer_temperature(found, "discovery") == 0


def test_discovery_keeps_what_the_answer_shows():
    shown = large("a" * 7 + "xxxx" + "b" * 10)
    both = large("a" * 6 + "y" + "xxxx" + "b" * 10)
    found = profile_of(large("a" * 11 + "b" * 10), shown, both)
    assert answer_temperature(found, "information") == 1
    assert answer_temperature(found, "discovery") == 2


def test_without_small_classes_discovery_is_the_automatic_answer():
    found = profile_of(large("a" * 10 + "b" * 11), large("a" * 10 + "b" * 10 + "?"))
    assert answer_temperature(found, "discovery") == answer_temperature(found, "information") == 0
