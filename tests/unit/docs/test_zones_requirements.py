"""Each requirement of zones names tests that are there."""

import ast
import functools
import re
from pathlib import Path

TESTS = Path(__file__).parents[2]
PAGE = TESTS.parent / "docs" / "contributing" / "zones-requirements.md"
RANGES = ((1, 15), (20, 31), (40, 55), (60, 69), (70, 73))
IDS = [f"BZ-{number:02}" for first, last in RANGES for number in range(first, last + 1)]

ROW = re.compile(r"^\| (?P<id>BZ-\d\d) \| (?P<requirement>[^|]+) \| (?P<shown_by>[^|]+) \|$")
TEST = re.compile(r"`(?P<file>[\w/]+\.py)::(?P<test>\w+)`")


def rows() -> list[re.Match[str]]:
    lines = PAGE.read_text().splitlines()
    return [row for line in lines if (row := ROW.match(line))]


@functools.cache
def names_in(path: Path) -> set[str]:
    if not path.exists():
        return set()
    nodes = ast.walk(ast.parse(path.read_text()))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef)}


def test_each_requirement_is_there_once() -> None:
    """In their order, and no line of the tables is left unread."""
    assert [row["id"] for row in rows()] == IDS


def test_each_requirement_is_shown_by_tests_that_are_there() -> None:
    """A test that is renamed has to be renamed there, and one that goes needs another."""
    missing = {}
    for row in rows():
        named = TEST.findall(row["shown_by"])
        absent = [f"{file}::{test}" for file, test in named if test not in names_in(TESTS / file)]
        if absent or not named:
            missing[row["id"]] = absent
    assert missing == {}


def test_no_test_names_a_requirement_that_there_is_not() -> None:
    """An unknown number in a docstring is a slip of the pen."""
    found = set()
    for path in TESTS.rglob("test_*.py"):
        found |= set(re.findall(r"\bBZ-\d\d\b", path.read_text()))
    assert found <= set(IDS)
