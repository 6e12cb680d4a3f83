"""Problems: each place once, and every occurrence counted."""

from __future__ import annotations

from dataclasses import replace

from tb_npu_plugin.problems import MAX_PLACES, Problem, ProblemLog, merge_problems

BAD = Problem("bad_cell", "a.csv", "line 2", "a number", "x", "This value.", "Parse again.")


def told(*problems: Problem) -> list[tuple[str, int]]:
    log = ProblemLog()
    for problem in problems:
        log.add(problem)
    return [(problem.where, problem.count) for problem in log.list()]


def test_a_place_is_listed_once_and_counted_each_time() -> None:
    assert told(BAD, BAD, replace(BAD, where="line 3"), BAD) == [("line 2, line 3", 4)]


def test_further_places_are_counted() -> None:
    lines = [replace(BAD, where=f"line {number}") for number in range(2, 2 + MAX_PLACES + 3)]
    assert told(*lines) == [("line 2, line 3, line 4, line 5, line 6 and 3 more", MAX_PLACES + 3)]


def test_one_that_stands_for_several_names_the_first_of_their_places() -> None:
    assert told(replace(BAD, count=4)) == [("line 2 and 3 more", 4)]


def test_further_places_of_one_occurrence() -> None:
    where = [f"TABLE_{number}" for number in range(MAX_PLACES + 1)]
    found = told(replace(BAD, where=""), *(replace(BAD, where=place, count=0) for place in where))
    assert found == [(", ".join(where[:MAX_PLACES]) + " and 1 more", 1)]


def test_what_was_collected_elsewhere_keeps_its_places() -> None:
    collected, log = replace(BAD, where="line 2, line 3 and 2 more", count=4), ProblemLog()
    log.extend([collected])
    log.extend([collected, BAD])
    assert log.list() == [collected, collected, BAD]


def test_the_same_of_two_stages_is_one() -> None:
    elsewhere, other = replace(BAD, where="line 3", count=4), replace(BAD, where="line 3", found="soon")
    assert merge_problems([BAD, elsewhere], [BAD]) == [BAD, elsewhere]
    assert merge_problems([BAD], [elsewhere]) == [replace(BAD, where="line 2, line 3", count=4)]
    assert merge_problems([BAD], [replace(BAD, found="soon")]) == [BAD], "another example from the same place"
    assert merge_problems([BAD], [other], [replace(BAD, file="other.csv")]) == [
        BAD,
        other,
        replace(BAD, file="other.csv"),
    ]
    more = replace(BAD, where="line 2, line 4 and 2 more", count=4)
    assert merge_problems([more], [elsewhere]) == [more], "line 3 may be one of the two"
