"""Examples of what commands print: titles of tables and headings are those of the code.

Values differ with each deployment; the shape has to stay.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = ["README.md", *(f"docs/operating/{p.name}" for p in (ROOT / "docs/operating").glob("*.md"))]
_INDENTED = re.compile(r"^ {4,7}(\S.*)$")
_TITLE = re.compile(r"[A-Z][A-Za-z ]*")
_COLUMNS_MIN = 4
_HEADING = re.compile(r"^[A-Z][^$`{}|<>]* [^$`{}|<>]*:$")
_VALUE = re.compile(r"[0-9][0-9,.:]*|\bhosts?\b|\bhas\b|\bhave\b")
"""Numbers, and words that agree with them."""


def lines() -> Iterator[tuple[str, str]]:
    """Yield page and line of all indented blocks."""
    for page in sorted(PAGES):
        for line in (ROOT / page).read_text(encoding="utf-8").splitlines():
            found = _INDENTED.match(line)
            if found:
                yield page, found[1].strip()


def titles() -> list[tuple[str, tuple[str, ...]]]:
    """Return the rows of titles of tables."""
    rows = ((page, tuple(re.split(r" {2,}", line))) for page, line in lines())
    return [
        (page, row)
        for page, row in rows
        if len(row) >= _COLUMNS_MIN and all(_TITLE.fullmatch(one) for one in row)
    ]


def headings() -> list[tuple[str, str]]:
    return [(page, line) for page, line in lines() if _HEADING.match(line)]


@functools.cache
def _trees() -> list[ast.AST]:
    folders = ("programs", "simulator")
    files = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return [ast.parse(path.read_text(encoding="utf-8")) for path in files]


@functools.cache
def _rows_of_code() -> set[tuple[str, ...]]:
    """Return the texts of all tuples, lists and keys of dictionaries in the code."""
    rows = set[tuple[str, ...]]()
    for tree in _trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Tuple | ast.List):
                rows.add(_texts(node.elts))
            elif isinstance(node, ast.Dict):
                rows.add(_texts(node.keys))
    return rows


def _texts(nodes: list[ast.expr] | list[ast.expr | None]) -> tuple[str, ...]:
    return tuple(str(node.value) for node in nodes if isinstance(node, ast.Constant))


@functools.cache
def _words_of_code() -> str:
    constants = (
        node.value
        for tree in _trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    return "\n".join(constants)


def test_examples_are_found() -> None:
    """Else the others would hold for nothing."""
    assert len(titles()) >= 2
    assert len(headings()) >= 4


@pytest.mark.parametrize(("page", "row"), titles(), ids=lambda value: str(value)[:40])
def test_the_titles_of_a_printed_table_are_those_of_a_command(
    page: str, row: tuple[str, ...]
) -> None:
    """All columns, in their order."""
    assert row in _rows_of_code()


@pytest.mark.parametrize(("page", "line"), headings(), ids=lambda value: str(value)[:40])
def test_a_printed_heading_is_one_of_a_command(page: str, line: str) -> None:
    """Except for its numbers."""
    for part in _VALUE.split(line):
        assert part.strip(" ,.") in _words_of_code()
