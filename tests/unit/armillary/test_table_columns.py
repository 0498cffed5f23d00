"""Values in tables."""

from datetime import UTC, datetime

import pytest

from armillary.table_columns import Age, Missing, ShortId, Used, cells, printable


def test_a_terminal_gets_nothing_to_obey() -> None:
    """Names are chosen by others."""
    assert printable("a\x1b[2Jb\x9bc\rd\ne") == "a\ufffd[2Jb\ufffdc\ufffdd\ne"
    assert printable("safe\u202elive\u2066x\u2028y") == "safe\ufffdlive\ufffdx\ufffdy"
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


@pytest.mark.parametrize(
    "text", ["2030-01-31T12:00:00.123456", "2030-01-31T12:00:00Z", "2030-01-31 12:00:00+00:00"]
)
def test_times_have_one_form_with_their_zone(text: str) -> None:
    """Whatever the API sends."""
    assert cells([text]) == ("2030-01-31T12:00:00Z",)


@pytest.mark.parametrize(
    ("since", "text"),
    [("11:59:58", "2s"), ("11:58:01", "119s"), ("10:30:00", "90m"), ("12:00:09", "0s")],
)
def test_an_age_is_short_for_people_and_seconds_for_programs(since: str, text: str) -> None:
    """Also of a moment that another machine's clock has not reached."""
    age = Age(f"2030-01-31T{since}Z", now=datetime(2030, 1, 31, 12, tzinfo=UTC))
    assert age.human_readable() == text
    assert isinstance(age.machine_readable(), int)


def test_ids_are_short_for_people() -> None:
    """Others than UUIDs were chosen by a user, and are whole."""
    uuid = "7a16f6c5-c511-4e7b-91ab-0b7a9960c74d"
    assert (ShortId(uuid).human_readable(), ShortId(uuid).machine_readable()) == ("7a16f6c5", uuid)
    assert ShortId("m1.extra-large").human_readable() == "m1.extra-large"
