"""Tables as plain text."""

import pytest

from programs.display import text_table

ROWS = [["name", "reason"], ["web", "the disk of this host is nearly full"], ["db", ""]]


def test_long_cells_are_wrapped_at_words() -> None:
    """The column of several words is narrowed, not that of names; what is missing is a dash."""
    assert list(text_table.lines(ROWS, 24)) == [
        "name  reason",
        "web   the disk of this",
        "      host is nearly",
        "      full",
        "db    -",
    ]


@pytest.mark.parametrize("width", [None, 80])
def test_a_table_that_fits_has_its_own_width(width: int | None) -> None:
    """One line a row."""
    assert list(text_table.lines(ROWS, width))[1] == "web   the disk of this host is nearly full"


def test_a_table_that_cannot_fit_keeps_a_line_for_each_row() -> None:
    """Words are broken only where that is enough."""
    rows = [[f"column-number-{number}" for number in range(12)]]
    assert len(list(text_table.lines(rows, 80))) == 1


def test_a_long_name_is_broken_behind_its_signs() -> None:
    """A part that is too long is broken where the width ends."""
    lines = text_table.lines([["rack12-node34.example.org"], ["averylongname"]], 10)
    assert list(lines) == ["rack12-", "node34.", "example.", "org", "averylongn", "ame"]


def test_wide_characters_are_wrapped_by_the_columns_they_take() -> None:
    """Thirteen fit into 27 columns."""
    lines = list(text_table.lines([["\u4e2d" * 20, "x"]], 30))
    assert lines == ["\u4e2d" * 13 + "   x", "\u4e2d" * 7]


def test_wide_characters_take_two_columns() -> None:
    """Those that combine take none."""
    rows = [["\u4e2d\u6587", "x"], ["e\u0301", "x"]]
    assert list(text_table.lines(rows, 80)) == ["\u4e2d\u6587  x", "e\u0301     x"]


def test_a_uuid_is_never_broken() -> None:
    """Other words are, where the table fits then."""
    uuid = "7a16f6c5-c511-4e7b-91ab-0b7a9960c74d"
    lines = list(text_table.lines([[uuid, "a" * 30, "b" * 30]], 80))
    assert lines[0].startswith(f"{uuid}  aaa")
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(("width", "shown"), [(30, [0, 1, 2, 3]), (20, [0, 1, 2]), (10, [0, 2])])
def test_empty_columns_of_a_table_that_is_too_wide_are_left_out(
    width: int, shown: list[int]
) -> None:
    """As many as it takes, from the right; what says something stays."""
    rows = [["Name", "Task", "Host", "Details"], ["web", "-", "host1", ""]]
    assert text_table.columns_that_say_something(rows, width) == shown
