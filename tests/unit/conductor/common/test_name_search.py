"""Names are searched for in the same way on every database."""

import time

import pytest
import sqlalchemy as sa

from armillary.db import Database
from conductor.common import name_search
from conductor.super_conductor.db import models
from conductor.super_conductor.db.catalogue import flavors
from tests import builders
from tests.fixtures.control_plane import NOW

NAMES = ("web-1", "web-20", "Web", "db (old)", "a.b", "axb", "50%_x")
SEARCHES = {
    "web": {"web-1", "web-20", "Web"},
    "^web-[0-9]+$": {"web-1", "web-20"},
    r"^.*\-2.*$": {"web-20"},
    "^w?eb$": {"Web"},
    "a.b": {"a.b", "axb"},
    r"a\.b": {"a.b"},
    "db (old)": {"db (old)"},
    "(old)": {"db (old)"},
    "web|db": set(),
    "%_": {"50%_x"},
    "[z-a]": set(),
    "*": set(),
    "[^a-z0-9]20$": {"web-20"},
}


def test_a_pattern_is_searched_for_and_any_other_text_is_a_part(any_api_database: Database) -> None:
    """In any case of letters; nothing is a server error."""
    with any_api_database.writer() as session:
        for name in NAMES:
            flavors.create_flavor(session, builders.a_flavor(name, flavorid=""), now=NOW)
        column = models.Flavor.name
        found = {
            text: set(session.scalars(sa.select(column).where(name_search.matches(column, text))))
            for text in SEARCHES
        }
    assert found == SEARCHES


@pytest.mark.parametrize("text", ["(a+)+$", "a*a*a*$", "a{1,9}", "x" * 256, r"(\w)\1", "a**"])
def test_a_pattern_that_could_take_long_is_a_plain_text(text: str) -> None:
    assert not name_search.is_pattern(text)


def test_looking_at_a_long_text_takes_no_time() -> None:
    started = time.thread_time()
    for text in ("[a-z" * 60, "[" + "a-" * 120, "a" * 254 + "("):
        assert not name_search.is_pattern(text)
    assert time.thread_time() - started < 1
