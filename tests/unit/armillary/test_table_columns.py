"""Values in tables."""

from __future__ import annotations

from armillary.table_columns import Missing, Used, cells, printable


def test_a_terminal_gets_nothing_to_obey() -> None:
    """Names are chosen by others."""
    assert printable("a\x1b[2Jb\x9bc\rd\ne") == "a\ufffd[2Jb\ufffdc\ufffdd\ne"
    (cell,) = cells(["red\x1b[31m"])
    assert str(cell) == "red\ufffd[31m"
    assert cell.machine_readable() == "red\x1b[31m"


def test_mappings_and_lists_are_text_for_people_and_whole_for_programs() -> None:
    """A line for each pair, commas between words."""
    pairs, words = cells([{"b": 2, "a": "1"}, ["x", "y"]])
    assert str(pairs) == "a=1\nb=2"
    assert pairs.machine_readable() == {"b": 2, "a": "1"}
    assert str(words) == "x, y"


def test_what_is_missing_is_empty_and_comes_last() -> None:
    """Whatever the others in its column are."""
    missing, text = cells([None, "a"])
    assert isinstance(missing, Missing)
    assert str(missing) == ""
    assert missing.machine_readable() is None
    assert sorted([missing, text, Missing()]) == ["a", missing, missing]


def test_usage_is_sorted_by_what_is_used() -> None:
    """Not by what there is."""
    assert sorted([Used(3, 4), Used(2, 99)]) == [Used(2, 99), Used(3, 4)]
    assert str(Used(2, 99)) == "2 of 99"
