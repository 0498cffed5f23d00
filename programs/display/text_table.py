"""Tables as plain text: aligned columns that fit the terminal."""

import re
import shutil
import unicodedata
from collections.abc import Iterator, Sequence

GAP = "  "
COLUMN_WIDTH_MIN = 8
"""Columns are not narrowed below this."""
UUID_WIDTH = 36
NOTHING = "-"
DEFAULT_SIZE = (80, 24)

_PARTS = re.compile(r"[^\W_]+[\W_]*|[\W_]+")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def screen_width() -> int:
    """Return the width of the terminal: 80 without one, unless COLUMNS is set."""
    return shutil.get_terminal_size(DEFAULT_SIZE).columns


def lines(
    rows: Sequence[Sequence[str]], width: int | None, *, right: Sequence[bool] = ()
) -> Iterator[str]:
    """Yield rows as lines; long cells are wrapped so that a row fits ``width``.

    ``right`` says for each column whether it is aligned to the right.
    """
    parts = [[cell.splitlines() or [NOTHING] for cell in row] for row in rows]
    widths = _fitted(list(zip(*parts, strict=True)), width)
    for row in parts:
        wrapped = [
            [part for line in cell for part in _wrapped(line, wide)]
            for cell, wide in zip(row, widths, strict=True)
        ]
        for number in range(max(map(len, wrapped))):
            cells = [cell[number] if number < len(cell) else "" for cell in wrapped]
            padded = (
                _padded(cell, wide, is_right=column < len(right) and right[column])
                for column, (cell, wide) in enumerate(zip(cells, widths, strict=True))
            )
            yield GAP.join(padded).rstrip()


def columns_that_say_something(rows: Sequence[Sequence[str]], width: int | None) -> list[int]:
    """Return the columns of a table to show; the first row has the titles.

    If it is wider than ``width``, empty ones are left out from the right, as many as it takes.
    """
    titles, *others = rows
    shown = list(range(len(titles)))
    widths = [
        max(map(_cells_of, "\n".join(column).split("\n"))) for column in zip(*rows, strict=True)
    ]
    for column in reversed(range(len(titles))):
        total = sum(widths[each] for each in shown) + len(GAP) * (len(shown) - 1)
        if width is None or total <= width:
            break
        if all(row[column] in ("", NOTHING) for row in others):
            shown.remove(column)
    return shown


def _fitted(columns: Sequence[Sequence[Sequence[str]]], width: int | None) -> list[int]:
    """Return widths of columns: the widest are narrowed until all fit.

    Columns of several words are narrowed first. A table that cannot fit keeps its own width: its
    rows stay one line each.
    """
    natural = [max(_cells_of(line) for cell in column for line in cell) for column in columns]
    excess = sum(natural) + len(GAP) * (len(natural) - 1) - (width or 0)
    if width is None or excess <= 0:
        return natural
    words = [
        max(_cells_of(word) for cell in column for line in cell for word in line.split() or [""])
        for column in columns
    ]
    widths = list(natural)
    broken = [UUID_WIDTH if _has_uuid(column) else COLUMN_WIDTH_MIN for column in columns]
    for least in (words, broken):
        while excess > 0:
            room, widest = max(
                (wide if wide > floor else 0, number)
                for number, (wide, floor) in enumerate(zip(widths, least, strict=True))
            )
            if not room:
                break
            widths[widest] -= 1
            excess -= 1
    return natural if excess > 0 else widths


def _has_uuid(column: Sequence[Sequence[str]]) -> bool:
    """Return whether a column has a UUID, which could not be copied if it were broken."""
    return any(_UUID.fullmatch(line) for cell in column for line in cell)


def _wrapped(line: str, width: int) -> list[str]:
    """Return a line as lines of a width, broken between words; a long word behind its signs."""
    if _cells_of(line) <= width:
        return [line]
    found = [""]
    for word in line.split():
        spaced = f"{found[-1]} {word}".lstrip()
        if _cells_of(spaced) <= width:
            found[-1] = spaced
        elif _cells_of(word) <= width:
            found.append(word)
        else:
            found += _broken(word, width)
    return [part for part in found if part] or [""]


def _broken(word: str, width: int) -> list[str]:
    """Return a name as lines of a width: ``rack12-`` and ``node34`` rather than ``rack12-no``."""
    found = [""]
    for part in _PARTS.findall(word):
        if _cells_of(found[-1] + part) <= width:
            found[-1] += part
            continue
        found.append("")
        for character in part:
            if _cells_of(found[-1] + character) > width:
                found.append("")
            found[-1] += character
    return found


def _padded(text: str, width: int, *, is_right: bool) -> str:
    space = " " * (width - _cells_of(text))
    return f"{space}{text}" if is_right else f"{text}{space}"


def _cells_of(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(_cells_of_character(character) for character in text)


def _cells_of_character(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
